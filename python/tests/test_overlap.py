"""H x = E S x against scipy.linalg.eigh of the pencil."""
import gc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from conftest import hermitian

import wisp


def overlap(n, seed, dtype="float64", size=0.9):
    """1 and numbers beside the diagonal, each row of them less than 1 together, so that it is positive definite."""
    S = hermitian(n, dtype, seed, 4 / n).tolil()
    S.setdiag(0)
    S = S.tocsr()
    return (sp.eye(n) + S * (size / abs(S).sum(1).max())).tocsr()


@pytest.mark.parametrize("kinds", [("float64", "float64"), ("complex128", "float64"), ("float64", "complex128"),
                                   ("complex128", "complex128")])
def test_eigs(kinds):
    n = 150
    A, S = hermitian(n, kinds[0], 1, 5 / n), overlap(n, 2, kinds[1])
    w = scipy.linalg.eigh(A.toarray(), S.toarray(), eigvals_only=True)
    M = wisp.Matrix(A)
    middle = (w[70] + w[71]) / 2, (w[76] + w[77]) / 2
    for options, exact in ((dict(k=4), w[:4]), (dict(k=3, which="LA"), w[-3:]), (dict(interval=middle), w[71:77])):
        found = M.eigs(overlap=S, **options)
        x = found.vectors
        np.testing.assert_allclose(found.values, exact, atol=1e-7)
        np.testing.assert_allclose(x.conj().T @ (S @ x), np.eye(len(exact)), atol=1e-7)
        np.testing.assert_allclose(A @ x, (S @ x) * found.values, atol=1e-5)
        assert found.complete and np.all(found.residuals < 1e-8)
    near = w[40] + 1e-3
    np.testing.assert_allclose(M.eigs(1, target=near, overlap=S.toarray(), overlap_bounds=(0.05, 2)).values, [w[40]],
                               atol=1e-7)


@pytest.mark.parametrize("kinds", [("float64", "float64"), ("float64", "complex128")])
def test_density(kinds):
    n, N, bounds = 60, 40, (-40.0, 40.0)
    A, S = hermitian(n, kinds[0], 3), overlap(n, 4, kinds[1])
    w = scipy.linalg.eigh(A.toarray(), S.toarray(), eigvals_only=True)
    M = wisp.Matrix(A)
    rho = M.spectral_density(num_moments=N, exact=True, overlap=S, bounds=bounds)
    exact = np.cos(np.multiply.outer(np.arange(N), np.arccos(w / 40))).sum(1)
    np.testing.assert_allclose(rho.moments[0], exact, atol=1e-9)
    del M, A, S
    gc.collect()
    random = wisp.Matrix(hermitian(n, kinds[0], 3)).spectral_density(8, N, overlap=overlap(n, 4, kinds[1]), bounds=bounds)
    gc.collect()
    random.add_vectors(8)  # the matrices live on in it
    low, high = random.count(-50, 50).bar95
    assert random.num_vectors == 16 and low <= n * 1.001 and high >= n * 0.999
    found = wisp.Matrix(hermitian(n, kinds[0], 3)).spectral_density(4, 16, overlap=overlap(n, 4, kinds[1]))
    assert found.bounds[0] < w[0] and w[-1] < found.bounds[1]


@pytest.mark.skipif("mumps" not in wisp.features, reason="this library is without MUMPS")
@pytest.mark.parametrize("kinds", [("float64", "float64"), ("complex128", "float64"), ("float64", "complex128")])
def test_shift_and_invert(kinds):
    n = 150
    A, S = hermitian(n, kinds[0], 11, 5 / n), overlap(n, 12, kinds[1])
    w = scipy.linalg.eigh(A.toarray(), S.toarray(), eigvals_only=True)
    near = w[n // 2] + 1e-3
    expected = np.sort(w[np.argsort(abs(w - near))[:5]])
    found = wisp.Matrix(A).eigs(5, target=near, overlap=S, method="invert")
    assert found.method == "invert" and found.complete and found.proof == "inertia"
    np.testing.assert_allclose(found.values, expected, atol=1e-8)
    v = found.vectors
    np.testing.assert_allclose(A @ v, S @ v * found.values, atol=1e-6)
    np.testing.assert_allclose(v.conj().T @ (S @ v), np.eye(5), atol=1e-7)


def test_what_is_refused():
    n = 30
    M, S = wisp.Matrix(hermitian(n, "float64", 5)), overlap(n, 6)
    with pytest.raises(ValueError, match="double"):
        wisp.Matrix(hermitian(n, "float32", 5)).eigs(2, overlap=S)
    with pytest.raises(ValueError, match="shape"):
        M.eigs(2, overlap=S[:5, :5])
    with pytest.raises(ValueError, match="operator"):
        M.spectral_density(2, 8, overlap=S, operator=S)
    for bad in ((0, 1), (2, 1), (1, np.inf)):
        with pytest.raises(ValueError, match="overlap_bounds"):
            M.eigs(2, overlap=S, overlap_bounds=bad)
    for call in (M.eigs, M.spectral_density):
        with pytest.raises(ValueError, match="go with overlap"):
            call(2, overlap_bounds=(0.5, 2))
        with pytest.raises(ArithmeticError, match="the overlap matrix"):
            call(2, overlap=-S)
        with pytest.raises(wisp.NotHermitianError, match="the overlap matrix"):
            call(2, overlap=sp.csr_matrix(np.triu(np.ones((n, n)))))
    with pytest.raises(wisp.BoundsError):
        M.eigs(2, overlap=S, overlap_bounds=(0.9, 0.95))


def test_a_density_finer_than_its_energies_is_warned_of(monkeypatch):
    M, S = wisp.Matrix(hermitian(40, "float64", 7)), overlap(40, 8)
    M.spectral_density(2, 16, overlap=S)
    monkeypatch.setattr("wisp._overlap.Pencil.energy_error", lambda self, bounds: 1.0)
    with pytest.warns(RuntimeWarning, match="S\\^-1/2"):
        M.spectral_density(2, 16, overlap=S)
