# --average N: quantities of several realizations of disorder, as runs one by one give them; bars over realizations; kept,
# stopped, planned, refused.
. "$(dirname "$0")/cli.sh"

# The same by hand: means, standard errors and Student's bars of lists. Quantiles of t for 0.975 and 1 to 3 degrees.
cat >hand.py <<'PY'
import math
student = {2: 12.7062047362, 3: 4.30265272975, 4: 3.18244630528}
def flat(v):
    return [x for row in v for x in row] if v and isinstance(v[0], list) else v
def by_hand(d, name, runs, tolerance=1e-9, least=-math.inf, bars=True):
    """Whether these results are the mean of `runs`, with its bars."""
    N, of = len(runs), [flat(r[name]) for r in runs]
    value, error, low, high = (flat(d[name + end]) for end in ("", "_error", "_low", "_high"))
    for i, column in enumerate(zip(*of)):
        m = sum(column) / N
        s = math.sqrt(sum((x - m) ** 2 for x in column) / (N * (N - 1)))
        half, allowed = student[N] * s, tolerance * (1 + abs(m))
        if abs(value[i] - m) > allowed or abs(error[i] - s) > allowed:
            return False
        if bars and (abs(high[i] - m - half) > allowed or abs(low[i] - max(least, m - half)) > allowed):
            return False
    return len(value) == len(of[0])
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")\nfrom hand import */' check.py
# one_by_one COMMAND MATRIX SEEDS ARGS...: each realization by itself, with its random vectors, in one.SEED
one_by_one() {
    local s
    for s in $3; do
        ok "$1" "$2,seed=$s" "${@:4}" --seed "$((s + 10))" --json
        cp out "one.$s"
    done
}
runs='[load("one.%d" % s) for s in (3, 4, 5)]'
lattice=square:nx=6,ny=6,disorder=3,t=1.1
given=--bounds=-6.2,6.2

# ---- dos
some="--moments 40 $given --energies=-1,0.5"
one_by_one dos $lattice "3 4 5" $some --vectors 3
ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 3 --json
json out "by_hand(d, 'dos', $runs, least=0)"
json out 'd["realizations"] == 3 and d["realizations_asked"] == 3 and d["vectors_each"] == 3 and d["disorder_seeds"] == [3, 4, 5] and d["completed"]'
cp out whole
json one.3 'd["seed"] != e["seed"]' one.4
one_by_one dos $lattice "3 4" $some --trace exact
ok dos $lattice,seed=3 $some --trace exact --seed 10 --average 2 --json -o a.csv
json out 'by_hand(d, "dos", [load("one.3"), load("one.4")], least=0)'
check "a table with bars" grep -q '^energy,dos,dos_error,dos_95,dos_low,dos_high$' a.csv
ok dos square:nx=6,ny=6,disorder=3 --average 3 --vectors 2 --moments 64
check "what it is of: $(cat out)" grep -q '^average *3 realizations of disorder, seed 1 to 3, 2 random vectors each' out
check "a bar" grep -q '^error bar *[0-9.]*%' out
ok dos $lattice --average 2 --resolution 0.5 --precision auto --json
json out 'd["bounds"]["halfwidth"] > 4 and d["number_of_moments"] > 20 and d["realizations"] == 2'
ok dos $lattice --where 0-5 $some --average 2 --json
json out 'd["where_rows"] == 6 and abs(d["moments"][0] - 6) < 1e-12'
[ $have_gnuplot = 1 ] && ok dos $lattice --average 3 --moments 40 --plot a.svg
ok dos $lattice --plan --average 8 --json
cp out plan
ok dos $lattice --plan --json
json plan 'd["realizations"] == 8 and d["total_bytes"] < 2 * e["total_bytes"]' out

# ---- several processes: the same
WISP_RANKS=3 ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 3 --json
json out 'close(d["dos"], e["dos"], 1e-9) and close(d["dos_low"], e["dos_low"], 1e-9) and d["realizations"] == 3' whole

# ---- kept, and stopped
if [ $have_hdf5 = 1 ]; then
    ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 3 --save a.h5
    ok dos --from a.h5 --energies=-1,0.5 --json
    json out 'd["dos"] == e["dos"] and d["dos_low"] == e["dos_low"] and d["realizations"] == 3 and d["disorder_seeds"] == [3, 4, 5]' whole
    ok dos --from a.h5 --kernel lorentz
    check "what is kept" grep -q '^average *3 realizations of disorder, seed 3 to 5$' out
    refused 1 "both have some realization, which would count twice" dos --from a.h5 --from a.h5
    refused 2 "--average needs a new run" dos --from a.h5 --average 3
    stop realizations INT 0.5 dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 4 --save cut.h5
    check "what is kept: $(tail -1 log)" grep -q '2 of 4 realizations with 40 moments are kept: wisp dos --from cut.h5' log
    ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 2 --json
    cp out two
    ok dos --from cut.h5 --energies=-1,0.5 --json
    json out 'd["dos"] == e["dos"] and d["dos_high"] == e["dos_high"] and d["realizations"] == 2 and d["completed"] is False' two
    # Each worker some of them: together the same bits; with a gap, of a run that was stopped; and what does not go together.
    worker() { ok dos "$1" $some --seed 10 --average 2 "${@:3}" --save "$2"; }
    for s in 3 5 9; do worker $lattice,seed=$s w$s.h5 --vectors 3; done
    ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 4 --json
    cp out four
    ok dos --from w3.h5 --from w5.h5 --energies=-1,0.5 --json
    json out 'd["dos"] == e["dos"] and d["dos_low"] == e["dos_low"] and d["disorder_seeds"] == [3, 4, 5, 6] and d["realizations"] == 4' four
    ok dos --from w9.h5 --from cut.h5 --from w5.h5 --json
    json out 'd["disorder_seeds"] == [9, 10, 3, 4, 5, 6] and d["realizations"] == 6'
    ok dos --from w9.h5 --from cut.h5 --from w5.h5
    check "all of their seeds" grep -q '^average *6 realizations of disorder, seed 9 to 10, 3 to 6$' out
    refused 1 "both have some realization" dos --from w9.h5 --from w3.h5 --from cut.h5
    worker $lattice,seed=20 more.h5 --vectors 4
    refused 1 "their --vectors differ" dos --from w3.h5 --from more.h5
    worker $lattice,seed=30 usual.h5
    worker $lattice,seed=40 told.h5 --vectors 32
    ok dos --from usual.h5 --from told.h5
    many=()
    for s in $(seq 26); do
        worker $lattice,seed=$((s * 1000)) many$s.h5 --vectors 1
        many+=(--from many$s.h5)
    done
    ok dos "${many[@]}"
    check "as many seeds as have room" grep -q '^average *52 realizations of disorder, seed 1000 to 1001, .* to [0-9]*001, \.\.\.$' out
    ok ldos $lattice,seed=50 --sites 0 --moments 40 $given --average 2 --save rows.h5
    refused 1 "one of them is of a trace, or of rows" dos --from w3.h5 --from rows.h5
    worker $lattice,seed=20 exact.h5 --trace exact
    refused 1 "one of them has exact traces" dos --from w3.h5 --from exact.h5
    worker $lattice,seed=20 other.h5 --vectors 3 --seed 11
    refused 1 "their --seed differs" dos --from w3.h5 --from other.h5
    worker square:nx=6,ny=6,disorder=2,t=1.1,seed=20 weak.h5 --vectors 3
    refused 1 "they are of other lattices" dos --from w3.h5 --from weak.h5
    worker $lattice,seed=20 where.h5 --vectors 3 --where 0-9
    refused 1 "their --where differs" dos --from w3.h5 --from where.h5
    ok dos $lattice,seed=20 $some --vectors 3 --seed 10 --save one.h5
    refused 1 "the other is not" dos --from w3.h5 --from one.h5
    stop realizations INT 0 dos $lattice $some --average 4 --save none.h5
    check "nothing is kept" grep -q 'nothing was kept (no realization was complete yet)' log
fi
ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 2 --json
cp out two
for ranks in 1 3; do
    export WISP_RANKS=$ranks
    stop realizations INT 0.5 dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 4 -o cut.json
    check "what it is of: $(tail -1 log)" grep -q 'stopped by Ctrl-C; the mean is of 2 of 4 realizations' log
    json cut.json 'close(d["dos"], e["dos"], 1e-9) and close(d["dos_high"], e["dos_high"], 1e-9) and d["realizations"] == 2 and d["realizations_asked"] == 4' two
    stop realizations INT 0.25 dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 4 -o cut.json
    json cut.json 'd["realizations"] == 1 and d["dos_error"] is None and not d["completed"]'
done
unset WISP_RANKS
stop bounds INT 0.5 dos $lattice --moments 40 --average 4
check "nothing is told" grep -q 'nothing was kept' log
stop realizations INT 0.5 dos $lattice $some --average 4 -o cut.json
check "progress tells which one" grep -q '"task":"realizations",.*"realization":2,"realizations":4' log

# ---- stopped within a realization: those before it count, wherever it was
ok dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 2 --json
cp out two
for ranks in 1 3; do
    export WISP_RANKS=$ranks
    for at in moments:2.5 checking:2; do
        stop ${at%:*} INT ${at#*:} dos $lattice,seed=3 $some --vectors 3 --seed 10 --average 4 -o cut.json
        check "what it is of, stopped at $at: $(tail -1 log)" grep -q 'stopped by Ctrl-C; the mean is of 2 of 4 realizations' log
        json cut.json 'close(d["dos"], e["dos"], 1e-9) and close(d["dos_high"], e["dos_high"], 1e-9) and d["realizations"] == 2' two
    done
done
unset WISP_RANKS
stop checking INT 0 dos $lattice $some --average 4
check "nothing is told" grep -q 'nothing was kept' log
refused 2 "row 99 is not there" ldos $lattice --sites 99 $given --moments 40 --average 3

# ---- ldos
ldos="--sites 0,17 --moments 40 $given --energies=-1,0.5"
one_by_one ldos $lattice "3 4 5" $ldos
ok ldos $lattice,seed=3 $ldos --seed 10 --average 3 --json -o a.csv
json out "by_hand(d, 'dos', $runs, least=0)"
json out "d['sites'] == [0, 17] and d['realizations'] == 3 and abs(d['moments'][1][2] - sum(r['moments'][1][2] for r in $runs) / 3) < 1e-12 and d['moments_error'][1][2] > 0"
check "a table with bars" grep -q '^energy,dos_0,error_0,low_0,high_0,dos_17,error_17,low_17,high_17$' a.csv
cp out whole
ok ldos $lattice,seed=3 $ldos --average 3
check "a density with its bar" grep -q '^density .* at -1 of row 0' out
check "of what" grep -q '^error bar *+-: 95%, of 3 realizations of disorder' out
ok ldos $lattice --sites 0 --average 3 --moments 40
[ $have_gnuplot = 1 ] && ok ldos $lattice --sites 0,1 --average 3 --moments 40 --plot a.svg
ok ldos $lattice,seed=3 --sites 0 --left-sites 1,2 --moments 40 $given --energies=-1,0.5 --average 2 --json -o a.csv
cp out both
for s in 3 4; do
    ok ldos $lattice,seed=$s --sites 0 --left-sites 1,2 --moments 40 $given --energies=-1,0.5 --json
    cp out one.$s
done
json both 'by_hand(d, "dos", [load("one.3"), load("one.4")])'
json both 'close(flat(d["dos_im"]), [(a + b) / 2 for a, b in zip(*[flat(load("one.%d" % s)["dos_im"]) for s in (3, 4)])], 1e-12)'
WISP_RANKS=3 ok ldos $lattice,seed=3 $ldos --seed 10 --average 3 --json
json out 'close(sum(d["dos"], []), sum(e["dos"], []), 1e-9) and close(sum(d["dos_low"], []), sum(e["dos_low"], []), 1e-9)' whole
ok ldos $lattice,seed=3 $ldos --average 2 --json
cp out two
stop realizations INT 0.5 ldos $lattice,seed=3 $ldos --average 4 -o cut.json
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log
json cut.json 'd["dos"] == e["dos"] and d["dos_high"] == e["dos_high"] and d["realizations"] == 2' two
stop averaging INT 0.5 ldos $lattice,seed=3 $ldos --average 4 -o cut.json
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log
json cut.json 'd["dos"] == e["dos"] and d["realizations"] == 2 and not d["completed"]' two
stop evaluating INT 0 ldos $lattice,seed=3 $ldos --average 4 -o cut.json
json cut.json 'd["realizations"] == 1 and d["dos_error"] is None' two
if [ $have_hdf5 = 1 ]; then
    ok ldos $lattice,seed=3 $ldos --seed 10 --average 3 --save l.h5
    ok ldos --from l.h5 --energies=-1,0.5 --json
    json out 'd["dos"] == e["dos"] and d["dos_high"] == e["dos_high"]' whole
    ok ldos --from l.h5 --sites 17 --energies=-1,0.5 --json
    json out 'd["dos"] == e["dos"][1:] and d["dos_high"] == e["dos_high"][1:]' whole
    refused 1 "holds no moments of row 3" ldos --from l.h5 --sites 3
    # Each worker has some of the realizations, of rows, of vectors and of waves: the same bits as in one run.
    together() { # together WORDS OF A RUN...: of seeds 3 to 4, 5 to 7 and 8 to 9, beside one of all
        ok "$1" "$2,seed=3" "${@:3}" --average 7 --save of_all.h5 --quiet
        ok "$1" --from of_all.h5 --energies=-1,0.5 ${eta:-} --json
        cp out of_all
        ok "$1" "$2,seed=3" "${@:3}" --average 2 --save of_3.h5 --quiet
        ok "$1" "$2,seed=5" "${@:3}" --average 3 --save of_5.h5 --quiet
        ok "$1" "$2,seed=8" "${@:3}" --average 2 --save of_8.h5 --quiet
        ok "$1" --from of_3.h5 --from of_5.h5 --from of_8.h5 --energies=-1,0.5 ${eta:-} --json
        json out 'd["realizations"] == 7 and d["disorder_seeds"] == [3, 4, 5, 6, 7, 8, 9] and not [k for k in e if e[k] != d[k] and
                  k not in ("matrix", "command", "moments_command", "seed", "seeds") and k[-7:] != "seconds" and k != "gflops"]' of_all
        refused 1 "both have some realization" "$1" --from of_all.h5 --from of_5.h5 ${eta:---quiet}
    }
    given=--bounds=-6.2,6.2
    together ldos $lattice --sites 0,17 --moments 40 $given
    ok ldos $lattice,seed=20 --sites 0,16 --moments 40 $given --average 2 --save other.h5
    refused 1 "they are of other rows, vectors or waves" ldos --from of_3.h5 --from other.h5
    ok ldos $lattice,seed=20 --sites 0,17 --moments 41 $given --average 2 --save other.h5
    refused 1 "they have 40 and 41 moments" ldos --from of_3.h5 --from other.h5
    ok ldos $lattice,seed=20 --sites 0,17 --moments 40 --bounds=-6.2,6.3 --average 2 --save other.h5
    refused 1 "their bounds differ" ldos --from of_3.h5 --from other.h5
    # Bounds are as they were told, to rounding, wherever 0 is.
    far=hubbard:sites=6,up=6,down=1,U=100000,disorder=1
    ok ldos $far,seed=3 --sites 0 --moments 40 --bounds=99990.1,100010.7 --average 2 --save far.h5 --json
    told=$(python3 -c 'import json; b = json.load(open("out"))["bounds"]; print(b["center"] - b["halfwidth"], b["center"] + b["halfwidth"], sep=",")')
    ok ldos $far,seed=5 --sites 0 --moments 40 --bounds="$told" --average 2 --save other.h5 --quiet
    ok ldos --from far.h5 --from other.h5 --quiet
    together ldos $lattice --sites 0,17 --left-sites 2,3 --moments 40 $given
    eta="--eta 1 --tol 0.5" together green $lattice --sites 0,17 --eta 1 --tol 0.5 --moments 40 $given
    ok ldos $lattice --sites 0 --moments 20 --quiet
    python3 -c 'print("%%MatrixMarket matrix array real general\n36 2"); [print(0.1 * i) for i in range(72)]' >start.mtx
    together ldos $lattice --start start.mtx --moments 40 $given
    together spectral $lattice --path 0,0:pi,0 --k-points 4 --moments 40 $given
fi

# ---- count
one_by_one count $lattice "3 4 5" --interval=-1,1 --moments 40 $given --vectors 3
ok count $lattice,seed=3 --interval=-1,1 --moments 40 $given --vectors 3 --seed 10 --average 3 --json
json out "[m := sum(r['count'] for r in $runs) / 3, s := math.sqrt(sum((r['count'] - m) ** 2 for r in $runs) / 6)] and
          abs(d['count'] - m) < 1e-9 and abs(d['count_error'] - s) < 1e-9 and abs(d['count_high'] - m - student[3] * s) < 1e-7 and
          abs(d['count_low'] - max(0, m - student[3] * s)) < 1e-7 and d['realizations'] == 3"
ok count $lattice --interval=-1,1 --average 3
check "whose bar it is: $(cat out)" grep -q '^count .* eigenvalues   (95% bar of the realizations)' out
stop realizations INT 0.5 count $lattice --interval=-1,1 --moments 40 $given --average 4
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log

# ---- thermal: the quantities themselves are averaged, not Z
one_by_one thermal $lattice "3 4 5" --temperatures 0.5,2 $given --vectors 3
ok thermal $lattice,seed=3 --temperatures 0.5,2 $given --vectors 3 --seed 10 --average 3 --json -o a.csv
json out "all(by_hand(d, q, $runs, tolerance=2e-5, bars=False) for q in ('log_z', 'energy', 'heat_capacity', 'entropy')) and d['realizations'] == 3"
cp out whole
check "a table with bars" grep -q '^temperature,log_z,log_z_error,log_z_low' a.csv
one_by_one thermal $lattice "3 4 5" --temperatures 0.5,2 $given --trace exact
ok thermal $lattice,seed=3 --temperatures 0.5,2 $given --trace exact --average 3 --json
json out "all(by_hand(d, q, $runs, tolerance=2e-5) for q in ('log_z', 'energy', 'heat_capacity', 'entropy')) and d['seed'] is None"
# What ratios of few vectors are off on the mean, no number of realizations takes away: the bars have it.
ok thermal anderson:nx=4,ny=4,nz=4,disorder=4 --temperatures 0.5,1,3 --average 80 --trace exact --json
cp out exact
for n in 1 4; do
    ok thermal anderson:nx=4,ny=4,nz=4,disorder=4 --temperatures 0.5,1,3 --average 80 --vectors $n --json
    json out 'all(l <= x <= h for q in ("log_z", "energy", "heat_capacity", "entropy") for l, x, h in zip(d[q + "_low"], e[q], d[q + "_high"]))' exact
done
ok thermal $lattice --temperatures 0.5,2 --average 3 --vectors 2
check "whose bars they are" grep -q '^error bar .*of the realizations, and of series' out
[ $have_gnuplot = 1 ] && ok thermal $lattice --temperatures 0.5:2:5 --average 3 --plot a.svg
WISP_RANKS=3 ok thermal $lattice,seed=3 --temperatures 0.5,2 $given --vectors 3 --seed 10 --average 3 --json
json out 'all(close(d[q], e[q], 1e-8) for q in ("log_z", "energy", "heat_capacity_low", "entropy"))' whole
stop realizations INT 0.5 thermal $lattice --temperatures 0.5,2 $given --average 4
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log
stop realizations INT 0.25 thermal $lattice --temperatures 0.5,2 $given --average 4 -o cut.json
json cut.json 'd["realizations"] == 1 and d["energy_error"] == [None, None] and d["energy"][0] is not None'
if [ $have_hdf5 = 1 ]; then
    ok thermal $lattice,seed=3 --temperatures 0.5,2 $given --vectors 3 --seed 10 --average 3 --save t.h5
    ok thermal --from t.h5 --temperatures 0.5,2 --json
    json out 'all(d[q] == e[q] for q in ("log_z", "energy", "heat_capacity_low", "entropy_high"))' whole
fi

# ---- sigma
hall=haldane:nx=6,ny=6,disorder=2
given=--bounds=-7,7
one_by_one sigma $hall "3 4 5" --direction xy --moments 16 $given --vectors 3 --mu=-1,0,2
ok sigma $hall,seed=3 --direction xy --moments 16 $given --vectors 3 --seed 10 --mu=-1,0,2 --average 3 --json
json out "by_hand(d, 'sigma', $runs) and d['realizations'] == 3 and d['vectors_each'] == 3"
cp out whole
ok sigma $hall --direction xx --moments 16 --average 3 --vectors 2 --mu=0,1
check "whose bars they are" grep -q '^error bar *+-: 95%, of the realizations' out
check "what it is of" grep -q '^average *3 realizations of disorder, seed 1 to 3, 2 random vectors each' out
[ $have_gnuplot = 1 ] && ok sigma $hall --direction xx --moments 16 --average 3 --plot a.svg
WISP_RANKS=3 ok sigma $hall,seed=3 --direction xy --moments 16 $given --vectors 3 --seed 10 --mu=-1,0,2 --average 3 --json
json out 'close(d["sigma"], e["sigma"], 1e-9) and close(d["sigma_low"], e["sigma_low"], 1e-9)' whole
ok sigma $hall --direction xy --plan --average 8 --json
cp out plan
ok sigma $hall --direction xy --plan --json
json plan 'd["realizations"] == 8 and d["sweeps"] == 8 * e["sweeps"]' out
ok sigma $hall,seed=3 --direction xy --moments 16 $given --seed 10 --mu=-1,0,2 --average 2 --json
cp out two
stop realizations INT 0.5 sigma $hall,seed=3 --direction xy --moments 16 $given --seed 10 --mu=-1,0,2 --average 4 -o cut.json
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log
json cut.json 'd["sigma"] == e["sigma"] and d["sigma_high"] == e["sigma_high"] and d["realizations"] == 2 and not d["completed"]' two
if [ $have_hdf5 = 1 ]; then
    ok sigma $hall,seed=3 --direction xy --moments 16 $given --vectors 3 --seed 10 --mu=-1,0,2 --average 3 --save s.h5
    ok sigma --from s.h5 --mu=-1,0,2 --json
    json out 'd["sigma"] == e["sigma"] and d["sigma_high"] == e["sigma_high"] and d["realizations"] == 3' whole
    ok sigma --from s.h5 --mu 0 --temperature 0.1
    stop realizations INT 0.5 sigma $hall,seed=3 --direction xy --moments 16 $given --average 4 --save cut.h5
    check "what is kept: $(tail -1 log)" grep -q '2 of 4 realizations with 16 x 16 moments are kept: wisp sigma --from cut.h5' log
fi
refused 2 "leave another number of rows" sigma haldane:nx=6,ny=6,vacancies=0.1 --direction xy --average 3
given=--bounds=-6.2,6.2

# ---- map
plane=square:nx=6,ny=5,disorder=2
one_by_one map $plane "3 4 5" --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --vectors 3
ok map $plane,seed=3 --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --vectors 3 --seed 10 --average 3 --json -o a.csv
json out "by_hand(d, 'ldos', $runs, least=0) and d['realizations'] == 3 and d['vectors_each'] == 3 and d['completed']"
cp out whole
one_by_one map $plane "3 4" --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --trace exact --where 0-9
ok map $plane,seed=3 --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --trace exact --where 0-9 --average 2 --json
json out '[r := [load("one.3"), load("one.4")]] and by_hand(d, "ldos", r, least=0)'
ok map $plane --energies=-1,0.5 --resolution 0.4 --vectors 2 --average 3
check "whose bars they are" grep -q '^error bar *+-: 95%, of the realizations' out
[ $have_gnuplot = 1 ] && ok map $plane --energies=-1,0.5 --moments 40 --average 2 --plot a.svg
WISP_RANKS=3 ok map $plane,seed=3 --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --vectors 3 --seed 10 --average 3 --json
json out 'close(flat(d["ldos"]), flat(e["ldos"]), 1e-9) and close(flat(d["ldos_low"]), flat(e["ldos_low"]), 1e-8)' whole
ok map $plane,seed=3 --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --vectors 3 --average 2 --json
cp out two
for at in realizations:0.5 map:2 checking:2; do
    stop ${at%:*} INT ${at#*:} map $plane,seed=3 --energies=-1,0.5 --moments 40 --bounds=-5.2,5.2 --vectors 3 --average 4 -o cut.json
    check "what it is of, stopped at $at: $(tail -1 log)" grep -q 'stopped by Ctrl-C; the mean is of 2 of 4 realizations' log
    json cut.json 'd["ldos"] == e["ldos"] and d["ldos_high"] == e["ldos_high"] and d["realizations"] == 2 and not d["completed"]' two
done
stop realizations INT 0 map $plane --energies 0 --average 3
check "nothing is told" grep -q 'nothing was kept' log
ok map $plane --energies 0 --plan --average 8
refused 2 "--save of a map does not go with --average" map $plane --energies 0 --average 3 --save m.h5

# ---- green, trace
given=--bounds=-6.2,6.2
for s in 3 4 5; do
    ok green $lattice,seed=$s --sites 0,17 --eta 0.2 $given --energies=-1,0.5 --json
    cp out one.$s
done
ok green $lattice,seed=3 --sites 0,17 --eta 0.2 $given --energies=-1,0.5 --average 3 --json -o a.csv
json out "all(by_hand({p: d[p], p + '_error': d[p + '_error'], p + '_low': [0] * 4, p + '_high': [0] * 4}, p, $runs, bars=False)
              for p in ('green_re', 'green_im')) and d['sites'] == [0, 17] and d['realizations'] == 3"
cp out green.json
check "a table with errors" grep -q '^energy,green_re_0,green_im_0,beside_0,error_re_0,error_im_0,green_re_17' a.csv
ok green $lattice --sites 0 --eta 0.2 --energies=-1 --average 3
check "a value with its bars" grep -q '^G .* (+- .*, +- .*i) at -1 of row 0' out
[ $have_gnuplot = 1 ] && ok green $lattice --sites 0 --eta 0.2 --average 3 --plot a.svg
stop realizations INT 0.5 green $lattice --sites 0 --eta 0.2 $given --average 4
check "what it is of: $(tail -1 log)" grep -q 'the mean is of 2 of 4 realizations' log
one_by_one trace $lattice "3 4 5" --function exp:-0.5 $given --vectors 3
ok trace $lattice,seed=3 --function exp:-0.5 $given --vectors 3 --seed 10 --average 3 --json
json out "[m := sum(r['trace_of_function'] for r in $runs) / 3, s := math.sqrt(sum((r['trace_of_function'] - m) ** 2 for r in $runs) / 6)] and
          abs(d['trace_of_function'] - m) < 1e-8 and abs(d['trace_error'] - s) < 1e-8 and abs(d['trace_high'] - m - student[3] * s) < 1e-6 * m"
ok trace $lattice --function exp --average 3
check "with a bar: $(cat out)" grep -q '^trace .*95% bar' out
if [ $have_hdf5 = 1 ]; then
    ok ldos $lattice,seed=3 --sites 0,17 --moments 900 $given --average 3 --save l.h5
    ok green --from l.h5 --eta 0.2 --energies=-1,0.5 --json
    json out 'd["realizations"] == 3 and close(flat(d["green_re"]), flat(e["green_re"]), 1e-8)' green.json
fi

# ---- refused
refused 2 "--average needs a lattice of the gallery with disorder=W, and square:nx=6,ny=6 has none" dos square:nx=6,ny=6 --average 3
refused 2 "has none" dos h.mtx --average 3
refused 2 "leave another number of rows" dos square:nx=6,ny=6,vacancies=0.1 --average 3
refused 2 "must be a whole number" dos $lattice,seed=x --average 3
refused 2 "--average" dos $lattice --average 1
refused 2 "--average does not go with --checkpoint" dos $lattice --average 3 --checkpoint c.ck
refused 2 "--average does not go with --overlap" dos $lattice --average 3 --overlap s.mtx

finish
