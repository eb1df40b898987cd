#!/usr/bin/env bash
# What measured weights bring back where one of two ranks is slowed down: its process shares its core with a busy loop.
# The rate of both ranks together, by equal and by measured weights, over the sum of what both make when they run
# independently, side by side. At least 0.85 is wanted. For a machine with two free cores; by hand:
# tests/nightly/ranks_weights.sh WISP [MATRIX]
set -euo pipefail
wisp=${1:?usage: tests/nightly/ranks_weights.sh WISP [MATRIX]} matrix=${2:-topi:nx=200,ny=200,nz=40}
wisp=$(realpath "$wisp")
folder=$(mktemp -d)
busy=
trap '[ -z "$busy" ] || kill "$busy"; rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OMP_PROC_BIND=false
mapfile -t cores < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
[ ${#cores[@]} -ge 2 ] || { echo "ranks_weights: two cores are needed"; exit 77; }
fast=${cores[0]} slow=${cores[1]}
run=(dos "$matrix" --moments 200 --vectors 8 --width 8 '--bounds=-6,6' --json)

# Row moments a second of a result.
rate() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))
print(d["rows"] * d["vectors"] * d["number_of_moments"] / d["seconds"])' "$1"; }

cat >"$folder/rank" <<'RANK'
#!/usr/bin/env bash
exec taskset -c "${CORES[$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK}))]}" "$@"
RANK
sed -i "2i CORES=($fast $slow)" "$folder/rank"
chmod +x "$folder/rank"

# The fast one again and again, as long as the slow one runs.
alone() {
    taskset -c "$slow" "$wisp" "${run[@]}" >"$folder/slow" &
    local pid=$! first=1
    while [ $first = 1 ] || kill -0 $pid 2>/dev/null; do
        taskset -c "$fast" "$wisp" "${run[@]}" >"$folder/next"
        [ $first = 0 ] || cp "$folder/next" "$folder/fast"
        first=0
    done
    wait $pid
}
together() { mpirun --oversubscribe --bind-to none -n 2 "$folder/rank" "$wisp" "${run[@]}" --weights "$1" >"$folder/$1"; }

taskset -c "$slow" bash -c 'while :; do :; done' &
busy=$!
for _ in 1 2 3 4 5; do
    alone
    together rows
    together measured
    echo "$(rate "$folder/fast") $(rate "$folder/slow") $(rate "$folder/rows") $(rate "$folder/measured")" >>"$folder/all"
    python3 -c 'import json, sys; print("weights", *json.load(open(sys.argv[1]))["weights"])' "$folder/measured"
done
python3 - "$folder/all" <<'PY'
import statistics, sys
rows = [list(map(float, line.split())) for line in open(sys.argv[1])]
equal, measured = ([r[k] / (r[0] + r[1]) for r in rows] for k in (2, 3))
for name, v in ("equal weights", equal), ("measured weights", measured):
    print(f"{name}: {statistics.median(v):.3f} of the sum of both rates ({min(v):.3f} to {max(v):.3f})")
sys.exit(statistics.median(measured) < 0.85)
PY
