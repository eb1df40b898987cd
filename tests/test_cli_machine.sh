#!/bin/bash
# wisp machine: what it measures is kept for later runs, or it says that it is not.
. "$2/tests/cli.sh"
unset WISP_MACHINE

ok machine --threads 1 --json
json out 'd["threads"] == 1 and d["load_gbs"] > 0'
check "the kept file" sh -c 'test -s cache/wisp/machine-*.json'
cp out kept.json
ok machine --threads 1 --json
json out 'd["bandwidth_gbs"] == e["bandwidth_gbs"] and d["fma_gflops"] == e["fma_gflops"]' kept.json

# Devices: those of this build, not of the kept file.
ok machine --threads 1 --json
json out '[(x["name"], x["number"], x["for_tests"]) for x in d["devices"]] == [("cpu", 0, False), ("far", 0, True), ("far:1", 1, True)]'
json out 'all(x["memory_bytes"] == d["memory_bytes"] and x["what"] for x in d["devices"])'
json cache/wisp/machine-*.json '"devices" not in d'
ok machine --threads 1
check "the list of devices" test "$(grep -c -E '^(devices|) +(cpu|far|far:1): .*, [0-9.]+ .B$' out)" = 3

# not_kept WORDS COMMAND...: all is printed, and one line says why it is not kept
not_kept() {
    checks=$((checks + 1))
    "${@:2}" machine --threads 1 --json >out 2>err
    local rc=$?
    [ $rc = 3 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^wisp: the machine is measured, but nothing is kept for later runs: .*$1" err ||
        fail "wisp machine, which can't keep: exit $rc: $(cat err)"
    json out 'd["load_gbs"] > 0 and "error" not in d'
}
: >file
not_kept "cannot make the folder of $dir/file/wisp/machine-.*: Not a directory" env XDG_CACHE_HOME="$dir/file" "$wisp"

finish
