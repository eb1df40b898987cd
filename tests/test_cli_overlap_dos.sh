#!/bin/bash
# wisp dos and count --overlap: the density of states of A x = lambda S x.
. "$2/tests/cli.sh"
rows=70
. "$2/tests/pencil.sh"
chain 0 1 >a.mtx
chain 1 0.4 >s.mtx
chain 1 0.39 >other.mtx
chain 1 0.4 complex >z.mtx
chain 1e-60 0.4e-60 >tiny.mtx
value=$(values_of 0.4)
# some WORDS...: all of them, or the last one for a sanitizer, to which the others differ in numbers alone.
some() { if [ -n "${SANITIZED:-}" ]; then echo "${@: -1}"; else printf '%s\n' "$@"; fi; }

# Moments of an exact trace are sums over the eigenvalues; the number of vectors, and bounds of the user's, change none.
for s in $(some s.mtx tiny.mtx z.mtx); do
    scale=1
    [ $s = tiny.mtx ] && scale=1e60
    for width in 3 33; do
        ok dos a.mtx --overlap $s --moments 40 --trace exact --width $width --json
        json out "close(d['moments'], [sum(math.cos(n*math.acos(($scale*v-d['bounds']['center'])/d['bounds']['halfwidth'])) for v in $value) for n in range(40)], 1e-7)"
    done
    json out "d['overlap']['file'] == '$s' and d['overlap']['terms'] > 10 and d['type'].endswith('double') and d['gflops'] > 0"
    json out "0 <= d['energy_error'] < 1e-10 * d['bounds']['halfwidth'] and d['nnz'] == 138"
done
# Single precision, and how far its rounding may move energies.
for s in $(some s.mtx z.mtx); do
    ok dos a.mtx --overlap $s --moments 20 --trace exact --precision single --json
    json out "close(d['moments'], [sum(math.cos(n*math.acos((v-d['bounds']['center'])/d['bounds']['halfwidth'])) for v in $value) for n in range(20)], 1e-2)"
    json out "d['type'] == ('single' if '$s' == 's.mtx' else 'complex single') and 1e-7 < d['energy_error'] / d['bounds']['halfwidth'] < 1e-3"
    ok dos a.mtx --overlap $s --moments 20 --vectors 3 --precision single --plan --json
    cp out plan
    ok dos a.mtx --overlap $s --moments 20 --vectors 3 --precision single --json
    json out "d['memory_bytes'] <= e['bound_bytes']" plan
done
ok dos a.mtx --overlap s.mtx --overlap-bounds 0.2,1.8 --moments 40 --trace exact --json
json out "close(d['moments'], [sum(math.cos(n*math.acos((v-d['bounds']['center'])/d['bounds']['halfwidth'])) for v in $value) for n in range(40)], 1e-7)"
json out "d['overlap']['bounds']['method'] == 'given'"

# Matrices of any unit; what has no eigenvalues of double precision is refused.
some "0 165" "-300 -300" "300 300" "100 -190" "-150 150" >units
while read -r -u 3 units; do
    chain 0 1e${units% *} >far.a.mtx
    chain 1e${units#* } 0.4e${units#* } >far.s.mtx
    ok dos far.a.mtx --overlap far.s.mtx --moments 20 --trace exact --json
    json out "close(d['moments'], [sum(math.cos(n*math.acos((v*10.0**(${units% *}-(${units#* }))-d['bounds']['center'])/d['bounds']['halfwidth'])) for v in $value) for n in range(20)], 1e-7)"
    ok count far.a.mtx --overlap far.s.mtx --interval=0,inf --moments 100 --trace exact --json
    json out "abs(d['count'] - sum(v >= 0 for v in $value)) <= d['count_smearing'] + 0.5"
done 3<units
for units in "-200 200 small" "200 -200 large"; do
    set -- $units
    chain 0 1e$1 >far.a.mtx
    chain 1e$2 0.4e$2 >far.s.mtx
    refused 1 "--overlap far.s.mtx: the eigenvalues of A x = lambda S x are too $3 for double" count far.a.mtx --overlap far.s.mtx --interval=0,inf
done

# Bars of random vectors hold what is exact, five times wider in any case; a count likewise.
ok dos a.mtx --overlap s.mtx --moments 40 --vectors 40 --json
cp out random
ok dos a.mtx --overlap s.mtx --moments 40 --trace exact --bounds=-10.5,1.3 --json
cp out exact
ok dos a.mtx --overlap s.mtx --moments 40 --vectors 40 --bounds=-10.5,1.3 --json
json out "all(abs(a-b) <= 5*s + 1e-9 for a, b, s in zip(d['moments'], e['moments'], d['moments_error']))" exact
moments=400
[ -n "${SANITIZED:-}" ] && moments=100 # the sums have the same terms
ok count a.mtx --overlap s.mtx --interval=-1,0.5 --moments "$moments" --trace exact --json
json out "abs(d['count'] - sum(-1 <= v <= 0.5 for v in $value)) <= d['count_smearing'] + 0.5"

# Kept, and evaluated again; runs with another S are not taken together.
ok dos a.mtx --overlap s.mtx --moments 40 --vectors 4 --bounds=-10.5,1.3 --save k.h5 --json
cp out kept
ok dos --from k.h5 --json
json out "close(d['moments'], e['moments'], 1e-12) and d['overlap'] == {'file': 's.mtx'} and close(d['dos'], e['dos'], 1e-12)" kept
ok dos --from k.h5
check "the file's S is told" grep -q '^overlap  *A x = lambda S x, S s.mtx' out
ok dos a.mtx --overlap s.mtx --moments 40 --vectors 4 --first-vector 4 --bounds=-10.5,1.3 --save more.h5
ok dos --from k.h5 --from more.h5 --json
json out "d['vectors'] == 8"
ok dos a.mtx --overlap other.mtx --moments 40 --vectors 4 --first-vector 4 --bounds=-10.5,1.3 --save other.h5
refused 1 "their --overlap differs" dos --from k.h5 --from other.h5
refused 2 "--overlap needs a new run" dos --from k.h5 --overlap s.mtx

# Plans: what they allow is enough; so is S, whose bounds and polynomial take memory before there are vectors.
for moments in $(some 20 300); do
    for vectors in $(some 1 40); do
        ok dos a.mtx --overlap s.mtx --moments $moments --vectors $vectors --plan --json
        cp out plan
        json out "d['overlap']['terms'] > 10 and d['bound_bytes'] >= d['total_bytes'] > 0"
        ok dos a.mtx --overlap s.mtx --moments $moments --vectors $vectors --json
        json out "d['memory_bytes'] <= e['bound_bytes']" plan
    done
done
for question in "--largest 3 --method lanczos" "--largest 3" "--interval=-0.5,0.2 --method dense"; do
    ok eig a.mtx --overlap s.mtx $question --plan --json
    cp out plan
    ok eig a.mtx --overlap s.mtx $question --json
    json out "d['memory_bytes'] <= e['total_bytes']" plan
done
ok dos a.mtx --overlap s.mtx --plan
check "a plan tells of S" grep -q '^overlap  *A x = lambda S x, S s.mtx, whose eigenvalues lie in' out
ok dos a.mtx --overlap s.mtx --moments 100
check "what the error of S^-1/2 does" grep -q 'its error moves no energy by more than .*e-1' out

refused 1 "--overlap s.mtx: S has eigenvalues beyond the bounds 0.9 to 1.1; take wider --overlap-bounds" \
    dos a.mtx --overlap s.mtx --overlap-bounds 0.9,1.1
refused 1 "must be positive definite" dos a.mtx --overlap a.mtx
refused 1 "the matrix has 70 rows" count a.mtx --overlap laplace:nx=3,ny=3,nz=3 --interval 0,1
refused 1 "not Hermitian" dos a.mtx --overlap matpde:nx=10,ny=7
refused 1 "not Hermitian" dos matpde:nx=10,ny=7 --overlap s.mtx
refused 2 "has no option --overlap" ldos a.mtx --overlap s.mtx --sites 1
refused 2 "--overlap does not go with --operator" dos a.mtx --overlap s.mtx --operator a.mtx
refused 2 "--overlap does not go with" dos a.mtx --overlap s.mtx --where 1-5
refused 2 "--partition" dos a.mtx --overlap s.mtx --partition levels
refused 2 "--precision auto is not for --overlap" dos a.mtx --overlap s.mtx --precision auto
refused 2 "--overlap-bounds goes with --overlap" count a.mtx --overlap-bounds 1,2 --interval 0,1
if [ -z "${WISP_RANKS:-}" ]; then
    stop moments TERM 0.4 dos a.mtx --overlap s.mtx --moments 4000 --vectors 8 --width 2 --save part.h5
    check "what is done is kept" grep -q 'are kept' log
    ok dos --from part.h5 --json
    json out "d['overlap']['file'] == 's.mtx'"

    # Stopped and gone on with: the same bits; not with another S.
    run=(a.mtx --overlap s.mtx --moments 1000 --vectors 4 --width 2 --json)
    ok dos "${run[@]}"
    cp out whole
    stop moments TERM 0.6 dos "${run[@]}" --checkpoint c.h5
    check "how to go on" grep -q 'repeat the command with --resume c.h5' log
    refused 1 "c.h5 is of a run with --overlap " dos a.mtx --overlap other.mtx "${run[@]:3:6}" --resume c.h5
    refused 1 "c.h5 is of a run with --overlap " dos a.mtx "${run[@]:3:6}" --resume c.h5
    ok dos "${run[@]}" --resume c.h5
    json out "d['moments'] == e['moments'] and d['bounds'] == e['bounds'] and d['dos'] == e['dos']" whole
fi
finish
