#!/bin/bash
# Results that can't be written: with --checkpoint what was computed is kept, and the same command goes on from it, with
# the same results; the other outputs are written. The disk is /dev/full.
. "$2/tests/cli.sh"
[ -c /dev/full ] || finish
topi=topi:nx=6,ny=6,nz=4
for kind in csv json h5 mtx svg; do ln -s /dev/full full.$kind; done
kept='what was computed is kept in d.ck; to write results of it, repeat the command with --resume d.ck'

# unwritten KIND TASK ARGS...: fails to write a file of this kind, of the option $given; the command that is repeated with
# what is kept makes that of a run that nothing happens to, and does not begin the task anew that takes long.
given=-o
unwritten() {
    local kind=$1 task=$2
    shift 2
    checks=$((checks + 1))
    rm -f d.ck* got.* want.*
    "$wisp" "$@" --quiet --log json "$given" "want.$kind" 2>err || fail "wisp $*: $(cat err)"
    [ -z "$task" ] || grep -q "\"task\":\"$task\",\"done\":0" err || fail "wisp $* has no task $task"
    "$wisp" "$@" --quiet "$given" "full.$kind" --checkpoint d.ck 2>err
    [ $? = 1 ] && [ "$(wc -l <err)" = 2 ] && grep -q "^wisp: cannot write full.$kind: No space left" err &&
        grep -q "^wisp: $kept" err && [ -e d.ck ] || fail "wisp $* to a full disk: $(cat err)"
    "$wisp" "$@" --quiet --log json "$given" "got.$kind" --checkpoint d.ck --resume d.ck 2>err ||
        fail "wisp $* goes on: $(cat err)"
    [ -z "$task" ] || ! grep -q "\"task\":\"$task\",\"done\":0" err ||
        fail "wisp $* goes on, and begins anew: $(cat err)"
    cmp -s <(grep -v '^[#%]' "want.$kind") <(grep -v '^[#%]' "got.$kind") || fail "wisp $* goes on: not the same"
    [ -z "$(find . -name 'd.ck*')" ] || fail "wisp $* goes on, and leaves $(echo d.ck*)"
    [ -z "$(find . -name '*.tmp*')" ] || fail "wisp $* leaves $(echo ./*.tmp*)"
}

for ranks in "" 3; do
    export WISP_RANKS=$ranks
    unwritten csv moments dos $topi --moments 33 --vectors 6 --width 4
    unwritten csv moments sigma $topi --direction xx --moments 16 --vectors 2
    unwritten mtx expansion apply $topi --function exp --width 2
    unwritten mtx solving solve laplace:nx=8,ny=8,nz=8 --rhs random:3x3 --tol 1e-10 --method minres
    unwritten csv map map haldane:nx=8,ny=8,disorder=1 --energies=-1,0,1 --moments 64 --vectors 6
    unwritten mtx eigenpairs eig laplace:nx=20,ny=20,nz=12 --smallest 3 --method lanczos
    unwritten mtx eigenpairs eig matpde:nx=60,ny=60 --largest 3 --method krylov-schur
done
export WISP_RANKS=
unwritten csv moments dos $topi --moments 20 --trace exact
unwritten csv moments ldos $topi --sites 3,40 --moments 50
unwritten csv moments count $topi --interval 0,1 --moments 50
unwritten csv moments thermal $topi --temperatures 1,2 --moments 50
unwritten csv moments dos $topi --resolution 0.5 --vectors 4
unwritten csv moments dos $topi --moments 64 --vectors 8 --precision auto
unwritten csv moments sigma topi:nx=3,ny=3,nz=2 --direction xy --moments 16 --trace exact
unwritten csv map map haldane:nx=8,ny=8,disorder=1 --energies=-1,0,1 --moments 64 --trace exact
for task in cooling moments; do
    unwritten csv $task thermal spinchain:sites=8 --temperatures 0.02,0.1,1 --moments 20 --vectors 40 --cool
done
evolution=(evolve laplace:nx=6,ny=6,nz=4 --time 3 --steps 5 --site 5)
unwritten csv evolution "${evolution[@]}"
unwritten csv evolution "${evolution[@]}" --angle 90
unwritten csv evolution "${evolution[@]}" --drive 'laplace:nx=6,ny=6,nz=4:sin(t)'
unwritten csv evolution "${evolution[@]}" --absorb 'x<2:0.6'
for method in cg gmres bicgstab "cg --precond ic"; do
    # shellcheck disable=SC2086
    unwritten mtx solving solve laplace:nx=8,ny=8,nz=8 --rhs random:3x3 --tol 1e-10 --method $method
done
unwritten mtx filtering eig $topi --target 0 -n 4 --method chebfd
unwritten mtx filtering eig $topi --interval=-0.5,0.5
unwritten mtx "" eig laplace:nx=6,ny=6,nz=4 --smallest 3 # by LAPACK
ok eig laplace:nx=6,ny=6,nz=4 --smallest 140 --checkpoint d.ck --plan --json
json out 'd["method"] == "dense" and d["checkpoint_bytes"] > 140 * 8 * d["rows"] and d["total_bytes"] > d["checkpoint_bytes"]'
if "$wisp" --version | grep -q '^features:.* mumps'; then
    unwritten mtx factors eig $topi --target 0 -n 4 --method invert
fi
for given in --left-out --right-out; do unwritten mtx eigenpairs svd laplace:nx=20,ny=20,nz=12 --largest 3; done

# several WHOLE ARGS...: of several outputs one can't be written, with one line; WHOLE is.
several() {
    local whole=$1
    shift
    checks=$((checks + 1))
    rm -f "$whole"
    "$wisp" "$@" --quiet >out 2>err
    [ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && [ -s "$whole" ] || fail "wisp $*: $(cat err)"
    grep -q "^wisp: cannot write full\..*: No space left" err || fail "wisp $*: $(cat err)"
}
for ranks in "" 2; do
    export WISP_RANKS=$ranks
    several r.mtx svd $topi --largest 3 --left-out full.mtx --right-out r.mtx
    several out eig $topi --smallest 3 -o full.mtx --json
    several out solve laplace:nx=6,ny=6,nz=4 -o full.mtx --json
    several out apply $topi --function exp -o full.mtx --json
    several out dos $topi --moments 20 -o full.csv --json
    several out map haldane:nx=8,ny=8 --energies 0 --moments 20 -o full.csv --json
    [ $have_hdf5 = 1 ] || continue
    several o.csv dos $topi --moments 20 --save full.h5 -o o.csv --json
    several o.csv sigma $topi --direction xx --moments 20 --save full.h5 -o o.csv
    several r.h5 svd $topi --largest 3 --left-out full.h5 --right-out r.h5
done
export WISP_RANKS=
several out evolve $topi --time 1 --site 0 -o full.csv --json
# The file of states grows as they come, up to a limit here: the run goes on without it, if it is for other results.
for kind in mtx h5; do
    [ $kind$have_hdf5 != h50 ] || continue
    evolution=(evolve "$topi" --time 1 --steps 3 --site 0 --quiet --states "s.$kind")
    rm -f o.csv
    checks=$((checks + 2))
    (ulimit -f 16 && "$wisp" "${evolution[@]}" -o o.csv 2>err) && fail "states beyond the limit pass"
    [ "$(wc -l <err)" = 1 ] && grep -q "^wisp: cannot write s.$kind" err && [ "$(grep -c '^[0-9]' o.csv)" = 4 ] ||
        fail "states beyond the limit, .$kind: $(cat err)"
    (ulimit -f 16 && "$wisp" "${evolution[@]}" 2>err) && fail "states beyond the limit pass"
    [ "$(wc -l <err)" = 1 ] || fail "states alone beyond the limit, .$kind: $(cat err)"
    check "no temporary file is left: $(echo ./*.tmp*)" test -z "$(find . -name '*.tmp*')"
    # What it has by then it keeps.
    evolution=(evolve "$topi" --time 4 --steps 40 --site 0 --quiet --states "s.$kind")
    checks=$((checks + 1))
    (ulimit -f 200 && "$wisp" "${evolution[@]}" -o o.csv 2>err) && fail "states beyond the limit pass"
    grep -q "^wisp: it has the states of [0-9]* of 41 times" err && [ "$(grep -c '^[0-9]' o.csv)" = 41 ] ||
        fail "states up to the limit, .$kind: $(cat err)"
    if [ $kind = mtx ]; then
        checks=$((checks + 1))
        [ "$(grep -vc '^%' s.mtx)" = $(($(grep -v '^%' s.mtx | head -n 1 | awk '{ print $1 * $2 }') + 1)) ] ||
            fail "the states up to the limit are no matrix"
    else
        last=$(sed -n 's/.*until time //p' err)
        ok evolve $topi --from s.h5 --time 4 --steps 1 --json
        json out "d['times'][0] == $last > 0"
    fi
done
several out power $topi --powers 3 -o full.mtx --json
# Nor is what was printed lost in silence where results are not complete.
for ranks in "" 3; do
    export WISP_RANKS=$ranks
    for keeps in "" "--checkpoint d.ck"; do
        checks=$((checks + 1))
        rm -f d.ck
        # shellcheck disable=SC2086
        "$wisp" solve laplace:nx=20,ny=20,nz=12 --maxit 3 $keeps 2>err >/dev/full
        [ $? = 1 ] && grep -q "^wisp: not converged in 3 iterations" err &&
            grep -q "^wisp: cannot write to the standard output: No space left" err || fail "incomplete to a full device: $(cat err)"
        [ -z "$keeps" ] || { [ -e d.ck ] && grep -q "^wisp: $kept" err; } || fail "incomplete to a full device is not kept: $(cat err)"
    done
done
export WISP_RANKS=
[ $have_gnuplot = 0 ] || several o.csv dos $topi --moments 20 -o o.csv --plot full.svg
finish
