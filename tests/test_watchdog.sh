#!/usr/bin/env bash
# Runs by several processes, some of which die, are stopped or cut off: all end soon, and one line says why. First on
# this host, then on two (two_hosts.sh), for which root is needed; skipped as in test_hosts.sh. What needs silence, and so
# real seconds, or a link that is cut, is left to tests/nightly/watchdog.sh, which calls this with "all" as $4.
set -euo pipefail
rm -rf "$3"
mkdir -p "$3"
cd "$3"
export XDG_CACHE_HOME=$PWD/cache
fail() {
    echo "test_watchdog: $*" >&2
    tail -n 20 out err >&2 || true
    exit 1
}
skip() {
    echo "test_watchdog: $*"
    [ -z "${WISP_NO_SKIP:-}" ] || exit 1
    exit 77
}
cp "$1" wisp # by its name the processes of this test are known
wisp=$PWD/wisp
"$wisp" --version | grep -q '^features:.* mpi' || skip "this build has no MPI"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "there is no mpirun of Open MPI's"
python3 -c 'import os; os.pidfd_open' 2>/dev/null || skip "there is no python3 of 3.9 or later"
# shellcheck source=tests/two_hosts.sh
. "$2/tests/two_hosts.sh"

run= all=${4:-}
# Processes of this test, in words of ranks, watchdogs or all; zombies have no program any more.
pids() {
    local pid
    { find /proc/[0-9]* -maxdepth 1 -name exe -lname "$wisp" 2>/dev/null || true; } | while IFS=/ read -r _ _ pid _; do
        case $1/$(cat "/proc/$pid/comm" 2>/dev/null) in
        all/* | ranks/wisp | watchdogs/wisp-watchdog) echo "$pid" ;;
        esac
    done
}
clean() {
    [ -z "$run" ] || kill -9 "$run" 2>/dev/null || true
    pids all | xargs -r kill -9 2>/dev/null || true
    remove_hosts
}
trap clean EXIT

launcher="mpirun --oversubscribe --bind-to none -n 3" ranks=3
# Nothing here waits for a silence, but for all that is nightly: there it is short, and ends are, too.
silence=60 patience=() stop=${WISP_STOP_SECONDS:-12}
[ -z "$all" ] || silence=4 patience=(timeout 60)
endless=(dos 'topi:nx=30,ny=30,nz=20' --moments 200000 --vectors 8 --threads 1 --log text --watchdog "$silence")
# begin WATCHDOGS ARGUMENTS...: $ranks processes, up to where they compute and so many have a watchdog; $run is the
# launcher, and $copier copies what it says to err.
begin() {
    local line=
    : >out
    : >err
    rm -f told && mkfifo told
    # shellcheck disable=SC2086 # words
    $launcher "$wisp" "${@:2}" >out 2>told 8<&- &
    run=$!
    exec 8<told
    until [[ $line = 'wisp: moments'* ]]; do
        IFS= read -r line <&8 || fail "${*:2}: it does not begin"
        printf '%s\n' "$line" >>err
    done
    cat <&8 >>err &
    copier=$!
    exec 8<&-
    # Who computes has its watchdog, if any: a process waits until that has begun.
    [ "$(pids watchdogs | wc -l)" = "$1" ] || fail "${*:2}: $(pids watchdogs | wc -l) watchdogs"
}
# rank N, watchdog N: the process and the watchdog that began as the N-th, from 1.
rank() { pids ranks | sort -n | sed -n "$1p"; }
watchdog() { ps -o pid=,comm= --ppid "$(rank "$1")" | awk '$2 == "wisp-watchdog" { print $1 }'; }
ended() { [ -z "$(pids all)" ]; }
# The end of each process that there is now.
await_ends() {
    pids all | xargs "${patience[@]}" python3 -c '
import os, select, sys
for pid in sys.argv[1:]:
    try:
        end = os.pidfd_open(int(pid))
    except ProcessLookupError:
        continue
    select.select([end], [], [])'
}
# gone WORDS: no process is left, within 60 seconds if all is tested, and the one message has these words; "": the launcher
# can't tell it. How long it took is told, and not tested.
gone() {
    local began=$SECONDS status=0
    until ended; do
        await_ends || fail "there are still $(pids all | xargs ps -o pid,ppid,stat,args -p)"
    done
    echo "  gone after $((SECONDS - began)) s"
    { wait "$run"; } 2>/dev/null || status=$?
    run=
    [ $status -ne 0 ] || fail "its status is 0"
    [ -n "$1" ] || return 0
    wait "$copier"
    [ "$(grep -c 'processes are ended' err)" = 1 ] || fail "there should be one line on the end"
    grep -Eq "^wisp: $1.*; all $ranks processes are ended\$" err || fail "there should be a line with: $1"
}
# well: the launcher's status is 0, and nothing is left.
well() {
    wait "$run" || fail "the run does not end well"
    run=
    wait "$copier"
    ended || fail "processes are left: $(pids all)"
    if grep -q 'watchdog\|are ended' err; then fail "a run that ends well speaks of its watchdogs"; fi
}

echo "- a rank is killed"
begin $ranks "${endless[@]}"
kill -9 "$(rank 2)"
gone "process 1 on $(hostname) has died"

echo "- a watchdog is killed"
begin $ranks "${endless[@]}"
kill -9 "$(watchdog 3)"
gone "the watchdog of process 2 on $(hostname) has died"

echo "- the launcher is killed"
begin $ranks "${endless[@]}"
kill -9 "$run"
gone ""

if [ -n "$all" ]; then
    short=(dos 'topi:nx=20,ny=20,nz=20' --moments 2048 --vectors 8 --threads 1 --log text --watchdog)
    echo "- a rank is stopped"
    begin $ranks "${endless[@]}"
    kill -STOP "$(rank 3)"
    gone "process 2 on $(hostname) has been stopped for $silence seconds"

    echo "- a rank and its watchdog are stopped"
    begin $ranks "${endless[@]}"
    kill -STOP "$(watchdog 1)" "$(rank 1)"
    gone "nothing was heard of process 0 on $(hostname)"

    for which in ranks all; do
        echo "- stopped together, and continued: $which"
        begin 3 "${short[@]}" "$silence"
        pids "$which" | xargs kill -STOP
        sleep "$stop"
        [ "$(pids all | wc -l)" = 6 ] || fail "processes are missing"
        pids "$which" | xargs kill -CONT
        well
    done
fi

echo "- none is asked for"
begin 0 "${endless[@]::${#endless[@]}-1}" off
[ -z "$(pids watchdogs)" ] || fail "--watchdog off leaves watchdogs"
kill -TERM "$run"
gone ""

echo "- failures of all together, and good ends, have no more to say"
for run_of in "dos nowhere.mtx" "dos $2/tests/data/cage5.mtx" "dos topi --watchdog 0"; do
    # shellcheck disable=SC2086 # words
    if $launcher "$wisp" $run_of >out 2>err; then fail "$run_of: its status is 0"; fi
    [ "$(grep -v 'processes share .* core' err | grep -c '^wisp: ')" = 1 ] || fail "$run_of: more than one line"
    ended || fail "$run_of: processes are left"
done
$launcher "$wisp" dos topi:nx=4,ny=4,nz=2 --moments 16 --quiet >out 2>err || fail "a short run"
! grep -qv 'processes share .* core' err || fail "a short run speaks"
ended || fail "a short run leaves processes"

make_hosts
# The launcher, too, has to see that a host is gone: by keepalives while it has nothing to send, else by retransmissions.
for host in $a $b; do ip netns exec "$host" sh -c 'echo 5 >/proc/sys/net/ipv4/tcp_retries2' || true; done
keepalive="--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3"
launcher="./both 2 $keepalive" ranks=4
# Those on host B: the third and fourth.
on_b() { pids "$1" | sort -n | grep -Fxf <(ip netns pids $b) | sed -n 1p; }

echo "- two hosts, and a rank is killed"
begin $ranks "${endless[@]}"
kill -9 "$(on_b ranks)"
gone "process [23] on $b has died"

echo "- two hosts, and the launcher is killed"
begin $ranks "${endless[@]}"
kill -9 "$run"
gone ""

if [ -n "$all" ]; then
    for host in $a $b; do
        echo "- two hosts, and the link is cut at ${host%-*}"
        begin $ranks "${endless[@]}"
        ip -n "$host" link set veth down
        gone "nothing was heard of process [0-3] on wisp-"
        ip -n "$host" link set veth up
    done

    echo "- two hosts, and a rank is stopped"
    begin $ranks "${endless[@]}"
    kill -STOP "$(on_b ranks)"
    gone "process [23] on $b has been stopped for"
fi
echo "- all passed"
