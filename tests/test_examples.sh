#!/bin/bash
# The examples do what the README says. $1 command, $2 source folder, $3 scratch folder.
set -euo pipefail
wisp=$1 source=$2 scratch=$3
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"

# The C example: the density of states integrates to the number of sites.
"$(dirname "$wisp")"/examples/row_callback 3001 >chain.txt
awk '{ if (NR > 1) sum += ($1 - e) * ($2 + d) / 2; e = $1; d = $2 }
     END { if (sum < 3001 * 0.999 || sum > 3001 * 1.001) { print "integral is", sum; exit 1 } }' chain.txt

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
from types import SimpleNamespace
from write_crs import write_crs
n = 60
rows = [[(i - 1) % n, (i + 1) % n] for i in range(n)]
t = 0.6 + 0.8j
data = np.array([[t, t.conjugate()] for i in range(n)], dtype=complex).ravel()
H = SimpleNamespace(dtype=data.dtype, shape=(n, n), nnz=2 * n, data=data,
                    indptr=np.arange(0, 2 * n + 1, 2, dtype=np.int32), indices=np.array(rows, dtype=np.int32).ravel())
write_crs("ring.crs", H)
PY
"$wisp" dos ring.crs --trace exact --moments 64 --bounds -2.5,2.5 --json >ring.json
"$python" - <<'PY'
import json
r = json.load(open("ring.json"))
mu, n, h = r["moments"], 60, r["bounds"]["halfwidth"]
second = (mu[2] + mu[0]) / 2 * h * h
assert r["rows"] == n and r["nnz"] == 2 * n, r
assert abs(second - 2 * n) < 1e-10 * n, second
PY
