"""A sparse matrix from Python to wisp: H, any sparse matrix of scipy, to a file that `wisp dos H.crs` reads.
From Kwant: H = syst.finalized().hamiltonian_submatrix(sparse=True)"""
import numpy as np


def write_crs(path, H):
    H = H.tocsr()  # of CSC, COO, ... as well
    if H.dtype.char not in "fdFD":  # whole numbers, for example
        H = H.astype("D" if H.dtype.kind == "c" else "d")
    kind = {"f": 1 + 4, "d": 2 + 4, "F": 1 + 8, "D": 2 + 8}[H.dtype.char]
    with open(path, "wb") as f:
        np.array([0, 1, 0, 1, kind], "<i4").tofile(f)  # little endian, version 1, from 0, general
        np.array([*H.shape, H.nnz], "<i8").tofile(f)
        H.indptr.astype("<i8").tofile(f)  # whatever type scipy's indices have
        H.indices[: H.nnz].astype("<i8").tofile(f)
        H.data[: H.nnz].tofile(f)
