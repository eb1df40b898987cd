#!/bin/bash
# wisp svd: singular values against what is known, vectors of both sides, what is told, and what is refused.
. "$2/tests/cli.sh"

# Of rank 2, with an empty row and two empty columns: singular values 5 (twice the rows of 3, 4) and 2.
cat >a.mtx <<'M'
%%MatrixMarket matrix coordinate real general
4 5 3
1 2 3
1 4 4
3 1 -2
M
# A tall complex one with singular values sqrt(2) and 3.
cat >z.mtx <<'M'
%%MatrixMarket matrix coordinate complex general
6 2 3
2 1 0 1
5 1 1 0
4 2 0 -3
M
ok svd a.mtx --largest 3 --left-out u.mtx --right-out v.mtx --json
json out 'close(d["singular_values"], [0, 2, 5], 1e-13) and d["complete"] is True and d["found"] == 3'
json out 'd["rows"] == 4 and d["cols"] == 5 and d["nnz"] == 3 and max(d["residuals"]) < 1e-13 and d["orthogonality"] < 1e-13'
json out 'd["left_out"] == "u.mtx" and d["right_out"] == "v.mtx" and d["which"] == "largest" and d["count"] == 3'
check "u has the rows of A" grep -q '^4 3$' u.mtx
check "v has the columns of A" grep -q '^5 3$' v.mtx
ok svd a.mtx --smallest 3 --json
json out 'close(d["singular_values"], [0, 0, 2], 1e-13)'
ok svd z.mtx --smallest 2 --json
json out 'close(d["singular_values"], [2 ** 0.5, 3], 1e-13) and d["type"] == "complex double"'
ok svd z.mtx --smallest 1 --method lanczos --json
json out 'close(d["singular_values"], [2 ** 0.5], 1e-7)'
ok svd z.mtx --interval 2,4 --precision single --json
json out 'close(d["singular_values"], [3], 1e-5)'
ok svd z.mtx --largest 1
for word in matrix rows question method found residual result value; do grep -q "^$word" out || fail "no '$word' in the summary"; done
check "rows and columns are told" grep -q '^rows *6   columns 2   nonzeros 3' out
ok svd z.mtx --largest 1 --plan
ok svd z.mtx --smallest 1 --plan --json
json out 'd["rows"] == 6 and d["cols"] == 2 and d["total_bytes"] > 0'
ok svd z.mtx --largest 1 --left-out u.mtx --quiet
[ -s out ] && fail "--quiet prints"
if [ $have_hdf5 = 1 ]; then
    ok svd a.mtx --largest 2 --right-out v.h5 --quiet
    check "v.h5 is there" test -s v.h5
fi

# A matrix of the gallery: its singular values are the absolute eigenvalues, and methods agree.
chain=spinchain:sites=9,up=4
ok eig $chain --smallest 2 --json
cp out eig.json
ok svd $chain --largest 2 --method lanczos --json --checkpoint ck --every 1000
json out 'all(abs(abs(x) - y) < 1e-7 for x, y in zip(e["eigenvalues"], d["singular_values"][::-1]))' eig.json

# The smallest ones: of a tall matrix with an empty column, one by A^H A, and one whose smallest value is repeated.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 3100, 20, 19 + 100
    for (j = 1; j < 20; j++) print 150 * j, j, 1 + j / 10
    for (i = 1; i <= 100; i++) print 3000 + i, 1 + i % 9, 0.01 * i }' >tall.mtx
ok svd tall.mtx --smallest 2 --left-out u.mtx --json
json out 'abs(d["singular_values"][0]) < 1e-12 and d["singular_values"][1] > 1 and d["complete"] and d["residuals"][0] < 1e-8'
ok svd tall.mtx --largest 1
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 3100, 30, 30
    for (j = 1; j <= 30; j++) print 100 * j, j, (j < 25 ? 1 : 2) }' >repeated.mtx
ok svd repeated.mtx --smallest 2
check "the way is told" grep -q '^method *lanczos of A^H A, ' out
ok svd repeated.mtx --smallest 2 --json
json out 'close(d["singular_values"], [1, 1], 1e-8) and d["found"] == 2 and d["method"] == "lanczos"'

refused 2 "which singular values is missing" svd a.mtx
refused 2 "exclude each other" svd a.mtx --largest 1 --smallest 1
refused 2 "it must begin above 0" svd a.mtx --interval 0,1
refused 2 "is for --interval and --smallest" svd a.mtx --largest 1 --method chebfd
refused 2 "--method lanczos is for --largest and --smallest" svd a.mtx --interval 1,2 --method lanczos
refused 3 "by A^H A" svd a.mtx --smallest 1 --method lanczos --quiet
refused 2 "krylov-schur is for eigenvalues alone" svd a.mtx --largest 1 --method krylov-schur
refused 2 "--left-out and --right-out name the same file" svd a.mtx --largest 1 --left-out u.mtx --right-out ./u.mtx
refused 2 "wisp svd has no option --target" svd a.mtx --target 1
refused 1 "A has 4 singular values" svd a.mtx --largest 5
# Five zeros, five times 1e-10, twice 1e-7 of some 1: values that squares do not tell from 0 are not called the smallest.
checks=$((checks + 1))
"$wisp" svd "$source/tests/data/svd_next_to_zero.mtx" --smallest 6 --json >out 2>err
case $? in 0 | 3) ;; *) fail "values next to 0: exit $?: $(cat err)" ;; esac
[ $have_python = 0 ] || json out 'not d["complete"] or max(d["singular_values"]) < 1e-8'
# Messages are in the matrix's own units, and in its own name.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n450 450 450"
             for (i = 1; i <= 450; i++) printf "%d %d %.17g\n", i, i, i * 1e28 }' >far.mtx
"$wisp" svd far.mtx --largest 3 --tol 0.4 --method lanczos --quiet >out 2>err
check "a wide tolerance" grep -q "svd: the tolerance is wide .* residuals do not tell 4.4[0-9]*e+30 from 4.4[0-9]*e+30, and" err
refused 1 "svd: --tol is 1e-20, it must be at least 3.6e-15, and below 1" svd far.mtx --largest 3 --tol 1e-20
printf '%%%%MatrixMarket matrix coordinate real general\n3 0 0\n' >none.mtx
refused 1 "none.mtx has no columns" svd none.mtx --largest 1
printf '%%%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\nnan\n6\n' >nan.mtx
refused 1 "svd: row 1 of the matrix holds a NaN or an infinity" svd nan.mtx --largest 1
refused 1 "svd: row 1 of the matrix holds a NaN or an infinity" svd nan.mtx --smallest 1
refused 1 "svd: row 1 of the matrix holds a NaN or an infinity" svd nan.mtx --interval 1,2 --method dense
finish
