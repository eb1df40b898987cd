#!/bin/bash
# What summaries, plans and helps tell is so of the run: of each command alike.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3 laplace=laplace:nx=9,ny=9,nz=9 matpde=matpde:nx=9,ny=9

# ---- the time is all of it, and no part is longer
whole() { # whole PARTS ARGS...
    ok "${@:2}"
    check "${*:2}: parts of the time" grep -qE "^time +[0-9.]+ s   \($1\)$" out
    # shellcheck disable=SC2016
    check "${*:2}: a part that is no longer" awk '/^time / { for (i = 4; i <= NF; i++) if ($i + 0 > $2 + 0) exit 1 }' out
}
s='[0-9.]+ s'
whole "assembly $s, bounds $s, moments $s, evaluation $s" dos $topi --moments 16 --vectors 2
whole "assembly $s, bounds $s, evolution $s" evolve $topi --time 1 --site 0
whole "assembly $s, setup $s, iterations $s" solve $laplace
whole "assembly $s, setup $s, iterations $s" solve $laplace --precond chebyshev --rhs random:1x2

# ---- bounds
for args in "dos $laplace --moments 16 --vectors 1" "evolve $laplace --time 1 --site 0"; do
    for how in "gershgorin Gershgorin, certain" "-1,13 given"; do
        ok $args --bounds="${how%% *}"
        check "$args: bounds, ${how#* }" grep -qE "^bounds +\[.*\]   ${how#* }$" out
    done
done
ok evolve $laplace --time 1 --site 0
check "Gershgorin's in place of a short search" grep -q '^bounds .* Gershgorin, certain (so short a search by Lanczos makes it no tighter)$' out
ok evolve topi:nx=8,ny=8,nz=8 --time 50 --site 0
check "a search by Lanczos" grep -q '^bounds .* Lanczos, fails with probability < 1e-8$' out

# ---- plans are of the run's types, and say where they come from
printf '%%%%MatrixMarket matrix coordinate complex general\n729 1 1\n1 1 1 1\n' >complex.mtx
for args in "dos $topi" "ldos $laplace --sites 0" "count $laplace --interval 1,2" "power $laplace -p 2" "power $laplace -p 2 --start complex.mtx" \
    "evolve $laplace --time 1 --site 0" "solve $laplace" "solve $laplace --rhs complex.mtx" "solve $laplace --x0 complex.mtx --precision single" \
    "eig $laplace --smallest 1" "eig $matpde --largest-real 1" "eig $matpde --largest-real 1 --method krylov-schur --precision single"; do
    ok $args --plan --json --mem-limit 100MB
    cp out plan.json
    json out 'd["version"] and d["command"].startswith("wisp ") and d["matrix"] and d["device"] == "'"${WISP_DEVICE:-cpu}"'"'
    ok $args --json
    json out 'd["type"] == e["type"] and d["version"] == e["version"] and d["device"] == e["device"]' plan.json
done
WISP_DEVICE=far ok solve $laplace --plan --json --mem-limit 100MB
json out 'd["device"] == "far"'

# ---- bounds in JSON
keys='sorted(d["bounds"]) == ["center", "failure_probability", "halfwidth", "method"]'
ok dos $laplace --moments 16 --vectors 1 --json
json out "$keys"' and d["bounds"]["method"] == "lanczos" and d["bounds"]["failure_probability"] in (0, 1e-8)'
ok evolve $laplace --time 1 --site 0 --bounds gershgorin --json
json out "$keys"' and d["bounds"]["method"] == "gershgorin" and d["bounds"]["failure_probability"] == 0'
ok count $laplace --interval 1,2 --moments 16 --vectors 2 --bounds=-1,13 --json
json out "$keys"' and d["bounds"]["method"] == "given" and d["bounds"]["failure_probability"] is None'

# ---- a matrix without rows has none to name
printf '%%%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n' >none.mtx
refused 2 "--sites: row 0 is not there; the matrix has no rows" ldos none.mtx --sites 0
refused 2 "--site: row 3 is not there; the matrix has no rows" evolve none.mtx --site 3 --time 1

# ---- helps
seed() { # seed WORDS COMMAND: what --seed is there
    ok "$2" --help
    check "$2: --seed" sh -c "grep -A1 -e '--seed S' out | tr -s '\n ' ' ' | grep -qF '$1'"
}
for command in dos count thermal trace sigma evolve eig; do seed "seed of the random vectors and of the Lanczos starts" $command; done
seed "seed of the random vectors (0)" power
seed "seed of the Lanczos starts, by which bounds are found (0)" ldos
ok --help
grep -qi "not there yet" out && fail "a command that is not there is in the help"

finish
