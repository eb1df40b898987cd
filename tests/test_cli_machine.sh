#!/bin/bash
# wisp machine: what it measures is kept for later runs, or it says that it is not; what can't be true is neither kept nor
# taken.
. "$2/tests/cli.sh"
unset WISP_MACHINE
file=cache/wisp/machine-$(uname -n).json

measured --threads 1 --json
json out 'd["threads"] == 1 and d["load_gbs"] > 0 and d["measured"][:2] == "20" and d["measured"][-1] == "Z"'
check "the kept file" test -s "$file"
kernels='sorted(d["kernel_ns"]) == ["alike", "in turn", "shared", "stored", "uneven"] and all(len(p) == 6 and p[2][0] > 0 for k in d["kernel_ns"].values() for p in k.values())'
json "$file" "$kernels"
ok machine --threads 1
check "the table of kernels" test "$(grep -c -E '^(stored|uneven|shared|in turn|alike), (real|complex)' out)" = 10
ok machine --threads 1 --json
cp out kept.json
ok machine --threads 1 --json
json out 'd["bandwidth_gbs"] == e["bandwidth_gbs"] and d["fma_gflops"] == e["fma_gflops"] and d["measured"] == e["measured"]' kept.json

# Devices: those of this build, not of the kept file.
json out '[(x["name"], x["number"], x["for_tests"]) for x in d["devices"]] == [("cpu", 0, False), ("far", 0, True), ("far:1", 1, True), ("plain", 0, True)]'
json out 'all(x["memory_bytes"] == d["memory_bytes"] and x["what"] for x in d["devices"])'
json "$file" '"devices" not in d'
ok machine --threads 1
check "the list of devices" test "$(grep -c -E '^(devices|) +(cpu|far|far:1|plain): .*, [0-9.]+ .B$' out)" = 4

# ---- files that are made up, for two threads
"$wisp" machine --json >now.json 2>/dev/null
made_up '[10, 20]' <now.json >"$file"
ok machine
check "the day that it was measured" grep -q '^measured *2020-02-03$' out
ok machine --json
json out 'd["measured"] == "2020-02-03T04:05:06Z" and d["fma_gflops"]["single"] == [10, 20]'
plan="dos laplace:nx=20,ny=20,nz=20 --moments 4 --vectors 2 --plan"
ok $plan
check "what was kept is taken" grep -q 'at a load bandwidth of 4.0 GB/s kept by wisp machine' out
"$wisp" $plan --log text >out 2>err
check "the log has the day" test "$(grep -c "^wisp: the rates of this machine are those of $dir/$file, measured 2020-02-03$" err)" = 1
# Of a file without a date that of the file counts.
made_up '[10, 20]' '' '' '"host": "",' <now.json >"$file"
touch -d 2021-05-06T07:08:09Z "$file"
ok machine --json
json out 'd["measured"] == "2021-05-06T07:08:09Z"'

# Kernels of any number of threads: those of the file make width 2 the fastest. A file without them is no whole one.
sed -E '/^  "kernel_ns":/{s/\[[0-9.e-]+, [0-9.e-]+\]/[1000, 0]/g; s/\[\[1000, 0\], \[1000, 0\]/[[1000, 0], [1, 0]/g}' "$file" >fast.json
cp fast.json "$file"
ok dos laplace:nx=20,ny=20,nz=20 --moments 4 --vectors 32 --threads 1 --json
json out 'd["width"] == 2'
sed '/^  "kernel_ns":/d' fast.json >"$file"
XDG_CACHE_HOME=$PWD/cache "$wisp" machine --json >out 2>err
json out "d[\"measured\"] > \"2022\" and $kernels"

# doubtful WORDS MADE_UP...: what is in such a file is not taken: one line says why, and the run goes on without it. Loads
# of a machine that is named, which the model would see in place of this one, end it.
doubtful() {
    made_up "${@:2}" <now.json >"$file"
    for environment in XDG_CACHE_HOME="$PWD/cache" WISP_MACHINE="$PWD/$file"; do
        if [[ $environment,$1 == WISP_MACHINE*loads:* ]]; then
            WISP_MACHINE=$PWD/$file refused 1 "$file: figures can't be true: $1" power laplace:nx=9,ny=9,nz=1 -p 4
            continue
        fi
        checks=$((checks + 1))
        env "$environment" "$wisp" power laplace:nx=9,ny=9,nz=1 -p 4 --json >out 2>err || fail "exit $? with $(cat "$file"): $(cat err)"
        [ "$(wc -l <err)" = 1 ] && grep -qF "/$file is not taken: " err && grep -qF -e "$1" err &&
            grep -q "the run goes on without it; .wisp machine. makes it anew while nothing else runs" err || fail "not '$1': $(cat err)"
    done
    cp "$file" before.json
    XDG_CACHE_HOME=$PWD/cache "$wisp" $plan --json >out 2>err
    check "one line" test "$(wc -l <err)" = 1
    json out 'd["ceilings"] == "now"'
    check "the file stays" cmp -s before.json "$file"
}
doubtful "multiply-adds, single: all threads together have 0.044 Gflop/s, and one alone 217" '[217, 0.044]'
doubtful "L1, loads: all threads together have 2.77 GB/s, and one alone 387" '[10, 20]' '[387, 2.77]'
doubtful "loads: memory has 20 GB/s, and L2 no more than 8" '[10, 20]' '[16, 32]' '[20, 40]'
doubtful "-1 and 20 are no rates" '[-1, 20]'
doubtful "it lacks the rate of loads from memory, or that of multiply-adds" '[10, 20]' '[16, 32]' '[2, null]'
doubtful "it lacks the rate of loads from memory, or that of multiply-adds" '[10, 0]'
# So do others that compute; and a time of kernels that can't be is told as well.
sed -E '/^  "kernel_ns":/s/\[[0-9.e-]+, [0-9.e-]+\]/[-1, 0]/' fast.json >"$file"
for run in "map graphene:nx=6,ny=6 --energies 0 --moments 32" "sigma graphene:nx=6,ny=6 --direction xx --moments 8 --mu 0" \
    "dos graphene:nx=6,ny=6 --moments 32" "evolve graphene:nx=6,ny=6 --site 0 --time 1 --steps 2"; do
    WISP_MACHINE=$PWD/$file refused 1 "$file: figures can't be true: kernels: -1 ns" $run
    checks=$((checks + 1))
    "$wisp" $run --vectors 1 --json >out 2>err || "$wisp" $run --json >out 2>err || fail "exit $?: $(cat err)"
    [ "$(wc -l <err)" = 1 ] && grep -q "/$file is not taken: .* kernels: -1 ns" err || fail "$run with kernels of -1 ns: $(cat err)"
done
# What it keeps of the cache, a moment that is none, and what is no file.
made_up '[10, 20]' <now.json | sed 's/^  "cache_kept_bytes":.*/  "cache_kept_bytes": -5,/' >"$file"
XDG_CACHE_HOME=$PWD/cache "$wisp" $plan --json >out 2>err
check "cache that can't be" grep -q "is not taken: .*-5 bytes of the last cache stay" err
made_up '[10, 20]' '' '' '"measured": "\u001b[31m2020-02-03T04:05",' <now.json >"$file"
touch -d 2021-05-06T07:08:09Z "$file"
ok machine --json
json out 'd["measured"] == "2021-05-06T07:08:09Z"'
rm "$file"
mkfifo "$file"
"$wisp" $plan --json >out 2>err
check "a pipe is no kept file" grep -q '"ceilings": "now"' out
rm "$file"
made_up '[10, 0]' <now.json >"$file"
# wisp machine measures anew.
"$wisp" machine --json >out 2>err
check "what is not taken is measured anew" sh -c "head -1 err | grep -q '/$file is not taken: .*; it is measured anew$'"
json out 'd["fma_gflops"]["single"][1] > 0 and d["measured"] > "2022"'

# A long run measures a machine that was not, and one that needs no choice, has choices or little memory does not.
# first SAID NAME=VALUE.. OPTIONS..: whether its log says that it measures; the run is planned alone
first() {
    local said=$1 list=()
    shift
    while [[ ${1-} = *=* ]]; do list+=("$1") && shift; done
    checks=$((checks + 1))
    env XDG_CACHE_HOME="$PWD/cache" WISP_MEASURE_FIRST=1e-9 "${list[@]}" "$wisp" dos laplace:nx=20,ny=20,nz=20 --moments 4 \
        --vectors 2 --plan --log text "$@" >out 2>err || fail "a run that measures first: $(cat err)"
    [ "$(grep -c "^wisp: this machine was not measured, .*: it is measured first, and kept$" err)" = "$said" ] ||
        fail "$* ${list[*]}: not said $said times that it measures: $(cat err)"
}
rm -f "$file"
first 0 WISP_MEASURE_FIRST=0
first 0 WISP_MEASURE_FIRST=1e9
first 0 WISP_MEASURE_FIRST=
first 0 A=1 --mem-limit 1G
first 0 A=1 --width 2
first 0 WISP_RANKS=2
first 0 A=1 --device far
check "nothing is kept" test ! -e "$file"
first 1 A=1
check "it is kept, or why not" sh -c "[ -s $file ] || grep -q ' can.t be true: .*; they are not taken' err"
for seconds in abc 1x -1 nan; do
    XDG_CACHE_HOME=$PWD/nothing WISP_MEASURE_FIRST=$seconds \
        refused 2 "WISP_MEASURE_FIRST=$seconds: take a number of seconds, or 0, or unset it" dos laplace:nx=20 --moments 4 --plan
done
check "what it found is JSON" python3 -c "import json, os; [json.load(open(f))['by_run'] for f in ['$file'] if os.path.exists(f)]"
"$wisp" machine --json 2>/dev/null | made_up '[10, 20]' >made_up.json
mv made_up.json "$file"
first 0 A=1
first 0 A=1 --threads 1
check "what is kept of other threads stays" grep -q '"measured": "2020-02-03T04:05:06Z"' "$file"
sed 's/"cores": [0-9]*,/"cores": 2,/; s/"load": \[[^]]*\]/"load": [0, 0]/g' "$file" >lame.json
first 0 WISP_MACHINE="$PWD/lame.json"
sed 's/^  "made_up": true/  "by_run": true/' "$file" >by_run.json
cp by_run.json "$file"
first 0 A=1
WISP_MACHINE=$PWD/by_run.json "$wisp" machine --json >out 2>err
json out 'd["measured"] == "2020-02-03T04:05:06Z"'
"$wisp" machine --json >out 2>/dev/null
check "wisp machine measures anew what a run has found" sh -c "! grep -q by_run out"
rm -f "$file"
: >file
first 1 XDG_CACHE_HOME="$dir/file"
check "a folder that can't be is told" grep -qE "nothing is kept for later runs: | can.t be true: .*; they are not taken" err

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
