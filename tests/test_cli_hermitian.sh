# --hermitian-part: a matrix that is Hermitian up to rounding.
. "$(dirname "$0")/cli.sh"

# write FILE NOISE: a chain of 60 rows with hopping -1, one value of it off by NOISE, and an entry without partner
write() {
    {
        echo "%%MatrixMarket matrix coordinate real general"
        echo "60 60 119"
        for i in $(seq 59); do
            echo "$i $((i + 1)) -1"
            [ "$i" = 30 ] && echo "$((i + 1)) $i $3" || echo "$((i + 1)) $i -1"
        done
        echo "7 40 $2"
    } >"$1"
}
write small.mtx 1e-12 -1.000000000001
write large.mtx 0.5 -1
write none.mtx 0 -1
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 1\n1 1 1\n' >wide.mtx
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1e-310\n' >tiny.mtx

refused 1 "small.mtx: the matrix is not Hermitian" dos small.mtx
refused 1 "--hermitian-part" dos small.mtx
"$wisp" dos small.mtx --json >out 2>err
json out '"not Hermitian" in d["error"] and d["exit_status"] == 1'
refused 1 "--hermitian-part" evolve small.mtx --time 1 --site 3
refused 1 "--hermitian-part" dos small.mtx --format hermitian
refused 1 "this needs a Hermitian matrix" dos large.mtx
refused 1 "wide.mtx: the matrix is rectangular" dos wide.mtx --hermitian-part
refused 2 "power has no option --hermitian-part" power small.mtx -p 2 --hermitian-part
refused 1 "multiply the matrix" dos tiny.mtx

run="--moments 64 --vectors 4 --json"
ok dos none.mtx $run && cp out none.json
json none.json 'd["hermitian_change"] is None'
for format in auto hermitian; do
    ok dos small.mtx --hermitian-part --format $format $run && cp out small.json
    # (the entry 1e-12 without partner becomes two of half its size, and so changes by that)
    json small.json 'abs(d["hermitian_change"] - 5e-13) < 1e-15'
    json small.json 'd["rows"] == 60 and close(d["moments"], e["moments"], 1e-8)' none.json
done
ok ldos small.mtx --hermitian-part --sites 3 --moments 32 --json && json out 'd["hermitian_change"] > 4e-13'
ok count small.mtx --hermitian-part --interval=-3,3 --json && json out 'd["hermitian_change"] > 4e-13'
ok evolve small.mtx --hermitian-part --time 1 --site 3 --json && json out 'd["hermitian_change"] > 4e-13'
ok dos small.mtx --hermitian-part
check "the summary" grep -q '^Hermitian  *part is taken: entries change by at most 5e-13' out
checks=$((checks + 1))
"$wisp" dos large.mtx --hermitian-part --quiet 2>err || fail "large.mtx: $(cat err)"
grep -q 'warning: the Hermitian part is taken: entries change by at most 0.25 of the largest one, more than rounding explains' err ||
    fail "large.mtx: $(cat err)"
"$wisp" dos small.mtx --hermitian-part --quiet --log json 2>err || fail "small.mtx: $(cat err)"
if [ $have_hdf5 = 1 ]; then
    ok dos small.mtx --hermitian-part $run --save m.h5
    refused 2 "--hermitian-part needs a new run" dos --from m.h5 --hermitian-part
    ok dos --from m.h5 --json && json out 'd["hermitian_change"] is None'
fi

# eig refuses an interval, and warns of others, which are answered by other methods
refused 1 "--hermitian-part" eig small.mtx --interval 0,1
for question in "--smallest 2" "--largest 2" "--largest-real 2" "--target 0 -n 2"; do
    "$wisp" eig small.mtx $question --quiet 2>err || fail "small.mtx $question: $(cat err)"
    check "the warning: $(cat err)" grep -q 'warning: small.mtx is Hermitian but for rounding.*--hermitian-part' err
    check "absolute values, $question: $(cat err)" test "$(grep -c 'by absolute values' err)" = $([[ $question = --largest-real* || $question = --target* ]] && echo 0 || echo 1)
    for matrix in "small.mtx --hermitian-part" none.mtx large.mtx; do
        "$wisp" eig $matrix $question --quiet 2>err || fail "$matrix $question: $(cat err)"
        check "no such warning of $matrix: $(cat err)" test "$(grep -c 'but for rounding' err)" = 0
    done
done

ok info small.mtx
check "info, how far" grep -q '|a_ij - conj a_ji| up to 1e-12, 1e-12 of the largest entry .*--hermitian-part' out
ok info large.mtx
check "info, far" grep -q '|a_ij - conj a_ji| up to 0.5, 0.5 of the largest entry$' out
ok info small.mtx --json
json out 'abs(d["asymmetry"] - 1e-12) < 1e-15 and abs(d["largest"] - 1) < 1e-9'
ok info none.mtx
check "info, symmetric" test "$(grep -c 'conj a_ji' out)" = 0
finish
