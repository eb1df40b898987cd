#!/usr/bin/env bash
# The tests with other roundings than this machine's: LAPACK's kernels of other CPUs, wisp's for other instruction sets,
# and other numbers of ranks and threads. A test that fails here, and nowhere else, hangs on rounding. By hand; two hours
# on two cores.
# usage: tests/nightly/roundings.sh [BUILD-FOLDER]
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build} failed=0
# what times the machine, or knows its instruction set or number of cores, is not asked
left_out='bench|mpi|machine|cli_device|messages'
look() { # look LABEL REGEX VARIABLE...
    echo "== ${*:3}"
    env "${@:3}" ctest --test-dir "$build" -L "$1" -R "$2" -E "$left_out" -j 2 --output-on-failure || failed=1
}
of_ranks=$(sed -n 's/^ranks 3 2,0,1 "\(layout[^"]*\)"$/\1/p' .ci/run)
[ -n "$of_ranks" ] || { echo "$0: .ci/run has no list of tests by ranks any more" >&2; exit 1; }
for core in Prescott Nehalem Sandybridge Haswell Zen; do look fast . OPENBLAS_CORETYPE=$core; done
look fast . WISP_ISA=generic OPENBLAS_CORETYPE=Prescott
look fast . WISP_ISA=avx2 OMP_NUM_THREADS=1
for case in "2 - generic Nehalem" "3 2,0,1 generic Prescott" "3 - avx2 Haswell" "4 - generic Prescott" "5 - avx2 Prescott"; do
    read -r ranks weights isa core <<<"$case"
    [ "$weights" = - ] && weights=
    look fast "^test_($of_ranks)\$" WISP_RANKS="$ranks" WISP_WEIGHTS="$weights" WISP_ISA="$isa" OPENBLAS_CORETYPE="$core"
done
exit $failed
