#!/bin/bash
# A kept run that goes on with more moments or vectors: MATRIX beside --from. Its results are those of one run with all.
. "$2/tests/cli.sh"
[ $have_hdf5 = 1 ] || finish
disorder=anderson:nx=8,ny=7,nz=5,disorder=3
haldane=haldane:nx=8,ny=7
run() { ok "$@" --quiet; } # what is printed and said is looked at apart

# All lists of numbers are the same, to rounding.
cat >same.py <<'PY'
import json, sys
d, e = (json.load(open(name)) for name in ("a.json", "b.json"))
def numbers(x):
    return sum(map(numbers, x), []) if isinstance(x, list) else numbers(list(x.values())) if isinstance(x, dict) else \
        [x] if isinstance(x, (int, float)) else []
lists = 0
for key, value in e.items():
    a, b = numbers(d.get(key)), numbers(value)
    wanted = isinstance(value, list) or key == "trace_of_function"
    if not wanted or not b or key in ("beside", "weights"): # of rounding's size; of ranks
        continue
    off = max(abs(x - y) for x, y in zip(a, b)) / (max(map(abs, b)) or 1)
    assert len(a) == len(b) and off <= float(sys.argv[1]), (key, off)
    lists += 1
assert lists and d["vectors"] == e["vectors"] and d["type"] == e["type"], (lists, d["vectors"], d["type"])
assert d["from"] == "kept.h5" and d["bounds"]["method"] == "lanczos", d["bounds"]
PY
same() { # same NAME TOLERANCE
    checks=$((checks + 1))
    [ -n "${SANITIZED:-}" ] || holds same.py "$2" || fail "$1: not the same"
}
bounds() { # those of kept.h5, from its results kept.json
    python3 -c 'import json; b = json.load(open("kept.json"))["bounds"]; print(repr(b["center"] - b["halfwidth"]), repr(b["center"] + b["halfwidth"]), sep=",")'
}
# goes_on NAME TOLERANCE "KEPT" "MORE" COMMAND MATRIX OPTIONS...: kept with the first words, it goes on with the second
# ones; a run with all from the start has the second ones, the seed and the bounds.
goes_on() {
    local name=$1 tolerance=$2 kept=$3 more=$4
    shift 4
    # shellcheck disable=SC2086
    run "$@" $kept --save kept.h5 -o kept.json
    # shellcheck disable=SC2086
    run "${@/--sites*/--quiet}" $more --from kept.h5 -o a.json
    # shellcheck disable=SC2086
    run "$@" $kept $more --bounds="$(bounds)" -o b.json
    same "$name" "$tolerance"
}
vectors="--seed 5 --vectors 3"
goes_on "more moments" 1e-11 "$vectors --moments 40" "--moments 90" dos $disorder
goes_on "more vectors" 1e-11 "$vectors --moments 40" "--vectors 7" dos $disorder
goes_on "more of both" 1e-11 "$vectors --moments 41 --first-vector 2" "--moments 90 --vectors 7" dos $disorder
goes_on "a resolution" 1e-11 "$vectors --resolution 0.5" "--resolution 0.2" dos $disorder
goes_on "an exact trace" 1e-11 "--trace exact --moments 40" "--moments 91" dos $disorder
goes_on "single precision" 1e-3 "$vectors --moments 40 --precision single" "--moments 60 --vectors 4" dos $disorder
goes_on "complex" 1e-11 "$vectors --moments 40" "--moments 77" dos $haldane
goes_on "rows" 1e-11 "--moments 40" "--moments 90" ldos $disorder --sites=3,200
goes_on "rows of which a part is made" 1e-11 "--moments 20" "--moments 30" ldos graphene:nx=200,ny=200 --sites=3,40000
goes_on "Green's functions" 1e-11 "--moments 40 --eta 0.5 --tol 0.5" "--moments 90 --eta 0.5 --tol 0.5" green $disorder --sites=3,200
goes_on "a number of states" 1e-11 "$vectors --moments 40" "--vectors 6" count $disorder --interval=-1,1
goes_on "temperatures" 1e-11 "$vectors --moments 64" "--vectors 6" thermal $disorder --temperatures=2,4
goes_on "a trace" 1e-11 "$vectors --moments 64" "--moments 80" trace $disorder --function=exp:0.3
for more in "--vectors 5" "--moments 30" "--moments 30 --vectors 5"; do
    goes_on "sigma $more" 1e-9 "$vectors --moments 20" "$more" sigma $haldane --direction=xy --mu=0,1
done
goes_on "sigma, left vectors in single precision" 1e-3 "$vectors --moments 20 --precision auto --left-bytes 20000" "--moments 30" sigma $haldane --direction=xx --mu=0,1

# What it says, and what was kept can go on again.
run dos $disorder $vectors --moments 40 --save kept.h5
ok dos $disorder --from kept.h5 --vectors 5 --save a.h5
check "the summary tells what it adds to" grep -q '^adds to *kept.h5 *(40 moments of 3 vectors' out
run dos $disorder --from a.h5 --vectors 8 -o a.json
json a.json "d['vectors'] == 8 and d['from'] == 'a.h5' and d['seed'] == 5"
ok dos $disorder --from kept.h5 --vectors 6 --plan

# The seconds that it tells are its own, and those of what it adds to stand there; results have the sum.
cat >times.py <<'PY'
import json, re, sys
kept, both = (json.load(open(name)) for name in ("took.json", "a.json"))
text = open("out").read()
def told(what):
    hours, minutes, seconds = re.search("^" + what + r"(?:(\d+) h )?(?:(\d+) min)? ?(?:([\d.]+) s)?", text, re.M).groups()
    return 3600 * float(hours or 0) + 60 * float(minutes or 0) + float(seconds or 0)
before = told("adds to .*whose values were kept; they took ")
moments, bounds = (told(r"time .*\b" + what + " ") for what in ("moments", "bounds"))
def near(shown, seconds): # minutes are cut off behind 100 minutes, seconds behind 100 seconds
    assert abs(shown - seconds) <= 0.0051 + 0.02 * seconds, (shown, seconds)
near(before, kept["seconds"])
near(moments, both["seconds"] - kept["seconds"])
near(bounds, both["bounds_seconds"] - kept["bounds_seconds"])
PY
for what in "dos $disorder --moments 400" "sigma haldane:nx=40,ny=40 --direction xy --mu 0 --moments 100"; do
    # shellcheck disable=SC2086
    run $what --seed 5 --vectors 40 --save took.h5 -o took.json
    # shellcheck disable=SC2086
    ok ${what% --moments*} --from took.h5 --vectors 41 -o a.json
    check "$what tells its own seconds" holds times.py
done

# Another matrix, and what does not go with it.
ok gen "$disorder" -o m.mtx --quiet
awk '$1 == 20 && $2 == 20 { $3 += 0.5 } { print }' m.mtx >other.mtx
cmp -s m.mtx other.mtx && fail "the other matrix is the same"
refused 1 "MATRIX is not that of kept.h5: their matrices have other names" dos "$disorder,seed=2" --from kept.h5 --vectors 5
run dos m.mtx $vectors --moments 40 --save kept.h5
cp other.mtx m.mtx
refused 1 "MATRIX is not that of kept.h5: their matrices have other entries" dos m.mtx --from kept.h5 --vectors 5
refused 1 "MATRIX is not that of kept.h5: their matrices have other entries" dos m.mtx --from kept.h5 --moments 50
ok dos m.mtx --trace exact --moments 40 --save exact.h5 --quiet
ok gen "$disorder" -o m.mtx --quiet
refused 1 "MATRIX is not that of exact.h5: moment 1 of vector 0" dos m.mtx --from exact.h5 --moments 50
refused 1 "MATRIX is not that of kept.h5: their matrices differ" dos anderson:nx=8,ny=7,nz=4 --from kept.h5 --moments 50
for none in "" "--moments 40" "--vectors 3" "--vectors 2 --moments 50" "--moments 39 --vectors 9" "--resolution 3"; do
    # shellcheck disable=SC2086
    refused 2 "kept.h5 has 40 moments of 3 vectors; ask for more" dos m.mtx --from kept.h5 $none
done
refused 2 "exact.h5 has 40 moments; ask for more" dos m.mtx --from exact.h5
refused 2 "those of exact.h5 are not random" dos m.mtx --from exact.h5 --vectors 4
refused 2 "--seed is that of the run in --from" dos m.mtx --from kept.h5 --vectors 5 --seed 2
refused 2 "--bounds is that of the run in --from" dos m.mtx --from kept.h5 --vectors 5 --bounds=-9,9
refused 2 "a run of --where can't go on" dos m.mtx --from kept.h5 --vectors 5 --where 1-5
refused 2 "MATRIX goes on with one run" dos m.mtx --from kept.h5 --from exact.h5 --vectors 5
refused 1 "kept.h5 is of no single rows" ldos m.mtx --from kept.h5 --moments 50
refused 1 "kept.h5 holds no moments of two velocities" sigma m.mtx --direction xx --from kept.h5 --vectors 5
run dos m.mtx $vectors --moments 40 --where 1-40 --save where.h5
refused 1 "where.h5 is of vectors, an operator" dos m.mtx --from where.h5 --vectors 5
refused 1 "No such file" dos m.mtx --from none.h5 --vectors 5
refused 2 "MATRIX and --from exclude each other" map m.mtx --from kept.h5 --energies 0

# Stopped and resumed, it is the same; and so it is by ranks.
run dos $disorder --seed 5 --moments 40 --vectors 3 --save kept.h5
run dos $disorder --from kept.h5 --vectors 9 -o b.json
WISP_STOP_AT=TERM:checkpoint:1 env --default-signal=TERM "$wisp" dos $disorder --from kept.h5 --vectors 9 --width 2 --checkpoint more.ck >out 2>err
check "it stops with a checkpoint" test -s more.ck
run dos $disorder --from kept.h5 --vectors 9 --width 2 --checkpoint more.ck --resume more.ck -o a.json
same "resumed" 1e-11
WISP_RANKS=3 run dos $disorder --from kept.h5 --vectors 9 -o a.json
same "by ranks" 1e-11
finish
