import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from conftest import hermitian, tolerance

import wisp


@pytest.mark.parametrize("seed", range(3))
def test_eigs(dtype, seed):
    n = [20, 150, 400][seed]
    A = hermitian(n, dtype, seed, 5 / n)
    w = np.linalg.eigvalsh(A.toarray().astype(complex))
    M, tol = wisp.Matrix(A), 50 * tolerance(dtype)
    for which, expected in (("SA", w[:4]), ("LA", w[-4:])):
        found = M.eigs(4, which)
        np.testing.assert_allclose(found.values, expected, atol=tol)
        values, vectors = found
        assert np.isrealobj(values) and vectors.shape == (n, 4) and found.complete
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=10 * tol)
        np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(4), atol=10 * tol)
    near = w[n // 3] + 1e-3
    np.testing.assert_allclose(np.sort(M.eigs(3, target=near).values), np.sort(w[np.argsort(abs(w - near))[:3]]), atol=tol)
    np.testing.assert_allclose(M.eigs(3, sigma=near).values, M.eigs(3, target=near).values, atol=tol)
    inside = M.eigs(interval=((w[3] + w[4]) / 2, (w[8] + w[9]) / 2))
    np.testing.assert_allclose(inside.values, w[4:9], atol=tol)


def test_eigs_of_other_matrices():
    A = np.random.default_rng(0).standard_normal((60, 60))
    w = np.linalg.eigvals(A)
    found = wisp.Matrix(A).eigs(2, "LR")
    assert found.values.real.max() == pytest.approx(w.real.max(), abs=1e-6)
    np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-5)


@pytest.mark.parametrize("dtype", [float, complex, np.float32, np.complex64])
def test_eigs_next_to_a_complex_number(dtype):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((70, 70)).astype(dtype)
    if np.iscomplexobj(A):
        A += 1j * rng.standard_normal((70, 70)).astype(A.real.dtype)
    w, tol = np.linalg.eigvals(A.astype(complex)), 1e-6 if A.dtype.itemsize // (1 + np.iscomplexobj(A)) == 8 else 1e-2
    for near in (1 + 3j, np.complex128(-2 - 4j), 3):
        found = wisp.Matrix(A).eigs(4, sigma=near)
        assert found.complete and found.vectors.dtype.kind == "c"
        np.testing.assert_allclose(np.sort(abs(found.values - near))[:4], np.sort(abs(w - near))[:4], atol=tol)
        np.testing.assert_allclose(A @ found.vectors, found.vectors * found.values, atol=10 * tol)
    with pytest.raises(wisp.NotHermitianError, match="target is 1\\+2i, and a Hermitian matrix"):
        wisp.Matrix(A + A.conj().T).eigs(2, target=1 + 2j)


def test_eigs_dense_by_scipys_lapack():
    for dtype in (float, complex):
        A = hermitian(80, dtype, 9)
        found = wisp.Matrix(A).eigs(5, method="dense")
        assert found.method == "dense" and found.proof == "all"
        np.testing.assert_allclose(found.values[:5], np.linalg.eigvalsh(A.toarray())[:5], atol=1e-9)


def test_eigs_of_a_multiplet():
    """All of the last one's, or as many as make k."""
    H = wisp.Matrix(sp.diags(np.r_[-1.0, np.repeat(0.0, 5), 1 + np.arange(600) / 600]).tocsr())
    for k, whichever, found in ((3, False, 6), (3, True, 3), (6, True, 6)):
        E = H.eigs(k, "SA", any=whichever)
        assert np.allclose(E.values, [-1, 0, 0, 0, 0, 0][:found], atol=1e-7)


def test_eigs_says_what_is_missing():
    M = wisp.gallery("anderson", nx=12, ny=12, nz=12, disorder=5)
    with pytest.raises((wisp.ConvergenceError, wisp.IncompleteError)) as caught:
        M.eigs(40, maxiter=1, method="lanczos")
    found = caught.value.result
    assert isinstance(found, wisp.Eigenpairs) and not found.complete and found.proof is None and len(found.values) < 40
    for wrong in (dict(which="XX"), dict(k=0), dict(method="qr"), dict(target=0, interval=(0, 1))):
        with pytest.raises(ValueError):
            M.eigs(**wrong)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 40)])
def test_svds(dtype, shape):
    rng = np.random.default_rng(sum(shape))
    A = rng.standard_normal(shape)
    A = (A + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else A).astype(dtype)
    w, M, tol = np.sort(np.linalg.svd(A, compute_uv=False)), wisp.Matrix(A), 50 * tolerance(dtype)
    for found, expected in ((M.svds(3), w[-3:]), (M.svds(2, "SM"), w[:2]),
                            (M.svds(interval=((w[3] + w[4]) / 2, (w[7] + w[8]) / 2)), w[4:8])):
        u, s, vh = found
        assert found.complete and found.residuals.shape == s.shape
        np.testing.assert_allclose(s, expected, atol=tol * w[-1])
        np.testing.assert_allclose(A @ vh.conj().T, u * s, atol=tol * w[-1])
        np.testing.assert_allclose(u.conj().T @ u, np.eye(len(s)), atol=tol)
        np.testing.assert_allclose(vh @ vh.conj().T, np.eye(len(s)), atol=tol)


def test_svds_says_what_is_missing():
    M = wisp.gallery("anderson", nx=12, ny=12, nz=12, disorder=5)
    with pytest.raises((wisp.ConvergenceError, wisp.IncompleteError)) as caught:
        M.svds(40, maxiter=1, method="lanczos")
    found = caught.value.result
    assert isinstance(found, wisp.SingularTriplets) and not found.complete and len(found.values) < 40
    for wrong in (dict(which="LA"), dict(k=0), dict(k=2000), dict(method="qr"), dict(interval=(-1, 1))):
        with pytest.raises(ValueError):
            M.svds(**wrong)
    with pytest.raises(NotImplementedError):
        wisp.Matrix(M.aslinearoperator()).svds(2)


@pytest.mark.parametrize("seed", range(3))
def test_solve(dtype, seed):
    n = [10, 80, 300][seed]
    rng = np.random.default_rng(seed)
    A = hermitian(n, dtype, seed, 4 / n)
    A.setdiag(A.diagonal() + 30)
    A = A.tocsr()
    B = rng.standard_normal((n, 3)).astype(dtype)
    exact = np.linalg.solve(A.toarray().astype(complex), B)
    M, tol = wisp.Matrix(A), 10 * tolerance(dtype)
    for options in ({}, {"method": "gmres"}, {"method": "bicgstab", "precond": "jacobi"}, {"method": "idr"},
                    {"method": "idr", "shadow": 2, "precond": "jacobi"}, {"precond": "ilu", "side": "left"},
                    {"method": "bicgstab", "precond": "jacobi", "side": "left"}, {"method": "minres"}):
        X, info = M.solve(B, **options)
        assert info.converged and info.residuals.shape == (3,) and X.dtype == B.dtype
        np.testing.assert_allclose(X, exact, atol=tol)
    true = np.linalg.norm(B - A @ X, axis=0) / np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(info.residuals, true, atol=tol)
    assert info.history.size == info.iterations + 1
    x, again = M.solve(B[:, 0], x0=X[:, 0])
    assert x.shape == (n,) and again.iterations <= info.iterations


@pytest.mark.parametrize("shape", [(40, 15), (15, 40), (20, 20)])
def test_least_squares(dtype, shape):
    rng = np.random.default_rng(5)
    A = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        A = A + 1j * rng.standard_normal(shape)
    A = A.astype(dtype)
    b = rng.standard_normal((shape[0], 2)).astype(dtype)
    tol = 1e3 * tolerance(dtype)
    M = wisp.Matrix(A)
    for damp in (0, 2):
        x, info = M.solve(b, method="lsmr" if shape[0] == shape[1] else None, damp=damp)
        whole = np.vstack([A, damp * np.eye(shape[1])]).astype(complex)
        exact = np.linalg.lstsq(whole, np.vstack([b, np.zeros((shape[1], 2))]), rcond=None)[0]
        assert info.converged and info.method == "lsmr" and info.optimalities.shape == (2,)
        assert x.shape == (shape[1], 2)
        np.testing.assert_allclose(x, exact, atol=tol * np.abs(exact).max())
    again, info = M.solve(b[:, 0], x0=x[:, 0], damp=2)
    assert again.shape == (shape[1],) and info.iterations <= 2


def test_a_function_as_the_preconditioner_of_any_matrix():
    n, rng = 1000, np.random.default_rng(2)
    rows = np.repeat(np.arange(n), np.where(rng.random(n) < 0.05, n // 2, 2))  # so different that they are sorted
    A = sp.csr_matrix((np.full(rows.size, 1e-3), (rows, rng.integers(0, n, rows.size))), (n, n))
    A = (A + A.T + sp.diags(np.arange(1.0, n + 1))).tocsr()
    d, b = A.diagonal()[:, None], rng.standard_normal((n, 2))
    for M in (wisp.Matrix(A), wisp.Matrix(A, copy=False), wisp.Matrix(sp.linalg.aslinearoperator(A))):
        x, info = M.solve(b, precond=lambda X: X / d, rtol=1e-10, method="cg")
        assert info.iterations < wisp.Matrix(A).solve(b, rtol=1e-10, method="cg")[1].iterations / 2
        np.testing.assert_allclose(A @ x, b, atol=1e-6)
    with pytest.raises(ZeroDivisionError):
        wisp.Matrix(A).solve(b, precond=lambda X: X / (1 // 0))


@pytest.mark.parametrize("precond", [None, "jacobi", "ic"])
def test_solve_with_a_null_space(precond):
    n, rng = 60, np.random.default_rng(7)
    W = np.kron(np.eye(2), np.triu(rng.random((n // 2, n // 2)) < 0.3, 1)) * rng.random((n, n))  # two parts
    W += np.kron(np.eye(2), np.diag(np.ones(n // 2 - 1), 1))
    L = np.diag((W + W.T).sum(axis=0)) - W - W.T
    null = np.repeat(np.eye(2), n // 2, axis=0) @ [[1, 2], [1, -1]]
    B = rng.standard_normal((n, 2))
    X, info = wisp.Matrix(L).solve(B, null=null, precond=precond, rtol=1e-11)
    assert info.converged
    np.testing.assert_allclose(X, np.linalg.pinv(L, rcond=1e-10) @ B, atol=1e-8)
    x, info = wisp.Matrix(L).solve(L @ B[:, 0], null=null[:, 0] + null[:, 1] / 2, precond=precond)
    np.testing.assert_allclose(L @ x, L @ B[:, 0], atol=1e-6)
    with pytest.raises(ValueError, match="column 0 of null"):
        wisp.Matrix(L).solve(B, null=np.arange(n))


def test_bounds_of_a_preconditioner():
    n = 400
    rng = np.random.default_rng(3)
    A = (sp.diags([-1.0, 3, -1.2], [-1, 0, 1], (n, n)) + sp.diags(rng.random(n))).tocsr()  # not Hermitian
    b, M = rng.standard_normal(n), wisp.Matrix(A)
    op = wisp.Matrix(sp.linalg.aslinearoperator(A))
    for precond, matrix in (("chebyshev", M), ("chebyshev", op), ("neumann", op)):
        with pytest.raises(ValueError, match=f"the {precond.capitalize()} preconditioner needs bounds .*: give bounds,"):
            matrix.solve(b, precond=precond)
        x, info = matrix.solve(b, precond=precond, bounds=(0.7, 6.3))
        assert np.linalg.norm(A @ x - b) < 1e-7 * np.linalg.norm(b)
        assert info.iterations < matrix.solve(b)[1].iterations  # they are polynomials of it
    for more in ({}, {"precond": "jacobi"}, {"precond": lambda X: X}):
        with pytest.raises(ValueError, match="bounds are for precond"):
            M.solve(b, bounds=(0.7, 6.3), **more)
    with pytest.raises(ValueError, match="bounds: -6 to -1"):
        M.solve(b, precond="chebyshev", bounds=(-6, -1))


def test_solve_with_a_function_as_preconditioner():
    A = hermitian(200, "float64", 1, 0.02)
    A.setdiag(A.diagonal() + np.linspace(40, 4000, 200))
    A = A.tocsr()
    A.sort_indices()
    b, d = np.ones(200), 1 / A.diagonal()
    M = wisp.Matrix(A, copy=False)
    x, info = M.solve(b, method="cg", precond=lambda X: d[:, None] * X)
    np.testing.assert_allclose(A @ x, b, atol=1e-6)

    def broken(X):
        raise LookupError("no preconditioner")

    with pytest.raises(LookupError, match="no preconditioner"):
        M.solve(b, precond=broken)


def test_solve_fails_with_what_there_is():
    M = wisp.gallery("laplace", nx=20, ny=20, nz=1)
    with pytest.raises(wisp.ConvergenceError) as caught:
        M.solve(np.ones(400), maxiter=2)
    x, info = caught.value.result
    assert not info.converged and info.residuals[0] > 1e-8 and np.any(x)
    with pytest.raises(np.linalg.LinAlgError):
        wisp.Matrix(np.diag([1.0, 2.0, 0.0])).solve(np.ones(3))
    for wrong in (lambda: M.solve(np.ones(3)), lambda: M.solve(np.ones(400), method="lu"),
                  lambda: M.solve(np.ones(400), x0=np.ones((400, 2))), lambda: M.solve(np.ones(400), rtol=-1)):
        with pytest.raises(ValueError):
            wrong()


def test_evolve_and_apply(dtype):
    A = hermitian(70, dtype, 2)
    H = A.toarray().astype(complex)
    rng = np.random.default_rng(0)
    psi = (rng.standard_normal((70, 3)) + 1j * rng.standard_normal((70, 3))).astype(np.result_type(dtype, "complex64"))
    M, times, tol = wisp.Matrix(A), [0.0, 2.0, -0.5], 20 * tolerance(dtype)
    expected = np.array([scipy.linalg.expm(-1j * t * H) @ psi for t in times])
    out = M.evolve(psi, times)
    assert out.shape == (3, 70, 3)
    np.testing.assert_allclose(out, expected, atol=10 * tol)
    assert M.evolve(psi[:, 0], 1.0).shape == (1, 70)
    norms = M.evolve(psi, times, observe=lambda t, p: (t, np.linalg.norm(p)))
    np.testing.assert_allclose(norms[:, 0], times)
    np.testing.assert_allclose(norms[:, 1], np.linalg.norm(psi), rtol=1e-4)
    x = rng.standard_normal(70).astype(dtype)
    w, v = np.linalg.eigh(H)
    np.testing.assert_allclose(M.apply(lambda e: np.exp(-e / 5), x), (v * np.exp(-w / 5)) @ (v.conj().T @ x), atol=10 * tol)
    np.testing.assert_allclose(M.apply(lambda e: np.exp(1j * e), x), (v * np.exp(1j * w)) @ (v.conj().T @ x), atol=10 * tol)
    with pytest.raises(ValueError):
        M.apply(lambda e: float(e < 0), x)
    assert np.all(np.isfinite(M.apply(lambda e: float(e < 0), x, kernel="jackson")))

    def stop(t, p):
        raise StopIteration("seen enough")

    with pytest.raises(StopIteration, match="seen enough"):
        M.evolve(psi, times, observe=stop)
