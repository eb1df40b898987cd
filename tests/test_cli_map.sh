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
seeds=40
[ -n "${SANITIZED:-}" ] && seeds=1 # to which others differ in numbers alone
for seed in $(seq $seeds); do
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

# ---- other kernels: Fejer's has a root, too; the others are for unit vectors
fejer='lambda x: sum((1 if m == 0 else 2) * (1 - m / 41) * math.cos(m * math.acos(0.3 / 2.3)) * math.cos(m * math.acos(x / 2.3)) for m in range(41)) / (math.pi * 2.3 * math.sin(math.acos(0.3 / 2.3)))'
ok map turned.mtx --energies 0.3 --moments 40 --bounds=-2.3,2.3 --vectors 4000 --width 50 --kernel fejer --json
json out "all(abs(v - w) < 5 * s + 0.01 for v, s, w in zip(d['ldos'][0], d['ldos_error'][0], density(14, $fejer))) and d['kernel'] == 'fejer'"
for k in jackson lorentz:3 fejer dirichlet; do
    ok map chain.mtx $some --trace exact --kernel $k --json
    cp out exact.json
    ok ldos chain.mtx --sites 0-13 $some --kernel $k --json
    json out 'd["kernel"] == e["kernel"] and all(close([row[i] for row in d["dos"]], e["ldos"][i], 1e-12) for i in (0, 1))' exact.json
done
refused 2 "--kernel lorentz is for --trace exact" map chain.mtx --energies 0 --kernel lorentz

# ---- several ranks: the same numbers, also where a site's rows are of two of them
for ranks in $([ -n "${SANITIZED:-}" ] && echo 3 || echo 2 3 5); do
    for how in "chain.mtx $some --vectors 7 --width 3" "turned.mtx $some --trace exact" \
        "topi:nx=3,ny=3,nz=1 --energies 0.5,1 --moments 40 --bounds=-7,7 --vectors 6 --where x<2"; do
        ok map $how --json
        cp out alone.json
        WISP_RANKS=$ranks ok map $how --json
        json out 'd["ranks"] == '$ranks' and e["ranks"] == 1 and d["site_row"] == e["site_row"] and
                  all(close(d[k][i], e[k][i], 1e-12) for k in ("ldos", "ldos_high") if k in e for i in (0, 1))' alone.json
    done
done

# ---- checkpoints: a run that was ended goes on with the same bits, between vectors and within one
for how in "map --vectors 9 --width 2 --moments 200" "moments --trace exact --moments 400" "map --vectors 5 --width 2 --resolution 0.05"; do
    task=${how%% *} how=${how#* }
    run="map turned.mtx --energies=-1.5,0.3 $how"
    ok $run --json
    cp out whole.json
    stop $task TERM 0.5 $run --checkpoint c.ck
    check "how to go on" grep -q 'to go on, repeat the command with --resume c.ck' log
    refused 1 "c.ck is of a run with --energies" map turned.mtx --energies=0.3 $how --resume c.ck
    refused 1 "c.ck is of a run with another matrix" map chain.mtx --energies=-1.5,0.3 $how --resume c.ck
    refused 1 "c.ck is of a run with --where" $run --where 0-9 --resume c.ck
    ok $run --resume c.ck --json
    json out 'd["ldos"] == e["ldos"] and d["resumed"] == "c.ck"' whole.json
    rm -f c.ck*
    WISP_STOP_AT=KILL:checkpoint:2 "$wisp" $run --checkpoint c.ck >/dev/null 2>&1
    ok $run --resume c.ck --checkpoint c.ck --json
    json out 'd["ldos"] == e["ldos"] and d.get("ldos_high") == e.get("ldos_high") and d["completed"]' whole.json
    check "its files are gone" test ! -e c.ck
done
refused 2 "--save of random vectors does not go with --checkpoint" map chain.mtx --energies 0 --save m.h5 --checkpoint c.ck

# ---- moments that are kept: other energies, kernels and numbers of moments
if [ $have_hdf5 = 1 ]; then
    for how in "turned.mtx --vectors 7 --width 3" "chain.mtx --vectors 5" "turned.mtx --trace exact" \
        "topi:nx=3,ny=3,nz=2 --vectors 5 --where z<1" "topi:nx=3,ny=3,nz=2 --trace exact --where z<1 --precision single"; do
        ok map $how --bounds=-7,7 --moments 60 --energies 0.1 --save m.h5 --json
        cp out kept.json
        ok map $how --bounds=-7,7 --moments 60 --energies=0.1 --json
        json out 'close(d["ldos"][0], e["ldos"][0], 1e-10 if d["type"].endswith("double") else 1e-4)' kept.json
        ok map --from m.h5 --energies 0.1 --json
        json out 'd["ldos"] == e["ldos"] and d["number_of_moments"] == 60 and d["site_row"] == e["site_row"] and d["site_rows"] == e["site_rows"] and d.get("x") == e.get("x") and
                  d.get("vectors") == e.get("vectors") and d.get("ldos_low") == e.get("ldos_low") and d.get("where") == e.get("where") and d["moments_command"] == e["command"]' kept.json
        for other in "--energies=-1.5,0.3 --kernel fejer" "--energies 2 --moments 33"; do
            [ -z "${SANITIZED:-}" ] || break # they differ in numbers alone
            ok map $how --bounds=-7,7 --moments 60 $other --json
            cp out direct.json
            ok map --from m.h5 $other --json
            json out 'all(close(v, w, 1e-10 if d["type"].endswith("double") else 1e-4) for v, w in zip(d["ldos"], e["ldos"])) and d["number_of_moments"] == e["number_of_moments"]' direct.json
        done
        WISP_RANKS=3 ok map $how --bounds=-7,7 --moments 60 --energies 0.1 --save r.h5 --json
        json out 'close(d["ldos"][0], e["ldos"][0], 1e-10 if d["type"].endswith("double") else 1e-4)' kept.json
        ok map --from r.h5 --energies 0.1
        check "where they are from" grep -q '^moments of  *r.h5' out
    done
    refused 1 "holds 60 moments, which reach a resolution" map --from m.h5 --energies 0 --moments 61
    refused 2 "--where needs a new run" map --from m.h5 --energies 0 --where 3
    refused 2 "MATRIX and --from exclude each other" map chain.mtx --from m.h5 --energies 0
    refused 2 "--energies E,.. is missing" map --from m.h5
    ok map chain.mtx --moments 16 --energies 0 --save m.h5
    refused 2 "--kernel dirichlet is for --trace exact" map --from m.h5 --energies 0 --kernel dirichlet
    refused 2 "one --from at a time" map --from m.h5 --from m.h5 --energies 0
    ok dos chain.mtx --moments 16 --save d.h5
    refused 1 "d.h5 holds no moments of wisp map" map --from d.h5 --energies 0
    refused 1 "m.h5 holds no moments of wisp spectral" spectral --from m.h5
    # An exact run that is ended goes on, and keeps all of its moments; Ctrl-C keeps complete vectors.
    run="map turned.mtx --energies=0.3 --trace exact --moments 400 --save m.h5"
    ok $run --json
    cp out whole.json
    rm m.h5
    stop moments TERM 0.5 $run --checkpoint c.ck
    ok $run --resume c.ck
    ok map --from m.h5 --energies 0.3 --json
    json out 'd["ldos"] == e["ldos"]' whole.json
    stop map INT 0.5 map topi:nx=4,ny=4,nz=2 --energies 0 --moments 256 --vectors 12 --width 2 --save m.h5
    check "what it is of" grep -q 'stopped; the map is of [0-9]* of 12 vectors' log
    ok map --from m.h5 --energies 0,1 --json
    json out '2 <= d["vectors"] < 12 and d["completed"] is False'
    [ $have_gnuplot = 0 ] || ok map --from m.h5 --energies 0,1 --plot m.svg
fi

# ---- Ctrl-C: what is complete is given, and it is said
stop map INT 0.5 map topi:nx=10,ny=10,nz=10 --energies 0 --moments 100 --vectors 64
check "how many vectors it is of" grep -q 'stopped; the map is of [0-9]* of 64 vectors' log
# Of an exact map the sites that are whole, of batches of rows: the same numbers as without the signal.
exact="map anderson:nx=20,ny=20,nz=4,disorder=3 --energies=-1,0.5 --moments 16 --trace exact"
ok $exact --json
cp out whole.json
stop map INT 0.4 $exact -o part.json
check "how many sites it is of" grep -q 'stopped; the map is of 1024 of 1600 sites' log
json part.json 'd["completed"] is False and d["site_row"] == list(range(1024)) and
    d["ldos"] == [row[:1024] for row in e["ldos"]] and len(d["x"]) == 1024' whole.json
stop map INT 0.4 $exact
check "a summary of a part" grep -q '^  *the first of 1,600, as the run was stopped' out
stop map INT 0 $exact
check "no site is whole" grep -q 'cancelled\|stopped' log
if [ $have_hdf5 = 1 ]; then
    stop map INT 0.4 $exact --save part.h5
    ok map --from part.h5 --energies=-1,0.5 --json
    json out 'd["completed"] is False and len(d["site_row"]) == 1024' part.json
    # Random vectors of a map are no moments of rows, and an exact map's are.
    ok map chain.mtx --energies 0 --vectors 3 --save m.h5
    for command in ldos dos count thermal; do
        refused 1 "m.h5 holds random vectors of wisp map, which are no moments of single rows; see wisp map --from" $command --from m.h5 \
            $([ $command != count ] || echo --interval 0,1) $([ $command != thermal ] || echo --temperatures 1)
    done
fi

# ---- stopped by a signal that one rank gets alone, between its calls: all stop there, and nothing else is said
for how in "" "--trace exact" "--save ranks.h5"; do
    [[ $how == --save* && $have_hdf5 = 0 ]] && continue
    for ranks in $([ -n "${SANITIZED:-}" ] && echo 3 || echo 2 3); do
        checks=$((checks + 1))
        export WISP_RANKS=$ranks
        stop map TERM 0.4 map graphene:nx=40,ny=40 --energies 0,1 --moments 32 $how -o ranks.json
        [ "$(grep -c '"event":"error"' log)" = 1 ] && tail -1 log | grep -q 'stopped; the map is of' ||
            fail "map $how stopped on $ranks ranks: $(grep -v progress log)"
        json ranks.json 'd["completed"] is False'
    done
done
unset WISP_RANKS

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
