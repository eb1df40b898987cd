#!/usr/bin/env bash
# All that ranks do together, by 2, 3 and 5 of them, as threads and as processes: all of the tests by each, of which .ci/run
# has a part. By hand; about an hour on two cores.
# usage: tests/nightly/ranks_all.sh [BUILD-FOLDER]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build} failed=0
both="layout high_rows ops halo fuse products solve solve_best solve_failures solve_matrices solve_overflow solve_side solve_singular solve_scale blas1 dots sums tsm tsm_slot mpk operator operator_solvers scale kpm
    kpm_failures kpm_sides kpm_sides_failures merge evolve dos bounds bounds_given offers precision choose reopen pick precond precond_poly eig eig_any eig_condition eig_scale eig_krylov eig_krylov_stops
    ortho sized plan_calls"
by_themselves="ranks ranks_failures partition io_ranks solve_stops" # they make ranks of their own
# threads NUMBER WEIGHTS TEST...
threads() {
    local names=${*:3}
    WISP_RANKS=$1 WISP_WEIGHTS=$2 ctest --test-dir "$build" -L fast -R "^test_(${names// /|})\$" -j 2 --output-on-failure || failed=1
}
# shellcheck disable=SC2086 # words
for case in "2 -" "3 2,0,1" "5 -"; do
    number=${case% *} weights=${case#* }
    [ "$weights" = - ] && weights='' && equal="weights block" || equal='' # all have rows
    names="$both $equal"
    threads "$number" "$weights" $names
    tests/processes.sh "$build" "$number" "$weights" $names $by_themselves || failed=1
done
# test_mpi has it by 1 and 2, and by 5 with a part of the allocations.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for number in 3 5; do mpirun --oversubscribe --bind-to none -n $number "$build/tests/ranks_mpi" all || failed=1; done
exit $failed
