#!/bin/bash
# wisp power and wisp evolve: what they print and write, what they refuse, and what is kept when they are stopped;
# --depth of wisp dos.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3
python() { # python WHAT PROGRAM ARGS...
    [ $have_python = 1 ] || return 0
    check "$1" python3 -c "$2" "${@:3}"
}

# ---- dos --depth: the same moments
ok dos $topi --moments 33 --vectors 5 --json
cp out one.json
ok dos $topi --moments 33 --vectors 5 --depth 7 --json
json out 'd["moments"] == e["moments"] and d["depth"] == 1 and e["depth"] == 1' one.json # too few rows
large="topi:nx=16,ny=16,nz=16 --threads 1 --width 8 --vectors 8 --moments 33 --json"
ok dos $large --depth 1
cp out one.json
for args in "--depth 7" "--depth 7 --cache-budget 1MB" "--depth 20 --cache-budget 0.5%"; do
    ok dos $large $args
    json out 'd["moments"] == e["moments"] and d["depth"] in (7, 16) and e["depth"] == 1 and d["cache_budget"] > 0' one.json
done
ok dos $large --depth 2 --cache-budget 20M
json out 'd["cache_budget"] == 20 * 2**20 and d["depth"] == 2'
check "the log says why there is nothing to gain" grep -q "gain nothing: matrix and blocks fit the cache" <(
    "$wisp" dos $large --depth 2 --cache-budget 1G --log text 2>&1 >/dev/null)
check "the log says why steps are not interleaved" grep -q "are not to be had: the matrix has too few rows" <(
    "$wisp" dos $topi --threads 1 --depth 2 --log text 2>&1 >/dev/null)
for value in 0 -1 x 20%% 1M,2M 0% 1MX "" %; do
    refused 2 "--cache-budget" dos $topi --cache-budget "$value"
done
refused 2 "one size such as" power $topi -p 3 --cache-budget 1M,2M
refused 2 "naive" dos $topi --variant naive --cache-budget 5%
if [ $have_hdf5 = 1 ]; then
    ok dos $topi --moments 33 --vectors 5 --depth 7 --save m.h5 --json
    ok dos --from m.h5 --json
    json out 'd["depth"] == 1 and d["cache_budget"] is None'
fi

# ---- power: a matrix whose powers are known
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 3 1\n3 1 2\n' >shift.mtx
printf '%%%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n0\n0\n5\n' >start.mtx
ok power shift.mtx -p 4 --start start.mtx -o last.mtx
for word in matrix rows start run time power written; do grep -q "^$word" out || fail "no '$word' in the summary"; done
printf '4\n6\n4\n0\n10\n0\n' >should # A^3 = 2: A^4 v = 2 A v
check "the last power" cmp -s should <(grep -v '^%' last.mtx | tail -n +2)
ok power shift.mtx -p 4 --start start.mtx -o all.mtx.gz --all --quiet
[ -s out ] && fail "--quiet prints"
check "all powers: 3 rows, 5 times 2 columns" grep -qx '3 10' <(zcat all.mtx.gz)
check "they end with the last" cmp -s should <(zcat all.mtx.gz | tail -6)
ok power shift.mtx -p 2 --start start.mtx --scale 0.5 --json
json out 'close(d["norms"][2], [0.25 * 40 ** 0.5, 2.5], 1e-12) if d["norms"][2][1] == 2.5 else d["norms"]'
for args in "--width 3" "--precision single" "--order rcm" "--format sell" "--threads 1"; do
    ok power $topi -p 21 $args --json
    json out 'len(d["norms"]) == 22 and all(abs(n - 1) < 1e-6 for n in d["norms"][0])'
    for key in seconds gflops isa threads type scale width powers matrix command rows nnz start seed; do
        grep -q "^  \"$key\": " out || fail "no key $key in the JSON of power"
    done
done
# Whether memory or the core is what these kernels wait for depends on the instruction set: the log says which.
small_cache="power topi:nx=16,ny=16,nz=16 -p 18 --threads 1 --width 8 --cache-budget 3000000"
ok $small_cache --json
json out 'd["depth"] >= 1 and d["cache_budget"] == 3000000'
if grep -q '"depth": 1,' out; then
    check "the log says that cores take the time" grep -q "gain nothing: the cores" <("$wisp" $small_cache --log text 2>&1)
fi
ok power topi:nx=16,ny=16,nz=16 -p 18 --threads 1 --width 8 --cache-budget 1G --json
json out 'd["depth"] == 1 and d["powers"] == 18'
# A random start is the same in any order, and --all changes nothing.
ok power $topi -p 35 --json --order natural
cp out natural.json
ok power $topi -p 35 --json --order rcm --all -o v.mtx
json out 'all(close([x / y[0] for x in z], [1], 1e-12) for z, y in zip(d["norms"], e["norms"]))' natural.json

refused 2 "-p N is missing" power $topi
refused 2 "MATRIX is missing" power -p 3
refused 2 "expected a whole number" power $topi -p 0
refused 2 "--all needs" power $topi -p 3 --all
refused 2 "must end in" power $topi -p 3 -o x.csv
refused 2 "exclude each other" power $topi -p 3 --width 2 --start start.mtx
refused 2 "same file" power shift.mtx -p 3 --start start.mtx -o ./start.mtx
refused 2 "--output and MATRIX name the same file" power shift.mtx -p 3 -o ./shift.mtx
for value in 0 -1 nan x; do refused 2 "above 0" power $topi -p 3 --scale $value; done
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >wide.mtx
refused 1 "need a square matrix" power wide.mtx -p 2
refused 1 "3 x 2; a start of 192 rows" power $topi -p 2 --start start.mtx
refused 1 "absent.mtx" power absent.mtx -p 2
refused 1 "cannot write" power $topi -p 2 -o absent/x.mtx
refused 1 "overflows in complex double: the norm grows about" power $topi -p 1000
scale=$(sed -n 's/.*--scale \([0-9.e-]*\) .*/\1/p' err)
ok power $topi -p 1000 --scale "$scale" --quiet
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\nnan\n0\n' >nan.mtx
refused 1 "nan.mtx: row 1, column 0 (counted from 0) holds a NaN or an infinity" power shift.mtx -p 2 --start nan.mtx

# ---- evolve: one bond, |psi_1|^2 = sin^2 t
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n' >bond.mtx
ok evolve bond.mtx --time 10 --steps 40 --site 0 --watch 0,1 -o bond.csv
for word in matrix rows bounds start times run norm density results; do
    grep -q "^$word" out || fail "no '$word' in the summary"
done
check "the table's head" grep -qx 'time,norm,psi_off,density_0,density_1' bond.csv
python "sin^2 t" '
import csv, math, sys
rows = list(csv.DictReader(l for l in open("bond.csv") if l[0] != "#"))
assert len(rows) == 41 and float(rows[40]["time"]) == 10
for r in rows:
    t = float(r["time"])
    assert abs(float(r["norm"]) - 1) < 1e-10
    assert abs(float(r["density_1"]) - math.sin(t) ** 2) < 1e-9 and abs(float(r["density_0"]) - math.cos(t) ** 2) < 1e-9'
ok evolve bond.mtx --time 10 --steps 40 --site 0,1 --json -o both.json
check "-o FILE.json gives what --json prints" cmp -s out both.json
json both.json 'd["sites"] == [0, 1] and all(abs(x - 0.5) < 1e-9 for r in d["density"] for x in r) and d["completed"]'
for key in times norm norm_deviation density tolerance sweeps bounds seconds isa threads start units version; do
    grep -q "^  \"$key\": " both.json || fail "no key $key in the JSON of evolve"
done
ok evolve bond.mtx --time 10 --steps 40 --site 0,1,0,0 --watch 0,1 --json
json out 'd["density"] == e["density"]' both.json
# The same from a file, in single precision, in another order, with several steps per call.
ok evolve $topi --time 5 --steps 7 --site 17 --watch 1-3,17 --json
cp out site.json
printf '%%%%MatrixMarket matrix coordinate real general\n192 1 1\n18 1 3\n' >site17.mtx
for args in "--start site17.mtx" "--site 17 --order rcm" "--site 17 --depth 6" "--site 17 --bounds gershgorin" \
    "--site 17 --tolerance 1e-12" "--site 17 --format sell"; do
    ok evolve $topi --time 5 --steps 7 $args --watch 1-3,17 --json
    json out 'all(close(a, b, 1e-9) for a, b in zip(d["density"], e["density"]))' site.json
done
ok evolve $topi --time 5 --steps 7 --site 17 --watch 1-3,17 --precision single --json
json out 'all(close(a, b, 1e-3) for a, b in zip(d["density"], e["density"])) and d["type"] == "complex single"' site.json
ok evolve $topi --time 2 --random --seed 5 --json
json out 'd["sites"] is None and d["density"] is None and len(d["norm"]) == 101 and d["norm_deviation"] < 1e-10'
if [ $have_hdf5 = 1 ]; then
    ok evolve $topi --time 2 --site 0 -o e.h5
    check "an HDF5 file" test -s e.h5
fi
if [ $have_gnuplot = 1 ]; then
    ok evolve $topi --time 2 --site 0,5 --plot e.svg
    check "a picture" grep -q 'row 5' e.svg
    ok evolve $topi --time 2 --random --plot e.png
    check "a picture without rows" test -s e.png
fi

# ---- evolve: expectation values within what they may be off; back in time
# From row 0 of a bond psi is (cos t, -i sin t): sz is cos 2t, sy -sin 2t, and c_0^+ c_1 -i sin 2t / 2.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 -1\n' >sz.mtx
printf '%%%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 0 1\n' >sy.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n' >hop.mtx
for args in "10 1e-3" "10 1e-10" "-3 1e-6" "10 1e-3 --precision single"; do
    read -r time tolerance more <<<"$args"
    # shellcheck disable=SC2086
    ok evolve bond.mtx --time "$time" --tol "$tolerance" $more --steps 40 --site 0 --energy --operator sz.mtx --operator sy.mtx \
        --operator hop.mtx -o values.csv --json
    python "expectation values, --time $args" '
import csv, json, math, sys
d, end = json.load(open("out")), float(sys.argv[1])
assert d["operators"] == ["energy", "sz.mtx", "sy.mtx", "hop.mtx"] and d["times"][-1] == end
exact = [lambda t: 0, lambda t: math.cos(2 * t), lambda t: -math.sin(2 * t), lambda t: -0.5j * math.sin(2 * t)]
for b in range(4):
    for i, t in enumerate(d["times"]):
        value, off = complex(d["expectation"][b][i], d["expectation_imag"][b][i]), d["expectation_off"][b][i]
        assert (off is None) == (b == 3)
        assert abs(value - exact[b](t)) <= (3 * d["tolerance"] if off is None else off), (b, t, value, off)
rows = list(csv.DictReader(l for l in open("values.csv") if l[0] != "#"))
assert [float(r["expectation_2"]) for r in rows] == d["expectation"][2] and rows[1]["off_3"] == ""' "$time"
done
ok evolve bond.mtx --time 1 --site 0 --operator sy.mtx
check "the summary has the value" grep -q '^operator .* of sy.mtx at the end, may be off by' out
refused 1 "--operator start.mtx is 3 x 2; the matrix has 2 rows" evolve bond.mtx --time 1 --site 0 --operator start.mtx
refused 1 "absent.mtx" evolve bond.mtx --time 1 --site 0 --operator absent.mtx

refused 2 "--time T is missing" evolve $topi --site 0
refused 2 "where to start is missing" evolve $topi --time 1
refused 2 "exclude each other" evolve $topi --time 1 --site 0 --random
refused 2 "not 0" evolve $topi --time 0 --site 0
for value in nan inf x; do refused 2 "expected a number" evolve $topi --time $value --site 0; done
for value in 0 -1e-5 nan; do refused 2 "above 0" evolve $topi --time 1 --site 0 --tolerance $value; done
refused 2 "below 1" evolve $topi --time 1 --site 0 --tolerance 2
refused 2 "expected a whole number" evolve $topi --time 1 --site 0 --steps 0
refused 2 "row 192 is not there" evolve $topi --time 1 --site 192
refused 2 "--watch: row 500 is not there" evolve $topi --time 1 --site 0 --watch 500
refused 2 "must end in" evolve $topi --time 1 --site 0 -o x.mtx
refused 2 "must end in" evolve $topi --time 1 --site 0 --plot x.gif
refused 1 "rounding alone" evolve $topi --time 1 --site 0 --tolerance 1e-20
refused 1 "cannot write" evolve $topi --time 1 --site 0 -o absent/x.csv
refused 1 "ermitian" evolve shift.mtx --time 1 --site 0
refused 1 "Hamiltonian is square" evolve wide.mtx --time 1 --site 0
refused 1 "a state is one column" evolve shift.mtx --time 1 --start start.mtx
refused 1 "beyond the bounds" evolve $topi --time 20 --site 0 --bounds=-1,1
printf '%%%%MatrixMarket matrix coordinate real general\n192 1 0\n' >zero.mtx
refused 1 "can't be normalised" evolve $topi --time 1 --start zero.mtx

# ---- Ctrl-C
checks=$((checks + 1))
stop evolution INT 0.01 evolve topi:nx=20,ny=20,nz=10 --time 2000 --steps 2000 --site 0 -o part.csv
tail -1 log | grep -q '"event":"error".*of 2000 times, until time [0-9.]*, are kept in part.csv' || fail "$(tail -1 log)"
check "it says that it is a part" grep -qx '# completed: false' part.csv
rows=$(grep -vc '^[#t]' part.csv)
[ "$rows" -gt 1 ] && [ "$rows" -lt 2001 ] || fail "$rows rows of a part"
checks=$((checks + 1))
stop evolution INT 0 evolve topi:nx=20,ny=20,nz=10 --time 2000 --steps 1 --site 0
tail -1 log | grep -q 'nothing was kept (-o FILE keeps what is done)' || fail "$(tail -1 log)"

finish
