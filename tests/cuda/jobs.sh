#!/usr/bin/env bash
# jobs.sh WISP SCRATCH: small jobs of the command on the device cuda, with a stand-in for its driver and NVRTC on
# LD_LIBRARY_PATH. They give the bits of the device plain, whenever work runs; and whatever call of the driver fails, a job
# ends with a line that says so, leaves nothing, and gives no wrong result.
set -uo pipefail
wisp=$1 scratch=$2 bad=0
mkdir -p "$scratch"
export WISP_GROUP=32 XDG_CACHE_HOME=$scratch/cache OMP_NUM_THREADS=2
bad() {
    echo "jobs.sh: $*"
    bad=1
}
# job DEVICE OUT ARGUMENTS...: what it computes, without words on how.
job() {
    local device=$1 out=$2
    shift 2
    timeout 300 "$wisp" "$@" --device "$device" --quiet -o "$out" >"$out.said" 2>&1 || return
    sed '/^[#%]/d' "$out" >"$out.bits"
}

while read -r name ending arguments; do
    plain=$scratch/$name.plain.$ending
    # shellcheck disable=SC2086 # words
    job plain "$plain" $arguments || bad "$name on plain: $(tail -n 3 "$plain.said")"
    for seed in 0 1 2; do
        out=$scratch/$name.cuda$seed.$ending
        # shellcheck disable=SC2086 # words
        WISP_STANDIN_SEED=$seed job cuda "$out" $arguments || bad "$name on cuda, seed $seed: $(tail -n 3 "$out.said")"
        cmp -s "$plain.bits" "$out.bits" || bad "$name on cuda, seed $seed: other bits than on plain"
    done
done <<'JOBS'
dos csv dos topi:nx=4,ny=3,nz=2 --moments 16 --vectors 3
solve mtx solve laplace:nx=6,ny=5 --precision single --method cg
JOBS

# By three ranks on two devices, each way in which they exchange rows, which go by pinned memory.
arguments="solve laplace:nx=6,ny=5 --precision single --method cg --rhs random:2"
for halo in none task columns; do
    # shellcheck disable=SC2086 # words
    WISP_RANKS=3 job plain "$scratch/ranks.mtx" $arguments --halo $halo || bad "three ranks on plain: $(tail -n 3 "$scratch/ranks.mtx.said")"
    # shellcheck disable=SC2086 # words
    WISP_RANKS=3 WISP_STANDIN_DEVICES=2 WISP_STANDIN_SEED=1 job cuda "$scratch/ranks.cuda.mtx" $arguments --halo $halo ||
        bad "three ranks on cuda: $(tail -n 3 "$scratch/ranks.cuda.mtx.said")"
    cmp -s "$scratch/ranks.mtx.bits" "$scratch/ranks.cuda.mtx.bits" || bad "three ranks on cuda, --halo $halo: other bits than on plain"
done

# Call 1 fails, call 2, and so on, until a job makes no more calls; then some of them with all that follow.
arguments="dos laplace:nx=4,ny=3 --moments 4 --vectors 1 --bounds 0,8"
out=$scratch/fails.csv
# fails WHICH: 1 where the job ended before that call.
fails() {
    rm -f "$out" "$out.bits"
    # shellcheck disable=SC2086 # words
    WISP_STANDIN_FAIL=$1 job cuda "$out" $arguments
    local status=$? lines
    lines=$(grep -vc '^stand-in: call' "$out.said")
    grep -q '^stand-in: call' "$out.said" || { [ $status = 0 ] && cmp -s "$scratch/right.csv.bits" "$out.bits" && return 1; }
    if [ $status = 0 ]; then
        cmp -s "$scratch/right.csv.bits" "$out.bits" || bad "call $1 fails, and nobody says so: $(cat "$out.said")"
    elif [ $status -gt 2 ] || [ "$lines" != 1 ] || ! grep -q '^wisp: ' "$out.said"; then
        bad "call $1 fails, and the job ends with $status and says: $(cat "$out.said")"
    fi
    return 0
}
# shellcheck disable=SC2086 # words
job cuda "$scratch/right.csv" $arguments || bad "a job that is to fail later: $(cat "$scratch/right.csv.said")"
calls=1
while [ $calls -lt 2000 ] && fails $calls; do calls=$((calls + 1)); done
[ $calls -gt 50 ] || bad "a job of $calls calls"
for ((call = 1; call < calls; call += 4)); do fails "$call+"; done
echo "jobs.sh: $((calls - 1)) calls of the driver failed, one by one"
exit $bad
