#!/usr/bin/env bash
# Runs on two hosts (two_hosts.sh). Root can make them; for others, and where something is missing, this is skipped,
# unless WISP_NO_SKIP=1 makes that a failure, as CI does.
set -euo pipefail
wisp=$1
rm -rf "$3"
mkdir -p "$3"
cd "$3"
export XDG_CACHE_HOME=$PWD/cache
fail() { echo "test_hosts: $*" >&2; exit 1; }
skip() {
    echo "test_hosts: $*"
    [ -z "${WISP_NO_SKIP:-}" ] || exit 1
    exit 77
}
"$wisp" --version | grep -q '^features:.* mpi' || skip "this build has no MPI"
# shellcheck source=tests/python.sh
. "$2/tests/python.sh"
# shellcheck source=tests/two_hosts.sh
. "$2/tests/two_hosts.sh"
trap remove_hosts EXIT
make_hosts
both() { ./both 1 "$@"; }
# Bytes that have left this host.
sent() { ip netns exec "$1" cat /sys/class/net/veth/statistics/tx_bytes; }

echo "- who sits where"
both "$wisp" machine >out 2>err || grep -q "can't be true" err || fail "machine: $(cat out err)"
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
