#!/bin/bash
# wisp solve: right-hand sides and starts from anywhere, x as a file, warm restarts, Ctrl-C, and what it says to failures.
. "$2/tests/cli.sh"
small=laplace:nx=7,ny=6,nz=5
cage=$source/tests/data/cage5.mtx

# The residual by plain arithmetic on the files.
cat >residual.py <<'PY'
import gzip, sys
def read(name):
    lines = (gzip.open if name.endswith("gz") else open)(name, "rt").read().split("\n")
    head, lines = lines[0].split(), [l.split() for l in lines if l and l[0] != "%"]
    number = (lambda w: complex(float(w[0]), float(w[1]))) if head[3] == "complex" else (lambda w: float(w[0]))
    rows, cols = int(lines[0][0]), int(lines[0][1])
    dense = [[0] * cols for _ in range(rows)]
    for k, w in enumerate(lines[1:]):
        if head[2] == "array":
            dense[k % rows][k // rows] = number(w)
            continue
        i, j, v = int(w[0]) - 1, int(w[1]) - 1, number(w[2:])
        dense[i][j] += v
        if head[4] != "general" and i != j:
            dense[j][i] += v.conjugate() if head[4] == "hermitian" else v
    return dense
A, b, x = (read(name) for name in sys.argv[1:4])
for j in range(len(b[0])):
    r = [b[i][j] - sum(a * x[k][j] for k, a in enumerate(A[i]) if a) for i in range(len(A))]
    norm = lambda v: sum(abs(c) ** 2 for c in v) ** 0.5
    if not norm(r) <= float(sys.argv[4]) * norm([row[j] for row in b]):
        sys.exit("residual %g of column %d" % (norm(r) / norm([row[j] for row in b]), j))
PY
solves() { # solves A.mtx B.mtx X.mtx TOLERANCE
    [ $have_python = 1 ] || return 0
    checks=$((checks + 1))
    python3 residual.py "$@" >why 2>&1 || fail "$3: $(tail -1 why)"
}

# ---- methods, types and right-hand sides, by the true residual
ok gen $small -o A.mtx --quiet
ok convert "$cage" cage.mtx --quiet
printf '%%%%MatrixMarket matrix array real general\n210 2\n' >b.mtx
for i in $(seq 420); do echo "$((i * 7 % 11 - 5)).5"; done >>b.mtx
printf '%%%%MatrixMarket matrix coordinate complex general\n37 1 3\n1 1 0 1\n5 1 2 -1\n37 1 1e-3 0\n' >c.mtx
gzip -k b.mtx
for run in "A.mtx b.mtx" "A.mtx b.mtx --method cg" "A.mtx b.mtx.gz --method minres" "A.mtx b.mtx --method gmres" \
    "A.mtx b.mtx --method bicgstab" "A.mtx b.mtx --method idr --shadow 2" "cage.mtx c.mtx" "cage.mtx c.mtx --method bicgstab" "cage.mtx c.mtx --method idr" "cage.mtx c.mtx --method gmres"; do
    set -- $run
    ok solve $1 --rhs $2 "${@:3}" -o x.mtx --tol 1e-9 --quiet && solves $1 $2 x.mtx 1.001e-9
    check "wisp solve $run: --quiet is quiet" test ! -s out
done
for variant in classical pipelined predict hidden; do
    ok solve A.mtx --rhs b.mtx --method cg --variant $variant -o x.mtx.gz --quiet && solves A.mtx b.mtx x.mtx.gz 1.001e-8
done
for precond in none jacobi block-jacobi block-jacobi:7 chebyshev chebyshev:3 neumann:2 ilu ic "ilu --method bicgstab" "jacobi --method idr" "ilu --method idr" "ic --method minres" "chebyshev --bounds 0.3,11.7"; do
    ok solve A.mtx --rhs b.mtx --precond $precond -o x.mtx --quiet && solves A.mtx b.mtx x.mtx 1.001e-8
done
# a tolerance of |b - A x| itself: ones in 210 rows are of length 14.5
ok solve A.mtx --tol-abs 1e-4 --json && json out 'd["tolerance"] == 0 and d["tolerance_abs"] == 1e-4 and 1e-8 < d["residual_true"] <= d["wanted"] and abs(d["wanted"] * 210 ** 0.5 - 1e-4) < 1e-12'
ok solve A.mtx --tol-abs 1e-12 --tol 1e-6 --json && json out 'd["wanted"] == 1e-6 and 1e-9 < d["residual_true"] <= 1e-6'
ok solve A.mtx --tol-abs 100 --json && json out 'd["iterations"] == 0 and d["converged"] is True'
refused 2 "expected a number above 0" solve A.mtx --tol-abs -1
# pivots that are not positive: Kershaw's matrix
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '4 4 8' '1 1 3' '2 1 -2' '2 2 3' '3 2 -2' '3 3 3' '4 1 2' '4 3 -2' '4 4 3' >kershaw.mtx
check "it is solved" "$wisp" solve kershaw.mtx --precond ic --json >out 2>err
check "the shift is said" grep -q 'pivots were not positive' err
json out 'd["preconditioner"] == "ic" and 1e-3 <= d["preconditioner_shift"] <= 2'
stop factoring INT 0 solve A.mtx --precond ic
check "a stop while factors are made: $(tail -1 log)" grep -q 'stopped by Ctrl-C after 0 iterations' log
refused 1 "take --precond ilu" solve matpde:nx=5,ny=4 --precond ic
# a null space: two rings that are not connected; what is no null space, and files that do not fit
{
    printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '12 12 24'
    for i in $(seq 12); do echo "$i $i 2"; done
    for i in 2 3 4 5 6 8 9 10 11 12; do echo "$i $((i - 1)) -1"; done
    printf '%s\n' '6 1 -1' '12 7 -1'
} >rings.mtx
{
    printf '%s\n' '%%MatrixMarket matrix array real general' '12 2'
    for i in $(seq 24); do echo $((i <= 12 ? 1 : i <= 18 ? 5 : 0)); done # a sum of both, and one
} >parts.mtx
balanced() { grep -v '^%' "$1" | awk 'NR > 1 { if (NR <= 7) a += $1; else b += $1 } END { exit !(a * a + b * b < 1e-24) }'; }
leaves() { # leaves ARGS...: what is left out is said, and nothing else
    check "wisp $*" "$wisp" "$@" >out 2>err
    check "what is left out is said: $(cat err)" grep -q '^wisp: warning: solve: a part of the right-hand side, .* lies in the null space' err
}
for precond in none jacobi ic; do
    leaves solve rings.mtx --rhs random:3 --null parts.mtx --precond $precond -o x.mtx --json
    json out 'd["converged"] is True and d["null"] == "parts.mtx" and 0.01 < d["null_part"] < 1 and d["residual_true"] <= 1e-8'
    check "x has no part in the null space" balanced x.mtx
done
leaves solve rings.mtx --null constant --json
json out 'd["converged"] is True and abs(d["null_part"] - 1) < 1e-12 and d["iterations"] == 0'
leaves solve rings.mtx --rhs random --null parts.mtx
check "the summary has the null space" grep -q '^null space  *parts.mtx; the part of b in there' out
ok solve rings.mtx --rhs x.mtx --null constant --json && json out 'd["null_part"] < 1e-14'
ok solve rings.mtx --rhs random --null constant --plan
refused 1 "is not in the null space" solve A.mtx --null constant
refused 1 "null space of 12 rows" solve rings.mtx --null b.mtx
refused 1 "nothere.mtx" solve rings.mtx --null nothere.mtx
refused 1 "; nor is it constant" solve rings.mtx --null ones
torus=laplace:nx=20,ny=20,points=5,periodic=xy # large enough for many steps, also where a device makes some at once
{ echo '%%MatrixMarket matrix array real general'; echo '400 1'; for i in $(seq 400); do echo 3; done; } >threes.mtx
leaves solve $torus --rhs random --null threes.mtx -o start.mtx --quiet # which has no part in the null space
job="solve $torus --rhs start.mtx --method cg --tol 1e-13"
# shellcheck disable=SC2086 # words
{
    WISP_STOP_AT=KILL:checkpoint:2 "$wisp" $job --null threes.mtx --checkpoint null.ck --every 1e-9 >out 2>err
    check "there is a checkpoint" test -e null.ck
    ok $job --null threes.mtx -o once.mtx --quiet
    ok $job --null threes.mtx --resume null.ck -o again.mtx --quiet
    refused 1 "--null" $job --resume null.ck
}
grep -v '^%' once.mtx >once && grep -v '^%' again.mtx >again
check "a run goes on to the same x" cmp once again
# multigrid, where the build has HYPRE; else what is missing, and what to install
if "$wisp" --version | grep -q '^features:.* hypre'; then
    export ASAN_OPTIONS=detect_leaks=0 # MPI keeps memory until its process ends
    ok solve A.mtx --rhs b.mtx --precond amg -o x.mtx --json && solves A.mtx b.mtx x.mtx 1.001e-8
    json out 'd["preconditioner"] == "amg" and d["iterations"] < 15'
    ok solve A.mtx --precond amg --plan && check "the plan has memory" grep -q 'about.*by cg' out
    check "which is an estimate" grep -q '^multigrid .*an estimate and no bound' out
    ok solve A.mtx --precond amg --plan --json && json out '0 < d["multigrid_bytes_estimated"] < d["vectors_bytes"]'
    printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '2 2 3' '1 1 1' '2 1 -1' '2 2 1' >pair.mtx
    refused 1 "is singular: each of its rows sums to 0" solve pair.mtx --precond amg
    leaves solve pair.mtx --rhs random --precond amg --null constant --json && json out 'd["converged"] is True'
    stop "reading for multigrid" TERM 0 solve A.mtx --precond amg
    WISP_RANKS=2 refused 1 "processes of MPI, not threads" solve A.mtx --precond amg
    refused 1 "is for real matrices" solve topi:nx=4,ny=4,nz=4 --precond amg
    unset ASAN_OPTIONS
else
    refused 1 "install libhypre-dev" solve A.mtx --rhs b.mtx --precond amg
fi
ok solve A.mtx --rhs b.mtx --precision single -o x.mtx --json && solves A.mtx b.mtx x.mtx 2e-4
json out 'd["type"] == "single" and d["tolerance"] == 1e-4'
printf '%%%%MatrixMarket matrix array real general\n210 1\n' >zero.mtx
for i in $(seq 210); do echo 0; done >>zero.mtx
ok solve A.mtx --rhs zero.mtx --json -o x.mtx
json out 'd["converged"] is True and d["residuals"] == [0]'
check "b = 0 has the solution 0" test "$(grep -cx -e 0 -e -0 x.mtx)" = 210

# ---- what is told: JSON, the summary, progress
ok solve $small --rhs random:5x3 --json
json out 'd["converged"] is True and d["status"] == "converged" and d["converged_of"] == [1, 1, 1]'
json out 'd["residual_true"] == max(d["residuals"]) <= 1e-8 == d["tolerance"] and len(d["residuals"]) == 3 == d["columns"]'
json out 'len(d["residual_history"]) == d["iterations"] + 1 and abs(d["residual_history"][0] - 1) < 1e-9 and d["iterations"] == max(d["iterations_of"])'
json out 'd["rows"] == 210 and d["type"] == "double" and d["rhs"] == "random:5x3"'
json out 'd["method"] == "cg" and d["preconditioner"] == "none" and d["restart"] is None and d["x0"] is None and d["solution"] is None'
json out 'all(d[k] > 0 for k in ("passes", "products", "reductions", "threads", "seconds", "memory_bytes", "bytes_per_iteration"))'
json out 'd["command"].startswith("wisp solve laplace") and d["isa"] and d["version"]'
json out "d['device'] == '${WISP_DEVICE:-cpu}'"
cp out three.json
ok solve $small --rhs random:5 --json
json out 'abs(d["iterations"] - e["iterations_of"][0]) <= 1' three.json
ok solve $small --method gmres --restart 5 --precond block-jacobi --json
json out 'd["method"] == "gmres" and d["restart"] == 5 and d["preconditioner"] == "block-jacobi:4" and "shadow" not in d'
for method in gmres bicgstab idr; do
    ok solve A.mtx --rhs b.mtx --method $method --precond ilu --side left -o x.mtx --quiet && solves A.mtx b.mtx x.mtx 1.001e-8
done
ok solve $small --precond jacobi --side left --json
json out 'd["side"] == "left" and d["method"] == "gmres" and d["converged"] is True'
cp out left.json
ok solve $small --method gmres --precond jacobi --json
json out 'd["side"] == "right"'
check "another side is another run" grep -q "side left (there not given)" <("$wisp" solve $small --method gmres --precond jacobi --side left --like out --quiet 2>&1)
ok solve $small --precond jacobi --side left --like left.json --json
json out 'd["residual_history"] == e["residual_history"] and d["residuals"] == e["residuals"]' left.json
ok solve $small --precond jacobi --json
json out 'd["side"] is None'
ok solve $small --precond jacobi --side left && check "the side is shown" grep -q "jacobi, on the left" out
ok solve $small --method idr --precond jacobi --side left --plan --json
json out 'd["side"] == "left" and d["method"] == "idr"'
for of in gmres:right bicgstab:right idr:right cg:None minres:None; do # the plan has it as the run
    for plan in "" --plan; do
        ok solve $small --method ${of%:*} --precond jacobi $plan --json
        json out "str(d['side']) == '${of#*:}' and d['method'] == '${of%:*}'"
    done
    ok solve $small --method ${of%:*} --plan --json && json out 'd["side"] is None'
done
ok solve $small --method idr --shadow 3 --json
json out 'd["method"] == "idr" and d["shadow"] == 3 and d["restart"] is None and d["products"] >= d["iterations"]'
ok solve $small
for line in '^result *converged in' '^iteration *residual' '^0 *1.00e+00' '^method *cg'; do
    check "the summary has $line" grep -q "$line" out
done
"$wisp" solve $small --log text --quiet >out 2>err
check "progress has iteration and residual: $(tail -1 err)" grep -qE 'solving .*iteration [0-9]+, residual [0-9.]+e-' err
if [ $have_gnuplot = 1 ]; then
    ok solve $small --plot r.svg --quiet
    for text in $small tolerance residual 'preconditioner none'; do check "the plot has $text" grep -q "$text" r.svg; done
    ok solve $small --rhs zero.mtx --plot zero.svg
    check "no plot of b = 0" test ! -e zero.svg
    check "a line says so" grep -q '^plot *none, for no residual is above 0' out
fi

# ---- a run that ends early keeps x, and another one goes on from there
formats=mtx
[ $have_hdf5 = 1 ] && formats="mtx h5"
for format in $formats; do
    file=w.$format
    unsolved solve $small --rhs random:2x2 --method cg --maxit 5 -o $file --json
    json out 'd["converged"] is False and d["iterations"] == 5 and d["converged_of"] == [0, 0]'
    told "not converged in 5 iterations: residual " ", wanted 1.0e-08, in column 0 (2 of 2 columns are left); x is in $file; go on with --x0 $file"
    cp out first.json
    ok solve $small --rhs random:2x2 --method cg --x0 $file -o $file --json
    json out 'd["converged"] is True and abs(d["residual_history"][0] / e["residual_true"] - 1) < 1e-6' first.json
    ok solve $small --rhs random:2x2 --method cg --x0 $file --json
    json out 'd["iterations"] == 0 and d["residual_true"] <= 1e-8'
done
unsolved solve $small --maxit 3
told "not converged in 3 iterations" "-o FILE would keep x"
ok solve $small --restart 5
check "an option that is not used" grep -q -- '--restart is for gmres, and cg does not use it' out
ok solve cage.mtx --variant predict
check "a variant that is not used" grep -q -- '--variant predict is for cg, and gmres does not use it' out
unsolved solve $small --maxit 3
check "the summary of a run that has not converged" grep -q '^result *not converged' out
if [ $have_hdf5 = 1 ]; then
    ok solve $small --rhs random:2x2 --tol 1e-13 -o w.h5 --quiet
    ok solve $small --rhs w.h5 -o x.mtx --json # of two columns, from an .h5 file
    json out 'd["columns"] == 2'
    ok solve cage.mtx --rhs c.mtx -o c.h5 --quiet
    ok solve cage.mtx --rhs c.mtx --x0 c.h5 --json
    json out 'd["iterations"] == 0 and d["type"] == "complex double"'
    if command -v h5dump >/dev/null; then
        check "x in HDF5" grep -q 'SIMPLE { ( 210, 2 )' <(h5dump -H -d x w.h5)
        for name in matrix method residual_true tolerance version command; do
            check "the attribute $name" h5dump -a $name w.h5 >/dev/null
        done
    fi
fi
printf '%%%%MatrixMarket matrix array real general\n210 1\n' >one.mtx
for i in $(seq 210); do echo 0.25; done >>one.mtx
ok solve $small --rhs random:2x3 --x0 one.mtx --json # one guess for all
json out 'd["x0"] == "one.mtx" and d["residual_history"][0] > 1'

# ---- stopped
long=laplace:nx=100,ny=100,nz=100 rows=1000000 limit=20
[ -n "${SANITIZED:-}" ] && long=laplace:nx=30,ny=30,nz=30 rows=27000 limit=1
stop solving INT 1e-9 solve $long --rhs random:1x4 --method cg --tol 1e-12 -o s.mtx --json
tail -1 log | grep -qE 'stopped by Ctrl-C after [0-9]* iterations: residual .*(x is in s.mtx; go on with --x0 s.mtx|no x better than the start was found)' || fail "$(tail -1 log)"
json out 'd["converged"] is False and d["status"] == "cancelled" and 0 < d["residual_true"] <= 1'
check "x of a run that was stopped" grep -qx "$rows 4" s.mtx
check "no temporary file" test -z "$(find . -name '*.tmp*')"

# ---- ranks, and memory that the host can't touch
ok solve $small --rhs random:7x2 -o x1.mtx --json
cp out one.json
for ranks in 2 3; do
    WISP_RANKS=$ranks ok solve $small --rhs random:7x2 -o x$ranks.mtx --json
    json out 'd["converged"] and abs(d["iterations"] - e["iterations"]) <= 2 and d["ranks"] > 1' one.json
done
WISP_RANKS=3 ok solve A.mtx --rhs b.mtx -o x.mtx --quiet && solves A.mtx b.mtx x.mtx 1.001e-8
WISP_DEVICE=far ok solve A.mtx --rhs b.mtx -o x.mtx --quiet && solves A.mtx b.mtx x.mtx 1.001e-8

# ---- plans
ok solve $long --rhs random:1x8 --plan --json -o x.mtx
json out 'd["columns"] == 8 and 0 < d["total_bytes"] <= d["bound_bytes"] and d["vectors_bytes"] >= 2 * 8 * 8 * '$rows
json out 'd["iteration_bytes"] > 8 * 8 * '$rows' and d["iteration_seconds"] > 0 and d["method_assumed"] is True'
ok solve $long --plan --method gmres --restart 100
check "a plan in words" grep -q '^total *about' out
refused 1 "more than --mem-limit $limit MB" solve $long --mem-limit ${limit}MB
ends 1 solve $long --mem-limit ${limit}MB --plan
told "more than --mem-limit $limit MB"
check "the plan beside the refusal" grep -q '^total *about' out

# ---- bad options
for value in 0 -1 x nan inf '' 1e-8x; do refused 2 "expected a number above 0" solve $small --tol "$value"; done
refused 2 "it must be below 1" solve $small --tol 1
for value in 0 -1 x 1.5 ''; do refused 2 "expected a whole number from 1" solve $small --maxit "$value"; done
for value in 0 x 501; do refused 2 "expected a whole number from 1 to 500" solve $small --restart "$value"; done
refused 2 "expected one of cg|bicgstab|gmres|minres" solve $small --method jacobi
refused 2 "expected one of pipelined|classical|predict|hidden" solve $small --variant fused
refused 2 "expected one of none, jacobi, block-jacobi[:ROWS]" solve $small --precond lu
refused 2 "it takes no number" solve $small --precond ilu:2
refused 2 "it takes no number" solve $small --precond jacobi:3
for value in block-jacobi: block-jacobi:0 chebyshev:x neumann:-1 chebyshev:1001 chebyshev:3x; do
    refused 2 "the number after the colon must be 1 to 1000" solve $small --precond $value
done
for value in random:x random: random:-1 random:5y3 random:5-3 random:99999999999999999999; do
    refused 2 "expected random:SEED or random:SEEDxK" solve $small --rhs $value
done
for value in random:5x random:5x0 random:5x4097 random:5x1.5; do
    refused 2 "K, the number of columns, must be 1 to 4096" solve $small --rhs $value
done
refused 2 "the name is empty" solve $small --rhs ''
refused 2 "--variant predict is for --method cg" solve $small --method gmres --variant predict
refused 2 "--variant predict takes no --precond" solve $small --variant predict --precond jacobi
refused 2 "--restart is for --method gmres" solve $small --method cg --restart 5
refused 2 "--side left is that of a --precond, and there is none" solve $small --side left
refused 2 "--side is for gmres, bicgstab and idr: --method cg takes --precond on both sides alike" solve $small --method cg --precond jacobi --side left
refused 2 "--method minres takes" solve $small --method minres --precond jacobi --side right
refused 2 "--method lsmr takes no --precond" solve $small --method lsmr --precond jacobi --side right
refused 2 "expected one of right|left" solve $small --precond jacobi --side both
refused 2 "--shadow is for --method idr" solve $small --shadow 5
refused 2 "expected a whole number from 1 to 64" solve $small --method idr --shadow 65
refused 2 "--bounds is for --precond chebyshev and neumann" solve $small --bounds 1,2
refused 2 "chebyshev needs a spectrum above 0" solve $small --bounds -1,2 --precond chebyshev
refused 2 "--bounds is for --precond chebyshev and neumann" solve $small --bounds gershgorin --precond jacobi
refused 2 "expected lanczos, gershgorin, or two numbers" solve $small --bounds magic --precond chebyshev
refused 2 "the name must end in .mtx, .mtx.gz or .h5" solve $small -o x.csv
refused 2 "the name must end in .svg, .png or .pdf" solve $small --plot x.mtx
refused 2 "--output and --rhs name the same file" solve $small --rhs b.mtx -o ./b.mtx
refused 2 "--output and MATRIX name the same file" solve A.mtx -o A.mtx
refused 2 "--output and --null name the same file" solve $small --null n.mtx -o n.mtx
refused 2 "wisp solve has no option --moments" solve $small --moments 5
refused 2 "did you mean --maxit?" solve $small --max-iterations 5
refused 2 "did you mean --precond?" solve $small --pc 5
refused 2 "MATRIX is missing" solve

# ---- bad matrices and files
refused 1 "nowhere.mtx" solve nowhere.mtx
refused 1 "nowhere.mtx" solve $small --rhs nowhere.mtx
refused 1 "nor is it ones or random[:SEED[xK]]" solve $small --rhs twos
refused 1 "nowhere/x.mtx" solve $small -o nowhere/x.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 1\n' >wide.mtx
refused 1 "wide.mtx is 3 x 4, and a linear system needs a square matrix; --method lsmr makes |b - A x| least" solve wide.mtx --method gmres
refused 1 "b.mtx is 210 x 2; a right-hand side of 37 rows and at least one column is needed" solve cage.mtx --rhs b.mtx
refused 1 "c.mtx is 37 x 1; a start of 210 rows" solve $small --x0 c.mtx
refused 1 "b.mtx has 2 columns, and b has 3; one column, or as many as b has, are taken" solve $small --rhs random:1x3 --x0 b.mtx
for value in nan inf; do
    sed "100s/.*/$value/" b.mtx >$value.mtx
    refused 1 "$value.mtx: row 97, column 0 (counted from 0) holds a NaN or an infinity" solve $small --rhs $value.mtx
    refused 1 "$value.mtx: row 97, column 0 (counted from 0) holds a NaN or an infinity" solve $small --rhs b.mtx --x0 $value.mtx
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 %s\n3 3 2\n' $value >bad.mtx
    refused 1 "bad.mtx: " solve bad.mtx
done
head -50 b.mtx >cut.mtx
refused 1 "cut.mtx" solve $small --rhs cut.mtx
echo no >no.png
refused 1 "no.png: unknown kind of file" solve $small --rhs no.png
if [ $have_hdf5 = 1 ]; then
    echo no >no.h5
    refused 1 "no.h5 is no HDF5 file" solve $small --x0 no.h5
    refused 1 "cannot read nowhere.h5: No such file or directory" solve $small --x0 nowhere.h5
    ok dos topi:nx=2,ny=2,nz=2 --moments 8 --quiet -o dos.h5
    refused 1 'dos.h5 has no data set "x"' solve $small --rhs dos.h5
else
    refused 1 "this build of wisp has no HDF5" solve $small -o x.h5
    refused 1 "this build of wisp has no HDF5" solve $small --x0 x.h5
fi
refused 1 "cage.mtx: solve: cg needs a Hermitian matrix" solve cage.mtx --method cg
failed_json() { # failed_json EXPRESSION ARGS...: a failure before there are results is JSON, too, once
    "$wisp" "${@:2}" --json >out 2>err && fail "wisp ${*:2} --json succeeds"
    told "$(python3 -c 'import json; print(json.load(open("out"))["error"])')"
    json out "$1"
}
if [ $have_python = 1 ]; then
    failed_json '"needs a Hermitian matrix" in d["error"] and d["exit_status"] == 1' solve cage.mtx --method cg
    failed_json '"a square matrix" in d["error"] and d["command"].startswith("wisp solve wide.mtx")' solve wide.mtx --method gmres
    failed_json 'd["exit_status"] == 2' solve $small --tol 2
    # In front of --json, where nothing is known of it yet.
    failed_json '"expected" in d["error"] and d["exit_status"] == 2 and d["command"].endswith(" --json")' solve $small --maxit x
    failed_json '"must be below" in d["error"] and d["exit_status"] == 2' count $small --interval 3,1
    failed_json '"expected" in d["error"]' count $small --js --moments 5x # options may be abbreviated
    failed_json '"no option --points" in d["error"] and d["exit_status"] == 2' count $small --points 3
    WISP_RANKS=2 failed_json '"NaN" in d["error"]' solve $small --rhs nan.mtx
fi

# ---- matrices with which a method can't go on: each has its own line
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -3\n' >indefinite.mtx
unsolved solve indefinite.mtx --method cg -o x.mtx
told "the matrix is not positive definite, as cg needs: residual " "try --method minres"
refused 1 "indefinite.mtx: " solve indefinite.mtx --method cg --precond jacobi -o y.mtx
check "no x without a preconditioner" test ! -e y.mtx
check "advice for cg" grep -q ': take MINRES with another preconditioner, or GMRES$' err
refused 1 "indefinite.mtx: " solve indefinite.mtx --method minres --precond jacobi
check "advice for minres itself" grep -q ': take another preconditioner, or GMRES$' err
unsolved solve laplace:nx=6,ny=6,nz=6,periodic=xyz # all rows add up to 0, and ones are not in its range
told "the matrix is singular, and b is not in its range, as far as rounding shows" "makes the residual least, within rounding"
unsolved solve laplace:nx=6,ny=6,nz=6,periodic=xyz --precision single
told "as far as rounding shows" "; try --precision double"
# each row goes to the next one: gmres gains nothing in fewer steps than rows
{ printf '%%%%MatrixMarket matrix coordinate real general\n40 40 40\n'; for i in $(seq 40); do echo "$((i % 40 + 1)) $i 1"; done; } >turn.mtx
{ printf '%%%%MatrixMarket matrix coordinate real general\n40 1 1\n1 1 1\n'; } >unit.mtx
unsolved solve turn.mtx --rhs unit.mtx --restart 5 -o x.mtx
told "no x better than the start was found; try a larger --restart or a --precond"
unsolved solve turn.mtx --rhs unit.mtx --restart 5 --maxit 3 -o x.mtx
told "no x better than the start was found; try a larger --maxit, a --precond or another --method"
"$wisp" solve turn.mtx --rhs unit.mtx --restart 5 >both 2>&1
check "the message comes last" sh -c 'tail -1 both | grep -q "^wisp: "'
# cg can't go on, and minres does: both are told
unsolved solve $small --rhs random:1 --method cg --tol 1e-17
told " iterations of cg, which went on as minres: residual "
check "both in the summary" grep -q 'cg could not go on, and minres did' out
unsolved solve $small --rhs random:1 --method minres --tol 1e-17
told " iterations of minres: residual "
# a preconditioner that MINRES gave up is not told as one that was used
unsolved solve "$source/tests/data/LFAT5.mtx" --rhs random:1 --method minres --precond jacobi --precision single --tol 1e-6 --json
check "no preconditioner any more" grep -q '"preconditioner": "none"' out
# An absolute tolerance far above b is met at once, and drawn.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 2\n2 2 3\n' >two.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1e-200\n1e-200\n' >tiny.mtx
ok solve two.mtx --rhs tiny.mtx --tol-abs 1e-5 --json
json out 'd["converged"] is True and d["wanted"] > 1e190'
if [ $have_gnuplot = 1 ]; then ok solve two.mtx --rhs tiny.mtx --tol-abs 1e-5 --plot p.svg; fi
finish
