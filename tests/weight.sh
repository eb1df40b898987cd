#!/bin/bash
# The weight of a build of all instruction sets: kernel instances (functions in the kernels' objects) and bytes of the
# library. Fails where they are beyond the budget; who adds a capability may raise it by 10%, and says so.
# usage: tests/weight.sh BUILD-FOLDER
set -euo pipefail
# 1450 before updates of the same blocks went together; 1500 before dots of one block did, and products with dots, and with
# unusual terms at widths 2 and 4, had constants
instances_most=1600
# 4,950,000 before shift and invert, H(t), local maps, null spaces and optical conductivities; 5,100,000 before cooled states
# came into the library, results were held for outputs that fail, and updates of the same blocks went together; 5,200,000
# before those dots and products
bytes_most=5400000

shopt -s nullglob
objects=("$1"/src/CMakeFiles/wisp_kernels_*.dir/kernels/*.c.o "$1"/src/CMakeFiles/wisp_kernels_*.dir/backend/cpu/*.o)
[ "${#objects[@]}" -gt 0 ] || { echo "weight.sh: $1 holds no kernels; name the folder of a build" >&2; exit 2; }
sets=$(printf '%s\n' "${objects[@]}" | sed 's/.*wisp_kernels_\([a-z0-9]*\).*/\1/' | sort -u | tr '\n' ' ')
instances=$(nm "${objects[@]}" | grep -c ' [tT] ')
bytes=$(stat -L -c %s "$1/src/libwisp.so")
echo "kernels for ${sets}: $instances functions (at most $instances_most); libwisp.so: $bytes bytes (at most $bytes_most)"
[ "$instances" -le "$instances_most" ] && [ "$bytes" -le "$bytes_most" ]
