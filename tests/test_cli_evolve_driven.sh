# wisp evolve --drive: a driven pair of levels against its closed form, expressions, tables, states, refusals.
. "$(dirname "$0")/cli.sh"
sed -i 's/^import json.*/import json, math, sys/' check.py

# Levels of +-0.5; (cos(t) s_x + sin(t) s_y) 0.1 turns with them: all goes over and back, sin(0.1 t)^2.
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 0.5\n2 2 -0.5\n' >levels.mtx
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n' >x.mtx
printf '%%%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 0 1\n' >y.mtx
turning=(--drive 'x.mtx:0.1*cos(t)' --drive 'y.mtx: sin( t )/10')
ok evolve levels.mtx "${turning[@]}" --time 20 --steps 10 --site 0 --watch 0,1 --json
json out 'all(abs(p - math.sin(0.1 * t) ** 2) <= 3 * o + 1e-14 for p, t, o in zip(d["density"][1], d["times"], d["off"]))'
json out 'd["drive"][0] == "x.mtx:0.1*cos(t)" and d["steps"] > 9 and d["refused_steps"] >= 0 and d["off"][10] < 3e-10 and d["completed"]'
ok evolve levels.mtx "${turning[@]}" --time 20 --steps 10 --site 0
check "drives in the summary" grep -q '^drive *x.mtx:0.1\*cos(t)' out
check "steps in the summary" grep -qE '^steps +[0-9,]+, [0-9,]+ more were too long; psi may be off by' out
ok evolve levels.mtx "${turning[@]}" --time 20 --steps 10 --site 0 --precision single --tolerance 1e-3 --json
json out 'all(abs(p - math.sin(0.1 * t) ** 2) <= 3 * o for p, t, o in zip(d["density"][0], [10 * math.pi / 2 - t for t in d["times"]], d["off"][1:] + [1]))'
ok evolve levels.mtx "${turning[@]}" --time=-5 --steps 2 --site 0 --json
json out 'abs(d["density"][0][2] - math.cos(0.5) ** 2) < 1e-9'

# What an expression may have: each is 0.3 at all times.
for f in 0.3 '.3' '3e-1' '-(-0.3)' '0.1+0.1*2' '0.6/2' '2^-1-0.2' '0.3*(sin(t)^2+cos(t)^2)' '0.3*exp(log(1))' '0.3*sqrt(4)/abs(-2)' \
    '0.3*cos(2*pi)' '0.3+tan(0)+tanh(0)' '-2^2+4.3' '+0.3' '0.3*t/t'; do
    ok evolve levels.mtx --drive "x.mtx:$f" --time 3 --steps 1 --site 0 --json
    json out 'abs(d["density"][0][1] - (1 - (0.3 / math.hypot(0.5, 0.3) * math.sin(3 * math.hypot(0.5, 0.3))) ** 2)) < 1e-9'
done
for f in '' 't+' '2t' 'sin t' 'sin(t' 't)' 'x' 'cost(t)' '1..2' '--' '3,4' 't:'; do
    refused 2 "--drive" evolve levels.mtx --drive "x.mtx:$f" --time 3 --site 0
done
refused 2 "2t can't be read at t" evolve levels.mtx --drive "x.mtx:2t" --time 3 --site 0
refused 2 "brackets and t, pi, sin, cos, tan, exp, log, sqrt, abs, tanh, or a table" evolve levels.mtx --drive "x.mtx:sinh(t)" --time 3 --site 0
refused 2 "sin(t can't be read to its end" evolve levels.mtx --drive "x.mtx:sin(t" --time 3 --site 0
deep=$(printf '(%.0s' {1..500})
refused 2 "can't be read" evolve levels.mtx --drive "x.mtx:$deep" --time 3 --site 0
refused 1 "= -inf at time" evolve levels.mtx --drive "x.mtx:log(0*t)" --time 3 --site 0

# A table: a pulse of straight lines, under which x alone turns by its area.
printf '# a pulse\n-1 0\n0, 0\n1 0.5\n\n1.5 0.5\n2 0\n9 0\n' >pulse.txt
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 0\n' >zero.mtx
ok evolve zero.mtx --drive x.mtx:pulse.txt --time 8 --steps 8 --site 0 --json
json out 'abs(d["density"][0][1] - math.cos(0.25) ** 2) < 1e-9 and abs(d["density"][0][8] - math.cos(0.625) ** 2) < 1e-9 and d["refused_steps"] < 20'
refused 1 "pulse.txt goes from time -1 to 9; the evolution from 0 to 10" evolve zero.mtx --drive x.mtx:pulse.txt --time 10 --site 0
printf '0 1\n0 2\n' >twice.csv
refused 1 "twice.csv, line 2: time 0 is not after the one before" evolve zero.mtx --drive x.mtx:twice.csv --time 1 --site 0
printf '0 1\n1\n' >short.dat
refused 1 "short.dat, line 2: expected a time and a value" evolve zero.mtx --drive x.mtx:short.dat --time 1 --site 0
for line in '1,,1' '1, ,1' '1,1,' ',1,1' '1' '1;1' '1 1 1' '1,nan' '1,1e999' '1-1'; do
    printf '# a table\n0 1\n%s\n' "$line" >fields.csv
    refused 1 "fields.csv, line 3: expected a time and a value" evolve zero.mtx --drive x.mtx:fields.csv --time 1 --site 0
done
printf '0,1\r\n1 ,\t1 \r\n2\t1\n' >fields.csv
ok evolve zero.mtx --drive x.mtx:fields.csv --time 2 --steps 1 --site 0 --json
json out 'abs(d["density"][0][1] - math.cos(2) ** 2) < 1e-9'
printf '0 1\n' >one.dat
refused 1 "at least two times" evolve zero.mtx --drive x.mtx:one.dat --time 1 --site 0
refused 1 "cannot read none.txt" evolve zero.mtx --drive x.mtx:none.txt --time 1 --site 0

# Fine tables of a smooth pulse, also at uneven times: along a spline in about the steps of the function itself.
python3 - <<'PY'
import math
for name, f in ("cos", math.cos), ("sin", math.sin):
    with open(name + ".txt", "w") as out:
        for i in range(6001):
            t = -1 + 22 * i / 6000 + 0.001 * math.sin(i)
            out.write("%.17g %.17g\n" % (t, 0.1 * f(t)))
    with open(name + "4.csv", "w") as out:
        for t in (0, 0.4, 0.7, 1):
            out.write("%g,%.17g\n" % (t, 0.1 + t + 0.2 * t**2 - t**3))
PY
tables=(--drive x.mtx:cos.txt --drive y.mtx:sin.txt --smooth)
ok evolve levels.mtx "${tables[@]}" --time 20 --steps 10 --site 0 --json
json out 'all(abs(p - (1 - math.sin(0.1 * t) ** 2)) < 1e-9 for p, t in zip(d["density"][0], d["times"])) and d["steps"] < 2000'
ok evolve levels.mtx "${tables[@]}" --time 20 --steps 10 --site 0
check "smooth tables in the summary" grep -qxE '(drive)? +y.mtx:sin.txt, along a smooth curve' out
# A cubic is followed exactly, ends and all: x alone turns by its area.
ok evolve zero.mtx --drive x.mtx:cos4.csv --smooth --time 1 --steps 3 --site 0 --json
json out 'all(abs(p - math.cos(0.1 * t + t**2 / 2 + 0.2 * t**3 / 3 - t**4 / 4) ** 2) < 1e-9 for p, t in zip(d["density"][0], d["times"]))'
refused 2 "--smooth is for tables of --drive" evolve levels.mtx --smooth --time 1 --site 0
refused 2 "--output and --drive name the same file" evolve levels.mtx --drive x.mtx:t.csv --time 1 --site 0 -o ./t.csv
refused 2 "--states and --drive name the same file" evolve levels.mtx --drive "s.h5:cos(t)" --time 1 --site 0 --states s.h5
refused 2 "--output and --absorb name the same file" evolve levels.mtx --absorb w.csv --time 1 --site 0 -o w.csv
refused 2 "--smooth is for tables of --drive" evolve levels.mtx --drive x.mtx:t --smooth --time 1 --site 0
printf '0 1\n1 1\n2 0\n' >three.txt
refused 1 "three.txt: --smooth needs a table of at least four times" evolve zero.mtx --drive x.mtx:three.txt --smooth --time 1 --site 0
printf '0 -1e308\n1e-9 1e308\n2e-9 -1e308\n3 0\n' >steep.txt
refused 1 "steep.txt: the values are too far apart for a smooth curve" evolve zero.mtx --drive x.mtx:steep.txt --smooth --time 1 --site 0

# A jump that no table names is seen.
ok evolve zero.mtx --drive 'x.mtx:abs(sin(t))/sin(t)' --time 10 --steps 2 --site 0 --tolerance 1e-5 --json
json out 'abs(d["density"][0][2] - math.cos(3 * math.pi - 10) ** 2) <= d["off"][2] and d["steps"] > 20'
# So are pulses that are far shorter than the steps around them, and --longest-step holds.
for width in 0.3 0.02 0.002; do
    ok evolve zero.mtx --drive "x.mtx:exp(-((t-7.3)/$width)^2)/$width" --time 20 --steps 2 --site 0 --json
    json out "abs(d['density'][0][2] - math.cos(math.sqrt(math.pi)) ** 2) <= 2 * d['off'][2] + 1e-14 and d['off'][2] < 2e-10"
done
ok evolve levels.mtx --drive x.mtx:0.1 --time 20 --steps 1 --site 0 --longest-step 0.25 --json
json out 'd["steps"] == 80'
refused 2 "--longest-step" evolve levels.mtx --drive x.mtx:0.1 --time 20 --site 0 --longest-step 0
refused 2 "--longest-step is for --drive" evolve levels.mtx --time 20 --site 0 --longest-step 1

# Many short steps: the tolerance is met though its share of a step is less than rounding makes of a difference.
ok evolve levels.mtx "${turning[@]}" --time 20 --steps 10 --site 0 --watch 0,1 --json --tolerance 1e-12
json out 'all(abs(p - math.sin(0.1 * t) ** 2) <= 2 * o + 1e-14 for p, t, o in zip(d["density"][1], d["times"], d["off"])) and d["off"][10] < 2e-12'

# What rounding forbids is said before the first step.
for f in 1e20 '1e20*cos(t)' '1e6*cos(t)' '1e9*exp(-(t-3)^2)'; do
    refused 1 "can't be met: over this time rounding alone makes about" evolve levels.mtx --drive "x.mtx:$f" --time 20 --site 0
done
# Memory is as planned; a run in pieces gives the same; states go on at their time.
wave=(graphene:nx=30,ny=20 --drive 'graphene:nx=30,ny=20:0.1*sin(2*t)' --time 6 --steps 6 --site 7 --tolerance 1e-7)
ok evolve "${wave[@]}" --plan
check "sweeps in the plan" grep -qE '^sweeps *perhaps [0-9,]+: an estimate, by the steps that 256 rows of H\(t\) alone take' out
ok evolve "${wave[@]}" --plan --json
cp out plan
bound=$(sed -n 's/^ *"bound_bytes": *\([0-9]*\).*/\1/p' out)
ok evolve "${wave[@]}" --quiet --mem-limit "$bound"
ok evolve "${wave[@]}" --json --energy
cp out whole
json out 'len(d["expectation"][0]) == 7'
json out 'd["sweeps"] / 4 < e["sweeps_estimate"] < 4 * d["sweeps"]' plan
ok evolve levels.mtx --drive 'x.mtx:1e20*t' --time 3 --site 0 --plan
check "no sweeps where there is no run" grep -q '^sweeps *not known: the steps of H(t)' out
stop evolution TERM 0.5 evolve "${wave[@]}" --energy --checkpoint c.ck
ok evolve "${wave[@]}" --energy --resume c.ck --json
json out 'd["density"] == e["density"] and d["off"] == e["off"] and d["steps"] == e["steps"]' whole
refused 1 "--drive" evolve graphene:nx=30,ny=20 --drive 'graphene:nx=30,ny=20:0.2*sin(2*t)' --time 6 --steps 6 --site 7 --tolerance 1e-7 --energy --resume c.ck
# In the middle of a long step, too: psi before it is kept.
long=(graphene:nx=30,ny=20 --drive graphene:nx=30,ny=20:0.5 --time 300 --steps 1 --site 7)
ok evolve "${long[@]}" --json
cp out whole
stop evolution TERM 0.7 evolve "${long[@]}" --checkpoint long.ck
ok evolve "${long[@]}" --resume long.ck --json
json out 'd["density"] == e["density"] and d["off"] == e["off"] and d["sweeps"] == e["sweeps"] and d["steps"] < 20' whole
ok evolve "${long[@]}" -o long.csv --quiet
check "how far off in the table" grep -qx 'time,norm,psi_off,density_7' long.csv
if [ $have_gnuplot = 1 ]; then
    ok evolve levels.mtx --drive "x.mtx:0.1*cos(t)" --drive "./x.mtx:exp(-t)" --time 1 --site 0 --plot drive.svg --quiet
    check "drives in the picture" grep -qF 'drive x.mtx:0.1*cos(t)' drive.svg
    check "all drives in the picture" grep -qF 'drive ./x.mtx:exp(-t)' drive.svg
fi
if [ $have_hdf5 = 1 ]; then
    ok evolve levels.mtx "${turning[@]}" --time 7 --steps 1 --site 0 --states s.h5 --quiet
    ok evolve levels.mtx "${turning[@]}" --time 20 --steps 1 --from s.h5 --watch 1 --json
    json out 'd["times"] == [7, 20] and abs(d["density"][0][1] - math.sin(2) ** 2) < 1e-9'
fi

# the tolerance that single precision has by default; a jump where there is no number; a clock of few digits
ok evolve levels.mtx --drive "x.mtx:0.1*cos(t)" --time 20 --precision single --site 0
ok evolve levels.mtx --drive "x.mtx:abs(t-1.234)/(t-1.234)" --time 10 --site 0
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e-18\n2 2 -1e-18\n' >still.mtx
if [ $have_hdf5 = 1 ]; then
    ok evolve still.mtx --time 1e14 --steps 1 --site 0 --states late.h5 --quiet
    ok evolve still.mtx --drive x.mtx:1 --from late.h5 --time 100000000000064 --steps 1 --watch 0 --json
    json out 'abs(d["density"][0][-1] - math.cos(64) ** 2) < 1e-9'
fi

refused 2 "expected OPERATOR:EXPR" evolve levels.mtx --drive x.mtx --time 1 --site 0
refused 1 "none.mtx" evolve levels.mtx --drive none.mtx:t --time 1 --site 0
refused 1 "graphene:nx=3,ny=3" evolve levels.mtx --drive graphene:nx=3,ny=3:t --time 1 --site 0
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n' >one-way.mtx
refused 1 "one-way.mtx is not Hermitian" evolve levels.mtx --drive one-way.mtx:t --time 1 --site 0
refused 2 "not for --imaginary" evolve levels.mtx --drive x.mtx:t --imaginary --time 1 --site 0
refused 2 "not for --non-hermitian" evolve levels.mtx --drive x.mtx:t --non-hermitian --time 1 --site 0
refused 2 "--depth is not for --drive" evolve levels.mtx --drive x.mtx:t --depth 2 --time 1 --site 0
finish
