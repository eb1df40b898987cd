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
multiply() { python3 multiply.py "$@" || fail "multiply $*"; }
same() { check "$1" cmp -s <(grep -v '^[#%]' "$2") <(grep -v '^[#%]' "$3"); } # same WHAT FILE FILE: but for comments

if [ $have_python = 1 ]; then
    # ---- evolve: the start is normalised, whatever its numbers are
    printf '%%%%MatrixMarket matrix coordinate complex general\n64 1 4\n1 1 1 2\n17 1 -3 1\n40 1 0.5 0\n64 1 0 5\n' >start.mtx
    chain=laplace:nx=64,ny=1,nz=1
    for precision in double single; do
        ok evolve $chain --time 2 --steps 4 --start start.mtx --precision $precision -o one.csv --quiet
        [ $precision = double ] && exponents="-1000 -665 -540 540 665 1000" || exponents="-120 -75 75 120"
        for exponent in $exponents; do
            multiply start.mtx scaled.mtx "$exponent"
            ok evolve $chain --time 2 --steps 4 --start scaled.mtx --precision $precision -o scaled.csv --quiet
            same "evolve: a start times 2^$exponent, $precision" one.csv scaled.csv
        done
    done
fi
finish
