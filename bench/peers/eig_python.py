"""Eigensolvers of Python's packages. PROGRAM FILE primme|scipy COUNT WHICH TOLERANCE: WHICH is SA, LA, or a number that
the eigenvalues shall be nearest to. One run, and one JSON line about it."""
import importlib, importlib.metadata, json, sys, time
import numpy as np
import scipy.sparse


def read(path):
    """A general, 0-based .crs file of double or complex double."""
    head = np.fromfile(path, np.int32, 5)
    rows, cols, entries = np.fromfile(path, np.int64, 3, offset=20)
    pointers, at = np.fromfile(path, np.int64, rows + 1, offset=44), 44 + 8 * (rows + 1)
    columns = np.fromfile(path, np.int64, entries, offset=at).astype(np.int32)
    values = np.fromfile(path, np.complex128 if head[4] == 10 else np.float64, entries, offset=at + 8 * entries)
    return scipy.sparse.csr_matrix((values, columns, pointers.astype(np.int32)), shape=(rows, cols))


def main():
    path, package, count, which, tolerance = sys.argv[1:]
    A = read(path)
    solvers = importlib.import_module("primme" if package == "primme" else "scipy.sparse.linalg")
    version = importlib.import_module(package).__version__ if package == "scipy" else importlib.metadata.version(package)
    began = time.monotonic()
    values, vectors = solvers.eigsh(A, k=int(count), which=which if which in ("SA", "LA") else float(which),
                                    tol=float(tolerance))
    seconds = time.monotonic() - began
    residual = np.linalg.norm(A @ vectors - vectors * values, axis=0).max()
    print(json.dumps({"version": f"{package} {version}", "seconds": seconds, "found": len(values),
                      "low": float(values.min()), "high": float(values.max()), "residual": float(residual)}))


main()
