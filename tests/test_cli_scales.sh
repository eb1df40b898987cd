#!/bin/bash
# Units: what a command says of a matrix, a right-hand side or a start that is times a power of two has the same digits.
. "$2/tests/cli.sh"

# multiply IN OUT EXPONENT: the entries of a coordinate file times 2^EXPONENT, in all their digits.
cat >multiply.py <<'PY'
import math, sys
head, *lines = [line.split() for line in open(sys.argv[1]) if line[:1] != "%" or line[:2] == "%%"]
size, *lines = lines
with open(sys.argv[2], "w") as out:
    print(*head, file=out)
    print(*size, file=out)
    for i, j, *value in lines:
        print(i, j, *("%.17g" % math.ldexp(float(v), int(sys.argv[3])) for v in value), file=out)
PY
multiply() { holds multiply.py "$@" || fail "multiply $*"; }
cat >in_units.py <<'PY'
import math, sys
def read(name):
    return [float(line) for line in [l for l in open(name) if l[:1] != "%"][1:]]
x, exponent, y = read(sys.argv[1]), int(sys.argv[2]), read(sys.argv[3])
sys.exit(not (0 < len(x) == len(y) and all(math.ldexp(a, exponent) == b for a, b in zip(x, y))))
PY
in_units() { check "$1" holds in_units.py "${@:2}"; } # in_units WHAT X EXPONENT Y: y is x times 2^EXPONENT, digit by digit
same() { check "$1" cmp -s <(grep -v '^[#%]' "$2") <(grep -v '^[#%]' "$3"); } # same WHAT FILE FILE: but for comments

# some EXPONENTS...: all of them, or the first one for a sanitizer, to which digits are nothing.
some() { if [ -n "${SANITIZED:-}" ]; then echo "$1"; else echo "$*"; fi; }

if [ $have_python = 1 ]; then
    # ---- evolve: the start is normalised, whatever its numbers are
    printf '%%%%MatrixMarket matrix coordinate complex general\n64 1 4\n1 1 1 2\n17 1 -3 1\n40 1 0.5 0\n64 1 0 5\n' >start.mtx
    chain=laplace:nx=64,ny=1,nz=1
    for precision in double single; do
        ok evolve $chain --time 2 --steps 4 --start start.mtx --precision $precision -o one.csv --quiet
        [ $precision = double ] && exponents=$(some -1000 -665 -540 540 665 1000) || exponents=$(some -120 -75 75 120)
        for exponent in $exponents; do
            multiply start.mtx scaled.mtx "$exponent"
            ok evolve $chain --time 2 --steps 4 --start scaled.mtx --precision $precision -o scaled.csv --quiet
            same "evolve: a start times 2^$exponent, $precision" one.csv scaled.csv
        done
    done

    # ---- power: vectors and norms in the unit of the start; squares that are none are told
    printf '%%%%MatrixMarket matrix array real general\n64 2\n' >start.mtx
    for ((i = 1; i <= 64; i++)); do echo $((i % 7 - 3)); done >>start.mtx
    for ((i = 1; i <= 64; i++)); do echo 0; done >>start.mtx
    for precision in double single; do
        [ $precision = double ] && exponents=$(some -1000 -540 540 1000) || exponents=$(some -110 -75 75 110)
        ok power $chain -p 3 --start start.mtx --precision $precision --all -o one.mtx --json
        cp out one.json
        for exponent in $exponents; do
            python3 -c 'import math, sys
head = 2
for i, line in enumerate(open(sys.argv[1])):
    print(line.strip() if i < head else "%.17g" % math.ldexp(float(line), int(sys.argv[2])))' start.mtx "$exponent" >scaled.mtx
            ok power $chain -p 3 --start scaled.mtx --precision $precision --all -o scaled-all.mtx --json
            in_units "power: a start times 2^$exponent, $precision" one.mtx "$exponent" scaled-all.mtx
            json out "all(y == math.ldexp(x, $exponent) for a, b in zip(d['norms'], e['norms']) for y, x in zip(a, b))" one.json
        done
        printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 0\n2 3 0\n' >zero.mtx
        ok power zero.mtx -p 2 --precision $precision --json # of which nothing underflows
        json out "d['norms'][1:] == [[0], [0]]"
        [ $precision = double ] && scale=1e-320 || scale=1e-40
        refused 1 "v_1 underflows in $precision: --scale" power $chain -p 3 --start start.mtx --precision $precision --scale $scale
        [ $precision = double ] && scale=1e-60 || scale=1e-8
        refused 1 "underflows in $precision: the norm falls about" power $chain -p 30 --start start.mtx --precision $precision --scale $scale
        [ $precision = double ] && scale=1e60 || scale=1e8
        refused 1 "overflows in $precision: the norm grows about" power $chain -p 30 --start start.mtx --precision $precision --scale $scale
        # a product that is 0, or has lost digits, before a large factor takes it back to size
        [ $precision = double ] && small=1e-271 starts="1e-60 1e-49" scale=1e271 || small=1e-30 starts="1e-20 3e-12" scale=1e30
        printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 %s\n2 1 %s\n' $small $small >faint.mtx
        for first in $starts; do
            printf '%%%%MatrixMarket matrix array real general\n2 1\n%s\n0\n' $first >faint_start.mtx
            refused 1 "A v_0 underflows in $precision before it is scaled" power faint.mtx -p 3 --start faint_start.mtx --precision $precision --scale $scale
        done
        # so, too, where another row of the matrix is large
        printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 %s\n' $small >uneven.mtx
        printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n%s\n' "${starts##* }" >faint_start.mtx
        refused 1 "A v_0 underflows in $precision before it is scaled" power uneven.mtx -p 3 --start faint_start.mtx --precision $precision --scale $scale
        printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n0\n' >faint_start.mtx
        ok power faint.mtx -p 3 --start faint_start.mtx --precision $precision --scale $scale --json
        json out 'all(abs(n[0] - 1) < 1e-6 for n in d["norms"])'
    done
    # a column of zeros, and one that a matrix takes to 0
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n' >nilpotent.mtx
    printf '%%%%MatrixMarket matrix array real general\n2 2\n0\n0\n1\n3\n' >two.mtx
    for start in two.mtx /dev/stdin; do
        ok power nilpotent.mtx -p 3 --start $start --json < <(cat two.mtx)
        json out 'd["norms"] == [[0, 10 ** 0.5], [0, 3], [0, 0], [0, 0]]'
    done
    # what is small in a matrix beside large numbers
    printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 9.5367431640625e-07\n' >graded.mtx
    printf '%%%%MatrixMarket matrix array real general\n2 1\n0\n1\n' >second.mtx
    ok power graded.mtx -p 6 --start second.mtx --precision single --json
    json out '[n[0] for n in d["norms"]] == [2.0 ** (-20 * k) for k in range(7)]'

    # ---- eig: eigenvalues times the same power of two, by every method
    cat >alike.py <<'PY'
import json, math, sys
one, other = (json.load(open(f)) for f in sys.argv[1:3])
exponent, rounding = int(sys.argv[3]), float(sys.argv[4])
def flat(values): return [x for v in values for x in (v if isinstance(v, list) else [v])]
assert one["found"] == other["found"] > 0 and one["complete"] and other["complete"]
assert one["hermitian"] == other["hermitian"]
a, b = flat(one["eigenvalues"]), [math.ldexp(x, -exponent) for x in flat(other["eigenvalues"])]
assert all(abs(x - y) <= rounding * max(map(abs, a + [1])) for x, y in zip(a, b)), (a, b)
assert max(other["residuals"]) <= other["tolerance"]
PY
    times() { python3 -c 'import math, sys; print(",".join(repr(math.ldexp(float(x), int(sys.argv[2]))) for x in sys.argv[1].split(",")))' "$@"; }
    # eigenvalues MATRIX PRECISION METHOD QUESTION [NUMBERS]: NUMBERS are in the matrix's units
    eigenvalues() {
        multiply "$1" one.mtx 0
        local numbers=${5:-} more=
        [ "$3" = lanczos ] && more=--tol-abs=
        local by_one=${more:+$more$(times 0.003 0)}
        ok eig one.mtx --method "$3" "$4${numbers:+=$numbers}" ${by_one:+"$by_one"} --precision "$2" --json --quiet && cp out one.json
        [ "$2" = double ] && exponents=$(some -1000 -540 1000) || exponents=$(some -120 -67 120)
        for exponent in $exponents; do
            multiply "$1" scaled.mtx "$exponent"
            by_one=${more:+$more$(times 0.003 "$exponent")}
            ok eig scaled.mtx --method "$3" "$4${numbers:+=$(times "$numbers" "$exponent")}" ${by_one:+"$by_one"} --precision "$2" --json --quiet
            check "eig $1, $2, $3, times 2^$exponent" holds alike.py one.json out "$exponent" $([ "$2" = double ] && echo 1e-7 || echo 1e-3)
        done
    }
    ok gen topi:nx=4,ny=4,nz=4,disorder=1 -o wave.mtx
    ok gen matpde:nx=16,ny=16 -o flow.mtx
    ok gen hubbard:sites=6,up=3,down=3,U=3,disorder=1 -o levels.mtx
    for precision in double single; do
        eigenvalues wave.mtx $precision dense --interval -0.5,0.5
        eigenvalues levels.mtx $precision chebfd --interval 0,0.3
        eigenvalues levels.mtx $precision chebfd --target 0.1
        eigenvalues levels.mtx $precision lanczos --smallest=3
        eigenvalues flow.mtx $precision krylov-schur --largest-real=3
        eigenvalues flow.mtx $precision dense --smallest=3
    done

    # ---- solve: a right-hand side or a matrix of any unit
    ok gen laplace:nx=6,ny=5,nz=4 -o A.mtx --quiet
    printf '%%%%MatrixMarket matrix coordinate real general\n120 1 4\n1 1 3\n17 1 -5\n40 1 0.5\n120 1 7\n' >b.mtx
    for precision in double single; do
        [ $precision = double ] && exponents=$(some -1000 1000) || exponents=$(some -110 110)
        for method in cg minres gmres bicgstab idr "cg --precond jacobi" "minres --precond block-jacobi" \
            "cg --precond chebyshev" "gmres --precond neumann"; do
            ok solve A.mtx --rhs b.mtx --method $method --precision $precision -o x.mtx --quiet
            for exponent in $exponents; do
                multiply b.mtx scaled.mtx "$exponent"
                ok solve A.mtx --rhs scaled.mtx --method $method --precision $precision -o y.mtx --quiet
                in_units "solve: b times 2^$exponent, $method, $precision" x.mtx "$exponent" y.mtx
                multiply A.mtx scaled.mtx "$exponent"
                ok solve scaled.mtx --rhs b.mtx --method $method --precision $precision -o y.mtx --quiet
                in_units "solve: A times 2^$exponent, $method, $precision" x.mtx "$((-exponent))" y.mtx
            done
        done
    done
    # x of which the type has no digits is refused, and never 0
    printf '%%%%MatrixMarket matrix coordinate real general\n120 1 1\n1 1 1e-320\n' >b.mtx
    refused 1 "too small for double numbers" solve A.mtx --rhs b.mtx

    # ---- numbers of a file that single precision has not, or not in all their digits, are refused, and never 0
    for number in 1e-50 1e-44; do
        printf '%%%%MatrixMarket matrix coordinate real general\n120 2 3\n1 1 1\n1 2 %s\n17 2 %s\n' $number $number >b.mtx
        refused 1 "the numbers of column 1 (counted from 0) are too small for single" solve A.mtx --rhs b.mtx --precision single
        ok solve A.mtx --rhs b.mtx --precision double -o x.mtx --quiet
        printf '%%%%MatrixMarket matrix coordinate real symmetric\n120 120 3\n1 1 %s\n2 1 %s\n120 120 %s\n' $number $number $number >low.mtx
        for run in "eig --smallest 2" solve "evolve --time 1 --site 0" "count --interval 0,1" "power -p 1"; do
            refused 1 "the matrix's numbers are too small for single" ${run%% *} low.mtx $([ "$run" = solve ] || echo ${run#* }) --precision single
        done
    done
    for exponent in $(some -1000 -166 -133 133 1000); do # auto takes double precision there
        multiply A.mtx scaled.mtx $exponent
        for run in "dos --resolution=$(times 0.1 $exponent)" "count --interval=0,$(times 3 $exponent)"; do
            ok $run scaled.mtx --precision auto --json --quiet
            check "$run, auto, times 2^$exponent" grep -q '"type": "double"' out
        done
    done
    printf '%%%%MatrixMarket matrix coordinate real general\n120 1 2\n1 1 1\n17 1 1e40\n' >b.mtx
    refused 1 "row 16, column 0 (counted from 0) holds 1e+40, too large for single" solve A.mtx --rhs b.mtx --precision single
    # small ones beside others are rounded, on whatever rank they are
    printf '%%%%MatrixMarket matrix coordinate real general\n120 1 2\n1 1 1\n120 1 1e-50\n' >b.mtx
    printf '%%%%MatrixMarket matrix coordinate real symmetric\n120 120 2\n1 1 1\n120 120 1e-50\n' >low.mtx
    for ranks in 1 3; do
        WISP_RANKS=$ranks ok solve A.mtx --rhs b.mtx --precision single -o x.mtx --quiet
        WISP_RANKS=$ranks ok eig low.mtx --largest 1 --precision single --quiet
    done
fi
finish
