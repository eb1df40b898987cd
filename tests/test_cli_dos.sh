# wisp dos: single energies, densities per row or volume, vectors from a number on; lattices with fields and files of Wannier90.
. "$(dirname "$0")/cli.sh"
topi=topi:nx=4,ny=4,nz=3

# ---- energies
ok dos $topi --moments 64 --vectors 8 --interval=-1,2 --points 31 --json
cp out grid.json
ok dos $topi --moments 64 --vectors 8 --energies=-1,0,0.5 --json
json out 'd["energies"] == [-1, 0, 0.5] and d["integral"] is None and d["coarse_grid"] is None and d["interval"] is None'
json out 'all(close([d[k][0], d[k][1], d[k][2]], [e[k][0], e[k][10], e[k][15]], 1e-11) for k in
          ("dos", "dos_error", "dos_low", "dos_high"))' grid.json
ok dos $topi --moments 64 --vectors 8 --energies 0 -o one.csv
check "one energy" test "$(grep -cv '^#' one.csv)" = 2
check "the density at one energy" grep -qE '^density +[0-9.]+ \+.* at 0$' out
check "no integral of one energy" test "$(grep -c '^integral' out)" = 0
ok dos $topi --moments 64 --trace exact --energies=-2,-1.5,-1,-0.5,0,0.5,1,1.5,2
check "the first energies" grep -qE '^ +[0-9.]+ at 1.5, \.\.\.$' out
check "energies, units" grep -qE '^ +states per energy$' out
ok ldos $topi --sites 0,9 --moments 64 --energies 0,9 --json
json out 'len(d["dos"]) == 2 and d["dos"][0][0] > 0 and d["dos"][0][1] == 0 and d["integral"] == [None, None]'
ok ldos $topi --sites 9 --moments 64 --energies 0.25
check "the density of a row" grep -qE '^density +[0-9.e-]+ at 0.25 of row 9$' out
for value in '' x 1, ,1 1,x 1,1 2,1 nan 0,inf 0x 1e999 '1, 2'; do
    refused 2 "expected an energy, or several that rise" dos $topi --energies "$value"
done
refused 2 "--interval and --points do not go with it" dos $topi --energies 0 --points 5
refused 2 "from 2 on; --energies E gives a single one" dos $topi --points 1
refused 2 "expected a whole number from 2 to" ldos $topi --sites 0 --points 0
refused 2 "--interval and --points do not go with it" ldos $topi --sites 0 --energies 0 --interval 0,1
refused 2 "--plot needs two energies" dos $topi --energies 0 --plot one.svg
refused 2 "no option --energies" count $topi --interval 0,1 --energies 0
if [ $have_gnuplot = 1 ]; then
    ok dos $topi --moments 64 --vectors 8 --energies 0,1,3 --per rows --plot three.svg
    check "the unit of the picture" grep -q 'states per energy and row' three.svg
fi

# ---- per
ok dos $topi --moments 64 --vectors 8 --json
cp out whole.json
json whole.json 'd["per"] == 1 and d["units"]["dos"] == "states per energy"'
for per in rows 48 0.25; do
    ok dos $topi --moments 64 --vectors 8 --per $per --json
    n=$per
    [ $per = rows ] && n=192
    json out 'd["per"] == '$n' and d["moments"] == e["moments"] and abs(d["integral"] * '$n' - e["integral"]) < 1e-9 and
              all(close([x * '$n' for x in d[k]], e[k], 1e-9) for k in ("dos", "dos_error", "dos_low", "dos_high")) and
              d["energies_with_few_states"] == e["energies_with_few_states"]' whole.json
done
ok dos $topi --moments 64 --vectors 8 --per rows
check "the integral per row" grep -qE '^integral +(1|0\.999[0-9]*|1\.000[0-9]*) +\(states per energy and row\)$' out
for value in 0 -1 x '' nan inf row 3x; do refused 2 "expected rows, or a number above 0" dos $topi --per "$value"; done
refused 2 "no option --per" ldos $topi --sites 0 --per rows

# ---- first-vector: two runs of 8 are a run of 16
run() { ok dos $topi --moments 64 --bounds=-6,6 --seed 3 --width 4 "$@"; }
run --vectors 16 --json
cp out sixteen.json
run --vectors 8 --first-vector 8 --json
json out 'd["first_vector"] == 8 and d["vectors"] == 8 and d["moments"] != e["moments"]' sixteen.json
run --vectors 8 --first-vector 8
check "the first vector's number" grep -qE '^vectors +8 random from number 8, seed 3' out
if [ $have_hdf5 = 1 ]; then
    run --vectors 8 --save a.h5 --quiet
    run --vectors 8 --first-vector 8 --save b.h5 --quiet
    ok dos --from a.h5 --from b.h5 --json
    json out 'd["vectors"] == 16 and d["first_vector"] == 0'
    json out 'all(d[k] == e[k] for k in ("moments", "moments_error", "dos", "dos_error", "dos_low", "dos_high"))' sixteen.json
    ok dos --from b.h5 --energies 0 --per rows --json
    json out 'd["first_vector"] == 8 and d["per"] == 192 and len(d["dos"]) == 1'
    run --vectors 8 --first-vector 7 --save c.h5 --quiet
    refused 1 "cannot be taken together" dos --from a.h5 --from c.h5
    for seed in 1 2; do # a file that was written again, with other entries
        ok gen anderson:nx=5,ny=4,nz=3,disorder=2,seed=$seed -o again.mtx --quiet
        ok dos again.mtx --vectors 2 --first-vector $((2 * seed)) --moments 16 --bounds=-8,8 --save again$seed.h5 --quiet
    done
    refused 1 "again1.h5 and again2.h5 cannot be taken together: their matrices have other entries" \
        dos --from again1.h5 --from again2.h5
    # A slash of a spec is no folder's.
    for flux in 1/25 2/25; do
        ok dos square:nx=5,ny=5,flux=$flux --vectors 2 --seed ${flux%/*} --moments 8 --bounds=-4.1,4.1 --save flux${flux%/*}.h5 --quiet
    done
    refused 1 "other names: square:nx=5,ny=5,flux=1/25 and square:nx=5,ny=5,flux=2/25" dos --from flux1.h5 --from flux2.h5
    refused 2 "--first-vector needs a new run" dos --from a.h5 --first-vector 1
    refused 2 "--energies gives all energies" dos --from a.h5 --energies 0 --interval 0,1
fi
ok count $topi --interval=-1,1 --moments 64 --vectors 4 --first-vector 3 --json
json out 'd["first_vector"] == 3'
refused 2 "--first-vector and --trace exact exclude each other" dos $topi --trace exact --first-vector 1
refused 2 "no option --first-vector" ldos $topi --sites 0 --first-vector 1
refused 1 "from number 4294967295 on; random vectors are numbered up to 4294967295" dos $topi --vectors 2 --first-vector 4294967295
for value in -1 x '' 4294967296; do refused 2 "expected a whole number" dos $topi --first-vector "$value"; done

# ---- lattices, and files of Wannier90
printf 'one chain\n1\n3\n1 2 2\n0 0 0 1 1 0.5 0\n1 0 0 1 1 -2 0.25\n-1 0 0 1 1 -2 -0.25\n' >chain_hr.dat
for spec in haldane:nx=6,ny=5,flux=1/6,mass=0.3 square:nx=9,ny=8,flux=1/9,t2=0.1 kagome:nx=5,ny=5,vacancies=0.1 \
    haldane:nx=1,ny=1,flux=2 square:nx=1,ny=1 kagome:nx=1,ny=1,periodic=none wannier:chain_hr.dat,nx=30,ny=1,disorder=1; do
    ok info $spec --json
    json out 'd["rows"] > 0'
    ok gen $spec -o spec.mtx
    ok dos $spec --moments 32 --vectors 4 --bounds=-9,9 --json
    cp out spec.json
    ok dos spec.mtx --moments 32 --vectors 4 --bounds=-9,9 --json
    json out 'close(d["moments"], e["moments"], 1e-11 * d["rows"])' spec.json
    WISP_RANKS=3 ok dos $spec --moments 32 --vectors 4 --bounds=-9,9 --json
    json out 'd["ranks"] == 3 and close(d["moments"], e["moments"], 1e-11 * d["rows"])' spec.json
done
ok dos wannier:chain_hr.dat,nx=200,ny=1 --moments 64 --trace exact --json # 0.5 - 4 cos k - 0.5 sin k
json out 'abs(d["moments"][1] * d["bounds"]["halfwidth"] + 200 * (d["bounds"]["center"] - 0.5)) < 1e-9'
head -n 6 chain_hr.dat >short_hr.dat
refused 1 "short_hr.dat:6: the file ends after 2 of 3 entries" info wannier:short_hr.dat
refused 1 "chain_hr.dat: unknown kind of file (one of Wannier90 is opened as wannier:chain_hr.dat)" info chain_hr.dat
refused 1 "gone_hr.dat: cannot open: No such file" dos wannier:gone_hr.dat,nx=3
refused 1 "wannier: the name of a file must come first" dos wannier:nx=3
WISP_RANKS=3 refused 1 "short_hr.dat:6: the file ends after 2 of 3 entries" dos wannier:short_hr.dat
refused 1 "flux times the 100 cells must be an integer; the nearest that fits is flux=14/100" dos square:flux=1/7
for spec in square:nx=0 kagome:nx=-1 haldane:nx=99999999999999999999 haldane:t2=nan square:flux=inf kagome:disorder=-1 \
    square:nx=4000000000,ny=4000000000 haldane:vacancies=2 wannier:chain_hr.dat,nx=0 wannier:chain_hr.dat,ny=4611686018427387904; do
    refused 1 "${spec%%:*}: " info $spec
done
finish
