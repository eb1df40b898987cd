#!/usr/bin/env bash
# Two hosts: network namespaces of this machine, joined by a pair of virtual devices, each with a hostname of its own.
# Between them Open MPI has TCP alone, and the devices count the bytes. Root can make namespaces; for others, and where
# something is missing, this is skipped, unless WISP_NO_SKIP=1 makes that a failure, as CI does.
set -euo pipefail
wisp=$1
rm -rf "$3"
mkdir -p "$3"
cd "$3"
fail() { echo "test_hosts: $*" >&2; exit 1; }
skip() {
    echo "test_hosts: $*"
    [ -z "${WISP_NO_SKIP:-}" ] || exit 1
    exit 77
}
"$wisp" --version | grep -q '^features:.* mpi' || skip "this build has no MPI"
for program in mpirun ip unshare; do command -v $program >/dev/null || skip "there is no $program"; done
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
[ "$(id -u)" = 0 ] || skip "only root can make network namespaces"

a=wisp-a-$$ b=wisp-b-$$
remove() {
    local name
    for name in $a $b; do
        ip netns pids $name 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns del $name 2>/dev/null || true # its device and the other end go with it
    done
}
trap remove EXIT
ip netns add $a 2>err || skip "ip can't make a network namespace here: $(cat err)"
ip netns add $b
ip link add veth netns $a type veth peer name veth netns $b 2>err || skip "ip can't make virtual devices here: $(cat err)"
for host in "$a 10.77.0.1" "$b 10.77.0.2"; do
    read -r name address <<<"$host"
    ip -n "$name" address add "$address/24" dev veth
    ip -n "$name" link set veth up
    ip -n "$name" link set lo up
done
# on NAME COMMAND...: there, with its hostname.
cat >on <<'ON'
#!/bin/sh
name=$1
shift
exec ip netns exec "$name" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$name" "$@"
ON
# What mpirun calls in place of ssh, with an address and the words of a shell command.
cat >remote <<REMOTE
#!/bin/sh
shift
exec "$PWD/on" $b sh -c "\$*"
REMOTE
chmod +x on remote

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The network of all that mpirun sets up, too; each host believes that all cores are its own.
both() {
    timeout 120 ./on $a mpirun -n 2 --host 10.77.0.1:1,10.77.0.2:1 --bind-to none --mca plm_rsh_agent "$PWD/remote" \
        --mca oob_tcp_if_include veth --mca btl_tcp_if_include veth --mca pml ob1 --mca btl tcp,self "$@"
}
# Bytes that have left this host.
sent() { ip netns exec "$1" cat /sys/class/net/veth/statistics/tx_bytes; }

echo "- who sits where"
both "$wisp" machine >out 2>err || fail "machine: $(cat out err)"
grep -q "^process 0 *$a, " out && grep -q "^process 1 *$b, " out || fail "machine: $(cat out err)"

echo "- moments of two hosts, and the bytes between them"
matrix=topi:nx=16,ny=16,nz=10 moments=64
run="dos $matrix --moments $moments --vectors 8 --width 8 --threads 1 --json"
"$wisp" info "$matrix" --ranks 2 --width 8 --json >plan.json
# shellcheck disable=SC2086 # words
"$wisp" $run >one.json
before_a=$(sent $a) before_b=$(sent $b)
# shellcheck disable=SC2086 # words
both "$wisp" $run >two.json 2>err || fail "$run: $(cat err)"
python3 - $moments $(($(sent $a) - before_a)) $(($(sent $b) - before_b)) <<'PY' || fail "two hosts differ from one, or the bytes took another way"
import json, sys
moments, *sent = map(int, sys.argv[1:])
one, two, plan = (json.load(open(name)) for name in ("one.json", "two.json", "plan.json"))
assert two["ranks"] == 2 and len(one["moments"]) == len(two["moments"]) == moments
off = max(abs(x - y) for x, y in zip(one["moments"], two["moments"])) / one["moments"][0]
print(f"moments differ by {off:.1e} of mu_0")
assert off <= 1e-12
for part, bytes in zip(plan["parts"], sent):
    least = (moments // 2 - 1) * part["sent_bytes"]  # two moments a product
    print(f"{bytes} bytes were sent, the plan has {least} at least")
    assert bytes >= least > 2**21  # what mpirun itself sends is far less
PY
echo "- all passed"
