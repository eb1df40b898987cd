#!/bin/bash
# wisp eig --overlap: A x = lambda S x.
. "$2/tests/cli.sh"
rows=160
. "$2/tests/pencil.sh"
chain 0 1 >a.mtx
chain 1 0.45 >s.mtx
chain 1 0.45 complex >z.mtx
chain 1e-30 0.45e-30 >tiny.mtx
value=$(values_of 0.45)
# A sanitizer looks at the lowest levels, which are far apart, so that they take a tenth of the time.
interval=-0.2,-0.15
[ -z "${SANITIZED:-}" ] || interval=-16.5,-15.5
for method in dense lanczos; do
    for s in s.mtx z.mtx; do
        end='--largest 3' levels="$value[-3:]"
        [ -z "${SANITIZED:-}" ] || end='--smallest 3' levels="$value[:3]"
        # shellcheck disable=SC2086 # words
        ok eig a.mtx --overlap $s $end --method $method --json
        json out "d['complete'] and close(d['eigenvalues'], $levels, 1e-7) and max(d['residuals']) <= 1e-8"
        json out "d['orthogonality'] < 1e-8 and d['overlap']['file'] == '$s' and d['overlap']['terms'] > 10"
    done
done
ok eig a.mtx --overlap s.mtx --smallest 2 --json
json out "close(d['eigenvalues'], $value[:2], 1e-6) and d['overlap']['bounds']['center'] > d['overlap']['bounds']['halfwidth'] > 0"
ok eig a.mtx --overlap s.mtx --interval=$interval --method chebfd --json
json out "[w := [v for v in $value if -0.2 <= v <= -0.15]] and d['found'] == len(w) > 0 and close(d['eigenvalues'], w, 1e-7)"
ok eig a.mtx --overlap s.mtx --largest 2 --precision single --json
json out "close(d['eigenvalues'], $value[-2:], 1e-3) and d['type'] == 'single'"
ok eig a.mtx --overlap tiny.mtx --largest 2 --json
json out "close([1e-30 * v for v in d['eigenvalues']], $value[-2:], 1e-7)"
# Copies of a value, which the roots of S set apart by more than residuals tell: 2 ten times, and all 20 of A = S.
diagonal() { # diagonal EXPRESSION: of i from 0 to 19
    python3 -c "import sys; print('%%MatrixMarket matrix coordinate real symmetric\n20 20 20'); [print(i + 1, i + 1, $1) for i in range(20)]"
}
diagonal "1 + 9 * i / 19" >stretch.mtx
diagonal "(1 + 9 * i / 19) * (2 if i % 2 == 0 else -1)" >copies.mtx
for question in "--largest 1" "--largest 3 --any"; do
    ok eig copies.mtx --overlap stretch.mtx $question --json
    json out "d['complete'] and d['method'] == 'dense' and d['at_least'] == 10 and len(d['eigenvalues']) == (3 if '$question'[-3:] == 'any' else 10)"
done
ok eig stretch.mtx --overlap stretch.mtx --smallest 1 --json
json out "d['complete'] and d['found'] == 20"
for units in "1e0 1e165" "1e-200 1e-200" "1e300 1e300"; do
    chain 0 ${units% *} >far.a.mtx
    chain ${units#* } 0.45e${units##*e} >far.s.mtx
    ok eig far.a.mtx --overlap far.s.mtx --largest 2 --json
    json out "close([v / ${units% *} * ${units#* } for v in d['eigenvalues']], $value[-2:], 1e-7)"
done

# A spectrum of one value has no width: what rounding leaves of residuals is small enough.
for row in "0.7 2.3" "-3 0.4" "5.1 1.7" "1e-3 0.9"; do
    for precision in single double; do
        for entry in "a.one $row" "s.one ${row#* }"; do
            set -- $entry
            printf "%%%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 %s\n" "$2" >"$1.mtx"
        done
        ok eig a.one.mtx --overlap s.one.mtx --largest 1 --precision $precision --json
        json out "close(d['eigenvalues'], [${row% *} / ${row#* }], 2e-6) and max(d['residuals']) <= d['tolerance']"
    done
done

# The vectors: A x = lambda S x, and x^T S x = 1; they begin a further run, which has them at once.
ok eig a.mtx --overlap s.mtx --largest 2 --method lanczos --vectors-out x.mtx --json
cp out first
check "vectors of the pencil" awk -v n=$rows -v s=0.45 '
    /^%/ { next }
    !rows { rows = $1; next }
    { x[c + 0, ++i] = $1; if (i == n) { i = 0; c++ } }
    END {
        for (c = 0; c < 2; c++) {
            k = 2 - c; t = 2 * cos(atan2(0, -1) * k / (n + 1)); lambda = t / (1 + s * t); norm = 0
            for (i = 1; i <= n; i++) {
                ax = x[c, i - 1] + x[c, i + 1]; sx = x[c, i] + s * ax; norm += x[c, i] * sx
                d = ax - lambda * sx; if (d < 0) d = -d; if (d > most) most = d
            }
            if (norm < 1 - 1e-8 || norm > 1 + 1e-8) bad = 1
        }
        exit rows != n || most > 1e-6 || bad
    }' x.mtx
ok eig a.mtx --overlap s.mtx --largest 2 --method lanczos --vectors-in x.mtx --json
json out "d['products'] < e['products'] and close(d['eigenvalues'], e['eigenvalues'], 1e-8)" first

ok eig a.mtx --overlap s.mtx --largest 2
check "the summary tells of S" grep -q '^overlap     A x = lambda S x, S s.mtx, whose eigenvalues lie in \[0.1' out
ok eig a.mtx --overlap s.mtx --overlap-bounds 0.1,1.9 --largest 2 --json
json out "d['overlap']['bounds']['method'] == 'given' and close(d['eigenvalues'], $value[-2:], 1e-7)"
ok eig a.mtx --overlap s.mtx --largest 2 --plan
check "the plan tells of S" grep -q '^overlap ' out
ok eig a.mtx --overlap s.mtx --largest 2 --plan --json
json out "d['overlap']['terms'] > 10 and d['matrix_bytes'] > 0"

# Shift and invert: the factors are those of A - X S, and their pivots count.
near="sorted(sorted($value, key=lambda v: abs(v - 0.3))[:1])"
if "$wisp" --version | grep -q '^features:.* mumps'; then
    for s in s.mtx z.mtx; do
        ok eig a.mtx --overlap $s --target 0.3 -n 1 --method invert --json
        json out "d['complete'] and close(d['eigenvalues'], $near, 1e-7) and d['method'] == 'invert' and d['proof'] == 'inertia'"
        json out "d['orthogonality'] < 1e-8 and d['factored'] >= 3 and d['overlap']['file'] == '$s'"
    done
    # No root of S is made, so that S may have any condition that its factors take.
    chain 1 0.5 >near.mtx
    ok eig a.mtx --overlap near.mtx --target 0.3 -n 1 --method invert --json
    json out "d['complete'] and d['overlap']['terms'] == 0 and d['overlap']['condition'] > 1e3 and d['overlap']['bounds'] is None"
    json out "close(d['eigenvalues'], [min([c/(1+0.5*c) for k in range(1,$rows+1) for c in [2*math.cos(math.pi*k/($rows+1))]], key=lambda v: abs(v-0.3))], 1e-6)"
    ok eig a.mtx --overlap s.mtx --target 0.3 -n 1 --method invert --precision single --json
    json out "d['complete'] and close(d['eigenvalues'], $near, 1e-3) and d['method'] == 'invert'"
    ok eig far.a.mtx --overlap far.s.mtx --target 0.3 -n 1 --method invert --json
    json out "d['complete'] and close(d['eigenvalues'], $near, 1e-7)"
    ok eig a.mtx --overlap s.mtx --target 0.3 -n 1 --method invert --plan
    check "the plan has factors" grep -q '^factors  *about' out
    ok eig square:nx=3500,ny=1,periodic=none --overlap laplace:points=5,nx=3500,ny=1 --target 0.1 -n 3 --json
    json out "d['complete'] and d['method'] == 'invert' and d['proof'] == 'inertia'"
    refused 1 "the factors of A - target S would take" eig square:nx=60000,ny=1,periodic=none --overlap laplace:points=5,nx=60000,ny=1 \
        --target 0.1 --method invert --mem-limit 60MB
else
    refused 1 "libmumps-seq-dev" eig a.mtx --overlap s.mtx --target 0.3 -n 1 --method invert
fi
ok eig a.mtx --overlap s.mtx --target 0.3 -n 1 --json
json out "d['complete'] and close(d['eigenvalues'], $near, 1e-7)"

refused 1 "must be positive definite" eig a.mtx --overlap a.mtx --target 0.3 -n 1 --method invert
refused 1 "the matrix has $rows rows" eig a.mtx --overlap laplace:nx=3,ny=3,nz=3 --target 0.3 -n 1 --method invert
refused 1 "no/s.mtx: neither a file" eig a.mtx --overlap no/s.mtx --largest 2
refused 1 "must be positive definite" eig a.mtx --overlap a.mtx --largest 2
refused 1 "--overlap-bounds" eig a.mtx --overlap a.mtx --largest 2
refused 1 "the matrix has $rows rows" eig a.mtx --overlap laplace:nx=3,ny=3,nz=3 --largest 2
refused 1 "not Hermitian" eig a.mtx --overlap matpde:nx=10,ny=16 --largest 2
refused 1 "not Hermitian" eig matpde:nx=10,ny=16 --overlap s.mtx --largest 2
printf "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d 1\n1 1 nan\n" $rows $rows >nan.mtx
refused 1 "--overlap nan.mtx: row 0 of the matrix holds a NaN" eig a.mtx --overlap nan.mtx --largest 2
sed 's/^1 1 .*/1 1 nan/' nan.mtx >not.mtx
for question in 'eig not.mtx --largest 2' 'count not.mtx --interval=0,inf'; do # it is not S that is to blame
    # shellcheck disable=SC2086 # words
    refused 1 "not.mtx: row 0 of the matrix holds a NaN" $question --overlap s.mtx
    check "S is not named: $(cat err)" test "$(grep -c -- --overlap err)" = 0
done
refused 2 "name the same file" eig a.mtx --overlap s.mtx --largest 2 -o s.mtx
for method in dense lanczos; do
    refused 1 "--overlap s.mtx: S has eigenvalues beyond the bounds 0.9 to 1.1; take wider --overlap-bounds, or none" \
        eig a.mtx --overlap s.mtx --overlap-bounds 0.9,1.1 --largest 2 --method $method
    refused 1 "take wider --overlap-bounds, or none" eig a.mtx --overlap s.mtx --overlap-bounds 0.9,1.1 --largest 2 \
        --method $method --bounds=-5,5
done
refused 1 "take wider --overlap-bounds" eig a.mtx --overlap s.mtx --overlap-bounds 0.9,1.1 --largest 2 --plan
refused 2 "--overlap-bounds goes with --overlap" eig a.mtx --overlap-bounds 1,2 --largest 2
refused 2 "must be above 0" eig a.mtx --overlap s.mtx --overlap-bounds=-1,2 --largest 2
refused 2 "--overlap is for Hermitian matrices" eig a.mtx --overlap s.mtx --largest-real 2
# One value: residuals are over what rounding of S^-1/2 leaves, which is told.
for precision in single double; do
    ok eig s.mtx --overlap s.mtx --smallest 2 --any --method lanczos --precision $precision --json
    json out 'd["complete"] and d["found"] == 2 and d["residual_unit"] > d["bounds"]["halfwidth"]'
    json out 'max(d["residuals"]) <= d["tolerance"] and all(abs(x - 1) < 1e-4 for x in d["eigenvalues"])'
done
ok eig a.mtx --overlap s.mtx --largest 2 --json
json out 'd["residual_unit"] is None'
refused 2 "--checkpoint" eig a.mtx --overlap s.mtx --largest 2 --checkpoint c.h5
finish
