#!/bin/bash
# wisp machine and wisp bench: what they print, keep and refuse. Times are looked at for being there, not for being short.
set -u
wisp=$1 dir=$3
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
export OMP_NUM_THREADS=2 XDG_CACHE_HOME=$dir/cache
unset WISP_ISA
checks=0 failed=0
topi=topi:nx=4,ny=4,nz=3

fail() { echo "FAILED: $*"; failed=$((failed + 1)); }
ok() { # ok ARGS...: exit 0; stdout is in out
    checks=$((checks + 1))
    "$wisp" "$@" >out 2>err || fail "wisp $*: exit $?: $(cat err)"
    [ -s err ] && fail "wisp $*: on stderr: $(cat err)"
}
refused() { # refused STATUS FRAGMENT ARGS...: that exit status, one line on stderr with the fragment
    checks=$((checks + 1))
    "$wisp" "${@:3}" >out 2>err
    local rc=$?
    [ $rc = "$1" ] || fail "wisp ${*:3}: exit $rc, not $1: $(cat err)"
    [ "$(wc -l <err)" = 1 ] || fail "wisp ${*:3}: not one line on stderr: $(cat err)"
    grep -qF -- "$2" err || fail "wisp ${*:3}: no '$2' in: $(cat err)"
}
have_python=0
if python3 -c 'import json' 2>/dev/null; then have_python=1; else echo "no python3: JSON is not checked"; fi
cat >check.py <<'PY'
import json, math, sys
def no_constant(name):
    raise ValueError(name + " is no JSON")
d = json.load(open(sys.argv[1]), parse_constant=no_constant)
rows = d.get("rows")
def positive(o, *keys):
    return all(isinstance(o[k], (int, float)) and o[k] > 0 for k in keys)
def machine(m):
    return (positive(m, "load_gbs", "dgemm_gflops", "zgemm_gflops", "threads", "cores", "cpus", "memory_bytes")
            and all(positive(dict(enumerate(v)), 0, 1) for v in m["fma_gflops"].values())
            and len(m["bandwidth_gbs"]["memory"]) in (1, 6)
            and all(positive(dict(enumerate(v)), 0, 1) for l in m["bandwidth_gbs"].values() for v in l.values())
            and m["isa"] in ("generic", "avx2", "avx512", "neon") and m["gemm_coretype"] and m["host"] and m["cpu"])
def row(r, op, matrix):
    return (r["op"] == op and r["matrix"] == matrix and r["powers"] == 1 and r["order"] == "natural"
            and r["format"] in ("sell", "crs") and r["device"] == "cpu" and r["threads"] == 2
            and r["limit"] in ("memory", "L3", "L2", "L1", "fma")
            and r["seconds_q1"] <= r["seconds"] <= r["seconds_q3"]
            and positive(r, "seconds", "seconds_q1", "gflops", "min_bytes", "load_gbs", "paired_fraction",
                         "model_seconds", "width", "steps", "repeats")
            and abs(r["effective_gbs"] * r["seconds"] * 1e9 / r["min_bytes"] - 1) < 1e-9
            and abs(r["gflops"] * r["seconds"] * 1e9 / r["flops"] - 1) < 1e-9)
if not eval("(" + sys.argv[2] + ")"):
    sys.exit("not so in %s: %s" % (sys.argv[1], sys.argv[2]))
PY
json() { # json FILE EXPRESSION
    [ $have_python = 1 ] || return 0
    checks=$((checks + 1))
    python3 check.py "$@" || fail "json $1"
}

# ---- machine: measured once, then kept
ok machine
for word in processor cores threads kernels load triad multiply-add DGEMM ZGEMM; do
    grep -q "^$word" out || fail "no '$word' from wisp machine"
done
kept=("$XDG_CACHE_HOME"/wisp/machine-*.json)
[ -s "${kept[0]}" ] || fail "nothing was kept in $XDG_CACHE_HOME"
before=$(cksum <"${kept[0]}")
ok machine --json
json out 'machine(d) and len(d["placement"]) == 2 and len(d["bandwidth_gbs"]["memory"]) == 6'
[ "$before" = "$(cksum <"${kept[0]}")" ] || fail "measured anew without --measure"
json "${kept[0]}" 'machine(d)'
echo '{"version": 3}' >"${kept[0]}"
ok machine --json
json out 'machine(d)'
json "${kept[0]}" 'machine(d)'

# ---- bench
ok bench spmv laplace:nx=9,ny=8,nz=7 --types s,d,c,z --json
json out 'machine(d["machine"]) and len(rows) == 4 and all(row(r, "spmv", "laplace:nx=9,ny=8,nz=7") for r in rows)'
json out '[r["type"] for r in rows] == ["single", "double", "complex single", "complex double"]'
json out 'all("ratio" not in r and r["width"] == 1 and r["variant"] == "blocked" for r in rows)'
ok bench kpm $topi --widths 3,8 --variant blocked --against naive --repeats 7 -o k.json
grep -q '^variant' out || fail "no table"
json k.json "len(rows) == 4 and all(row(r, 'kpm', '$topi') for r in rows)"
json k.json '[r["variant"] for r in rows] == ["blocked", "naive"] * 2 and [r["width"] for r in rows] == [3, 3, 8, 8]'
json k.json 'all("ratio" in r and 0 < r["ratio_q1"] <= r["ratio"] <= r["ratio_q3"] for r in rows[::2])'
json k.json 'all("ratio" not in r and r["min_bytes"] > s["min_bytes"] and r["flops"] == s["flops"] for s, r in zip(rows[::2], rows[1::2]))'
ok bench kpm $topi --widths 2 --variant reference --against blocked --json --quiet
json out 'rows[0]["format"] == "crs" and rows[0]["against"] == "blocked"'
ok bench stream --json
json out 'machine(d["machine"]) and all(r["op"] == "stream" and positive(r, "gbs", "threads") for r in rows) and len(rows) >= 12'

# ---- refused
refused 2 "OP is missing" bench
refused 2 "is no operation" bench spmx $topi
refused 2 "MATRIX is missing" bench spmv
refused 2 "takes no MATRIX" bench stream $topi
refused 2 "takes no --widths" bench stream --widths 4
refused 2 "has width 1" bench spmv $topi --widths 4
refused 2 "for wisp bench kpm alone" bench spmv $topi --variant naive
refused 2 "names the variant itself" bench kpm $topi --against blocked
refused 2 "must end in .json" bench kpm $topi -o x.csv
for value in 0 -1 4, ,4 4,,8 x 5000 ''; do refused 2 "expected widths" bench kpm $topi --widths "$value"; done
for value in x zz d, ,d ''; do refused 2 "expected letters" bench kpm $topi --types "$value"; done
for value in 6 0 x; do refused 2 "expected a whole number" bench kpm $topi --repeats "$value"; done
refused 2 "expected one of" bench kpm $topi --against best
refused 2 "one argument too many" machine $topi
refused 1 "cannot write" bench spmv $topi -o no/such/folder/x.json
refused 1 "complex matrix needs complex" bench spmv $topi --types d --quiet
refused 1 "widths 1, 2, 4" bench kpm $topi --variant reference --widths 5 --quiet
refused 1 "type alone" bench kpm anderson:nx=4,ny=4,nz=4 --types z --variant reference --quiet

echo "$checks checks, $failed failed"
[ $failed = 0 ]
