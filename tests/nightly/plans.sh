#!/usr/bin/env bash
# What --plan says of a device's memory and of all memory, against what runs hold: random jobs. At most has to be at most,
# and about is to be near. By hand: tests/nightly/plans.sh WISP [JOBS [SEED [DEVICE]]]; DEVICE: plain by default
set -euo pipefail
wisp=$(realpath "${1:?usage: tests/nightly/plans.sh WISP [JOBS [SEED [DEVICE]]]}") jobs=${2:-100} RANDOM=${3:-1}
device=${4:-plain}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export WISP_STREAM_LIMIT=1048576 WISP_MEASURE_LIMIT=100

number() { echo $(($1 + RANDOM % ($2 - $1 + 1))); } # number LEAST MOST
one_of() { local words=("$@"); echo "${words[$((RANDOM % $#))]}"; }
maybe() { if [ $((RANDOM % 3)) = 0 ]; then echo "$*"; fi; }
hermitian() {
    case $(number 0 4) in
    0) echo "laplace:nx=$(number 4 30),ny=$(number 4 30),nz=$(number 1 12)" ;;
    1) echo "topi:nx=$(number 2 10),ny=$(number 2 10),nz=$(number 2 8)" ;;
    2) echo "anderson:nx=$(number 5 25),ny=$(number 5 25),nz=$(number 1 15),disorder=$(number 1 9),seed=$(number 1 99)" ;;
    3) echo "graphene:nx=$(number 5 60),ny=$(number 5 60)" ;;
    *) echo "hpcg:nx=$(number 4 16),ny=$(number 4 16),nz=$(number 4 16)" ;;
    esac
}
job() {
    local single
    single=$(maybe --precision single)
    case $(one_of dos ldos count solve gmres idr eig inner evolve power) in
    dos) echo "dos $(hermitian) --moments $(number 2 40) --vectors $(number 1 40) $(maybe --width "$(number 1 16)") $single" ;;
    ldos) echo "ldos $(hermitian) --moments $(number 2 40) --sites 0,3,7,11 $single" ;;
    count) echo "count $(hermitian) --interval 0,1 --moments $(number 4 40) --vectors $(number 1 9) $single" ;;
    solve) echo "solve hpcg:nx=$(number 4 24),ny=$(number 4 24),nz=$(number 4 16) --method $(one_of cg minres bicgstab) --rhs random:1x$(number 1 9) --tol 0.5 $(maybe --precond "$(one_of jacobi block-jacobi:8 chebyshev:4)") $single" ;;
    gmres) echo "solve matpde:nx=$(number 8 60),ny=$(number 8 60) --method gmres --restart $(number 2 40) --rhs random:1x$(number 1 5) --tol 0.9 $single" ;;
    idr) echo "solve matpde:nx=$(number 8 60),ny=$(number 8 60) --method idr --shadow $(number 1 20) --rhs random:1x$(number 1 5) --tol 0.9 $single" ;;
    eig) echo "eig $(hermitian) $(one_of --smallest --largest) $(number 1 12) --tol 1e-2 $(maybe --search "$(number 8 60)") $single" ;;
    inner) echo "eig anderson:nx=$(number 8 20),ny=$(number 8 20),nz=$(number 1 8),disorder=4 --interval 0,0.$(number 1 3) --tol 1e-4" ;;
    evolve) echo "evolve $(hermitian) --time 0.$(number 1 9) --site 0 $(maybe --watch 0,1,2) $single" ;;
    *) echo "power $(hermitian) -p $(number 1 9) --width $(number 1 20) $(maybe --all) $single" ;;
    esac
}

told=0 failed=0
for ((i = 0; i < jobs; i++)); do
    read -ra words < <(job)
    if ! "$wisp" "${words[@]}" --device "$device" --plan --json --mem-limit 8GB --device-mem-limit 8GB >plan.json 2>err; then
        echo "no plan: ${words[*]}: $(tail -1 err)"
        continue
    fi
    rc=0
    "$wisp" "${words[@]}" --device "$device" --json --mem-limit 8GB --device-mem-limit 8GB >run.json 2>err || rc=$?
    if [ $rc != 0 ] && [ $rc != 3 ] || [ ! -s run.json ]; then
        echo "no run: ${words[*]}: $(tail -1 err)"
        continue
    fi
    told=$((told + 1))
    python3 - "${words[*]}" <<'PY' || failed=$((failed + 1))
import json, sys
p, r = json.load(open("plan.json")), json.load(open("run.json"))
device, whole = r["device_memory_bytes"], r["memory_bytes"]
most = p.get("bound_bytes", p["total_bytes"])
least = 0 if sys.argv[1].startswith("evolve") else 0.9 # bounds are not known: about is of one time at once
wrong = [w for w, bad in (("DEVICE", device > p["device_bound_bytes"]), ("TOTAL", whole > most),
                          ("ORDER", most < p["device_bound_bytes"]),
                          ("ABOUT", not least * device - 2e5 <= p["device_bytes"] <= 2 * device + 2e5)) if bad]
print("%-28s device %8.3f MB, about %5.2f, at most %6.2f of it; all %8.3f MB, at most %5.2f: %s" % (
    " ".join(wrong), 1e-6 * device, p["device_bytes"] / device, p["device_bound_bytes"] / device, 1e-6 * whole, most / whole, sys.argv[1]))
sys.exit(bool(wrong))
PY
done
echo "$told runs, $failed of which the plan was wrong of"
[ "$failed" = 0 ]
