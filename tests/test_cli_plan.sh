# Runs of the command with no more memory than --plan says they take at most, and what they took beside both numbers.
. "$(dirname "$0")/cli.sh"

cat >bounded.py <<'PY'
import json, sys
p, r = json.load(open("plan.json")), json.load(open("out"))
took, total, bound = r["memory_bytes"], p["total_bytes"], p["bound_bytes"]
print("%s: %.2f MB, planned %.2f of it, bound %.2f" % (sys.argv[2], took / 1e6, total / took, bound / took))
assert 0 < took <= bound
assert sys.argv[1] or took < 4e6 or abs(total / took - 1) <= 0.2
assert r["format"] == p["format"]
PY
# planned COMMAND MATRIX OPTIONS...: bound and estimate against the run (the plan's limit leaves no room to measure the
# speed of memory, which takes longer than all the rest)
planned() {
    ok "$@" --plan --json --mem-limit ${most:-200MB} || return
    cp out plan.json
    local bound
    bound=$(sed -n 's/^.*"bound_bytes": \([0-9]*\).*$/\1/p' plan.json)
    [ -n "$bound" ] || { fail "wisp $*: no bound in the plan"; return; }
    ok "$@" --json --mem-limit "$bound" || return
    [ $have_python = 1 ] || return 0
    checks=$((checks + 3))
    holds bounded.py "${only_bound:-}" "$*" || fail "wisp $*: the run and its plan"
}

short="--moments 16 --vectors 4"
ok gen anderson:nx=30,ny=30,nz=30,disorder=2 -o general.mtx
ok gen anderson:nx=30,ny=30,nz=30,disorder=2 -o symmetric.mtx --symmetry symmetric
ok gen topi:nx=12,ny=12,nz=12 -o hermitian.mtx.gz --symmetry hermitian
ok gen delaunay:nx=100,ny=100,shuffle=1 -o mesh.mtx.gz
ok gen laplace:nx=100,ny=100,nz=1 -o pattern.mtx --pattern
ok gen tetrahedra:nx=20,ny=20,nz=20 -o mesh.crs
for file in general.mtx symmetric.mtx hermitian.mtx.gz mesh.mtx.gz pattern.mtx mesh.crs; do
    planned dos $file $short
done
for file in general.mtx mesh.crs; do
    planned dos $file $short --threads 1 --format sell --order rcm --bounds gershgorin
    planned count $file --moments 8 --vectors 1 --interval=-1,1 --precision single
done
planned dos general.mtx $short --format hermitian
planned ldos hermitian.mtx.gz --moments 8 --sites 0-9 --points 20000
planned dos general.mtx --moments 8 --vectors 64 --width 64 --points 5000
planned dos topi:nx=16,ny=16,nz=16 --moments 32
# A count needs no grid of energies, but for a plot.
ok count mesh.crs --interval=0,1 --vectors 1 --moments 1000000 --bounds=-1,9 --plan --json --mem-limit 200MB
json out 'd["total_bytes"] < 60e6'
# How many moments a resolution takes is not known before the bounds are, nor what they take at most.
ok dos mesh.crs --resolution 0.01 --plan
check "no bound without moments" sh -c 'grep -q "^total .*, and the moments" out && ! grep "^total\|^vectors" out | grep -q "at most"'
planned dos topi:nx=16,ny=16,nz=16 $short --format hermitian --width 2
planned dos graphene:nx=300,ny=300,disorder=1 --moments 8 --vectors 1 --precision single --bounds gershgorin
planned dos graphene:nx=1000,ny=1000,disorder=1 --moments 4 --vectors 1 --precision single --bounds=-6,6
planned dos laplace:nx=40,ny=40,nz=40,points=27 --moments 8 --vectors 1 --variant naive
planned dos spinchain:sites=16,up=8 --moments 8 --order rcm
planned green graphene:nx=20,ny=15 --sites 0-5 --eta 0.1 --moments 800 --bounds=-3,3
planned thermal general.mtx $short --temperatures 4,10
planned thermal anderson:nx=6,ny=6,nz=6 --trace exact --moments 400 --temperatures 1:1000:300
planned trace anderson:nx=20,ny=20,nz=20 --function exp:0.01 --moments 32 --vectors 64 --width 64
only_bound=1 planned trace laplace:nx=3,ny=3,points=5 --function inverse --moments 20000 --bounds 1e-5,9 --vectors 1 --tol 1e-8
planned sigma haldane:nx=60,ny=50 --direction xy --moments 40 --vectors 2 --mu=-1,0
planned sigma graphene:nx=20,ny=20 --direction xx --moments 32 --vectors 2 --optical 0.1:3:4000
planned sigma square:nx=60,ny=50 --peierls 0.01 --direction xy --moments 40 --vectors 2 --mu=-1,0
planned sigma graphene:nx=100,ny=90,disorder=1 --direction xx --moments 16 --vectors 1 --precision single --bounds gershgorin
planned sigma square:nx=30,ny=30,flux=1/30 --direction xy --moments 64 --left-bytes 200kB --width 5 --bounds=-4.1,4.1
planned dos spinchain:sites=16,up=8 --moments 200 --vectors 2 --depth 8
planned dos band:n=50000,bandwidth=9 --bounds=-40,40 --resolution 2 --vectors 2
planned count delaunay:nx=100,ny=100 --moments 8 --interval 1,2 --order tiles
planned dos anderson:nx=6,ny=6,nz=6 --trace exact --moments 32
planned dos laplace:nx=1,ny=1,nz=1 --moments 4
# Moments are the caller's: in the plan, but not counted.
[ $have_hdf5 = 0 ] || only_bound=1 planned dos anderson:nx=4,ny=4,nz=4 --moments 3000 --vectors 130 --width 1 --save m.h5

# ---- linear systems: columns end one after the other, and narrower blocks are made beside the wider ones
ok gen laplace:nx=9,ny=9,nz=9 -o A.mtx
{ # an eigenvector, which takes one step; numbers without order
    printf '%%%%MatrixMarket matrix array real general\n729 5\n'
    for j in 1 2 3 4 5; do
        awk -v j=$j 'BEGIN { for (i = 0; i < 729; i++) { n = i; v = 1; for (d = 0; d < 3; d++) { v *= sin(3.14159265358979 * (n % 9 + 1) / 10); n = int(n / 9) }
            if (j % 2 == 0) v = (i * j * 7919) % 1009 - 504; printf "%.17g\n", v } }'
    done
} >columns.mtx
only_bound=1 most=1GB
for how in "--method gmres --restart 50" "--method gmres --restart 500 --precond jacobi" "--method cg" "--method minres --precond chebyshev" \
    "--method idr" "--method idr --shadow 20 --precond jacobi" "--method bicgstab --precond block-jacobi:3" "--method bicgstab --precond ilu --side left" "--method gmres --restart 9 --precond chebyshev:3 --side left" "--method cg --variant hidden --precond neumann:2" "--method gmres --restart 3 --precision single" \
    "--variant classical" "--method bicgstab --precision single"; do
    planned solve A.mtx --rhs columns.mtx $how
    planned solve laplace:nx=20,ny=20,nz=20 --rhs random:4x1 $how --threads 1 -o x.mtx
done
planned solve A.mtx --rhs columns.mtx --method cg -o x.mtx.gz
planned solve laplace:nx=3,ny=1,nz=1 --rhs random:13x1 --method bicgstab --precond chebyshev
planned solve matpde:nx=40,ny=40 --rhs random:4x1 --restart 100
# Several ranks: what was read by other weights than those that are found is dealt out, and held twice meanwhile, which is
# what takes most here.
ok gen laplace:nx=30,ny=30,nz=30 -o spd.mtx
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n27000 2"; for (i = 0; i < 54000; i++) print i % 13 - 6.5 }' >sides.mtx
for ranks in 2:9,1 3:9,0,1; do
    export WISP_RANKS=${ranks%:*} WISP_WEIGHTS=${ranks#*:}
    planned solve spd.mtx --rhs ones --method cg --weights nonzeros --tolerance 0.5
    planned solve spd.mtx --rhs sides.mtx --x0 sides.mtx --weights nonzeros --method gmres --restart 5 --tolerance 0.5
    unset WISP_RANKS WISP_WEIGHTS
done
unset only_bound most

# ---- time evolution: how many sweeps follows from the bounds
only_bound=1 most=1GB
ok gen laplace:nx=729,ny=1,nz=1 -o chain.crs
for how in "--site 0" "--site 0,5 --watch 1-50 --precision single" "--random --steps 1000" "--random --bounds=-7,13 --threads 1" \
    "--site 3 --bounds gershgorin --depth 4" "--random --checkpoint run.ck --steps 3"; do
    planned evolve laplace:nx=9,ny=9,nz=9 --time 5 $how
    planned evolve topi:nx=16,ny=16,nz=16 --time 3 $how
done
awk 'BEGIN { print "%%MatrixMarket matrix array complex general\n729 1"; for (i = 0; i < 729; i++) print i % 7, i % 5 }' >psi.mtx
planned evolve A.mtx --time 5 --start psi.mtx -o t.csv
planned evolve chain.crs --time 5 --start psi.mtx
# How many times are best at once follows from the bounds: where these are not known, a run that fits is not refused for more.
for how in "--steps 2 --threads 1" "--steps 8 --threads 1"; do # judges of an order are many at once, or not
    ok evolve topi:nx=24,ny=24,nz=24 --time 0.3 --random $how --json
    memory=$(sed -n 's/^.*"memory_bytes": \([0-9]*\).*$/\1/p' out)
    ok evolve topi:nx=24,ny=24,nz=24 --time 0.3 --random $how --mem-limit $((memory * 21 / 20)) --quiet
done
# How many times share a sequence comes from the memory that is left, and the bits of a run hang on that, also by --like.
few="evolve anderson:nx=20,ny=20,nz=20 --time 0.4 --steps 40 --site 0 --bounds=-8,8 --threads 1"
before=1000
for limit in 900 1300 1600 2000 3000; do
    ok $few --mem-limit ${limit}kB --json
    cp out few.json
    json out "d['memory_bytes'] <= ${limit}e3 and d['sequences'] <= $before"
    before=$(sed -n 's/^.*"sequences": \([0-9]*\).*$/\1/p' out)
    ok $few --like few.json --mem-limit 100MB --json
    json out 'd["density"] == e["density"] and d["norm"] == e["norm"] and d["sequences"] == e["sequences"]' few.json
    ok $few --mem-limit ${limit}kB --plan --json
    json out "e['memory_bytes'] <= d['bound_bytes']" few.json
done
check "more at once where there is room" [ $before -lt 10 ]
unset only_bound
planned evolve topi:nx=24,ny=24,nz=24 --time 3 --site 1 --bounds=-6,6
json plan.json 'd["products"] == d["sweeps"] and d["sweeps"] > 30 and d["times"] == 101'
json out 'abs(d["sweeps"] / e["sweeps"] - 1) <= 0.2' plan.json
ok evolve topi:nx=24,ny=24,nz=24 --time 3 --site 1 --bounds=-6,6 --plan
check "sweeps and a time" sh -c 'grep -q "^sweeps  *about [0-9]" out && grep -q "^time  *about .*evolution" out'
ok evolve topi:nx=24,ny=24,nz=24 --time 3 --site 1 --plan
check "an estimate without bounds" sh -c 'grep -q "^sweeps  *perhaps [0-9]*: an estimate, by the entries of 256 rows" out && ! grep -q "^time" out'
# By 256 of the rows: several times at once, as with bounds.
chain="evolve laplace:nx=3000,ny=1,nz=1 --time 3 --steps 40 --site 1"
ok $chain --bounds=2,6 --plan --json
cp out bounded.json
ok $chain --plan --json
json out 'abs(d["sweeps_estimate"] / e["sweeps"] - 1) <= 0.2 and abs(d["total_bytes"] / e["total_bytes"] - 1) <= 0.2' bounded.json
# What rounding must spoil is refused before the matrix is made, also where bounds are not given.
refused 1 "can't be met: over this time rounding alone" evolve laplace:nx=100,ny=1,nz=1 --time 1e5 --steps 4 --site 1 --precision single --plan
refused 1 "can't be met: over this time rounding alone" evolve laplace:nx=100000,ny=1000,nz=1 --time 1e5 --steps 4 --site 1 --precision single
ok evolve topi:nx=24,ny=24,nz=24 --time 3 --site 1 --plan --json
json out 'd["sweeps"] is None and d["products"] is None and d["total_seconds"] is None and d["bound_bytes"] >= d["total_bytes"] > d["vectors_bytes"] > 0'
refused 1 "1e-30, can't be met" evolve A.mtx --time 5 --site 0 --tolerance 1e-30 --bounds=-1,13 --plan
refused 1 "more than --mem-limit 2 MB" evolve topi:nx=24,ny=24,nz=24 --time 3 --site 1 --mem-limit 2MB
refused 1 "more than --mem-limit 1 GB" evolve laplace:nx=200,ny=200,nz=1 --time 1 --random --watch 0-9999 --steps 1000000 --mem-limit 1GB

# ---- powers
only_bound=1
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n729 3"; for (i = 0; i < 3 * 729; i++) print i % 11 - 4.5 }' >three.mtx
for how in "-p 3" "-p 50 --width 5 --scale 0.1" "-p 7 --all -o x.mtx" "-p 5 --width 3 --all -o x.mtx.gz --precision single" "-p 1 --scale 1e200"; do
    planned power laplace:nx=9,ny=9,nz=9 $how
    planned power topi:nx=16,ny=16,nz=16 --scale 0.2 ${how%--scale*} --threads 1
done
for start in three.mtx psi.mtx; do
    planned power A.mtx -p 40 --start $start --scale 0.1 -o x.mtx
    planned power chain.crs -p 5 --start $start --all -o x.mtx
    planned power A.mtx -p 1 --start $start --scale 1e-180
done
unset only_bound most
planned power topi:nx=16,ny=16,nz=16 --scale 0.2 -p 7 --all -o x.mtx --threads 1
planned power anderson:nx=30,ny=30,nz=30 -p 4 --width 16
json plan.json 'd["products"] == 64 and d["sweeps"] == 4 and d["columns"] == 16'
ok power topi:nx=24,ny=24,nz=24 -p 40 --plan
check "a time" grep -q '^time  *about .*powers' out
refused 1 "more than --mem-limit 5 MB" power topi:nx=24,ny=24,nz=24 -p 40 --width 16 --mem-limit 5MB

# ---- in words
ok dos general.mtx $short --plan
check "estimate and bound" grep -q '^total  *about .* at once   (at most ' out
check "what reading takes" grep -q '^input .* while it is read, ' out
bound=$(sed -n 's/^total .*(at most \(.*\) \([kMG]B\))$/\1\2/p' out)
ok dos general.mtx $short --mem-limit "$bound" --quiet # as printed, it is rounded up
ok dos general.mtx $short --plan --mem-limit "$bound"

# ---- who gives a limit is taken at his word: only what can't be is refused at once, the rest by the allocator
refused 1 "more than --mem-limit 2 MB" dos topi:nx=20,ny=20,nz=20 $short --width 4 --mem-limit 2MB
# Twice the memory of this machine: two blocks of 4000 columns have 625000 KiB for each 10000 rows.
memory=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
huge="laplace:nx=10000,ny=$((2 * memory / 625000 + 1)),nz=1 --moments 2 --vectors 4000 --width 4000"
refused 1 "and this machine has" dos $huge
refused 1 "a smaller --width or --precision single takes less" dos $huge
refused 1 "a smaller --width, --precision single or no --all takes less, and --mem-limit" power "${huge%% *}" -p 2 --width 4000
refused 1 "would pass the limit of 60 kB" dos topi:nx=20,ny=20,nz=20 $short --mem-limit 60kB
refused 1 "would pass the limit of 60 kB" info topi:nx=20,ny=20,nz=20 --mem-limit 60kB

# ---- as on another machine: what was measured there is taken as if here, and nothing is written
sed "1s/{/{ \"version\": \"$(sed -n '1s/^wisp //p' <<<"$version")\",/" "$source/tests/machines/small.json" >there.json
export WISP_MACHINE=$dir/there.json
ok dos topi:nx=20,ny=20,nz=20 $short --threads 1 --plan
check "a load bandwidth of there" grep -q 'at a load bandwidth of 2.0 GB/s kept by wisp machine' out
ok machine --threads 1 --json
grep -q '"isa": "generic"' out || fail "kernels of another machine: $(grep isa out)"
check "nothing is kept" test ! -e cache/wisp
for machine in "$source"/tests/machines/*.json; do # an instruction set that this CPU lacks is not asked for
    WISP_ISA=generic WISP_MACHINE=$machine ok dos topi:nx=20,ny=20,nz=20 $short --threads 1 --plan
done
WISP_MACHINE=nowhere.json refused 1 "WISP_MACHINE=nowhere.json: it can't be read" info laplace:nx=3
# LAPACK for a matrix that is not Hermitian: all of the vectors that are given, complex ones of a real matrix, are counted.
for asked in "300 --any" 397 3; do
    ok eig matpde:nx=20,ny=20 --largest $asked --method dense --plan --json
    bound=$(grep -o '"total_bytes": [0-9]*' out | grep -o '[0-9]*')
    ok eig matpde:nx=20,ny=20 --largest $asked --method dense --quiet --mem-limit "$bound"
done
finish
