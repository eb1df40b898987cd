#!/bin/bash
# The examples do what the README says. $1 command, $2 source folder, $3 scratch folder.
set -euo pipefail
wisp=$1 source=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
export XDG_CACHE_HOME=$PWD/cache

# The C examples: the density of states integrates to the number of sites.
integral() { # of file $1, should be $2
    awk -v want="$2" '{ if (NR > 1) sum += ($1 - e) * ($2 + d) / 2; e = $1; d = $2 }
        END { if (sum < want * 0.999 || sum > want * 1.001) { print "integral is", sum; exit 1 } }' "$1"
}
"$(dirname "$wisp")"/examples/row_callback 3001 >chain.txt
integral chain.txt 3001
"$(dirname "$wisp")"/examples/apply_callback 60 >lattice.txt
integral lattice.txt 3600
"$(dirname "$wisp")"/examples/surface 12 8 >surface.txt
integral surface.txt 576
# Linear systems: each right-hand side within the tolerance.
"$(dirname "$wisp")"/examples/solve laplace:nx=20,ny=20,nz=20 5 >systems.txt
awk '/^column/ { n++; if ($4 > 1e-8) { print "residual", $4; exit 1 } } END { if (n != 5) { print n, "columns"; exit 1 } }' systems.txt
# The Fermi function: half of the states of a lattice of two kinds of sites is filled, on each of them.
"$(dirname "$wisp")"/examples/fermi graphene:nx=20,ny=20 0 0.05 >fermi.txt
awk '/^electrons/ { e = $2 < 380 || $2 > 420 } /^density/ { d = $5 < 0.499999999 || $5 > 0.500000001; n++ } END { exit e || d || n != 1 }' fermi.txt || { cat fermi.txt; exit 1; }
# Two solvers in tasks, then a word on both.
"$(dirname "$wisp")"/examples/tasks laplace:nx=20,ny=20,nz=20 laplace:nx=10,ny=10,nz=10 >tasks.txt
[ "$(grep -c ' iterations on ' tasks.txt)" = 2 ] && [ "$(tail -n 1 tasks.txt)" = "the harder one: laplace:nx=20,ny=20,nz=20" ] || { cat tasks.txt; exit 1; }
# Eigenpairs: 12 nearest to 0, their multiplets completed, all within the tolerance.
"$(dirname "$wisp")"/examples/eig >pairs.txt 2>/dev/null
awk '/^eigenvalue/ { n++; if ($4 > 1e-9 || $2 * $2 > 0.35) { print "eigenvalue", $2, $4; exit 1 } } END { if (n < 12) { print n, "eigenvalues"; exit 1 } }' pairs.txt
grep -q 'found, complete$' pairs.txt
# A run that is killed and goes on ends like one that was not.
checkpoint=$(dirname "$wisp")/examples/checkpoint
cells=topi:nx=12,ny=12,nz=8
[ -z "${SANITIZED:-}" ] || cells=topi:nx=6,ny=6,nz=4
"$checkpoint" $cells whole.state 1000 | grep -o 'moment 2: [^;]*' >whole.txt
"$checkpoint" $cells parts.state 0.01 >parts.txt &
until [ -e parts.state ] || ! kill -0 $! 2>/dev/null; do :; done
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || true
if [ -e parts.state ]; then
    "$checkpoint" $cells parts.state >parts.txt
    grep -q 'going on from parts.state' parts.txt
fi
grep -o 'moment 2: [^;]*' parts.txt | cmp - whole.txt
# Potentials of +-1 in turn: no states between them.
awk '$1 > -0.9 && $1 < 0.9 && $2 > most { most = $2 } END { if (most > 20) { print "in the gap:", most; exit 1 } }' lattice.txt

# The recipe from Python, on a small ring whose second moment is known: tr H^2 = 2 n |t|^2.
python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import numpy' 2>/dev/null; then python=$p; break; fi
done
if [ -z "$python" ]; then
    echo "left out: the recipe from Python, for there is no python3 with numpy"
    exit 77 # to ctest: skipped
fi
PYTHONPATH="$source/examples" "$python" - <<'PY'
import numpy as np
from write_crs import write_crs


class Sparse:
    """As much of scipy's sparse matrices as the recipe uses."""

    def __init__(self, dense, format="csr", index=np.int32, room=0):
        rows = dense if format == "csr" else dense.T
        where = [np.flatnonzero(row) for row in rows]
        self.dense, self.format, self.index, self.dtype, self.shape = dense, format, index, dense.dtype, dense.shape
        self.indptr = np.cumsum([0] + [len(w) for w in where]).astype(index)
        self.nnz = int(self.indptr[-1])
        self.indices = np.concatenate(where + [np.full(room, 7)]).astype(index)
        self.data = np.concatenate([row[w] for row, w in zip(rows, where)] + [np.full(room, 7)]).astype(dense.dtype)

    def tocsr(self):
        return self if self.format == "csr" else Sparse(self.dense, "csr", self.index)

    def astype(self, type):
        return Sparse(self.dense.astype(type), self.format, self.index)


n = 60
H = np.zeros((n, n), complex)
t = 0.6 + 0.8j
for i in range(n):
    H[i, (i - 1) % n] = t
    H[i, (i + 1) % n] = t.conjugate()
write_crs("ring.crs", Sparse(H))
# Not symmetric, so that columns taken for rows would show.
A = np.array([[0, 5, 0, 1], [0, 0, 7, 0], [2, 0, 3, 0]], float)
write_crs("csr.crs", Sparse(A))
write_crs("csc.crs", Sparse(A, "csc"))
write_crs("int64.crs", Sparse(A, "csc", np.int64))
write_crs("whole.crs", Sparse(A.astype(np.int64), "csr", np.int64))
write_crs("room.crs", Sparse(A, "csr", np.int64, room=3))
try:
    import scipy.sparse
except ImportError:
    print("no scipy: its place is taken")
else:
    for name in ("csr", "csc", "coo"):
        H = scipy.sparse.csr_matrix(A).asformat(name)
        if name != "coo":
            H.indices, H.indptr = H.indices.astype(np.int64), H.indptr.astype(np.int64)
        write_crs("scipy-" + name + ".crs", H)
PY
"$wisp" convert csr.crs csr.mtx --quiet
grep -v '^%' csr.mtx >entries
printf '3 4 5\n1 2 5\n1 4 1\n2 3 7\n3 1 2\n3 3 3\n' | cmp - entries
for name in csc int64 whole room scipy-csr scipy-csc scipy-coo; do
    case $name in scipy*) [ -e $name.crs ] || continue ;; esac
    cmp csr.crs $name.crs
done
# The second block of Python in the README is this one; the first is tested by the package (python/tests).
awk '/^```$/ { on = 0 } on; /^```python$/ { on = seen++ }' "$source/README.md" >readme.py
sed -n '/^import numpy/,$p' "$source/examples/write_crs.py" | cmp - readme.py
"$wisp" dos ring.crs --trace exact --moments 64 --bounds -2.5,2.5 --json >ring.json
"$python" - <<'PY'
import json
r = json.load(open("ring.json"))
mu, n, h = r["moments"], 60, r["bounds"]["halfwidth"]
second = (mu[2] + mu[0]) / 2 * h * h
assert r["rows"] == n and r["nnz"] == 2 * n, r
assert abs(second - 2 * n) < 1e-10 * n, second
PY
