# wisp ldos and green of vectors from files: values against states of a chain that are known, files kept, files and refusals;
# the dynamic structure factor of a ring of spins.
. "$(dirname "$0")/cli.sh"

chain=laplace:nx=7,ny=1,points=5
# Columns of .mtx files by arrays of rows; <b|G|a> and moments <b|T_n|a> by the chain's states.
cat >chain.py <<'PY'
import cmath, math
n = 7
def read(name):
    lines = [l.split() for l in open(name) if not l.startswith("%")]
    rows, cols = int(lines[0][0]), int(lines[0][1])
    v = [complex(*map(float, l)) for l in lines[1:]]
    return [v[c * rows:(c + 1) * rows] for c in range(cols)]
def parts(v):
    return [sum(math.sqrt(2 / (n + 1)) * math.sin(math.pi * k * (i + 1) / (n + 1)) * v[i] for i in range(n)) for k in range(1, n + 1)]
def level(k):
    return 4 - 2 * math.cos(math.pi * k / (n + 1))
def green(b, a, z):
    return sum(x.conjugate() * y / (z - level(k + 1)) for k, (x, y) in enumerate(zip(parts(b), parts(a))))
def moment(b, a, m, bounds):
    return sum(x.conjugate() * y * math.cos(m * math.acos((level(k + 1) - bounds["center"]) / bounds["halfwidth"]))
               for k, (x, y) in enumerate(zip(parts(b), parts(a))))
def norm(v):
    return math.sqrt(sum(abs(x) ** 2 for x in v))
def within(d, left, right):
    return len(d["columns"]) == len(right) and all(
        abs(complex(re, im) - green(l, r, E + 1j * d["eta"])) <= b * (norm(l) * norm(r) if "beside_over" in d else 1) + 1e-12 * norm(l) * norm(r)
        for l, r, R, I, B in zip(left, right, d["green_re"], d["green_im"], d["beside"])
        for E, re, im, b in zip(d["energies"], R, I, B))
def moments(d, left, right):
    J = d.get("moments_im") or [[0] * d["number_of_moments"]] * len(right)
    return all(abs(complex(x, y) - moment(l, r, m, d["bounds"])) <= 1e-12 * norm(l) * norm(r)
               for l, r, X, Y in zip(left, right, d["moments"], J) for m, (x, y) in enumerate(zip(X, Y)))
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("chain.py").read())' check.py
vectors() { # vectors FILE FIELD COLUMNS: numbers that look random
    echo "%%MatrixMarket matrix array $2 general"
    echo "7 $3"
    awk -v count=$((7 * $3)) -v c="$2" -v s="$1" 'BEGIN { srand(s); for (i = 0; i < count; i++) print rand() - 0.5, c == "complex" ? rand() - 0.5 : "" }'
}
vectors 1 real 1 >one.mtx
vectors 2 complex 3 >three.mtx
vectors 3 complex 3 >other.mtx
vectors 4 real 3 >plain.mtx

# ---- one side
ok ldos $chain --start one.mtx --moments 64 --json
json out 'moments(d, read("one.mtx"), read("one.mtx")) and d["columns"] == [0] and d["start"] == "one.mtx" and "sites" not in d'
json out 'abs(d["weights"][0] - norm(read("one.mtx")[0]) ** 2) < 1e-14 and d["type"] == "double" and d["trace"] == "given"'
json out 'abs(d["integral"][0] - d["weights"][0]) < 1e-3 and "dos_im" not in d'
ok ldos $chain --start three.mtx --moments 65 --json
json out 'moments(d, read("three.mtx"), read("three.mtx")) and d["type"] == "complex double" and len(d["dos"]) == 3'
for eta in 1 0.03; do
    ok green $chain --start three.mtx --eta $eta --energies=-1,0,3.3,4,9 --json
    json out 'within(d, read("three.mtx"), read("three.mtx")) and "beside_over" not in d'
done
ok ldos $chain --start three.mtx --energies 1,2 -o l.csv
check "weights in the summary" grep -qE '^weight +<a\|a> = [0-9.]+ of vector 0' out
check "values in the summary" grep -qE '^density .* at 1 of vector 0' out
check "a table" grep -q '^energy,dos_vector_0,dos_vector_1,dos_vector_2$' l.csv
# A vector with a single 1 is a row.
ok ldos $chain --sites 3 --moments 32 --json
cp out row.json
printf '%%%%MatrixMarket matrix coordinate pattern general\n7 1 1\n4 1\n' >unit.mtx
ok ldos $chain --start unit.mtx --moments 32 --json
json out 'd["dos"] == e["dos"] and d["moments"] == e["moments"]' row.json
# Units that are very large or very small are of no matter.
for unit in 1e150 1e-150; do
    awk -v u=$unit 'NR > 2 { $1 *= u } { print }' OFMT=%.17g CONVFMT=%.17g one.mtx >far.mtx
    ok green $chain --start far.mtx --eta 0.1 --energies 4 --json
    json out 'abs(d["green_im"][0][0] / '$unit' / '$unit' - green(read("one.mtx")[0], read("one.mtx")[0], 4 + 0.1j).imag) < 1e-9'
done

# ---- two sides
ok ldos $chain --start three.mtx --left other.mtx --moments 33 --json
json out 'moments(d, read("other.mtx"), read("three.mtx")) and len(d["dos_im"]) == 3 and len(d["weights_im"]) == 3 and d["left"] == "other.mtx"'
ok ldos $chain --start plain.mtx --left three.mtx --moments 33 --json
json out 'moments(d, read("three.mtx"), read("plain.mtx"))'
ok ldos $chain --start plain.mtx --left plain.mtx --moments 33 --json
cp out both.json
ok ldos $chain --start plain.mtx --moments 33 --json
json out 'all(close(x, y, 1e-12) for x, y in zip(d["dos"], e["dos"])) and not any(map(any, e["dos_im"]))' both.json
for eta in 1 0.03; do
    ok green $chain --start three.mtx --left other.mtx --eta $eta --energies=-1,0,3.3,4,9 --json
    json out 'within(d, read("other.mtx"), read("three.mtx")) and d["beside_over"] == "the norms of both vectors"'
done
ok green $chain --start plain.mtx --left other.mtx --eta 0.1 --energies 4 -o g.csv
check "the summary of two sides" grep -qE '^weight +<b\|a> = .*i of vector 0' out
check "the error over the norms" grep -q 'times the norms of both vectors' out
check "a table of two sides" grep -q '^energy,green_re_vector_0,green_im_vector_0,beside_vector_0' g.csv
ok ldos $chain --start plain.mtx --left other.mtx --energies 4,5 -o l.csv
check "real and imaginary parts" grep -q '^energy,dos_re_vector_0,dos_im_vector_0,' l.csv
ok green $chain --start plain.mtx --left other.mtx --eta 0.1 --precision single --tol 1e-3 --energies 4 --json
json out 'd["type"] == "complex single"'
if [ $have_gnuplot = 1 ]; then
    ok ldos $chain --start three.mtx --left other.mtx --plot l.svg
    check "a picture of both parts" grep -q 'imaginary part dashed' l.svg
    ok green $chain --start three.mtx --eta 0.1 --plot g.svg
fi

# ---- rows on the left: G_ij, all from one row, or pairs; rows and vectors mixed
ok green $chain --sites 2 --left-sites 0-6 --eta 0.1 --energies 3.3,4 --json
json out 'd["sites"] == [2] * 7 and d["left_sites"] == list(range(7)) and "columns" not in d and d["start"] is None'
json out 'all(abs(complex(x[i], y[i]) - green([r == j for r in range(n)], [r == 2 for r in range(n)], E + 0.1j)) < 1e-9 for j, (x, y) in enumerate(zip(d["green_re"], d["green_im"])) for i, E in enumerate([3.3, 4]))'
ok green $chain --sites 2,3 --left-sites 5,3 --eta 0.1 --energies 4 -o g.csv
check "the name of a pair" grep -qE '^G .* at 4 of rows 5, 2$' out
check "names of columns" grep -q '^energy,green_re_5_2,green_im_5_2,beside_5_2,green_re_3_3' g.csv
ok ldos $chain --sites 4 --left other.mtx --moments 33 --json
json out 'moments(d, read("other.mtx"), [[i == 4 for i in range(n)]] * 3)'
ok ldos $chain --start other.mtx --left-sites 4 --moments 33 --json
json out 'moments(d, [[i == 4 for i in range(n)]] * 3, read("other.mtx"))'
ok ldos $chain --start one.mtx --left other.mtx --moments 33 --json
json out 'moments(d, read("other.mtx"), read("one.mtx") * 3)'

# ---- kept
if [ $have_hdf5 = 1 ]; then
    ok ldos $chain --start three.mtx --left other.mtx --moments 300 --save two.h5 --quiet
    ok green --from two.h5 --eta 0.2 --energies 1,4 --json
    json out 'within(d, read("other.mtx"), read("three.mtx")) and d["start"] is None if "start" in d else True'
    ok ldos --from two.h5 --energies 1,4 --moments 64 --json
    json out 'len(d["dos_im"]) == 3'
    ok green $chain --start one.mtx --eta 0.1 --save one.h5 --energies 1 --quiet
    ok ldos --from one.h5 --json
    json out 'moments(d, read("one.mtx"), read("one.mtx"))'
    refused 1 "vectors that were given; see wisp ldos --from" dos --from one.h5
    refused 1 "needs those of a trace" thermal --from one.h5 --temperatures 1
    refused 1 "--sites picks rows" ldos --from one.h5 --sites 0
    refused 2 "--start needs a new run" ldos --from one.h5 --start one.mtx
    refused 1 "single rows or vectors" trace --from two.h5 --function exp
fi

# ---- plans hold, other ways to run, checkpoints
for more in "--start three.mtx" "--start plain.mtx" "--start plain.mtx --left other.mtx"; do
    # shellcheck disable=SC2086
    ok ldos anderson:nx=7,ny=1,nz=1,disorder=1 $more --moments 64 --plan --json
    if [ $have_python = 1 ]; then
        bound=$(python3 -c 'import json; print(json.load(open("out"))["bound_bytes"])')
        # shellcheck disable=SC2086
        ok ldos anderson:nx=7,ny=1,nz=1,disorder=1 $more --moments 64 --mem-limit "$bound" --quiet
    fi
    # shellcheck disable=SC2086
    ok ldos $chain $more --moments 33 --bounds 1.9,6.1 --json
    cp out serial.json
    # shellcheck disable=SC2086
    WISP_RANKS=3 ok ldos $chain $more --moments 33 --bounds 1.9,6.1 --json
    json out 'd["ranks"] == 3 and all(close(x, y, 1e-12) for x, y in zip(d["dos"], e["dos"]))' serial.json
    # shellcheck disable=SC2086
    ok ldos $chain $more --moments 33 --bounds 1.9,6.1 --variant naive --json
    json out 'all(close(x, y, 1e-12) for x, y in zip(d["dos"], e["dos"]))' serial.json
done
ok green $chain --start three.mtx --left other.mtx --eta 0.1 --plan
run=(ldos $chain --start three.mtx --left other.mtx --moments 4001 --width 1 --bounds 1.9,6.1)
stop moments INT 0.5 "${run[@]}" --checkpoint run.ck --quiet
grep -q 'to go on, repeat the command with --resume run.ck' log || fail "stopped: $(cat log)"
ok "${run[@]}" --json
cp out whole.json
refused 1 "other vectors: --left differs in column 0" ldos $chain --start three.mtx --left plain.mtx --moments 4001 --width 1 --bounds 1.9,6.1 --resume run.ck
ok "${run[@]}" --resume run.ck --json
json out 'd["moments"] == e["moments"] and d["moments_im"] == e["moments_im"]' whole.json

# ---- refusals
refused 2 "--sites and --start exclude each other" ldos $chain --sites 0 --start one.mtx
refused 2 "--left and --left-sites exclude each other" ldos $chain --sites 0 --left one.mtx --left-sites 1
refused 2 "row 7 is not there" green $chain --sites 0 --left-sites 7 --eta 1
refused 1 "2 vectors on the left and 3 on the right" green $chain --sites 0,1,2 --left-sites 1,2 --eta 1
refused 2 "needs --sites" green $chain --left-sites 1,2 --eta 1
refused 2 "needs --sites I,J,.. or --start FILE" green $chain --eta 1
refused 1 "gone.mtx: cannot open" ldos $chain --start gone.mtx
refused 1 "gone.mtx: cannot open" ldos $chain --start one.mtx --left gone.mtx
refused 1 "3 vectors on the left and 2 on the right" green $chain --sites 1,2 --left other.mtx --eta 1
refused 1 "one.mtx is 7 x 1; a start of 8 rows" ldos laplace:nx=8,ny=1,points=5 --start one.mtx
refused 2 "no option --start" dos $chain --start one.mtx
refused 2 "name the same file" ldos $chain --start one.mtx --left l.csv -o l.csv
printf '%%%%MatrixMarket matrix array real general\n7 1\n0\n0\nnan\n0\n0\n0\n1\n' >nan.mtx
refused 1 "nan" ldos $chain --start nan.mtx
printf '%%%%MatrixMarket matrix array real general\n7 1\n0\n0\n0\n0\n0\n0\n0\n' >zero.mtx
ok ldos $chain --start zero.mtx --json
json out 'd["weights"] == [0] and not any(d["dos"][0])'

# ---- S(q, omega) of the Heisenberg ring of 12: S(pi) and its first pole above the ground state, by exact sums
ring=spinchain:sites=12,periodic=x
ok eig $ring --smallest 1 --tol 1e-12 -o ground.mtx --json
json out 'abs(d["eigenvalues"][0] + 5.387390917445) < 1e-10'
ok power spinz:sites=12,k=6 -p 1 --start ground.mtx -o a.mtx --quiet
ok green $ring --start a.mtx --eta 2e-3 --energies=-5.031542925,-5.031542725 --json
json out 'abs(d["weights"][0] - 0.98290864) < 1e-8 and all(abs(-0.002 * x - 0.828139) < 3e-6 for x in d["green_im"][0])'
ok green $ring --start a.mtx --eta 0.02 --interval=-5.04,-5.02 --points 201 --json
json out 'abs(d["energies"][min(range(201), key=lambda i: d["green_im"][0][i])] + 5.387390917445 - 0.355848) < 1e-4'
# Electrons that do not meet: a density wave is a sum of single hops, from filled levels -2 cos k to empty ones.
free=hubbard:sites=6,up=3,down=3,U=0,periodic=x
ok eig $free --smallest 1 --tol 1e-12 -o free.mtx --json
json out 'abs(d["eigenvalues"][0] + 8) < 1e-9'
ok power hubbardq:sites=6,up=3,down=3,of=charge,k=3 -p 1 --start free.mtx -o a.mtx --quiet
# 0 to pi: 4 higher; +-pi/3 to +-2 pi/3 the other way round: 2 higher; of both spins, 1/6 each
ok green $free --start a.mtx --eta 1e-3 --energies=-6,-4 --json
json out 'abs(d["weights"][0] - 1) < 1e-8 and all(abs(-0.001 * x - w) < 1e-5 for x, w in zip(d["green_im"][0], (2 / 3, 1 / 3)))'
# q = 2 pi/3: S_q on the right and on the left; by <b|a> = 0 other wave vectors have nothing in common with it.
ok power spinz:sites=12,k=4 -p 1 --start ground.mtx -o four.mtx --quiet
ok ldos $ring --start four.mtx --left four.mtx --moments 64 --json
json out 'd["weights"][0] > 0.1 and abs(d["weights_im"][0]) < 1e-14'
ok power spinz:sites=12,k=8 -p 1 --start ground.mtx -o eight.mtx --quiet
ok ldos $ring --start four.mtx --left eight.mtx --moments 64 --json
json out 'max(map(abs, d["moments"][0] + d["moments_im"][0])) < 1e-12'
# Of a large lattice only the rows count that moments can see; a checkpoint needs all of them. The same moments, if the bounds
# are the same; refused as a whole.
lattice=graphene:nx=100,ny=80,disorder=1
for what in "ldos --sites 1999,2002,7" "green --sites 1999,2002 --left-sites 2001,1999 --eta 2 --tol 1e-3 --energies 0.5,1 --bounds=-4,4" \
    "ldos --sites 1999 --left-sites 2001,2010 --bounds=-4,4"; do
    # shellcheck disable=SC2086 # words
    set -- $what
    ok "$1" $lattice "${@:2}" --moments 66 --json
    cp out near
    bounds=$(sed -n 's/.*"center": \([-0-9.e+]*\).*/\1/p' near) half=$(sed -n 's/.*"halfwidth": \([-0-9.e+]*\).*/\1/p' near)
    [ $have_hdf5 = 1 ] || continue
    ok "$1" $lattice "${@:2}" --moments 66 --json --checkpoint c.h5 --bounds="$(awk "BEGIN { printf \"%.17g,%.17g\", $bounds - $half, $bounds + $half }")"
    json near 'd["near"]["rows"] < 5000 and d["near"]["steps"] == 32 and d["nnz"] is None and "near" not in e and d["rows"] == e["rows"] == 16000 and
        d.get("sites") == e.get("sites") and d["command"] != e["command"] and all(
        abs(x - y) < 1e-9 for name in ("dos", "dos_im", "green_re", "green_im") if name in d for X, Y in zip(d[name], e[name]) for x, y in zip(X, Y))' out
done
ok ldos $lattice --sites 1999 --moments 66
check "the part in the summary" grep -q '^near  *[0-9,]* rows are within 32 steps' out
ok ldos $lattice --sites 1999 --moments 800
check "no part where most rows are seen" eval '! grep -q ^near out'
if [ $have_hdf5 = 1 ]; then # ended half way, moments are of the whole, too
    WISP_STOP_AT=INT:moments:0.5 "$wisp" ldos $lattice --sites 1999,7000 --moments 200 --bounds=-4,4 --width 1 --save half.h5 >out 2>err
    ok ldos --from half.h5 --sites 1999 --json
    json out 'd["rows"] == 16000 and d["sites"] == [1999]'
fi
refused 2 "row 16000 is not there" ldos $lattice --sites 16000 --moments 66

finish
