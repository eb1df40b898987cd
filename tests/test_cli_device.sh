#!/bin/bash
# The memory of a device that has its own (plain): what --plan says of it and of the host against what runs take, limits, and
# what `wisp machine` measures and keeps of a device.
. "$2/tests/cli.sh"
share_kernels
export WISP_DEVICE=plain
key() { sed -n "s/^.*\"$1\": \([0-9]*\).*$/\1/p" "${2:-plan.json}"; }
WISP_DEVICE=cpu ok dos topi:nx=3,ny=3,nz=3 --moments 4 --vectors 1 --plan --json --mem-limit 200MB
check "no device's memory on the CPU" test -z "$(grep device_bytes out)"

# planned COMMAND MATRIX OPTIONS...: bounds of both sides against the run, which has just as much on each.
planned() {
    ok "$@" --plan --json --mem-limit 200MB --device-mem-limit 200MB || return
    cp out plan.json
    ok "$@" --json --mem-limit "$(key host_bound_bytes)" --device-mem-limit "$(key device_bound_bytes)" || return
    [ $have_python = 1 ] || return 0
    checks=$((checks + 4))
    python3 - "${only_bound:-}" "$*" <<'PY' || fail "wisp $*: the run and its plan"
import json, sys
p, r = json.load(open("plan.json")), json.load(open("out"))
took, about, bound = r["device_memory_bytes"], p["device_bytes"], p["device_bound_bytes"]
print("%s: %.2f MB on the device, planned %.2f of it, bound %.2f" % (sys.argv[2], took / 1e6, about / took, bound / took))
assert 0 < took <= bound
assert r["memory_bytes"] <= p.get("bound_bytes", p["total_bytes"]) >= bound
assert sys.argv[1] or 0.9 <= about / took <= 1.6
assert about <= bound and p["host_bytes"] <= p["host_bound_bytes"] and p["device_limit_bytes"] == 200000000
PY
}
planned dos topi:nx=12,ny=12,nz=12 --moments 8 --vectors 4
planned dos anderson:nx=30,ny=30,nz=30,disorder=2 --moments 8 --vectors 4 --precision single --bounds=-9,9
planned solve laplace:nx=40,ny=40,nz=20 --method cg --rhs ones --tol 0.1
planned solve laplace:nx=30,ny=30,nz=20 --method gmres --restart 5 --rhs random:1x2 --tol 0.9
planned power laplace:nx=40,ny=40,nz=20 -p 4 --width 2
planned evolve anderson:nx=20,ny=20,nz=20,disorder=1 --time 0.1 --site 0 --bounds=-9,9
planned eig anderson:nx=15,ny=7,nz=5,disorder=4 --interval 0,0.1 --tol 1e-4
only_bound=1 planned eig laplace:nx=20,ny=20,nz=12 --largest 2 --tol 1e-2

# ---- what does not fit is refused before it begins, in one line
run="power laplace:nx=40,ny=40,nz=20 -p 4 --width 2"
ok $run --plan
check "both sides are told" test "$(grep -c '^device  *about .* of .* on plain$\|^host  *about .* (at most .*)$' out)" = 2
ok $run
check "a summary names the device" grep -q "^run .*, device plain, " out
refused 1 "on the device plain (matrix " $run --device-mem-limit 1MB
check "nothing was computed" grep -q "more than --device-mem-limit 1 MB" err
refused 1 "memory" $run --mem-limit 100kB
refused 1 "on the device plain (matrix " dos laplace:nx=40,ny=40,nz=20 --moments 4 --device-mem-limit 1MB
refused 1 "on the device plain (matrix " solve laplace:nx=40,ny=40,nz=20 --device-mem-limit 1MB
refused 1 "on the device plain (matrix " eig laplace:nx=40,ny=40,nz=20 --largest 2 --device-mem-limit 100kB
refused 1 "on the device plain (matrix " evolve laplace:nx=40,ny=40,nz=20 --time 1 --site 0 --device-mem-limit 100kB

# ---- ranks: each its device, and a part of the memory of one that they share
run="solve laplace:nx=12,ny=11,nz=10 --method cg --rhs random:3 --tol 1e-11"
ok $run --device cpu -o one.mtx
for devices in plain cpu,plain plain,cpu,far; do
    WISP_RANKS=3 ok $run --device $devices -o many.mtx --json
    cp out many.json
    [ $have_python = 0 ] || check "solutions of ranks on $devices" python3 - <<'PY'
a, b = ([float(x) for x in open(name).read().split("\n", 2)[2].split() if x[0] != "%"] for name in ("one.mtx", "many.mtx"))
assert len(a) == len(b) > 1000 and max(abs(x - y) for x, y in zip(a, b)) < 1e-9 * max(map(abs, a))
PY
done
json many.json 'd["devices"] == ["plain", "cpu", "far"] and d["device"] == "plain" and d["device_memory_bytes"] > 0'
WISP_RANKS=3 ok $run --device cpu,plain --json --weights measured
json out 'd["devices"] == ["cpu", "plain", "cpu"] and d["device"] == "cpu" and d["device_memory_bytes"] > 0 and min(d["weights"]) > 0'
WISP_RANKS=3 ok $run --device cpu,far,plain
check "a summary names all devices" grep -q "^run  *devices cpu, far, plain, 3 processes" out
ok $run --device plain --plan --json
cp out alone.json
WISP_RANKS=2 ok $run --device plain --plan --json
json out 'abs(2 * d["device_limit_bytes"] - e["device_limit_bytes"]) <= 2' alone.json
WISP_RANKS=2 ok $run --device plain --plan
check "a plan tells of a part" grep -q "^device .* on plain, for each of 2 processes$" out
WISP_RANKS=2 ok $run --device cpu,plain --plan
check "a plan tells of the rank that has one" grep -q "^device .* on plain$" out
WISP_RANKS=2 refused 1 "on the device plain (matrix " $run --device cpu,plain --device-mem-limit 10kB
ok dos topi:nx=3,ny=3,nz=3 --moments 4 --device cpu,plain --plan --json
json out 'd["device"] == "cpu" and d["total_seconds"] >= d["start_seconds"] + d["assemble_seconds"] > d["start_seconds"] > 0'
refused 2 "expected one of cpu|" $run --device cpu,plain:1
refused 2 "expected one of cpu|" $run --device cpu,

# ---- a first run says what takes it so long
for first in 1 0; do
    checks=$((checks + 1))
    XDG_CACHE_HOME=$PWD/fresh "$wisp" power laplace:nx=3,ny=3,nz=1 -p 1 --device plain --log text >out 2>err || fail "power on plain: $(cat err)"
    [ "$(grep -c "compiling kernels for the device 'plain'" err)" = $first ] || fail "kernels that are compiled: not $first line of it: $(cat err)"
done
for name in cpu far; do
    refused 1 "--device-mem-limit: the device '$name' has no memory of its own" $run --device $name --device-mem-limit 1GB
done

# ---- a device's figures are its own, and kept apart from the CPU's
unset WISP_DEVICE
export WISP_STREAM_LIMIT=1048576 WISP_MEASURE_LIMIT=100
simulated=${WISP_MACHINE:-}
unset WISP_MACHINE
file=cache/wisp/machine-$(uname -n)-plain.json
"$wisp" machine --device plain --json >out 2>err
rc=$?
check "measured ($rc: $(cat err))" sh -c "[ $rc = 0 ] || [ $rc = 3 ] && grep -q 'be true' err || [ $rc = 0 ]"
json out 'd["device"] == "plain" and d["isa"] == "plain" and d["cores"] == 2 and d["threads"] == 2 and d["dgemm_gflops"] is None'
json out 'd["launch_seconds"] > 0 and d["round_trip_seconds"] > 0 and d["bandwidth_gbs"]["memory"]["load"][1] > 0 and d["bandwidth_gbs"]["L2"]["copy"][1] > 0'
check "the CPU has no file" test ! -e "cache/wisp/machine-$(uname -n).json"
made_up '[null, 20]' '[null, 32]' '[null, 12.5]' <out | sed 's/"L2": {"load": .8, 16.}/"L2": {"load": [null, 16]}/; s/"double": .5, 10./"double": [null, 10]/' >"$file"
ok machine --device plain --json
json out 'd["bandwidth_gbs"]["memory"]["load"][1] == 12.5 and d["measured"][:4] == "2020"'
ok power laplace:nx=9,ny=9,nz=1 -p 4 --plan --device plain
check "plans go by it" grep -q 'at a load bandwidth of 12.5 GB/s kept by wisp machine' out
cp "$file" kept.json
sed -i 's/"launch_seconds": [^,]*/"launch_seconds": 5/' "$file"
"$wisp" power laplace:nx=9,ny=9,nz=1 -p 4 --device plain --json >out 2>err
check "launches that can't be" grep -q "plain.json is not taken: .* can't be true: launches: " err
sed 's/null, 12\.5/null, -3/' kept.json >"$file"
"$wisp" power laplace:nx=9,ny=9,nz=1 -p 4 --device plain --json >out 2>err
check "what can't be true is not taken" grep -q "plain.json is not taken: " err
check "who makes it anew is told" grep -q ".wisp machine --device plain. makes it anew" err
rm "$file"

# ---- the bench: rows on the device, beside its own ceilings
refused 1 "the device's ceilings take" bench spmmv laplace:nx=6,ny=6,nz=6 --device plain --device-mem-limit 500kB
ok bench stream --device plain --json
json out '{r["level"] for r in d["rows"]} == {"memory", "L2"} and all(r["device"] == "plain" and r["gbs"] > 0 for r in d["rows"])'
ok bench spmmv laplace:nx=6,ny=6,nz=6 --widths 1,4 --format all --repeats 7 --device plain --json
json out 'd["machine"]["device"] == "plain" and all(r["device"] == "plain" and r["seconds"] > 0 for r in d["rows"]) and len(d["rows"]) >= 4'
ok bench mpk laplace:nx=6,ny=6,nz=6 --widths 1 --powers 1,4 --repeats 7 --device plain
check "the device's ceilings" grep -q '^ceilings  *load .* GB/s, from L2 .*, copy .*, multiply-add .* Gflop/s$' out
refused 1 "reference runs on the CPU alone, and the others on the device plain" bench kpm topi:nx=3,ny=3,nz=3 --variant reference --device plain
[ -z "$simulated" ] || export WISP_MACHINE=$simulated
finish
