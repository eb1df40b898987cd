#!/bin/bash
# wisp sigma: values against sums over Bloch states, moments kept and evaluated anew, velocities of one's own, refusals.
. "$2/tests/cli.sh"

# Haldane's model on a torus of n by n cells, as sums over its wave vectors: H(k) and dH/dk are 2 x 2, made from positions alone. The
# kernel's formulas are written out for each pair of states: Garcia, Covaci, Rappoport, Phys. Rev. Lett. 114, 116602, eq. 3 and 4.
cat >bloch.py <<'PY'
import cmath, math
a = [(math.sqrt(3), 0), (math.sqrt(3) / 2, 1.5)]
tau = ((a[0][0] + a[1][0]) / 3, (a[0][1] + a[1][1]) / 3)   # of B beside A
to_B = [tau, (tau[0] - a[0][0], tau[1] - a[0][1]), (tau[0] - a[1][0], tau[1] - a[1][1])]
def bonds(t2, phi):                                        # (row, column, amplitude, way from row to column)
    for d in to_B:
        yield 0, 1, -1, d
        yield 1, 0, -1, (-d[0], -d[1])
    for s in (0, 1):                                       # from the column by a neighbour of both to the row
        for i in range(3):
            for j in range(3):
                if i == j: continue
                u, v = ((to_B[k][0] * (-1) ** s, to_B[k][1] * (-1) ** s) for k in (i, j))
                first, then = u, (-v[0], -v[1])
                left = first[0] * then[1] - first[1] * then[0] > 0
                yield s, s, -t2 * cmath.exp(1j * math.pi * phi * (1 if left else -1)), (-first[0] - then[0], -first[1] - then[1])
def at(k, t2, phi, along=None):
    M = [[0, 0], [0, 0]]
    for r, c, h, d in bonds(t2, phi):
        M[r][c] += h * cmath.exp(1j * (k[0] * d[0] + k[1] * d[1])) * (1 if along is None else 1j * d[along])
    return M
def states(H):                                             # of a Hermitian 2 x 2
    m, z, w = (H[0][0] + H[1][1]).real / 2, (H[0][0] - H[1][1]).real / 2, H[0][1]
    e = math.hypot(z, abs(w))
    out = []
    for s in (-1, 1):
        v = (w, s * e - z) if abs(s * e - z) + abs(w) > 1e-12 * e and abs(s * e - z) > 1e-9 else (s * e + z, w.conjugate())
        n = math.sqrt(abs(v[0]) ** 2 + abs(v[1]) ** 2)
        out.append((m + s * e, (v[0] / n, v[1] / n)))
    return out
def element(x, V, y):
    return sum(complex(x[i]).conjugate() * V[i][j] * y[j] for i in (0, 1) for j in (0, 1))
def vectors(n):
    det = a[0][0] * a[1][1] - a[0][1] * a[1][0]
    b = [(2 * math.pi * a[1][1] / det, -2 * math.pi * a[1][0] / det), (-2 * math.pi * a[0][1] / det, 2 * math.pi * a[0][0] / det)]
    return [(i / n * b[0][0] + j / n * b[1][0], i / n * b[0][1] + j / n * b[1][1]) for i in range(n) for j in range(n)]
def jackson(M):
    N = M + 1
    return [((N - j) * math.cos(math.pi * j / N) + math.sin(math.pi * j / N) / math.tan(math.pi / N)) / N * (1 if j else .5) for j in range(M)]
def delta(E, t, g):                                        # sum of g_j T_j(E) cos jt, E inside -1 to 1
    return sum(c * math.cos(j * math.acos(E)) * math.cos(j * t) for j, c in enumerate(g))
def slope(E, t, g):
    return sum(c * math.cos(k * math.acos(E)) * (math.cos(t) - 1j * k * math.sin(t)) * cmath.exp(1j * k * t) for k, c in enumerate(g))
def sigma(n, A, B, M, h, kind, below, t2=.1, phi=.5, at_t=None, T=None):
    """In e^2/h; below: of 8 M cells of the angle so many, from pi on, are filled; at_t: the angle of mu (Greenwood)."""
    g, P, sums, volume = jackson(M), 8 * M, 0, n * n * 1.5 * math.sqrt(3)
    angles = [at_t] if kind == "greenwood" else [math.pi * (P - i - .5) / P for i in range(below)]
    width = [0 if kind == "greenwood" else h * (math.cos(t - math.pi / 2 / P) - math.cos(t + math.pi / 2 / P)) for t in angles]
    for k in vectors(n):
        s, V, W = states(at(k, t2, phi)), at(k, t2, phi, A), at(k, t2, phi, B)
        D = [[delta(E / h, t, g) for t in angles] for E, x in s]
        if kind == "bastin": S = [[slope(E / h, t, g) for t in angles] for E, x in s]
        for p in (0, 1):
            for q in (0, 1):
                v = element(s[p][1], V, s[q][1]) * element(s[q][1], W, s[p][1]) # state p has T_k, q T_j
                for i, t in enumerate(angles):
                    if kind == "greenwood":
                        sums += 8 * v.real * D[p][i] * D[q][i] / (h * math.sin(t)) ** 2
                    else: # Gamma_jk and its adjoint
                        sums += 8 * width[i] * (v * D[q][i] * S[p][i] + v * D[p][i] * S[q][i].conjugate()).real / (math.sin(t) ** 4 * h ** 3)
    return sums / volume
def optical(n, A, B, M, h, omega, mu, T, t2=.1, phi=.5):
    """Weisse et al., Rev. Mod. Phys. 78, 275: by each pair of states, over the cosines of the middle of both energies."""
    g, P, w, total, volume = jackson(M), 400, omega / h, 0, n * n * 1.5 * math.sqrt(3)
    fermi = lambda e: 1 / (1 + math.exp((e - mu) / T))
    cosines = [math.cos(math.pi * (i + .5) / P) for i in range(P)]
    half = 1 - w / 2
    x = [half * c - w / 2 for c in cosines]
    weight = [(fermi(h * y) - fermi(h * (y + w))) * math.pi / P / math.sqrt((w + half * (1 - c)) * (w + half * (1 + c))) for y, c in zip(x, cosines)]
    for k in vectors(n):
        s, V, W = states(at(k, t2, phi)), at(k, t2, phi, A), at(k, t2, phi, B)
        low = [[delta(E / h, math.acos(y), g) for y in x] for E, _ in s]
        high = [[delta(E / h, math.acos(y + w), g) for y in x] for E, _ in s]
        for p in (0, 1):
            for q in (0, 1):
                v = element(s[p][1], V, s[q][1]) * element(s[q][1], W, s[p][1])
                total += v.real * sum(a * b * c for a, b, c in zip(low[p], high[q], weight))
    return 8 / (volume * omega * h) * total
PY
sed -i 's/^import json.*/&\nsys.path.insert(0, ".")/' check.py
sed -i '/^d = load/i exec(open("bloch.py").read())' check.py

torus=haldane:nx=5,ny=5,t2=0.1
exact="--trace exact --bounds=-3.1,3.1 --moments 16"
# Chemical potentials at ends of cells of the integral: 40, 64 and 90 of 128 are filled, counted from below.
mu=$(awk 'BEGIN { pi = 3.14159265358979312; printf "%.17g,%.17g,%.17g", 3.1 * cos(pi * 88 / 128) * 1.000000000000001, 1e-15, 3.1 * cos(pi * 38 / 128) * 1.000000000000001 }')

# ---- exact traces: each component, with its sign
for c in xy yx xx; do
    ok sigma $torus --direction $c $exact --mu=$mu --json
    A=0 B=1; [ $c = yx ] && A=1 B=0; [ $c = xx ] && B=0
    json out "close(d['sigma'], [sigma(5, $A, $B, 16, 3.1, 'bastin', c) for c in (40, 64, 90)], 1e-9) and d['direction'] == '$c'"
done
json out 'd["sigma_low"] == d["sigma"] == d["sigma_high"] and d["sigma_error"] == [0, 0, 0] and d["units"]["sigma"] == "e^2/h" and
          d["volume_known"] and abs(d["volume"] - 25 * 1.5 * math.sqrt(3)) < 1e-9 and d["dimensions"] == 2 and d["trace"] == "exact"'
ok sigma $torus,phi=-0.5 --direction xy $exact --mu=1e-15 --json
json out 'abs(d["sigma"][0] - sigma(5, 0, 1, 16, 3.1, "bastin", 64, phi=-.5)) < 1e-9 and d["sigma"][0] > 0.5'
ok sigma $torus --direction yy $exact --mu=-2,0,1 --formula greenwood --json
json out 'close(d["sigma"], [sigma(5, 1, 1, 16, 3.1, "greenwood", 0, at_t=math.acos(mu / 3.1)) for mu in d["mu"]], 1e-9) and min(d["sigma"]) >= 0'
# A real matrix has real velocities, [H, x]: the same as complex ones.
ok sigma graphene:nx=5,ny=5 --direction xx $exact --mu=-2,0,1 --formula greenwood --json
json out 'd["type"] == "double" and close(d["sigma"], [sigma(5, 0, 0, 16, 3.1, "greenwood", 0, t2=0, at_t=math.acos(mu / 3.1)) for mu in d["mu"]], 1e-9)'
ok sigma graphene:nx=5,ny=5 --direction xx $exact --mu=1 --formula greenwood --precision single --json
json out 'd["type"] == "single" and abs(d["sigma"][0] - sigma(5, 0, 0, 16, 3.1, "greenwood", 0, t2=0, at_t=math.acos(1 / 3.1))) < 1e-4'

# ---- the Hall conductivity in the gap: an infinite lattice gives 1.0555 with 64 moments, 1.0138 with 128 (sums over wave vectors)
hall=haldane:nx=32,ny=32,t2=0.1,phi=-0.5 sheet=graphene:nx=60,ny=60 most=128
[ -z "${SANITIZED:-}" ] || sheet=graphene:nx=20,ny=20 most=32 # more are for the numbers
ok sigma $hall --direction xy --moments $most --vectors 8 --bounds=-3.1,3.1 --mu=0,-20,20 --json
json out 'abs(d["sigma"][1] - 1.0138) < 2 * d["sigma_95"][1] < 0.2 and d["sigma"][0] == 0 and d["mu"] == [-20, 0, 20] and
          all(abs(h - v - b) < 1e-12 for v, h, b in zip(d["sigma"], d["sigma_high"], d["sigma_95"]))'
ok sigma $hall --direction xy --moments 64 --vectors 8 --bounds=-3.1,3.1 --mu=-4:4:9 --json
json out 'd["mu"] == [-4, -3, -2, -1, 0, 1, 2, 3, 4] and abs(d["sigma"][4] - 1.0555) < 2 * d["sigma_95"][4] < 0.3 and d["student95"] > 2'
cp out hall.json
ok sigma $hall --direction xy --moments 64 --vectors 8 --bounds=-3.1,3.1 --mu=0
check "a table with the unit" grep -q '^mu  *sigma_xy (e^2/h)$' out
check "a value with its bar" grep -q '^0  *1\.[0-9]* +- 0\.[0-9]*$' out
check "the formula" grep -q '^formula  *Kubo-Bastin, temperature 0$' out
ok sigma $hall --direction xy --moments 16 --vectors 1
check "one vector has no bar" grep -q '^error bar *none: one vector' out
check "the middle is shown" grep -qE '^0 +-?[0-9]' out
check "and that there are more" grep -q 'some of 201; all with --json' out
check "no NaN" sh -c '! grep -qiw nan out'
ok sigma $hall --direction xy --moments 16 --vectors 1 --mu 0 --json
json out 'd["sigma_error"] == [None] and d["sigma_low"] == [None] and d["sigma_95"] == [None]'
# A volume of one's own, another dimension.
ok sigma $torus --direction xy $exact --mu=1e-15 --volume 10 --json
json out 'd["volume"] == 10 and abs(d["sigma"][0] * 10 / (25 * 1.5 * math.sqrt(3)) - sigma(5, 0, 1, 16, 3.1, "bastin", 64)) < 1e-9'
ok sigma anderson:nx=4,ny=4,nz=4,disorder=2 --direction zz --formula greenwood --vectors 2 --moments 16 --mu 0 --json
json out 'd["dimensions"] == 3 and d["volume"] == 64 and d["units"]["sigma"] == "e^2/h, over a length" and d["sigma"][0] > 0'

# ---- optical conductivities: sums over pairs of states; graphene's exact ones, of e^2/(4 hbar) for both spins
ok sigma $torus --direction yy $exact --optical 2.5,0.6 --mu 0.4 --temperature 0.3 --points 4000 --json
json out 'all(abs(s - optical(5, 1, 1, 16, 3.1, w, .4, .3)) < 1e-3 * s for s, w in zip(d["sigma"], d["omega"])) and d["omega"] == [0.6, 2.5] and
          d["formula"] == "optical" and d["chemical_potential"] == 0.4 and "mu" not in d and d["units"]["omega"] == "units of the matrix"'
ok sigma $sheet --direction xx --moments $most --vectors 8 --optical 0.5,1,1.5 --json
json out 'all(abs(s / (math.pi / 4) - v) < 0.03 + b / (math.pi / 4) < 0.3 for s, b, v in zip(d["sigma"], d["sigma_95"], (1.0289, 1.1320, 1.4009)))'
# However small the frequency: the limit is that of Kubo-Greenwood.
ok sigma $torus --direction yy $exact --mu 0.4 --temperature 0.3 --formula greenwood --points 4000 --json
cp out direct.json
ok sigma $torus --direction yy $exact --optical 1e-300,1e-30,1e-16,1e-15,1e-9 --mu 0.4 --temperature 0.3 --points 4000 --json
json out 'all(abs(s / e["sigma"][0] - 1) < 1e-4 and abs(s / d["sigma"][0] - 1) < 1e-6 for s in d["sigma"])' direct.json
ok sigma $torus --direction xx --moments 16 --vectors 2 --optical 1e-20
check "what small frequencies give" grep -q 'far below it they are the limit of 0: that of Kubo-Greenwood$' out
ok sigma $torus --direction xx --moments 16 --vectors 3 --optical 0.1:3:30
check "over frequency" grep -q '^omega  *sigma_xx (e^2/h)$' out
check "its formula" grep -q '^formula  *optical, chemical potential 0, temperature 0$' out
check "what is blurred" grep -q '^note  *frequencies below the resolution, 0.[0-9]*, are blurred' out
ok sigma $torus --direction xx --moments 16 --vectors 2 --optical 1,2 -o o.csv
check "columns of frequencies" grep -q '^omega,sigma,sigma_error,sigma_95,sigma_low,sigma_high$' o.csv
if [ $have_gnuplot = 1 ]; then
    ok sigma $torus --direction xx --moments 16 --vectors 2 --optical 0.5:3:20 --plot o.svg
    check "a picture over frequency" grep -q 'frequency (units of the matrix)' o.svg
    for x in "--optical 0.5,0.5" "--optical 1e-300,1e-300" "--mu=-0.5,-0.5" "--mu 0,0"; do
        ok sigma $torus --direction xx --moments 16 --vectors 2 $x --plot same.svg
        check "a picture of $x" test -s same.svg
    done
fi
refused 2 "--plot needs two frequencies" sigma $torus --direction xx --optical 1 --plot o.svg
refused 2 "--optical takes one chemical potential" sigma $torus --direction xx --optical 1 --mu 0,1
refused 2 "--formula is not for --optical" sigma $torus --direction xx --optical 1 --formula greenwood
for list in "" x 0 1,-1 1:2 0:1:3 nan; do refused 2 "expected frequencies above 0" sigma $torus --direction xx --optical="$list"; done

# ---- velocities of one's own
ok gen $torus -o H.mtx
ok gen $torus --velocity x -o x.mtx
ok gen $torus --velocity y -o y.crs
ok sigma $torus --direction xy $exact --mu=-1,0.5 --json
cp out own.json
ok sigma H.mtx --velocity-a x.mtx --velocity-b y.crs $exact --mu=-1,0.5 --volume 64.951905283832900 --json
json out 'close(d["sigma"], e["sigma"], 1e-12) and d["velocity_a"] == "x.mtx" and d["velocity_b"] == "y.crs" and d["direction"] is None' own.json
ok sigma $torus --velocity-a x.mtx --velocity-b y.crs $exact --mu=-1,0.5 --json
json out 'close(d["sigma"], e["sigma"], 1e-12) and abs(d["volume"] - e["volume"]) < 1e-9 and d["dimensions"] == 2' own.json
ok sigma H.mtx --velocity-a x.mtx $exact --mu=1 --formula greenwood
check "no volume is told" grep -q '^volume  *1, for that of the sample is not known; --volume V' out
refused 1 "where its rows are is not known; give it by --positions FILE" sigma H.mtx --direction xy
refused 1 "where its rows are is not known; give it by --positions FILE" sigma hubbard --direction xx
# Positions of one's own; a file that has a name of the gallery knows none.
ok gen $torus --positions-out p.txt
cell=8.660254037844386,0:4.330127018922193,7.5
ok sigma H.mtx --positions p.txt --cell $cell --direction xy $exact --mu=-1,0.5 --json
json out 'close(d["sigma"], e["sigma"], 1e-12) and abs(d["volume"] - e["volume"]) < 1e-9 and d["dimensions"] == 2' own.json
cp out listed.json
cp H.mtx haldane
refused 1 "haldane: where its rows are is not known" sigma haldane --direction xy
ok sigma square:nx=6,ny=4,flux=1/4 --direction xy --trace exact --bounds=-4.1,4.1 --moments 16 --mu=-2 --json
cp out flux.json
ok sigma square:nx=6,ny=4 --peierls 0.25 --direction xy --trace exact --bounds=-4.1,4.1 --moments 16 --mu=-2 --json
json out 'close(d["sigma"], e["sigma"], 1e-9) and d["type"] == "complex double"' flux.json
ok gen square:nx=6,ny=4 --velocity x -o vx.mtx --symmetry hermitian
ok sigma square:nx=6,ny=4 --peierls 0.25 --velocity-a vx.mtx --moments 8 --vectors 1
refused 1 "must be a whole number: the nearest field" sigma square:nx=6,ny=4 --peierls 0.24 --direction xy
refused 1 "p.txt" sigma square:nx=6,ny=6 --positions p.txt --direction xx
# A cell that does not fit: too small, by one step, far too large, flat; and one in another plane, of which the area is known.
ok gen square:nx=10,ny=8 -o s.mtx --positions-out s.txt
refused 1 "the positions extend over 1.125 times the vector 8,0,0" sigma s.mtx --positions s.txt --cell 8,0:0,8 --direction xx
refused 1 "the periodic cell makes them images of each other" sigma s.mtx --positions s.txt --cell 9,0:0,8 --direction xx
refused 1 "span none" sigma s.mtx --positions s.txt --cell 10,0:20,0 --direction xx
# Its velocity is not Hermitian, either, but that is not what to look at.
sed 's/^2 1 -1$/2 1 -1.0000000000001/' s.mtx >near.mtx
cmp -s s.mtx near.mtx && fail "near.mtx is s.mtx"
refused 1 "near.mtx: the matrix is not Hermitian: entries (0, 1) and (1, 0)" sigma near.mtx --positions s.txt --direction xx
"$wisp" sigma s.mtx --positions s.txt --cell 40,0:0,8 --direction xx --moments 8 --vectors 1 >out 2>err
check "a cell that is far too large is warned of" grep -q 'warning: the vector 40,0,0 of the periodic cell is 4.44 times as long as the sample' err
for c in 1e9,0:0,8 10,0:0,1e9; do
    "$wisp" sigma s.mtx --positions s.txt --cell $c --direction xx --moments 8 --vectors 1 >out 2>err
    check "a cell $c that the sample hardly fills" grep -q 'warning: the positions extend over .*e-09 of the vector .* of --cell, and the conductivity is divided by the whole cell, [18]e+' err
done
ok gen square:nx=10,ny=8,periodic=none -o open.mtx --positions-out open.txt
for p in "square:nx=10,ny=8" "s.mtx --positions s.txt --cell 10,0:0,8" "open.mtx --positions open.txt"; do
    ok sigma $p --direction xx --moments 8 --vectors 1 --volume 160
    for v in 1e9 1e-3; do
        "$wisp" sigma $p --direction xx --moments 8 --vectors 1 --volume $v >out 2>err
        check "a volume $v that is far from the sample of $p" grep -q "warning: --volume [1e0.+]*9* is .* times what the positions extend over, [68][03]: the conductivity is divided by it" err
    done
done
awk '{ print $1, 0, $2 }' s.txt >xz.txt
ok sigma s.mtx --positions s.txt --cell 10,0:0,8 --direction yy --moments 8 --vectors 2 --bounds=-4.1,4.1 --mu 0.1 --json
cp out xy.json
ok sigma s.mtx --positions xz.txt --cell 10,0,0:0,0,8 --direction zz --moments 8 --vectors 2 --bounds=-4.1,4.1 --mu 0.1 --json
json out 'd["volume_known"] and abs(d["volume"] - 80) < 1e-9 and d["dimensions"] == 2 and close(d["sigma"], e["sigma"], 1e-12)' xy.json
refused 2 "--cell needs --positions" sigma $torus --cell 1,0 --direction xx
refused 2 "--positions is for --direction and --peierls" sigma H.mtx --positions p.txt --velocity-a x.mtx
for c in "" x 1, 1:2: 1,2,3,4 1:2:3:4 nan; do refused 2 "--cell" sigma H.mtx --positions p.txt --cell="$c" --direction xx; done
refused 1 "x.mtx is 50 x 50; the matrix has 25 rows" sigma square:nx=5,ny=5 --velocity-a x.mtx
refused 1 "--velocity-a must be Hermitian, or real and antisymmetric" sigma H.mtx --velocity-a matpde:nx=5,ny=10
refused 1 "does not extend along z" sigma $torus --direction xz
refused 1 "take a larger cell" sigma square:nx=2,ny=2 --direction xx

# ---- moments that are kept
if [ $have_hdf5 = 1 ]; then
    ok sigma $hall --direction xy --moments 64 --vectors 3 --bounds=-3.1,3.1 --mu=0 --save a.h5
    ok sigma $hall --direction xy --moments 64 --vectors 5 --first-vector 3 --bounds=-3.1,3.1 --mu=0 --save b.h5
    ok sigma --from a.h5 --from b.h5 --mu=-4:4:9 --json
    json out 'd["sigma"] == e["sigma"] and d["sigma_low"] == e["sigma_low"] and d["volume"] == e["volume"] and d["vectors"] == 8 and
              d["direction"] == "xy" and d["dimensions"] == 2 and d["seeds"] == [0, 0]' hall.json
    # Another volume than that of the kept run is taken, and told of.
    ok sigma --from a.h5 --mu 0 --json
    cp out was.json
    ok sigma --from a.h5 --mu 0 --volume 7
    check "both volumes" grep -q '^volume  *7, that of --volume; the kept run had 2660.4' out
    ok sigma --from a.h5 --mu 0 --volume 7 --json
    json out 'd["volume"] == 7 and abs(d["volume_kept"] - 2660.43) < 0.01 and "volume_kept" not in e and abs(d["sigma"][0] * 7 / e["volume"] / e["sigma"][0] - 1) < 1e-12' was.json
    # Runs that were kept with different volumes are refused, or have that of --volume.
    ok sigma $hall --direction xy --moments 64 --vectors 5 --first-vector 3 --bounds=-3.1,3.1 --mu=0 --volume 1000 --save v.h5
    refused 1 "a.h5 and v.h5 cannot be taken together: their volumes differ: 2660.4" sigma --from a.h5 --from v.h5 --mu 0
    check "and how to take them together" grep -q 'their volumes differ: 2660.4[0-9]* and 1000; --volume V is that of all' err
    ok sigma --from a.h5 --from b.h5 --volume 7 --mu 0 --json
    cp out both.json
    ok sigma --from a.h5 --from v.h5 --volume 7 --mu 0 --json
    json out 'd["sigma"] == e["sigma"] and d["sigma_low"] == e["sigma_low"] and d["volume"] == 7 and d["vectors"] == 8' both.json
    ok sigma --from a.h5 --optical 1:3:5 --json
    json out 'd["omega"] == [1, 1.5, 2, 2.5, 3] and d["volume"] == e["volume"]' was.json
    ok sigma --from a.h5 --mu 0 --moments 32 --kernel lorentz:3 --temperature 0.1 --points 400 --json
    json out 'd["number_of_moments"] == 32 and d["kernel"] == "lorentz" and d["lambda"] == 3 and d["temperature"] == 0.1 and
              d["points"] == 400 and abs(d["volume"] - 2660.43) < 0.01 and d["moments_command"].startswith("wisp sigma haldane")'
    ok sigma --from a.h5
    check "where they are from" grep -q '^moments of  *a.h5' out
    ok sigma H.mtx --velocity-a x.mtx --velocity-b y.crs $exact --mu=1 --volume 12.5 --save own.h5
    ok sigma --from own.h5 --mu 1 --json
    json out 'd["volume"] == 12.5 and d["volume_known"] and d["direction"] is None'
    ok sigma H.mtx --positions p.txt --cell $cell --direction xy $exact --mu=1 --save own.h5
    ok sigma --from own.h5 --mu=-1,0.5 --json
    json out 'd["sigma"] == e["sigma"] and d["volume"] == e["volume"] and d["dimensions"] == 2 and d["units"]["sigma"] == "e^2/h"' listed.json
    refused 1 "64 moments on each side, fewer than --moments 65" sigma --from a.h5 --moments 65
    refused 1 "both have vectors of seed 0" sigma --from a.h5 --from a.h5
    refused 2 "--vectors needs a new run" sigma --from a.h5 --vectors 3
    refused 2 "--direction needs a new run" sigma --from a.h5 --direction xx
    refused 2 "--formula greenwood is for equal velocities" sigma --from a.h5 --formula greenwood
    refused 1 "see wisp sigma --from" dos --from a.h5
    ok dos $torus --moments 16 --vectors 2 --save dos.h5
    refused 1 "does not hold the moments of two velocities" sigma --from dos.h5
    # Ctrl-C keeps complete vectors.
    stop moments INT 0.6 sigma $hall --direction xy --moments 64 --vectors 8 --bounds=-3.1,3.1 --save k.h5
    check "what is kept, and how to go on" grep -q 'of 8 vectors with 64 x 64 moments are kept: wisp sigma --from k.h5' log
    ok sigma --from k.h5 --mu=0 --json
    json out 'd["completed"] is False and 1 <= d["vectors"] < 8 and abs(d["sigma"][0] - 1.0555) < 0.2'
    ok sigma $torus --direction xy $exact --mu=0 -o s.h5
fi
stop moments INT 0.6 sigma $hall --direction xy --moments 64 --vectors 8
check "nothing is kept without --save" grep -q 'nothing was kept (--save FILE.h5 keeps' log
stop moments TERM 0.6 sigma $torus --direction xy $exact
check "nor of an exact trace" grep -q "an exact trace can't be kept in part" log

# ---- the same bits by --like, and with other memory for the left vectors
ok sigma $torus --direction xy --vectors 2 --moments 40 --bounds=-3.1,3.1 --width 8 --left-bytes 20kB --mu=0 --json
cp out one.json
ok sigma $torus --direction xy --vectors 2 --moments 40 --bounds=-3.1,3.1 --mu=0 --like one.json --json
json out 'd["sigma"] == e["sigma"] and d["width"] == 8' one.json
ok sigma $torus --direction xy --vectors 2 --moments 40 --bounds=-3.1,3.1 --mu=0 --json
json out 'close(d["sigma"], e["sigma"], 1e-9)' one.json

# ---- checkpoints: a run goes on within a vector, with the same bits
long="$torus --direction xy --vectors 2 --moments 40 --bounds=-3.1,3.1 --width 8 --left-bytes 20kB --mu=-1,0"
ok sigma $long --json
cp out whole.json
for number in 1 30 60; do
    stop checkpoint TERM $number sigma $long --checkpoint s.ck
    check "how to go on" grep -q 'to go on, repeat the command with --resume s.ck' log
    ok sigma $long --resume s.ck --checkpoint s.ck --json
    json out 'd["sigma"] == e["sigma"] and d["sigma_low"] == e["sigma_low"] and d["resumed"] == "s.ck"' whole.json
    check "its files go" test ! -e s.ck
done
stop checkpoint TERM 5 sigma $long --checkpoint s.ck
refused 1 "is of a run with another matrix" sigma $hall --direction xy --vectors 2 --moments 40 --bounds=-3.1,3.1 --width 8 --resume s.ck
refused 1 "is of a run with another --direction" sigma ${long/xy/xx} --resume s.ck
refused 1 "is of a run with another matrix" sigma $long --peierls 0.06158402871356008 --resume s.ck
refused 1 "is of a run with --moments 40" sigma $long --moments 41 --resume s.ck
stop moments TERM 0.9 sigma $torus --direction xy $exact --checkpoint e.ck
ok sigma $torus --direction xy $exact --mu=0 --resume e.ck --json
cp out goes_on.json
ok sigma $torus --direction xy $exact --mu=0 --json
json out 'd["sigma"] == e["sigma"]' goes_on.json
ok sigma $long --checkpoint p.ck --plan --json
json out 'd["checkpoint_bytes"] >= 2 * 16 * 40 * 40'

# ---- files, plans
ok sigma $torus --direction xy --vectors 2 --moments 16 --mu=-1,0 -o s.csv
check "columns" grep -q '^mu,sigma,sigma_error,sigma_95,sigma_low,sigma_high$' s.csv
check "a row for each chemical potential" test "$(grep -c '^-1,\|^0,' s.csv)" = 2
if [ $have_gnuplot = 1 ]; then
    ok sigma $torus --direction xy --vectors 2 --moments 16 --plot s.svg
    check "a complete svg" grep -q '</svg>' s.svg
    check "its band and unit" sh -c 'grep -q "95% error band" s.svg && grep -q "σxy (e²/h)" s.svg'
    ok sigma $torus --direction xy $exact --mu=-1,1 --plot s.svg
fi
refused 2 "--plot needs two chemical potentials" sigma $torus --direction xy --mu 0 --plot s.svg
ok sigma $torus --direction xy --plan
check "sweeps, work and time" sh -c 'grep -q "^sweeps  *about" out && grep -q "^work  *about" out && grep -q "^time  *about .* moments" out'
ok sigma $torus --direction xy --plan --json
json out 'd["total_bytes"] <= d["bound_bytes"] and d["moments"] == 128 and d["vectors"] == 4 and d["sweeps"] == 1016 and
          0 < d["seconds"] < d["total_seconds"]'
refused 1 "more than --mem-limit" sigma $hall --direction xy --mem-limit 4MB

# ---- refusals
refused 2 "needs --direction xx, xy, .." sigma $torus
refused 2 "MATRIX is missing" sigma
refused 2 "expected one of xx|xy" sigma $torus --direction x
refused 2 "exclude each other" sigma $torus --direction xx --velocity-a x.mtx
refused 2 "--velocity-b needs --velocity-a" sigma $torus --direction xx --velocity-b x.mtx
refused 2 "--formula greenwood is for equal velocities" sigma $torus --direction xy --formula greenwood
refused 2 "--vectors and --trace exact" sigma $torus --direction xy --trace exact --vectors 2
refused 2 "it must be 0 or more" sigma $torus --direction xy --temperature=-1
for list in "" x 1, ,1 1:2 1:2:1 2:1:5 nan inf; do refused 2 "expected chemical potentials" sigma $torus --direction xy --mu="$list"; done
refused 2 "did you mean --mu?" sigma $torus --direction xy --fermi-energy 1
refused 1 "the matrix has eigenvalues beyond the bounds" sigma $torus --direction xy --bounds=-2,2
refused 1 "--bounds" sigma $torus --direction xy --bounds=-2,2

# Kept runs of other quantities are not taken together, and are what their own command says, the last time it says so.
if [ $have_hdf5 = 1 ]; then
    small="haldane:nx=5,ny=5,t2=0.1 --bounds=-3.5,3.5 --moments 8 --mu 0"
    ok sigma $small --direction xy --seed 1 --save one.h5
    ok sigma $small --direction xy --seed 2 --save two.h5
    ok sigma $small --direction xx --seed 3 --save other.h5
    ok sigma $small --direction xy --seed 4 --peierls 0.06158402871356008 --save field.h5
    ok sigma --from one.h5 --from two.h5 --mu 0
    refused 1 "one.h5 and other.h5 cannot be taken together: they are of other components of the conductivity" sigma --from one.h5 --from other.h5
    refused 1 "one.h5 and field.h5 cannot be taken together: their matrices have other entries" sigma --from one.h5 --from field.h5
    ok sigma $small --direction xy --volume 12 --seed 5 --save own.h5
    refused 1 "their volumes differ" sigma --from one.h5 --from own.h5
    ok gen haldane:nx=5,ny=5,t2=0.1 -o h.mtx
    ok gen haldane:nx=5,ny=5,t2=0.1 --velocity x -o vx.mtx
    ok gen haldane:nx=5,ny=5,t2=0.1 --velocity y -o vy.mtx
    mkdir "a --volume 7" && cp h.mtx "a --volume 7/"
    ok sigma "a --volume 7/h.mtx" --velocity-a vx.mtx --velocity-b vy.mtx --moments 8 --volume 2 --volume 4 --mu 0 --save own.h5 --json
    cp out own.json
    ok sigma --from own.h5 --mu 0 --json
    json out "d['volume'] == e['volume'] == 4 and close(d['sigma'], e['sigma'], 1e-12)" own.json
    refused 2 "for equal velocities" sigma --from own.h5 --mu 0 --formula greenwood
fi

finish
