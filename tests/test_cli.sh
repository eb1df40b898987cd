#!/bin/bash
# The command: what it prints and writes, what it refuses and how, and that nothing is lost when it is stopped.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3
long=topi:nx=10,ny=10,nz=10

# ---- help, version, man page
for c in "" dos ldos count green spectral thermal trace sigma map power apply evolve solve eig svd info gen convert bench machine; do
    ok $c --help
    grep -q '^Usage: wisp' out || fail "wisp $c --help does not begin with its usage"
    grep -oE -- '--[a-z-]+' out | sort -u >>named
    awk 'length > 95' out | grep . && fail "wisp $c --help has long lines"
done
sort -u named -o named
sed 's/\\-/-/g' "$source/docs/wisp.1" | grep -oE '(Fl|,) -[a-z-]+( , -[a-z-]+)*' | grep -oE -- '-[a-z-]+' |
    sed 's/^/-/' | sort -u >manual
check "wisp.1 and --help name the same options: $(diff named manual | tr '\n' ' ')" diff -q named manual
ok --version
check "--version names the version" grep -q '^wisp [0-9]' out
ok dos -h
export WISP_ISA=sse9
for command in "info $topi" --version; do
    refused 1 "instruction set 'sse9' is not one that this CPU runs" $command
done
unset WISP_ISA

# ---- dos
ok dos $topi --moments 64 --vectors 8
for word in matrix rows bounds moments vectors time integral 'error bar'; do
    grep -q "^$word" out || fail "no '$word' in the summary"
done
grep -qiw nan out && fail "NaN in the summary"
ok dos $topi --moments 64 --vectors 8 --quiet
[ -s out ] && fail "--quiet prints"
ok dos $topi --moments 64 --vectors 8 --json -o dos.json
check "-o FILE.json gives what --json prints" cmp -s out dos.json
cp out dos8.json
for key in rows nnz bounds moments moments_error energies dos dos_error vectors seed variant threads seconds gflops \
    version matrix command kernel resolution width type trace interval integral units isa bounds_seconds \
    assemble_seconds total_seconds memory_bytes first_vector completed; do
    grep -q "^  \"$key\": " out || fail "no key $key in the JSON"
done
json out 'd["rows"] == 192 and d["vectors"] == 8 and d["seed"] == 0 and d["variant"] == "blocked" and d["threads"] == 2'
json out 'len(d["moments"]) == len(d["moments_error"]) == 64 and d["moments"][0] == 192 and d["completed"] is True'
json out 'abs(d["integral"] - d["rows"]) <= 1e-3 * d["rows"] and len(d["energies"]) == len(d["dos"]) == 1024'
json out 'd["energies"] == sorted(d["energies"]) and min(d["dos_error"]) >= 0 < max(d["dos_error"])'
json out 'all(0 < l < v < h for l, v, h in zip(d["dos_low"], d["dos"], d["dos_high"])) and d["energies_without_bar"] == 0'
json out 'd["bounds"]["method"] == "lanczos" and 0 <= d["bounds"]["failure_probability"] < 1.001e-8'
json out 'abs(d["resolution"] - math.pi * d["bounds"]["halfwidth"] / 64) < 1e-12'
ok dos $topi --moments 64 --vectors 1 --json
json out 'd["dos_error"] is None and d["moments_error"] is None and d["student95"] is None and d["dos_low"] is None'
ok dos $topi --moments 64 --vectors 1
grep -qiw nan out && fail "NaN in the summary for one vector"
ok dos $topi --moments 64 --trace exact --bounds=-5,5 --json
cp out exact.json
json out 'd["trace"] == "exact" and max(d["dos_error"]) == 0 and d["dos_low"] == d["dos"] == d["dos_high"]'
json out 'abs(d["moments"][0] - 192) < 1e-9'
for variant in fused naive; do
    ok dos $topi --moments 64 --trace exact --bounds=-5,5 --variant $variant --reduce step --json
    json out 'd["variant"] == "'$variant'" and close(d["moments"], e["moments"], 192e-12)' exact.json
done
ok dos $topi --moments 64 --trace exact --bounds=-5,5 --precision single --width 3 --threads 1 --json
json out 'd["type"] == "complex single" and d["width"] == 3 and d["threads"] == 1 and
          close(d["moments"], e["moments"], 192e-5)' exact.json
for bounds in gershgorin -9,9; do
    ok dos $topi --moments 64 --vectors 2 --bounds=$bounds --json
    json out 'd["bounds"]["method"] in ("gershgorin", "given") and abs(d["integral"] - 192) < 0.2'
done
json out 'd["bounds"]["center"] == 0 and d["bounds"]["halfwidth"] == 9 and d["bounds"]["failure_probability"] is None'
ok dos $topi --resolution 0.2 --vectors 2 --seed 7 --json
json out 'd["resolution"] <= 0.2 < math.pi * d["bounds"]["halfwidth"] / (len(d["moments"]) - 2) and
          d["bounds"]["method"] == "lanczos" and d["bounds"]["failure_probability"] is not None and d["seed"] == 7'
ok dos $topi --moments 64 --vectors 4 --interval=-1,2 --points 31 --kernel lorentz:3 --json
json out 'len(d["energies"]) == 31 and d["energies"][0] == -1 and d["energies"][-1] == 2 and d["lambda"] == 3 and
          abs(d["energies"][10]) < 1e-15 and d["interval"] == [-1, 2] and d["kernel"] == "lorentz"'
for kernel in fejer dirichlet lorentz; do
    ok dos $topi --moments 64 --vectors 4 --kernel $kernel --json
    json out 'd["kernel"] == "'$kernel'" and abs(d["integral"] - 192) < 2'
done

# ---- CSV and HDF5
ok dos $topi --moments 64 --vectors 8 -o dos.csv --quiet
for line in '# version: ' '# command: ' '# matrix: topi' '# seed: 0' '# bounds.center: ' '# kernel: jackson' \
    '# resolution: ' '# units.energy: '; do
    grep -q "^$line" dos.csv || fail "no '$line' in the CSV file"
done
check "columns of the CSV file" grep -q '^energy,dos,dos_error,dos_95,dos_low,dos_high$' dos.csv
check "rows of the CSV file" test "$(grep -vc '^#' dos.csv)" = 1025
ok dos $topi --moments 64 --vectors 1 -o one.csv --quiet
check "empty fields without an error" grep -qE '^[^#,]+,[^,]+,,,,$' one.csv
grep -qi 'nan\|inf' dos.csv one.csv && fail "NaN or infinity in a CSV file"
if [ $have_python = 1 ]; then
    check "the CSV numbers are those of the JSON" python3 - <<'PY'
import json
d = json.load(open("dos8.json"))
rows = [l.strip().split(",") for l in open("dos.csv") if not l.startswith("#")][1:]
assert [float(r[0]) for r in rows] == d["energies"] and [float(r[1]) for r in rows] == d["dos"]
assert [float(r[2]) for r in rows] == d["dos_error"]
assert [float(r[4]) for r in rows] == d["dos_low"] and [float(r[5]) for r in rows] == d["dos_high"]
assert all(float(r[3]) == max(float(r[1]) - float(r[4]), float(r[5]) - float(r[1])) for r in rows)
PY
fi
if [ $have_hdf5 = 1 ]; then
    ok dos $topi --moments 64 --vectors 8 -o dos.h5 --quiet
    check "an HDF5 file" test "$(head -c 4 dos.h5 | tail -c 3)" = HDF
    if command -v h5dump >/dev/null; then
        check "its data sets" test "$(h5dump -n dos.h5 | grep -cE 'dataset +/(energies|dos|dos_error|moments|moments_error)$')" = 5
    else
        leave_out "what is in HDF5 files, for there is no h5dump"
    fi
else
    refused 1 "no HDF5" dos $topi -o dos.h5
    refused 1 "no HDF5" dos $topi --save m.h5
fi

# ---- ldos and count
ok ldos $topi --sites 0,5,7-9 --moments 64 --json
json out 'd["sites"] == [0, 5, 7, 8, 9] and len(d["dos"]) == 5 and len(d["dos"][0]) == len(d["energies"])'
json out 'close(d["integral"], [1] * 5, 1e-3) and max(map(max, d["dos_error"])) == 0'
ok ldos $topi --sites 0,5 --moments 64 -o ldos.csv
check "columns of an ldos file" grep -q '^energy,dos_0,dos_5$' ldos.csv
ok count $topi --interval=-20,20 --moments 64 --vectors 8 --json -o count.csv
json out 'abs(d["count"] - 192) < 1e-6 and d["count_95"] >= d["count_error"] >= 0 and d["interval"] == [-20, 20]'
json out 'd["count_smearing"] < 1e-9 and d["count_low"] == d["count"] == d["count_high"] and d["count_95"] == 0'
check "columns of a count file" \
    grep -q '^from,to,count,count_error,count_95,count_low,count_high,count_smearing$' count.csv
ok count $topi --interval=-1,1 --moments 64
check "the count's bar" grep -qE '^count +[0-9]+ (\+- [0-9.]+|\+[0-9.]+ -[0-9.]+) eigenvalues' out
check "and its smearing" grep -qE '^smearing +[0-9]+ states within one resolution of an end' out
ok count $topi --interval=-1,1 --moments 64 --vectors 1 --json
json out 'd["count_error"] is None and d["count_95"] is None and d["count_low"] is None and d["count_smearing"] > 1'
ok count $topi --interval=-9,9 --moments 64 --trace exact
check "a count without an end in the spectrum" grep -qE '^count +192.000 eigenvalues +\(exact trace' out
check "and without smearing" grep -qE '^smearing +less than 0.01 states' out
# Digits follow the larger error; the smearing bounds what the kernel does to levels that are known.
fine=2048
[ -n "${SANITIZED:-}" ] && fine=256 # a sanitizer counts no digits
for spec in "graphene:nx=60,ny=50 --moments 64 --interval=-2,1.5" "graphene:nx=60,ny=50 --moments $fine --interval=-2,1.5" \
    "laplace:points=5,nx=50,ny=1 --moments 100 --trace exact --interval 3.1,4.7" \
    "laplace:points=5,nx=50,ny=1 --moments 1000 --trace exact --interval 2.5,2.6" \
    "laplace:points=5,nx=50,ny=1 --moments 40 --trace exact --interval 1.99,3.5" \
    "laplace:points=5,nx=50,ny=1 --moments 64 --vectors 8 --interval 2.1,5.98"; do
    ok count $spec
    cp out count.txt
    ok count $spec --json
    [ $have_python = 1 ] || continue
    check "digits of wisp count $spec" python3 - <<'PY'
import json, math
d = json.load(open("out"))
line = [l.split() for l in open("count.txt") if l.startswith("count")][0]
halves = (d["count"] - d["count_low"], d["count_high"] - d["count"])
error = max(d["count_smearing"], min(halves), 0.01)
unit = 10.0 ** (int(("%.1e" % error).split("e")[1]) - 1)
shown = line[1].replace(",", "")
assert abs(float(shown) - d["count"]) <= 0.5001 * unit, (line, d["count"], unit)
assert len(shown.partition(".")[2]) == max(0, -round(math.log10(unit))), (line, unit)
assert unit < 1 or float(shown) % unit == 0, (line, unit)
assert (max(halves) == 0) == (d["trace"] == "exact") and min(halves) >= 0
if d["matrix"].startswith("laplace"):
    levels = [4 - 2 * math.cos(k * math.pi / 51) for k in range(1, 51)]
    truth = sum(d["interval"][0] <= x <= d["interval"][1] for x in levels)
    assert d["trace"] != "exact" or abs(d["count"] - truth) <= d["count_smearing"], (d["count"], truth)
PY
done
# A diagonal matrix: its states are on single rows, the vectors agree, and that is said.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n' >diagonal.mtx
ok dos diagonal.mtx --moments 64 --vectors 8
check "energies without a bar" grep -qE '^ +none at 1,024 energies, where all vectors agree' out
ok dos laplace:points=5,nx=50,ny=1 --moments 1000 --vectors 8
check "energies with few states" grep -qE '^ +less sure at [0-9,]+ energies, where few states make up the density' out
ok dos graphene:nx=60,ny=50 --moments 64 --vectors 8 --json
json out 'd["energies_with_few_states"] == 0'
ok count diagonal.mtx --moments 64 --vectors 8 --interval 1.5,3.5
check "a count without a bar" grep -qE '^count +2.* eigenvalues +\(all vectors agree: no error bar\)' out

# ---- info, gen, convert
ok info $topi
for word in rows nonzeros 'row length' bandwidth symmetry Gershgorin SELL; do
    grep -q "^$word" out || fail "no '$word' in wisp info"
done
ok info $topi --json
json out 'd["rows"] == d["cols"] == 192 and d["hermitian"] and d["square"] and d["first_not_hermitian"] is None'
json out 'abs(d["bytes_per_nonzero"] * d["nnz"] / d["bytes"] - 1) < 1e-12 and d["order"] in ("natural", "rcm", "tiles") and
          d["format"] in ("sell", "compressed", "hermitian")'
ok info $topi --ranks 3
check "info, three ranks" grep -q '^ *2 ' out
check "info, their sums" grep -q '^ *all ' out
ok info $topi --order natural --format sell --json
json out 'd["order"] == "natural" and d["format"] == "sell"'
ok dos $topi --moments 64 --vectors 8 --order natural --format sell --json
json out 'd["order"] == "natural" and d["format"] == "sell" and close(d["moments"], e["moments"], 192e-12)' dos8.json
ok info $topi --json
json out 'sum(b["rows"] for b in d["row_lengths"]) == 192 and min(f["ratio"] for f in d["fill_in"]) == 1'
ok gen --list
for name in topi graphene haldane square kagome anderson laplace hpcg band spinchain delaunay tetrahedra elasticity matpde \
    hubbard wannier spinz hubbardq; do
    grep -q "^$name" out || fail "no $name in gen --list"
done
ok gen $topi -o a.mtx --symmetry hermitian
ok convert a.mtx b.crs
ok convert b.crs c.mtx.gz
ok convert c.mtx.gz d.crs --quiet
printf '%s\n' '%%MatrixMarket matrix coordinate complex general' '3 2 3' '1 1 1 2' '3 1 4 0' '3 2 0 -5' >wide.mtx
ok convert wide.mtx high.mtx --adjoint
check "the adjoint" test "$(grep -v '^%' high.mtx | tr -s ' \n' ' ')" = "2 3 3 1 1 1 -2 1 3 4 -0 2 3 0 5 "
ok convert high.mtx wide2.crs --adjoint --quiet
check "a.mtx to .crs to .mtx.gz to .crs" cmp -s b.crs d.crs
for name in a.mtx b.crs c.mtx.gz; do
    ok dos $name --moments 64 --vectors 8 --json
    json out 'close(d["moments"], e["moments"], 192e-12) and d["nnz"] == e["nnz"] and d["matrix"] == "'$name'"' dos8.json
done
ok gen $topi -o pattern.mtx --pattern
check "a pattern" grep -q pattern pattern.mtx
ok gen square:nx=3,ny=4 --velocity x -o v.mtx --positions-out p.txt --symmetry hermitian
check "rows of positions" test "$(wc -l <p.txt)" = 12
check "the last position" test "$(tail -1 p.txt)" = "2 3 0"
ok gen square:nx=3,ny=4 -o h.mtx
ok convert h.mtx w.mtx --velocity x --positions p.txt --cell 3,0:0,4 --symmetry hermitian
check "the velocity of a file with positions" cmp -s <(grep -v '^%' v.mtx) <(grep -v '^%' w.mtx)
ok gen square:nx=3,ny=4 --peierls 0.25 --velocity y -o f.mtx
refused 1 "where its rows are is not known" convert h.mtx w.mtx --velocity x
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >b3.mtx
refused 1 "only rows of a square matrix" convert b3.mtx w.mtx --peierls 1 --positions p.txt
refused 2 "--positions is for --velocity and --peierls" convert h.mtx w.mtx --positions p.txt
refused 2 "--cell needs --positions" gen square -o w.mtx --velocity x --cell 1,2
ok gen kagome:nx=2,ny=2,vacancies=0.3 --positions-out p.txt
ok info square:nx=3,ny=4
check "positions in info" grep -q '^positions *in 2 dimensions' out
refused 1 "no positions" gen band:n=9 --positions-out p.txt
refused 1 "no positions" gen band:n=9 -o beside.mtx --positions-out p.txt
refused 1 "absent/p.txt" gen square -o beside.mtx --positions-out absent/p.txt
check "no matrix where its positions can't be" test ! -e beside.mtx
refused 2 "writes no file" gen --list --velocity x
refused 1 "take a larger cell" gen square:nx=2,ny=4 --velocity x -o v.mtx
refused 2 "the same file" gen square -o p.mtx --positions-out p.mtx
refused 2 "-o FILE is missing" gen square --velocity x
ok gen laplace:nx=3,ny=3,nz=1 -o dense.mtx --array
check "a dense file" grep -q array dense.mtx

# ---- plan and limit
large=topi:nx=50,ny=50,nz=20 rows=200000 limit=20
[ -n "${SANITIZED:-}" ] && large=topi:nx=20,ny=20,nz=10 rows=16000 limit=2
ok dos $large --plan
check "--plan gives a total" grep -q '^total' out
ok dos $large --width 8 --plan --json
json out 'd["rows"] == '$rows' and d["total_bytes"] >= d["matrix_bytes"] + d["blocks_bytes"] > 10 * 16 * '$rows
json out 'd["bound_bytes"] >= d["total_bytes"] and d["format"] == "compressed"'
json out 'd["total_seconds"] > d["seconds"] > 0 and d["bounds_seconds"] > 0 and d["assemble_seconds"] > 0 and
          d["load_gbs"] > 0 and d["ceilings"] in ("kept", "now") and d["limit"]'
ok dos $large --plan --variant naive --bounds=-5,5 --vectors 3
check "--plan gives a time" grep -q '^time .*about' out
ok dos $topi --plan --resolution 0.1
grep -q '^time' out && fail "--plan tells a time though the number of moments is not known"
refused 1 "more than --mem-limit $limit MB" dos $large --width 8 --mem-limit ${limit}MB
WISP_INDEX_LIMIT=26 refused 1 "more than one process can index (26)" dos laplace:nx=3,ny=3,nz=3 --moments 4
WISP_INDEX_LIMIT=27 ok dos laplace:nx=3,ny=3,nz=3 --moments 4
ok dos $topi --moments 64 --vectors 2 --mem-limit 1G --quiet

# ---- save and from
if [ $have_hdf5 = 1 ]; then
    ok dos $topi --moments 64 --vectors 8 --seed 3 --save m.h5 --json
    cp out saved.json
    ok dos --from m.h5 --json
    json out 'd["dos"] == e["dos"] and d["dos_error"] == e["dos_error"] and d["bounds"] == e["bounds"] and
              d["moments"] == e["moments"] and d["seed"] == 3 and d["matrix"] == e["matrix"] and
              d["moments_command"] == e["command"]' saved.json
    ok dos --from m.h5 --moments 32 --kernel fejer --interval=-1,1 --json
    json out 'len(d["moments"]) == 32 and d["moments"] == e["moments"][:32]' saved.json
    ok count --from m.h5 --interval=-1,1
    ok dos --from m.h5 --resolution 1
    ok ldos $topi --sites 3-6 --moments 64 --save l.h5 --json
    cp out lsaved.json
    ok ldos --from l.h5 --sites 5,3 --json
    json out 'd["sites"] == [5, 3] and d["dos"] == [e["dos"][2], e["dos"][0]]' lsaved.json
    refused 1 "no moments of row 8" ldos --from l.h5 --sites 8
    refused 1 "wisp ldos --from" dos --from l.h5
    refused 1 "wisp dos --from" ldos --from m.h5
    refused 1 "64 moments" dos --from m.h5 --moments 65
    refused 1 "64 moments" dos --from m.h5 --resolution 0.0001
    refused 2 "ask for more --moments or --vectors, or leave MATRIX away" dos $topi --from m.h5
    for option in --vectors=2 --trace=exact --seed=1 --bounds=gershgorin --variant=naive --width=2 --precision=single \
        --reduce=step --save=x.h5 --plan; do
        refused 2 "${option%%=*} needs a new run" dos --from m.h5 $option
    done
    refused 2 "name the same file" dos --from m.h5 -o m.h5
    refused 1 "absent.h5" dos --from absent.h5
    echo nonsense >nonsense.h5
    refused 1 "nonsense.h5" dos --from nonsense.h5
fi

# ---- plots
if [ $have_gnuplot = 1 ]; then
    ok dos $topi --moments 64 --vectors 8 --plot dos.svg
    check "the plot is named" grep -q '^plot .*dos.svg' out
    check "a complete svg" grep -q '</svg>' dos.svg
    check "axes with units" grep -q 'states per energy' dos.svg
    check "title with the matrix" grep -q "$topi" dos.svg
    check "the error band" grep -q '95% error band' dos.svg
    ok dos $topi --moments 64 --vectors 8 --plot dos.png
    check "a png" test "$(head -c 4 dos.png | tail -c 3)" = PNG
    ok dos $topi --moments 64 --vectors 8 --plot dos.pdf
    check "a pdf" test "$(head -c 4 dos.pdf)" = %PDF
    ok ldos $topi --sites 0-3 --moments 64 --plot ldos.svg
    check "a key for each row" grep -q 'row 3' ldos.svg
    ok count $topi --interval=-1,1 --moments 64 --plot count.svg
    cp a.mtx "it's \$(odd) \"{name}\".mtx"
    ok dos "it's \$(odd) \"{name}\".mtx" --moments 16 --vectors 2 --plot odd.svg
    check "odd names in the title" grep -q "it's \$(odd)" odd.svg
fi
mkdir -p bin empty
printf '#!/bin/sh\ncat >/dev/null\necho "no such terminal" >&2\nexit 3\n' >bin/gnuplot
chmod +x bin/gnuplot
echo old >old.svg
(PATH="$dir/empty" && exec "$wisp" dos $topi --plot x.svg 2>err) && fail "--plot without gnuplot passes"
check "a missing gnuplot is named" grep -q '^wisp: --plot needs gnuplot' err
(PATH="$dir/bin:$PATH" "$wisp" dos $topi --moments 16 --vectors 2 --quiet --plot old.svg 2>err) && fail "a failing gnuplot passes"
check "a failing gnuplot is named" grep -q '^wisp: gnuplot failed.*no such terminal' err
check "the old plot survives it" grep -qx old old.svg

# ---- memory that is refused somewhere: one line, never a crash. (What a matrix can do without may be refused; the run
# goes on then, as it does at first, while the width is chosen: for how many allocations hangs on the machine that the
# model sees. Past the last allocation it always does.)
failures=0 passes=0 step=1
[ -n "${SANITIZED:-}" ] && step=4 # of the library's allocations its own tests refuse each
for ((n = 1; n < 1000 && (failures == 0 || passes * step < 60); n += step)); do
    checks=$((checks + 1))
    WISP_ALLOC_FAIL_AT=$n "$wisp" dos $topi --moments 16 --vectors 2 --json >out 2>err
    rc=$?
    passes=$((rc == 0 ? passes + 1 : 0)) failures=$((rc == 0 ? failures : failures + 1))
    [ $rc = 0 ] && continue
    { [ $rc = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q '^wisp: ' err; } ||
        fail "allocation $n refused: exit $rc: $(cat err)"
done
checks=$((checks + 1))
[ $((failures * step)) -gt 30 ] && [ $n -lt 1000 ] || fail "of refused allocations $failures failed, up to number $n"

# ---- refused: usage
refused 2 "no command"
refused 2 "did you mean \"dos\"" doss
refused 2 "unknown command" frobnicate
refused 2 "unknown option" --frobnicate
refused 2 'unknown command "plan"; it is an option of others: wisp dos MATRIX --plan' plan
refused 2 "MATRIX is missing" dos
refused 2 "MATRIX is missing" info
refused 2 "goes with --ranks" info topi --width 3
refused 2 "ranks 1" info topi --ranks 1
refused 2 "OUT is missing" convert a.mtx
refused 2 "SPEC is missing" gen
refused 2 "-o FILE is missing" gen $topi
refused 2 "one argument too many" dos $topi a.mtx
refused 2 "did you mean --moments" dos $topi --momens 5
refused 2 "unknown option --zzz" dos $topi --zzz
refused 2 "unknown option -x" dos $topi -x
refused 2 "one of several options" dos $topi --s 5
refused 2 "off, or seconds from 2" dos $topi --watchdog 1
ok dos $topi --moments 16 --vectors 1 --watchdog off --quiet # one process has none
refused 2 "wisp dos has no option --sites" dos $topi --sites 5
refused 2 "needs a value" dos $topi --moments
refused 2 "takes no value" dos $topi --json=yes
refused 2 "takes one step at a time" dos $topi --depth 2 --variant naive
for command in dos info; do
    refused 2 "expected one of auto|natural|rcm|tiles" $command $topi --order all
    refused 2 "expected one of auto|sell|compressed|hermitian" $command $topi --format crs
done
refused 2 '--device "": expected one of' dos $topi --device ''
for device in cuda cpu:1 far:2 cpu: far:x '' CPU; do refused 2 "expected one of cpu|far|far:1|plain; wisp machine" dos $topi --device "$device"; done
for device in cpu far:1; do # the option is before the variable, and names what runs
    WISP_DEVICE=gpu ok dos $topi --moments 16 --vectors 1 --device $device --json
    json out "d['device'] == '$device'"
done
WISP_DEVICE=gpu:3 refused 1 "there is no device 'gpu:3': take one of 'cpu', 'far', 'far:1', 'plain', or unset WISP_DEVICE" dos $topi --moments 16
for value in 0 1 -5 1.5 x 12x '' ' 12' 99999999999999999999; do refused 2 "expected a whole number" dos $topi --moments "$value"; done
for option in vectors points width depth threads; do refused 2 "expected a whole number" dos $topi --$option 0; done
refused 2 "expected a whole number" dos $topi --seed -1
for value in 0 -1 nan inf x 1e999 ''; do refused 2 "expected a number above 0" dos $topi --resolution "$value"; done
refused 2 "exclude each other" dos $topi --resolution 1 --moments 5
refused 2 "exclude each other" dos $topi --trace exact --vectors 5
refused 2 "expected one of random|exact" dos $topi --trace both
refused 2 "expected jackson" dos $topi --kernel gauss
refused 2 "only the Lorentz kernel" dos $topi --kernel jackson:4
for value in 0 -1 x '' 3x nan; do refused 2 "above 0" dos $topi --kernel lorentz:"$value"; done
refused 2 "expected lanczos" dos $topi --bounds magic
for option in bounds interval; do
    for value in 1, ,1 1,2,3 a,b nan,1 0,inf; do refused 2 "expected two numbers" dos $topi --$option "$value"; done
    for value in 3,1 1,1; do refused 2 "below the second" dos $topi --$option $value; done
done
for value in '' x -1 1, ,1 1,,2 1-; do refused 2 "expected row numbers" ldos $topi --sites "$value"; done
refused 2 "upwards" ldos $topi --sites 5-3
refused 2 "at most" ldos $topi --sites 0-99999999999
refused 2 "row 192 is not there" ldos $topi --sites 0,192
refused 2 "needs --sites" ldos $topi
refused 2 "needs --interval" count $topi
for value in 0 -5 x 5X 5GBs '' nan; do refused 2 "expected a size" dos $topi --mem-limit "$value"; done
refused 2 "for --variant blocked" dos $topi --variant naive --width 4
for name in x x.txt .csv x.csv.gz; do refused 2 "must end in" dos $topi -o $name; done
refused 2 "must end in" dos $topi --plot x.gif
refused 2 "must end in" dos $topi --save x.dat
refused 2 "must end in" gen $topi -o x.txt
refused 2 "must end in" convert a.mtx x
refused 2 "for .mtx files" gen $topi -o x.crs --array
refused 2 "exclude each other" gen $topi -o x.mtx --array --pattern
refused 2 "same file" convert a.mtx ./a.mtx
refused 2 "takes no SPEC" gen --list $topi

# ---- refused: input
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n1 2 3\n' >unsymmetric.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >wide.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1\n' >outside.mtx
printf 'rubbish\n' >rubbish.mtx
for command in dos info; do
    refused 1 "absent.mtx" $command absent.mtx
    refused 1 "outside.mtx" $command outside.mtx
    refused 1 "rubbish.mtx" $command rubbish.mtx
    refused 1 "topo" $command topo:nx=3
    refused 1 "ny" $command topi:nx=3,my=3
done
refused 1 "ermitian" dos unsymmetric.mtx
refused 1 "rectangular" dos wide.mtx
ok info unsymmetric.mtx
ok info wide.mtx
refused 1 "skew" gen $topi -o x.mtx --symmetry skew
refused 1 "bound" dos $topi --bounds=-0.5,0.5 --moments 64
[ -e x.mtx ] && fail "a refused gen leaves a file"

# ---- outputs that cannot be written
refused 1 "cannot write absent/x.csv" dos $long -o absent/x.csv
refused 1 "cannot write" dos $long --plot absent/x.svg
[ $have_hdf5 = 1 ] && refused 1 "cannot write" dos $long --save absent/x.h5
mkdir -p folder.csv
refused 1 "folder.csv" dos $long -o folder.csv
if [ -c /dev/full ]; then
    ln -sf /dev/full full.csv
    refused 1 "No space left" dos $topi --moments 16 --vectors 2 --quiet -o full.csv
    check "a device is not replaced" test -c full.csv
    checks=$((checks + 1))
    "$wisp" dos $topi --moments 16 --vectors 2 --json 2>err >/dev/full && fail "--json to a full device passes"
    grep -q '^wisp: .*No space left' err || fail "--json to a full device: $(cat err)"
    "$wisp" --help 2>err >/dev/full && fail "--help to a full device passes"
else
    leave_out "a full device, for there is no /dev/full"
fi

# ---- progress and messages
checks=$((checks + 1))
"$wisp" dos $topi --moments 64 --vectors 2 --quiet --log json 2>log || fail "--log json: exit $?"
check "progress as JSON lines" grep -q '"event":"progress".*"task":"moments"' log
[ $have_python = 1 ] && check "each line is an object" python3 -c 'import json; [json.loads(l) for l in open("log")]'
"$wisp" dos $topi --moments 64 --vectors 2 --quiet --log text 2>log || fail "--log text: exit $?"
check "progress as text" grep -q '^wisp: moments' log
"$wisp" dos absent.mtx --log json 2>log && fail "absent.mtx is found"
check "an error as JSON" grep -q '"event":"error"' log

# ---- Ctrl-C
for signal in INT TERM; do
    checks=$((checks + 1))
    stop moments $signal 0 dos $long --moments 1000 --vectors 5000 --width 1
    tail -1 log | grep -q '"event":"error".*stopped by .*; nothing was kept' || fail "$(tail -1 log)"
    [ -s out ] && fail "a stopped run prints results"
done
if [ $have_hdf5 = 1 ]; then
    checks=$((checks + 1))
    stop moments INT 0.01 dos $long --moments 400 --vectors 400 --width 1 --bounds=-6,6 --save part.h5
    tail -1 log | grep -q '"event":"error".*of 400 vectors with 400 moments are kept: wisp dos --from part.h5' || fail "$(tail -1 log)"
    ok dos --from part.h5 --json
    cp out part.json
    json part.json '1 <= d["vectors"] < 400'
    done_vectors=$(sed -n 's/^  "vectors": \([0-9]*\),$/\1/p' part.json)
    ok dos $long --moments 400 --vectors "$done_vectors" --width 1 --bounds=-6,6 --json
    json out 'close(d["moments"], e["moments"], 4000e-12)' part.json
    # Stopped in its first batch, a run keeps the vectors at hand with the moments they have.
    checks=$((checks + 1))
    stop moments INT 1e-9 dos $long --moments 1000000 --vectors 4 --width 4 --save begun.h5
    tail -1 log | grep -q '4 of 4 vectors with [0-9]* moments are kept: wisp dos --from begun.h5' || fail "$(tail -1 log)"
    ok dos --from begun.h5 --json
    cp out begun.json
    json begun.json 'd["vectors"] == 4 and 2 <= len(d["moments"]) < 1000000'
fi

# ---- standard streams that are closed: what is printed fails, and goes to no file that the run has opened
mkdir -m 700 runtime
closed() { # closed ARGS...: with stdout closed, alone and with others
    for streams in "1" "0 1" "1 2" "0 1 2"; do
        checks=$((checks + 1))
        rm -f closed.csv err
        ( for fd in $streams; do eval "exec $fd>&-"; done; XDG_RUNTIME_DIR=$PWD/runtime exec "$wisp" "$@" -o closed.csv ) 2>err
        local rc=$?
        [ $rc = 1 ] || fail "wisp $*, without streams $streams: exit $rc"
        [ "${streams%2}" != "$streams" ] || [ "$(cat err)" = "wisp: cannot write to the standard output: Bad file descriptor" ] ||
            fail "wisp $*, without streams $streams: $(cat err)"
        check "the whole file" test "$(grep -c -v '^#' closed.csv)" = 9
        check "nothing else there" sh -c '! grep -q "^matrix\|^wisp:" closed.csv runtime/wisp/* 2>/dev/null'
    done
}
closed dos $topi --moments 4 --vectors 2 --points 8
closed evolve $topi --time 1 --steps 7 --site 0

# ---- names that are odd: not UTF-8, one file by two names, thousands of sites
odd=$(printf '\377.mtx')
ok gen $topi -o "$odd"
for args in "info --json" "dos --plan --json" "dos --json --moments 4 --vectors 1"; do
    ok ${args%% *} "$odd" ${args#* }
    json out '"?" in d["matrix"]'
done
if [ $have_hdf5 = 1 ]; then
    refused 2 "same file" dos $topi --save same.h5 -o ./same.h5
    # More than 64 KiB of text, and of sites.
    ok ldos laplace:nx=9,ny=1,nz=1 --sites "$(for ((i = 0; i <= 9000; i++)); do printf '%08d,' $((i % 9)); done)8" --moments 2 --points 2 --save sites.h5 -o sites-out.h5
    ok ldos --from sites.h5 --sites 8 --json
fi

finish
