# wisp green: values against closed forms, moments kept and evaluated anew, files, refusals.
. "$(dirname "$0")/cli.sh"

# Levels and states of a chain of 7 with open ends are known.
chain=laplace:nx=7,ny=1,points=5
cat >levels.py <<'PY'
import cmath, math
def green(i, z, n=7):
    s = lambda k: 2 / (n + 1) * math.sin(math.pi * k * (i + 1) / (n + 1)) ** 2
    return sum(s(k) / (z - 4 + 2 * math.cos(math.pi * k / (n + 1))) for k in range(1, n + 1))
def within(d):
    return all(abs(complex(re, im) - green(i, E + 1j * d["eta"])) <= b + 1e-13 and b * d["eta"] <= 1e-10
               for i, R, I, B in zip(d["sites"], d["green_re"], d["green_im"], d["beside"])
               for E, re, im, b in zip(d["energies"], R, I, B))
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("levels.py").read())' check.py

for eta in 1 0.1 0.01; do
    ok green $chain --sites 0,3 --eta $eta --energies=-1,0,3.3,4,9 --json
    json out 'within(d) and d["quantity"] == "green" and d["energies"] == [-1, 0, 3.3, 4, 9] and d["sites"] == [0, 3]'
done
ok green $chain --sites 2 --eta 0.1 --interval 0,1 --points 11 --bounds 1.9,6.1 --json
json out 'within(d) and len(d["energies"]) == 11'
ok green $chain --sites 2 --eta 0.1 --energies 1,2
check "values in the summary" grep -q '^G .*i at 1 of row 2' out
check "their error" grep -q '^error *at most' out
ok green $chain --sites 2 --eta 0.1 --energies 1,2 -o g.csv
check "a table" grep -q '^energy,green_re_2,green_im_2,beside_2' g.csv
ok green $chain --sites 2 --eta 0.1 --precision single --tol 1e-3 --energies 1
ok green $chain --sites 2 --eta 0.1 --plan
if [ $have_gnuplot = 1 ]; then
    ok green $chain --sites 0,3 --eta 0.1 --plot g.svg
    check "a picture of -Im G over pi" grep -q 'Im G' g.svg
fi
if [ $have_hdf5 = 1 ]; then
    ok green $chain --sites 1,4 --eta 0.1 --energies 1 --save m.h5
    ok green --from m.h5 --eta 0.2 --energies 0,1,2 --json
    json out 'within(d) and d["sites"] == [1, 4]'
    ok green --from m.h5 --eta 0.2 --energies 0 --sites 4 --json
    json out 'within(d) and d["sites"] == [4]'
    ok ldos --from m.h5 --energies 0
    refused 1 "moments, and" green --from m.h5 --eta 0.001 --energies 4
    ok dos $chain --moments 16 --save d.h5
    refused 1 "moments of a trace" green --from d.h5 --eta 1
    refused 2 "--moments needs a new run" green --from m.h5 --eta 1 --moments 8
fi
refused 2 "needs --sites" green $chain --eta 1
refused 2 "needs --eta" green $chain --sites 0
refused 2 "--eta" green $chain --sites 0 --eta 0
refused 2 "wisp: --tol 0: expected a number above 0" green $chain --sites 0 --eta 1 --tol 0
refused 2 "wisp: --tolerance 0: expected a number above 0" green $chain --sites 0 --eta 1 --tolerance=0
refused 2 "it must be below 1" green $chain --sites 0 --eta 1 --tol 2
ok green $chain --sites 0 --eta 0.1 --bounds 1.9,6.1 --plan --json
json out 'd["evaluate_seconds"] >= 0 and d["total_seconds"] >= d["evaluate_seconds"]'
ok green $chain --sites 0 --eta 0.1 --bounds 1.9,6.1 --plan
check "the time of the evaluation" grep -qE '^time .*, evaluation ' out
refused 1 "moments, and" green $chain --sites 0 --eta 0.01 --moments 16 --energies 1
refused 1 "rounding of the moments alone" green $chain --sites 0 --eta 0.1 --tol 1e-16 --energies 1
refused 1 "2^30 moments" green $chain --sites 0 --eta 1e-9
refused 1 "2^30 moments" green $chain --sites 0 --eta 1e-300

finish
