# wisp evolve --absorb and --non-hermitian: what is left against closed forms, layers, files, refusals.
. "$(dirname "$0")/cli.sh"

# One bond with the same loss on both rows: exp(-2 w t) is left.
cat >loss.mtx <<'END'
%%MatrixMarket matrix array real general
2 1
0.25
0.25
END
bond=laplace:nx=2,ny=1,points=5
ok evolve $bond --absorb loss.mtx --time 8 --steps 4 --site 0 --json
json out 'all(abs(s - math.exp(-0.5 * t)) <= o + 1e-14 for s, o, t in zip(d["survival"], d["survival_off"], d["times"]))'
json out 'all(abs(n * n - s) < 1e-15 for n, s in zip(d["norm"], d["survival"])) and 0 < d["survival_off"][0] < 1e-14 and d["survival_off"][4] < 1e-10'
json out 'abs(d["absorption"]["center"] - 0.25) < 1e-12 and d["absorption"]["halfwidth"] < 1e-12 and d["completed"]'
json out 'all(abs(x - s * math.cos(t) ** 2) < 1e-9 for x, s, t in zip(d["density"][0], d["survival"], d["times"]))'
ok evolve $bond --absorb loss.mtx --time=-8 --steps 4 --site 0 --json # the other way it grows
json out 'all(abs(s * math.exp(0.5 * t) - 1) < 1e-9 for s, t in zip(d["survival"], d["times"]))'

# The same matrix from a file, by --non-hermitian; without it it is refused.
cat >lossy.mtx <<'END'
%%MatrixMarket matrix coordinate complex general
2 2 4
1 1 4 -0.25
1 2 -1 0
2 1 -1 0
2 2 4 -0.25
END
ok evolve lossy.mtx --non-hermitian --time 8 --steps 4 --site 0 --states a.mtx --json
json out 'all(abs(s - math.exp(-0.5 * t)) <= o + 1e-14 for s, o, t in zip(d["survival"], d["survival_off"], d["times"]))'
refused 1 "is not Hermitian" evolve lossy.mtx --time 8 --site 0

# What passes the ends of a line does not come back: as on one so long that nothing has come back by then.
line=square:nx=300,ny=1
ok evolve $line --absorb 'x<60:0.6,x>239:0.6' --time 100 --steps 5 --site 150 --watch 100,150,180,200 --json
cp out absorbed.json
ok evolve square:nx=800,ny=1 --time 100 --steps 5 --site 400 --watch 350,400,430,450 --json
json out 'all(abs(a - b) < 1e-6 for x, y in zip(d["density"], json.load(open("absorbed.json"))["density"]) for a, b in zip(x, y))'
ok evolve $line --absorb 'x<60:0.6,x>239:0.6' --time 200 --steps 20 --site 150 -o left.csv
check "a line of what is left" grep -qE '^left +0\.[0-9]+ of the probability at the end, may be off by' out
check "a line of W" grep -qE '^absorption +W of H - iW from .* to 0\.6$' out
check "columns of what is left" grep -qx 'time,norm,psi_off,survival,survival_off,density_150' left.csv
ok evolve $line --absorb 'x<60:0.6,x>239:0.6' --time 200 --steps 20 --site 150 --json
json out 'all(b <= a + 1e-9 for a, b in zip(d["survival"], d["survival"][1:])) and d["survival"][-1] < 0.5'
ok evolve $line --absorb 'x>=239:0.6' --time 20 --steps 2 --random --plan
check "whose bounds the sweeps follow from" grep -q '^sweeps *not known: .* the bounds of H and of W' out
ok evolve $line --absorb 'x>=239:0.6' --time 20 --steps 2 --random --plan --json
bound=$(sed -n 's/^ *"bound_bytes": *\([0-9]*\).*/\1/p' out)
ok evolve $line --absorb 'x>=239:0.6' --time 20 --steps 2 --random --quiet --mem-limit "$bound"
seq 0 299 >places.txt
ok evolve $line --absorb 'x>239:0.6' --positions places.txt --time 20 --steps 2 --site 150 --precision single --json
json out 'd["type"] == "complex single" and abs(d["survival"][2] - 1) < 1e-4'
if [ $have_gnuplot = 1 ]; then ok evolve $line --absorb 'x>239:0.6' --time 20 --random --plot p.svg --quiet; fi

# In two pieces as in one.
if [ $have_hdf5 = 1 ]; then
    ok evolve $line --absorb 'x<60:0.6' --time 80 --steps 4 --site 30 --json
    cp out one.json
    ok evolve $line --absorb 'x<60:0.6' --time 40 --steps 2 --site 30 --states s.h5 --quiet
    ok evolve $line --absorb 'x<60:0.6' --time 80 --steps 2 --from s.h5 --json
    json out 'abs(d["survival"][2] - json.load(open("one.json"))["survival"][4]) <= 2 * d["survival_off"][2] and d["survival_off"][2] < 1e-9'
    refused 1 "are of another matrix" evolve $line --absorb 'x<60:0.5' --time 80 --steps 2 --from s.h5
    # What is left may be less than it is off by; and nothing at last.
    printf '%%%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 1 1 -1\n2 2 2 0\n' >part.mtx
    ok evolve part.mtx --non-hermitian --time 30 --steps 1 --site 0 --states s.h5 --json
    json out '0 < d["norm"][1] < d["off"][1] < 3e-10'
    cp out part.json
    ok evolve part.mtx --non-hermitian --time 31 --steps 1 --from s.h5 --json
    json out 'd["off"][0] == json.load(open("part.json"))["off"][1] <= d["off"][1] <= d["off"][0] * 1.001'
    ok evolve $bond --absorb loss.mtx --time 9000 --steps 1 --site 0 --states s.h5 --quiet
    refused 1 "the state in s.h5 has norm 0: nothing is left of it to go on from" evolve $bond --absorb loss.mtx --time 9001 --from s.h5
fi

refused 2 "expected layers such as" evolve $line --absorb 'x<60' --time 1 --site 0
refused 2 "--absorb x>200:1: it is given twice" evolve $line --absorb 'x<60:1' --absorb 'x>200:1' --time 1 --site 0
refused 1 "rows of layer 1, x>=299, are at its edge alone, where W is 0" evolve $line --absorb 'x>=299:1' --time 1 --site 0
many=x\<9:1
for i in {2..16}; do many=$many,x\<9:1; done
ok evolve $line --absorb "$many" --time 1 --steps 1 --site 0 --quiet
refused 2 "there are at most 16 layers" evolve $line --absorb "$many,x<9:1" --time 1 --site 0
refused 2 "expected layers such as" evolve $line --absorb 'x<60:0.5,y' --time 1 --site 0
refused 1 "no row is in layer 2, x>400" evolve $line --absorb 'x<60:0.5,x>400:1' --time 1 --site 0
refused 1 "where its rows are is not known" evolve lossy.mtx --absorb 'x<60:0.5' --time 1 --site 0
refused 1 "none.mtx" evolve $line --absorb none.mtx --time 1 --site 0
refused 1 "a potential of 300 rows" evolve $line --absorb loss.mtx --time 1 --site 0
printf '%%%%MatrixMarket matrix array complex general\n2 1\n0.2 0\n0.1 1\n' >complex.mtx
refused 1 "W of H - iW is real" evolve $bond --absorb complex.mtx --time 1 --site 0
refused 2 "--absorb is for real times" evolve $bond --absorb loss.mtx --imaginary --time 1 --site 0
refused 2 "--non-hermitian is for real times" evolve $bond --non-hermitian --angle 3 --time 1 --site 0
refused 2 "--positions is for --absorb" evolve $line --positions places.txt --time 1 --site 0
refused 1 "can't be met" evolve $bond --absorb loss.mtx --time 1e13 --site 0
# A bound of an expectation value counts rounding where the norm has grown: here the value is 0.
printf '%%%%MatrixMarket matrix coordinate complex general\n3 3 3\n1 1 0 -1\n2 2 0 -1\n3 3 0 -1\n' >g.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n3\n2\n4\n' >null.mtx
printf '%%%%MatrixMarket matrix array real symmetric\n3 3\n4\n-6\n0\n9\n0\n0\n' >b.mtx
for time in -8 -18; do
    ok evolve g.mtx --non-hermitian --start null.mtx --time=$time --steps 1 --operator b.mtx --json
    json out 'abs(d["expectation"][0][-1]) <= d["expectation_off"][0][-1]'
done
# The norm may be a number whose square is none.
ok evolve g.mtx --non-hermitian --time=-500 --steps 2 --site 0 --json
json out 'd["survival"][2] is None and d["survival_off"][2] is None and abs(d["log_norm"][2] - 500) < 1e-9 and abs(d["norm"][2] / math.exp(500) - 1) < 1e-9'
ok evolve g.mtx --non-hermitian --time=-500 --steps 2 --site 0 --energy
check "its logarithm" grep -qE '^left +exp\((1000|999\.9+)[0-9.]*\) of the probability' out
check "an energy that is none" grep -q '^operator *energy at the end is no number' out
# The energy of H - iW: both parts, and how far each may be off.
ok evolve $bond --absorb loss.mtx --time 8 --steps 4 --site 0 --energy --json
json out 'all(abs(e - 4 * s) <= o for e, s, o in zip(d["expectation"][0], d["survival"], d["expectation_off"][0]))'
json out 'all(abs(e + 0.25 * s) <= o < 1e-8 for e, s, o in zip(d["expectation_imag"][0], d["survival"], d["expectation_off"][0]))'
ok evolve $bond --absorb loss.mtx --time 8 --steps 4 --site 0 --energy
check "both parts" grep -qE '^operator +[0-9.]+-[0-9.]+i of energy at the end, may be off by' out
# What overflows at last keeps the times before.
refused 1 "are kept" evolve g.mtx --non-hermitian --time=-900 --steps 9 --site 0 -o kept.csv
check "they are there" test "$(grep -c '^-' kept.csv)" -ge 3
finish
