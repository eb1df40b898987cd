#!/bin/sh
# Installs what is missing, builds wisp, and runs its main job: the density of states of a three-dimensional
# topological insulator with 1.6 million rows, with a plot.
set -eu
cd "$(dirname "$0")"

./install-deps.sh build optional
began=$(date +%s)
cmake -S . -B build -G Ninja -DWISP_TESTS=OFF >build.log 2>&1 && cmake --build build >>build.log 2>&1 || {
    tail -n 20 build.log >&2
    echo "quickstart.sh: the build failed; all of it is in build.log" >&2
    exit 1
}
echo "build: build/wisp in $(($(date +%s) - began)) s"
rm -f build.log

set -- dos topi:nx=100,ny=100,nz=40 --moments 512 --vectors 32 -o wisp-dos.csv
if command -v gnuplot >/dev/null; then set -- "$@" --plot wisp-dos.png; fi
if ./build/wisp --version | grep -q hdf5; then set -- "$@" --save wisp-dos.h5; fi
echo "run: build/wisp $*"
echo
./build/wisp "$@"
