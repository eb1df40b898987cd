#!/usr/bin/env bash
# Whole runs by several ranks give what one gives: wisp dos, ldos, count, thermal and trace with WISP_RANKS.
set -euo pipefail
wisp=$1
rm -rf "$3"
mkdir -p "$3"
cd "$3"
export XDG_CACHE_HOME=$PWD/cache
# shellcheck source=tests/python.sh
. "$2/tests/python.sh"
fail() { echo "test_cli_ranks: $*" >&2; exit 1; }

# same A B WORDS: the moments and results of two runs; ranks may round differently.
same() {
    python3 - "$@" <<'PY'
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
for key in ("rows", "nnz", "bounds", "vectors", "seed"):
    assert a[key] == b[key], (sys.argv[3], key, a[key], b[key])
def flat(x):
    return sum(map(flat, x), []) if isinstance(x, list) else [x]
def far(x, y, scale):
    x, y = flat(x), flat(y)
    return len(x) != len(y) or max(abs(u - v) for u, v in zip(x, y)) > 1e-12 * scale
if a.get("moments"):
    assert not far(a["moments"], b["moments"], a["rows"]), (sys.argv[3], "moments")
for key in ("trace_of_function", "entropy", "energy_low", "sigma"):
    assert key not in a or not far(a[key], b[key], 100 * a["rows"]), (sys.argv[3], key)
if "count" in a:
    assert abs(a["count"] - b["count"]) <= 1e-9 * a["rows"], (sys.argv[3], "count")
assert b["ranks"] == int(sys.argv[4]), (sys.argv[3], b["ranks"])
PY
}
# some WORDS...: all of them, or the first one for a sanitizer, to which the others differ in numbers alone.
some() { if [ -n "${SANITIZED:-}" ]; then echo "$1"; else echo "$*"; fi; }
runs=("dos topi:nx=8,ny=7,nz=6 --moments 101 --vectors 5"
      "ldos graphene:nx=20,ny=15,vacancies=0.05 --moments 64 --sites 0,299,573"
      "count anderson:nx=9,ny=8,nz=7 --interval=-1,1 --moments 128 --vectors 3"
      "trace anderson:nx=9,ny=8,nz=7 --function exp:-0.1 --vectors 3 --bounds=-7,7"
      "thermal graphene:nx=20,ny=15,vacancies=0.05 --temperatures 2,20 --vectors 3 --bounds=-3.1,3.1"
      "sigma haldane:nx=9,ny=7 --direction xy --moments 32 --vectors 3 --bounds=-4,4 --mu=-1,0.5")
for run in "${runs[@]}"; do
    # shellcheck disable=SC2086 # words
    "$wisp" $run --json >one.json
    for ranks in $(some 3 2 5); do
        # shellcheck disable=SC2086
        WISP_RANKS=$ranks "$wisp" $run --json >many.json
        same one.json many.json "$run, $ranks ranks" $ranks || fail "$run: $ranks ranks"
    done
    # shellcheck disable=SC2086
    WISP_RANKS=3 WISP_WEIGHTS=2,0,1 "$wisp" $run --json >many.json
    same one.json many.json "$run, weights" 3 || fail "$run: weights"
done

# Shares that are given, or found: the same results; the weights that are told give them again, bit by bit.
for run in "${runs[0]}" "eig graphene:nx=12,ny=9 --smallest 3"; do
    # shellcheck disable=SC2086
    "$wisp" $run --json >one.json
    for weights in $(some 1,0,2 rows nonzeros measured); do
        # shellcheck disable=SC2086
        WISP_RANKS=3 "$wisp" $run --weights $weights --json >many.json
        [[ $run = eig* ]] || same one.json many.json "$run, --weights $weights" 3 || fail "$run: --weights $weights"
        given=$(python3 -c 'import json; print(*json.load(open("many.json"))["weights"], sep=",")')
        [ $weights != 1,0,2 ] || [ "$given" = $weights ] || fail "$run: --weights $weights are $given"
        # shellcheck disable=SC2086
        WISP_RANKS=3 "$wisp" $run --weights "$given" --json >again.json
        python3 - <<'PY' || fail "$run: --weights $weights, and then $given"
import json
a, b = (json.load(open(name)) for name in ("many.json", "again.json"))
assert a["weights"] == b["weights"]
for key in "moments", "eigenvalues":
    assert a.get(key) == b.get(key), key
command = a["command"].split()
found = command[command.index("--weights") + 1] in ("nonzeros", "measured")
assert not found or command[-2:] == ["--weights", ",".join(map(str, a["weights"]))], command
PY
    done
done

# So do all files of a run (of a width that does not hang on rates), whatever was done with the matrix before; WISP_WEIGHTS are far from what is found.
"$wisp" gen graphene:nx=20,ny=15,vacancies=0.05 -o g.mtx >gen
python3 - <<'PY'
import random
random.seed(3)
for name, columns in ("b.mtx", 2), ("x0.mtx", 1):
    with open(name, "w") as f:
        print("%%MatrixMarket matrix array real general\n330", columns, file=f)
        for _ in range(330 * columns): print(random.gauss(0, 1), file=f)
PY
# dealt RANKS WEIGHTS ARGUMENTS...: by what is found, and by the same numbers given
dealt() {
    local ranks=$1 by=$2
    shift 2
    rm -f x.mtx x.h5
    WISP_RANKS=$ranks WISP_WEIGHTS=$([ "$ranks" = 2 ] && echo 9,1 || echo 9,0,1) "$wisp" "$@" --weights "$by" --json >found.json
    [ ! -e x.mtx ] || mv x.mtx found.mtx
    WISP_RANKS=$ranks "$wisp" "$@" --weights "$(python3 -c 'import json; print(*json.load(open("found.json"))["weights"], sep=",")')" --json >given.json
    [ ! -e x.mtx ] || cmp <(grep -v '^%' x.mtx) <(grep -v '^%' found.mtx) || fail "$* --weights $by: other files"
    python3 - <<'PY' || fail "$* --weights $by"
import json
a, b = (json.load(open(name)) for name in ("found.json", "given.json"))
for key in "weights", "moments", "eigenvalues", "residuals", "residual", "iterations", "nnz", "order", "format":
    assert a.get(key) == b.get(key), key
PY
}
for by in $(some nonzeros measured); do
    for ranks in $(some 3 2); do
        dealt $ranks $by dos g.mtx --moments 40 --vectors 3 --width 2 --order rcm
        dealt $ranks $by dos g.mtx --moments 40 --vectors 3 --width 2 --precision auto --hermitian-part
        dealt $ranks $by dos g.mtx --moments 40 --vectors 3 --width 2 --partition levels
        dealt $ranks $by solve laplace:nx=30,ny=11,nz=1 --rhs b.mtx --x0 x0.mtx --precond block-jacobi:8 -o x.mtx
    done
    dealt 2 $by eig laplace:nx=30,ny=11,nz=1 --smallest 3 --vectors-in x0.mtx
done

# Files of moments keep them, also those of the environment and behind a command line that is cut.
if "$wisp" --version | grep -q '^features:.* hdf5'; then
    # kept WEIGHTS RANKS ARGUMENTS...
    kept() {
        rm -f kept.h5
        WISP_RANKS=$2 "$wisp" "${@:3}" --moments 2 --points 8 --save kept.h5 --quiet || fail "${*:3} --save"
        "$wisp" "$3" --from kept.h5 --points 8 --json >from.json
        python3 - "$1" <<'PY' || fail "weights kept by $2 ranks: $1"
import json, sys
o = json.load(open("from.json"))
assert o["weights"] == json.loads(sys.argv[1]), o["weights"]
assert sys.argv[1] == "null" or " --weights " + ",".join(map(str, o["weights"])) in o["moments_command"]
PY
    }
    kept null 1 dos laplace:nx=8,ny=9,nz=3 --vectors 2
    kept null 2 dos laplace:nx=8,ny=9,nz=3 --vectors 2
    kept "[3, 1]" 2 dos laplace:nx=8,ny=9,nz=3 --vectors 2 --weights 3,1
    grep -q "^weights *3,1 " <("$wisp" dos --from kept.h5) || fail "the summary has no weights"
    WISP_WEIGHTS=2,1 kept "[2, 1]" 2 dos laplace:nx=8,ny=9,nz=3 --vectors 2
    WISP_WEIGHTS=1,0 kept "[1, 0]" 2 ldos laplace:nx=80,ny=80,nz=1 --sites "$(seq -s, 10 6399)" # 31 kB
    WISP_WEIGHTS=1,0 kept "[1, 0]" 2 ldos laplace:nx=90,ny=90,nz=1 --sites "$(seq -s, 0 8099)"
fi

# From here on lines are counted, and more threads than this machine has cores would be warned of.
export OMP_NUM_THREADS=1

# Memory that one rank alone is refused, somewhere: the others do not wait for it, and its words are the one line.
starved() {
    local n status failures=0 passes=0 step=3
    [ -z "${SANITIZED:-}" ] || step=12 # the library's own tests have each allocation
    for ((n = 1; n < 300 && passes * step < 60; n += step)); do
        status=0 passes=$((passes + 1))
        WISP_RANKS=2 WISP_ALLOC_FAIL_AT=$n@1 "$wisp" "$@" --quiet >out 2>err || status=$?
        [ $status = 0 ] && continue
        failures=$((failures + 1)) passes=0
        [ $status = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^wisp: .*process 1: .*memory" err ||
            fail "$*, allocation $n: status $status: $(cat err)"
    done
    [ $failures -gt 5 ] || fail "$*: memory is hardly ever refused"
}
starved solve laplace:nx=4,ny=4,nz=2 -o x.mtx
"$wisp" eig laplace:nx=4,ny=4,nz=2 --smallest 2 --vectors-out start.mtx --quiet
starved eig laplace:nx=4,ny=4,nz=2 --smallest 2 --vectors-in start.mtx

# One line, and a non-zero exit.
refused() {
    local status=0
    "${@:2}" >out 2>err || status=$?
    [ $status -ne 0 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q -- "$1" err ||
        fail "${*:2}: status $status: $(cat err)"
}
refused "take a number from 1 to 1024" env WISP_RANKS=x "$wisp" dos topi
refused "WISP_RANKS is not for wisp info; unset it" env WISP_RANKS=2 "$wisp" info topi
refused "neither a file" env WISP_RANKS=3 "$wisp" dos nowhere.mtx
refused "give 2 numbers" env WISP_RANKS=2 WISP_WEIGHTS=1 "$wisp" dos topi
refused "give 2 numbers, one for each process, not 3" env WISP_RANKS=2 "$wisp" dos topi --weights 1,2,3
refused "give 1 number, one for each process, not 2" "$wisp" dos topi --weights 1,2
refused "one of the 2 processes" env WISP_RANKS=2 "$wisp" dos topi --weights 0,0
refused "or a number for each process" env WISP_RANKS=2 "$wisp" dos topi --weights 1,,2
# Each of two needs less than the machine has, both together more. What is not refused ends for want of addresses.
total=$(awk '/MemTotal/ {print $2}' /proc/meminfo)
large="laplace:nx=$((total / 1000)),ny=100,nz=1 --moments 2 --vectors 960 --width 960 --precision double"
refused "this machine has" "$wisp" dos $large
if (ulimit -v $((total / 4)) && "$wisp" --version >version 2>&1); then
    (ulimit -v $((total / 4)); refused "all processes of a machine together" env WISP_RANKS=2 OMP_NUM_THREADS=1 "$wisp" dos $large)
else
    echo "no command within a quarter of the memory's addresses (a sanitizer?): two that need too much together are not checked"
fi
mkfifo pipe
refused "can be read only once" env WISP_RANKS=2 "$wisp" dos pipe --weights measured
"$wisp" dos g.mtx --moments 30 --vectors 3 --json >one.json
mkfifo once.mtx
cat g.mtx >once.mtx &
WISP_RANKS=2 "$wisp" dos once.mtx --moments 30 --vectors 3 --weights nonzeros --json >many.json || fail "weights of a pipe"
wait
same one.json many.json "a pipe, --weights nonzeros" 2 || fail "a pipe, --weights nonzeros"
mkdir laplace # which is no file: the gallery's
WISP_RANKS=2 "$wisp" dos laplace --moments 8 --weights nonzeros --quiet || fail "beside a folder of that name"
refused "not Hermitian" env WISP_RANKS=2 "$wisp" dos "$2/tests/data/cage5.mtx"
WISP_RANKS=3 "$wisp" dos topi:nx=4,ny=4,nz=2 --moments 20 -o out.csv >text
grep -q "^results *out.csv" text && [ "$(grep -c '^rows' text)" = 1 ] && [ -s out.csv ] || fail "the summary: $(cat text)"
