# wisp thermal and wisp trace: values against closed forms, moments kept and evaluated anew, files, refusals.
. "$(dirname "$0")/cli.sh"

lattice=laplace:nx=5,ny=4,points=5
cat >levels.py <<'PY'
import math
level = [4 - 2 * math.cos(math.pi * i / 6) - 2 * math.cos(math.pi * j / 5) for i in range(1, 6) for j in range(1, 5)]
def canonical(T):
    w = [math.exp(-E / T) for E in level]
    z = sum(w)
    e = sum(a * E for a, E in zip(w, level)) / z
    c = sum(a * (E - e) ** 2 for a, E in zip(w, level)) / z / T**2
    return math.log(z), e, c, math.log(z) + e / T
def within(d, i, tolerance):
    is_ = [d[q][i] for q in ("log_z", "energy", "heat_capacity", "entropy")]
    return close(is_, canonical(d["temperatures"][i]), tolerance)
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("levels.py").read())' check.py

# ---- exact traces
ok thermal $lattice --temperatures 4,0.25,1 --trace exact --json
json out 'd["temperatures"] == [0.25, 1, 4] and all(within(d, i, 1e-10) for i in range(3))'
json out 'd["quantity"] == "thermal" and d["temperatures_served"] == 3 and d["why"] is None and max(d["beside"]) < 1e-9'
json out 'd["energy_error"] == [0, 0, 0] and all(l <= v <= h for l, v, h in zip(d["entropy_low"], d["entropy"], d["entropy_high"]))'
ok thermal $lattice --temperatures 0.1:10:7 --trace exact --json
json out 'len(d["temperatures"]) == 7 and d["temperatures"][0] == 0.1 and d["temperatures"][6] == 10 and
          all(abs(b / a - 100 ** (1 / 6)) < 1e-12 for a, b in zip(d["temperatures"], d["temperatures"][1:])) and within(d, 3, 1e-10)'
ok trace $lattice --function log --bounds 0.3,7.7 --trace exact --json
json out 'abs(d["trace_of_function"] - sum(math.log(E) for E in level)) < 1e-10 * 20 * d["largest"] and d["function"] == "log"'
json out 'd["trace_low"] <= d["trace_of_function"] <= d["trace_high"] and d["trace_error"] == 0 and d["number_of_moments"] == d["terms"] + d["terms"] % 2'
for f in "inverse 1/E" "sqrt math.sqrt(E)" "inverse-sqrt E**-.5" "exp math.exp(E)" "exp:-0.5 math.exp(-.5*E)" "power:3 E**3" "power:-1.5 E**-1.5" \
    "fermi:3,0.4 1/(1+math.exp((E-3)/.4))" "gauss:4,0.7 math.exp(-(E-4)**2/2/.49)"; do
    ok trace $lattice --function ${f% *} --bounds 0.3,7.7 --trace exact --json
    json out "abs(d['trace_of_function'] - sum(${f#* } for E in level)) < 1e-10 * 20 * d['largest'] and d['function'] == '${f% *}'"
done

# ---- random vectors; moments kept, and evaluated anew
topi=topi:nx=4,ny=4,nz=3
ok thermal $topi --temperatures 2,20 --vectors 16 --json
json out 'all(l < v < h for l, v, h in zip(d["log_z_low"], d["log_z"], d["log_z_high"])) and min(d["heat_capacity_error"]) > 0 and
          d["vectors"] == 16 and abs(d["entropy"][1] - math.log(192)) < 0.1'
ok thermal $topi --temperatures 2,20 --vectors 16
check "a table" grep -q '^temperature *ln Z *energy *heat capacity *entropy$' out
check "bars in it" grep -q '^20 .*+-.*+-.*+-' out
ok trace $topi --function exp --vectors 16
check "a trace with its bar" grep -q '^trace .*+.*95% bar' out
ok trace $lattice --function log --bounds 0.3,7.7 --trace exact
check "log det by its name" grep -q '^log det .*no statistical error' out
ok thermal $topi --temperatures 2 --vectors 1
check "one vector has no bar" grep -q '^error bar *none: one vector' out
if [ $have_hdf5 = 1 ]; then
    ok thermal $topi --temperatures 2,0.5 --vectors 16 --save m.h5 --json
    cp out saved.json
    ok thermal --from m.h5 --temperatures 2 --json
    json out 'd["log_z"][0] == e["log_z"][1] and d["energy_low"][0] == e["energy_low"][1] and d["moments_command"] == e["command"]' saved.json
    ok trace --from m.h5 --function exp:-0.5 --json
    json out 'abs(math.log(d["trace_of_function"]) - e["log_z"][1]) < 1e-9' saved.json
    ok dos --from m.h5
    refused 1 "needs eigenvalues above 0, and the bounds are -" trace --from m.h5 --function log
    refused 2 "--moments needs a new run" trace --from m.h5 --function exp --moments 8
    ok ldos $topi --sites 3 --moments 64 --save l.h5
    refused 1 "moments of single rows" thermal --from l.h5 --temperatures 1
    # Ctrl-C keeps complete vectors.
    stop moments INT 0.5 thermal $topi --temperatures 2 --vectors 16 --width 2 --save k.h5
    check "what is kept, and how to go on" grep -q 'are kept: wisp thermal --from k.h5' log
    ok thermal --from k.h5 --temperatures 2
fi

# A run that a signal ends, and that goes on: the number of moments is that of its checkpoint.
run="thermal $topi --temperatures 2 --vectors 16 --width 2 --checkpoint run.ck"
stop moments TERM 0.5 $run
ok $run --resume run.ck --json
cp out resumed.json
ok thermal $topi --temperatures 2 --vectors 16 --width 2 --json
json out 'd["log_z"] == e["log_z"] and d["heat_capacity_error"] == e["heat_capacity_error"]' resumed.json
# Single precision: its rounding is in the bar.
ok thermal $lattice --temperatures 4 --trace exact --precision single --json
json out 'within(d, 0, 1e-3) and 1e-7 < d["beside"][0] < 1e-2 and d["entropy_low"][0] < canonical(4)[3] < d["entropy_high"][0]'

# ---- files
if [ $have_hdf5 = 1 ]; then
    ok thermal $lattice --temperatures 1,2 --trace exact -o t.h5
    ok trace $lattice --function exp -o t.h5
fi
ok thermal $lattice --temperatures 1,2 --trace exact -o t.csv
check "columns" grep -q '^temperature,log_z,log_z_error,log_z_low,log_z_high,energy,.*,entropy_high,beside$' t.csv
check "a row for each temperature" test "$(grep -c '^[12],' t.csv)" = 2
ok trace $lattice --function exp -o t.csv
check "columns" grep -q '^function,trace,trace_error,trace_low,trace_high,truncation,rounding$' t.csv
check "a row" grep -q '^exp,[0-9]' t.csv
if [ $have_gnuplot = 1 ]; then
    ok thermal $topi --temperatures 1:100:30 --vectors 8 --plot t.svg
    check "a complete svg" grep -q '</svg>' t.svg
    check "its curves and bands" sh -c 'grep -q "heat capacity" t.svg && grep -q "entropy" t.svg && grep -q "95% error band" t.svg'
    ok thermal $topi --temperatures 3 --trace exact --plot t.svg
fi
refused 2 "wisp trace has no option --plot" trace $lattice --function exp --plot t.svg

# ---- temperatures that are not served: the others are there, and the exit status says so
"$wisp" thermal $lattice --temperatures 1,0.01,0.001 --trace exact --json >out 2>err
check "exit status 3" test $? = 3
check "one line that names a temperature" sh -c '[ $(wc -l <err) = 1 ] && grep -q "^wisp: at temperature 0.01 .* serve temperatures from " err'
json out 'd["temperatures_served"] == 1 and d["energy"][:2] == [None, None] and within(d, 2, 1e-10) and "0.01" in d["why"]'
refused 1 "serve temperatures from" thermal $lattice --temperatures 0.001 --trace exact
# Closer bounds serve them.
ok thermal $lattice --temperatures 0.01 --trace exact --bounds 0.649,7.4 --json
json out 'within(d, 0, 1e-6)'

# ---- states that are cooled: temperatures far below those that moments serve, against the levels, and within the bars
run="thermal $lattice --temperatures 0.0005,0.01,0.3,2 --vectors 16 --seed 3"
"$wisp" $run --json >out 2>err
check "refused without them" sh -c 'grep -q "^wisp: at temperature 0.01 .* serve lower ones; or take --cool$" err'
cat >>levels.py <<'PY'
def in_bars(d, i):
    return all(d[q + "_low"][i] <= v <= d[q + "_high"][i] for q, v in
               zip(("log_z", "energy", "heat_capacity", "entropy"), canonical_low(d["temperatures"][i])))
def canonical_low(T): # where all weights but the lowest level's are 0
    w = [math.exp(-(E - level[0]) / T) for E in level]
    z = sum(w)
    e = sum(a * (E - level[0]) for a, E in zip(w, level)) / z
    c = sum(a * (E - level[0] - e) ** 2 for a, E in zip(w, level)) / z / T**2
    return math.log(z) - level[0] / T, level[0] + e, c, math.log(z) + e / T
PY
ok $run --cool --json
json out 'all(in_bars(d, i) for i in range(4)) and d["temperatures_served"] == 4 and d["temperatures_cooled"] == 2 and d["why"] is None'
json out 'abs(d["energy"][0] - level[0]) < 1e-9 and max(d["beside"]) < 1e-6 and d["cooled_vectors"] == 16 and d["cool_sweeps"] > 0'
cp out cooled.json
ok $run --cool
check "a line on them" grep -q '^cooled  *the lowest 2, by states of 16 vectors: [0-9,]* sweeps' out
WISP_RANKS=3 ok $run --cool --json
json out 'close(d["energy"], e["energy"], 1e-9) and close(d["heat_capacity"], e["heat_capacity"], 1e-6)' cooled.json
ok $run --cool --moments 8 --json
json out 'all(in_bars(d, i) for i in range(4)) and d["temperatures_cooled"] == 4'
ok thermal $lattice --temperatures 0.3,2 --vectors 16 --seed 3 --cool --moments 8 --precision single --json
json out 'd["temperatures_cooled"] >= 1 and 1e-7 < max(d["beside"]) < 1e-2 and in_bars(d, 0) and in_bars(d, 1)'
ok thermal $lattice --temperatures 2 --cool --json
json out 'd["temperatures_cooled"] == 0 and d["cool_sweeps"] == 0'
# One that goes a long way down, whose states stay as they are once they are cold.
ok thermal $lattice --temperatures 1e-5,0.001 --vectors 3 --cool --json
json out 'close(d["energy"], [level[0], level[0]], 1e-9) and d["heat_capacity"][0] < 1e-6'
"$wisp" $run --cool --tolerance 1e-16 --json >out 2>err
check "too small a tolerance" test $? = 1
stop cooling INT 0.5 $run --cool --json
check "Ctrl-C keeps whole batches" grep -q 'cooled states are those of 8 of 16 vectors' log
json out 'd["cooled_vectors"] == 8 and d["temperatures_served"] == 4 and in_bars(d, 0) and in_bars(d, 1)'
bound=$("$wisp" $run --cool --moments 64 --plan --json | sed -n 's/.*"bound_bytes": \([0-9]*\).*/\1/p')
ok $run --cool --moments 64 --plan --json
json out 'd["cool_sweeps"] is None'
ok $run --cool --moments 64 --plan
check "the plan says what it does not know of" grep -q '^cooling .*not known before$' out
"$wisp" $run --cool --moments 64 --mem-limit "${bound:-0}" --quiet 2>err
check "within the plan: $(cat err)" test $? = 0
# Moments are none for the cold ones, whatever finds the bounds.
for bounds in gershgorin 0.5,7.5; do
    ok thermal $lattice --temperatures 1e-7,2 --vectors 16 --seed 3 --cool --bounds $bounds --json
    json out 'd["number_of_moments"] < 1000 and d["temperatures_cooled"] == 1 and in_bars(d, 0) and in_bars(d, 1)'
done
# Numbers whose squares are none, or 0; and a spectrum that single precision sees as one point.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 2 1e290\n2 1 1e290\n2 3 1e290\n3 2 1e290\n' >huge.mtx
sed 's/1e290/1e-290/' huge.mtx >tiny.mtx
for scale in huge:1e290 tiny:1e-290; do
    ok thermal ${scale%:*}.mtx --temperatures ${scale#*:} --vectors 4 --moments 4 --cool --json
    json out 'd["temperatures_cooled"] == 1 and 0 < d["heat_capacity"][0] < 2 and d["heat_capacity_high"][0] > d["heat_capacity"][0]'
done
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e6\n2 2 1e6\n1 2 .1\n2 1 .1\n' >narrow.mtx
refused 1 "cooled states leave an error of up to inf" thermal narrow.mtx --temperatures 0.0005 --vectors 4 --cool --precision single --bounds gershgorin
refused 2 "--cool is for random vectors" $run --cool --trace exact
# A run that ends while it cools, within a batch, and goes on with the same bits; also one that ends before.
for part in "moments TERM 0.5" "cooling TERM 0.3" "cooling TERM 0.6"; do
    stop $part $run --cool --checkpoint c.ck
    check "how to go on, $part" grep -q 'to go on, repeat the command with --resume c.ck' log
    ok $run --cool --resume c.ck --checkpoint c.ck --json
    json out 'all(d[q] == e[q] for q in ("log_z", "energy", "heat_capacity_error", "entropy_low", "beside"))' cooled.json
    check "its files go" test ! -e c.ck
done
stop cooling TERM 0.5 $run --cool --checkpoint c.ck
refused 1 "is of a run with --vectors 16 from 0 on, seed 3" $run --cool --seed 4 --resume c.ck
refused 1 "is of a run with --temperatures" ${run/0.01/0.02} --cool --resume c.ck
WISP_RANKS=3 ok $run --cool --resume c.ck --json
json out 'close(d["energy"], e["energy"], 1e-9) and close(d["heat_capacity"], e["heat_capacity"], 1e-6)' cooled.json
# A whole state has the moments as well, which are not to be those of other options.
rm -f c.ck
"$wisp" $run --cool --moments 64 --checkpoint c.ck --json >/dev/full 2>err
check "a whole state is kept" grep -q 'what was computed is kept in c.ck' err
refused 1 "is of a run with --moments 64, and this one has 65" $run --cool --moments 65 --resume c.ck
refused 1 "is of a run with --bounds lanczos, and this one has -1,9" $run --cool --moments 64 --bounds=-1,9 --resume c.ck
refused 1 "is of a run with --vectors 16 from 0 on, seed 3, and this one has 12" ${run/16/12} --cool --moments 64 --resume c.ck
refused 1 "is of a run with type of states" $run --cool --moments 64 --precision single --resume c.ck
ok $run --cool --moments 64 --resume c.ck --json
json out 'd["number_of_moments"] == 64 and in_bars(d, 0) and in_bars(d, 3)'
# How often the bars hold the truth: of 100 groups of vectors.
cat >cover.py <<'PY'
import json, math
exec(open("levels.py").read())
hit = {}
for seed in range(100):
    d = json.load(open("cover%d.json" % seed))
    for i, T in enumerate(d["temperatures"]):
        for q, v in zip(("log_z", "energy", "heat_capacity", "entropy"), canonical_low(T)):
            hit[T, q] = hit.get((T, q), 0) + (d[q + "_low"][i] <= v <= d[q + "_high"][i])
assert min(hit.values()) >= 87 and 93 * len(hit) <= sum(hit.values()), hit
PY
if [ $have_python = 1 ] && [ -z "${SANITIZED:-}" ]; then
    for seed in {0..99}; do
        "$wisp" thermal $lattice --temperatures 0.01,0.3,2 --vectors 8 --moments 8 --cool --seed $seed --json >cover$seed.json
    done
    check "bars hold about 95 times of 100" holds cover.py
fi
# Heisenberg's ring of 12 spins: all sectors of S^z together, whose values are known (C over the sites).
for up in 1 2 3 4 5 6; do
    ok thermal spinchain:sites=12,periodic=x,up=$up --temperatures 0.25,0.5,1 --vectors 12 --seed 1 --moments 8 --cool --json
    cp out ring$up.json
done
cat >ring.py <<'PY'
import json, math
known = {0.25: 0.23966660, 0.5: 0.35000651, 1: 0.18865195}
sectors = [json.load(open("ring%d.json" % up)) for up in range(1, 7)]
def total(i, moved=None):
    T = sectors[0]["temperatures"][i]
    parts = [(2 * math.exp(-3 / T), 3, 0)] # all spins up, or down
    for up, d in enumerate(sectors, 1):
        lz, e, c = ((d[q + ("_high" if moved == (up, q) else "")][i]) for q in ("log_z", "energy", "heat_capacity"))
        parts.append(((1 if up == 6 else 2) * math.exp(lz), e, c * T**2))
    z = sum(p[0] for p in parts)
    e = sum(p[0] * p[1] for p in parts) / z
    return sum(p[0] * (p[2] + (p[1] - e) ** 2) for p in parts) / z / T**2 / 12
for i, (T, want) in enumerate(known.items()):
    c = total(i)
    bar = math.sqrt(sum((total(i, (up, q)) - c) ** 2 for up in range(1, 7) for q in ("log_z", "energy", "heat_capacity")))
    assert sectors[5]["temperatures_cooled"] == 3 and abs(c - want) <= bar < 0.3 * want
PY
[ $have_python = 0 ] || [ -n "${SANITIZED:-}" ] || check "the ring's heat capacity within its bars" holds ring.py

# ---- plans, and refusals
ok thermal $lattice --temperatures 1 --plan
ok trace $lattice --function exp --plan --moments 10
refused 2 "needs --temperatures" thermal $lattice
refused 2 "needs --function" trace $lattice
for list in "" 0 -1 nan inf 1e999 1, ,1 1:2 1:2:1 2:1:5 1:2:3:4 0:1:5 x 1:2:x; do
    refused 2 "expected temperatures above 0" thermal $lattice --temperatures="$list"
done
refused 2 "at most 10000 temperatures" thermal $lattice --temperatures 1:2:1000000
refused 2 "at most 10000 temperatures" thermal $lattice --temperatures 1:2:9223372036854775807,1
ok thermal $lattice --temperatures 1e3:1e300:4 --moments 8 --trace exact --quiet
for f in x log: log:2 power power: power:x exp:nan fermi:1 gauss:1,0; do refused 2 "--function $f" trace $lattice --function $f; done
refused 1 "--function log needs eigenvalues above 0, and the bounds are -" trace $topi --function log
refused 1 "--function power:-2 needs eigenvalues on one side of 0" trace $topi --function power:-2
refused 1 "the function needs" trace $lattice --function exp --moments 4
refused 1 "2^30 moments" thermal $lattice --temperatures 1e-30 --bounds 0.6,7.4
refused 1 "--tol" trace $lattice --function exp --tol 1e-18

finish
