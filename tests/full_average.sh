# Bars of --average hold the average over all disorder about 95 times of 100: of densities and counts of 20 realizations with
# two random vectors each, against exact traces of many realizations. (Of 6 it is 92 times in 100: Student's bars suppose that
# samples are normal.) All seeds are fixed.
. "$(dirname "$0")/cli.sh"

[ $have_python = 1 ] || finish
small="square:nx=4,ny=2,disorder=4"
how="--moments 32 --bounds=-7,7"
ok dos $small,seed=1000000 $how --energies=-2,0.3,3 --trace exact --average 20000 --json
cp out dos.all
ok count $small,seed=1000000 $how --interval=-1,1 --trace exact --average 20000 --json
cp out count.all
for i in $(seq 100); do
    ok dos "$small,seed=${i}00" $how --energies=-2,0.3,3 --vectors 2 --seed "${i}00" --average 20 --json
    cp out "dos.$i"
    ok count "$small,seed=${i}00" $how --interval=-1,1 --vectors 2 --seed "${i}00" --average 20 --json
    cp out "count.$i"
done
cat >cover.py <<'PY'
import json
def load(name):
    return json.load(open(name))
held = {}
for name, value in (("dos", "dos"), ("count", "count")):
    truth, far = load(name + ".all"), 0
    flat = lambda v: v if isinstance(v, list) else [v]
    for i in range(1, 101):
        d = load("%s.%d" % (name, i))
        for k, x in enumerate(flat(truth[value])):
            held.setdefault((name, k), []).append(flat(d[value + "_low"])[k] <= x <= flat(d[value + "_high"])[k])
print({k: sum(v) for k, v in held.items()})
assert all(88 <= sum(v) <= 100 for v in held.values()) # 95 +- 3 standard deviations, and at the most all
assert sum(map(sum, held.values())) <= 397 # nor are they far too wide
PY
check "bars hold" "$interpreter" cover.py
finish
