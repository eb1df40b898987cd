# wisp evolve: states that are written and gone on from, against one run and against closed forms; refusals.
. "$(dirname "$0")/cli.sh"

cat >states.py <<'PY'
def states(path):
    lines = [l for l in open(path) if not l.startswith("%")]
    rows, times = map(int, lines[0].split())
    z = [complex(*map(float, l.split())) for l in lines[1:]]
    assert len(z) == rows * times, (path, len(z), rows, times)
    return [z[j * rows:(j + 1) * rows] for j in range(times)]
def times(path):
    return [float(l[1:]) for l in open(path) if l.startswith("% ") and l[2:3] in "-0123456789"]
def apart(a, b):
    return max(sum(abs(x - y) ** 2 for x, y in zip(p, q)) ** 0.5 for p, q in zip(a, b))
PY
sed -i 's/^import json.*/import cmath, json, math, sys/' check.py
sed -i '/^d = load/i exec(open("states.py").read())' check.py

# ---- states as columns, against what the results say ------------------------------------------------
graphene=graphene:nx=5,ny=4
ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx --watch 0,3,7 --json
json out 'd["states"] == "one.mtx" and len(states("one.mtx")) == 10 and times("one.mtx") == d["times"]'
json out 'all(abs(abs(states("one.mtx")[i][r]) ** 2 - d["density"][w][i]) < 1e-15 for i in range(10) for w, r in enumerate(d["sites"]))'
json out 'd["off"][0] == 0 and all(x == 2e-10 for x in d["off"][1:])'
# Time 0: the start is divided by a norm that is rounded, and that is told.
printf '%%%%MatrixMarket matrix array real general\n40 1\n' >start.mtx
for i in {1..40}; do echo "$i.3"; done >>start.mtx
for precision in double single; do
    ok evolve $graphene --start start.mtx --time 1 --steps 1 --states begun.mtx --precision $precision --json
    json out '0 < d["off"][0] < (1e-13 if d["type"] == "complex double" else 1e-5) and d["off"][1] > 2 * d["tolerance"]'
    json out 'sum(abs(z - (i + 1.3) / sum((k + 1.3) ** 2 for k in range(40)) ** 0.5) ** 2 for i, z in enumerate(states("begun.mtx")[0])) ** 0.5 <= d["off"][0] and abs(d["norm"][0] - 1) <= d["off"][0]'
done
# One bond: cos t at its start, -i sin t at the other end, for hopping -1 their conjugates.
ok evolve laplace:nx=2,ny=1,points=5 --time 2 --steps 4 --site 0 --states bond.mtx --json
json out 'all(abs(z[0] - cmath.exp(-4j * t) * math.cos(t)) < 1e-10 and abs(z[1] - cmath.exp(-4j * t) * 1j * math.sin(t)) < 1e-10 for z, t in zip(states("bond.mtx"), d["times"]))'
ok evolve $graphene --time=-1 --steps 2 --random --precision single --states single.mtx --quiet
ok evolve $graphene --time=-1 --steps 2 --random --precision single --states single.mtx --json
json out 'len(states("single.mtx")) == 3 and abs(sum(abs(z) ** 2 for z in states("single.mtx")[2]) - 1) < 1e-5'
ok evolve $graphene --time 9 --steps 9 --site 3
check "no states in the summary" grep -qv '^states' out
ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx
check "states in the summary" grep -q '^states *one.mtx' out
ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx --plan
check "states in the plan" grep -q '^states *about .* on the disk' out
ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx --plan --json
bound=$(sed -n 's/^ *"bound_bytes": *\([0-9]*\).*/\1/p' out)
ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx --quiet --mem-limit "$bound"

# ---- two pieces and one run ---------------------------------------------------------------------------
if [ $have_hdf5 = 1 ]; then
    for precision in double single; do
        ok evolve $graphene --time 4 --steps 4 --site 3 --states a.h5 --quiet --precision $precision
        ok evolve $graphene --time 9 --steps 9 --site 3 --states one.mtx --quiet --precision $precision
        ok evolve $graphene --time 9 --steps 5 --from a.h5 --states b.mtx --energy --json --precision $precision
        json out 'd["times"] == [4, 5, 6, 7, 8, 9] and d["from"] == "a.h5" and times("b.mtx") == d["times"]'
        json out 'apart(states("one.mtx")[4:], states("b.mtx")) <= max(d["off"]) and d["off"][0] == 2 * d["tolerance"] and d["off"][5] == 4 * d["tolerance"]'
        json out 'all(abs(e) <= o for e, o in zip(d["expectation"][0], d["expectation_off"][0]))'
    done
    # From single to double precision, and back to the start.
    ok evolve $graphene --time 0 --steps 1 --from a.h5 --states b.mtx --json
    json out 'd["times"] == [4, 0] and abs(abs(states("b.mtx")[1][3]) - 1) < d["off"][1]'
    ok evolve $graphene --time 4 --steps 4 --site 3 --states a.h5 --quiet
    # A third piece, with a checkpoint.
    ok evolve $graphene --time 6 --steps 2 --from a.h5 --states b.h5 --quiet
    ok evolve $graphene --time 9 --steps 3 --from b.h5 --checkpoint c.ck --json
    json out 'd["times"] == [6, 7, 8, 9]'
    ok evolve $graphene --time 9 --steps 3 --from b.h5 --plan

    refused 1 "the states in a.h5 are of another matrix than graphene:nx=5,ny=4,t=2" evolve graphene:nx=5,ny=4,t=2 --time 9 --from a.h5
    refused 1 "the states in a.h5 have 40 rows; laplace:nx=2 has 200" evolve laplace:nx=2 --time 9 --from a.h5
    refused 1 "the state in a.h5 is at that time already" evolve $graphene --time 4 --from a.h5
    refused 1 "cannot read none.h5" evolve $graphene --time 5 --from none.h5
    head -c 3000 a.h5 >cut.h5
    refused 1 "cut.h5 is no HDF5 file, or a damaged one" evolve $graphene --time 5 --from cut.h5
    ok dos $graphene --moments 8 --vectors 2 --save moments.h5 --quiet
    refused 1 "moments.h5 is no file of states" evolve $graphene --time 5 --from moments.h5
    refused 2 "takes one file" evolve $graphene --time 5 --from a.h5 --from b.h5
    refused 2 "--from a.mtx: a .h5 file" evolve $graphene --time 5 --from a.mtx
    refused 2 "exclude each other" evolve $graphene --time 5 --from a.h5 --site 0
    refused 2 "name the same file" evolve $graphene --time 5 --from a.h5 --states a.h5
    refused 2 "--states and --checkpoint exclude each other" evolve $graphene --time 5 --site 0 --states b.h5 --checkpoint c.ck
    if [ $have_python = 1 ]; then # one bit of the last state
        ok evolve $graphene --time 4 --steps 4 --site 3 --states a.mtx --quiet
        python3 - <<'PY'
data = bytearray(open("a.h5", "rb").read())
import struct
exec(open("states.py").read())
at = max(data.rfind(struct.pack("<d", x)) for z in states("a.mtx")[-1] for x in (z.real, z.imag) if abs(x) > 1e-3)
data[at + 3] ^= 4
open("bit.h5", "wb").write(data)
PY
        refused 1 "bit.h5 is no file of states" evolve $graphene --time 5 --from bit.h5
    fi
    # A file that can't be written to its end leaves the old one as it was.
    cp a.h5 old.h5
    checks=$((checks + 1))
    (ulimit -f 30; exec "$wisp" evolve graphene:nx=20,ny=20 --time 9 --site 3 --states a.h5 --quiet) >out 2>err
    [ $? = 1 ] && grep -q '^wisp: cannot write a.h5: ' err && [ "$(wc -l <err)" = 1 ] || fail "a full disk: $(cat err)"
    check "the old file" cmp a.h5 old.h5
    check "nothing is left" [ -z "$(find . -name '*.tmp*')" ]
    # What was reached before a stop is kept, and is gone on from.
    stop evolution INT 0.5 evolve $graphene --time 90 --steps 90 --site 3 --states part.h5
    check "states of a run that was stopped" grep -q 'the states of [0-9]* of 90 times, until time [0-9.]*, are kept in part.h5' log
    ok evolve $graphene --time 90 --steps 5 --from part.h5 --json --watch 3 --tolerance 1e-11
    cp out pieces
    ok evolve $graphene --time 90 --steps 90 --site 3 --json
    json pieces 'abs(d["density"][0][-1] - e["density"][0][-1]) < 1e-9' out
fi
stop evolution INT 0.5 evolve $graphene --time 90 --steps 90 --site 3 --states part.mtx
check "columns of a run that was stopped" grep -q 'until time [0-9.]*, are kept in part.mtx' log
ok evolve $graphene --time 1 --site 0 --json
json out '1 < len(states("part.mtx")) < 91'
checks=$((checks + 1))
(ulimit -f 30; exec "$wisp" evolve graphene:nx=20,ny=20 --time 9 --site 3 --states full.mtx --quiet) >out 2>err
[ $? = 1 ] && grep -q '^wisp: cannot write full.mtx: ' err && [ ! -e full.mtx ] || fail "a full disk: $(cat err)"
refused 2 "must end in .h5 or .mtx" evolve $graphene --time 5 --site 0 --states a.txt
refused 1 "cannot write nowhere/a.mtx" evolve $graphene --time 5 --site 0 --states nowhere/a.mtx

# ---- imaginary and complex times -----------------------------------------------------------------------
# One bond with levels 3 and 5: exp(-H t) has cosh and sinh.
bond=laplace:nx=2,ny=1,points=5
ok evolve $bond --time 3 --steps 6 --site 0 --imaginary --energy --states cool.mtx --json
json out 'd["direction"] == [0, -1] and all(abs(n - 1) < 1e-12 for n in d["norm"]) and max(d["off"]) < 1e-12'
json out 'all(abs(l - (-4 * t + math.log(math.cosh(2 * t)) / 2)) <= o + 1e-14 for t, l, o in zip(d["times"], d["log_norm"], d["off"]))'
json out 'all(abs(e - (4 - math.tanh(2 * t))) <= o for t, e, o in zip(d["times"], d["expectation"][0], d["expectation_off"][0]))'
json out 'all(abs(z[1] / z[0] - math.tanh(t)) < 1e-12 for t, z in zip(d["times"], states("cool.mtx")))'
ok evolve $bond --time 2 --steps 4 --site 0 --angle=-30 --states turned.mtx --json
json out 'all(abs(z[1] / z[0] - 1j * cmath.tan(t * cmath.exp(1j * math.pi / 6))) < 1e-10 for t, z in zip(d["times"], states("turned.mtx")))'
ok evolve $bond --time=-9 --site 0 --imaginary --energy
check "the logarithm in the summary" grep -q '^norm *exp(' out
check "the highest level" grep -q '^operator *[45][.0-9]* of energy' out
ok evolve $bond --time 1 --steps 2 --site 0 --imaginary -o cool.csv
check "a table" grep -q '^time,log_norm,psi_off,density_0' cool.csv
ok evolve $bond --time 1 --steps 2 --site 0 --imaginary --plan
if [ $have_gnuplot = 1 ]; then
    ok evolve $bond --time 1 --random --imaginary --plot cool.svg
    check "a picture of the norm" grep -q 'ln of the norm' cool.svg
fi
if [ $have_hdf5 = 1 ]; then
    ok evolve $graphene --time 2 --steps 2 --site 3 --imaginary --states a.h5 --quiet
    ok evolve $graphene --time 5 --steps 3 --from a.h5 --imaginary --states b.mtx --json
    cp out pieces
    ok evolve $graphene --time 5 --steps 5 --site 3 --imaginary --states one.mtx --json
    json pieces 'd["off"][0] > 0 and all(abs(x - y) <= o + p for x, y, o, p in zip(d["log_norm"], e["log_norm"][2:], d["off"], e["off"][2:]))' out
    json pieces 'apart(states("one.mtx")[2:], states("b.mtx")) <= max(d["off"]) + max(e["off"])' out
    refused 1 "the states in a.h5 are of another --angle" evolve $graphene --time 5 --from a.h5
fi
# A run in pieces by checkpoints gives the same.
ok evolve $graphene --time 9 --steps 9 --site 3 --imaginary --json --tolerance 1e-6
cp out whole
stop evolution TERM 0.5 evolve $graphene --time 9 --steps 9 --site 3 --imaginary --checkpoint c.ck --tolerance 1e-6
ok evolve $graphene --time 9 --steps 9 --site 3 --imaginary --resume c.ck --tolerance 1e-6 --json
json out 'd["log_norm"] == e["log_norm"] and d["off"] == e["off"]' whole
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n2 2 1\n3 3 2\n' >levels.mtx
# What was reached before a state may be too far off is kept, and told; nothing of it says that it is all.
for kind in mtx h5; do
    [ $kind = mtx ] || [ $have_hdf5 = 1 ] || continue
    refused 1 "at time 5 column 0 may be off by" evolve levels.mtx --time 99 --steps 99 --site 2 --imaginary --states reached.$kind
    check "what is kept is told" grep -q '; the states of 4 of 99 times, until time 4, are kept in reached' err
done
refused 1 "; 4 of 99 times, until time 4, are kept in reached.json, their states in reached.mtx" \
    evolve levels.mtx --time 99 --steps 99 --site 2 --imaginary --states reached.mtx -o reached.json
json reached.json 'not d["completed"] and 3 < len(d["times"]) < 99 and max(d["off"]) <= d["tolerance"]'
json reached.json 'len(states("reached.mtx")) == len(d["times"]) and all(abs(l + 2 * t) <= o + 1e-13 * t for t, l, o in zip(d["times"], d["log_norm"], d["off"]))'
refused 1 "; nothing was kept (-o FILE keeps what is done)" evolve levels.mtx --time 99 --site 2 --imaginary
refused 1 "; nothing was kept (no time was reached yet)" evolve levels.mtx --time 99 --steps 1 --site 2 --imaginary -o none.json
check "no file without a time" [ ! -e none.json ]
if [ $have_hdf5 = 1 ]; then # times of messages are those that were asked for, also behind --from
    ok evolve levels.mtx --time 3 --steps 1 --site 2 --imaginary --states late.h5 --quiet
    refused 1 "at time 99" evolve levels.mtx --time 99 --steps 1 --from late.h5 --imaginary
fi
refused 2 "exclude each other" evolve $bond --time 1 --site 0 --imaginary --angle 3
refused 2 "-180 to 180 degrees" evolve $bond --time 1 --site 0 --angle 181

finish
