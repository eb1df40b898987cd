#!/bin/bash
# --precision auto: single where that is enough, else double; and why.
. "$2/tests/cli.sh"
topi=topi:nx=6,ny=6,nz=4

run="$topi --moments 128 --vectors 16 --bounds=-5.5,5.5"
ok dos $run --json && cp out double.json
json double.json 'd["type"] == "complex double" and d["precision"] is None and d["rounding"] is None'
ok dos $run --precision auto --json
json out 'd["type"] == "complex single" and 0 < d["rounding"] <= 0.1 and d["precision"].startswith("complex single: rounding moves")'
json out 'all(abs(a - b) <= 0.2 * d["student95"] * c + 1e-3 for a, b, c in zip(d["moments"], e["moments"], e["moments_error"]))' double.json
ok dos $topi --moments 128 --vectors 16 --precision auto
check "the summary says which, and why" grep -q '^precision  *complex single: rounding moves no moment by more than' out
ok dos $topi --resolution 0.2 --vectors 16 --precision auto --json
json out 'd["type"] == "complex single" and d["resolution"] <= 0.2'
ok count $topi --moments 64 --vectors 8 --interval=-1,1 --precision auto --json
json out 'd["type"] == "complex single"'

# ---- where it is not enough, or cannot be told
printf '%%%%MatrixMarket matrix coordinate real symmetric\n6 6 6\n1 1 0.1\n2 2 0.2\n3 3 0.3\n4 4 0.4\n5 5 0.5\n6 6 0.7\n' >diagonal.mtx
ok dos diagonal.mtx --moments 64 --vectors 8 --json && cp out double.json
ok dos diagonal.mtx --moments 64 --vectors 8 --precision auto --json
json out 'd["type"] == "double" and d["precision"].startswith("double: rounding in single precision moves moment")' 
json out 'd["moments"] == e["moments"] and d["bounds"] == e["bounds"] and d["rounding"] is None' double.json
for alone in "--trace exact" "--vectors 1"; do
    ok dos $topi --moments 32 $alone --precision auto
    check "why: $alone" grep -q '^precision  *complex double: there are no error bars' out
done
ok ldos $topi --moments 32 --sites 3,4 --precision auto --json
json out 'd["type"] == "complex double" and "no error bars" in d["precision"]'
refused 2 "expected one of single|double" evolve $topi --time 1 --site 3 --precision auto
refused 2 "expected one of single|double" info $topi --precision auto
refused 2 "expected one of single|double|auto" dos $topi --precision half

ok dos $topi --moments 64 --vectors 8 --precision auto --width 1 --json
json out 'd["type"] == "complex single" and d["rounding"] > 0'
ok dos diagonal.mtx --moments 64 --vectors 8 --width 1 --precision auto --json
json out 'd["type"] == "double" and "all vectors agree" in d["precision"]'
ok dos $topi --resolution 1e-6 --bounds=-6,6 --vectors 2 --precision auto --plan --json
json out 'd["type"] == "complex double"'
mkfifo pipe
cat diagonal.mtx >pipe &
ok dos pipe --moments 64 --vectors 8 --precision auto --json
json out 'd["type"] == "double" and "only once" in d["precision"]'

# ---- conductivities: left vectors in single precision, by what their rounding moves beside the bars
cells=24 bytes=300
[ -n "${SANITIZED:-}" ] && cells=8 bytes=33 # a sanitizer has nothing to say of numbers
hall="haldane:nx=$cells,ny=$cells,t2=0.1 --moments 64 --vectors 8 --left-bytes ${bytes}kB --bounds=-3.3,3.3"
for run in "$hall --direction xy" "$hall --direction xx --temperature 0.1" "$hall --direction xx --formula greenwood --mu=-2,0.3,1" \
    "graphene:nx=20,ny=20,disorder=1 --direction xx --optical 0.5:3:6 --vectors 4 --left-bytes 100kB --bounds=-3.5,3.5"; do
    ok sigma $run --json && cp out double.json
    json double.json 'd["type"] in ("double", "complex double") and "precision" not in d'
    ok sigma $run --precision auto --json
    json out 'd["type"] == e["type"] and 0 < d["rounding"] <= 0.1 and ", left vectors in single: rounding moves no value by more" in d["precision"]' double.json
    json out 'd["sigma"] != e["sigma"] and all(abs(a - b) <= min(0.1, 10 * d["rounding"]) * (h - l) / 2
                  for a, b, l, h in zip(d["sigma"], e["sigma"], e["sigma_low"], e["sigma_high"]))' double.json
done
ok sigma $hall --direction xy --precision auto
check "the summary says which, and why" grep -q '^precision  *complex double, left vectors in single: rounding moves no value by more than' out
ok sigma $hall --direction xy --precision auto --plan
check "the plan says so" grep -q 'at most: in double, should that not be enough' out
ok sigma $hall --direction xy --plan --json && cp out double.json
ok sigma $hall --direction xy --precision auto --plan --json
json out 'd["sweeps"] < 0.7 * e["sweeps"]' double.json
# Vectors that agree: their bars show any rounding.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 0.1\n2 2 0.2\n3 3 0.3\n4 4 0.7\n' >levels.mtx
printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n' >ones.mtx
alike="sigma levels.mtx --velocity-a ones.mtx --moments 16 --vectors 4 --mu 0.3 --left-bytes 300"
ok $alike --json && cp out double.json
ok $alike --precision auto --json
json out 'd["precision"].startswith("double: rounding of left vectors in single precision would move") and d["sigma"] == e["sigma"]' double.json
for alone in "--trace exact#no error bars" "--vectors 1#no error bars" "--vectors 2#all left vectors are held at once"; do
    ok sigma haldane:nx=5,ny=5,t2=0.1 --direction xy --moments 16 ${alone%#*} --precision auto
    check "why: $alone" grep -q "^precision  *complex double: .*${alone#*#}" out
done
# A run that a signal ends, and that goes on.
run="sigma $hall --direction xy --mu 0"
ok $run --precision auto --json && cp out whole.json
stop moments TERM 0.6 $run --precision auto --checkpoint s.ck
ok $run --precision auto --resume s.ck --json
json out 'd["sigma"] == e["sigma"] and d["precision"] == e["precision"]' whole.json
refused 1 "is of a run with --precision complex single" $run --resume s.ck
stop moments TERM 0.6 $run --checkpoint d.ck
ok $run --precision auto --resume d.ck --json
json out '"that of the left vectors of the run that goes on" in d["precision"]'

# ---- the plan counts with single precision, and bounds a run in double; with that limit it ends
ok dos topi:nx=50,ny=50,nz=20 --plan --json && cp out double.json
ok dos topi:nx=50,ny=50,nz=20 --plan --precision auto --json
json out 'd["type"] == "complex single" and d["bound_bytes"] >= e["bound_bytes"]' double.json
ok dos topi:nx=50,ny=50,nz=20 --plan --precision auto
check "the plan says so" grep -q 'in double precision, should single not be enough' out
ok dos diagonal.mtx --moments 64 --vectors 8 --precision auto --plan --json && cp out plan.json
ok dos diagonal.mtx --moments 64 --vectors 8 --precision auto --quiet --mem-limit "$(grep -o '"bound_bytes": [0-9]*' plan.json | grep -o '[0-9]*')"

# ---- eig in single precision, of values that lie nearer to each other than its rounding of them
chain() { # chain ROWS DIAGONAL
    awk -v n="$1" -v d="$2" 'BEGIN {
        print "%%MatrixMarket matrix coordinate real symmetric"; print n, n, 2*n - 1
        for (i = 1; i <= n; i++) { print i, i, d; if (i < n) print i + 1, i, 0.5 + i % 7 / 10 } }'
}
chain 200 1e8 >far.mtx
ends 0 eig far.mtx --interval=100000000.2,100000000.4 --method chebfd --precision single --json
told "warning: eig: rounding in single arithmetic moves values near" "the interval is 2.0e-01 wide" "vectors in double precision"
json out 'd["complete"] and d["method"] == "dense" and d["found"] == 200'
# In double precision rounding alone decides whether the pairs, which are right, are proved to be all.
"$wisp" eig far.mtx --interval=100000000.2,100000000.4 --method chebfd --json >out 2>err
rc=$?
check "pairs of double precision, status $rc: $(cat err)" test $rc = 0 -o $rc = 3
json out 'd["found"] == 5 and all(0.2 < v - 1e8 < 0.4 for v in d["eigenvalues"])'
ends 0 eig far.mtx --interval=99999990,100000010 --method chebfd --precision single --json
json out 'd["complete"] and d["found"] == 200'
chain 3100 1e8 >far.mtx
refused 1 "rounding in single arithmetic keeps filters from telling those in 100000000 .. 100000000 from others: take vectors in double precision" \
    eig far.mtx --interval=100000000.2,100000000.4 --method chebfd --precision single
finish
