#!/bin/sh
# Installs the Debian packages that are missing from those named on the command line: "build" (to build wisp and
# run its main job), "test" (to run its tests), "optional" (HDF5, hwloc, MPI, PT-SCOTCH, HYPRE, MUMPS, gnuplot), "ci", and for bench/peers "petsc",
# "eigen", "viennacl", "mkl" (what PyPI's mkl needs); "arpack" and "slepc" for examples/. Says what it does.
set -eu

packages=
for group in "$@"; do
    case $group in
    build) packages="$packages gcc cmake ninja-build pkg-config libjansson-dev libopenblas-dev librandom123-dev
                     libxxhash-dev zlib1g-dev" ;;
    optional) packages="$packages libhdf5-dev libhwloc-dev libopenmpi-dev openmpi-bin libptscotch-dev libhypre-dev libmumps-seq-dev gnuplot-nox
                        opencl-headers" ;;
    test) packages="$packages libcmocka-dev liblapacke-dev python3 python3-numpy hdf5-tools" ;;
    ci) packages="$packages clang clang-format lld libomp-dev libclang-rt-dev libarpack2-dev ccache iproute2 util-linux hostname ocl-icd-libopencl1 pocl-opencl-icd python3-pip" ;;
    arpack) packages="$packages libarpack2-dev" ;;
    slepc) packages="$packages libslepc-real-dev libslepc-complex-dev" ;;
    petsc) packages="$packages libpetsc-real-dev libpetsc-complex-dev" ;;
    eigen) packages="$packages libeigen3-dev g++" ;;
    viennacl) packages="$packages libviennacl-dev g++" ;;
    mkl) packages="$packages python3-venv" ;;
    *) echo "install-deps.sh: unknown group '$group' (see $0)" >&2; exit 2 ;;
    esac
done

missing=
for p in $packages; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -z "$missing" ]; then
    echo "packages: all there"
    exit 0
fi
command -v apt-get >/dev/null || {
    echo "install-deps.sh: apt-get was not found; install by hand what these Debian packages hold:$missing" >&2
    exit 1
}
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "install-deps.sh: not root, and no sudo; ask for these packages:$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "packages: installing$missing"
began=$(date +%s)
log=$(mktemp)
if ! { $sudo apt-get update -qq &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "install-deps.sh: apt-get failed; its last lines are above" >&2
    rm -f "$log"
    exit 1
fi
rm -f "$log"
echo "packages: installed in $(($(date +%s) - began)) s"
