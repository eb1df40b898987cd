#!/bin/bash
# wisp map: local densities of states of regions against sums over the levels of small systems, bars, pictures, refusals.
. "$2/tests/cli.sh"

# A ring of n sites with bonds t exp(i phase) has plane waves as its states, so that the densities of all sites are equal; a wall of
# n sites has sines: |<i|m>|^2 = 2/(n + 1) sin^2(pi (i + 1)(m + 1)/(n + 1)), energies 2 t cos(pi (m + 1)/(n + 1)).
cat >levels.py <<'PY'
import math
def chain(n):
    return [(2 * math.cos(math.pi * (m + 1) / (n + 1)),
             [2 / (n + 1) * math.sin(math.pi * (i + 1) * (m + 1) / (n + 1)) ** 2 for i in range(n)]) for m in range(n)]
def jackson(M, h, E, level):
    N, x, y = M + 1, math.acos(E / h), math.acos(level / h)
    g = [((N - k) * math.cos(math.pi * k / N) + math.sin(math.pi * k / N) / math.tan(math.pi / N)) / N for k in range(M)]
    return sum((2 if k else 1) * g[k] * math.cos(k * x) * math.cos(k * y) for k in range(M)) / (math.pi * h * math.sin(x))
def root(M, h, E, level):                              # whose square is the kernel of random vectors
    n, x, y = M // 2 + 1, math.acos(E / h), math.acos(level / h)
    q = lambda t: sum(math.cos(math.pi * m / (2 * n)) * math.cos(m * t) for m in range(1 - n, n))
    return (q(x - y) + q(x + y)) / math.sqrt(2 * math.pi * n * math.sin(x) * h)
def density(n, kernel):
    return [sum(w[i] * kernel(e) for e, w in chain(n)) for i in range(n)]
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("levels.py").read())' check.py
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real symmetric\n14 14 13"; for (i = 1; i < 14; i++) print i + 1, i, 1 }' >chain.mtx
# The same by other phases at each site: the same densities, of a complex matrix.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate complex hermitian\n14 14 13"; for (i = 1; i < 14; i++) printf "%d %d %.17g %.17g\n", i + 1, i, cos(i), sin(i) }' >turned.mtx
some="--energies=-1.5,0.3,9 --moments 40 --bounds=-2.3,2.3"

# ---- exactly: Jackson's kernel; outside the bounds there is nothing
for m in chain.mtx turned.mtx; do
    ok map $m $some --trace exact --json
    json out 'all(close(v, density(14, lambda l: jackson(40, 2.3, e, l)), 1e-10) for v, e in zip(d["ldos"], d["energies"][:2])) and
              max(d["ldos"][2]) == 0 and d["trace"] == "exact" and d["site_row"] == list(range(14)) and "x" not in d'
done
ok map chain.mtx $some --trace exact --where 2,9-11 --precision single --json
json out 'd["site_row"] == [2, 9, 10, 11] and
          close(d["ldos"][1], [density(14, lambda l: jackson(40, 2.3, 0.3, l))[i] for i in d["site_row"]], 1e-4)'

# ---- random vectors: their kernel, which is nearly that of 41 moments; bars; numbers that are nowhere negative
for m in chain.mtx turned.mtx; do
    ok map $m $some --vectors 4000 --width 50 --json
    json out 'all(abs(v - w) < 5 * s for l, err, e in zip(d["ldos"], d["ldos_error"], d["energies"][:2])
                  for v, s, w in zip(l, err, density(14, lambda x: root(40, 2.3, e, x) ** 2))) and min(map(min, d["ldos"])) >= 0 and
              all(abs(root(40, 2.3, e, x) ** 2 - jackson(41, 2.3, e, x)) < 0.01 for e in (-1.5, 0.3) for x in (-1.9, -0.4, 0.3, 1.1)) and
              all(a <= v <= b for l, low, high in zip(d["ldos"], d["ldos_low"], d["ldos_high"]) for v, a, b in zip(l, low, high))'
done
: >hits
for seed in $(seq 40); do
    ok map turned.mtx --energies 0.3 --moments 40 --bounds=-2.3,2.3 --vectors 12 --width 5 --seed $seed --json
    cat out >>hits
done
if [ $have_python = 1 ] && [ -z "${SANITIZED:-}" ]; then
    checks=$((checks + 1))
    python3 - <<'PY' || fail "how often bars hold"
import json
exec(open("levels.py").read())
want, held, all = density(14, lambda x: root(40, 2.3, 0.3, x) ** 2), 0, 0
reader, text = json.JSONDecoder(), open("hits").read()
while text.strip():
    d, end = reader.raw_decode(text.strip())
    text = text.strip()[end:]
    for w, a, b in zip(want, d["ldos_low"][0], d["ldos_high"][0]):
        held, all = held + (a <= w <= b), all + 1
print("bars hold %d of %d times" % (held, all))
assert 0.9 <= held / all <= 0.985
PY
fi
ok map chain.mtx --energies 0.3 --vectors 1 --moments 16
check "one vector has no bar" grep -q '^error bar  *none: one vector' out
check "no NaN" sh -c '! grep -qiw nan out'

# ---- sites: all orbitals of one are added; a surface; what a potential does to it
dots="topi:nx=4,ny=4,nz=3,disorder=1 --energies 0.5 --bounds=-6,6"
ok map $dots --moments 33 --trace exact --where 'z<1' --json
cp out site.json
ok ldos $dots --moments 33 --where 'z<1' --json
cp out rows.json
json site.json 'len(d["ldos"][0]) == 16 and set(d["site_rows"]) == {4} and set(d["z"]) == {0} and
                close(d["ldos"][0], [sum(e["dos"][4 * s + o][0] for o in range(4)) for s in range(16)], 1e-9)' rows.json
ok map $dots --moments 32 --vectors 400 --where 'z<1' --json
json out 'sum(abs(v - w) < 5 * s for v, w, s in zip(d["ldos"][0], e["ldos"][0], d["ldos_error"][0])) == 16 and d["x"] == e["x"]' site.json
ok map topi:nx=4,ny=4,nz=3 --energies 0,0.5 --resolution 0.4 --vectors 3 --where 'z<1'
check "the sites" grep -q '^sites  *16 of 64 rows, where z<1$' out
check "a line for each energy" grep -q '^0.5  *[0-9.e-]* to [0-9.e-]*, mean [0-9.e-]*, each +- about [0-9.e-]*$' out

# ---- files, pictures, plans
ok map graphene:nx=4,ny=3 --energies=-1,1 --moments 16 --vectors 2 -o map.csv
check "columns" grep -q '^row,x,y,z,energy,ldos,ldos_error,ldos_low,ldos_high$' map.csv
check "a row for each site and energy" test "$(grep -c '^[0-9]' map.csv)" = 48
ok map chain.mtx --energies 1 --moments 16 --vectors 2 -o map.csv
check "columns without positions" grep -q '^row,energy,ldos,ldos_error,ldos_low,ldos_high$' map.csv
awk 'BEGIN { for (i = 0; i < 14; i++) print 0, i % 7, int(i / 7) }' >at.txt
if [ $have_gnuplot = 1 ]; then
    ok map graphene:nx=8,ny=8 --energies=-1,0.5,1 --moments 16 --vectors 2 --plot map.svg
    check "a panel for each energy" sh -c 'grep -q "E = -1" map.svg && grep -q "E = 0.5" map.svg && grep -q "E = 1" map.svg && grep -q "</svg>" map.svg'
    ok map chain.mtx --energies 1 --moments 16 --vectors 2 --plot map.svg
    ok map chain.mtx --positions at.txt --energies 1 --moments 16 --vectors 2 --plot map.svg
fi
[ $have_hdf5 = 0 ] || ok map chain.mtx --positions at.txt --energies 1 --moments 16 --vectors 2 -o map.h5
ok map topi:nx=20,ny=20,nz=5 --energies 0,0.1 --where 'z<1' --plan
check "sites and time" sh -c 'grep -q "^map  *400 sites of 1,600 rows, at 2 energies" out && grep -q "^time  *about .* map" out'
for how in "--vectors 9 --width 4" "--trace exact --where 0-99" "--vectors 8 --width 8 --precision single"; do
    ok map anderson:nx=30,ny=30,nz=30,disorder=2 --energies 0,1 --moments 16 $how --plan --json --mem-limit 300MB
    cp out plan.json
    bound=$(sed -n 's/^.*"bound_bytes": \([0-9]*\).*$/\1/p' plan.json)
    ok map anderson:nx=30,ny=30,nz=30,disorder=2 --energies 0,1 --moments 16 $how --json --mem-limit "$bound"
    json out 'abs(e["total_bytes"] / d["memory_bytes"] - 1) < 0.3 and d["memory_bytes"] <= e["bound_bytes"]' plan.json
done
refused 1 "more than --mem-limit" map anderson:nx=30,ny=30,nz=30 --energies 0 --mem-limit 2MB

# ---- Ctrl-C: what is complete is given, and it is said
stop map INT 0.5 map topi:nx=10,ny=10,nz=10 --energies 0 --moments 256 --vectors 64
check "how many vectors it is of" grep -q 'stopped; the map is of [0-9]* of 64 vectors' log

# ---- refusals
refused 2 "--energies E,.. is missing" map chain.mtx
refused 2 "--vectors and --trace exact exclude each other" map chain.mtx --energies 0 --trace exact --vectors 3
refused 2 "--moments and --resolution exclude each other" map chain.mtx --energies 0 --moments 16 --resolution 0.1
refused 1 "no row is there" map graphene:nx=4,ny=4 --energies 0 --where 'z>1'
refused 1 "--where 14: row 14 is not there" map chain.mtx --energies 0 --where 14
refused 1 "where its rows are is not known" map chain.mtx --energies 0 --where 'z<1'
refused 1 "--bounds" map chain.mtx --energies 0 --bounds=-1,1
refused 2 "several that rise" map chain.mtx --energies 1,0

finish
