"""Expectation values, and evolution time by time, against dense numpy."""
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import hermitian, tolerance

import wisp


def evolved(A, psi, t):
    w, v = np.linalg.eigh(A)
    return v @ (np.exp(-1j * w * t)[:, None] * (v.conj().T @ psi))


@pytest.mark.parametrize("k", [None, 3])
def test_expectation_values(dtype, k):
    n, rng = 40, np.random.default_rng(1)
    A, B = hermitian(n, dtype, 1), hermitian(n, "complex128", 2)
    C = sp.random(n, n, 0.1, random_state=3, format="csr")
    psi = rng.standard_normal((n, k or 1))
    psi /= np.linalg.norm(psi, axis=0)
    times = [0.0, 1.5, -0.7]
    M = wisp.Matrix(A)
    start = psi if k else psi[:, 0]
    real = M.evolve(start, times, operators=[B, np.diag(np.arange(n)), M])
    mixed = M.evolve(start, times, operators=[C])
    assert real.shape == (3, 3) + (k,) * bool(k) and real.dtype == float and mixed.dtype == complex
    for i, t in enumerate(times):
        exact = evolved(A.toarray().astype(complex), psi, t)
        for j, D in enumerate([B.toarray(), np.diag(np.arange(n)), A.toarray()]):
            expected = np.einsum("ik,ij,jk->k", exact.conj(), D, exact).real
            np.testing.assert_allclose(np.atleast_1d(real[i, j]), expected, atol=2000 * tolerance(dtype))
        expected = np.einsum("ik,ij,jk->k", exact.conj(), C.toarray(), exact)
        np.testing.assert_allclose(np.atleast_1d(mixed[i, 0]), expected, atol=2000 * tolerance(dtype))


def test_velocity_is_the_change_of_place():
    H = wisp.gallery("graphene", nx=6, ny=6, periodic="none")
    x = H.positions[:, 0]
    psi = np.exp(1j * x - (x - x.mean()) ** 2)  # it moves
    h = 1e-3
    place, _ = H.evolve(psi, [0.5 - h, 0.5 + h], operators=[sp.diags(x), H.velocity("x")]).T
    v = H.evolve(psi, 0.5, operators=[H.velocity("x")])[0, 0]
    assert (place[1] - place[0]) / (2 * h) == pytest.approx(v, rel=1e-5)


def test_time_by_time():
    A = hermitian(50, "complex128", 4)
    M, psi = wisp.Matrix(A), np.random.default_rng(5).standard_normal(50)
    times = [0.0, 0.5, 0.25, -1.0]
    for t, found in M.evolution(psi, times):
        np.testing.assert_allclose(found, evolved(A.toarray(), psi[:, None], t)[:, 0], atol=1e-7)
    both = list(M.evolution(np.c_[psi, psi], times, operators=[A]))
    assert [t for t, _ in both] == times and both[0][1].shape == (1, 2)
    np.testing.assert_allclose([e for _, e in both], (psi @ A @ psi).real, rtol=1e-8)
    endless = M.evolution(psi, itertools.count(0, 0.1))
    assert [round(t, 8) for t, _ in itertools.islice(endless, 3)] == [0, 0.1, 0.2]
    endless.close()


def test_what_is_refused():
    A = hermitian(20, "float64", 6)
    M = wisp.Matrix(A)
    for wrong, kind in ((dict(operators=[A], observe=lambda t, p: 0), ValueError), (dict(operators=[np.eye(3)]), ValueError),
                        (dict(operators=[wisp.Matrix(A)]), TypeError)):
        with pytest.raises(kind):
            M.evolve(np.ones(20), [1.0], **wrong)
    with pytest.raises(ValueError):
        list(M.evolution(np.ones(20), [np.nan]))
