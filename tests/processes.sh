#!/usr/bin/env bash
# Tests of the library by several processes under mpirun. All run, whatever fails; a failed one's last lines are shown.
# usage: tests/processes.sh BUILD-FOLDER NUMBER WEIGHTS TEST...: of 2 processes "", or "2,0,1" of 3; ops for test_ops
set -uo pipefail
build=${1:?usage: tests/processes.sh BUILD-FOLDER NUMBER WEIGHTS TEST...} number=$2 weights=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1 WISP_STREAM_LIMIT=8388608 WISP_MEASURE_LIMIT=100 WISP_MEASURE_FIRST=0 # as tests/CMakeLists.txt
export OCL_ICD_VENDORS=$build/tests/no-opencl CUDA_VISIBLE_DEVICES=-1
# Who waits within MPI gives its core up, also where there are as many cores, for other work may need it.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 # what it takes on one host; to look for networks took longer than all else of a short run
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# one TEST: what is said of it is said at its end. Cores that others hold are none of a test's matter.
one() {
    local name=$1 began=$EPOCHREALTIME ended
    mkdir -p "$logs/$name"
    # One that hangs is ended when CTest would end it, so that the others run.
    XDG_RUNTIME_DIR=$logs/$name WISP_WEIGHTS=$weights \
        timeout 1200 mpirun --oversubscribe -n "$number" "$build/tests/test_$name" >"$logs/$name.log" 2>&1 && ended=1 || ended=0
    awk -v a="$began" -v b="$EPOCHREALTIME" -v name="$name" -v by="$number" 'BEGIN { printf "test_%s by %d processes took %.2f sec\n", name, by, b - a }'
    [ $ended = 1 ] && return
    tail -n 40 "$logs/$name.log"
    echo "test_$name by $number processes has failed"
    : >"$logs/failed"
}
# Two at a time: while one starts, or its processes wait for each other, the other has the cores.
for name in "${@:4}"; do
    [ "$(jobs -pr | wc -l)" -lt 2 ] || wait -n
    one "$name" &
done
wait
echo "by $number processes: ${*:4}"
[ ! -e "$logs/failed" ]
