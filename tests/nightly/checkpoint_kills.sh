#!/usr/bin/env bash
# Runs that are killed at random times and go on, $KILLS of them (1000), by one process and by three ranks.
# usage: tests/nightly/checkpoint_kills.sh [BUILD-FOLDER]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
source=$PWD kills=${KILLS:-1000}
build=$(cd "${1:-build}" && pwd) && scratch=$(mktemp -d) || exit 1
# What runs are, and how results are compared.
. tests/test_checkpoint.sh "$build/wisp" "$source" "$scratch/runs" kills
run=(dos topi:nx=20,ny=20,nz=10 --moments 1500 --vectors 8 --width 4 --seed 3)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT

# await COMMAND...: until it holds; not, if the run in the background (pid) ends before.
await() {
    until "$@"; do
        kill -0 $pid 2>/dev/null || { "$@"; return; }
        sleep 0.01
    done
}
inode() { stat -c %i "$1" 2>/dev/null; }
renewed() { [ "$(inode "$1")" != "$2" ]; }
# A chain of runs, each of which is killed at random, mostly when it has got ahead by a generation or two, until one comes
# to its end. Adds to `killed`, `resumed`.
chain() { # chain RANKS NAME
    local ranks=$1 file=$2.ck resume=() rc begun=0
    rm -f "$file"*
    while :; do
        WISP_RANKS=$ranks "$wisp" "${run[@]}" --json --checkpoint "$file" --every 0.03 "${resume[@]}" >"$2.json" 2>"$2.err" &
        local pid=$! n
        for ((n = RANDOM % 4; n > 0; n--)); do await renewed "$file" "$(inode "$file")"; done
        sleep 0.0$((RANDOM % 100))
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        rc=$?
        if [ $rc = 0 ]; then break; fi
        if [ $rc != 137 ]; then
            fail "a run that goes on ($ranks ranks): $(cat "$2.err")"
            return
        fi
        killed=$((killed + 1))
        begun=$((begun + 1))
        [ $begun -lt 200 ] || { fail "a chain of $ranks ranks does not end"; return; }
        resume=()
        if [ -e "$file" ]; then
            resume=(--resume "$file")
            resumed=$((resumed + 1))
        else
            [ ! -e "$file.before" ] || fail "a moment without a last state"
        fi
    done
    same "want$ranks.json" "$2.json" "a chain of $ranks ranks, killed $begun times"
    nothing_left "$file" "a chain"
}

for ranks in "" 3; do
    WISP_RANKS=$ranks "$wisp" "${run[@]}" --json >"want$ranks.json" || fail "the run itself"
    killed=0 resumed=0
    while [ $killed -lt $((kills / 2)) ] && [ $bad = 0 ]; do chain "$ranks" kill; done
    echo "${ranks:-1} rank(s): killed $killed times, gone on with $resumed times"
    [ "$resumed" -gt $((killed / 4)) ] || fail "few went on"
done
exit $bad
