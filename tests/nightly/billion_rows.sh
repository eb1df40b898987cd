#!/usr/bin/env bash
# Graphene with disorder by two processes on one machine, against one process: 16 moments of one random vector, in single
# precision, rows in natural order. Run by hand; without further arguments it has 10^9 rows, and needs 24 GB of memory
# and a few minutes.
# usage: billion_rows.sh WISP FOLDER [NX NY]: nx x ny cells of two rows, 25000 x 20000
set -euo pipefail
wisp=$(realpath "$1") nx=${3:-25000} ny=${4:-20000}
mkdir -p "$2"
cd "$2"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The bounds are given: what Lanczos finds would differ by rounding. Hopping 1 to three neighbours, disorder 1.
run=(dos "graphene:nx=$nx,ny=$ny,disorder=1" --precision single --vectors 1 --width 1 --moments 16 --order natural
    --bounds=-3.6,3.6)
by_two() { mpirun --oversubscribe -n 2 "$wisp" "$@"; }

echo "- what each of two processes would have"
"$wisp" info "${run[1]}" --precision single --order natural --ranks 2
echo "- the plan of one process, and of two"
"$wisp" "${run[@]}" --plan
by_two "${run[@]}" --plan
echo "- one process"
"$wisp" "${run[@]}" --json >one.json
echo "- two processes"
by_two "${run[@]}" --json >two.json
python3 - <<'PY'
import json
one, two = (json.load(open(name)) for name in ("one.json", "two.json"))
assert one["ranks"] == 1 and two["ranks"] == 2 and len(one["moments"]) == len(two["moments"]) == 16
off = max(abs(x - y) for x, y in zip(one["moments"], two["moments"])) / one["moments"][0]
print(f"{one['rows']} rows: moments differ by {off:.1e} of mu_0 = {one['moments'][0]:.0f}")
print(f"memory: {one['memory_bytes'] / 1e9:.3g} GB by one process, {two['memory_bytes'] / 1e9:.3g} GB by each of two")
assert off <= 1e-5
PY
