# shellcheck shell=bash disable=SC2154
# What the scripts of this folder share; sourced with $root, $here and $out set. wisp is built into $out/wisp-build.
say() { echo "peers: $*" >&2; }
# build NAME COMPILER ARGUMENTS...: one program; a peer that cannot be built is left out.
build() {
    local name=$1
    shift
    if "$@" -o "$out/$name" 2>"$out/$name.log"; then return; fi
    rm -f "$out/$name"
    say "$name is left out; its build says (all of it in $out/$name.log):"
    grep -m 1 -iE 'error|not found' "$out/$name.log" >&2 || true
}
petsc() { # petsc real|complex NAME SOURCE
    local pc=(/usr/lib/petscdir/petsc3*/*-"$1"/lib/pkgconfig) flags
    flags=$(PKG_CONFIG_PATH=${pc[0]} pkg-config --cflags --libs petsc 2>/dev/null) || flags=
    # shellcheck disable=SC2086 # a list of flags
    build "$2" mpicc -std=gnu11 -O3 -march=native "$here/$3" $flags -lm
}
# wisp SOURCE NAME: the library, and a program that calls it; without them there is nothing to compare.
wisp() {
    local lib=$out/wisp-build/src
    cmake -S "$root" -B "$out/wisp-build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWISP_TESTS=OFF >"$out/cmake.log"
    cmake --build "$out/wisp-build" >"$out/build.log" || { tail -n 20 "$out/build.log" >&2; exit 1; }
    build "$2" "$(command -v mpicc || echo gcc)" -std=gnu11 -O3 -march=native -fopenmp -I "$root/include" "$here/$1" -L "$lib" -lwisp \
        -Wl,-rpath,"$lib" -lm
    [ -e "$out/$2" ] || exit 1
}
