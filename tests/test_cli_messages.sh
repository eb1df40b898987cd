#!/bin/bash
# What the command says to values and names that are almost right; seeds, intervals with one end, runs taken together.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3
quick="--moments 16 --vectors 2"

# ---- seeds are 64 bits
for seed in 9223372036854775808 18446744073709551615; do
    ok dos $topi $quick --seed $seed --json
    json out "d['seed'] == '$seed'"
    ok power $topi -p 1 --seed $seed --json
    json out "d['seed'] == '$seed'"
done
cp out largest.json
ok power $topi -p 1 --seed 9223372036854775807 --json
json out 'd["seed"] == 2**63 - 1 and d["norms"] != e["norms"]' largest.json
for seed in 18446744073709551616 -1 '' 1.5 x ' 1'; do
    refused 2 "expected a whole number from 0 to 18446744073709551615" dos $topi --seed "$seed"
done

# ---- a matrix with NaN or Inf has no Gershgorin interval
for value in nan inf; do
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 %s\n3 3 2\n' $value >$value.mtx
    ok info $value.mtx --json
    json out 'd["gershgorin"] is None and d["nonfinite_row"] == 1'
    ok info $value.mtx
    check "row 1 of $value.mtx is named" grep -q 'row 1 holds a NaN or an infinity' out
done
ok info $topi --json
json out 'len(d["gershgorin"]) == 2 and d["nonfinite_row"] is None'

# ---- names of other programs
meant() { # meant COMMAND OURS THEIRS...
    for theirs in "${@:3}"; do
        refused 2 "unknown option --$theirs; did you mean --$2?" "$1" $topi "--$theirs" 1
    done
}
meant dos moments num-moments num_moments number-of-moments chebyshev-order nmoments Moments
meant dos vectors num-vectors num_vectors random-vectors num-random samples
meant dos resolution energy-resolution energy_resolution broadening
meant dos interval energy-range erange emin emax
meant dos energies omega fermi-energy
meant dos per normalise norm
meant dos first-vector vector-offset
meant dos points num-points num-energies npoints
meant dos bounds spectral-bounds eps
meant dos seed rng random-seed
meant dos threads num-threads num_threads nthreads cores
meant dos precision dtype
meant dos mem-limit memory-limit mem_limit
meant ldos sites atoms indices
meant evolve tolerance rtol accuracy
meant evolve time tmax max-time
meant evolve start psi0 v0
meant dos depth interleaved
meant eig smallest which eps-smallest-real
meant eig count nev eps-nev
meant eig search ncv
for command in dos ldos count evolve; do # an option of another command
    refused 2 "wisp $command has no option --powers; did you mean --depth?" $command $topi --powers 4
done
refused 2 "wisp solve has no option --start; did you mean --x0?" solve $topi --start x.mtx
refused 2 "wisp evolve has no option --sites; did you mean --site?" evolve $topi --sites 1
refused 2 "wisp solve has no option --moments; see wisp solve --help" solve $topi --moments 4
refused 2 "unknown option -eps_nev; did you mean --count?" eig $topi -eps_nev 4 # one dash, as PETSc has
refused 2 "unknown option -ksp_rtol; did you mean --tolerance?" solve $topi -ksp_rtol 1e-4
refused 2 "unknown option -moments; did you mean --moments?" dos $topi -moments=4
refused 2 "unknown option -q; see wisp dos --help" dos $topi -q
refused 2 "unknown option --; see" dos $topi --=5
refused 2 "unknown option --atoms; see wisp dos --help" dos $topi --atoms 1

# ---- where a text of the library names fields of options, the command names its own
refused 1 "take wider --bounds, or none, so that they are found" dos $topi $quick --bounds=-1,1
for method in lanczos krylov-schur; do # a Hermitian matrix: Lanczos
    refused 1 "eigenvalues below the lower bound: bounds 50 to 60, and one is " eig $topi --smallest 2 --method $method --bounds=50,60
    refused 1 "take wider --bounds, or none, so that they are found" eig $topi --largest 2 --method $method --bounds=-60,-50
    refused 1 "eigenvalues above the upper bound: bounds -1 to 1, and" eig $topi --largest 2 --method $method --bounds=-1,1
done
refused 1 "take wider --bounds, or none" evolve $topi --time 1 --site 0 --bounds=-1,1
refused 1 "evolve: --tol, 1e-20, can't be met" evolve $topi --time 1 --site 0 --tol 1e-20
"$wisp" evolve $topi --time 1 --site 0 --tol 1e-20 --json >out 2>err
json out '"evolve: --tol, 1e-20" in d["error"] and "opts." not in d["error"]'
"$wisp" evolve $topi --time 1 --site 0 --tol 1e-20 --log json >out 2>err
check "in the log" grep -q '"event":"error","message":"evolve: --tol, 1e-20' err
for option in smallest largest; do refused 1 "eig: --$option is 10, and" eig laplace:nx=3,ny=3,nz=1 --$option 10; done
refused 1 "eig: --count is 10, and" eig laplace:nx=3,ny=3,nz=1 --target 0 -n 10
refused 1 "take --format sell" dos delaunay:nx=300,ny=300,shuffle=1 $quick --order natural --format compressed
refused 1 "(wisp gen --list has those)" info qqqqqq
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1.0000000000000002\n' >rounded.mtx
refused 1 "the Hermitian part (--hermitian-part)" dos rounded.mtx $quick
refused 1 "take another --format, or, if that is rounding, the Hermitian part (wisp_src_hermitian_part)" solve rounded.mtx --format hermitian
refused 1 "(take --symmetry general)" convert rounded.mtx out.mtx --symmetry symmetric
cp rounded.mtx opts.bounds.mtx # a name of a file is no field
refused 1 "opts.bounds.mtx: the matrix is not Hermitian" dos opts.bounds.mtx $quick
refused 1 "opts.type.nothere.mtx: neither a file nor a gallery name" dos opts.type.nothere.mtx $quick

# ---- intervals
for option in interval bounds; do
    refused 2 "--$option -1 1: write it with a comma and no blank: --$option -1,1" dos $topi --$option -1 1
    refused 2 "--$option -1 .5: write it with a comma and no blank: --$option -1,.5" dos --$option -1 .5 $topi
done
refused 2 "--interval -1 1: write it with a comma and no blank: --interval -1,1" count $topi --interval -1 1
refused 2 "expected two numbers with a comma" dos $topi --interval -1 --moments 5
ok dos $topi $quick --interval -1,1 --json
json out 'd["interval"] == [-1, 1]'
ok count $topi $quick --interval -1,1 --bounds -6,6 --json
json out 'd["interval"] == [-1, 1] and d["bounds"]["halfwidth"] == 6'
count="count $topi --moments 64 --vectors 4 --bounds -6,6"
ok $count --interval -inf,inf --json
json out 'abs(d["count"] - 192) < 1e-9 and d["interval"] == [None, None]'
ok $count --interval -inf,0.5 --json -o below.csv
cp out below.json
ok $count --interval -1e300,0.5 --json
json out 'd["count"] == e["count"] and e["interval"] == [None, 0.5] and d["count_error"] == e["count_error"] > 0' below.json
check "no end is an empty field" grep -qE '^,0.5,[0-9.]+,' below.csv
ok $count --interval 0.5,inf --json
json out 'abs(d["count"] + e["count"] - 192) < 1e-9 and d["interval"] == [0.5, None]' below.json
ok $count --interval -inf,0.5
check "the interval as it was given" grep -q '^interval *\[-inf, 0.5\]' out
if [ $have_gnuplot = 1 ]; then
    ok $count --interval -inf,0.5 --plot below.svg
    check "the title of a count with one end" grep -q 'eigenvalues below 0.5' below.svg
fi
if [ $have_hdf5 = 1 ] && command -v h5dump >/dev/null; then
    ok $count --interval -inf,0.5 -o below.h5 --quiet
    check "no end is NaN in HDF5" test "$(h5dump -d /interval below.h5 | grep -cE 'nan, 0.5')" = 1
fi
for value in nan,1 1 1, ,1 inf,inf,1 'inf, 1' ' 1,2'; do refused 2 "expected two numbers" count $topi --interval "$value"; done
for value in inf,inf inf,1 1,-inf 3,1; do refused 2 "below the second" count $topi --interval "$value"; done
refused 2 "expected two numbers" dos $topi --interval 0,inf

# ---- rows, up to the largest number
refused 2 "--sites: row 9223372036854775807 is not there" ldos $topi --sites 0,9223372036854775807
refused 2 "row 9223372036854775806 is not there" evolve $topi --time 1 --site 9223372036854775806-9223372036854775807
refused 2 "expected row numbers" ldos $topi --sites 9223372036854775808

# ---- a grid that is coarser than the resolution
coarse() { # coarse yes|no ARGS...
    checks=$((checks + 1))
    "$wisp" "${@:2}" --json >out 2>err || fail "wisp ${*:2}: $(cat err)"
    if [ "$1" = yes ]; then
        json out 'd["coarse_grid"] is True'
        [ "$(wc -l <err)" = 1 ] && grep -q '^wisp: warning: .*the integral means nothing' err || fail "wisp ${*:2}: $(cat err)"
    else
        json out 'd["coarse_grid"] is False'
        [ -s err ] && fail "wisp ${*:2}: $(cat err)"
    fi
}
coarse yes dos $topi --moments 256 --vectors 2 --points 40
coarse yes dos $topi --moments 256 --vectors 2 --interval -1,1 --points 20 --quiet
coarse yes ldos $topi --moments 256 --sites 0,1 --points 40
coarse no dos $topi --moments 256 --vectors 2 --points 300
coarse no dos $topi --moments 256 --vectors 2 --interval -1,1 --points 200
coarse no ldos $topi --moments 1000 --sites 0,1
ok dos --help
check "what few moments do not show" grep -qzE 'few\s+moments\s+one\s+just\s+outside\s+may\s+go\s+unnoticed' out

# ---- runs taken together
# Some libraries are opened when they are first needed, and before the run that needs them. (A sanitizer has to come first in
# a process.)
if [ -z "${SANITIZED:-}" ]; then
    export LD_PRELOAD="$(dirname "$wisp")/tests/libshim_late.so"
    export ABSENT=hdf5
    ok dos $topi --moments 64 --quiet
    for needs in "dos $topi --save m.h5" "dos $topi -o dos.h5" "dos --from m.h5" "eig $topi --smallest 1 -o v.h5" \
        "solve $topi --x0 x.h5" "evolve $topi --site 0 --time 1 --states s.h5"; do
        [ $have_hdf5 = 0 ] || refused 1 "HDF5's library can't be opened (Debian: libhdf5-dev): absent.so: " $needs
    done
    check "nothing is written without HDF5" test -z "$(ls m.h5 dos.h5 v.h5 s.h5 2>/dev/null)"
    export ABSENT=scotch
    if grep '^features:' <<<"$version" | grep -qw scotch; then
        refused 1 "PT-SCOTCH's library can't be opened (Debian: libptscotch-dev): absent.so: " info $topi --ranks 2 --partition scotch
    fi
    unset LD_PRELOAD ABSENT
fi
if [ $have_hdf5 = 1 ]; then
    part() { ok dos $topi --moments 64 --bounds -6,6 --quiet --save "$1" "${@:2}"; }
    part a.h5 --vectors 8 --seed 1
    part b.h5 --vectors 12 --seed 2
    part c.h5 --vectors 4 --seed 18446744073709551615
    for name in a b c; do
        ok dos --from $name.h5 --json
        cp out $name.json
    done
    ok dos --from a.h5 --from b.h5 --json
    cp out ab.json
    json ab.json 'd["vectors"] == 20 and d["seeds"] == [1, 2] and d["seed"] is None and d["first_vector"] is None'
    json ab.json 'd["moments"][0] == 192 and d["completed"] is True'
    cat >mixed.py <<'PY'
import json, math
a, b, d = (json.load(open(n + ".json")) for n in ("a", "b", "ab"))
n, m = a["vectors"], b["vectors"]
for k in range(64):
    # Sums and sums of squares, from means and standard errors.
    x, y = a["moments"][k], b["moments"][k]
    mean = (n * x + m * y) / (n + m)
    within = a["moments_error"][k] ** 2 * n * (n - 1) + b["moments_error"][k] ** 2 * m * (m - 1)
    between = n * (x - mean) ** 2 + m * (y - mean) ** 2
    error = math.sqrt((within + between) / (n + m - 1) / (n + m))
    assert abs(d["moments"][k] - mean) < 1e-9 and abs(d["moments_error"][k] - error) < 1e-9, k
PY
    [ $have_python = 1 ] && check "mean and error of all vectors" python3 mixed.py
    ok count --from a.h5 --from b.h5 --from c.h5 --interval -1,1
    check "so many vectors of so many runs" grep -q '^vectors *24 random of 3 runs' out
    check "the files" test "$(grep -cE '(a|b|c)\.h5' out)" = 3
    ok dos --from a.h5 --from c.h5 --json
    json out 'd["seeds"] == [1, "18446744073709551615"]'
    ok dos --from a.h5 --from c.h5 --moments 32 --quiet -o ac.csv
    check "seeds in the comments" grep -qxF '# seeds: [1,"18446744073709551615"]' ac.csv
    ok dos --from a.h5 --from c.h5 --quiet -o ac.h5
    if command -v h5dump >/dev/null; then
        check "seeds in HDF5" sh -c 'h5dump -d /seeds ac.h5 | grep -q "1, 18446744073709551615"'
    fi
    cp a.h5 again.h5
    refused 1 "a.h5 and again.h5 cannot be taken together: both have vectors of seed 1" dos --from a.h5 --from b.h5 --from again.h5
    ok dos $topi --moments 32 --bounds -6,6 --seed 3 --quiet --save few.h5
    refused 1 "b.h5 and few.h5 cannot be taken together: they have 64 and 32 moments" dos --from b.h5 --from few.h5
    part bounds.h5 --seed 3 --bounds -6,7
    refused 1 "their bounds differ: give the later run the --bounds of the earlier one, -6,6" dos --from a.h5 --from bounds.h5
    ok dos topi:nx=4,ny=4,nz=4 --moments 64 --bounds -6,6 --seed 3 --quiet --save other.h5
    refused 1 "their matrices differ" dos --from a.h5 --from other.h5
    part single.h5 --seed 3 --precision single
    refused 1 "complex double and complex single" dos --from a.h5 --from single.h5
    ok dos $topi --moments 64 --bounds -6,6 --trace exact --quiet --save exact.h5
    refused 1 "only the moments of random vectors" dos --from a.h5 --from exact.h5
    refused 2 "same file" dos --from a.h5 --from b.h5 -o b.h5
    large=anderson:nx=16,ny=16,nz=16,disorder=4
    # Bounds that were found are handed on as they are printed.
    ok dos $large --moments 64 --vectors 4 --quiet --save found.h5
    ok dos $large --moments 64 --vectors 4 --seed 5 --quiet --save own.h5
    checks=$((checks + 1))
    "$wisp" dos --from found.h5 --from own.h5 2>err && fail "other bounds pass"
    ok dos $large --moments 64 --vectors 4 --seed 5 --bounds "$(sed 's/.*earlier one, //' err)" --quiet --save own.h5
    ok dos --from found.h5 --from own.h5 --json
    json out 'd["vectors"] == 8'
fi

# ---- eig: LAPACK is named where it could answer
inner="--smallest 1 --tol 0.3 --method krylov-schur"
advised() { # advised COUNT ARGS...: not complete, and so many lines name the method
    checks=$((checks + 1))
    "$wisp" eig "${@:2}" --quiet >out 2>err
    local rc=$?
    [ $rc = 3 ] && [ "$(grep -c 'the dense method finds all, .*; or use --method dense, for which there is memory$' err)" = "$1" ] ||
        fail "wisp eig ${*:2}: $rc, $(cat err)"
}
advised 1 matpde:nx=30,ny=30 $inner
advised 0 matpde:nx=30,ny=30 $inner --mem-limit 30MB
# far from normal: restarts find values of matrices nearby
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n400 400 798\n1 1 1.2"
             for (i = 2; i <= 400; i++) { printf "%d %d %.17g\n", i, i, sin(i * i); if (i < 400) print i, i + 1, 2 } }' >vain.mtx
"$wisp" eig vain.mtx --smallest 1 --method krylov-schur --quiet --json >out 2>err
json out '"the residuals no longer fall after" in d["why"]'
check "a stall: $(cat err)" grep -q '^wisp: the residuals no longer fall after [0-9]* restarts; that of pair 1 of .*; found: 0 of 1 pairs; .* --tol, or --method dense$' err

finish
