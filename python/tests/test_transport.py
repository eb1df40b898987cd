"""Green's functions, velocities and conductivities against dense numpy."""
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import hermitian, tolerance

import wisp


def chebyshev_matrices(A, bounds, n):
    """T_k of the scaled matrix, dense, of shape (n, rows, rows)."""
    w, v = np.linalg.eigh(A)
    x = (2 * w - bounds[0] - bounds[1]) / (bounds[1] - bounds[0])
    return np.einsum("ia,ka,ja->kij", v, np.cos(np.arange(n)[:, None] * np.arccos(np.clip(x, -1, 1))), v.conj())


@pytest.mark.parametrize("n", [1, 2, 45])
def test_greens(n, dtype):
    A = hermitian(n, dtype, n)
    dense = A.toarray().astype(complex)
    M, eta = wisp.Matrix(A), 0.3
    rng = np.random.default_rng(n)
    i, j = rng.integers(n, size=(2, 5))
    E = np.array([-7.0, -0.2, 0.0, 1.3])
    exact = np.array([np.linalg.inv((e + 1j * eta) * np.eye(n) - dense) for e in E])
    tol = 1e-3 if np.finfo(dtype).bits == 32 else 0
    pairs, diagonal, one = M.greens(i, j, eta=eta, tol=tol), M.greens(i, eta=eta, tol=tol), M.greens(0, eta=eta, tol=tol)
    size = 20 * tolerance(dtype) / eta
    np.testing.assert_allclose(pairs(E), exact[:, i, j].T, atol=size)
    np.testing.assert_allclose(diagonal(E), exact[:, i, i].T, atol=size)
    np.testing.assert_allclose(one(E), exact[:, 0, 0], atol=size)
    assert one(0.5).shape == () and pairs(0.5).shape == (5,)
    value, low, high = pairs.at(E).value, *pairs.at(E).bar95
    assert np.all(low.real <= value.real) and np.all(value.imag <= high.imag)
    assert np.all(abs(value - exact[:, i, j].T) <= abs(high - value) + 1e-15)
    pairs.eta = 2 * eta
    np.testing.assert_allclose(pairs(0.1), np.linalg.inv((0.1 + 2j * eta) * np.eye(n) - dense)[i, j], atol=size)
    grid = M.greens(np.arange(n)[:, None], np.arange(n), eta=1.0, tol=tol) if n < 9 else None
    assert grid is None or grid([0.0, 1.0]).shape == (n, n, 2)


def test_peierls():
    rng = np.random.default_rng(8)
    A, at, field = hermitian(40, complex, 3), rng.uniform(-3, 3, (40, 2)), 0.37
    M = wisp.Matrix(A, positions=at)
    B = M.peierls(field)
    r, c = np.arange(40)[:, None], np.arange(40)
    phase = -2 * np.pi * field * (at[r, 1] + at[c, 1]) / 2 * (at[r, 0] - at[c, 0])  # A = (-B y, 0)
    np.testing.assert_allclose(np.linalg.eigvalsh(B.tocsr().toarray()),
                               np.linalg.eigvalsh(A.toarray() * np.exp(1j * phase)), atol=1e-12)
    np.testing.assert_array_equal(B.positions, at)
    assert M.tocsr().dtype == complex and abs(M.tocsr() - A).max() == 0
    triangle = wisp.Matrix(1 - np.eye(3), positions=[[0, 0], [1, 0], [0, 1]]).peierls(0.1).tocsr().toarray()
    around = triangle[1, 0] * triangle[2, 1] * triangle[0, 2]  # counterclockwise
    assert around == pytest.approx(np.exp(2j * np.pi * 0.05))
    known = wisp.gallery("square", nx=6, ny=5, flux=1 / 30).eigs(30, method="dense").values
    H = wisp.gallery("square", nx=6, ny=5).peierls(1 / 30)
    np.testing.assert_allclose(H.eigs(30, method="dense").values, known, atol=1e-12)
    assert wisp.gallery("square", nx=6, ny=5, dtype="float32").peierls(1 / 30).dtype == np.complex64
    assert H.conductivity("x", "y", 2, 8).volume == 30
    assert H.spectral_function(np.zeros((1, 2)), 8).orbitals == 1
    with pytest.raises(ValueError, match="0.0333"):
        wisp.gallery("square", nx=6, ny=5).peierls(0.03)
    with pytest.raises(ValueError, match="positions"):
        wisp.Matrix(A).peierls(0.1)
    with pytest.raises(NotImplementedError):
        wisp.Matrix(M.aslinearoperator(), positions=at).peierls(0.1)


def test_what_is_warned_of():
    A, at = hermitian(30, "float64", 3), np.random.default_rng(1).uniform(0, 5, (30, 2))
    options = dict(num_vectors=1, num_moments=8, bounds=(-20, 20))
    at[:2] = (0, 0), (5, 5)
    M = wisp.Matrix(A, positions=at)
    assert M.conductivity(volume=25, **options).volume == 25
    for wrong in (1, 900):
        with pytest.warns(RuntimeWarning, match="times what the positions extend over, 25"):
            M.conductivity(volume=wrong, **options)
    with pytest.warns(RuntimeWarning, match="extend over 0.05 of the vector"):
        wisp.Matrix(sp.diags(np.ones(30)), positions=at, cell=[[100, 0], [0, 6]]).conductivity(**options)
    assert wisp.Matrix(sp.diags(np.ones(30)), positions=at, cell=[[7, 1], [0, 6]]).conductivity(**options).volume == 42
    tilted = A.tolil()
    tilted[0, 1] = tilted[1, 0] = 1
    tilted[0, 1] += 1e-14
    with pytest.warns(RuntimeWarning, match="but for rounding.*absolute"):
        wisp.Matrix(tilted).eigs(2, "LA", method="dense")


def test_greens_of_densities():
    A = hermitian(60, "complex128", 2)
    M = wisp.Matrix(A)
    E = np.linspace(-2, 2, 5)
    trace = [np.trace(np.linalg.inv((e + 0.4j) * np.eye(60) - A.toarray())) for e in E]
    rho = M.spectral_density(num_moments=700, exact=True)
    np.testing.assert_allclose(rho.greens(E, 0.4).value, trace, atol=1e-7)
    g = M.spectral_density(64, 700).greens(E, 0.4)
    assert np.all(g.stderr.real > 0) and np.mean(abs(g.value - trace) < 3 * abs(g.stderr)) > 0.5
    assert np.all(g.bar95[0].imag < g.value.imag) and np.all(g.value.imag < g.bar95[1].imag)
    local = M.ldos([3, 9], 700).greens(E, 0.4)
    np.testing.assert_allclose(local, M.greens([3, 9], eta=0.4)(E), atol=1e-7)
    with pytest.raises(ValueError, match="moments"):
        rho.greens(E, 1e-4)
    for wrong in (dict(eta=0), dict(eta=-1), dict(eta=1, bounds=(2, 1))):
        with pytest.raises(ValueError):
            M.greens(0, **wrong)
    for rows in ([60], [-1], [0.5], []):
        with pytest.raises(ValueError):
            M.greens(rows, eta=1)


def line(n, periodic=False):
    """A chain with alternating bonds, at places that are not even."""
    t = 1 + 0.3 * (-1.0) ** np.arange(n)
    A = sp.lil_matrix((n, n))
    for i in range(n if periodic else n - 1):
        A[i, (i + 1) % n] = A[(i + 1) % n, i] = -t[i]
    return A.tocsr()


def test_velocity():
    x = np.array([0, 1.2, 2.0, 3.5, 4.0])
    A = line(5)
    expected = 1j * A.toarray() * (x[None, :] - x[:, None])
    M = wisp.Matrix(A, positions=x)
    np.testing.assert_allclose(M.velocity("x") @ np.eye(5), expected)
    np.testing.assert_allclose(M.velocity([2.0]) @ np.eye(5), 2 * expected)
    np.testing.assert_allclose(1j * (M.velocity("x", real=True) @ np.eye(5)), expected)
    np.testing.assert_array_equal(M.positions, x[:, None])
    ring = wisp.Matrix(line(5, True), positions=x, cell=[[5.0]])
    v = ring.velocity("x") @ np.eye(5)
    assert v[4, 0] == pytest.approx(1j * ring.__matmul__(np.eye(5))[4, 0] * 1.0)  # to the next cell, not back
    with pytest.raises(ValueError, match="equally near"):
        wisp.Matrix(line(4, True), positions=[0, 2, 0.5, 2.5], cell=[[4.0]]).velocity("x")
    with pytest.raises(ValueError, match="take a larger one"):
        wisp.Matrix(line(4, True), positions=[0, 2, 4, 6], cell=[[4.0]]).velocity("x")
    for wrong in (dict(positions=x[:4]), dict(positions=np.zeros((5, 4))), dict(cell=[[1.0]]),
                  dict(positions=x, cell=np.zeros((4, 1)))):
        with pytest.raises(ValueError):
            wisp.Matrix(A, **wrong)
    with pytest.raises(ValueError, match="finite"):
        wisp.Matrix(A, positions=x * np.nan).velocity("x")
    with pytest.raises(ValueError, match="positions="):
        wisp.Matrix(A).velocity("x")
    with pytest.raises(ValueError, match="direction"):
        M.velocity("w")


def test_positions_of_the_gallery():
    M = wisp.gallery("graphene", nx=3, ny=4)
    at = M.positions
    bonds = np.argwhere(M @ np.eye(24))
    d = np.linalg.norm(at[bonds[:, 0]] - at[bonds[:, 1]], axis=1)
    assert at.shape == (24, 2) and np.isclose(d, 1).mean() > 0.5
    assert wisp.Matrix(line(5)).positions is None


def gamma(A, Va, Vb, bounds, n):
    T = chebyshev_matrices(A, bounds, n)
    return np.einsum("jab,kba->jk", Va @ T, Vb @ T)


@pytest.mark.parametrize("given", [False, True])
def test_moments_of_velocities(dtype, given):
    n, rng = 30, np.random.default_rng(3)
    A = hermitian(n, dtype, 5)
    at = rng.uniform(0, 4, (n, 2))
    dense = A.toarray().astype(complex)
    Vx, Vy = (1j * dense * (at[None, :, d] - at[:, None, d]) for d in range(2))
    alpha, beta = (sp.csr_matrix(Vx), Vy) if given else ("x", [0, 1])
    M = wisp.Matrix(A, positions=at)
    bounds = tuple(np.linalg.eigvalsh(dense)[[0, -1]] + [-1, 1])
    s = M.conductivity(alpha, beta, num_moments=9, volume=16, exact=True, bounds=bounds)
    expected = gamma(dense, Vx, Vy, bounds, 9)
    assert s.num_moments == 9 and s.volume == 16
    np.testing.assert_allclose(s.moments.reshape(9, 9), expected, atol=100 * tolerance(dtype) * abs(expected).max())
    few = M.conductivity(alpha, beta, 3, num_moments=9, volume=16, bounds=bounds, left_memory=1)
    assert few.num_vectors == 3 and np.isfinite(few.at(0.0).stderr)
    with pytest.raises(ValueError, match="volume="):
        M.conductivity(alpha, beta, num_moments=9)


def haldane(nx, ny):
    return wisp.gallery("haldane", nx=nx, ny=ny, t2=0.1, phi=-0.5)


def test_hall_conductivity_of_haldane():
    """1.0555 e^2/h in the gap of an infinite lattice, by Jackson's kernel with 64 moments."""
    H = haldane(24, 24)
    s = H.conductivity("x", "y", 6, 64, bounds=(-3.1, 3.1))
    e = s.at([0.0, -20.0])
    assert abs(e.value[0] - 1.0555) < 0.03 + 4 * e.stderr[0] and e.stderr[0] < 0.2 and e.value[1] == 0
    assert s.volume == pytest.approx(1.5 * np.sqrt(3) * 24 * 24)
    back = H.conductivity("y", "x", 6, 64, bounds=(-3.1, 3.1))
    assert back(0.0) == pytest.approx(-s(0.0), rel=0.2)
    along = H.conductivity("x", "x", 6, 64, bounds=(-3.1, 3.1), formula="greenwood")
    assert along(1.5) > 0 and abs(along(0.0)) < 0.3 * along(1.5)
    warm = s(0.0, temperature=0.5)
    assert 0 < warm < s(0.0)
    s.kernel = "lorentz"
    assert s(0.0) != e.value[0]
    with pytest.raises(ValueError):
        s(0.0, temperature=-1.0)
    s.formula = "kubo"
    with pytest.raises(ValueError, match="formula"):
        s(0.0)
    for wrong in (dict(formula="kubo"), dict(volume=0), dict(num_vectors=0), dict(kernel="none"), dict(alpha="a")):
        with pytest.raises(ValueError):
            H.conductivity(**wrong)


def test_conductivity_is_the_sum_over_states():
    """In the gap, of all unit vectors and many moments: Thouless et al., Phys. Rev. Lett. 49, 405 (1982)."""
    H = haldane(5, 5)
    dense = H @ np.eye(50, dtype=complex)
    Vx, Vy = (H.velocity(d) @ np.eye(50) for d in "xy")
    w, v = np.linalg.eigh(dense)
    a, b = v.conj().T @ Vx @ v, v.conj().T @ Vy @ v
    n, m = w < 0, w >= 0
    exact = (a[np.ix_(n, m)] * b[np.ix_(m, n)].T).imag / (w[n][:, None] - w[m][None, :]) ** 2
    s = H.conductivity("x", "y", num_moments=256, exact=True)
    assert s(0.0) == pytest.approx(4 * np.pi / s.volume * exact.sum(), rel=0.02)
    assert s.at(0.0).stderr == 0


def test_conductivity_is_interrupted_and_pickled():
    import pickle
    import signal

    H = haldane(6, 6)
    seen = []

    def progress(task, done):
        seen.append(task)
        if done > 0.6 and "moments" in task:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        H.conductivity("x", "y", 8, 64, progress=progress)
    part = caught.value.result
    assert part is None or (0 < part.num_vectors < 8 and not part.complete), seen
    s = H.conductivity("x", "y", 2, 32)
    again = pickle.loads(pickle.dumps(s))
    assert again(0.3) == s(0.3) and again.volume == s.volume


def test_plot_of_a_conductivity():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    ax = haldane(4, 4).conductivity("x", "y", 2, 16).plot(Figure().add_subplot())
    assert "chemical" in ax.get_xlabel() and len(ax.collections) == 1


@pytest.mark.parametrize("directions", [("x", "x"), ("x", "y")])
def test_optical_conductivity_is_the_double_sum(directions):
    from test_maps import kernel_of

    n, N, h, mu, T = 30, 24, 9.0, 0.4, 0.5
    A = hermitian(n, "complex128", 21)
    assert abs(np.linalg.eigvalsh(A.toarray())).max() < h
    at = np.random.default_rng(2).standard_normal((n, 2))
    M = wisp.Matrix(A, positions=at)
    s = M.conductivity(*directions, num_moments=N, exact=True, volume=7.0, bounds=(-h, h))
    omega = np.array([0.7, 2.0, 5.0])
    w, v = np.linalg.eigh(A.toarray())
    V, W = (v.conj().T @ (M.velocity(d) @ np.eye(n)) @ v for d in directions)
    weights = (V * W.T).real  # <a|V|b><b|W|a>
    E = h * np.cos(np.pi * (np.arange(4000) + 0.5) / 4000)  # Gauss' nodes, which meet the roots at both ends
    step = np.pi / 4000 * np.sqrt(h**2 - E**2)

    def fermi(e):
        return 1 / (np.exp((e - mu) / T) + 1)

    exact = []
    for o in omega:
        inside = abs(E + o) < h
        low = np.array([kernel_of(level / h, N)(E[inside] / h) / h for level in w])
        high = np.array([kernel_of(level / h, N)((E[inside] + o) / h) / h for level in w])
        f = (fermi(E[inside]) - fermi(E[inside] + o)) / o * step[inside]
        exact.append(2 * np.pi**2 / 7 * np.einsum("ae,ab,be,e->", high, weights, low, f))
    e = s.optical(omega, mu, T)
    np.testing.assert_allclose(e.value, exact, rtol=0.02, atol=0.005 * np.max(np.abs(exact)))
    np.testing.assert_array_equal(e.stderr, 0)
    assert s.optical(0.7, mu, T).value == e.value[0]
    with pytest.raises(ValueError):
        s.optical([0.0], mu)


@pytest.mark.parametrize("alpha, beta, name, more", [("x", "y", "haldane", {"t2": 0.1, "phi": 0.5}), ("x", "x", "graphene", {})])
def test_left_vectors_in_single_precision(alpha, beta, name, more, monkeypatch):
    H = wisp.gallery(name, nx=12, ny=12, disorder=1, **more)
    options = dict(num_vectors=6, num_moments=48, bounds=(-5.0, 5.0), left_memory=288 * 16 * 10)
    mu = np.linspace(-4, 4, 33)
    double = H.conductivity(alpha, beta, **options)
    auto = H.conductivity(alpha, beta, precision="auto", **options)
    assert auto.dtype == double.dtype == double.left_dtype and auto.left_dtype.itemsize * 2 == auto.dtype.itemsize
    found, want = auto.at(mu), double.at(mu)
    half = (want.bar95[1] - want.bar95[0]) / 2
    assert not np.array_equal(found.value, want.value)
    assert np.all(abs(found.value - want.value) <= wisp._transport.ROUNDING * half)
    exact = H.conductivity(alpha, beta, num_moments=48, bounds=(-5.0, 5.0), exact=True)(mu)
    assert np.all(abs(found.value - exact) < 2.5 * half)
    # How far rounding moves moments is what is reckoned with, about.
    moved, share = abs(found.value - want.value) / half, auto._share_of_rounding()
    assert 0 < share <= wisp._transport.ROUNDING and moved.max() < 2 * share
    assert moved.max() > share / 300
    monkeypatch.setattr(wisp._transport, "ROUNDING", -1.0)  # as if it moved too much
    again = H.conductivity(alpha, beta, precision="auto", **options)
    np.testing.assert_array_equal(again.moments, double.moments)
    assert again.left_dtype == again.dtype
    options["num_moments"] = 8
    for kept in (dict(exact=True), dict(num_vectors=1), dict(left_memory=0)):  # no bar; nothing to save
        assert H.conductivity(alpha, beta, precision="auto", **{**options, **kept}).left_dtype == double.dtype
    with pytest.raises(ValueError, match="precision is None or 'auto', not 'single'"):
        H.conductivity(precision="single")
