#!/bin/bash
# wisp's product in ARPACK, SLEPc and PRIMME: the eigenvalues of wisp eig. Each where its package was there when wisp was
# built. $1 command, $2 source folder, $3 scratch folder.
set -uo pipefail
wisp=$1 examples=$(dirname "$1")/examples scratch=$3 bad=0 left=0
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch" || exit 1
export XDG_CACHE_HOME=$PWD/cache OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self

export ASAN_OPTIONS=detect_leaks=0 # of MPI

same() { # same NAME MATRIX COUNT
    "$examples/$1" "$2" "$3" >"$1.txt" 2>"$1.err" || {
        grep -q 'this PETSc takes real numbers' "$1.err" && return # a real build, a complex matrix
        echo "FAILED: $1 $2: $(tail -1 "$1.err")"
        bad=1
        return
    }
    awk '/^eigenvalue/ { print $2 }' "$1.txt" >got
    paste got want | awk -v n="$3" '{ d = $1 - $2; if (NF != 2 || d > 1e-9 || d < -1e-9) bad = 1 } END { exit bad || NR != n }' ||
        { echo "FAILED: $1 $2: $(paste got want | tr '\n' ' ')"; bad=1; }
}
# On a real matrix, and on a complex one where the package takes it. No multiplet is cut.
for matrix in hubbard:sites=8,disorder=1 graphene:nx=8,ny=8,flux=1/8,disorder=1; do
    "$wisp" eig $matrix --smallest 6 --tol 1e-12 | awk '/^[1-6] / { print $2 }' >want
    for name in arpack slepc primme; do
        [ -x "$examples/$name" ] && same $name $matrix 6
    done
done
for name in arpack slepc primme; do
    [ -x "$examples/$name" ] || { echo "left out: examples/$name.c, for its package was not there"; left=1; }
done
[ $bad = 0 ] || exit 1
[ $left = 0 ] || exit 77 # to ctest: skipped
