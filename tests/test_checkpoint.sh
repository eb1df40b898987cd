#!/usr/bin/env bash
# Runs of the command that are killed, stopped, or have a disk that fails, and go on: with the same bits as one that was
# left alone. $1 command, $2 source folder, $3 scratch folder. $CALLS: calls of the disk that are tried (18, of more than two
# generations).
set -uo pipefail
wisp=$1 shim=$(dirname "$1")/tests/libshim_disk.so most_calls=${CALLS:-18}
rm -rf "$3"
mkdir -p "$3"
cd "$3" || exit 1
export XDG_CACHE_HOME=$PWD/cache
# shellcheck source=tests/python.sh
. "$2/tests/python.sh"
bad=0
fail() { echo "FAILED: $*" >&2; bad=1; }
trap 'kill $(jobs -p) 2>/dev/null' EXIT
small=topi:nx=8,ny=8,nz=5
run=(dos topi:nx=12,ny=12,nz=8 --moments 300 --vectors 8 --width 4 --seed 3)
quick=(dos $small --moments 16 --vectors 6 --width 3)
# same WANT GOT WHAT: moments, digit by digit, and densities.
results() { grep -oE '"(moments|dos)": \[[^]]*\]' "$1"; }
same() {
    [ "$(results "$1" | wc -l)" = 2 ] && cmp -s <(results "$1") <(results "$2") || fail "$3: not the same"
}
nothing_left() { # nothing_left FILE WHAT: a run that ended well has taken its checkpoints away
    local left
    left=$(ls -A | grep -F "$1" | tr '\n' ' ')
    [ -z "$left" ] || fail "$2 left $left"
}

# at STOP ARGS...: a run with checkpoints that is stopped as $WISP_STOP_AT says, after which out, err and rc tell of it. It
# writes one at each step; the shim, which counts nothing here, does not wait for the disk each time.
at() {
    { WISP_STOP_AT=$1 env --default-signal=INT,TERM,HUP LD_PRELOAD="$shim" "$wisp" "${@:2}" >out 2>err; } 2>/dev/null
    rc=$?
}

[ "${4:-}" = kills ] && return # tests/nightly/checkpoint_kills.sh goes on from here

echo "- killed behind each of several checkpoints, again and again"
for ranks in "" 3; do
    export WISP_RANKS=$ranks
    "$wisp" "${run[@]}" --json >want.json || fail "the run itself"
    rm -f kill.ck*
    resume=()
    for number in 1 2 3 1 1 4 2; do
        at KILL:checkpoint:$number "${run[@]}" --checkpoint kill.ck "${resume[@]}"
        [ $rc = 137 ] || fail "not killed behind checkpoint $number: $rc, $(cat err)"
        [ -e kill.ck ] || fail "no last state behind checkpoint $number"
        resume=(--resume kill.ck)
    done
    "$wisp" "${run[@]}" --json --checkpoint kill.ck --resume kill.ck >kill.json 2>err || fail "going on: $(cat err)"
    same want.json kill.json "a chain of ${ranks:-1} rank(s)"
    nothing_left kill.ck "a chain"
done
export WISP_RANKS=

echo "- a signal that comes twice, to the process and to its group, is one"
for ranks in "" 3; do
    export WISP_RANKS=$ranks
    for signals in INT,INT TERM,TERM HUP,HUP INT,TERM TERM,HUP; do
        rm -f kill.ck*
        at $signals:moments:0.01 "${run[@]}" --checkpoint kill.ck
        [ $rc = 1 ] && grep -q 'to go on, repeat the command with --resume kill.ck' err ||
            fail "$signals by ${ranks:-1} rank(s): $rc, $(cat err)"
    done
done
export WISP_RANKS=
"$wisp" "${run[@]}" --json --checkpoint kill.ck --resume kill.ck >kill.json 2>err || fail "going on: $(cat err)"
[ "$(results kill.json | wc -l)" = 2 ] || fail "going on: no results"

echo "- a disk on which the process dies, or a call fails, at each call"
export DISK_FILE=disk.ck
# disk VARIABLES... : a run with them, which writes a checkpoint at each step; rc in $rc.
disk() {
    { env LD_PRELOAD="$shim" DISK_LOG=disk.log WISP_STOP_AT=KILL:checkpoint:1000 "$@" "$wisp" "${quick[@]}" --json \
        --checkpoint disk.ck "${again[@]}" >disk.json 2>disk.err; } 2>/dev/null
    rc=$?
}
for way in "0 1" "1 1" "0 3"; do # short writes; ranks
    read -r short ranks <<<"$way"
    export WISP_RANKS=$ranks
    "$wisp" "${quick[@]}" --json >quick.json || fail "the quick run"
    rm -f disk.*
    again=()
    disk DISK_SHORT="$short"
    [ $rc = 0 ] || fail "a run with the shim: $(cat disk.err)"
    same quick.json disk.json "a run with the shim"
    calls=$(awk '/^calls/ { n = $2 } END { print n }' disk.log)
    [ "$calls" -ge 10 ] || fail "only $calls calls were counted"
    [ "$calls" -lt "$most_calls" ] || calls=$most_calls
    for ((n = 1; n <= calls; n++)); do
        rm -f disk.*
        again=()
        disk DISK_SHORT="$short" DISK_DIE_AT=$n
        [ $rc = 137 ] || fail "call $n: exit status $rc: $(cat disk.err)"
        grep -q 'renamed before' disk.log 2>/dev/null && fail "$(grep 'renamed before' disk.log)"
        if [ -e disk.ck ]; then
            again=(--resume disk.ck)
        else # none was complete yet
            [ ! -e disk.ck.before ] || fail "died at call $n: a moment without a last state"
        fi
        disk DISK_SHORT="$short"
        [ $rc = 0 ] || fail "died at call $n, and does not go on: $(cat disk.err)"
        same quick.json disk.json "died at call $n"
        nothing_left disk.ck "died at call $n of $ranks rank(s)"
    done
    echo "  $ranks rank(s): died $calls times"
done
export WISP_RANKS=
"$wisp" "${quick[@]}" --json >quick.json
again=()
failed() { grep -oP '"failed": \K[0-9]+' disk.json; }
for ((n = 1; n <= 16; n++)); do
    errors=(28 5 30) # ENOSPC, EIO, EROFS in turn, which the program only names: once, or from then on
    error=${errors[n % 3]}
    for more in "" +; do
        rm -f disk.*
        disk "DISK_FAIL_AT=$n$more,$error"
        [ $rc = 0 ] || fail "errno $error at call $n$more ends the run: $(cat disk.err)"
        same quick.json disk.json "errno $error at call $n$more"
        [ -z "$more" ] || [ $n -gt 8 ] || [ "$(failed)" -gt 0 ] || fail "errno $error from call $n on: nothing failed"
        [ "$(grep -c 'no checkpoint was kept' disk.err)" -le 1 ] || [ -z "$more" ] ||
            fail "errno $error from call $n on is said more than once: $(cat disk.err)"
        ls disk.ck.tmp* disk.ck.*.tmp* >/dev/null 2>&1 && fail "errno $error at call $n leaves $(echo disk.ck*)"
    done
done
echo "- the last state stays when the disk fails from some call on, and the process dies then"
kept=0
for n in 8 12 17 20 25; do
    rm -f disk.*
    again=()
    disk "DISK_FAIL_AT=$n+,28" WISP_STOP_AT=KILL:checkpoint:8
    [ $rc = 137 ] && grep -q 'no checkpoint was kept' disk.err || fail "a disk that fails from call $n on: $rc, $(cat disk.err)"
    [ -e disk.ck ] || continue
    kept=$((kept + 1))
    "$wisp" "${quick[@]}" --resume disk.ck --checkpoint disk.ck --json >disk.json 2>disk.err ||
        fail "a disk that failed from call $n on: $(cat disk.err)"
done
[ $kept -ge 4 ] || fail "only $kept states stayed"
unset DISK_FILE

long=(dos topi:nx=20,ny=20,nz=10 --moments 100000 --vectors 8 --width 4)
# stopped SIGNAL NUMBER FILE ARGS...: stopped by it behind that checkpoint, with its state there.
stopped() {
    [ -L "$3" ] || rm -f "$3"*
    at "$1:checkpoint:$2" "${@:4}" --checkpoint "$3"
    [ $rc = 1 ] || fail "$1: exit status $rc"
    [ "$(wc -l <err)" = 1 ] || fail "$1: not one line: $(cat err)"
    grep -q "^wisp: stopped by .*; to go on, repeat the command with --resume $3\$" err || fail "$1: $(cat err)"
    [ -e "$3" ] || fail "$1: no checkpoint"
}
# killed_at NUMBER FILE ARGS...: by kill -9 behind that checkpoint.
killed_at() {
    rm -f "$2"*
    at "KILL:checkpoint:$1" "${@:3}" --checkpoint "$2"
    [ $rc = 137 ] && [ -e "$2" ] || fail "kill -9: $rc, $(cat err)"
}

if [ -c /dev/full ]; then
    echo "- the last state stays when the results can't be printed or written"
    ln -sf /dev/full full.csv
    for ranks in "" 2; do
        export WISP_RANKS=$ranks
        "$wisp" "${quick[@]}" --json >quick.json || fail "the quick run"
        for what in "" --json "--quiet -o full.csv"; do
            rm -f full.ck*
            # shellcheck disable=SC2086 # words; each step writes a checkpoint, and no signal comes
            WISP_STOP_AT=USR1:checkpoint:1000000 "$wisp" "${quick[@]}" --checkpoint full.ck $what >/dev/full 2>err &&
                fail "to a full device, $what: it passes"
            [ "$(wc -l <err)" = 2 ] && grep -q "^wisp: cannot write .*No space left" err &&
                grep -q "^wisp: what was computed is kept in full.ck; .* --resume full.ck" err || fail "to a full device, $what: $(cat err)"
            "$wisp" "${quick[@]}" --resume full.ck --checkpoint full.ck --json >full.json 2>err || fail "after a full device, $what: $(cat err)"
            same quick.json full.json "after a full device, $what"
            nothing_left full.ck "after a full device, $what"
        done
    done
    export WISP_RANKS=
fi

echo "- signals"
for signal in TERM HUP INT; do stopped $signal 1 sig.ck "${long[@]}"; done
# A run that goes on and is stopped when it has its results: the state that it began from is there still, and is told of.
evolution=(evolve $small --time 20 --steps 3 --site 5)
for name in quick evolution; do
    declare -n line=$name
    for ranks in "" 2; do
        [ $name$ranks = evolution2 ] && continue
        export WISP_RANKS=$ranks
        at TERM:checkpoint:1 "${line[@]}" --checkpoint late.ck
        grep -q -- "--resume late.ck" err || fail "$name by ${ranks:-1}, stopped at once: $(cat err)"
        [ $name = quick ] && part=TERM:moments:0.6 || part=TERM:evolution:0.6
        at $part "${line[@]}" --resume late.ck
        [ "$(cat err)" = "wisp: stopped by a signal to end; the last state that was kept is in late.ck" ] ||
            fail "$name by ${ranks:-1}, stopped when it goes on: $(cat err)"
        at TERM:printing:0 "${line[@]}" --resume late.ck --json
        [ "$(cat err)" = "wisp: stopped by a signal to end; the last state that was kept is in late.ck" ] ||
            fail "$name by ${ranks:-1}, stopped behind its results: $(cat err)"
        rm -f late.ck*
    done
done
export WISP_RANKS=
unset -n line
written() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["checkpoint"]["written"])' "$1"; }
at USR1:moments:0.3 "${quick[@]}" --checkpoint usr.ck --every 1000 --json
[ $rc = 0 ] && [ "$(written out)" = 1 ] || fail "SIGUSR1: $rc, $(cat err)"
"$wisp" "${quick[@]}" --checkpoint usr.ck --every 1000 --json >out
[ "$(written out)" = 0 ] || fail "a checkpoint before it was due"

echo "- what is refused"
stopped TERM 1 no.ck "${long[@]}"
# refused STATUS WORDS COMMAND...: one line with these words, and nothing else.
refused() {
    local status=$1 words=$2 rc
    shift 2
    "$wisp" "$@" >out 2>err
    rc=$?
    [ $rc = "$status" ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qF -- "$words" err ||
        fail "wisp $*: $rc, $(cat err)"
}
refused 1 "no.ck is there already" "${long[@]}" --checkpoint no.ck
refused 1 "is of a run with another matrix" dos topi:nx=20,ny=20,nz=10,disorder=0.1 --moments 100000 --vectors 8 --width 4 --resume no.ck
refused 1 "is of a run with --seed 0, and this one has 4" "${long[@]}" --seed 4 --resume no.ck
refused 1 "is of a run with --moments 100000, and this one has 99" dos topi:nx=20,ny=20,nz=10 --moments 99 --vectors 8 --width 4 --resume no.ck
refused 1 "is of a run with --vectors 8 from 0 on, and this one has 9 from 0 on" dos topi:nx=20,ny=20,nz=10 --moments 100000 --vectors 9 --width 4 --resume no.ck
refused 1 "is of a run with --precision complex double, and this one has complex single" "${long[@]}" --precision single --resume no.ck
refused 1 "is of a run with command dos, and this one has count" count topi:nx=20,ny=20,nz=10 --moments 100000 --vectors 8 --width 4 --interval 0,1 --resume no.ck
refused 1 "is of a run with --bounds lanczos, and this one has gershgorin" "${long[@]}" --bounds gershgorin --resume no.ck
refused 1 "is of a run with --bounds lanczos, and this one has 0 -+ 9" "${long[@]}" --bounds=-9,9 --resume no.ck
random=(evolve laplace:nx=8,ny=8,nz=8 --random --watch 3 --time 30 --steps 5 --bounds 0,13)
stopped TERM 1 random.ck "${random[@]}"
refused 1 "is of a run with --seed 0, and this one has 2" "${random[@]}" --seed 2 --resume random.ck
refused 1 "is of a run with --resolution 0, and this one has 0.5" dos topi:nx=20,ny=20,nz=10 --resolution 0.5 --vectors 8 --width 4 --resume no.ck
refused 1 "cannot read nowhere.ck" "${long[@]}" --resume nowhere.ck
refused 1 "quick.json: this is no checkpoint of wisp" "${long[@]}" --resume quick.json
refused 1 "quick.json is there already" "${long[@]}" --checkpoint quick.json
refused 2 "--every is for --checkpoint" "${long[@]}" --every 3
refused 2 "--checkpoint and --output name the same file" "${quick[@]}" --checkpoint r.json --every 1e-6 -o ./r.json
refused 2 "--checkpoint and --save name the same file" "${quick[@]}" --checkpoint r.h5 --save r.h5
refused 2 "--resume and --plot name the same file" "${quick[@]}" --resume r.svg --plot r.svg
refused 2 "--checkpoint and --output name the same file" evolve $small --time 1 --site 0 --checkpoint r.csv -o r.csv
refused 2 "--checkpoint and --output name the same file" solve $small --checkpoint r.mtx -o r.mtx
refused 2 "--checkpoint and --vectors-out name the same file" eig $small --smallest 1 --checkpoint r.mtx -o r.mtx
refused 2 "so it does not go with --from" dos --from m.h5 --resume no.ck
refused 1 "cannot write no/such/folder.ck" "${long[@]}" --checkpoint no/such/folder.ck
[ "$(head -c 8 no.ck)" = wispstat ] || fail "a refused run has touched the checkpoint"

echo "- damaged: the one before it, or a line"
# warned WORDS WHAT: a run that goes on from hurt.ck says so.
warned() {
    at TERM:moments:0 "${long[@]}" --resume hurt.ck
    [ $rc = 1 ] && grep -q "$1" err || fail "$2: $rc, $(cat err)"
}
killed_at 2 hurt.ck "${long[@]}"
[ -e hurt.ck.before ] || fail "there is no hurt.ck.before"
cp hurt.ck whole.ck
printf 'x' | dd of=hurt.ck bs=1 seek=5000 conv=notrunc 2>/dev/null
warned 'hurt.ck: the checkpoint is damaged: its checksum is another one; the checkpoint before it is taken' damaged
rm hurt.ck.before
refused 1 "hurt.ck: the checkpoint is damaged" "${long[@]}" --resume hurt.ck
head -c 9000 whole.ck >hurt.ck
refused 1 "hurt.ck: the checkpoint is damaged: 9000 bytes of" "${long[@]}" --resume hurt.ck

export WISP_RANKS=3 # and a rank's own file
killed_at 2 hurt.ck "${long[@]}"
[ -e hurt.ck.before ] || fail "there is no hurt.ck.before"
part=$(python3 -c 'import struct; print("hurt.ck.%d.1" % struct.unpack_from("<Q", open("hurt.ck", "rb").read(), 24)[0])')
[ -e "$part" ] || fail "there is no $part"
for damage in flipped gone; do
    if [ $damage = gone ]; then rm "$part"; else printf 'x' | dd of="$part" bs=1 seek=5000 conv=notrunc 2>/dev/null; fi
    warned "$part.*; the checkpoint before it is taken" "$part $damage"
done
export WISP_RANKS=

echo "- through a link"
mkdir real
ln -s real/x link.ck
stopped TERM 1 link.ck "${long[@]}"
[ -L link.ck ] && [ -e real/x ] || fail "the link became a file"
rm -r real link.ck

echo "- other numbers of ranks and threads, layouts, --resolution, --precision auto"
# pieces NAME TOLERANCE FIRST SECOND OPTIONS...: killed by SIGTERM with one environment, finished with another.
pieces() {
    local name=$1 tolerance=$2 first=$3 second=$4
    shift 4
    rm -f p.ck*
    env $first "$wisp" "$@" --json >p.want 2>err || fail "$name: $(cat err)"
    env $first WISP_STOP_AT=TERM:checkpoint:2 "$wisp" "$@" --json --checkpoint p.ck >p.json 2>err
    [ $? = 1 ] && grep -q 'to go on, repeat the command with --resume p.ck' err && [ -e p.ck ] ||
        fail "$name, first part: $(cat err)"
    env $second "$wisp" "$@" --json --checkpoint p.ck --resume p.ck >p.json 2>err || fail "$name, second part: $(cat err)"
    python3 - p.want p.json "$tolerance" <<'PY' || fail "$name: moments differ"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
off = max(abs(x - y) for x, y in zip(a["moments"], b["moments"])) / a["moments"][0]
assert len(a["moments"]) == len(b["moments"]) and off <= float(sys.argv[3]), off
assert float(sys.argv[3]) > 0 or a["bounds"] == b["bounds"]
assert b["resumed"] == "p.ck" and a["resumed"] is None and a["checkpoint"] is None
PY
}
m=(dos topi:nx=10,ny=10,nz=8 --moments 400 --vectors 4)
pieces threads 0 OMP_NUM_THREADS=1 OMP_NUM_THREADS=2 "${m[@]}"
pieces threads 0 OMP_NUM_THREADS=2 OMP_NUM_THREADS=1 "${m[@]}" --order rcm
pieces "ranks 1 to 3" 1e-12 WISP_RANKS= WISP_RANKS=3 "${m[@]}"
pieces "ranks 3 to 2" 1e-12 "WISP_RANKS=3 WISP_WEIGHTS=2,0,1" "WISP_RANKS=2" "${m[@]}"
pieces "ranks 3 to 3" 0 "WISP_RANKS=3" "WISP_RANKS=3" "${m[@]}"
pieces "weights of the state" 0 "WISP_RANKS=3 WISP_WEIGHTS=2,0,1" "WISP_RANKS=3" "${m[@]}"
pieces "weights of the state, levels" 0 "WISP_RANKS=3 WISP_WEIGHTS=2,0,1" "WISP_RANKS=3" "${m[@]}" --partition levels
pieces "levels" 1e-12 "WISP_RANKS=3" "WISP_RANKS=2" "${m[@]}" --partition levels
pieces "levels to one" 1e-12 "WISP_RANKS=3" "WISP_RANKS=" "${m[@]}" --partition levels
pieces far 0 WISP_DEVICE=far WISP_DEVICE=far "${m[@]}"
pieces resolution 0 a=1 a=1 dos topi:nx=10,ny=10,nz=8 --resolution 0.03 --vectors 12
pieces precision 0 a=1 a=1 "${m[@]}" --precision auto
pieces exact 0 a=1 a=1 dos $small --moments 30 --trace exact
pieces hermitian 0 a=1 a=1 "${m[@]}" --hermitian-part
pieces reduce 1e-12 WISP_RANKS=2 WISP_RANKS=1 "${m[@]}" --reduce step

echo "- evolve and solve"
# killed NAME KEYS COMMAND...: killed behind its second checkpoint, and it goes on to the same results.
killed() {
    local name=$1 keys=$2
    shift 2
    "$wisp" "$@" --json >p.want 2>err || fail "$name: $(cat err)"
    killed_at 2 p.ck "$@"
    OMP_NUM_THREADS=1 "$wisp" "$@" --json --checkpoint p.ck --resume p.ck >p.json 2>err || fail "$name goes on: $(cat err)"
    python3 - p.want p.json "$keys" <<'PY' || fail "$name: not the same"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
for key in sys.argv[3].split(): assert a[key] == b[key], key
assert b["resumed"] == "p.ck" and a["resumed"] is None and a["checkpoint"] is None
PY
    nothing_left p.ck "$name"
}
evolution=(evolve topi:nx=10,ny=10,nz=8 --time 200 --steps 40 --site 5,9)
killed evolve "times norm density sweeps sequences" "${evolution[@]}"
killed "evolve, random" "times norm density sweeps" "${evolution[@]:0:6}" --random --watch 3
system=(solve laplace:nx=14,ny=14,nz=12 --rhs random:3x3 --tol 1e-13)
for method in "cg" "cg --variant hidden" "cg --precond chebyshev:3" "gmres --restart 60" minres; do
    # shellcheck disable=SC2086
    killed "solve by $method" "iterations residuals residual_history products" "${system[@]}" --method $method -o x.mtx
    [ -s x.mtx ] || fail "solve by $method: no x"
done
WISP_RANKS=3 killed "solve by 3 ranks" "iterations residuals residual_history" "${system[@]}" --method minres
WISP_RANKS=3 killed "solve by 3 ranks, bicgstab" "iterations residuals residual_history" "${system[@]}" --method bicgstab
stopped TERM 2 s.ck "${evolution[@]}"
refused 1 "is of a run with start rows" evolve topi:nx=10,ny=10,nz=8 --time 200 --steps 40 --site 5,10 --resume s.ck
refused 1 "is of a run with rows that are watched" "${evolution[@]}" --watch 1 --resume s.ck
refused 1 "is of a run with --steps 40, and this one has 41" evolve topi:nx=10,ny=10,nz=8 --time 200 --steps 41 --site 5,9 --watch 5,9 --resume s.ck
refused 1 "is of a run with command evolve, and this one has solve" solve topi:nx=10,ny=10,nz=8 --resume s.ck
rm -f s.ck*
# While a system is proved to have no solution there is no state to be had, but the signal ends the run, with x.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 40, 40, 80
    for (i = 1; i <= 40; i++) { print i, i, 1; print i, i % 40 + 1, i == 7 ? -2 : i == 8 ? -0.5 : -1 } }' >ring.mtx
for method in gmres bicgstab idr; do
    at TERM:proving:0 solve ring.mtx --rhs random:1 --method $method --checkpoint s.ck --every 1000 -o ring_x.mtx
    [ $rc = 1 ] && [ -s ring_x.mtx ] || fail "stopped in a proof, $method: status $rc, $(cat err)"
    rm -f s.ck* ring_x.mtx
done
WISP_STOP_AT=KILL:checkpoint:1000 "$wisp" "${system[@]}" --method minres --maxit 40 --checkpoint s.ck >out 2>err
[ $? = 3 ] && [ -e s.ck ] || fail "too few iterations: $(cat err)"
"$wisp" "${system[@]}" --method minres --json >p.want || fail "solve by minres"
"$wisp" "${system[@]}" --method minres --resume s.ck --json >p.json 2>err || fail "more iterations: $(cat err)"
python3 -c 'import json
a, b = (json.load(open(name)) for name in ("p.want", "p.json"))
assert a["residual_history"] == b["residual_history"]' || fail "more iterations: not the same"
refused 1 "right-hand side" solve laplace:nx=14,ny=14,nz=12 --rhs random:4x3 --tol 1e-13 --method minres --resume s.ck
refused 1 "is of a run with --tol " solve laplace:nx=14,ny=14,nz=12 --rhs random:3x3 --tol 1e-12 --method minres --resume s.ck
one=(solve laplace:nx=40,ny=40,nz=30 --rhs random:3 --tol 1e-13 --method gmres)
bound=$("$wisp" "${one[@]}" --checkpoint plan.ck --plan --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["bound_bytes"] if o["checkpoint_bytes"] > 33 * 48000 * 8 else 0)')
WISP_STOP_AT=USR1:solving:0.3 "$wisp" "${one[@]}" --checkpoint plan.ck --every 1000 --mem-limit "$bound" --json >plan.json 2>err || fail "solve within the plan: $(cat err)"
python3 -c 'import json; o = json.load(open("plan.json"))["checkpoint"]; assert o["written"] == 1 and o["failed"] == 0, o' || fail "solve within the plan: none was written"
rm -f plan.ck*

if "$wisp" --version | grep -q '^features:.* mpi' && command -v mpirun >/dev/null; then
    echo "- processes under mpirun: one is killed, the others end, and as many or fewer go on"
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 # as tests/processes.sh
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    by_mpi=(dos topi:nx=12,ny=12,nz=8 --moments 300 --vectors 8 --width 4 --threads 1 --json)
    launch() { mpirun --oversubscribe -n "$1" "$wisp" "${by_mpi[@]}" "${@:2}"; }
    launch 3 >mp.want 2>err || fail "by 3 processes: $(cat err)"
    for victim in 0 2; do # the first rank, and the last one
        rm -f mp.ck*
        WISP_STOP_AT=KILL:checkpoint:2@$victim launch 3 --checkpoint mp.ck >mp.out 2>err &&
            fail "a run whose process was killed ends well"
        [ -e mp.ck ] || fail "no checkpoint by 3 processes"
        for ranks in 3 2; do
            rm -f copy.ck*
            launch $ranks --resume mp.ck --checkpoint copy.ck --every 0.01 >mp.json 2>err || fail "by $ranks processes: $(cat err)"
            python3 - mp.want mp.json $ranks <<'PY' || fail "by $ranks processes: moments differ"
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
off = max(abs(x - y) for x, y in zip(a["moments"], b["moments"])) / a["moments"][0]
assert b["ranks"] == int(sys.argv[3]) and off <= (0 if b["ranks"] == 3 else 1e-12), off
PY
            nothing_left copy.ck "by $ranks processes"
        done
    done
fi

echo "- a signal when what takes long is done: the rest goes to its end"
h=haldane:nx=8,ny=8,disorder=1
# unbroken STOP KIND ARGS...: the results, a file of that kind, are those of a run that nobody stops
unbroken() {
    local want=unbroken_want.$2 got=unbroken_got.$2
    "$wisp" "${@:3}" --quiet -o "$want" >out 2>err || fail "unbroken, ${*:3}: $(cat err)"
    at "$1" "${@:3}" --quiet -o "$got" --checkpoint unbroken.ck
    [ $rc = 0 ] && ! grep -q . err && cmp -s <(grep -v '^[#%]' "$want") <(grep -v '^[#%]' "$got") ||
        fail "$1 of ${*:3} on ${WISP_RANKS:-1} rank(s): $rc, $(cat err)"
    nothing_left unbroken.ck "$1 of ${*:3}"
    rm -f "$got"
}
for ranks in "" 3; do
    export WISP_RANKS=$ranks
    unbroken TERM:moments:1 csv dos $h --moments 400
    unbroken INT:evaluating:0 csv dos $h --moments 400
    unbroken TERM:temperatures:0 csv thermal $h --moments 64 --temperatures 1,2
    unbroken TERM:conductivity:0 csv sigma $h --direction xx --moments 64 --vectors 4
    unbroken TERM:conductivity:0 csv sigma $h --direction xx --moments 64 --vectors 4 --precision auto --left-bytes 20000
    unbroken TERM:expansion:1 mtx apply $h --function fermi:0,0.1
    unbroken TERM:map:1 csv map $h --energies 0 --moments 64 --vectors 4
done
export WISP_RANKS=
unbroken HUP:evolution:1 csv evolve $h --time 5 --steps 5 --site 0
# What comes after the moments takes long: it is stopped, and its state kept.
cooled=(thermal $h --moments 64 --temperatures 0.001,1 --vectors 2 --cool --quiet --checkpoint cooled.ck -o cooled.csv)
for ranks in "" 3; do
    export WISP_RANKS=$ranks
    at TERM:moments:1 "${cooled[@]}"
    [ $rc = 1 ] && grep -q 'to go on, repeat the command with --resume cooled.ck' err || fail "cooling, stopped: $rc, $(cat err)"
    # Moments are made anew then, without states: a signal ends that at once.
    at TERM:moments:0.5 "${cooled[@]}" --resume cooled.ck
    [ $rc = 1 ] && grep -q 'the last state that was kept is in cooled.ck' err || fail "cooling, stopped again: $rc, $(cat err)"
    "$wisp" "${cooled[@]}" --resume cooled.ck 2>err || fail "cooling, going on: $(cat err)"
done
export WISP_RANKS=
# A terminal's Ctrl-C is for all that it has started: what draws goes on as well.
if drawer=$(command -v gnuplot); then
    mkdir -p draws
    printf '#!/bin/sh\nkill -s INT -- -$PPID\nexec %s "$@"\n' "$drawer" >draws/gnuplot
    chmod +x draws/gnuplot
    PATH=$PWD/draws:$PATH setsid -w env --default-signal=INT "$wisp" "${quick[@]}" --quiet --checkpoint drawn.ck --plot drawn.svg 2>err &&
        [ -s drawn.svg ] || fail "drawing: $(cat err)"
fi

echo "- memory: as planned"
bound=$("$wisp" "${run[@]}" --checkpoint plan.ck --plan --json | python3 -c 'import json, sys; o = json.load(sys.stdin); print(o["bound_bytes"] if o["checkpoint_bytes"] > 2 * 4608 * 4 * 16 else 0)')
WISP_STOP_AT=USR1:moments:0.3 "$wisp" "${run[@]}" --checkpoint plan.ck --every 1000 --mem-limit "$bound" --json >plan.json 2>err || fail "within the plan: $(cat err)"
grep -q . err && fail "within the plan: $(cat err)"
python3 -c 'import json; o = json.load(open("plan.json"))["checkpoint"]; assert o["written"] == 1 and o["failed"] == 0, o' || fail "within the plan: none was written"
"$wisp" "${run[@]}" --checkpoint plan.ck --plan | grep -q '^checkpoint  *about .* of memory, and up to .* on the disk' || fail "--plan says nothing"

wait 2>/dev/null
[ $bad = 0 ] && echo "- all passed"
exit $bad
