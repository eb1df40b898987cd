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
    refused 1 "does not tell at which k" spectral --from long.h5
    refused 2 "--path needs a new run" spectral --from m.h5 --path 0:1
    ok ldos $graphene --sites 0 --moments 8 --save l.h5
    refused 1 "no moments of wisp spectral" spectral --from l.h5
fi
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
