import ctypes
import gc
import pickle
import types

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import DTYPES, hermitian, tolerance
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh

import wisp


@pytest.mark.parametrize("seed", range(12))
def test_products(seed):
    rng = np.random.default_rng(seed)
    dtype, rows, cols = DTYPES[seed % 4], *rng.integers(1, 60, 2)
    A = sp.random(rows, cols, 0.2, random_state=rng, format="csr").astype(dtype)
    X = rng.standard_normal((cols, [1, 3, 5, 33][seed // 4 % 4])).astype(dtype)
    wide = A.copy()
    wide.indices, wide.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    for made in (A, A.tocsc(), A.tocoo(), A.toarray(), wide):
        M = wisp.Matrix(made)
        assert M.shape == A.shape and M.dtype == dtype and M.nnz == A.nnz
        np.testing.assert_allclose(M @ X, A @ X, rtol=tolerance(dtype), atol=tolerance(dtype))
        y = M @ X[:, 0]
        assert y.shape == (rows,) and y.dtype == dtype
    np.testing.assert_allclose(wisp.Matrix(A, dtype="complex128") @ X, A @ X, rtol=1e-5, atol=1e-5)


def test_integers_and_empty_rows():
    A = sp.csr_matrix(np.diag([1, 0, 3]))
    M = wisp.Matrix(A)
    assert M.dtype == float
    assert (M @ np.ones(3)).tolist() == [1, 0, 3]
    assert (M @ np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("integers", [np.int32, np.int64])
def test_borrowed_in_place(integers, dtype):
    A = hermitian(2000, dtype, 1, 0.02)
    A.indices, A.indptr = A.indices.astype(integers), A.indptr.astype(integers)
    ctx = wisp.Context()
    before = ctx.memory[0]
    M = wisp.Matrix(A, copy=False, ctx=ctx)
    assert M.borrowed
    assert [a.ctypes.data for a in M._keep] == [a.ctypes.data for a in (A.indptr, A.indices, A.data)]
    assert ctx.memory[1] - before < A.indices.nbytes / 2
    x = np.ones(2000, dtype)
    np.testing.assert_allclose(M @ x, A @ x, rtol=1e-3, atol=1e-3)
    A.data *= 2
    np.testing.assert_allclose(M @ x, A @ x, rtol=1e-3, atol=1e-3)


def test_borrowed_arrays_live_as_long_as_the_matrix():
    A = hermitian(300, "float64", 2)
    expected = A @ np.ones(300)
    M = wisp.Matrix(A, copy=False)
    del A
    gc.collect()
    np.testing.assert_allclose(M @ np.ones(300), expected)
    with pytest.raises(ValueError, match="copy=False"):
        wisp.Matrix(hermitian(5, "float32", 0), copy=False, dtype=float)


def test_columns_in_any_order_are_copied():
    A = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), (2, 2))
    M = wisp.Matrix(A, copy=False, ctx=wisp.Context(log=lambda message: None))
    assert not M.borrowed
    assert (M @ [1, 10]).tolist() == [12, 30]


def test_gallery_and_files(tmp_path):
    M = wisp.gallery("topi", nx=4, ny=3, nz=2)
    assert M.shape == (96, 96) and M.dtype == complex
    same = pickle.loads(pickle.dumps(M))
    x = np.arange(96.0)
    np.testing.assert_array_equal(same @ x, M @ x)
    A = hermitian(20, "float64", 3)
    for form in ("csr", "csc", "coo", "bsr", "dia"):  # the library reads the first three
        sp.save_npz(tmp_path / "a.npz", A.asformat(form), compressed=form == "csc")
        np.testing.assert_allclose(wisp.Matrix(tmp_path / "a.npz") @ np.ones(20), A @ np.ones(20))
    assert pickle.loads(pickle.dumps(wisp.Matrix(str(tmp_path / "a.npz")))).shape == A.shape
    (tmp_path / "b.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:-9])
    with pytest.raises(wisp.FormatError, match="b.npz"):
        wisp.Matrix(tmp_path / "b.npz")
    with open(tmp_path / "a.mtx", "w") as f:
        f.write("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n")
    assert (wisp.Matrix(tmp_path / "a.mtx") @ [0, 1]).tolist() == [5, 0]
    with pytest.raises(OSError, match="none.mtx"):
        wisp.Matrix(tmp_path / "none.mtx")
    with pytest.raises(ValueError, match="topo"):
        wisp.Matrix("topo")


def test_rows_by_function():
    A = hermitian(3000, "complex128", 4, 0.005)
    M = wisp.Matrix.from_rows(lambda i: A[i[0]:i[-1] + 1], A.shape, int(np.diff(A.indptr).max()), dtype=complex)
    x = np.linspace(-1, 1, 3000)
    np.testing.assert_allclose(M @ x, A @ x)

    def broken(i):
        raise LookupError("no such row")

    with pytest.raises(LookupError, match="no such row"):
        wisp.Matrix.from_rows(broken, (10, 10), 3)


def chain_rows(arg, first, count, room, rowptr, col, val):
    """A ring of 1000 sites with 1 and 2j on its bonds, as wisp_many_fn gives rows."""
    n = 1000
    for i in range(count + 1):
        rowptr[i] = 2 * i
    if 0 < 2 * count <= room:
        for i in range(count):
            col[2 * i], col[2 * i + 1] = (first + i + 1) % n, (first + i + n - 1) % n
            up, down = (2.0, -2.0) if (first + i) % 2 else (1.0, 1.0)
            val[4 * i], val[4 * i + 1], val[4 * i + 2], val[4 * i + 3] = 0.0, up, 0.0, down
    return 2 * count


def check_chain(rows):
    M = wisp.Matrix.from_rows(rows, (1000, 1000), 2, dtype=complex)
    y = (M @ np.eye(1000)[:, [10, 999]]).T
    assert np.flatnonzero(y[0]).tolist() == [9, 11] and np.flatnonzero(y[1]).tolist() == [0, 998]
    assert y[0, 9] == 2j and y[0, 11] == -2j and y[1, 0] == 1j


def test_rows_by_an_address():
    integers, numbers = ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_double)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64,
                                 integers, integers, numbers)
    function = signature(chain_rows)
    check_chain(types.SimpleNamespace(address=ctypes.cast(function, ctypes.c_void_p).value))


def test_rows_by_numba():
    numba = pytest.importorskip("numba", reason="numba is not installed")
    t = numba.types
    signature = t.int64(t.voidptr, t.int64, t.int64, t.int64, t.CPointer(t.int64), t.CPointer(t.int64), t.CPointer(t.float64))

    check_chain(numba.cfunc(signature)(chain_rows))


def test_operators_both_ways():
    A = hermitian(120, "float64", 5)
    seen = []

    def matmat(X):
        seen.append(X.shape)
        return A @ X

    op = LinearOperator(A.shape, matvec=lambda x: A @ x, matmat=matmat, dtype=float)
    M = wisp.Matrix(op)
    X = np.random.default_rng(0).standard_normal((120, 5))
    np.testing.assert_allclose(M @ X, A @ X)
    assert seen == [(120, 5)]
    w = eigsh(wisp.Matrix(A).aslinearoperator(), 3, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(np.sort(w), np.linalg.eigvalsh(A.toarray())[-3:])
    a, b = (wisp.Matrix(B).spectral_density(4, 32, bounds=(-20, 20)).moments for B in (op, A))
    np.testing.assert_allclose(a, b, atol=1e-9)

    def fails(X):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        wisp.Matrix(LinearOperator((4, 4), matvec=fails, matmat=fails, dtype=float)) @ np.ones((4, 2))


def test_arrays_of_any_numbers():
    for kind in ("f2", ">f8", ">i4", "?", ">c8", "g"):
        A = np.array([[1, 0], [0, 1]]).astype(kind)
        np.testing.assert_array_equal(wisp.Matrix(A) @ [3.0, 5.0], [3, 5])


def test_a_matrix_of_a_matrix():
    """It has the entries, in any type, and the positions; products of numpy's arrays with one are refused in plain words."""
    H = wisp.gallery("haldane", nx=4, ny=5, t2=0.1, phi=0.5)
    with wisp.Context(threads=1) as other:
        for M in (H, H.peierls(0.0), wisp.Matrix(H.tocsr(), positions=H.positions), wisp.gallery("graphene", nx=3, ny=3)):
            for again in (wisp.Matrix(M), wisp.Matrix(M, ctx=M.ctx)):
                assert again.ctx in (M.ctx, other) and again.nnz == M.nnz and again.dtype == M.dtype
                assert abs(again.tocsr() - M.tocsr()).max() == 0
                np.testing.assert_array_equal(again.positions, M.positions)
                assert again.spectral_density(2, 8).bounds == pytest.approx(M.spectral_density(2, 8).bounds)
                assert abs(pickle.loads(pickle.dumps(again)).tocsr() - M.tocsr()).max() == 0
    assert wisp.Matrix(H, dtype="F").dtype == np.complex64
    op = wisp.Matrix(aslinearoperator(H.tocsr()))
    np.testing.assert_allclose(wisp.Matrix(op) @ np.ones(40), H @ np.ones(40))
    with pytest.raises(ValueError, match="copy=False"):
        wisp.Matrix(H, copy=False)
    with pytest.raises(TypeError, match="unsupported operand"):
        np.ones(40) @ H
    with pytest.raises(TypeError, match="^spectral_density: .*'nvectors'"):
        H.spectral_density(nvectors=3)
    with pytest.raises(TypeError, match="a Context can't be pickled"):
        pickle.dumps(H.ctx)


def test_pickled_matrices(dtype):
    A, at = hermitian(30, dtype, 4), np.arange(60.0).reshape(30, 2)
    x = np.linspace(-1, 1, 30)
    for M in (wisp.Matrix(A, positions=at, cell=[[100, 0]]), wisp.Matrix(A, copy=False, positions=at),
              wisp.Matrix(aslinearoperator(A), positions=at), wisp.Matrix(A, positions=at).velocity("x")):
        same = pickle.loads(pickle.dumps(M))
        assert same.dtype == M.dtype and same.nnz == M.nnz
        np.testing.assert_allclose(same @ x, M @ x, rtol=1e-5)
        if M.positions is not None:
            np.testing.assert_array_equal(same.positions, at)
    sheet = wisp.gallery("square", nx=6, ny=6).peierls(1 / 36)
    same = pickle.loads(pickle.dumps(sheet))
    np.testing.assert_array_equal(same.positions, sheet.positions)
    assert same.conductivity("x", "y", 1, 4).volume == 36


def test_wrong_arguments():
    M = wisp.Matrix(np.eye(3))
    for wrong in (lambda: M @ np.ones(4), lambda: M @ np.ones((3, 1, 1)), lambda: wisp.Matrix(np.ones(3)),
                  lambda: wisp.Context(memory_limit="twenty"), lambda: wisp.Context(level="loud"),
                  lambda: wisp.Context(threads=-1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(TypeError):
        wisp.Matrix(np.array([["a"]]))
    with pytest.raises(NotImplementedError):
        wisp.Context(device="abacus")
    with pytest.raises((AttributeError, pickle.PicklingError)):  # what its functions say
        pickle.dumps(wisp.Matrix(LinearOperator((3, 3), matvec=lambda x: x, dtype=float)))


def test_memory_limit_and_log():
    said = []
    with wisp.Context(threads=1, memory_limit="1MB", log=said.append, level="debug") as ctx:
        assert ctx.threads == 1
        with pytest.raises(MemoryError):
            wisp.gallery("topi", nx=40, ny=40, nz=20)
        wisp.gallery("topi", nx=4, ny=4, nz=2)
    assert said
    assert wisp.Matrix(np.eye(2)).ctx is not ctx
