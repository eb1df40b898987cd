"""Expectation values, and evolution time by time, against dense numpy."""
import itertools

import numpy as np
import pytest
import scipy.linalg
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


# ---- matrices and times that do not keep the norm ---------------------------------------------------


@pytest.mark.parametrize("k", [None, 3])
def test_imaginary_and_complex_time(dtype, k):
    n, rng = 40, np.random.default_rng(7)
    A = hermitian(n, dtype, 8)
    psi = rng.standard_normal((n, k or 1))
    M = wisp.Matrix(A)
    for d in (-1j, 1j, np.exp(-0.3j)):
        times = d * np.array([0.0, 0.7, 0.2])
        found, info = M.evolve(psi if k else psi[:, 0], times, info=True)
        assert found.shape == (3, n) + (k,) * bool(k) and info.log_norm.shape == (3,) + (k,) * bool(k)
        for i, t in enumerate(times):
            exact = scipy.linalg.expm(-1j * t * A.toarray().astype(complex)) @ psi
            norm = np.linalg.norm(exact, axis=0)
            tol = 50 * tolerance(dtype)
            np.testing.assert_allclose(found[i].reshape(n, -1), exact / norm, atol=tol)
            np.testing.assert_allclose(np.atleast_1d(info.log_norm[i]), np.log(norm), atol=tol)
            assert np.linalg.norm(found[i].reshape(n, -1) - exact / norm, axis=0).max() <= info.off[i] + 1e-12
    _, info = M.evolve(psi, [0.0, 3.0], info=True)
    np.testing.assert_allclose(np.exp(info.log_norm), [np.linalg.norm(psi, axis=0)] * 2, rtol=10 * tolerance(dtype))
    assert np.all((0 < info.off) & (info.off <= tolerance(dtype)))


def test_cooling_reaches_the_ground_state():
    H = wisp.gallery("graphene", nx=5, ny=5)
    e = H.evolve(np.ones(50), -1j * np.arange(0.0, 40, 5), operators=[H])[:, 0]
    assert np.all(np.diff(e) < 1e-9) and e[-1] == pytest.approx(-3)


@pytest.mark.parametrize("k", [None, 3])
def test_absorbing_potential(dtype, k):
    n, rng = 40, np.random.default_rng(9)
    A, w = hermitian(n, dtype, 10), np.maximum(0, rng.standard_normal(n))
    psi = rng.standard_normal((n, k or 1))
    B, times = hermitian(n, "complex128", 11), [0.0, 0.8, 2.5]
    M, tol = wisp.Matrix(A), 200 * tolerance(dtype)
    start = psi if k else psi[:, 0]
    found, info = M.evolve(start, times, absorb=w, info=True)
    values = M.evolve(start, times, absorb=w, operators=[B, M])
    operator = wisp.Matrix(scipy.sparse.linalg.aslinearoperator(A)).evolve(start, times, absorb=w)
    whole = wisp.Matrix(A - 1j * sp.diags(w)).evolve(start, times, hermitian=False)
    for i, t in enumerate(times):
        exact = scipy.linalg.expm(-1j * t * (A.toarray() - 1j * np.diag(w))) @ psi
        for other in (found, operator, whole):
            np.testing.assert_allclose(other[i].reshape(n, -1), exact, atol=tol)
        np.testing.assert_allclose(np.atleast_1d(info.log_norm[i]), np.log(np.linalg.norm(exact, axis=0)), atol=tol)
        for j, D in enumerate((B.toarray(), A.toarray())):
            np.testing.assert_allclose(np.atleast_1d(values[i, j]), np.einsum("ik,ij,jk->k", exact.conj(), D, exact).real,
                                       atol=10 * tol)
    steps = [p for _, p in M.evolution(start, times, absorb=w)]
    np.testing.assert_allclose(steps, found, atol=tol)
    assert M.dtype == A.dtype and abs(M.tocsr() - A).max() == 0  # as it was


def test_nothing_to_absorb():
    A = hermitian(30, "float64", 12)
    M, psi = wisp.Matrix(A), np.random.default_rng(3).standard_normal(30)
    np.testing.assert_allclose(M.evolve(psi, 1.5, absorb=np.zeros(30)), M.evolve(psi, 1.5), atol=1e-9)


def test_absorbing_layers():
    H = wisp.gallery("square", nx=30, ny=4, periodic="y")
    x = H.positions[:, 0]
    w = 0.5 * (np.maximum(0, 6 - x) / 6) ** 2 + 0.3 * (np.maximum(0, x - 22) / 7) ** 2
    psi = np.exp(1j * x - (x - 15) ** 2 / 8)
    layers = H.evolve(psi, [5.0, 40.0], absorb="x<6:0.5, x>=22:0.3")
    np.testing.assert_allclose(layers, H.evolve(psi, [5.0, 40.0], absorb=w), atol=1e-12)
    assert np.linalg.norm(layers[1]) < 0.3 * np.linalg.norm(psi)
    for wrong in ("x>40:1", "z<1:1", "x<6", "x<6:", "x=6:1", "", "x<a:1"):
        with pytest.raises(ValueError, match="absorb"):
            H.evolve(psi, [1.0], absorb=wrong)
    with pytest.raises(ValueError, match="positions"):
        wisp.Matrix(np.eye(3)).evolve(np.ones(3), [1.0], absorb="x<1:1")


def test_what_is_refused_without_a_norm():
    A = hermitian(20, "float64", 13)
    M, psi, w = wisp.Matrix(A), np.ones(20), np.ones(20)
    for times, options in (([1.0, 1j], {}), ([1 + 1j, 1 - 1j], {}), ([1j], dict(absorb=w)), ([1j], dict(hermitian=False)),
                           ([1.0], dict(absorb=w[:3])), ([1.0], dict(absorb=1j * w)), ([1.0], dict(absorb=w * np.nan)),
                           ([1j * np.inf], {}), ([1.0], dict(absorb=w, hermitian=False))):
        with pytest.raises(ValueError):
            M.evolve(psi, times, **options)
    with pytest.raises(TypeError):  # an overlap's operator has neither entries nor a function of Python
        M.spectral_density(2, 8, overlap=sp.eye(20))._matrix.evolve(psi, 1.0, absorb=w)
    with pytest.raises(wisp.NotHermitianError):
        wisp.Matrix(A - 1j * sp.diags(w)).evolve(psi, 1.0)


def test_what_is_refused():
    A = hermitian(20, "float64", 6)
    M = wisp.Matrix(A)
    for wrong, kind in ((dict(operators=[A], observe=lambda t, p: 0), ValueError), (dict(operators=[np.eye(3)]), ValueError),
                        (dict(operators=["none.mtx"]), TypeError)):
        with pytest.raises(kind):
            M.evolve(np.ones(20), [1.0], **wrong)
    with pytest.raises(ValueError):
        list(M.evolution(np.ones(20), [np.nan]))


def test_drives():
    """Levels of +-0.5 in a field that turns with them: sin(0.1 t)^2 goes over; a table, and what is refused."""
    x, y = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]])
    H = wisp.Matrix(np.diag([0.5, -0.5]).astype(complex))
    times, up = np.array([1.0, 7.0, 20.0]), np.array([1, 0])
    psi, info = H.evolve(up, times, drive=[(x, lambda t: 0.1 * np.cos(t)), (y, lambda t: 0.1 * np.sin(t))], info=True)
    assert np.all(abs(abs(psi[:, 1]) ** 2 - np.sin(0.1 * times) ** 2) <= 2 * info.off + 1e-14)
    assert np.all(info.off < 3e-10)
    zero = wisp.Matrix(np.zeros((2, 2)))
    saw = zero.evolve(up, [2.0, -1.0], drive=(x, ([-1, 0, 1, 2], [1.0, 0, 1, 0])), operators=[np.diag([0.0, 1])])[:, 0]
    np.testing.assert_allclose(saw, np.sin([1.0, -0.5]) ** 2, atol=1e-9)
    pulse = zero.evolve(up, 20.0, drive=(x, lambda t: np.exp(-(((t - 7) / 0.01) ** 2)) / 0.01))
    assert abs(abs(pulse[0, 1]) ** 2 - np.sin(np.pi**0.5) ** 2) < 1e-9

    def fails(t):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        H.evolve(up, 1.0, drive=(x, fails))
    for wrong in ({"drive": []}, {"drive": [x]}, {"drive": (x, ([0, 1], [0, 1])), "times": 2.0}, {"longest_step": 1.0},
                  {"drive": (x, ([0, 0], [0, 1]))}, {"drive": (x, np.sin), "times": 1j}, {"drive": (x, np.sin), "absorb": [0, 1]}):
        with pytest.raises(ValueError):
            H.evolve(up, **{"times": 1.0, **wrong})
    with pytest.raises(wisp.NotHermitianError):
        H.evolve(up, 1.0, drive=(np.array([[0, 1], [0, 0]]), np.sin))
