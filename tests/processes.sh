#!/usr/bin/env bash
# Tests of the library by several processes under mpirun. All run, whatever fails; a failed one's last lines are shown.
# usage: tests/processes.sh BUILD-FOLDER NUMBER WEIGHTS TEST...: of 2 processes "", or "2,0,1" of 3; ops for test_ops
set -uo pipefail
build=${1:?usage: tests/processes.sh BUILD-FOLDER NUMBER WEIGHTS TEST...} number=$2 weights=$3 failed=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1 WISP_STREAM_LIMIT=8388608 WISP_MEASURE_LIMIT=100 # as tests/CMakeLists.txt
export OCL_ICD_VENDORS=$build/tests/no-opencl CUDA_VISIBLE_DEVICES=-1
# Who waits within MPI gives its core up, also where there are as many cores, for other work may need it.
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_pml=ob1 # what it takes on one host; to look for networks took longer than all else of a short run
# One that hangs is ended when CTest would end it, so that the others run.
for name in "${@:4}"; do
    began=$EPOCHREALTIME
    WISP_WEIGHTS=$weights timeout 1200 mpirun --oversubscribe -n "$number" "$build/tests/test_$name" >"$build/mpi.log" 2>&1 && ended=1 || ended=0
    awk -v a="$began" -v b="$EPOCHREALTIME" -v name="$name" -v by="$number" 'BEGIN { printf "test_%s by %d processes took %.2f sec\n", name, by, b - a }'
    [ $ended = 1 ] && continue
    tail -n 40 "$build/mpi.log"
    echo "test_$name by $number processes has failed"
    failed=1
done
echo "by $number processes: ${*:4}"
exit $failed
