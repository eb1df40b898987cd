#!/bin/bash
# wisp solve of matrices that are not square: least squares against what is known, what is told, kept and refused.
. "$2/tests/cli.sh"

# A line through (0, 1), (1, 3), (2, 5), (3, 7) is 1 + 2 t; with 6 for 7 it is 1.2 + 1.7 t, and |r| is the root of 0.3.
cat >fit.mtx <<'M'
%%MatrixMarket matrix array real general
4 2
1
1
1
1
0
1
2
3
M
printf '%%%%MatrixMarket matrix array real general\n4 2\n1\n3\n5\n7\n1\n3\n5\n6\n' >b.mtx
numbers() { grep -v '^%' "$1" | tail -n +2; }
near() { # near FILE VALUES...: the numbers of a file, to 1e-6
    local file=$1
    shift
    check "$file has $*, not $(numbers "$file" | tr '\n' ' ')" \
        awk -v want="$*" 'BEGIN { n = split(want, w, " ") }
            !/^%/ && ++line > 1 { d = $1 - w[++i]; if (d < 0) d = -d; if (d > 1e-6) bad = 1 }
            END { exit bad || i != n }' "$file"
}
ok solve fit.mtx --rhs b.mtx -o x.mtx && near x.mtx 1 2 1.2 1.7
check "says that r is least" grep -q 'x makes |r| least' out
check "says why lsmr" grep -q '4 x 2: not square, so by lsmr' out
ok solve fit.mtx --rhs b.mtx --method lsmr --json
json out 'd["method"] == "lsmr" and d["solved"] is False and d["converged"] is True and d["cols"] == 2'
json out 'd["optimality"] < 1e-8 and d["residuals"][0] < 1e-8 and d["residuals"][1] > 0.06'
for ranks in 1 3; do
    export WISP_RANKS=$ranks
    ok solve fit.mtx --rhs b.mtx -o y.mtx --quiet && near y.mtx 1 2 1.2 1.7
done
unset WISP_RANKS

# Of many solutions the shortest one: of x + y = 2 it is (1, 1). With --damp 1: 2 / (2 + 1) each.
printf '%%%%MatrixMarket matrix coordinate real general\n1 3 2\n1 1 1\n1 3 1\n' >wide.mtx
printf '%%%%MatrixMarket matrix array real general\n1 1\n2\n' >two.mtx
ok solve wide.mtx --rhs two.mtx -o x.mtx && near x.mtx 1 0 1
check "a solution" grep -q 'a solution, the shortest' out
ok solve wide.mtx --rhs two.mtx --damp 1 -o x.mtx && near x.mtx 0.66666667 0 0.66666667
check "tells of the damping" grep -q 'with --damp D = 1' out
ok solve wide.mtx --rhs two.mtx --damp 1e-12
check "a solution" grep -q 'a solution$' out
check "tells of its damping" grep -q 'r is (b - A x; -D x), of the matrix (A; D) with --damp D = 1e-12' out
check "no damped x is called the shortest: $(cat out)" test -z "$(grep shortest out)"
ok solve wide.mtx --plan
check "plans" grep -q 'by lsmr' out

# Entries below the least normal number are no zeros: x is 1 and 2, or more than numbers hold, which is said.
printf '%%%%MatrixMarket matrix array real general\n3 2\n1e-310\n0\n0\n0\n1e-310\n0\n' >small.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n1e-310\n2e-310\n0\n' >small_b.mtx
ok solve small.mtx --rhs small_b.mtx -o x.mtx && near x.mtx 1 2
refused 1 'x is of about 2^1030, too large for double numbers' solve small.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1e-310\n2 2 2e-310\n' >diagonal.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1e-310\n4e-310\n' >diagonal_b.mtx
for how in lsmr cg gmres 'cg --precond jacobi' 'lsmr --damp 1e-319'; do
    # shellcheck disable=SC2086 # words
    ok solve diagonal.mtx --rhs diagonal_b.mtx --method $how -o x.mtx && near x.mtx 1 2
done

# Too few iterations; from there on.
ok gen laplace:nx=12,ny=11,nz=1 -o L.mtx --quiet
awk '/^%/ { print; next } !seen { seen = 1; print 132, 100, "COUNT"; next } $2 <= 100 { print; n++ } END { print n > "count" }' \
    <(zcat -f L.mtx | sed 's/ symmetric/ general/') >tall.mtx
sed -i "s/COUNT/$(cat count)/" tall.mtx
unsolved solve tall.mtx --maxit 3 -o x.mtx
check "tells both: $(cat err)" grep -qF '|A^H r| / (|A| |r|)' err
check "names the file: $(cat err)" grep -qF 'x is in x.mtx; go on with --x0 x.mtx' err
unsolved solve tall.mtx --maxit 3 --tol-abs 0.01 -o x.mtx
check "what is wanted of each: $(cat err)" grep -qE 'wanted at .*, or [|]A\^H r[|] / [(][|]A[|] [|]r[|][)], now .*, at 1.0e-08; x is in x.mtx' err
ok solve tall.mtx --x0 x.mtx -o z.mtx

# Of several columns each has its own tolerance: 1e-5 is more than all of the second b, and the first has a solution.
printf '%%%%MatrixMarket matrix array real general\n4 2\n1\n3\n5\n7\n1e-6\n3e-6\n5e-6\n6e-6\n' >apart.mtx
ok solve fit.mtx --rhs apart.mtx --tol-abs 1e-5 --json
json out 'd["solved"] is True and d["optimality"] == 0 and d["converged_of"] == [1, 1] and d["residuals"][1] == 1'
json out 'd["wanted_of"][0] == d["wanted"] < 2e-6 and 1 < d["wanted_of"][1]'
ok solve fit.mtx --rhs apart.mtx --tol-abs 1e-5
check "all columns are solved" grep -q 'a solution, the shortest' out
# What is told belongs to one column: the residual of the first b, 1, is as small as can be, and is not that of the other.
printf '%%%%MatrixMarket matrix array real general\n4 2\n1\n-2\n1\n0\n1\n3\n5\n7\n' >apart.mtx
for method in '--method lsmr' ''; do
    # shellcheck disable=SC2086 # words
    unsolved solve fit.mtx --rhs apart.mtx --maxit 1 $method --json
    json out 'd["converged_of"] == [1, 0] and d["residuals"][0] == 1 and 0 < d["residuals"][1] < 0.5'
    told "not converged in 1 iterations: residual $(python3 -c 'import json; print("%.1e" % json.load(open("out"))["residuals"][1])')," \
        'wanted at 1.0e-08, or |A^H r| / (|A| |r|), now ' ', in column 1 (1 of 2 columns are left)'
done

# A stop tells the residual of the damped problem: of the x that is kept, |(1 - A x; D x)| over the root of 132.
stop solving INT 1e-9 solve tall.mtx --damp 3 --tol 1e-12 -o s.mtx --json
check "a stop keeps x: $(tail -1 log)" grep -q 'stopped by Ctrl-C.*x is in s.mtx' log
check "a damped residual is that of x: $(tail -1 log)" awk '
    FILENAME == "out" { if (/"residual_true"/) { gsub(/[^-+0-9.e]/, "", $2); said = $2 } next }
    /^%/ { next }
    FNR == 1 || !(FILENAME in begun) { begun[FILENAME] = 1; if (NF > 1) next }
    FILENAME == "s.mtx" { x[++n] = $1; next }
    { r[$1] += $3 * x[$2] }
    END {
        for (i = 1; i <= 132; i++) sum += (1 - r[i]) ^ 2
        for (i = 1; i <= n; i++) sum += 9 * x[i] ^ 2
        d = sqrt(sum / 132) / said - 1
        exit !(n == 100 && d < 1e-6 && d > -1e-6)
    }' out s.mtx tall.mtx

refused 2 "--method lsmr takes no --precond" solve fit.mtx --precond jacobi
refused 2 "--method lsmr takes no --null" solve fit.mtx --method lsmr --null constant
refused 2 "has no --variant classical" solve fit.mtx --variant classical
refused 2 "--checkpoint and --resume are for square matrices" solve fit.mtx --checkpoint r.ck
refused 2 "--damp is for --method lsmr alone" solve L.mtx --method cg --damp 1
refused 2 "--damp -1" solve fit.mtx --damp -1
refused 1 "needs a square matrix; --method lsmr" solve fit.mtx --method gmres
refused 1 "a right-hand side of 4 rows" solve fit.mtx --rhs two.mtx
refused 1 "a start of 2 rows" solve fit.mtx --x0 b.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n3 0 0\n' >none.mtx
refused 1 "none.mtx has no columns" solve none.mtx
refused 2 "--method lsmr is for wisp solve alone" bench solve L.mtx --method lsmr
finish
