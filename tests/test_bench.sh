#!/bin/bash
# wisp machine and wisp bench: what they print, keep and refuse. Times are looked at for being there, not for being short.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3
# Each call measures rates, and how large they are is nothing that is looked at here.
export WISP_STREAM_LIMIT=16777216 WISP_MEASURE_LIMIT=100

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
            and (m["cache_kept_bytes"] is None or positive(m, "cache_kept_bytes"))
            and (m["exchange_gbs"] is None or (m["threads"] > 1 and positive(m, "exchange_gbs")))
            and all(positive(dict(enumerate(v)), 0, 1) for l in m["bandwidth_gbs"].values() for v in l.values())
            and m["isa"] in ("generic", "avx2", "avx512", "neon") and m["gemm_coretype"] and m["host"] and m["cpu"])
def row(r, op, matrix):
    return (r["op"] == op and r["matrix"] == matrix and (op == "mpk" or r["powers"] == 1)
            and r["order"] in ((None,) if op == "tsm" else ("natural", "rcm", "tiles"))
            and r["format"] in ((None,) if op == "tsm" else ("sell", "compressed", "hermitian", "crs"))
            and r["device"] == "cpu" and r["threads"] in (1, 2)
            and r["limit"] in ("memory", "cache", "core", "gemm", "fma")
            and (op not in ("kpm", "mpk", "tsm") or positive(r, "gemm_fraction"))
            and (op != "mpk" or positive(r, "cache_budget") and 1 <= r["depth"] <= r["powers"])
            and (op == "tsm" or positive(r, "matrix_bytes"))
            and (op == "tsm" or positive(r, "core_seconds") and r["gather_excess"] >= 1)
            and ("against" in r) == ("ratio" in r)
            and 0 < r["measured_over_model_q1"] <= r["measured_over_model"] <= r["measured_over_model_q3"]
            and r["seconds_q1"] <= r["seconds"] <= r["seconds_q3"]
            and positive(r, "seconds", "seconds_q1", "gflops", "min_bytes", "load_gbs", "paired_fraction",
                         "model_seconds", "width", "steps", "repeats")
            and abs(r["effective_gbs"] * r["seconds"] * 1e9 / r["min_bytes"] - 1) < 1e-9
            and abs(r["gflops"] * r["seconds"] * 1e9 / r["flops"] - 1) < 1e-9)
if not eval("(" + sys.argv[2] + ")"):
    sys.exit("not so in %s: %s" % (sys.argv[1], sys.argv[2]))
PY
# ---- machine: measured once, though there is a file that means nothing; then kept
ok machine --help
host=$(uname -n)
mkdir -p "$XDG_CACHE_HOME/wisp"
echo '{"version": 3}' >"$XDG_CACHE_HOME/wisp/machine-$host.json"
measured
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

# ---- bench
draw() { [ $have_gnuplot = 1 ] && echo "--plot $1"; }
drawn() { # drawn FILE WORD..: a complete picture with these words
    [ $have_gnuplot = 1 ] || return 0
    checks=$((checks + 1))
    grep -q '</svg>' "$1" || fail "no picture in $1"
    for word in "${@:2}"; do grep -qF -- "$word" "$1" || fail "no '$word' in $1"; done
}
ok bench spmv laplace:nx=9,ny=8,nz=7 --types s,z --order natural --format sell --threads 1,2 --repeats 7 --json
json out 'machine(d["machine"]) and len(rows) == 4 and all(row(r, "spmv", "laplace:nx=9,ny=8,nz=7") for r in rows)'
json out '[r["type"] for r in rows] == ["single", "complex double"] * 2'
json out 'all("ratio" not in r and r["width"] == 1 and r["variant"] == "blocked" for r in rows)'
json out 'all(r["order"] == "natural" and r["format"] == "sell" and positive(r, "bytes_per_nonzero") for r in rows)'
json out '[r["threads"] for r in rows] == [1, 1, 2, 2] and [m["threads"] for m in d["machines"]] == [1, 2]'
# A piece from the middle holds only numbers that are too small for single precision.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real symmetric\n400 400 400"
             for (i = 1; i <= 400; i++) print i, i, i < 50 ? 1 : 1e-50 }' >middle.mtx
ok bench spmv middle.mtx --types s --threads 1 --repeats 7 --json
json out 'd["rows"][0]["seconds"] > 0'

ok bench kpm $topi --widths 2,8 --variant reference --against naive --repeats 7 -o k.json $(draw k.svg)
grep -q '^variant' out || fail "no table"
drawn k.svg roofline "flops per byte" "memory" "multiply-add" "block width" model naive ZGEMM
json k.json "len(rows) == 4 and all(row(r, 'kpm', '$topi') for r in rows)"
json k.json '[r["variant"] for r in rows] == ["reference", "naive"] * 2 and [r["width"] for r in rows] == [2, 2, 8, 8]'
json k.json 'all("ratio" in r and 0 < r["ratio_q1"] <= r["ratio"] <= r["ratio_q3"] for r in rows[::2])'
json k.json 'all(r["format"] == "crs" and r["order"] == "natural" and r["against"] == "naive" for r in rows[::2])'
json k.json 'all("ratio" not in r and r["min_bytes"] > s["min_bytes"] and r["flops"] == s["flops"] for s, r in zip(rows[::2], rows[1::2]))'
# All orders: what the matrix can't have is left out with a note; a row that is the other one itself has no ratio.
WISP_DEVICE=far:1 ok bench spmmv $topi --widths 3 --repeats 7 --json
json out 'rows[0]["device"] == "far:1"'
ok bench spmmv $topi --widths 3 --order all --format sell --against order=natural --repeats 7 -o all.json
json all.json 'all(row(r, "spmmv", r["matrix"]) for r in rows) and rows[0]["order"] == "natural" and "ratio" not in rows[0]'
json all.json '{r["order"] for r in rows} | {s["order"] for s in d.get("skipped", [])} == {"natural", "rcm", "tiles"}'
json all.json 'all(s["reason"] and s["width"] == 3 and s["format"] == "sell" for s in d.get("skipped", []))'
json all.json 'all(r["against"] == "order=natural" for r in rows if "ratio" in r)'
# Several steps at a time: what one of them must move is less than alone, what it computes is not.
ok bench mpk $topi --widths 2,3 --powers 1,3,4 --against plain --format sell --repeats 7 -o m.json $(draw m.svg)
grep -q '^variant *width *powers .*ratio' out || fail "no table of powers"
drawn m.svg roofline "steps of a call" "chebyshev, width 2" "chebyshev, width 3" model ZGEMM
json m.json "all(row(r, 'mpk', '$topi') and r['variant'] == 'chebyshev' for r in rows)"
json m.json '[(r["width"], r["powers"]) for r in rows] == [(w, p) for w in (2, 3) for p in (1, 3, 1, 4, 1)]'
json m.json 'all((r["powers"] > 1) == ("ratio" in r) and r.get("against", "plain") == "plain" for r in rows)'
json m.json 'all(r["flops"] == rows[5 * (i // 5)]["flops"] for i, r in enumerate(rows))'
json m.json 'all(abs(r["powers"] * r["min_bytes"] - rows[5 * (i // 5)]["min_bytes"] - (r["powers"] > 1) * 192 * 16 * r["width"]) < 1 for i, r in enumerate(rows))'
json m.json 'all(r["steps"] % r["powers"] == 0 for r in rows)'
# All powers are written; any square matrix.
ok bench mpk topi:nx=16,ny=16,nz=8 --widths 8 --powers 1,3 --depth 3 --cache-budget 1M,2MB --repeats 7 -o c.json $(draw c.svg)
json c.json 'all(row(r, "mpk", r["matrix"]) for r in rows)'
json c.json '[(r["powers"], r["cache_budget"]) for r in rows] == [(1, 2**20), (3, 2**20), (3, 2000000)]'
json c.json '[r["depth"] for r in rows] == [1, 3, 3]'
drawn c.svg "cache budget in MB"
ok bench mpk topi:nx=16,ny=16,nz=8 --widths 8 --powers 1,7,8 --depth 4 --cache-budget 2MB --repeats 7 --against plain --json
json out '[(r["powers"], r["depth"]) for r in rows] == [(1, 1), (7, 4), (1, 1), (8, 4), (1, 1)]'
ok bench mpk topi:nx=16,ny=16,nz=8 --widths 8 --powers 7 --cache-budget 2MB --repeats 7 --json
json out 'rows[0]["depth"] in (1, 2, 4)'
ok bench mpk $topi laplace:nx=40,ny=5,nz=5 $topi --widths 1 --powers 2 --against plain --cache-budget 50% --threads 1,2 --repeats 7 -o s.json $(draw s.svg)
json s.json 'len(rows) == 12 and all(row(r, "mpk", r["matrix"]) for r in rows)'
json s.json '[r["type"] for r in rows] == (["complex double"] * 2 + ["double"] * 2 + ["complex double"] * 2) * 2'
drawn s.svg "matrix size in MB"
ok bench mpk $topi --variant powers --against chebyshev --widths 1 --powers 1,5 --types z --format sell --repeats 7 -o p.json
json p.json 'all(row(r, "mpk", r["matrix"]) for r in rows) and [r["variant"] for r in rows] == ["powers", "chebyshev"] * 2'
json p.json '[r["powers"] for r in rows] == [1, 1, 5, 5] and [r.get("against") for r in rows] == ["chebyshev", None] * 2'
json p.json 'abs(5 * rows[2]["min_bytes"] - rows[0]["min_bytes"] - 4 * 192 * 16) < 1 and rows[0]["flops"] == rows[2]["flops"]'
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 4' '1 1 2' '1 2 1' '2 2 1' '3 3 1' >general.mtx
ok bench mpk general.mtx --variant powers --widths 1 --repeats 7 --json
json out '[r["powers"] for r in rows] == [1, 2, 4, 8, 16]'
ok bench tsm --rows 3001 --widths 3 --types z --repeats 7 -o t.json $(draw t.svg)
json t.json '[r["variant"] for r in rows] == ["gram", "gram_kahan", "update", "update_beta", "update_in_place"]'
json t.json 'all(row(r, "tsm", None) and r["flops"] == 3001 * 3 * 3 * 8 for r in rows)'
json t.json '[r["min_bytes"] for r in rows] == [3001 * 3 * 16 * n for n in (2, 2, 2, 3, 2)]'
# The BLAS on the same shapes, in a process of its own; dots.
for pair in "gram gram_blas 2" "update update_blas 2" "update_beta update_beta_blas 3"; do
    read -r variant blas blocks <<<"$pair"
    ok bench tsm --rows 501 --widths 2 --types s,d,c,z --variant $variant --against $blas --repeats 7 -o b.json
    json b.json "[r['variant'] for r in rows] == ['$variant', '$blas'] * 4 and all(row(r, 'tsm', None) for r in rows)"
    json b.json "all(r['min_bytes'] == $blocks * 501 * 2 * {'single': 4, 'double': 8, 'complex single': 8}.get(r['type'], 16) for r in rows)"
    json b.json 'all(("ratio" in r) == (not r["variant"].endswith("_blas")) for r in rows)'
done
ok bench tsm --rows 3001 --widths 1,3 --types d --variant dot_kahan --against dot --repeats 7 --json
json out '[r["variant"] for r in rows] == ["dot_kahan", "dot"] * 2 and all(row(r, "tsm", None) for r in rows)'
json out '[(r["flops"], r["min_bytes"]) for r in rows] == [(3001 * 2 * w, 3001 * 16 * w) for w in (1, 1, 3, 3)]'
drawn t.svg "gram kahan" "update in place" ZGEMM
# Iterations of solvers: all variants in turn; the passes and reductions that they promise; columns one by one.
ok bench solve delaunay:nx=30,ny=30 --repeats 7 -o v.json $(draw v.svg)
grep -q '^variant *width *passes *reductions .*of bytes' out || fail "no table of solvers"
drawn v.svg roofline predict pipelined classical memory
json v.json 'all(row(r, "solve", r["matrix"]) and r["method"] == "cg" and r["width"] == 1 for r in rows)'
json v.json '[(r["variant"], r["passes"], r["reductions"]) for r in rows] == [("predict", 2, 1), ("pipelined", 2, 1), ("classical", 6, 2)]'
json v.json 'all("ratio_of_bytes" in r and r["against"] == "classical" for r in rows[:2]) and "ratio" not in rows[2]'
json v.json 'all(abs(r["ratio_of_bytes"] * r["min_bytes"] / rows[2]["min_bytes"] - 1) < 1e-9 for r in rows[:2])'
ok bench solve laplace:nx=9,ny=8,nz=7 --method gmres --restart 5 --repeats 7 --types s --json
json out '[r["variant"] for r in rows] == ["pipelined", "classical"] and all(row(r, "solve", r["matrix"]) for r in rows)'
json out 'all(r["method"] == "gmres" and r["restart"] == 5 for r in rows) and rows[0]["min_bytes"] < rows[1]["min_bytes"]'
ok bench solve matpde:nx=12,ny=12 --method bicgstab --widths 1,3 --variant pipelined --against single --repeats 7 --json
# (and the passes in which BiCGStab keeps an x)
json out '[(r["width"], r.get("against"), int(r["passes"]), r["reductions"]) for r in rows] == [(1, None, 4, 2), (3, "single", 4, 2), (1, None, 4, 2)]'
ok bench solve matpde:nx=12,ny=12 --method idr --repeats 7 --json
json out 'len(rows) == 2 and rows[0]["variant"] == "pipelined" and 4.4 <= rows[0]["passes"] <= 5.4 and rows[0]["reductions"] == 2'
ok bench solve topi:nx=3,ny=3,nz=3 --method minres --against classical --widths 2 --repeats 7 --json
json out '[r["variant"] for r in rows] == ["pipelined", "classical"] and all(r["passes"] > 1 for r in rows)'
# Eigenpairs: the filter beside a KPM step, single precision beside double, dense operations beside LAPACK's.
ok bench eig $topi --columns 3,8 --repeats 7 -o e.json $(draw e.svg)
grep -q '^variant *width *products/s .*of bytes' out || fail "no table of eigenpairs"
drawn e.svg roofline squares steps ritz
json e.json '[r["variant"] for r in rows[:5]] == ["squares", "steps"] * 2 + ["kpm_step"]'
json e.json '[r.get("against") for r in rows[:5]] == ["kpm_step"] * 2 + ["double"] * 2 + [None]'
json e.json "all(row(r, 'eig', '$topi') and positive(r, 'products_per_second', 'gemm_fraction') for r in rows[:5])"
json e.json 'all(abs(r["ratio_of_gbs"] * r["ratio_of_bytes"] / r["ratio"] - 1) < 1e-9 for r in rows[:4])'
json e.json 'rows[0]["min_bytes"] < rows[1]["min_bytes"] == rows[4]["min_bytes"]'
json e.json '[(r["variant"], r["width"]) for r in rows[5:] if r["variant"] != "qr_lapack"] == [("qr", 3), ("ritz", 3), ("qr", 8), ("ritz", 8)]'
json e.json 'all(r["flops"] == 192 * r["width"] ** 2 * (12 if r["variant"] == "ritz" else 16) and r["order"] is None for r in rows[5:])'
json e.json 'sum(r["variant"] == "qr_lapack" for r in rows) + len(d.get("skipped", [])) == 2'
ok bench eig laplace:nx=9,ny=8,nz=7 --variant steps --widths 2,3 --types s,d --columns 1 --repeats 7 --json
json out '[r["width"] for r in rows] == [2] * 2 + [3] * 2 + [2] * 3 + [3] * 3 and {r["variant"] for r in rows} == {"steps", "kpm_step"}'
json out '[r["type"] for r in rows] == ["single"] * 4 + ["double", "single", "double"] * 2'
ok bench eig $topi --variant qr --columns 4 --types c --repeats 7 --json
json out 'rows[0]["variant"] == "qr" and len(rows) + len(d.get("skipped", [])) == 2 and rows[0]["flops"] == 192 * 16 * 16'
ok bench stream --json $(draw s.svg)
drawn s.svg "GB/s" memory L2 "past caches"
json out 'machine(d["machine"]) and all(r["op"] == "stream" and positive(r, "gbs", "threads") for r in rows) and len(rows) >= 12'

# ---- refused
refused 2 "OP is missing" bench
refused 2 "is no operation" bench spmx $topi
refused 2 "MATRIX is missing" bench spmv
refused 2 "takes no MATRIX" bench stream $topi
refused 2 "takes no MATRIX" bench tsm $topi
refused 2 "takes no --order" bench tsm --order natural
refused 2 "takes no --rows" bench stream --rows 5
refused 2 "--rows is there for wisp bench tsm" bench spmv $topi --rows 5
refused 2 "has no variant naive; it has gram, gram_kahan, update, update_beta, update_in_place, dot, dot_kahan, gram_blas, update_blas, update_beta_blas" bench tsm --variant naive
refused 2 "--powers is there for wisp bench mpk" bench kpm $topi --powers 4
refused 2 "--depth is there for wisp bench mpk" bench kpm $topi --depth 4
refused 2 "--cache-budget is there for wisp bench mpk" bench kpm $topi --cache-budget 1M
refused 2 "a percentage must be" bench mpk $topi --cache-budget -5%
for value in 0 x 1M,,2M 20%%; do refused 2 "expected a size such as 20M" bench mpk $topi --cache-budget "$value"; done
refused 1 "absent.mtx" bench mpk $topi absent.mtx --widths 1 --powers 1 --repeats 7 --quiet
refused 2 "--against plain is there for wisp bench mpk" bench kpm $topi --against plain
refused 2 "names what the rows are already" bench mpk $topi --powers 1 --against plain
refused 2 "names what the rows are already" bench mpk $topi --against chebyshev
refused 2 "wisp bench mpk has no variant blocked; it has chebyshev, powers" bench mpk $topi --variant blocked
refused 2 "wisp bench kpm has no variant chebyshev" bench kpm $topi --variant chebyshev
refused 2 "wisp bench tsm has no variant powers" bench tsm --variant powers
for value in 0 1,,2 300 x; do refused 2 "expected powers" bench mpk $topi --powers "$value"; done
refused 1 "--variant powers takes any square one" bench mpk general.mtx --quiet
refused 2 "wisp bench kpm has no variant gram; it has blocked, naive, reference" bench kpm $topi --variant gram
refused 2 "--method is there for wisp bench solve" bench kpm $topi --method cg
refused 2 "--restart is for --method gmres" bench solve $topi --restart 5
refused 2 "variant predict is for --method cg" bench solve $topi --method gmres --against predict
refused 2 "wisp bench solve has no variant blocked; it has predict, pipelined, classical" bench solve $topi --variant blocked
refused 2 "--against single is there for wisp bench solve" bench spmmv $topi --against single
refused 2 "names what the rows are already" bench solve $topi --against single
refused 2 "wisp bench eig has no variant blocked; it has squares, steps, qr, ritz" bench eig $topi --variant blocked
refused 2 "wisp bench eig takes no --against" bench eig $topi --against naive
refused 2 "--columns is there for wisp bench eig" bench kpm $topi --columns 4
refused 1 "needs a Hermitian matrix" bench eig matpde:nx=5,ny=5 --quiet
refused 1 "needs a Hermitian matrix" bench solve matpde:nx=5,ny=5 --quiet
refused 2 "has no variant gram_kahan" bench kpm $topi --against gram_kahan
refused 2 "--against needs --variant" bench tsm --against gram
refused 2 "--against names a variant" bench tsm --variant gram --against order=natural
refused 2 "widths to 1024" bench tsm --widths 2000
refused 2 "names what the rows are already" bench spmv $topi --order natural --against order=natural
refused 2 "names what the rows are already" bench spmv $topi --format sell --against format=sell
refused 2 "its own order and format" bench kpm $topi --variant reference --order rcm
refused 2 "expected one of auto|natural|rcm|tiles after" bench spmv $topi --against order=best
refused 2 "expected one of auto|sell|compressed|hermitian after" bench spmv $topi --against format=
refused 2 "expected one of auto|natural|rcm|tiles|all" bench spmv $topi --order best
refused 2 "expected one of auto|sell|compressed|hermitian|all" bench spmv $topi --format crs
refused 2 "must end in .svg, .png or .pdf" bench spmv $topi --plot x.gif
for value in 0 1,,2 5000 x; do refused 2 "expected threads" bench spmv $topi --threads "$value"; done
refused 2 "takes no --widths" bench stream --widths 4
refused 2 "has width 1" bench spmv $topi --widths 4
refused 2 "wisp bench spmv has no variant naive; it has blocked alone" bench spmv $topi --variant naive
refused 2 "names what the rows are already" bench kpm $topi --against blocked
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

finish
