# wisp dos --operator: traces with a matrix on the left against local densities, against those of the matrix itself; files, refusals.
. "$(dirname "$0")/cli.sh"

H=anderson:nx=5,ny=4,nz=3,disorder=2
bounds=--bounds=-9,9
cat >sums.py <<'PY'
def sums(rows): # of moments of single rows
    return [sum(m) for m in zip(*rows)]
def with_matrix(mu, b): # tr H T_n of those of tr T_n
    c, h = b["center"], b["halfwidth"]
    return [h * (mu[n + 1] + mu[abs(n - 1)]) / 2 + c * mu[n] for n in range(len(mu) - 1)]
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("sums.py").read())' check.py

# ---- the rows of a subspace
printf '%%%%MatrixMarket matrix coordinate pattern general\n60 60 3\n1 1\n8 8\n60 60\n' >some.mtx
ok ldos $H --sites 0,7,59 --moments 64 $bounds --json
cp out rows.json
ok dos $H --operator some.mtx --moments 64 --trace exact $bounds --json
json out 'close(d["moments"], sums(e["moments"]), 1e-12) and max(map(abs, d["dos_im"])) < 1e-12 and d["operator"] == "some.mtx"' rows.json
json out 'close(d["dos"], sums(e["dos"]), 1e-11) and abs(d["integral"] - 3) < 0.01 and d["units"]["dos"] == "1 per energy"' rows.json
ok dos $H --operator some.mtx --moments 64 --vectors 400 $bounds --energies=-3,0,3 --json
cp out random.json
ok ldos $H --sites 0,7,59 --moments 64 $bounds --energies=-3,0,3 --json
json out 'all(abs(x - y) < 4 * b for x, y, b in zip(sums(d["dos"]), e["dos"], e["dos_error"]))' random.json
cp out at.json
ok dos $H --operator some.mtx --moments 64 --trace exact $bounds --per 3 --energies 0 --json
json out 'd["per"] == 3 and abs(3 * d["dos"][0] - sums(e["dos"])[1]) < 1e-11' at.json

# ---- the matrix itself: what its own moments say, vector by vector
for trace in "--vectors 5" "--trace exact"; do
    # shellcheck disable=SC2086
    ok dos $H --moments 64 $trace $bounds --json
    cp out own.json
    # shellcheck disable=SC2086
    ok dos $H --operator $H --moments 63 $trace $bounds --json
    json out 'close(d["moments"], with_matrix(e["moments"], e["bounds"]), 1e-10)' own.json
    cp out serial.json
    # shellcheck disable=SC2086
    WISP_RANKS=3 ok dos $H --operator $H --moments 63 $trace $bounds --json
    json out 'd["ranks"] == 3 and close(d["moments"], e["moments"], 1e-10)' serial.json
done

# ---- not Hermitian, complex: one entry, i at row 3 and column 11; tr B T_n = i <11|T_n|3>
printf '%%%%MatrixMarket matrix coordinate complex general\n60 60 1\n4 12 0 1\n' >entry.mtx
ok ldos $H --sites 3 --left-sites 11 --moments 40 $bounds --json
cp out pair.json
ok dos $H --operator entry.mtx --moments 40 --trace exact $bounds --json
json out 'close(d["dos_im"], e["dos"][0], 1e-12) and max(map(abs, d["dos"])) < 1e-12 and d["type"] == "complex double"' pair.json
ok dos $H --operator entry.mtx --moments 40 --trace exact --precision single $bounds --json
json out 'close(d["dos_im"], e["dos"][0], 1e-5) and d["type"] == "complex single"' pair.json

# ---- outputs
ok dos $H --operator $H --moments 64 --vectors 8 -o o.csv
check "what the summary says" grep -qE '^operator +anderson' out
check "the integral" grep -qE '^integral .*about the trace of the operator, .* [+]- .* by moment 0; 95% bar' out
check "a table" grep -q '^energy,dos,dos_im,dos_error,dos_95,dos_low,dos_high,dos_im_error$' o.csv
if [ $have_gnuplot = 1 ]; then
    ok dos $H --operator $H --moments 64 --vectors 8 --plot o.svg
    check "a picture" grep -q 'tr B' o.svg
fi
if [ $have_hdf5 = 1 ]; then
    run() { ok dos $H --operator some.mtx --moments 40 --bounds=-9,9 --width 4 "$@"; }
    run --vectors 16 --json
    cp out sixteen.json
    run --vectors 8 --save a.h5 --quiet
    run --vectors 8 --first-vector 8 --save b.h5 --quiet
    ok dos --from a.h5 --from b.h5 --json
    json out 'd["vectors"] == 16 and all(d[k] == e[k] for k in ("moments", "dos", "dos_im", "dos_low", "dos_im_error"))' sixteen.json
    refused 1 "holds moments with an operator; see wisp dos" count --from a.h5 --interval 0,1
    refused 1 "with an operator; see wisp dos" ldos --from a.h5
    refused 2 "--operator needs a new run" dos --from a.h5 --operator some.mtx
fi
if [ $have_python = 1 ]; then
    for operator in some.mtx entry.mtx $H topi:nx=5,ny=3,nz=1; do
        ok dos $H --operator $operator --moments 64 --vectors 8 --plan --json
        bound=$(python3 -c 'import json; print(json.load(open("out"))["bound_bytes"])')
        ok dos $H --operator $operator --moments 64 --vectors 8 --mem-limit "$bound" --quiet
    done
fi
run=(dos $H --moments 4001 --vectors 3 --width 1 --bounds=-9,9)
stop moments INT 0.5 "${run[@]}" --operator some.mtx --checkpoint run.ck --quiet
grep -q 'to go on, repeat the command with --resume run.ck' log || fail "stopped: $(cat log)"
ok "${run[@]}" --operator some.mtx --json
cp out whole.json
printf '%%%%MatrixMarket matrix coordinate pattern general\n60 60 3\n2 2\n8 8\n60 60\n' >others.mtx
refused 1 "--operator" "${run[@]}" --operator others.mtx --resume run.ck
ok "${run[@]}" --operator some.mtx --resume run.ck --json
json out 'd["moments"] == e["moments"]' whole.json

refused 1 "--operator anderson:nx=10,ny=10,nz=10 is 1000 x 1000; the matrix has 60 rows" dos $H --operator anderson:nx=10,ny=10,nz=10
refused 1 "gone.mtx: neither a file nor a gallery name" dos $H --operator gone.mtx
# what is no number is told before the run, in the words of the command
for number in nan 1e999; do
    printf '%%%%MatrixMarket matrix coordinate real general\n60 60 1\n3 3 %s\n' $number >nonfinite.mtx
    refused 1 "--operator times a left vector: column 0 holds a NaN, an infinity" dos $H --operator nonfinite.mtx
    refused 1 "--operator nonfinite.mtx: row 2 holds a NaN or an infinity" evolve $H --time 1 --site 0 --operator some.mtx --operator nonfinite.mtx
done
refused 2 "one --operator at a time" dos $H --operator some.mtx --operator some.mtx
refused 2 "--precision auto is not for --operator" dos $H --operator some.mtx --precision auto
refused 2 "no option --operator" count $H --interval 0,1 --operator some.mtx
refused 2 "name the same file" dos $H --operator o.csv -o o.csv
finish
