# wisp spectral: A(k, E) against bands in closed form; orbitals, positions of the user's, moments kept, files, refusals.
. "$(dirname "$0")/cli.sh"

cat >bands.py <<'PY'
import math
# Moments of a plane wave of a ring with bounds 0 to 8: T_n of its energy. Its density integrates to 1.
def peak(d, i):
    a = d["spectral"][i]
    return d["energies"][a.index(max(a))]
def near(d, i, e):
    return abs(peak(d, i) - e) < 2 * d["resolution"]
def total(d, i):
    e, a = d["energies"], d["spectral"][i]
    return sum((e[j + 1] - e[j]) * (a[j + 1] + a[j]) / 2 for j in range(len(e) - 1))
def level(d, h, e, E):
    """Jackson's kernel of a level e at E, with bounds -h to h."""
    M, t, s = d["number_of_moments"], math.acos(E / h), math.acos(max(-1, min(1, e / h)))
    g = [((M + 1 - n) * math.cos(math.pi * n / (M + 1)) + math.sin(math.pi * n / (M + 1)) / math.tan(math.pi / (M + 1))) / (M + 1) for n in range(M)]
    return (1 + 2 * sum(g[n] * math.cos(n * t) * math.cos(n * s) for n in range(1, M))) / (math.pi * h * math.sin(t))
def cosines(k):
    return -2 * math.cos(k[0]) - 2 * math.cos(k[1])
def is_map(d, h, bands):
    return all(abs(a - sum(level(d, h, e, E) for e in bands(k))) < 1e-9 for k, row in zip(d["k"], d["spectral"]) for E, a in zip(d["energies"], row))
def honeycomb(k):
    s = 3 ** 0.5
    f = 1 + 2 * math.cos(s / 2 * k[0]) * complex(math.cos(1.5 * k[1]), math.sin(1.5 * k[1]))
    return abs(f)
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("bands.py").read())' check.py

ring=laplace:nx=24,ny=1,periodic=x,points=5
ok spectral $ring --path 0:pi --k-points 9 --json
json out 'd["quantity"] == "spectral" and len(d["k"]) == 9 and d["orbitals"] == 1 and "by_orbital" not in d or d["by_orbital"] is None'
json out 'all(near(d, i, 4 - 2 * math.cos(k[0])) for i, k in enumerate(d["k"]))'
json out 'all(abs(total(d, i) - 1) < 2e-3 for i in range(9))'
json out 'all(abs(k[0] * 24 / 2 / math.pi - round(k[0] * 24 / 2 / math.pi)) < 1e-9 for k in d["k"])'
ok spectral $ring --path 0:pi --k-points 5 --moments 64 --bounds=-0.1,8.1 --json
json out 'all(abs(m - math.cos(n * math.acos(max(-1, min(1, -2 * math.cos(d["k"][2][0]) / 4.1))))) < 1e-12
              for n, m in enumerate([1]))'

graphene=graphene:nx=12,ny=12
ok spectral $graphene --path 0,0:2.418399,0:1.813799,1.0471976 --k-points 20 --json
json out 'd["orbitals"] == 2 and len(d["by_orbital"]) == 2 and d["vectors"] == 2 * len(d["k"])'
json out 'all(min(abs(peak(d, i) - honeycomb(k)), abs(peak(d, i) + honeycomb(k))) < 2 * d["resolution"]
              for i, k in enumerate(d["k"]))'
json out 'all(abs(total(d, i) - 2) < 5e-3 for i in range(len(d["k"])))'
json out 'all(abs(sum(o[i][j] for o in d["by_orbital"]) - d["spectral"][i][j]) < 1e-9 * max(d["spectral"][i])
              for i in range(len(d["k"])) for j in range(0, len(d["energies"]), 50))'

# The same from the user's own file of positions and cell.
"$wisp" gen $graphene -o h.mtx --positions-out p.txt >/dev/null
ok spectral $graphene --path 0,0:1,0 --k-points 4 --moments 64 --json
cp out first
ok spectral h.mtx --positions p.txt --cell 20.784609690826528,0:10.392304845413264,18 --orbitals 2 --path 0,0:1,0 \
    --k-points 4 --moments 64 --json
json out 'all(abs(x - y) < 1e-9 for a, b in zip(d["k"], e["k"]) for x, y in zip(a, b)) and all(abs(x - y) < 1e-6 for a, b in zip(d["spectral"], e["spectral"])
                                   for x, y in zip(a, b))' first
if [ $have_hdf5 = 1 ]; then
    ok spectral $graphene --path 0,0:1,0 --k-points 4 --moments 64 --save m.h5 --json
    ok spectral --from m.h5 --json
    json out 'd["spectral"] == e["spectral"] and d["k"] == e["k"]' first
    ok spectral --from m.h5 --moments 32 --energies=-1,0,1 --json
    json out 'len(d["spectral"][0]) == 3 and d["number_of_moments"] == 32'
    ok spectral h.mtx --positions p.txt --orbitals 2 --path 0,0:1,0 --moments 8 --save own.h5
    ok spectral --from own.h5
    # Of the file of positions nothing is needed any more.
    ok spectral h.mtx --positions p.txt --cell 20.784609690826528,0:10.392304845413264,18 --orbitals 2 --path 0,0:1,0 \
        --k-points 4 --moments 64 --save own.h5 -o "it's.csv" --json
    cp out first
    mv p.txt q.txt
    ok spectral --from own.h5 --json
    json out 'd["spectral"] == e["spectral"] and d["k"] == e["k"] and d["path_length"] == e["path_length"]' first
    mv q.txt p.txt
    # A long path is all there; one that is longer than the command that is kept is not taken for another.
    path=0,0
    for i in $(seq 400); do path+=:0.$((1000 + i))00000001,0.0001; done
    ok spectral square:nx=4,ny=4,periodic=none --path $path --k-points 401 --moments 4 --save long.h5 --energies 0 --json
    cp out first
    ok spectral --from long.h5 --energies 0 --json
    json out 'd["k"] == e["k"] and d["spectral"] == e["spectral"]' first
    path+=:$(seq -s: 1 9000)
    ok spectral square:nx=4,ny=4,periodic=none --path $path --k-points 1 --moments 2 --save long.h5 --energies 0 --json
    # The file has the k, whatever the command that was kept.
    cp out first
    ok spectral --from long.h5 --energies 0 --json
    json out 'd["k"] == e["k"] and d["spectral"] == e["spectral"] and d["corners"] == e["corners"] and d["path_length"] == e["path_length"]' first
    refused 2 "--path needs a new run" spectral --from m.h5 --path 0:1
    ok ldos $graphene --sites 0 --moments 8 --save l.h5
    refused 1 "no moments of wisp spectral" spectral --from l.h5
fi
# ---- waves on some rows alone: the densities of such vectors, of length 1; kept, gone on with, and of other rows refused
some=(--where 'x>2,y<=3' --moments 48 --bounds=-6,6 --energies=-1,0.5,2)
part=square:nx=6,ny=5,disorder=3
"$wisp" gen $part -o part.mtx --positions-out part.txt >/dev/null
python3 - <<'PY'
import cmath, math
at = [tuple(map(float, line.split())) for line in open("part.txt") if line[0] != "#"]
within = [x > 2 and y <= 3 for x, y, z in at]
k = [2 * math.pi / 6, 2 * math.pi / 5]
with open("wave.mtx", "w") as f:
    f.write("%%%%MatrixMarket matrix array complex general\n%d 1\n" % len(at))
    for (x, y, z), w in zip(at, within):
        v = cmath.exp(1j * (k[0] * x + k[1] * y)) * w / math.sqrt(sum(within))
        f.write("%.17g %.17g\n" % (v.real, v.imag))
PY
one=(--path 1.0471975511965976,1.2566370614359172)
ok ldos part.mtx --start wave.mtx --moments 48 --bounds=-6,6 --energies=-1,0.5,2 --json
cp out first
ok spectral $part "${some[@]}" "${one[@]}" --json
json out 'd["moved_by_at_most"] < 1e-9 and all(abs(a - b) < 1e-9 for a, b in zip(d["spectral"][0], e["dos"][0]))' first
json out 'd["where"] == "x>2,y<=3" and d["where_rows"] == 12'
cp out first
ok spectral part.mtx --positions part.txt --cell 6:0,5 "${some[@]}" "${one[@]}" --json
json out 'all(abs(a - b) < 1e-9 for a, b in zip(d["spectral"][0], e["spectral"][0]))' first
ok spectral $part "${some[@]}" "${one[@]}"
check "rows of waves in the summary" grep -q '^where *x>2,y<=3: 12 rows' out
ok spectral part.mtx --positions part.txt --cell 6:0,5 "${some[@]}" "${one[@]}" --plan --json
bound=$(sed -n 's/^ *"bound_bytes": *\([0-9]*\).*/\1/p' out)
ok spectral part.mtx --positions part.txt --cell 6:0,5 "${some[@]}" "${one[@]}" --quiet --mem-limit "$bound"
# Orbitals of which no row is there have nothing.
ok spectral graphene:nx=3,ny=3 --where 0,2,4 --path 0 --moments 8 --energies 0 --json
json out 'd["by_orbital"][0][0][0] > 0.01 and d["by_orbital"][1][0][0] == 0'
if [ $have_hdf5 = 1 ]; then
    ok spectral $part "${some[@]}" "${one[@]}" --save part.h5 --quiet
    ok spectral --from part.h5 --energies=-1,0.5,2 --json
    json out 'd["spectral"] == e["spectral"] and d["where"] == "x>2,y<=3"' first
fi
stop moments TERM 0.5 spectral $part "${some[@]}" "${one[@]}" --checkpoint part.ck
refused 1 "--where" spectral $part --where 'x>2,y<=2' "${some[@]:2}" "${one[@]}" --resume part.ck
ok spectral $part "${some[@]}" "${one[@]}" --resume part.ck --json
json out 'd["spectral"] == e["spectral"]' first

# ---- a grid of k: a cell of the reciprocal lattice around 0; between corners; waves that are the same are made once
square=square:nx=12,ny=12
few="--moments 40 --bounds=-4.1,4.1 --energies=-2.5,0,1"
ok spectral $square --grid 12,12 $few --json
json out 'd["grid"] == [12, 12] and len(d["k"]) == 144 == d["waves"] and d["moved_by_at_most"] < 1e-9 and is_map(d, 4.1, lambda k: [cosines(k)])'
json out 'len(set((round(k[0] * 6 / math.pi), round(k[1] * 6 / math.pi)) for k in d["k"])) == 144 and all(abs(k[0]) < 3.15 and abs(k[1]) < 3.15 for k in d["k"]) and
          "corners" not in d and "path_length" not in d and close(d["k"][78], [0, 0, 0], 1e-12) and close(d["k"][79], [0, math.pi / 6, 0], 1e-12)'
cp out first
ok spectral $square --grid 5,3:-pi,-pi:pi,-pi:-pi,pi $few --json
json out 'd["grid"] == [5, 3] and d["waves"] == 15 and is_map(d, 4.1, lambda k: [cosines(k)]) and
          all(close(k, [math.pi * (i // 3 / 2 - 1), math.pi * (i % 3 - 1), 0], 1e-9) for i, k in enumerate(d["k"]))'
ok spectral $square --grid 30,30 $few --json
json out 'len(d["k"]) == 900 and d["waves"] <= 169 and 0.1 < d["moved_by_at_most"] < 0.4 and is_map(d, 4.1, lambda k: [cosines(k)])'
ok spectral $graphene --grid 12,7 --moments 40 --bounds=-3.1,3.1 --energies 0.5,2 --json
json out 'd["orbitals"] == 2 and is_map(d, 3.1, lambda k: [honeycomb(k), -honeycomb(k)]) and len(d["by_orbital"][1]) == 84'
ok spectral anderson:nx=6,ny=4,nz=2 --grid 3,2:0,0,0:0,0,pi:2pi/3,0,0 --moments 32 --energies 0 --json
json out 'd["waves"] == 4 and all(abs(k[1]) < 1e-9 for k in d["k"])'
ok spectral $square --grid 3,3 $few
check "the grid" grep -q '^k  *a grid of 3 x 3, by 9 waves of 1 orbital each' out
check "the strongest of each energy" grep -q '^strongest .*A = .* at E = -2.5, k = (' out
ok spectral $square --grid 3,2 $few -o g.csv
check "a table of the grid" grep -q '^kx,ky,kz,energy,spectral$' g.csv
check "its lines" test "$(grep -vc '^[#k]' g.csv)" = 18
ok spectral $square --grid 3,2 $few --plan
if [ $have_hdf5 = 1 ]; then
    ok spectral $square --grid 12,12 --moments 40 --bounds=-4.1,4.1 --energies 0 --save g.h5
    ok spectral --from g.h5 --energies=-2.5,0,1 --json
    json out 'd["spectral"] == e["spectral"] and d["k"] == e["k"] and d["grid"] == e["grid"]' first
    refused 2 "a grid of k needs --energies" spectral --from g.h5
fi
if [ $have_gnuplot = 1 ]; then
    for g in 12,12 2,2 3,5:-pi,-pi:pi,-pi:-pi,pi; do
        ok spectral $square --grid $g $few --plot g.svg
        check "maps of $g" grep -q 'E = -2.5' g.svg
    done
    ok spectral anderson:nx=6,ny=4,nz=2 --grid 3,3:0,0,0:0,0,pi:2pi/3,0,0 --moments 32 --energies 0 --plot g.svg
    check "a map of another plane" grep -q 'k along the first side' g.svg
    refused 2 "--plot draws 16 maps at most" spectral $square --grid 3,3 --energies "$(seq -s, 0 16)" --plot g.svg
fi
refused 2 "a grid of k needs --energies" spectral $square --grid 3,3
refused 2 "--grid does not go with --path" spectral $square --grid 3,3 --path 0:1 --energies 0
for g in 3 1,3 3x3 3,3: 3,3:0 3,3:0,0:1,0 3,3:0:1:2:3 x,3; do refused 2 "points along both sides" spectral $square --grid $g --energies 0; done
refused 2 "at most 1048576 points" spectral $square --grid 5000,5000 --energies 0
refused 2 "lie on a line" spectral $square --grid 3,3:0,0:1,1:2,2 --energies 0
refused 1 "extends along one direction" spectral $ring --grid 3,3 --energies 0
refused 1 "the cell of the lattice is not known; give corners" spectral h.mtx --positions p.txt --orbitals 2 --grid 3,3 --energies 0

# ---- the mean of several realizations of disorder, with bars over them: as by runs one by one
some="--path 0,0:pi,0:pi,pi --k-points 5 --moments 40 --bounds=-6.1,6.1 --energies=-1,0.5"
for s in 3 4 5 6; do
    ok spectral square:nx=6,ny=6,disorder=3,seed=$s,t=1.1 $some --json
    cp out one.$s
done
ok spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 --json
json out '[r := [load("one.%d" % s)["spectral"] for s in (3, 4, 5, 6)]] and d["realizations"] == 4 and all(
          abs(d["spectral"][k][i] - (m := sum(x[k][i] for x in r) / 4)) < 1e-12 and
          abs(d["spectral_error"][k][i] - (s := math.sqrt(sum((x[k][i] - m) ** 2 for x in r) / 12))) < 1e-9 and
          abs(d["spectral_high"][k][i] - m - 3.182446305 * s) < 1e-6 and abs(d["spectral_low"][k][i] - max(0, m - 3.182446305 * s)) < 1e-6
          for k in range(5) for i in (0, 1))'
cp out first
ok spectral square:nx=6,ny=6,disorder=3 $some --average 3
check "bars of realizations" grep -q '^error bar *+-: 95%, of 3 realizations of disorder' out
check "values with bars" grep -q '^strongest .*A = .* +- .* at E = ' out
ok spectral square:nx=6,ny=6,disorder=3 $some --average 3 --plan
ok spectral graphene:nx=6,ny=6,vacancies=0.1 --grid 3,3 --energies 0.5 --moments 40 --average 3 -o a.csv --json
check "a table with bars" grep -q '^kx,ky,kz,energy,spectral,spectral_error,spectral_low,spectral_high,orbital_0,orbital_1$' a.csv
json out 'all(abs(sum(o[k][0] for o in d["by_orbital"]) - d["spectral"][k][0]) < 1e-12 for k in range(9)) and
          d["realizations"] == 3 and d["bounds"]["halfwidth"] > 2.5'
[ $have_gnuplot = 1 ] && ok spectral square:nx=6,ny=6,disorder=3 --path 0,0:1,1 --moments 40 --average 2 --plot a.svg
if [ $have_hdf5 = 1 ]; then
    ok spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 --save a.h5
    ok spectral --from a.h5 --energies=-1,0.5 --json
    json out 'd["spectral"] == e["spectral"] and d["spectral_high"] == e["spectral_high"] ' first
    # What is whole is kept of a run that is stopped.
    ok spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 2 --json
    cp out first
    stop realizations INT 0.5 spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 --save cut.h5
    check "what is kept" grep -q '2 of 4 realizations with 40 moments are kept: wisp spectral --from cut.h5' log
    ok spectral --from cut.h5 --energies=-1,0.5 --json
    json out 'd["realizations"] == 2 and d["completed"] is False and d["spectral"] == e["spectral"] and d["spectral_low"] == e["spectral_low"]' first
    stop realizations INT 0 spectral square:nx=6,ny=6,disorder=3 $some --average 4 --save none.h5
    check "nothing is kept" grep -q 'nothing was kept' log
fi
# Without a file to keep them the realizations that are whole are told.
ok spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 2 --json
cp out first
stop realizations INT 0.5 spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 -o cut.json
check "what it is of" grep -q 'stopped by Ctrl-C; the mean is of 2 of 4 realizations' log
json cut.json 'd["realizations"] == 2 and d["completed"] is False and d["spectral"] == e["spectral"] and d["spectral_low"] == e["spectral_low"]' first
stop realizations INT 0 spectral square:nx=6,ny=6,disorder=3 $some --average 4
check "nothing is told" grep -q 'nothing was kept' log
# So are those that are evaluated, or the first one.
for ranks in 1 3; do
    export WISP_RANKS=$ranks
    stop averaging INT 0.5 spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 -o cut.json
    check "what it is of: $(tail -1 log)" grep -q 'stopped by Ctrl-C; the mean is of 2 of 4 realizations' log
    json cut.json 'd["realizations"] == 2 and d["completed"] is False and close(sum(d["spectral"], []), sum(e["spectral"], []), 1e-9)' first
    stop evaluating INT 0 spectral square:nx=6,ny=6,disorder=3,seed=3,t=1.1 $some --average 4 -o cut.json
    check "the first one: $(tail -1 log)" grep -q 'stopped by Ctrl-C; the mean is of 1 of 4 realizations' log
    check "one has no bar, and why" grep -q '^error bar *none: one realization$' out
    json cut.json 'd["completed"] is False and close(sum(d["spectral"], []), sum(e["spectral"], []), 1e-9)' one.3
done
unset WISP_RANKS
if [ $have_hdf5 = 1 ] && [ $have_gnuplot = 1 ]; then # each k that is there has its cell in the picture of a part
    cells() { grep -c 'polygon' "$1"; }
    stop moments INT 0.5 spectral $square --grid 6,6 --moments 40 --bounds=-4.1,4.1 --energies 0 --width 6 --save cut.h5
    ok spectral --from cut.h5 --energies 0 --plot cut.svg --json
    json out 'd["completed"] is False and 6 <= d["waves"] < 36'
    waves=$(sed -n 's/^.*"waves": \([0-9]*\).*$/\1/p' out)
    ok spectral $square --grid 6,6 --moments 40 --bounds=-4.1,4.1 --energies 0 --plot whole.svg
    # The colour box has as many polygons in both.
    check "cells of a part: $waves, $(cells cut.svg) and $(cells whole.svg)" [ $(($(cells whole.svg) - $(cells cut.svg))) = $((36 - waves)) ]
fi
refused 2 "--average needs a lattice of the gallery with disorder=W" spectral $square $some --average 3
refused 2 "--average does not go with --checkpoint" spectral square:nx=6,ny=6,disorder=3 $some --average 3 --checkpoint c.ck
refused 2 "--average" spectral square:nx=6,ny=6,disorder=3 $some --average 1

ok spectral $graphene --path 0,0:1,0 --moments 64
check "where it is strongest" grep -q '^strongest .*A = .* at E = ' out
check "no bars are claimed" grep -q '^error bar *none' out
ok spectral $graphene --path 0,0 --moments 64 -o a.csv
check "a table" grep -q '^path,kx,ky,kz,energy,spectral,orbital_0,orbital_1' a.csv
ok spectral $graphene --path 0,0:1,0 --moments 64 --plan
ok spectral $graphene --path 0,0:1,0 --moments 64 --precision single
if [ $have_gnuplot = 1 ]; then
    ok spectral $graphene --path 0,0:1,0:0,1 --moments 64 --plot a.svg
    check "a picture" grep -q 'A(k,E)' a.svg
    refused 2 "--plot needs a --path of two corners" spectral $graphene --path 1 --plot a.svg
fi
if [ $have_gnuplot = 1 ]; then # numbers beside the axis push its label out of the picture no more
    ok spectral graphene:nx=12,ny=12,t=0.00001 --path 0,0:1,0 --moments 64 --plot wide.svg
    check "the label" grep -q 'energy (units of the matrix)' wide.svg
fi
# A run goes on at the same k and with the same positions, and says which of both differ.
if [ -z "${WISP_RANKS:-}" ]; then
    cell=20.784609690826528,0:10.392304845413264,18
    awk '{ print $1 + 0.01 * NR, $2 }' p.txt >moved.txt
    run=(h.mtx --cell $cell --orbitals 2 --k-points 4 --moments 400 --json)
    ok spectral "${run[@]}" --positions p.txt --path 0,0:1,0
    cp out whole
    stop moments TERM 0.5 spectral "${run[@]}" --positions p.txt --path 0,0:1,0 --checkpoint c.ck
    refused 1 "c.ck is of a run with --positions" spectral "${run[@]:0:9}" --positions moved.txt --path 0,0:1,0 --resume c.ck
    refused 1 "c.ck is of a run with --path" spectral "${run[@]:0:9}" --positions p.txt --path 0,0:0,1 --resume c.ck
    ok spectral "${run[@]}" --positions p.txt --path 0,0:1,0 --resume c.ck
    json out 'd["spectral"] == e["spectral"]' whole
fi
# Each k stands where it is on the path, also where it was moved; what folds to one k is drawn, too.
ok spectral laplace:nx=8,ny=1,periodic=x,points=5 --path 0:pi --moments 32 --json
json out 'close(d["path_length"], [k[0] for k in d["k"]], 0.03) and len(d["k"]) == 5'
if [ $have_gnuplot = 1 ]; then
    ok spectral laplace:nx=8,ny=1,periodic=x,points=5 --path 0:0.01 --moments 32 --plot one.svg
fi
# Orbitals of rows are the lattice's, also where sites are vacant.
ok spectral graphene:nx=9,ny=9,vacancies=0.1 --path 1,0.5 --moments 64 --json
cp out first
ok spectral graphene:nx=9,ny=9,vacancies=0.1 --path 1,0.5 --moments 64 --orbitals 2 --json
json out 'd["spectral"] == e["spectral"]' first
refused 1 "a cell of this lattice has 2" spectral graphene:nx=9,ny=9 --path 1 --orbitals 3
refused 2 "needs --path" spectral $graphene
refused 2 "corners such as" spectral $graphene --path 0,0:pj
refused 2 "corners such as" spectral $graphene --path 0,0,0,0
refused 2 "corners such as" spectral $graphene --path pi/0
refused 2 "are equal" spectral $graphene --path 1,0:1,0
refused 1 "is not known; give it by --positions" spectral h.mtx --path 0:1
refused 2 "--cell needs --positions" spectral $graphene --path 0:1 --cell 1,0
refused 1 "--orbitals 900: there are 240 rows" spectral laplace:nx=24,ny=1 --path 0:1 --orbitals 900
finish
