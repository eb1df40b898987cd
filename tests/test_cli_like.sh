#!/bin/bash
# --like: a run as another machine would choose it, and again as that one did here: the same bits. What is refused, and
# what is said where bits may differ.
. "$2/tests/cli.sh"
share_kernels
mkdir machines && cp "$source"/tests/machines/*.json machines
machines=$PWD/machines
sed 's/"level": "L1", "bytes": [0-9]*/"level": "L1", "bytes": 67108864/' machines/zen5.json >machines/near.json

# Numbers of results; what is of the moment, of the machine, or tells where they come from is left out.
cat >same.py <<'PY'
import json, re, sys
def numbers(name):
    d = json.load(open(name))
    own = r".*(seconds|gflops|gbs|memory_bytes|command|threads|cache_budget|chosen|precision|device|isa|resumed|checkpoint)$"
    return {k: json.dumps(v) for k, v in d.items() if not re.match(own, k)}
a, b = numbers(sys.argv[1]), numbers(sys.argv[2])
differ = sorted(k for k in a if a.get(k) != b.get(k))
print(" ".join(differ))
sys.exit(bool(differ))
PY
as() { # as MACHINE FILE ARGS...: the JSON of that run is in FILE; nothing on stderr
    checks=$((checks + 1))
    WISP_MACHINE=$machines/$1.json "$wisp" "${@:3}" --json >"$2" 2>err
    local rc=$?
    [ $rc = 0 ] && [ ! -s err ] || fail "wisp ${*:3} as on $1: exit $rc: $(head -c 800 err)"
}
# repeats A B ARGS...: as machine B would run it something differs from the run of machine A; with --like nothing does,
# with another number of threads.
repeats() {
    [ $have_python = 1 ] || return 0
    local a=$1 b=$2
    shift 2
    as "$a" a.json "$@"
    as "$b" b.json "$@"
    python3 same.py a.json b.json >/dev/null && fail "wisp $*: machines $a and $b choose alike, so that this shows nothing"
    as "$b" c.json "$@" --like a.json --threads 1
    differ=$(python3 same.py a.json c.json) || fail "wisp $* --like as on $b: $differ"
}

# ---- the same bits
# Where vectors of a matrix whose rows are numbered at random fit the first-level cache, they stay as they come.
mesh=delaunay:nx=60,ny=50,shuffle=1 topi=topi:nx=8,ny=8,nz=6,disorder=1,seed=3
repeats small near dos $mesh --moments 64 --vectors 40
[ -n "${SANITIZED:-}" ] || { # others differ in numbers alone
    repeats near zen5 dos $mesh --moments 33 --vectors 20 --precision single
    repeats laptop near dos $mesh --moments 64 --vectors 40 --precision auto
    repeats near xeon ldos $mesh --moments 50 --sites 3-20
    repeats xeon near count $mesh --interval=1,2 --resolution 0.5
    repeats near laptop power $mesh -p 20 --scale 0.1
    repeats zen3 near evolve $mesh --time 2 --steps 5 --random --watch 0,7
    repeats near many solve $mesh --rhs random:2x3
    repeats zen3 near solve $mesh --method gmres
    repeats near zen3 eig $mesh --smallest 2 --method lanczos
    repeats zen5 near eig delaunay:nx=40,ny=30,shuffle=1 --target 0.3 -n 3 --method chebfd
}
[ $have_hdf5 = 1 ] && {
    args="$mesh --moments 40 --vectors 12 --seed 5"
    as near a.json dos $args --save a.h5
    as zen5 c.json dos $args --like a.json --save c.h5
    for file in a c; do
        "$wisp" dos --from $file.h5 --points 100 -o $file.csv --quiet || fail "the moments of $file.h5"
    done
    check "the moments that are kept are the same" cmp -s <(grep -v '^#' a.csv) <(grep -v '^#' c.csv)
}
# A file of -o is as good.
ok dos $topi --moments 32 -o o.json --quiet
ok dos $topi --moments 32 --like o.json --json
json out 'd["moments"] == e["moments"] and d["chosen"] == e["chosen"]' o.json
ok dos $topi --moments 32 --like o.json --plan

# The width of blocks, by all commands that choose it.
for run in "dos $topi --moments 16" "trace $topi --function exp:-0.1 --bounds=-9,9" \
    "thermal $topi --temperatures 2 --bounds=-9,9" "sigma graphene:nx=5,ny=5 --direction xx --moments 16"; do
    ok $run --vectors 20 --width 7 --json
    cp out width.json
    ok $run --vectors 20 --like width.json --json
    json out 'd["chosen"]["width"] == 7'
done

# ---- the instruction set, if there are several
WISP_ISA=generic "$wisp" dos $topi --moments 32 --json >generic.json || fail "generic kernels"
ok dos $topi --moments 32 --like generic.json --json
json out 'd["isa"] == "generic" and d["moments"] == e["moments"]' generic.json

# ---- several processes: their orders, weights
WISP_RANKS=3 "$wisp" dos $mesh --moments 32 --vectors 8 --weights 5,2,1 --json >ranks.json || fail "three ranks"
WISP_RANKS=3 ok dos $mesh --moments 32 --vectors 8 --like ranks.json --json
json out 'd["weights"] == [5, 2, 1] and d["moments"] == e["moments"]' ranks.json
WISP_RANKS=3 ok dos $mesh --moments 32 --vectors 8 --weights measured --like ranks.json --json
json out 'd["weights"] == [5, 2, 1] and d["moments"] == e["moments"]' ranks.json

# ---- what is said where bits may differ, in one line
says() { # says FRAGMENT ARGS...: exit 0, and one line on stderr, which has the fragment
    checks=$((checks + 1))
    "$wisp" "${@:2}" --quiet >out 2>err
    local rc=$?
    [ $rc = 0 ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$1" err || fail "wisp ${*:2}: exit $rc: $(cat err)"
}
ok dos $topi --moments 32 --seed 4 --json
cp out a.json
says "warning: this run is not that of a.json, and its bits may be others: seed 5 (there 4)" dos $topi --moments 32 --seed 5 --like a.json
says "others: moments 64 (there 32), seed not given (there 4)" dos $topi --moments 64 --like a.json
says "others: reduce step (there not given)" dos $topi --moments 32 --seed 4 --reduce step --like a.json
says "others: width 3 (there " dos $topi --moments 32 --seed 4 --width 3 --like a.json
says "others: order rcm (there " dos $topi --moments 32 --seed 4 --order rcm --like a.json
says "others: type complex single (there complex double)" dos $topi --moments 32 --seed 4 --precision single --like a.json
says "others: kernel lorentz (there not given), points 90 (there not given)" \
    dos $topi --moments 32 --seed 4 --kernel lorentz --points 90 --like a.json
sed 's/"matrix": "topi[^"]*"/"matrix": "\\u001b[31m\\nevil"/' a.json >evil.json
says "(there ?[31m?evil)" dos $topi --moments 32 --seed 4 --like evil.json
says "others: matrix topi:nx=8,ny=8,nz=6" dos topi:nx=8,ny=8,nz=6,disorder=1,seed=5 --moments 32 --seed 4 --like a.json
WISP_RANKS=2 says "ranks 2 (there 1)" dos $topi --moments 32 --seed 4 --like a.json
if [ -z "${SANITIZED:-}" ]; then # which warns of work-items that jump from stack to stack
    WISP_RANKS=2 ok dos $topi --moments 32 --device cpu,plain --json
    cp out mixed.json
    WISP_RANKS=2 says 'device cpu (there ["cpu","plain"])' dos $topi --moments 32 --device cpu --like mixed.json
    WISP_RANKS=2 ok dos $topi --moments 32 --device cpu,plain --like mixed.json --json
    json out 'd["moments"] == e["moments"]' mixed.json
fi
sed 's/"isa": "[a-z0-9]*"/"isa": "none"/' a.json >isa.json
says "isa $(sed -n 's/^  "isa": "\([a-z0-9]*\)".*/\1/p' a.json) (there none)" dos $topi --moments 32 --seed 4 --like isa.json

# ---- what is refused
refused 1 "cannot read none.json" dos $topi --like none.json
refused 1 "it is no file" dos $topi --like .
head -c 300 a.json >cut.json
refused 1 "cut.json is no JSON: line" dos $topi --like cut.json
echo '{"rows": 3}' >other.json
refused 1 "other.json does not say what a run chose; take what wisp dos --json has printed" dos $topi --like other.json
refused 1 "a.json is of wisp dos, and this is wisp count" count $topi --interval 0,1 --like a.json
refused 2 "--like and --resume exclude each other" dos $topi --like a.json --resume a.ck
refused 2 "--like needs a new run" dos --from m.h5 --like a.json
refused 2 "name the same file" dos $topi --like a.json -o a.json
for damage in 's/"order": "[a-z]*", "t/"order": "upward", "t/=order' 's/"width": [0-9]*/"width": -4/=width' \
    's/"ranks": 1/"ranks": "x"/=ranks' 's/"format": "[a-z]*", "a/"format": 7, "a/=format' \
    's/"slices": null/"slices": "none"/=slices' \
    's/"type": "complex double"/"type": "quaternion"/=type' 's/"depth": [0-9]*/"depth": 0/=depth'; do
    sed "/\"chosen\"/${damage%=*}" a.json >bad.json
    refused 1 "bad.json is damaged: \"${damage##*=}\" of what was chosen can't be so" dos $topi --like bad.json
done
finish
