# wisp dos and ldos --where: rows by position, list and file against local densities; plans, ranks, refusals.
. "$(dirname "$0")/cli.sh"

H=anderson:nx=5,ny=4,nz=3,disorder=2 # row (x 4 + y) 3 + z
bounds=--bounds=-9,9
cat >sums.py <<'PY'
def sums(rows):
    return [sum(m) for m in zip(*rows)]
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("sums.py").read())' check.py
printf '# some\n0-2,5\n\n7, 9 11-11 # more\n' >rows.txt
for ((i = 0; i < 60; i++)); do echo $((i / 12)) $((i / 3 % 4)) $((i % 3)); done >positions.txt
same() { # same ROWS WHERE...: dos on these is the sum of ldos on each of them
    ok ldos $H --sites "$1" --moments 40 $bounds --json
    cp out sites.json
    ok dos $H "${@:2}" --moments 40 --trace exact $bounds --json
    json out 'd["where_rows"] == len(e["sites"]) and close(d["moments"], sums(e["moments"]), 1e-11)' sites.json
    ok ldos $H "${@:2}" --moments 40 $bounds --json
    json out 'd["sites"] == e["sites"] and d["dos"] == e["dos"]' sites.json
}
same 0-11 --where 'x<1'
same 0-11 --where 'x<=0'
same 36-59 --where 'x>2'
same 37,40,43,46,49,52,55,58 --where 'x>=3,z>0,z<=1'
same 3-5 --where 'x<0.5,y>0.5,y<1.5'
same 3,5-8,59 --where 3,5-8,59
same 0-2,5,7,9,11 --where rows.txt
ok gen $H -o own.mtx
same 0-11 --where 'x<1' --positions positions.txt
ok dos own.mtx --where 'x<1' --positions positions.txt --moments 40 --trace exact $bounds --json
cp out named.json
ok dos $H --where 'x<1' --moments 40 --trace exact $bounds --json
json out 'close(d["moments"], e["moments"], 1e-11)' named.json
WISP_RANKS=3 ok dos $H --where 'x<1' --moments 40 --trace exact $bounds --json
json out 'd["ranks"] == 3 and close(d["moments"], e["moments"], 1e-11)' named.json
ok dos $H --where 'z>1' --moments 40 --vectors 300 $bounds --energies=-2,0,2 --json
cp out random.json
ok dos $H --where 'z>1' --moments 40 --trace exact $bounds --energies=-2,0,2 --json
json out 'all(abs(x - y) < 4 * b for x, y, b in zip(d["dos"], e["dos"], e["dos_error"])) and e["moments"][0] == 20' random.json
ok dos $H --where 'z>1' --moments 40
check "what the summary says" grep -qE '^where +z>1: 20 rows' out
check "the integral" grep -qE '^integral .* of 20 states on these rows' out
# A vacancy moves rows, and positions with them.
ok dos graphene:nx=6,ny=6,vacancies=0.2 --where 'y>3' --moments 40 --json
json out '0 < d["where_rows"] < d["rows"]'
if [ $have_python = 1 ]; then
    for where in 'x<3' 59; do
        ok dos $H --where "$where" --moments 40 --vectors 4 --plan --json
        bound=$(python3 -c 'import json; print(json.load(open("out"))["bound_bytes"])')
        ok dos $H --where "$where" --moments 40 --vectors 4 --mem-limit "$bound" --quiet
    done
fi
if [ $have_gnuplot = 1 ]; then
    ok dos $H --where 'x<1' --moments 40 --vectors 4 --plot rows.svg --quiet
    check "what is drawn" grep -q 'density of states on the chosen rows' rows.svg
    check "no operator" sh -c '! grep -q "tr B" rows.svg'
fi
if [ $have_hdf5 = 1 ]; then
    ok dos $H --where 'x<1' --moments 40 --vectors 4 --save m.h5 --json
    cp out own.json
    ok dos --from m.h5 --json
    json out 'd["dos"] == e["dos"] and d["where"] == "x<1" and d["where_rows"] == 12' own.json
    ok dos --from m.h5
    check "a kept run says its rows" grep -qE '^where +x<1: 12 rows' out
    check "and what the density is of" grep -qE '^integral .* of 12 states on these rows' out
    # however short the option was written
    ok dos $H --wh='x<1' --moments 40 --vectors 4 --save short.h5 --quiet
    ok dos --from short.h5 --json
    json out 'd["dos"] == e["dos"] and d["where"] == "x<1" and d["where_rows"] == 12' own.json
    for say in "--op chain.mtx" "--opera=chain.mtx"; do
        ok gen laplace:nx=60,ny=1,nz=1 -o chain.mtx --quiet
        ok dos $H $say --moments 40 --vectors 4 --save short.h5 --quiet
        ok dos --from short.h5 --json
        json out 'd["operator"] == "chain.mtx" and "where" not in d'
    done
    # A list longer than an attribute of HDF5 holds is kept with the results.
    long=0
    for i in $(seq 16000); do long+=",$((i % 60))"; done
    long+=$(printf ',%06d' $(seq 1 59 | sed 's/.*/1/') $(seq 4000 | sed 's/.*/7/'))
    ok dos $H --where "$long" --moments 40 --trace exact $bounds -o long.h5 --save longer.h5 --quiet
    check "results with a long list" test -s long.h5
    ok dos --from longer.h5 -o again.h5 --quiet
    refused 2 "--where needs a new run" dos --from m.h5 --where 'x<1'
fi

refused 1 "no row is there" dos $H --where 'x<0'
refused 2 "expected conditions on x, y or z" dos $H --where 'x<1,w>2'
refused 2 "expected conditions on x, y or z" dos $H --where 'x<'
refused 2 "expected conditions on x, y or z" ldos $H --where 'x<1,'
refused 1 "row 60 is not there; the matrix has rows 0 to 59" dos $H --where 3,60
refused 1 "expected row numbers" dos $H --where 3,x
refused 1 "expected row numbers" dos $H --where 9-3
printf '1\n2\nx\n' >bad.txt
refused 1 "bad.txt, line 3: expected row numbers" dos $H --where bad.txt
refused 1 "No such file or directory; nor is it rows" dos $H --where gone.txt
refused 1 "own.mtx: where its rows are is not known; give it by --positions FILE" dos own.mtx --where 'x<1'
refused 1 "where its rows are is not known" dos spinchain:sites=6 --where 'x<1'
refused 1 "gone.txt" dos $H --where 'x<1' --positions gone.txt
refused 2 "--positions is for --where" dos $H --positions positions.txt
refused 2 "--positions is for --where with conditions" dos $H --positions gone.txt --where 0-2
refused 2 "with <, <=, > or >=" dos $H --where 'x=1'
refused 2 "--where does not go with" ldos $H --sites 1 --where 'x<1'
refused 2 "--where does not go with" dos $H --operator $H --where 'x<1'
refused 2 "--partition does not go with" dos $H --partition levels --where 'x<1'
refused 2 "--partition does not go with" dos $H --partition levels --operator $H
refused 2 "no option --where" count $H --interval 0,1 --where 1
if [ $have_hdf5 = 1 ]; then
    ok dos topi:nx=4,ny=4,nz=4 --where 'z<1' --bounds=-8,8 --moments 16 --save one.h5
    ok dos topi:nx=4,ny=4,nz=4 --where 'z<2' --bounds=-8,8 --moments 16 --seed 1 --save two.h5
    refused 1 "one.h5 and two.h5 cannot be taken together: their operators on the left differ" dos --from one.h5 --from two.h5
fi

finish
