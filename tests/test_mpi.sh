#!/usr/bin/env bash
# Runs by several processes: the command and the library under mpirun. Skipped where wisp has no MPI.
set -euo pipefail
wisp=$1
rm -rf "$3"
mkdir -p "$3"
cd "$3"
# Kernels of GPUs that other tests have compiled serve here, too.
if [ -n "${XDG_CACHE_HOME:-}" ]; then mkdir -p cache/wisp "$XDG_CACHE_HOME/wisp/kernels" && ln -s "$XDG_CACHE_HOME/wisp/kernels" cache/wisp/kernels; fi
export XDG_CACHE_HOME=$PWD/cache
# shellcheck source=tests/python.sh
. "$2/tests/python.sh"
fail() { echo "test_mpi: $*" >&2; exit 1; }
"$wisp" --version | grep -q '^features:.* mpi' || { echo "test_mpi: this build has no MPI"; exit 77; }
# $WISP_MPIRUN: the launcher of the MPI that wisp was built with, and its options, such as "mpirun.mpich".
launcher=${WISP_MPIRUN:-mpirun --oversubscribe --bind-to none}
command -v ${launcher%% *} >/dev/null || { echo "test_mpi: there is no ${launcher%% *}"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# When a run has failed, mpirun would wait for a second, twice, before it looks whether all have ended; they have.
export OMPI_MCA_odls_base_sigkill_timeout=0
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 # as tests/processes.sh
# by N COMMAND...
# shellcheck disable=SC2086 # words
by() { $launcher -n "$@"; }

echo "- the library, by 1, 2 and 5 processes" # by 3, and all by 5: tests/nightly/ranks_all.sh
for n in 1 2 5; do by $n "$(dirname "$wisp")/tests/ranks_mpi" >library 2>&1 || { tail -n 20 library >&2; fail "ranks_mpi by $n"; }; done
for n in 2 3; do
    rc=0
    by $n "$(dirname "$wisp")/tests/ranks_mpi_threads" >library 2>&1 || rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || { tail -n 20 library >&2; fail "ranks_mpi_threads by $n"; }
done

# same A B NUMBER WHAT: two results; ranks may round differently.
same() {
    python3 - "$@" <<'PY' || fail "$4 by $3"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
assert b["ranks"] == int(sys.argv[3]), b["ranks"]
def flat(x):
    return sum(map(flat, x), []) if isinstance(x, list) else [x]
for key, bound in ("moments", 1e-12), ("count", 1e-9), ("eigenvalues", 1e-9):
    if a.get(key) is not None:
        u, v = flat(a[key]), flat(b[key])
        scale = 1 if key == "eigenvalues" else a["rows"]
        assert len(u) == len(v) > 0 and max(abs(x - y) for x, y in zip(u, v)) <= bound * scale, key
PY
}
echo "- the command, by 2 or 3 processes in turn" # threads as ranks, by other numbers: test_cli_ranks.sh
"$wisp" gen topi:nx=6,ny=5,nz=4 -o m.mtx >/dev/null
for name in m.crs m.mtx.gz; do "$wisp" convert m.mtx $name >/dev/null; done
runs=("dos m.mtx --moments 64 --vectors 3 --width 2 --partition levels" "dos topi:nx=8,ny=7,nz=6 --moments 101 --vectors 5 --width 2" "dos m.mtx --moments 64 --vectors 3 --width 2"
      "ldos graphene:nx=20,ny=15 --moments 64 --sites 0,299,573"
      "count anderson:nx=9,ny=8,nz=7 --interval=-1,1 --moments 128 --vectors 3 --width 2"
      "solve laplace:nx=12,ny=12,nz=12 --rhs random:7" "eig graphene:nx=12,ny=9 --smallest 5"
      "eig graphene:nx=12,ny=9 --interval=-0.4,0.4")
if "$wisp" --version | grep -q '^features:.* scotch'; then runs+=("dos m.mtx --moments 64 --vectors 3 --width 2 --partition scotch"); fi
if "$wisp" --version | grep -q '^features:.* hypre'; then runs+=("solve laplace:nx=12,ny=11,nz=13 --rhs random:7x2 --precond amg"); fi
n=2
for run in "${runs[@]}"; do
    # shellcheck disable=SC2086 # words
    "$wisp" $run --json >one.json
    # shellcheck disable=SC2086
    by $n "$wisp" $run --json >many.json 2>err || fail "$run by $n: $(cat err)"
    same one.json many.json $n "$run"
    n=$((5 - n))
done

echo "- processes with different devices, by the environment of each, and by a list"
for run in "dos topi:nx=5,ny=4,nz=3 --moments 50 --vectors 3 --width 2" "eig graphene:nx=12,ny=9 --smallest 3"; do
    # shellcheck disable=SC2086 # words
    "$wisp" $run --json >one.json
    # shellcheck disable=SC2086
    by 1 "$wisp" $run --json : -n 1 env WISP_DEVICE=plain "$wisp" $run --json : -n 1 env WISP_DEVICE=far "$wisp" $run --json >many.json 2>err ||
        fail "$run on three devices: $(cat err)"
    same one.json many.json 3 "$run on three devices"
    python3 -c 'import json; assert json.load(open("many.json"))["devices"] == ["cpu", "plain", "far"]' || fail "$run on three devices: $(cat many.json)"
    # shellcheck disable=SC2086
    by 3 "$wisp" $run --json --device plain,cpu --weights measured >many.json 2>err || fail "$run on plain,cpu: $(cat err)"
    same one.json many.json 3 "$run on plain,cpu"
done

if "$wisp" --version | grep -q '^features:.* hdf5'; then
    echo "- memory that one of 2 processes has not: one line, and a common end"
    for at in $(seq 82 6 130); do
        rc=0
        WISP_ALLOC_FAIL_AT=$at@1 by 2 "$wisp" map graphene:nx=20,ny=20 --energies 0 --moments 64 --vectors 4 --save map.h5 >out 2>err || rc=$?
        [ $rc = 0 ] || { [ $rc = 1 ] && [ "$(grep -c '^wisp: ' err)" = 1 ] && grep -q '^wisp: .*out of memory' err; } ||
            fail "map --save, allocation $at: exit $rc: $(cat err)"
    done
fi

echo "- files of each format, by 2 processes that measure their rates"
"$wisp" dos m.mtx --moments 64 --vectors 3 --width 2 --json >one.json
for name in m.crs m.mtx.gz; do
    by 2 "$wisp" dos $name --moments 64 --vectors 3 --width 2 --weights measured --json >many.json 2>err || fail "dos $name: $(cat err)"
    same one.json many.json 2 "dos $name --weights measured"
done

echo "- solvers with each exchange of the halo"
"$wisp" solve laplace:nx=9,ny=8,nz=7 --rhs random:7 -o one.mtx --quiet
for halo in none overlap task neighbours columns; do
    by 2 "$wisp" solve laplace:nx=9,ny=8,nz=7 --rhs random:7 --halo $halo -o x.mtx --json >many.json 2>err ||
        fail "solve --halo $halo: $(cat err)"
    python3 - $halo <<'PY' || fail "solve --halo $halo"
import json, sys
assert json.load(open("many.json"))["halo"] == sys.argv[1]
a, b = ([float(x) for x in open(name).read().split("\n", 2)[2].split() if x[0] != "%"] for name in ("one.mtx", "x.mtx"))
assert len(a) == len(b) > 500 and max(abs(x - y) for x, y in zip(a, b)) < 1e-6 * max(map(abs, a))
PY
done

echo "- wisp info --ranks foretells what ranks hold and send"
# Each matrix by both numbers, and by processes and threads: one number each, in turn.
for n in 2 4; do
    turn=$((n / 2))
    for case in "topi:nx=20,ny=20,nz=20 4" "graphene:nx=200,ny=150,disorder=1,vacancies=0.05 4" \
        "graphene:nx=200,ny=150,disorder=1,vacancies=0.05 1" "graphene:nx=300,ny=300 1" "laplace:nx=60,ny=60,nz=60 1"; do
        matrix=${case% *} width=${case#* }
        "$wisp" info $matrix --ranks $n --width $width --json >plan.json
        if [ $((turn % 2)) = 0 ]; then run="$launcher -n $n"; else run="env WISP_RANKS=$n"; fi
        turn=$((turn + 1))
        # shellcheck disable=SC2086 # words
        $run "$(dirname "$wisp")/tests/test_layout" $matrix $width >out 2>err || fail "test_layout by $run: $(cat out err)"
        python3 - plan.json out <<'PY' || fail "info $matrix --ranks $n --width $width, against $run"
import json, sys
plan = json.load(open(sys.argv[1]))
real = [list(map(int, line.split()[1:])) for line in open(sys.argv[2]) if line.startswith("rank: ")]
keys = "rows nnz halo_rows receives_from sends_to received_bytes sent_bytes memory_bytes".split()
assert len(real) == len(plan["parts"]) == plan["ranks"]
for part, numbers in zip(plan["parts"], real):
    assert [part[key] for key in keys[:-1]] == numbers[:-1], (part, numbers)
    assert abs(part["memory_bytes"] - numbers[-1]) <= 0.1 * numbers[-1], (part, numbers)
for key in keys:
    assert plan["all"][key] == sum(part[key] for part in plan["parts"])
    assert plan["most"][key] == max(part[key] for part in plan["parts"])
PY
    done
done

if "$wisp" --version | grep -q '^features:.* scotch'; then
    "$wisp" info topi:nx=6,ny=6,nz=6 --ranks 2 --partition scotch | grep -q "PT-SCOTCH, by processes under mpirun" ||
        fail "info does not say that the partition is another"
fi

echo "- a plan is by the slowest process, not always the first"
WISP_WEIGHTS=1,50 by 2 "$wisp" dos topi:nx=20,ny=20,nz=20 --plan >out 2>err || fail "a plan: $(cat out err)"
grep -Eq 'limit (core|memory|cache)' out || fail "a plan: $(cat out err)"

echo "- files are written once, and complete"
by 3 "$wisp" dos topi:nx=5,ny=4,nz=2 --moments 20 -o out.csv --log text >text 2>err
[ "$(grep -c '^rows' text)" = 1 ] && grep -q '^run .*3 processes of 1 thread,' text && [ -s out.csv ] ||
    fail "the summary: $(cat text err)"
by 2 "$wisp" eig graphene:nx=6,ny=5 --smallest 3 -o x.mtx >text
grep -qx "60 3" x.mtx || fail "vectors of two processes"

echo "- one line on what is wrong, and a status"
# refused WORDS N ARGUMENTS...: mpirun itself says in more lines that a process has failed.
refused() {
    local status=0
    by "${@:2:1}" "$wisp" "${@:3}" >out 2>err || status=$?
    [ $status -ne 0 ] && [ "$(grep -c '^wisp: ' err)" = 1 ] && [ ! -s out ] && grep -q -- "$1" err ||
        fail "${*:2}: status $status: $(cat out err)"
}
refused "did you mean" 3 doss topi
refused "did you mean" 2 dos topi --momnts 3
refused "neither a file" 2 dos nowhere.mtx
refused "not Hermitian" 2 dos "$2/tests/data/cage5.mtx"
refused "no/where" 2 dos topi:nx=4,ny=4,nz=2 -o no/where.csv
refused "start it without mpirun" 2 info topi
WISP_WEIGHTS=1 refused "give 2 numbers" 2 dos topi
WISP_ALLOC_FAIL_AT=1@1 refused "process 1: out of memory" 2 dos topi:nx=4,ny=4,nz=2
# In the context, and where each process says where it is.
for n in 1 2 3; do WISP_ALLOC_FAIL_AT=$n@1 refused "process 1: out of memory: .* bytes more" 2 machine; done

echo "- processes that are not alike, or that no MPI brings together: one line of the first of them"
# unlike WORDS COMMAND... : -n N COMMAND...: the command by one process, and another one by N.
unlike() {
    local status=0
    by 1 "${@:2}" >out 2>err || status=$?
    [ $status -ne 0 ] && [ "$(grep -c '^wisp: ' err)" = 1 ] && [ ! -s out ] && grep -q "^wisp: $1" err ||
        fail "${*:2}: status $status: $(cat out err)"
}
unlike "process 1: unknown option --momntz" "$wisp" dos m.mtx : -n 1 "$wisp" dos m.mtx --momntz 3
unlike "unknown option --momntz" "$wisp" dos m.mtx --momntz 3 : -n 2 "$wisp" dos m.mtx
unlike "process 2: MATRIX is missing" "$wisp" solve m.mtx : -n 1 "$wisp" solve m.mtx : -n 1 "$wisp" solve
unlike "process 1: its arguments are not those of process 0" "$wisp" dos m.mtx : -n 1 "$wisp" dos m.mtx --moments 8
unlike "process 1: its arguments are not those of process 0" "$wisp" --version : -n 1 "$wisp" --help
unlike "process 1: its arguments are not those of process 0" "$wisp" dos m.mtx : -n 1 "$wisp" dos m.mtx --device plain
unlike "process 1: there is no device 'x'" "$wisp" dos m.mtx : -n 1 env WISP_DEVICE=x "$wisp" dos m.mtx
unlike "process 1: WISP_STOP_AT=x" "$wisp" dos m.mtx : -n 1 env WISP_STOP_AT=x "$wisp" dos m.mtx
mkdir apart && mkfifo apart/m.crs
unlike "process 1: m.mtx: cannot open" "$wisp" dos m.mtx : -n 1 sh -c "cd apart && exec '$wisp' dos m.mtx"
unlike "process 1: m.crs can be read only once" "$wisp" dos m.crs --weights measured : -n 1 sh -c "cd apart && exec '$wisp' dos m.crs --weights measured"
echo "- a pipe that one process alone sees"
"$wisp" dos m.mtx --moments 64 --vectors 4 --width 2 --precision double --json >one.json
mkfifo once.mtx
cat m.mtx >once.mtx &
by 1 "$wisp" dos once.mtx --moments 64 --vectors 4 --width 2 --precision auto --json : \
    -n 1 sh -c "cd apart && exec '$wisp' dos once.mtx --moments 64 --vectors 4 --width 2 --precision auto --json" >many.json 2>err || fail "a pipe: $(cat err)"
wait $!
same one.json many.json 2 "a pipe"

alone() { ! "${@:2}" >out 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q -- "$1" err || fail "${*:2}: $(cat out err)"; }
alone "one of 4 processes (PMI_SIZE), .* unset PMI_SIZE" env PMI_SIZE=4 PMI_RANK=0 "$wisp" dos m.mtx
! PMI_SIZE=4 PMI_RANK=3 "$wisp" dos m.mtx >out 2>&1 && [ ! -s out ] || fail "the last one of 4: $(cat out)"
PMI_SIZE=1 PMI_RANK=0 "$wisp" dos m.mtx --moments 8 --quiet || fail "one process of another launcher"

echo "- what all would print is printed once, as JSON where that is asked for"
for ask in --version --help "solve --help"; do
    # shellcheck disable=SC2086 # words
    "$wisp" $ask >one && by 2 "$wisp" $ask >many && cmp one many || fail "$ask by 2"
done
for ask in "dos m.mtx --plan" "solve laplace:nx=9 --plan" "eig graphene:nx=12,ny=9 --smallest 3 --plan" machine; do
    # shellcheck disable=SC2086
    by 2 "$wisp" $ask --json >many 2>err && python3 -c 'import json; json.load(open("many"))' || fail "$ask --json by 2: $(cat many err)"
done

echo "- what several processes do otherwise is told, and memory is that of the one that needs most"
by 2 "$wisp" dos m.mtx --moments 64 --depth 4 --json >many.json 2>err && grep -q "warning: --depth 4: .* it is 1" err || fail "--depth: $(cat err)"
python3 -c 'import json; o = json.load(open("many.json")); assert o["depth"] == 1 and o["valid"]' || fail "--depth 4 in JSON"
by 2 "$wisp" solve laplace:nx=9 --halo nocomm --maxit 3 --json >many.json 2>err && fail "solve --halo nocomm converges"
grep -q "warning: --halo nocomm: .* wrong" err && python3 -c 'import json; assert not json.load(open("many.json"))["valid"]' ||
    fail "solve --halo nocomm: $(cat err)"
by 2 "$wisp" dos m.mtx --moments 8 --halo columns >out && grep -q "^halo *columns" out || fail "the summary has no halo: $(cat out)"
export WISP_STREAM_LIMIT=1000000 # a quick plan
for weights in 1,30 30,1; do
    by 2 "$wisp" dos laplace:nx=30,ny=30,nz=30 --moments 8 --vectors 4 --precision double --order natural --plan --json --weights $weights >plan$weights
    by 2 "$wisp" dos laplace:nx=30,ny=30,nz=30 --moments 8 --vectors 4 --precision double --order natural --json --weights $weights >run$weights
done
python3 - <<'PY' || fail "memory with unequal weights"
import json
for name, key in ("plan", "total_bytes"), ("plan", "matrix_bytes"), ("plan", "bound_bytes"), ("run", "memory_bytes"):
    a, b = (json.load(open(name + w))[key] for w in ("1,30", "30,1"))
    assert 0.8 * b < a < 1.25 * b, (key, a, b)
PY
status=0
by 2 "$wisp" dos laplace:nx=30,ny=30,nz=30 --width 16 --weights 1,30 --mem-limit 2M >out 2>err || status=$?
[ $status -ne 0 ] && grep -q "^wisp: the run would take about .* more than --mem-limit" err || fail "--mem-limit of the second process: $(cat out err)"

unset WISP_STREAM_LIMIT
echo "- who sits where"
unset OMP_PROC_BIND # ctest leaves threads to the system
told() { [ "$(grep -Ec "^process [0-2]   $(hostname), 1 thread, (on|not pinned, now on) " out)" = 3 ] || fail "machine: $(cat out err)"; }
by 3 env OMP_NUM_THREADS=1 "$wisp" machine >out 2>err
told # what, hangs on the cores of this machine
# Cores that there are not, as hwloc sees them.
if "$wisp" --version | grep -q '^features:.* hwloc'; then
    shim=$(dirname "$wisp")/tests/libshim_cpus.so
    # on CORES UNITS N: N processes on so many cores with so many processing units each.
    on() {
        by "$3" env -u OMP_NUM_THREADS LD_PRELOAD="$shim" CPUS=$(($1 * $2)) HWLOC_SYNTHETIC="core:$1 pu:$2" "$wisp" machine >out 2>err ||
            grep -q "can't be true" err || # what is measured beside other tests
            fail "machine on $1 cores: $(cat err)"
    }
    # pinned UNITS: to so many of them, a process each.
    pinned() {
        [ "$(grep -c "thread, on " out)" = "$1" ] || fail "machine: not $1 pinned: $(cat out err)"
        [ "$(grep -o "thread, on .*" out | sort -u | wc -l)" = "$1" ] || fail "machine: two on one unit: $(cat out err)"
    }
    on 3 1 3
    told
    pinned 3
    ! grep -q "processes share" err || fail "words on three cores for three: $(cat err)"
    on 2 1 3
    told
    pinned 2
    grep -q "3 processes share 2 cores of a machine" err || fail "no word on too few cores: $(cat err)"
    on 1 2 2
    pinned 2
    grep -q "2 processes share 1 core of a machine" err || fail "no word on one core of two: $(cat out err)"
fi

echo "- a stopped run keeps what it has"
by 2 env WISP_STOP_AT=TERM:moments:0.01@1 "$wisp" dos topi:nx=20,ny=20,nz=10 --moments 512 --vectors 4000 --save kept.h5 >out 2>err &&
    fail "a stopped run ends well"
if "$wisp" --version | grep -q hdf5; then
    "$wisp" dos --from kept.h5 >out2 2>&1 || fail "kept.h5: $(cat err out2)"
    unlike "process 1: .*kept.h5" "$wisp" dos --from kept.h5 : -n 1 sh -c "cd apart && exec '$wisp' dos --from kept.h5"
    "$wisp" solve laplace:nx=9 -o b.h5 --quiet
    unlike "process 1: cannot read b.h5" "$wisp" solve laplace:nx=9 --rhs b.h5 : -n 1 sh -c "cd apart && exec '$wisp' solve laplace:nx=9 --rhs b.h5"
fi
by 2 env WISP_STOP_AT=TERM:solving:0.3@1 "$wisp" solve laplace:nx=20,ny=20,nz=20 --rhs random:1 --method cg -o stopped.mtx >out 2>err &&
    fail "a stopped solve ends well"
grep -q "wisp: stopped by .* x is in stopped.mtx; go on with --x0" err && [ -s stopped.mtx ] || fail "a stopped solve: $(cat out err)"
echo "- all passed"
