#!/bin/bash
# What wisp does on a GPU, in one file of JSON. On a machine with a compiler all that it needs is packed; the machine with the GPU
# needs no network, no compiler (but NVRTC for --device cuda) and no Python.
# usage: bench/gpu.sh pack FOLDER            builds wisp and its tests, with the libraries that they load, into FOLDER
#        FOLDER/gpu.sh run DEVICE OUT.json   cuda or opencl; --small: small matrices, to see that it works: numbers mean nothing
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests="test_gpu test_slot test_block test_scalars" # those that run on the device that is named

pack() {
    local source=$here/.. to=$1 build file
    mkdir -p "$to/lib"
    to=$(cd "$to" && pwd) build=$to/build
    # shellcheck disable=SC2086 # words
    cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DWISP_ISAS=all -DWISP_HDF5=OFF -DWISP_HWLOC=OFF -DWISP_MPI=OFF \
        -DWISP_SCOTCH=OFF ${PACK_OPTIONS:-} >"$to/build.log"
    # shellcheck disable=SC2086
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target wisp $tests >>"$to/build.log"
    cp "$build/wisp" "$here/gpu.sh" "$source/tests/machines/laptop.json" "$to"
    for file in $tests; do cp "$build/tests/$file" "$to"; done
    for file in "$to/wisp" "$to/test_gpu"; do
        ldd "$file" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so' | xargs -r cp -Lt "$to/lib"
    done
    mkdir -p "$to/icd"
    echo libnvidia-opencl.so.1 >"$to/icd/nvidia.icd"
    local cuda=${CUDA_HOME:-/usr/local/cuda}
    if [ -e "$cuda/include/cusparse.h" ]; then
        cc -O2 -w -I "$cuda/include" -o "$to/cusparse" "$here/gpu_cusparse.c" -ldl
    else
        echo "gpu.sh: no cuSPARSE to compare with, for there is no $cuda/include/cusparse.h" >&2
    fi
    rm -rf "$build"
    echo "packed: $to"
}

# field KEY: the first number or text with this key of the JSON on the standard input
field() { sed -n -e "s/^.*[{ ]\"$1\": \"\([^\"]*\)\".*$/\1/p" -e "s/^.*[{ ]\"$1\": \([^\",}]*\)[,}].*$/\1/p" | head -1; }
median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
say() { echo "$(($(date +%s) - started)) s: $*" >&2; }
left() { echo $((limit - $(date +%s) + started)); }

# Rows of one call of wisp bench, one a line.
rows() { grep -o '{"op": [^{}]*}' "$scratch/bench.json" || true; }
short() { # of each row what is of use on one page
    local row key v line
    while read -r row; do
        line=
        for key in op variant matrix width powers depth format seconds gflops effective_gbs load_gbs paired_fraction limit; do
            v=$(field $key <<<"$row")
            [ -n "$v" ] || continue
            [[ $key =~ ^(op|variant|matrix|format|limit)$ ]] && v="\"$v\""
            line+="${line:+, }\"$key\": $v"
        done
        echo "{$line}"
    done
}
bench() { # bench SECONDS ARGS...
    local most=$1
    shift
    [ "$(left)" -gt "$most" ] || { say "left out, for there is no time: $*"; return 0; }
    if within "$most" "$here/wisp" bench "$@" --device "$device" --repeats "$repeats" --json >"$scratch/bench.json" 2>"$scratch/err"; then
        say "$* $(rows | field effective_gbs) GB/s"
        rows | short >>"$scratch/rows"
    else
        say "failed: $*: $(tail -1 "$scratch/err")"
        echo "{\"failed\": \"$*\"}" >>"$scratch/rows"
    fi
}
# against WIDTH SIDE: products in turn with those of cuSPARSE
against() {
    local width=$1 n=$2 op=spmmv i
    [ -x "$here/cusparse" ] && [ "$(left)" -gt 60 ] || return 0
    [ "$width" = 1 ] && op=spmv
    : >"$scratch/ours"
    : >"$scratch/theirs"
    for i in 1 2 3; do
        [ "$(left)" -gt 60 ] || return 0
        within 60 "$here/cusparse" "$n" "$width" >"$scratch/peer" 2>"$scratch/err" || { say "cuSPARSE: $(tail -1 "$scratch/err")"; return 0; }
        field seconds <"$scratch/peer" >>"$scratch/theirs"
        within 60 "$here/wisp" bench $op "laplace:nx=$n,ny=$n,nz=$n" --widths "$width" --format sell --device "$device" --repeats 7 --json \
            >"$scratch/bench.json" 2>/dev/null || return 0
        rows | field seconds >>"$scratch/ours"
    done
    local ours theirs
    ours=$(median <"$scratch/ours") theirs=$(median <"$scratch/theirs")
    echo "{\"width\": $width, \"side\": $n, \"seconds\": $ours, \"cusparse_seconds\": $theirs, \"times_faster\": $(awk "BEGIN { print $theirs / $ours }")}" >>"$scratch/peers"
    say "width $width, cuSPARSE: $ours and $theirs s"
}
# within SECONDS COMMAND...: in this terminal's group, so that Ctrl-C reaches it; what does not end when it is asked to is killed
within() { timeout --foreground -k 10 "$@"; }
list() { [ -s "$1" ] && sed '$!s/$/,/; s/^/    /' "$1"; true; }

run() {
    local device=$1 out=$2 side=256 topi="topi:nx=200,ny=200,nz=40" repeats=9 name verdict
    started=$(date +%s) limit=520 scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    [ "${3:-}" != --small ] || side=16 topi="topi:nx=8,ny=8,nz=8" repeats=7
    export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} XDG_CACHE_HOME=$scratch/cache XDG_RUNTIME_DIR=$scratch
    [ -e /etc/OpenCL/vendors ] || export OCL_ICD_VENDORS=$here/icd
    [ "${3:-}" != --small ] || export WISP_STREAM_LIMIT=16777216 WISP_MEASURE_LIMIT=1000
    : >"$scratch/rows"
    if ! within 150 "$here/wisp" machine --device "$device" --json >"$scratch/machine.json" 2>"$scratch/err"; then
        say "wisp machine --device $device: $(tail -1 "$scratch/err")"
        [ -s "$scratch/machine.json" ] || exit 1
    fi
    say "measured: $(field cpu <"$scratch/machine.json"), load $(field load_gbs <"$scratch/machine.json") GB/s"
    : >"$scratch/tests"
    for name in $tests; do
        verdict=failed
        if [ "$(left)" -lt 300 ]; then
            verdict="left out"
        elif [ "$name" = test_gpu ] && ! command -v cc >/dev/null; then
            verdict="left out, for there is no cc" # by which it compares bits with those of the device plain
        elif WISP_DEVICE=$device WISP_MACHINE=$here/laptop.json within 100 "$here/$name" >"$scratch/test.out" 2>&1; then
            verdict=passed
        else
            case $? in
            77) verdict="left out, for it found no device" ;;
            124 | 137) verdict="not done in 100 s" ;;
            esac
        fi
        [ "$verdict" != failed ] || grep -m 3 'ERROR\|FAILED' "$scratch/test.out" >&2 || true
        say "$name: $verdict"
        echo "{\"test\": \"$name\", \"verdict\": \"$verdict\"}" >>"$scratch/tests"
    done
    local cube="laplace:nx=$side,ny=$side,nz=$side"
    bench 60 spmv "$cube" --format sell
    bench 60 spmv "$cube" --format compressed
    bench 60 kpm "$topi" --widths 32 --format compressed
    bench 60 kpm "$topi" --widths 32 --format sell
    bench 60 solve "$cube" --widths 1 --format sell
    bench 60 solve "$cube" --widths 1 --format compressed
    bench 60 mpk "$cube" --widths 1 --powers 4 --format sell
    : >"$scratch/peers"
    against 1 "$side"
    against 32 $((side / 2))
    local checked="not there"
    if [ "$device" = cuda ] && command -v compute-sanitizer >/dev/null && [ "$(left)" -gt 60 ]; then
        checked=failed
        within 60 compute-sanitizer --error-exitcode 9 "$here/wisp" power laplace:nx=9,ny=9,nz=9 -p 4 --device cuda --quiet \
            >"$scratch/sanitizer" 2>&1 && checked=clean
    fi
    {
        printf '{\n  "version": "%s",\n  "device": "%s",\n  "seconds": %s,\n' "$(field version <"$scratch/machine.json")" "$device" "$(($(date +%s) - started))"
        printf '  "machine": {%s},\n' "$(sed -n '/^ *"\(cpu\|cores\|memory_bytes\|caches\|cache_kept_bytes\|bandwidth_gbs\|fma_gflops\|launch_seconds\|round_trip_seconds\)":/p' "$scratch/machine.json" | sed 's/^ *//; s/,$//' | paste -sd, | sed 's/,"/, "/g')"
        printf '  "compute_sanitizer": "%s",\n' "$checked"
        printf '  "tests": [\n%s\n  ],\n  "rows": [\n%s\n  ],\n  "cusparse": [\n%s\n  ]\n}\n' "$(list "$scratch/tests")" "$(list "$scratch/rows")" "$(list "$scratch/peers")"
    } >"$out"
    say "written: $out"
}

case ${1:-} in
pack) pack "${2:?usage: bench/gpu.sh pack FOLDER}" ;;
run) run "${2:?a device}" "${3:?a file for the results}" "${4:-}" ;;
*) sed -n '4,5s/^# //p' "$0" >&2 && exit 2 ;;
esac
