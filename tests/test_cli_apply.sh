# wisp apply: y = f(A) x against the eigenvectors of a lattice, which are known; files, checkpoints, ranks, plans, refusals.
. "$(dirname "$0")/cli.sh"

# Eigenvectors of a lattice with open ends are products of sines.
lattice=laplace:nx=5,ny=4,points=5
cat >modes.py <<'PY'
import cmath
nx, ny = 5, 4
def sine(n, k, i):
    return math.sqrt(2 / (n + 1)) * math.sin(math.pi * (k + 1) * (i + 1) / (n + 1))
modes = [(4 - 2 * math.cos(math.pi * (k + 1) / (nx + 1)) - 2 * math.cos(math.pi * (l + 1) / (ny + 1)),
          [sine(nx, k, r // ny) * sine(ny, l, r % ny) for r in range(nx * ny)]) for k in range(nx) for l in range(ny)]
def applied(f, x):
    y = [0] * len(x)
    for E, v in modes:
        c = f(E) * sum(a * b for a, b in zip(v, x))
        y = [a + c * b for a, b in zip(y, v)]
    return y
def columns(name):
    lines = [l for l in open(name) if not l.startswith("%")]
    rows, cols = map(int, lines[0].split())
    numbers = [complex(*map(float, l.split())) for l in lines[1:]]
    return [numbers[c * rows:(c + 1) * rows] for c in range(cols)]
def length(x):
    return math.sqrt(sum(abs(a)**2 for a in x))
def far(f, start, end): # the largest |y - f(A) x| of a column
    return max(length([a - b for a, b in zip(y, applied(f, x))]) for x, y in zip(columns(start), columns(end)))
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("modes.py").read())' check.py
python3 - >x.mtx <<'PY'
print("%%MatrixMarket matrix array complex general\n20 2")
for c in range(2):
    for r in range(20):
        print((r * 7 + c) % 5 - 1.5, c * ((r * 3) % 4 - 1))
PY

# ---- each function; what it tells of its error holds
bounds="--bounds 0.3,7.7"
for f in "log math.log(E)" "inverse 1/E" "sqrt math.sqrt(E)" "inverse-sqrt E**-.5" "exp math.exp(E)" "exp:-0.5 math.exp(-.5*E)" \
    "power:3 E**3" "power:-1.5 E**-1.5" "fermi:3,0.4 1/(1+math.exp((E-3)/.4))" "gauss:4,0.7 math.exp(-(E-4)**2/2/.49)"; do
    ok apply $lattice --function ${f% *} $bounds --start x.mtx -o y.mtx --json
    json out "far(lambda E: ${f#* }, 'x.mtx', 'y.mtx') <= max(d['off']) < 1e-8 * d['largest'] and d['function'] == '${f% *}' and d['start'] == 'x.mtx'"
    json out "close(d['norms'], [length(y) for y in columns('y.mtx')], 1e-9) and close(d['start_norms'], [length(x) for x in columns('x.mtx')], 1e-12)"
done
ok apply $lattice --function exp:-1 --start x.mtx --tolerance 1e-3 --json -o y.mtx
json out '1e-12 < far(lambda E: math.exp(-E), "x.mtx", "y.mtx") <= max(d["off"]) <= 1e-3 * d["largest"] * max(d["start_norms"])'
ok apply $lattice --function sqrt $bounds --start x.mtx --precision single -o y.mtx --json
json out 'd["type"] == "complex single" and far(math.sqrt, "x.mtx", "y.mtx") <= max(d["off"]) < 1e-2'
ok apply $lattice --function sqrt $bounds --start x.mtx -o y.mtx
ok apply $lattice --function sqrt $bounds --start y.mtx -o z.mtx.gz --json
gunzip z.mtx.gz
json out 'far(lambda E: E, "x.mtx", "z.mtx") < 1e-8'

# ---- a series by its coefficients: T_2 + 3, and those of a root that another program has found
printf '3 0\n1 # T_2\n' >t2.txt
ok apply $lattice --series t2.txt --bounds 0,8 --start x.mtx -o y.mtx --json
json out 'far(lambda E: 3 + 2 * ((E - 4) / 4)**2 - 1, "x.mtx", "y.mtx") <= max(d["off"]) and d["terms"] == 3 and abs(d["largest"] - 4) < 1e-12 and d["function"] == "series of t2.txt"'
ok apply $lattice --series t2.txt --bounds 0,8 --plan
refused 2 "--series needs --bounds" apply $lattice --series t2.txt
refused 2 "--function and --series exclude" apply $lattice --series t2.txt --function exp --bounds 0,8
refused 1 "cannot read no.txt" apply $lattice --series no.txt --bounds 0,8
echo '1 2x' >bad.txt
refused 1 "bad.txt:1: expected numbers" apply $lattice --series bad.txt --bounds 0,8
refused 1 "can't be read a second time" apply $lattice --series <(echo 1 2) --bounds 0,8
echo '# none' >bad.txt
refused 1 "has no coefficients" apply $lattice --series bad.txt --bounds 0,8

# ---- summaries, random vectors, files
ok apply $lattice --function exp:-0.5 --width 3 --seed 4
for word in matrix start bounds function series column; do check "a line on $word" grep -q "^$word  " out; done
check "the start" grep -q '^start  *random, 3 vectors, double' out
ok apply $lattice --function exp:-60 --start x.mtx --tolerance 1e-4
check "a note where few digits are left" grep -q '^note .*--tolerance' out
ok apply $lattice --function exp:-0.5 --width 3 --seed 4 --json
json out 'd["width"] == 3 and d["seed"] == 4 and close(d["start_norms"], [1, 1, 1], 1e-12) and d["sweeps"] >= d["terms"] - 1'
cp out random.json
ok apply $lattice --function exp:-0.5 --width 3 --seed 4 --json --like random.json
json out 'd["norms"] == e["norms"]' random.json
if [ $have_hdf5 = 1 ]; then
    ok apply $lattice --function log $bounds --start x.mtx -o y.h5
    ok apply $lattice --function exp $bounds --start y.h5 -o z.mtx --json
    json out 'far(lambda E: math.exp(E) * math.log(E), "x.mtx", "z.mtx") < 1e-6'
fi

# ---- Ctrl-C, checkpoints
run="apply $lattice --function inverse $bounds --width 2 --depth 1"
stop expansion INT 0.5 $run
check "it says so" grep -q 'stopped by Ctrl-C' log
ok $run -o whole.mtx --json
cp out whole.json
for part in 0.1 0.7; do
    stop expansion TERM $part $run --checkpoint run.ck
    check "how to go on" grep -q 'to go on, repeat the command with --resume run.ck' log
    ok $run --resume run.ck --checkpoint run.ck -o resumed.mtx --json
    check "the same bits" cmp -s <(grep -v '^%' whole.mtx) <(grep -v '^%' resumed.mtx)
    json out 'd["norms"] == e["norms"] and d["off"] == e["off"] and d["resumed"] == "run.ck"' whole.json
done
stop expansion TERM 0.5 $run --checkpoint run.ck
refused 1 "is of a run with --function inverse, and this one has log" ${run/inverse/log} --resume run.ck
refused 1 "is of a run with --seed 0" $run --seed 2 --resume run.ck
refused 1 "is of a run with --tolerance 0" $run --tolerance 1e-5 --resume run.ck
stop expansion TERM 0.5 apply $lattice --function inverse $bounds --start x.mtx --checkpoint start.ck
refused 1 "is of a run with vectors of --start" apply $lattice --function inverse $bounds --start whole.mtx --resume start.ck
ok apply $lattice --function inverse $bounds --start x.mtx --resume start.ck -o y.mtx
json whole.json 'far(lambda E: 1 / E, "x.mtx", "y.mtx") < 1e-9'

# ---- several processes
export WISP_RANKS=3
ok apply $lattice --function inverse $bounds --start x.mtx -o y.mtx --json
json out 'far(lambda E: 1 / E, "x.mtx", "y.mtx") <= max(d["off"]) and d["ranks"] == 3'
ok apply $lattice --function exp:-0.5 --width 3 --seed 4 --weights nonzeros --json
json out 'close(d["norms"], e["norms"], 1e-12)' random.json
ok $run --resume run.ck --json
json out 'close(d["norms"], e["norms"], 1e-12)' whole.json
unset WISP_RANKS

# ---- a curve narrower than the places at which functions are mostly looked at: it is 1 at one eigenvalue, else 0
cat >d.mtx <<'M'
%%MatrixMarket matrix coordinate real symmetric
3 3 3
1 1 -9
2 2 0.123
3 3 9
M
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n' >ones.mtx
for w in 0.003 0.0015; do
    ok apply d.mtx --function gauss:0.123,$w --start ones.mtx --bounds=-10,10 -o y.mtx --json
    json out 'd["largest"] == 1 and abs(d["norms"][0] - 1) <= d["off"][0] < 1e-8'
    ok trace d.mtx --function gauss:0.123,$w --trace exact --bounds=-10,10 --tolerance 1e-6 --json
    json out 'd["trace_low"] <= 1 <= d["trace_high"]'
done

# ---- plans
ok apply $lattice --function exp $bounds --plan
check "sweeps and time" sh -c 'grep -q "^sweeps  *about" out && grep -q "^time  *about .* series" out'
ok apply $lattice --function exp --start x.mtx --plan --json
json out 'd["total_bytes"] <= d["bound_bytes"] and d["columns"] == 2 and d["sweeps"] is None'
ok apply $lattice --function exp $bounds --start x.mtx -o y.mtx --plan --json
bound=$(sed -n 's/.*"bound_bytes": \([0-9]*\).*/\1/p' out)
ok apply $lattice --function exp $bounds --start x.mtx -o y.mtx --mem-limit "${bound:-0}"
refused 1 "more than --mem-limit" apply laplace:nx=40,ny=40,nz=40 --function exp --mem-limit 2MB

# ---- refusals
refused 2 "needs --function" apply $lattice
refused 2 "MATRIX" apply --function exp
refused 2 "--width and --start exclude each other" apply $lattice --function exp --start x.mtx --width 2
refused 1 "--function log needs eigenvalues above 0" apply $lattice --function log --bounds=-1,8
refused 1 "beyond the bounds" apply $lattice --function exp --bounds 2,3
refused 1 "is 20 x 2; a start of" apply laplace:nx=3,ny=3,points=5 --function exp --start x.mtx
refused 1 "a square one" apply x.mtx --function exp
refused 1 "or take more terms, or damping" apply $lattice --function fermi:4,1e-12
refused 1 "can't be met: rounding alone" apply $lattice --function exp --start x.mtx --tol 1e-30
refused 1 "is not Hermitian" apply matpde:nx=5,ny=5 --function exp
refused 2 "--output and --start name the same file" apply $lattice --function exp --start x.mtx -o x.mtx
refused 2 "did you mean --function?" apply $lattice --funktion exp
for f in fermi fermi:1 fermi:1, fermi:1,0 fermi:1,-1 fermi:1,2,3 fermi:x,1; do refused 2 "expected fermi:MU,T" apply $lattice --function $f; done
refused 1 "0.00031 is the least width" apply d.mtx --function gauss:0.123,1e-4 --bounds=-10,10
refused 1 "0.00031 is the least width" trace d.mtx --function gauss:0.123,1e-9 --bounds=-10,10
refused 2 "only exp, power, fermi and gauss have numbers" apply $lattice --function log:2
refused 1 "wisp: the function is not met to --tol, 1e-10, with" apply $lattice --function fermi:4,1e-9
refused 1 "or take more terms, or damping" apply $lattice --function fermi:4,1e-9
refused 1 "of the function in double" apply $lattice --function exp --tolerance 1e-15
for f in gauss gauss:0,0 gauss:1,nan; do refused 2 "expected gauss:E,W" apply $lattice --function $f; done

finish
