#!/bin/bash
# bench/builds: its table, its verdict and its errors. The verdict is tried on stand-ins for wisp that say how long a
# row takes; of wisp's own times only that they are there.
set -u
wisp=$1 builds=$2/bench/builds dir=$3
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
export OMP_NUM_THREADS=2 XDG_CACHE_HOME=$PWD/cache
unset WISP_ISA
# The program itself, alone: what finds it (pyenv) and what it looks for take longer than a stand-in.
if ! python=$(python3 -c 'import json, sys; print(sys.executable)' 2>/dev/null); then
    echo "no python3: nothing is checked"
    exit 77
fi
checks=0 failed=0

fail() { echo "FAILED: $*"; failed=$((failed + 1)); }
run() { # run STATUS ARGS...: that exit status; the table is in out
    checks=$((checks + 1))
    rm -f ./*.calls log
    "$python" -IS "$builds" "${@:2}" >out 2>err
    local rc=$?
    [ $rc = "$1" ] || fail "builds ${*:2}: exit $rc, not $1: $(cat out err)"
    [ "$1" = 2 ] || [ ! -s err ] || fail "builds ${*:2}: on stderr: $(cat err)"
}
refused() { # refused FRAGMENT ARGS...: exit 2 and one line on stderr with the fragment
    run 2 "${@:2}"
    [ "$(wc -l <err)" = 1 ] || fail "builds ${*:2}: not one line on stderr: $(cat err)"
    grep -qF -- "$1" err || fail "builds ${*:2}: no '$1' in: $(cat err)"
}
has() { # has COUNT REGEX: so many lines of out
    checks=$((checks + 1))
    [ "$(grep -cE -- "$2" out)" = "$1" ] || fail "not $1 lines with '$2' in: $(cat out)"
}
# fake NAME MS: a stand-in; MS is a Python expression of the row (args, w: its width) and n, its processes so far.
fake() {
    cat >"$1" <<PY
#!$python -IS
import json, os, sys
name, args = "$1", " ".join(sys.argv[1:])
if args == "--version":
    sys.exit(print("wisp stand-in"))
with open("log", "a") as log:
    log.write(f"{name} begins: {args}\n")
with open(f"{name}.calls", "a+") as calls:
    n = calls.tell()
    calls.write(".")
widths = [int(w) for w in sys.argv[sys.argv.index("--widths") + 1].split(",")]
print(json.dumps({"rows": [{"width": w, "seconds": 1e-3 * ($2), "load_gbs": 40} for w in widths]}))
with open("log", "a") as log:
    log.write(f"{name} ends\n")
PY
    chmod +x "$1"
}
number='[0-9.e+]+'
row="^ *$number \($number \.\. $number\)( +$number){5}  (spmv|kpm|mpk|tsm) .* --widths [0-9]+"

# ---- the rows, of which there is one each; one process at a time, the first one takes turns
fake old 10
run 0 ./old ./old --rounds 1
has 38 "$row"
for name in 'laplace:points=27,nx=128,ny=128,nz=256' 'laplace:points=7,nx=256,ny=256,nz=256' \
    'band:n=4194304,bandwidth=27'; do
    has 1 "  spmv $name --format sell --widths 1$"
    has 1 "  spmv $name --format compressed --widths 1$"
done
for width in 1 2 4 8 16 32; do has 2 "  kpm topi:nx=10+,ny=10+,nz=[14]0 --widths $width$"; done
for width in 8 16; do has 2 "  mpk topi:nx=10+,ny=10+,nz=40 --powers 16 --widths $width$"; done
for width in 4 8 16 32; do has 4 "  tsm --variant (gram|update) --types [dz] --widths $width$"; done
has 1 '^38 rows in [0-9.]+ minutes, ratios 1.000 .. 1.000, geometric mean 1.0000 .*, slow twice 0 .*: passed$'
fake new 10
run 0 ./old ./new --rounds 4 --rows 'kpm .*nx=10,.*--widths (8|16)$' --threads 3
has 2 "$row"
[ "$(grep -c 'begins: bench kpm topi:nx=10,ny=10,nz=10 --widths 8,16 .*--threads 3' log)" = 8 ] || fail "$(cat log)"
order=$(cut -d ' ' -f 1,2 log | tr -d ':\n')
pair='(old beginsold endsnew beginsnew ends|new beginsnew endsold beginsold ends)'
[[ $order =~ ^$pair$pair$pair$pair$ ]] || fail "not one after the other, in pairs: $order"
firsts=$(sed -n '1~4p' log | cut -d ' ' -f 1 | sort | uniq -c | tr -s ' ' | tr -d '\n')
[ "$firsts" = " 2 new 2 old" ] || fail "each should be first as often: $firsts"

# ---- the verdict: the mean; slow rows have a second chance; what counts is the upper quartile
fake new 8
run 0 ./old ./new --rounds 2
has 38 '^ 1.250 \(1.250 .. 1.250\)    1.250        10         8 .* 40.0      40.0 '
fake new 10.2
run 1 ./old ./new --rounds 2
has 1 'geometric mean 0.9804 .*slow twice 0 .*: failed$'
fake new '11 if w == 32 and "nx=10," in args else 10'
run 1 ./old ./new --rounds 2 --rows kpm
has 2 "$row  slow$"
has 13 "$row"
has 1 '^slow rows again$'
has 1 'geometric mean 0.9921 .*slow twice 1 .*: failed$'
fake new '11 if w == 32 and "nx=10," in args and n < 4 else 10'
run 0 ./old ./new --rounds 2 --rows kpm
has 1 "$row  slow$"
has 13 "$row"
has 1 'geometric mean 0.9921 .*slow twice 0 .*: passed$'
fake new '11 if w == 32 and n < 2 else 10'
run 0 ./old ./new --rounds 4 --rows kpm
has 0 "$row  slow$"
has 12 "$row"
has 1 ' 0.955 \(0.909 .. 1.000\) '

# ---- the same twice: before the other, and alone
fake new 20
run 1 ./old ./new --same --rounds 1 --rows 'tsm .*gram .*d .*4$'
has 1 '^ 1.000 .* tsm --variant gram --types d --widths 4$'
has 2 '^ 0.500 .* tsm --variant gram --types d --widths 4  slow$'
run 0 ./old --same --rounds 1 --rows 'tsm .*gram .*d .*4$'
has 1 "$row"

# ---- what can't be measured
refused './no-such: No such file or directory; name the wisp of a build' ./no-such ./old
refused './no-such: No such file or directory; name the wisp of a build' ./old ./no-such --same
[ ! -e log ] || fail "what is not there is refused too late"
refused "/bin/true: no wisp" ./old /bin/true
refused "--rows spmvv fits no row" ./old ./new --rows spmvv
fake new '(print("no JSON"), 1)[1]'
refused "no JSON" ./old ./new --rows kpm
fake new 'sys.exit("wisp: out of memory") if w == 32 else 10'
refused "exit 1: wisp: out of memory" ./old ./new --rows kpm
fake new 'widths.pop() and 10'
refused "row for each width" ./old ./new --rows kpm
checks=$((checks + 3))
"$builds" ./old 2>err && fail "without NEW: exit 0"
grep -q 'NEW is missing' err || fail "without NEW: $(cat err)"
"$builds" ./old ./new --rows '(' 2>err && fail "no regular expression: exit 0"
"$builds" ./old ./new --rounds 0 2>err && fail "no rounds: exit 0"

# ---- wisp itself, whose verdict on such small matrices is chance
checks=$((checks + 1))
"$builds" "$wisp" "$wisp" --small --rounds 1 --threads 1 --rows 'kpm .*nx=10,.* [12]$|tsm .*update .*z .* 4$' >out 2>err
rc=$?
[ ! -s err ] || fail "on stderr: $(cat err)"
for name in 'kpm topi:nx=10,ny=10,nz=10 --widths 1 \(natural [a-z]+\)' \
    'kpm topi:nx=10,ny=10,nz=10 --widths 2 \([a-z]+ [a-z]+\)' \
    'tsm --variant update --types z --rows 1000 --widths 4'; do
    grep -E "$row" out | grep -qE "  $name(  slow)?$" || fail "no row $name in: $(cat out)"
done
verdict=$(sed -nE 's/^3 rows in [0-9.]+ minutes, ratios .* geometric mean .*: (passed|failed)$/\1/p' out)
[ "$rc $verdict" = "0 passed" ] || [ "$rc $verdict" = "1 failed" ] || fail "exit $rc: $(cat out)"
echo "$checks checks, $failed failed"
exit $((failed > 0))
