#!/usr/bin/env bash
# Kernels of GPUs by Oclgrind (Debian's package oclgrind), an interpreter of OpenCL that checks each access and each call:
# small jobs of the command, without an access out of bounds, a race between items or groups, or a call that is wrong. By
# hand: tests/nightly/oclgrind.sh WISP [JOB..], each JOB the arguments of a command. 77: there is no Oclgrind.
# Its checks for values that were never written (OCLGRIND_UNINITIALIZED=1) are left out: they name sums whose terms all are
# written, and why is not known. Kernels are not optimised: it does not know "freeze", which its compiler then makes.
set -euo pipefail
wisp=$(realpath "${1:?usage: tests/nightly/oclgrind.sh WISP [JOB..]}")
library=$(find /usr/lib/oclgrind /usr/local/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -1)
[ -n "$library" ] || { echo "oclgrind.sh: there is no Oclgrind"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/icd"
echo "$library" >"$folder/icd/oclgrind.icd"
export OCL_ICD_VENDORS=$folder/icd OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_MAX_ERRORS=20
export OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_LOG=$folder/log
export WISP_GROUP=8 XDG_CACHE_HOME=$folder/cache OMP_NUM_THREADS=1
jobs=("${@:2}")
[ ${#jobs[@]} -gt 0 ] || jobs=(
    "power laplace:nx=4,ny=3 -p 2 --width 3"
    "power laplace:nx=4,ny=3 -p 2 --width 2 --format sell"
    "dos topi:nx=2,ny=2,nz=1 --moments 8 --vectors 3"
    "dos anderson:nx=4,ny=3,nz=1,disorder=2 --moments 8 --vectors 2 --precision single"
    "solve laplace:nx=5,ny=4 --method cg"
    "solve matpde:nx=4,ny=4 --method gmres --restart 3 --rhs random:1x2"
    "solve matpde:nx=4,ny=4 --method bicgstab"
    "solve matpde:nx=4,ny=4 --method idr --shadow 2"
    "eig anderson:nx=12,ny=9,nz=1,disorder=3 --largest 2 --method lanczos --tol 1e-2"
    "evolve anderson:nx=4,ny=3,nz=1,disorder=2 --time 0.1 --site 0"
)
bad=0
for job in "${jobs[@]}"; do
    : >"$folder/log"
    rc=0
    # shellcheck disable=SC2086 # words
    "$wisp" $job --device opencl --quiet >"$folder/said" 2>&1 || rc=$?
    if [ $rc != 0 ] || [ -s "$folder/log" ]; then
        echo "-- FAILED ($rc): $job"
        tail -3 "$folder/said"
        head -40 "$folder/log"
        bad=1
    else
        echo "-- no error: $job"
    fi
done
exit $bad
