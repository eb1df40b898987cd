#!/bin/bash
# Who may use whom (docs/design.md, section 3), by includes and by symbols; and no circles of files. usage: tests/layering.sh BUILD-FOLDER
set -euo pipefail
build=${1:?usage: tests/layering.sh BUILD-FOLDER}
build=$(cd "$build" && pwd)
cd "$(dirname "$0")/.."
# Rooms from the bottom up; those of one line stand beside each other and may not use one another, but for io, which
# opens the gallery's matrices by their names, and sched, which walks by orders' levels.
rooms=(late base topo,comm,model backend data order gallery io,sched,state make op solver abi)
bad=0
say() { echo "layering: $*"; bad=1; }

# height ROOM: its place from the bottom.
declare -A height
for i in "${!rooms[@]}"; do for room in ${rooms[i]//,/ }; do height[$room]=$i; done; done
for folder in src/*/; do
    room=$(basename "$folder")
    [ -n "${height[$room]:-}" ] || case $room in kernel | tool) ;; *) say "src/$room is not in the list of rooms" ;; esac
done
# allowed FROM TO: may a file of the room FROM use the room TO?
allowed() {
    [ "$1" = "$2" ] || { [ "$2" = kernel ] && [ "$1" = backend ]; } ||
        { [ -n "${height[$1]:-}" ] && [ -n "${height[$2]:-}" ] && [ "${height[$2]}" -lt "${height[$1]}" ]; }
}

# Includes. Kernels use kernels alone; solvers and the command the public headers, their own room, and late/. A kind of solvers (a
# folder of solver/) uses what it has and what all solvers share.
while IFS=: read -r file line; do
    room=${file#src/} room=${room%%/*}
    used=${line#*\"} used=${used%\"*}
    case $used in config.h | widths.h) continue ;; esac
    target=${file%/*}/$used
    while [[ $target == */../* ]]; do # A/B/../C is A/C
        above=${target%%/../*}
        target=${above%/*}/${target#*/../}
    done
    target=${target#src/}
    case $target in solver/*/*) [ "src/${target%/*}" = "${file%/*}" ] || say "$file includes $used" ;; esac
    target=${target%%/*}
    case $room,$target in
    solver,late | tool,late) ;;
    kernel,* | solver,* | abi,* | tool,*) [ "$target" = "$room" ] || say "$file includes $used" ;;
    *) allowed "$room" "$target" || say "$file includes $used" ;;
    esac
done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' src --include='*.[ch]')
if grep -rnE '#[[:space:]]*include[[:space:]]+"' examples --include='*.c'; then say "examples include public headers only"; fi

# Symbols: what an object needs is defined in a room that its own may use.
objects=$build/src/CMakeFiles/wisp_objects.dir
[ -d "$objects" ] || { echo "layering.sh: $build holds no library; name the folder of a build" >&2; exit 2; }
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
# Lines of file, kind and symbol, by one call of nm. A build folder keeps the objects of files that have moved: those whose
# source is there count.
find "$objects" -name '*.o' -printf '%P\n' | while read -r o; do [ ! -e "src/${o%.o}" ] || echo "$o"; done |
    (cd "$objects" && xargs nm -A) | awk '$(NF-1) ~ /^[TDRBU]$/ { sub(/\.o:.*/, "", $1); print $1, $(NF-1), $NF }' >"$symbols"
[ -s "$symbols" ] || { echo "layering.sh: $objects has no object of this source" >&2; exit 2; }
while read -r user symbol definer; do
    if [ "$user" = solver ] && [ "$definer" != late ] && [[ $symbol == wisp__* ]]; then say "src/solver uses $symbol of src/$definer, which is not public"; fi
    allowed "$user" "$definer" || say "src/$user uses $symbol of src/$definer"
done < <(awk '{ sub(/\/.*/, "", $1) } $2 == "U" { need[$1 " " $3]; next } { at[$3] = $1 } END {
    for (n in need) { split(n, f, " "); if (f[2] in at && at[f[2]] != f[1]) print f[1], f[2], at[f[2]] } }' "$symbols")

# What the system is asked for, and the only rooms and files that may ask (docs/design.md, section 3).
while read -r asked askers; do
    while read -r file symbol; do say "src/$file calls $symbol, which is left to $askers"; done < <(
        awk -v asked="^($asked)$" -v askers="^($askers)" '$2 == "U" && $3 ~ asked && $1 !~ askers { print $1, $3 }' "$symbols")
done <<'END'
sched_[gs]etaffinity|sched_getcpu|pthread_(attr_)?[gs]etaffinity_np|pthread_getcpuclockid|prctl topo/place_linux
hwloc_.* topo/
mremap|getrandom|strerror_r|__xpg_strerror_r|memrchr base/system_linux
syscall base/|topo/|comm/threads
pthread_create|pthread_join|pthread_atfork topo/|comm/threads|backend/far/(queue|fork)|backend/plain/
sched_yield|madvise base/
clock_gettime base/|topo/
mmap|munmap|mprotect base/|backend/far/memory|backend/gpu/memory
sysconf base/|topo/
dlopen late/|backend/|solver/eig/lapack
nanosleep|usleep base/|comm/
waitpid backend/plain/
fork|vfork|kill|raise|signal|sigaction nobody
END

# Circles: in these folders files use one another in one direction, by headers and by symbols, so that each can be read
# after those below it.
for folder in late base topo comm model data data/store order gallery io sched state make op backend backend/cpu backend/far backend/gpu backend/cuda backend/opencl backend/plain solver solver/eig solver/evolve solver/kpm solver/linear solver/transport abi; do
    circle=$({
        grep -sHoE '^#include "[a-z0-9_]+\.h"' "src/$folder"/*.h | sed -E 's/^.*\/([^/]*):#include "(.*)"/\1 \2/'
        awk -v folder="$folder/" 'index($1, folder) != 1 { next } { $1 = substr($1, length(folder) + 1) } $1 ~ /\// { next }
            $2 != "U" { at[$3] = $1; next } { need[$1 " " $3] }
            END { for (n in need) { split(n, f, " "); if (f[2] in at && at[f[2]] != f[1]) print f[1], at[f[2]] } }' "$symbols"
    } | sort -u | tsort 2>&1 >/dev/null | awk '/loop/ { loops++; next } loops == 1 { printf " %s", $NF }') || true
    [ -z "$circle" ] || say "files of src/$folder use one another in a circle:$circle"
done
exit $bad
