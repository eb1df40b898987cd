#!/bin/sh
# Installs what is missing, builds wisp and runs its tests: all of them, or those of one label (fast, full).
# usage: ./check.sh [fast|full]
set -eu
cd "$(dirname "$0")"

label=${1:-}
case $label in
"" | fast | full) ;;
*) echo "usage: ./check.sh [fast|full]" >&2; exit 2 ;;
esac
./install-deps.sh build optional test
cmake -S . -B build -G Ninja -DWISP_TESTS=ON >/dev/null
cmake --build build
# Four at a time also on two cores: processes and ranks that wait for each other leave a core idle.
exec ctest --test-dir build -j 4 --output-on-failure ${label:+-L "$label"}
