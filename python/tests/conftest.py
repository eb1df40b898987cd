import signal

import numpy as np
import pytest
import scipy.sparse as sp

DTYPES = ["float32", "float64", "complex64", "complex128"]


def hermitian(n, dtype, seed, density=0.1):
    """A random sparse Hermitian matrix, with a full diagonal."""
    rng = np.random.default_rng(seed)
    A = sp.random(n, n, density, random_state=rng, format="csr")
    A.data = rng.standard_normal(A.nnz)
    if np.dtype(dtype).kind == "c":
        A = A + 1j * sp.csr_matrix((rng.standard_normal(A.nnz), A.indices, A.indptr), A.shape)
    A = A + A.conj().T + sp.diags(rng.standard_normal(n))
    A = A.astype(dtype).tocsr()
    A.sort_indices()
    return A


def tolerance(dtype):
    return 2e-4 if np.finfo(dtype).bits == 32 else 1e-9


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def ctrl_c():
    """As in a terminal: where tests are started in the background, Ctrl-C may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
