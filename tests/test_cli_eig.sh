#!/bin/bash
# wisp eig: every question by every method against numpy, vectors out and in, what is told, Ctrl-C, and failures.
. "$2/tests/cli.sh"
small=hubbard:sites=5,up=2,down=2,disorder=1,periodic=x # 100 rows
large=hubbard:sites=7,up=3,down=3,U=3,disorder=1         # 1225 rows
wave=topi:nx=4,ny=4,nz=4,disorder=1                      # 256 rows, complex
flow=matpde:nx=24,ny=24                                  # 576 rows, not symmetric

python=
for p in python3 /usr/bin/python3; do
    python=$(command "$p" -c 'import numpy, sys; print(sys.executable)' 2>/dev/null) && break
done
[ -n "$python" ] || leave_out "eigenvalues against numpy, for there is none"

# Answers to questions, in JSON files, by numpy, and their vectors: all at once, in the end, for numpy takes long to begin.
cat >right.py <<'PY'
import gzip, json, sys, traceback
import numpy as np
def read(name):
    with (gzip.open if name.endswith("gz") else open)(name, "rt") as f:
        head = f.readline().split()
        lines = [l.split() for l in f if l.strip() and l[0] != "%"]
    n, m = int(lines[0][0]), int(lines[0][1])
    a = np.array(lines[1:], float)
    v = a[:, -2] + 1j * a[:, -1] if head[3] == "complex" else a[:, -1]
    if head[2] == "array":
        return v.reshape(m, n).T
    A = np.zeros((n, m), v.dtype)
    i, j = a[:, 0].astype(int) - 1, a[:, 1].astype(int) - 1
    np.add.at(A, (i, j), v)
    if head[4] != "general":
        k = i != j
        np.add.at(A, (j[k], i[k]), v[k].conj() if head[4] == "hermitian" else v[k])
    return A
def check(A, hermitian, w, d): # w: the spectrum
    tolerance, which, count = d["tolerance"], d["which"], d["count"]
    assert hermitian == d["hermitian"]
    if hermitian:
        got, h = np.array(d["eigenvalues"]), d["bounds"]["halfwidth"]
        assert (w[-1] - w[0]) / 2 <= h * (1 + 1e-12), h
    else:
        got, h = np.array(d["eigenvalues"]) @ [1, 1j], max(abs(w))
    near = 10 * tolerance * h
    distance = {"interval": lambda w: 0, "nearest": lambda w: abs(w - (d["target"] or 0)),
                "smallest": lambda w: w if hermitian else abs(w), "largest": lambda w: -w if hermitian else -abs(w),
                "largest-real": lambda w: -w.real}[which](w)
    if which == "interval":
        low, high = d["interval"]
        surely, perhaps = w[(w > low + near) & (w < high - near)], w[(w >= low - near) & (w <= high + near)]
    else:
        last = np.sort(distance)[count - 1]
        surely, perhaps = w[distance < last - near], w[distance <= last + near]
        assert len(got) >= count, "%d of %d" % (len(got), count)
    assert len(surely) <= len(got) <= len(perhaps), "%d found, %d to %d are there" % (len(got), len(surely), len(perhaps))
    left = list(perhaps)
    for g in got: # each is one of them, and none is taken twice
        k = int(np.argmin([abs(g - x) for x in left]))
        assert abs(g - left[k]) <= near * (1 if hermitian else 1e3), "%r is %g from the next one" % (g, abs(g - left[k]))
        del left[k]
    for x in surely:
        assert min(abs(x - g) for g in got) <= near * (1 if hermitian else 1e3), "%r is missing" % x
    assert np.all(np.diff(got.real) >= 0), "not ascending"
    assert d["found"] == len(got) == len(d["residuals"]) and d["complete"] is True
    assert max(d["residuals"], default=0) <= tolerance
    if d["vectors_out"] and not d["vectors_out"].endswith("h5"):
        V = read(d["vectors_out"])
        assert V.shape == (len(A), len(got)), V.shape
        r = np.linalg.norm(A @ V - V * got, axis=0)
        assert all(r <= (1.01 * tolerance + 1e-14) * (h if hermitian else abs(got)) + 1e-6 * (d["type"].find("single") >= 0)), max(r)
        gram = abs(V.conj().T @ V - np.eye(len(got))) if hermitian else abs(np.linalg.norm(V, axis=0) - 1)
        assert np.max(gram, initial=0) <= max(1e-10, 2 * (d["orthogonality"] or 0)), np.max(gram)
matrices, failures = {}, 0
for line in open(sys.argv[1]):
    name, result = line.split()
    d = json.load(open(result))
    try:
        if name not in matrices:
            A = read(name)
            hermitian = np.array_equal(A, A.conj().T)
            matrices[name] = A, hermitian, (np.linalg.eigvalsh if hermitian else np.linalg.eigvals)(A)
        check(*matrices[name], d)
    except Exception as e:
        failures += 1
        print("%s: %s: %s" % (d["command"], traceback.extract_tb(e.__traceback__)[-1].line, e))
sys.exit(failures > 0)
PY
right() { # right MATRIX.mtx OUT: the answer in OUT is that of numpy; its file of vectors stays
    checks=$((checks + 1)) rights=$((rights + 1))
    cp "$2" right$rights.json && echo "$1 right$rights.json" >>rights
}
rights=0
short() { ends 3 "$@"; }

# ---- questions, methods, types
for name in small large wave flow; do ok gen ${!name} -o $name.mtx --quiet; done
number=0
asked() { # asked NAME ARGS...: the answer is right, and the vectors with it
    number=$((number + 1))
    checks=$((checks + 1))
    "$wisp" eig $1.mtx "${@:2}" --json -o asked$number.mtx >out 2>err || fail "wisp eig $*: $(cat err)"
    [ -s err ] && ! grep -q '^wisp: no vectors, for no eigenvalue' err && fail "wisp eig $*: on stderr: $(cat err)"
    right $1.mtx out
}
for question in "--interval -1,1" "--target 0.3 -n 7" "--target 100 -n 1" "--smallest 5" "--largest 1" "--largest-real 4"; do
    asked small $question
    json out 'd["method"] == "dense" and d["search_vectors"] == 100 and d["orthogonality"] < 1e-12'
    asked wave $question --method dense
done
asked small --target -4.1
json out 'd["count"] == 1 and d["which"] == "nearest" and d["target"] == -4.1 and len(d["eigenvalues"]) == 1'
asked small --interval -1,1 --precision single
json out 'd["type"] == "single" and d["tolerance"] == 1e-4'
ok eig $small --interval 50,60 -o none.mtx
check "a line says that there are no vectors" grep -q '^vectors *none, for no eigenvalue was found' out
"$wisp" eig $small --interval 50,60 --json -o none.mtx >out 2>err || fail "no eigenvalue: $(cat err)"
check "so on the standard error: $(cat err)" grep -qx 'wisp: no vectors, for no eigenvalue was found' err
json out 'd["complete"] is True and d["eigenvalues"] == [] and d["residuals"] == [] and d["vectors_out"] is None'
check "no file of no vectors" test ! -e none.mtx
for name in small large wave; do
    for question in "--interval -0.4,0.5" "--target 0.3 -n 20" "--interval 100,200" "--interval -2,-1.99"; do
        asked $name $question --method chebfd
        json out 'd["method"] in ("chebfd", "dense") and d["expected_count"] >= 0 and d["expected_error"] >= 0'
        json out 'd["found"] == 0 or (d["search_vectors"] >= d["found"] and d["products"] > 0)'
    done
done
asked large --interval -0.5,0.5
json out 'd["method"] == "chebfd" and d["degree"] > 0 and abs(d["found"] - d["expected_count"]) <= d["expected_error"]'
asked large --target 0 -n 10 --tol 1e-11
json out '(d["method"] == "invert") == (d["proof"] == "inertia")'
asked large --target 0 -n 10 --tol 1e-11 --method chebfd
json out 'd["proof"] == "checks" and d["tolerance"] == 1e-11 and d["interval"][0] < 0 < d["interval"][1]'
asked wave --target 0 -n 10 --precision single
asked large --interval -0.1,0.1 --search 60 --bounds gershgorin
json out 'd["bounds"]["halfwidth"] > 0'
cp out circles.json
asked large --interval -0.1,0.1 --search 60 --bounds lanczos
json out 'd["bounds"]["halfwidth"] < e["bounds"]["halfwidth"]' circles.json
asked large --interval -0.1,0.1 --search 60 --seed 5 --bounds -20,40
json out 'd["seed"] == 5 and d["bounds"] == {"center": 10.0, "halfwidth": 30.0}'
for name in small large wave; do
    for question in "--smallest 5" "--largest 3" "--largest 1"; do asked $name $question --method lanczos; done
done
asked large --smallest 10
json out 'd["method"] == "lanczos"'
asked wave --smallest 3 --precision single
asked large --smallest 5 --search 30
for question in "--largest-real 10 --tol 1e-6 --search 20" "--largest 5" "--largest-real 1"; do asked flow $question; done
json out 'd["method"] == "krylov-schur" and d["hermitian"] is False and d["orthogonality"] is None'
json out 'all(len(v) == 2 for v in d["eigenvalues"])'
asked large --smallest 3 --method krylov-schur

# ---- vectors in files
ok eig $small --smallest 12 -o v.mtx.gz --quiet
check "--quiet is quiet" test ! -s out
gzip -dc v.mtx.gz >v.mtx
check "the vectors' size" grep -qx '100 12' v.mtx
for start in v.mtx v.mtx.gz; do ok eig $small --smallest 12 --vectors-in $start --quiet; done
if [ $have_hdf5 = 1 ]; then
    ok eig $small --smallest 12 -o v.h5 --json
    json out 'd["vectors_out"] == "v.h5"'
    ok eig $small --smallest 12 --vectors-in v.h5 -o v.h5 --json
    json out 'd["vectors_in"] == "v.h5"'
    if command -v h5dump >/dev/null; then
        check "the vectors in HDF5" grep -q 'SIMPLE { ( 100, 12 )' <(h5dump -H -d x v.h5)
        for set in eigenvalues residuals; do check "$set in HDF5" grep -q 'SIMPLE { ( 12 )' <(h5dump -H -d $set v.h5); done
        for key in matrix method complete tolerance version command; do
            check "the attribute $key" h5dump -a $key v.h5 >/dev/null
        done
    fi
    ok solve $small --rhs v.h5 --method gmres --tol 1e-3 --quiet # as any columns
fi
for method in "lanczos --smallest 4" "chebfd --interval -0.5,0.5"; do
    set -- $method
    ok eig $large --method "$@" -o start.mtx --json
    cp out first.json
    ok eig $large --method "$@" --vectors-in start.mtx -o again-$1.mtx --json
    json out 'd["products"] <= e["products"] and close(d["eigenvalues"], e["eigenvalues"], 1e-6)' first.json
    right large.mtx out
done

# ---- what is told: JSON, the summary, pictures
ok eig $small --interval -1,1 --json
json out 'd["status"] == "complete" and d["why"] is None and d["interval"] == [-1, 1] and d["count"] is None'
json out 'd["rows"] == 100 and d["type"] == "double" and d["vectors_in"] is None and d["hermitian_change"] is None'
json out 'all(d[k] >= 0 for k in ("bounds_seconds", "dos_seconds", "filter_seconds", "ortho_seconds", "ritz_seconds", "check_seconds", "assemble_seconds"))'
json out 'all(d[k] > 0 for k in ("seconds", "gflops", "products", "threads", "ranks", "memory_bytes"))'
json out 'd["command"].startswith("wisp eig hubbard") and d["isa"] and d["version"] and d["matrix"].startswith("hubbard")'
json out "d['device'] == '${WISP_DEVICE:-cpu}'"
ok eig $small --smallest 30
for line in '^question *30 smallest eigenvalues$' '^found *30 of 30$' '^residual *at most .*wanted 1.0e-08' '^result *complete$' \
    '^method *dense' '^1  *-[0-9.]* ' '^10  *-[0-9.]* ' '^\.\.\.' '^30  *-*[0-9.]* '; do
    check "the summary has $line" grep -q "$line" out
done
check "not more than 20 eigenvalues" test "$(grep -c '^[0-9]' out)" = 20
ok eig $small --smallest 20
check "20 eigenvalues" test "$(grep -c '^[0-9]' out)" = 20
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 1\n1 2 0.5\n2 1 0.50000000000001\n2 2 -3\n3 3 2\n' >almost.mtx
ok eig almost.mtx --smallest 2 --hermitian-part
check "the Hermitian part is told" grep -q '^Hermitian *part is taken' out
if [ $have_gnuplot = 1 ]; then
    ok eig $small --interval -1,1 --plot p.svg --quiet
    for text in 'all eigenvalues in' 'by dense, complete' eigenvalue residual; do check "the plot has $text" grep -q "$text" p.svg; done
    ok eig $small --interval 50,60 --plot none.svg
    check "a line says that there is no plot" grep -q '^plot *none, for no eigenvalue was found' out
    ok eig $large --interval -0.5,0.5 --plot p.svg --quiet
    for text in 'density of states' 'filter' 'by chebfd, complete' eigenvalues; do
        check "the plot has $text" grep -q "$text" p.svg
    done
    ok eig $flow --largest-real 4 --plot p.png --quiet
    check "a picture of complex numbers" test -s p.png
fi

# ---- ranks, and memory that the host can't touch
ok eig $small --interval -1,1 --json -o v1.mtx
cp out one.json
for ranks in 2 3; do
    WISP_RANKS=$ranks ok eig $small --interval -1,1 --json -o v$ranks.mtx
    json out "d['ranks'] == $ranks and close(d['eigenvalues'], e['eigenvalues'], 1e-10)" one.json
    check "one file of the ranks' rows" grep -qx "100 $(sed -n 's/.*"found": \([0-9]*\),/\1/p' one.json)" v$ranks.mtx
    right small.mtx out
done
[ -z "$python" ] || "$python" right.py rights >why 2>&1 || fail "by numpy: $(cat why)"
WISP_DEVICE=far ok eig $small --interval -1,1 --json
json out 'close(d["eigenvalues"], e["eigenvalues"], 1e-10)' one.json

# ---- what is found beside the question
ok eig laplace:points=5,nx=9,ny=9 --largest 2
check "a multiplet is given whole" grep -q '^found *3 *(2 asked for; what equals the last one is given, too)$' out
ok eig matpde:nx=12,ny=12 --largest-real 1
check "so is a conjugate pair" grep -q '^found *2 *(1 asked for; what equals the last one or its conjugate is given, too)$' out
for method in dense chebfd; do
    ok eig laplace:points=5,nx=9,ny=9 --interval 100,200 --method $method
    check "an interval outside, $method" grep -q '^found *0 *(the interval lies outside the spectrum, which is within \[' out
done
ok eig laplace:points=5,nx=30,ny=30 --largest 2 --plan
check "LAPACK's memory is said" grep -q '^vectors *at most .*, as LAPACK takes, which goes on where the search takes long$' out
ok eig laplace:points=5,nx=30,ny=30 --largest 2 --plan --method lanczos
check "a bound is said to be one: $(grep '^vectors' out)" grep -qE '^vectors *at most [0-9.]+ kB$' out

# ---- not all found: what there is, is written, and one line says why
short eig $large --smallest 20 --maxit 1 --search 30 -o part.mtx --json
json out 'd["complete"] is False and d["found"] < 20 and len(d["eigenvalues"]) == d["found"] and d["why"]'
told "not all have converged in 1 restart: "
short eig $large --smallest 20 --maxit 1 --search 30
check "the reason, once, with no name before it" grep -q '^result *not complete: residuals are not small enough after 1 restart; that of pair ' out
short eig $large --interval -0.5,0.5 --maxit 1 --tol 1e-12 --json
json out 'd["complete"] is False'
told "converged in 1 round: "

# ---- stopped
stop filtering INT 1e-9 eig topi:nx=12,ny=12,nz=8,disorder=1 --target 0 -n 40 -o s.mtx --json
tail -1 log | grep -qE 'stopped by Ctrl-C after [0-9]* rounds?: [0-9]* of 40 pairs; (no pair has converged|they are in s.mtx)' || fail "$(tail -1 log)"
json out 'd["complete"] is False and d["status"] == "cancelled" and d["found"] == len(d["eigenvalues"])'
check "no temporary file" test -z "$(find . -name '*.tmp*')"

stop eigenpairs INT 0.2 eig spinchain:sites=16 --smallest 40 --tol 1e-13 -o l.mtx --json
tail -1 log | grep -qE 'stopped by Ctrl-C after [0-9]* restarts: [0-9]* of 40 pairs; they are in l.mtx; go on with' || fail "$(tail -1 log)"
json out '8 <= d["found"] and max(d["residuals"]) <= 1e-13 and d["orthogonality"] < 1e-12'
json out 'd["complete"] is False and d["status"] == "cancelled" and d["found"] == len(d["eigenvalues"])'
ok eig spinchain:sites=16 --smallest 4 --vectors-in l.mtx --quiet
check "no temporary file" test -z "$(find . -name '*.tmp*')"

# ---- killed, and gone on with: the same bits
survives() { # survives ARGS...: killed behind its second checkpoint, stopped by SIGTERM behind its third; then to its end
    rm -f k.ck*
    ok eig "$@" --json -o w.mtx
    cp out want.json
    checks=$((checks + 2))
    WISP_STOP_AT=KILL:checkpoint:2 "$wisp" eig "$@" --json -o k.mtx --checkpoint k.ck >out 2>err
    local rc=$?
    [ $rc = 137 ] || fail "wisp eig $*: not killed, $rc: $(cat err)"
    WISP_STOP_AT=TERM:checkpoint:1 "$wisp" eig "$@" --json -o k.mtx --checkpoint k.ck --resume k.ck >out 2>err
    rc=$?
    [ $rc = 1 ] && grep -q '^wisp: stopped by .*; to go on, repeat the command with --resume k.ck$' err ||
        fail "wisp eig $*: not stopped, $rc: $(cat err)"
    OMP_NUM_THREADS=1 ok eig "$@" --json -o k.mtx --checkpoint k.ck --resume k.ck
    json out 'd["eigenvalues"] == e["eigenvalues"] and d["residuals"] == e["residuals"] and d["resumed"] == "k.ck"' want.json
    json out 'all(d[k] == e[k] for k in ("complete", "rounds", "products", "search_vectors", "degree"))' want.json
    check "the same vectors: eig $*" cmp -s <(grep -v '^%' w.mtx) <(grep -v '^%' k.mtx)
    check "no checkpoint is left: $(echo k.ck*)" test "$(echo k.ck*)" = "k.ck*"
}
{ # bash says that a job was killed
    survives topi:nx=12,ny=12,nz=8,disorder=1 --target 0 -n 20
    survives spinchain:sites=16 --smallest 20 --tol 1e-12
    survives matpde:nx=80,ny=80 --largest-real 12 --tol 1e-12 --search 30
} 2>/dev/null
WISP_STOP_AT=TERM:checkpoint:1 "$wisp" eig spinchain:sites=16 --smallest 20 --checkpoint no.ck >out 2>err
if [ -e no.ck ]; then
    refused 1 "no.ck is there already" eig spinchain:sites=16 --smallest 20 --checkpoint no.ck
    refused 1 "is of a run with another matrix" eig spinchain:sites=14 --smallest 20 --resume no.ck
    refused 1 "is of a run with eigenvalues: 20 smallest, and this one has 19 smallest" eig spinchain:sites=16 --smallest 19 --resume no.ck
    refused 1 "is of a run with --seed: 0, and this one has 5" eig spinchain:sites=16 --smallest 20 --seed 5 --resume no.ck
else
    fail "no checkpoint by SIGTERM: $(cat err)"
fi
ok eig $small --smallest 3 --method dense --json && cp out plain
ok eig $small --smallest 3 --method dense --checkpoint d.ck --json
json out 'd["eigenvalues"] == e["eigenvalues"]' plain
check "no checkpoint is left" [ ! -e d.ck ]
refused 2 "--every is for --checkpoint" eig $small --smallest 3 --every 3
ok eig $large --interval -0.5,0.5 --plan --json --checkpoint p.ck
json out 'd["checkpoint_bytes"] > d["search_vectors"] * d["rows"] * 8 and d["total_bytes"] > d["checkpoint_bytes"]'
ok eig $large --interval -0.5,0.5 --plan --checkpoint p.ck
check "the plan has the checkpoint" grep -q '^checkpoint  *about .* of memory, and up to' out

# ---- outputs that can't be written
if [ -c /dev/full ]; then
    ln -sf /dev/full full.mtx
    refused 1 "No space left" eig $small --smallest 3 --quiet -o full.mtx
    "$wisp" eig $small --smallest 3 --json 2>err >/dev/full && fail "--json to a full device passes"
    grep -q '^wisp: .*No space left' err || fail "--json to a full device: $(cat err)"
else
    leave_out "a full device, for there is no /dev/full"
fi
echo old >limit.mtx
(ulimit -f 2 && "$wisp" eig $small --smallest 20 --quiet -o limit.mtx 2>err) && fail "a limit of file sizes is passed"
check "the limit is told: $(cat err)" grep -q '^wisp: .*limit.mtx.*File too large' err
check "an old file survives" grep -qx old limit.mtx
refused 1 "nowhere/v.mtx" eig $small --smallest 3 -o nowhere/v.mtx

# ---- the texts say by what residuals are divided
"$wisp" eig --help | tr -s ' \n' ' ' >help
check "--help has the rule of residuals" grep -qF 'not Hermitian, over the largest of |lambda|, |A| T and 16 eps |A| / T' help
tr -s ' \n' ' ' <"$source/docs/wisp.1" >manual
check "the manual has it, too" grep -qF 'not Hermitian, over the largest of |lambda|, |A| T and 16 eps |A| / T' manual

# ---- memory and plans
refused 1 "more than --mem-limit 20 MB" eig laplace:nx=100,ny=100,nz=100 --smallest 20 --mem-limit 20MB
ok eig $large --smallest 4 --plan --json
json out 'd["method"] == "lanczos" and d["matrix_bytes"] > 0 and d["vectors_bytes"] >= 4 * 1225 * 8 and d["total_bytes"] >= d["matrix_bytes"]'
ok eig $large --interval -0.5,0.5 --plan --json -o plan.mtx
json out 'd["method"] == "chebfd" and d["expected_count"] > 0 and d["products"] > 0 and d["degree"] > 0 and d["search_vectors"] > 0'
json out 'd["seconds"] > 0 and "load_gbs" not in d and "ceilings" not in d' # its time is of products: no rates are measured
check "a plan writes nothing" test ! -e plan.mtx
ok eig $large --interval -0.5,0.5 --plan
for line in '^expected *' '^method *chebfd' '^total *at most' '^products *about'; do
    check "the plan has $line" grep -q "$line" out
done

# ---- bad options
refused 2 "which eigenvalues is missing: --interval A,B, --target X" eig $small
refused 2 "exclude each other" eig $small --smallest 3 --target 0
refused 2 "exclude each other" eig $small --smallest 3 --largest 3
refused 2 "-n is for --target; --interval gives all in it" eig $small --interval 0,1 -n 3
refused 2 "-n is for --target alone" eig $small --smallest 3 -n 3
refused 2 "--method chebfd is for --interval and --target" eig $small --smallest 3 --method chebfd
refused 2 "--method invert is for --target" eig $small --smallest 3 --method invert
if "$wisp" --version | grep -q '^features:.* mumps'; then # the middle of a chain: 4 itself, and 4 +- 2 sin(pi k/302)
    chain=laplace:points=5,nx=301,ny=1
    "$wisp" eig $chain --target 4 -n 3 --method invert --json >inverse.json
    python3 - <<'END'
import json, math
r = json.load(open("inverse.json"))
assert r["complete"] and r["proof"] == "inertia" and r["method"] == "invert", r
for found, exact in zip(r["eigenvalues"], [4 - 2 * math.sin(math.pi / 302), 4, 4 + 2 * math.sin(math.pi / 302)]):
    assert abs(found - exact) < 1e-12, r
END
    "$wisp" eig $chain --target 4 -n 3 --method invert | grep -q '^result  *complete, by inertia$' || fail "no word of the proof"
    "$wisp" eig $chain --target 4 -n 3 --method invert --plan | grep -q '^factors  *about' || fail "no factors in the plan"
    OMP_NUM_THREADS=1 "$wisp" eig topi:nx=10,ny=10,nz=8 --target 0.1 -n 9 --plan >out
    grep -q -- '--method invert: factors' out || fail "no invert beside chebfd in the plan"
    grep -q 'by cost: of chebfd about .*, of invert about .*' out || fail "no costs in the plan"
    OMP_NUM_THREADS=1 "$wisp" eig square:nx=1500,ny=3,disorder=1 --target 0.1 -n 5 --json >thin.json
    json thin.json 'd["method"] == "invert" and d["proof"] == "inertia" and d["factored"] >= 3 and d["chosen"]["method"] == "invert"'
    OMP_NUM_THREADS=1 "$wisp" eig square:nx=1500,ny=3,disorder=1 --target 0.1 -n 5 --json --like thin.json >out
    json out 'd["method"] == "invert" and d["eigenvalues"] == e["eigenvalues"]' thin.json
    OMP_NUM_THREADS=1 "$wisp" eig square:nx=1500,ny=3,disorder=1 --target 0.1 -n 5 >out
    grep -q 'factorizations, which take less than a filter (--method chebfd)' out || fail "no word of the choice"
    if [ $have_hdf5 = 1 ]; then # the target is an eigenvalue, so that the inverse has another place, also when it goes on
        WISP_STOP_AT=KILL:checkpoint:2 "$wisp" eig $chain --target 4 -n 9 --method invert --checkpoint inverse.ck --every 1e-9 >out 2>err
        ok eig $chain --target 4 -n 9 --method invert --resume inverse.ck
    fi
    refused 1 "are left for them" eig laplace:nx=40,ny=40,nz=40 --target 4 -n 3 --method invert --mem-limit 40MB
else
    refused 1 "libmumps-seq-dev" eig $small --target 0.1 --method invert
fi
# Of a matrix that is not Hermitian: few rows by LAPACK, which proves it; more by factors, which do not.
ok eig matpde:nx=9,ny=8 --target 2 -n 3 --json
json out 'd["method"] == "dense" and d["complete"] and d["proof"] == "all" and len(d["eigenvalues"]) >= 3'
ok eig matpde:nx=9,ny=8 --target 2 -n 3 --plan --json
json out 'd["method"] == "dense"'
# Nearest to a complex number: of a real matrix, too, without what is conjugate to it.
"$wisp" gen matpde:nx=9,ny=8,beta=40,gamma=40 -o pairs.mtx --quiet
"$wisp" eig pairs.mtx --smallest 72 --json >all.json
ok eig pairs.mtx --target 4,1.5 -n 3 --json
python3 - <<'EOF' || fail "not the nearest ones to a complex number"
import json
every, found = json.load(open("all.json"))["eigenvalues"], json.load(open("out"))
nearest = sorted((complex(*v) for v in every), key=lambda v: abs(v - (4 + 1.5j)))[:3]
values = sorted((complex(*v) for v in found["eigenvalues"]), key=lambda v: abs(v - (4 + 1.5j)))
assert found["complete"] and found["proof"] == "all" and found["target"] == [4, 1.5] and found["type"] == "complex double"
assert len(values) == 3 and all(abs(v - w) < 1e-9 for v, w in zip(values, nearest)), (values, nearest)
assert all(v.imag > 0 for v in values), values
EOF
ok eig pairs.mtx --target 4,0 --json
json out 'd["target"] == 4'
ok eig pairs.mtx --target 4,-1.5 -n 3 --plan
check "a complex target is told: $(cat out)" grep -q 'nearest to 4-1.5i' out
refused 1 "eig: --target is 1-2i, and a Hermitian matrix has real eigenvalues" eig $small --target 1,-2
refused 1 "chebfd" eig pairs.mtx --target 4,1 --method chebfd
for value in 1, 1,x ,1 1,2,3 1+2i; do refused 2 "expected a number, or RE,IM" eig pairs.mtx --target "$value"; done
if "$wisp" --version | grep -q '^features:.* mumps'; then
    short eig matpde:nx=20,ny=18,beta=40,gamma=40 --target 4,1.5 -n 3 --method invert --json
    json out 'd["method"] == "invert" and not d["complete"] and d["found"] == 3'
    if [ $have_hdf5 = 1 ]; then
        WISP_STOP_AT=KILL:checkpoint:2 "$wisp" eig matpde:nx=20,ny=18,beta=40,gamma=40 --target 4,1.5 -n 9 --method invert \
            --checkpoint complex.ck --every 1e-9 >out 2>err
        refused 1 "eigenvalues:" eig matpde:nx=20,ny=18,beta=40,gamma=40 --target 4,1 -n 9 --method invert --resume complex.ck
        short eig matpde:nx=20,ny=18,beta=40,gamma=40 --target 4,1.5 -n 9 --method invert --resume complex.ck
    fi
    "$wisp" gen matpde:nx=60,ny=56 -o rows.mtx --quiet
    short eig rows.mtx --target 2 -n 2 --tol 1e-4 --json
    json out 'd["method"] == "invert" and not d["complete"] and d["proof"] != "inertia"'
    short eig rows.mtx --target 2 -n 2 --tol 1e-4
    check "no filter is named: $(cat out)" grep -q '^  *[0-9]* factorizations$' out
else
    refused 1 "libmumps-seq-dev" eig matpde:nx=60,ny=56 --target 2 -n 2
fi
refused 2 "--interval and --target take chebfd" eig $small --target 0 --method lanczos
refused 2 "--interval and --target take chebfd" eig $small --interval 0,1 --method krylov-schur
ok eig $small --largest-real 2 --method lanczos
refused 2 "expected one of chebfd|lanczos|krylov-schur|dense" eig $small --smallest 3 --method arpack
for value in 0 -1 x 1.5 '' 3000000000; do refused 2 "expected a whole number from 1" eig $small --smallest "$value"; done
for value in 0 -1 x ''; do refused 2 "expected a whole number from 1" eig $small --target 0 -n "$value"; done
for value in 0 x ''; do refused 2 "expected a whole number from 1" eig $small --smallest 2 --search "$value"; done
for value in 0 -3 ''; do refused 2 "expected a whole number from 1" eig $small --smallest 2 --maxit "$value"; done
for value in x nan inf '' 1e999 0x; do refused 2 "expected a number" eig $small --target "$value"; done
for value in 0 -1 x nan inf ''; do refused 2 "expected a number above 0" eig $small --smallest 2 --tol "$value"; done
refused 2 "it must be below 1" eig $small --smallest 2 --tol 1
refused 2 "expected two numbers with a comma" eig $small --interval 1
refused 2 "the first number must be below the second" eig $small --interval 1,0
refused 2 "write it with a comma and no blank: --interval 0,1" eig $small --interval 0 1
refused 2 "the name must end in .mtx, .mtx.gz or .h5" eig $small --smallest 2 -o v.csv
refused 2 "the name must end in .svg, .png or .pdf" eig $small --smallest 2 --plot v.mtx
refused 2 "--vectors-out and MATRIX name the same file" eig small.mtx --smallest 2 -o ./small.mtx
refused 2 "did you mean --count?" eig $small --k 3
refused 2 "did you mean --target?" eig $small --sigma 3
refused 2 "did you mean --search?" eig $small --ncv 3
refused 2 "wisp eig has no option --moments" eig $small --moments 3
refused 2 "MATRIX is missing" eig

# ---- one eigenvalue far beyond all others: what lies in the interval, and residuals in the matrix's units
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n301 301 301"
             for (i = 0; i < 300; i++) printf "%d %d %.17g\n", i + 1, i + 1, -1 + 2 * i / 299
             print "301 301 1e10" }' >outlier.mtx
ok eig outlier.mtx --interval=-0.1,0.1 --json --quiet
json out 'd["found"] == 30 and d["complete"] and d["tolerance_absolute"] is False'
ok eig outlier.mtx --interval=-0.1,0.1 --tol-abs 1e-4 --json --quiet
json out 'd["found"] == 30 and d["tolerance"] == 1e-4 and d["tolerance_absolute"] and max(d["residuals"]) <= 1e-4'
"$wisp" eig $small --interval=-0.1,0 --tol 0.1 --method chebfd --json --quiet >out 2>err
check "a wide tolerance is told" grep -q "eig: --tol, .* is wide beside the target" err
"$wisp" eig $large --interval=-0.1,0 --tol 0.1 --method chebfd --json --quiet --log json >out 2>err
check "and in JSON" grep -q '"level":"warning","message":"eig: --tol, .* is wide beside the target' err
json out 'd["complete"] and max(d["residuals"]) * d["bounds"]["halfwidth"] <= 0.005 * (1 + 1e-12)'

# Two values that the tolerance does not tell apart are told with as many digits as tell them.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n400 400 400"
             for (i = 1; i <= 400; i++) printf "%d %d %.17g\n", i, i, i == 1 ? -1 : i == 2 ? -1 + 1e-11 : i / 400 }' >near.mtx
"$wisp" eig near.mtx --smallest 1 --any --method lanczos --quiet >out 2>err
check "two values that are near" grep -q "residuals do not tell -1 from -0.99999999999, and which" err

# ---- bad matrices and files
refused 1 "nowhere.mtx" eig nowhere.mtx --smallest 1
refused 1 "eig: --smallest is 101, and the matrix has 100 rows" eig $small --smallest 101
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n' >one.mtx
refused 1 "eig: --smallest is 2, and the matrix has 1 row" eig one.mtx --smallest 2
check "one row" grep -q "1 row$" err
"$wisp" eig $large --smallest 2 --method krylov-schur --json --quiet --log json >out 2>err
check "the log says that Lanczos takes the place" grep -q "the matrix is Hermitian: lanczos takes the place of krylov-schur" err
refused 1 "below what double allows" eig $small --smallest 1 --tol 1e-17
refused 1 "eig: --tol-abs, 1e-17, is below what double allows" eig $small --smallest 1 --tol-abs 1e-17
refused 2 "exclude each other" eig $small --smallest 1 --tol-abs 1e-9 --tol 1e-9
refused 1 "flow.mtx: " eig flow.mtx --interval 0,1
refused 1 "flow.mtx: " eig flow.mtx --interval 0,1 --method dense
printf '%%%%MatrixMarket matrix coordinate real general\n3 4 1\n1 1 1\n' >wide.mtx
refused 1 "wide.mtx is 3 x 4, and only a square matrix has eigenvalues" eig wide.mtx --smallest 1
for value in nan inf; do
    printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 %s\n3 3 2\n' $value >bad.mtx
    refused 1 "bad.mtx: " eig bad.mtx --smallest 1
done
refused 1 "nowhere.mtx" eig $small --smallest 1 --vectors-in nowhere.mtx
refused 1 "v.mtx is 100 x 12; a start of 1225 rows" eig $large --smallest 1 --vectors-in v.mtx
sed "100s/.*/nan/" v.mtx >nan.mtx
refused 1 "holds a NaN or an infinity" eig $small --smallest 1 --vectors-in nan.mtx
head -50 v.mtx >cut.mtx
refused 1 "cut.mtx" eig $small --smallest 1 --vectors-in cut.mtx
if [ $have_hdf5 = 1 ]; then
    echo no >no.h5
    refused 1 "no.h5 is no HDF5 file" eig $small --smallest 1 --vectors-in no.h5
    ok dos topi:nx=2,ny=2,nz=2 --moments 8 --quiet -o dos.h5
    refused 1 'dos.h5 has no data set "x"' eig $small --smallest 1 --vectors-in dos.h5
else
    refused 1 "this build of wisp has no HDF5" eig $small --smallest 1 -o v.h5
    refused 1 "this build of wisp has no HDF5" eig $small --smallest 1 --vectors-in v.h5
fi
# Factors would not fit, or not with all that goes with them: so a filter, by itself.
OMP_NUM_THREADS=1 ok eig graphene:nx=100,ny=100 --target 0.1 -n 20 --mem-limit 38MB --json
json out 'd["complete"] is True and d["memory_bytes"] <= 38e6'
# Blocks as wide as products are fast would not fit: narrower ones.
ok eig graphene:nx=40,ny=40 --target 0.1 -n 12 --method chebfd --mem-limit 4MB --json
json out 'd["complete"] is True and d["memory_bytes"] <= 4e6'
finish
