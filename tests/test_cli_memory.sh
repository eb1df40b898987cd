#!/bin/bash
# Little address space: every command works or ends soon with one line. And no threads of a BLAS, which is why.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3

# ---- the command has the threads it was asked for and no others
mkfifo waits.mtx
"$wisp" convert waits.mtx copy.crs --threads 1 --quiet &
pid=$!
exec 9>waits.mtx
# More than a pipe holds: when it is written, the command reads, with all threads there that there will be.
{ echo '%%MatrixMarket matrix coordinate real general'; yes '% a line of words that mean nothing' | head -c 300000; } >&9
check "one thread: $(ls /proc/$pid/task | wc -l)" test "$(ls /proc/$pid/task | wc -l)" = 1
check "no BLAS is loaded" test -z "$(grep -iE 'blas|lapack' /proc/$pid/maps)"
printf '\n1 1 1\n1 1 1\n' >&9
exec 9>&-
check "convert from a pipe" wait $pid
helper=$(dirname "$wisp")/wisp-blas
check "wisp-blas is beside wisp" test -x "$helper"
check "wisp-blas times products" test "$(OPENBLAS_NUM_THREADS=2 "$helper" gemm | awk '$1 > 0 && $2 > 0' | wc -l)" = 1
mkfifo asks answers
# Two processing units, whatever there are; a sanitizer has to come first in a process.
two_units=()
[ -n "${SANITIZED:-}" ] || two_units=(env LD_PRELOAD="$(dirname "$wisp")/tests/libshim_cpus.so" CPUS=2)
(OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 exec "${two_units[@]}" "$helper" shape <asks >answers) &
pid=$!
exec 9>asks 8<answers
printf 'gram d 200000 16\n3\n' >&9
read -r answer <&8
if [ ${#two_units[@]} -gt 0 ] && grep -qiE 'openblas|gomp' /proc/$pid/maps; then
    check "wisp-blas has its threads" test "$(ls /proc/$pid/task | wc -l)" = 2
fi
exec 9>&-
check "wisp-blas ends with its input" wait $pid
check "and has answered" test "$({ echo "$answer"; cat <&8; } | awk '$1 > 0' | wc -l)" = 1
exec 8<&-

# ---- a tight limit
if ! (ulimit -v 8000000 && "$wisp" --version >/dev/null 2>&1); then
    echo "no command within 8 GB of addresses (a sanitizer?): limits are not checked"
    finish
fi
"$wisp" gen $topi -o a.mtx --quiet
tight() { # tight KB ARGS...
    checks=$((checks + 1))
    (ulimit -v "$1" && exec "$wisp" "${@:2}" >out 2>err)
    local rc=$?
    [ $rc = 0 ] && worked=$((worked + 1))
    # One line says why it ends; that threads could not be started is another matter.
    [ $rc = 0 ] || [ "$(grep -vc '^wisp: warning: only [0-9]* of' err)" = 1 ] || fail "within $1 KB wisp ${*:2}: exit $rc, not one line: $(head -5 err)"
}
worked=0
for kb in 20000 40000 50000 60000 70000 80000 100000 130000 180000 250000 400000 1000000; do
    echo "within $kb KB" # which of them, if one hangs
    for args in --version "info a.mtx --json" "dos a.mtx --moments 16 --vectors 2 --json" "gen $topi -o b.mtx.gz" \
        "convert a.mtx b.crs" "power a.mtx -p 3" "evolve a.mtx --time 1 --site 0" "dos a.mtx --plan" "--help"; do
        tight $kb $args
    done
done
check "with room enough all work ($worked)" test $worked -ge 27

finish
