import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from conftest import hermitian, tolerance

import wisp


def chebyshev(values, bounds, n):
    """T_k of the scaled values, of shape (n, values)."""
    x = (2 * np.asarray(values) - bounds[0] - bounds[1]) / (bounds[1] - bounds[0])
    return np.cos(np.arange(n)[:, None] * np.arccos(np.clip(x, -1, 1)))


def jackson(n):
    k = np.arange(n)
    return ((n - k + 1) * np.cos(np.pi * k / (n + 1)) + np.sin(np.pi * k / (n + 1)) / np.tan(np.pi / (n + 1))) / (n + 1)


@pytest.mark.parametrize("n", [1, 37, 200])
def test_exact_moments(n, dtype):
    A = hermitian(n, dtype, n)
    w = np.linalg.eigvalsh(A.toarray().astype(complex))
    M = wisp.Matrix(A)
    low, high = M.find_bounds()
    assert low <= w[0] and w[-1] <= high
    rho = M.spectral_density(num_moments=64, bounds=(low, high), exact=True)
    for mine, asked in zip(rho(), (rho.energies, rho.densities)):
        np.testing.assert_array_equal(mine, asked)
    np.testing.assert_allclose(rho.moments[0] / n, chebyshev(w, rho.bounds, 64).sum(1) / n, atol=10 * tolerance(dtype))
    # The density is the sum of its damped series.
    a = (high - low) / 2
    e = np.linspace(low, high, 7)[1:-1]
    series = rho.moments[0] * jackson(64) * np.r_[1, np.full(63, 2)]
    x = (e - (low + high) / 2) / a
    expected = series @ chebyshev(e, (low, high), 64) / (np.pi * a * np.sqrt(1 - x**2))
    np.testing.assert_allclose(rho(e), expected, rtol=1e-9, atol=1e-9 * n)
    assert rho(e[0]) == rho(e)[0] and np.ndim(rho(e[0])) == 0
    assert rho.integrate().value == pytest.approx(n, rel=1e-5)
    assert rho.count(-np.inf, np.inf).value == pytest.approx(n, rel=1e-5)


@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_precision_auto(kind):
    M = wisp.Matrix(hermitian(400, kind, 1, 0.02))
    known = {"bounds": (-20, 20), "rng": 3}
    double, auto = (M.spectral_density(4, 50, precision=p, **known) for p in (None, "auto"))
    assert double.dtype == kind and auto.dtype == ("float32" if kind == "float64" else "complex64")
    assert 0 < abs(auto.moments - double.moments).max() < 1e-4 * 400
    half = (double.bar95[1] - double.bar95[0]) / 2
    assert np.all(abs(auto.densities - double.densities) < 0.1 * half + 1e-12)
    auto.add_vectors(2)
    assert auto.num_vectors == 6
    # Nothing to compare rounding with; and nothing of chance, which the run finds out.
    assert M.spectral_density(num_moments=8, exact=True, precision="auto", **known).dtype == kind
    assert M.spectral_density(1, 8, precision="auto", **known).dtype == kind
    plain = wisp.Matrix(np.diag(np.arange(1, 301) / 7).astype(kind))
    assert plain.spectral_density(4, 50, precision="auto").dtype == kind
    assert M.spectral_density(4, 50, precision="auto", **known, vectors=np.eye(400)[:, :2]).dtype == kind
    assert wisp.Matrix(hermitian(40, "float32", 1)).spectral_density(4, 8, precision="auto").dtype == "float32"
    huge = wisp.Matrix(sp.diags(np.r_[1e300, np.ones(99)]).tocsr().astype(kind))
    assert huge.spectral_density(4, 8, precision="auto").dtype == kind
    assert wisp.Matrix(M.aslinearoperator()).spectral_density(4, 8, precision="auto", **known).dtype == kind
    for wrong in (dict(precision="single"), dict(precision="auto", operator=sp.eye(400)), dict(precision="auto", rows=[1]),
                  dict(precision="auto", overlap=sp.eye(400))):
        with pytest.raises(ValueError, match="precision"):
            M.spectral_density(4, 8, **wrong)


def test_operators_that_are_functions(dtype):
    n = 80
    A, B = hermitian(n, dtype, 1), hermitian(n, dtype, 2)
    B = (B + 2 * sp.diags(np.ones(n - 1), 1)).astype(dtype).tocsr()  # not Hermitian
    M, options = wisp.Matrix(A), dict(num_vectors=3, num_moments=16, bounds=(-20, 20))
    stored, function = (M.spectral_density(operator=b, **options) for b in (B, sp.linalg.aslinearoperator(B)))
    np.testing.assert_allclose(function.moments, stored.moments, atol=n * tolerance(dtype))
    psi = np.ones(n)
    values = [M.evolve(psi, [0.3], operators=[b], bounds=(-20, 20)) for b in (B, sp.linalg.aslinearoperator(B))]
    np.testing.assert_allclose(*values, rtol=1e-3 if np.finfo(dtype).bits == 32 else 1e-8)
    double = sp.linalg.aslinearoperator(B.astype(np.promote_types(dtype, np.float64)))  # also of a matrix in single precision
    np.testing.assert_allclose(M.spectral_density(operator=double, **options).moments, stored.moments, atol=n * tolerance(dtype))
    with pytest.raises(ValueError, match="shape"):
        M.spectral_density(operator=sp.linalg.aslinearoperator(B[:9, :9]), **options)
    no_adjoint = sp.linalg.LinearOperator((n, n), matvec=lambda x: x, dtype=dtype)
    with pytest.raises((NotImplementedError, TypeError)):
        M.spectral_density(operator=no_adjoint, **options)


def test_bars_hold_what_is_true():
    A = hermitian(400, "complex128", 1, 0.02)
    w = np.linalg.eigvalsh(A.toarray())
    M = wisp.Matrix(A)
    rho = M.spectral_density(num_vectors=64, num_moments=50, rng=2)
    true = M.spectral_density(num_moments=50, bounds=rho.bounds, exact=True)
    low, high = rho.bar95
    assert rho.energies.size == rho.densities.size == rho.stderr.size == 100
    assert np.mean((low <= true.densities) & (true.densities <= high)) > 0.8
    assert np.all(true.stderr == 0)
    f = rho.integrate(lambda e: np.exp(-(e**2) / 9))
    assert f.bar95[0] <= f.value <= f.bar95[1] and f.stderr > 0
    assert abs(f.value - np.exp(-(w**2) / 9).sum()) < 6 * f.stderr
    c = rho.count(0, np.inf)
    assert abs(c.value - (w > 0).sum()) < 6 * c.stderr + 5


def test_add_vectors_is_one_run():
    M = wisp.gallery("graphene", nx=12, ny=9)
    rho, whole = (M.spectral_density(v, 40, rng=5, bounds=(-3.3, 3.3)) for v in (3, 8))
    rho.add_vectors(5)
    np.testing.assert_allclose(rho.moments, whole.moments, atol=1e-9)
    np.testing.assert_allclose(rho.densities, whole.densities)
    assert rho.num_vectors == 8
    rho.add_vectors(1)
    assert rho.num_vectors == 9
    with pytest.raises(ValueError):
        M.spectral_density(exact=True, num_moments=8).add_vectors(1)


def test_same_seed_same_bits_and_pickle():
    M = wisp.gallery("anderson", nx=5, ny=5, nz=5, disorder=1)
    a, b, c = (M.spectral_density(4, 32, rng=r) for r in (7, 7, 8))
    np.testing.assert_array_equal(a.moments, b.moments)
    assert np.any(a.moments != c.moments)
    again = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(again.densities, a.densities)
    with pytest.raises(ValueError, match="matrix"):
        again.add_vectors(1)
    assert M.spectral_density(2, 16, rng=np.random.default_rng(1)).num_vectors == 2


def test_resolution():
    M = wisp.gallery("graphene", nx=8, ny=8)
    rho = M.spectral_density(2, energy_resolution=0.1)
    assert rho.resolution <= 0.1 < rho.resolution * rho.num_moments / (rho.num_moments - 1)
    for wrong in (dict(num_moments=8, energy_resolution=0.1), dict(energy_resolution=-1), dict(kernel="none"),
                  dict(num_vectors=0), dict(bounds=(1, -1)), dict(num_moments=-1)):
        with pytest.raises(ValueError):
            M.spectral_density(**wrong)


def test_given_vectors_operator_and_ldos(dtype):
    A = hermitian(90, dtype, 3)
    B = sp.random(90, 90, 0.1, random_state=1, format="csr").astype(dtype)
    w, v = np.linalg.eigh(A.toarray().astype(complex))
    bounds = (w[0] - 1, w[-1] + 1)
    T = chebyshev(w, bounds, 30)
    M = wisp.Matrix(A)
    V = np.random.default_rng(0).standard_normal((90, 3)).astype(dtype)
    given = M.spectral_density(num_moments=30, bounds=bounds, vectors=V)
    np.testing.assert_allclose(given.moments, (abs(v.conj().T @ V) ** 2).T @ T.T, rtol=1e-3, atol=100 * tolerance(dtype))
    ldos = M.ldos([5, 0], 30, bounds=bounds)
    np.testing.assert_allclose(ldos.moments, abs(v[[5, 0]]) ** 2 @ T.T, atol=10 * tolerance(dtype))
    assert ldos.sites.tolist() == [5, 0] and ldos([0.0, 1.0, 2.0]).shape == (2, 3) and ldos(0.0).shape == (2,)
    both = M.spectral_density(num_moments=30, bounds=bounds, operator=B, exact=True)
    expected = np.einsum("ij,ji->i", v.conj().T @ B.toarray(), v) @ T.T
    np.testing.assert_allclose(both.moments[0], expected, atol=1000 * tolerance(dtype))
    assert np.iscomplexobj(both.densities)


def test_trace_logdet_thermal():
    A = hermitian(150, "float64", 6, 0.03)
    A = (A @ A + 2 * sp.identity(150)).tocsr()
    w = np.linalg.eigvalsh(A.toarray())
    M = wisp.Matrix(A)
    bounds = (1.5, w[-1] + 1)
    exact = M.logdet(bounds=bounds, exact=True)
    assert exact.value == pytest.approx(np.log(w).sum(), rel=1e-9)
    rough = M.trace(np.sqrt, 40, bounds=bounds)
    assert abs(rough.value - np.sqrt(w).sum()) < 6 * rough.stderr and float(rough) == rough.value
    with pytest.raises(ArithmeticError):
        M.logdet(bounds=(-1, w[-1] + 1))
    with pytest.raises(ValueError):
        M.spectral_density(2, 16).integrate(lambda e: float(e < 10))
    assert np.isfinite(M.spectral_density(2, 64).integrate(lambda e: float(e < 10), kernel="jackson").value)
    T = np.array([2.0, 5.0, 40.0])
    t = M.thermal(T, bounds=bounds, exact=True)
    for i, temperature in enumerate(T):
        p = np.exp(-(w - w[0]) / temperature)
        z = p.sum()
        energy = (p * w).sum() / z
        log_z = np.log(z) - w[0] / temperature
        assert t.log_z.value[i] == pytest.approx(log_z, rel=1e-7, abs=1e-5)
        assert t.energy.value[i] == pytest.approx(energy, rel=1e-5)
        assert t.heat_capacity.value[i] == pytest.approx((p * (w - energy) ** 2).sum() / z / temperature**2, abs=1e-5)
        assert t.entropy.value[i] == pytest.approx(log_z + energy / temperature, abs=1e-5)
    with pytest.raises(ZeroDivisionError):
        M.trace(lambda e: 1 / 0, bounds=bounds)
    with pytest.raises(ValueError):
        M.thermal([0.0])


def test_not_hermitian():
    with pytest.raises(wisp.NotHermitianError, match=r"\(0, 1\)"):
        wisp.Matrix(np.triu(np.ones((5, 5)))).spectral_density()
    with pytest.raises(wisp.BoundsError):
        wisp.Matrix(np.diag(np.arange(50.0))).spectral_density(bounds=(0, 3))
    with pytest.raises(ArithmeticError):
        wisp.Matrix(np.diag([1.0, np.nan])).spectral_density()


def test_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    M = wisp.gallery("graphene", nx=6, ny=6)
    ax = M.spectral_density(4, 32).plot(Figure().add_subplot())
    assert ax.get_xlabel() == "energy" and len(ax.lines) == 1 and len(ax.collections) == 1
    assert len(M.ldos([0, 1], 32).plot(Figure().add_subplot()).lines) == 2


def test_the_density_of_some_rows(tmp_path):
    H = wisp.gallery("haldane", nx=7, ny=5, t2=0.1, phi=0.4, disorder=1)
    n, some = H.shape[0], np.array([3, 0, 41, 3])
    mask = np.zeros(n, bool)
    mask[some] = True
    bounds = H.find_bounds()
    exact = H.spectral_density(num_moments=24, exact=True, rows=mask, bounds=bounds)
    local = H.ldos([0, 3, 41], 24, bounds=bounds)
    e = np.linspace(*bounds, 9)[1:-1]
    np.testing.assert_allclose(exact(e), local(e).sum(0), atol=1e-9)
    assert exact(e).dtype == float and np.all(exact.bar95[1] >= exact.bar95[0])
    many = H.spectral_density(200, 24, rows=some, bounds=bounds)
    at = many.at(e)
    assert np.all(abs(at.value - exact(e)) < 6 * at.stderr)
    np.testing.assert_allclose(many.count(-np.inf, np.inf).value, 3, atol=1e-9)
    with pytest.raises(ValueError, match="without an operator"):
        many.add_vectors(2)
    for bad in ([n], [-1], [], [0.5], mask[:-1]):
        with pytest.raises(ValueError, match="rows"):
            H.spectral_density(2, 8, rows=bad)
    with pytest.raises(ValueError, match="neither"):
        H.spectral_density(2, 8, rows=some, vectors=np.ones(n))
    pytest.importorskip("h5py")
    many.save(tmp_path / "m.h5")
    np.testing.assert_array_equal(wisp.load(tmp_path / "m.h5")(e), at.value)


def exact_levels(H):
    """Eigenvalues nearer than LAPACK's own rounding, which differs from machine to machine: the Rayleigh quotients of
    its eigenvectors, whose errors are squares of theirs."""
    A = H.tocsr().toarray()
    V = np.linalg.eigh(A)[1].astype(np.clongdouble)
    return (np.sum(V.conj() * (A @ V), axis=0) / np.sum(V.conj() * V, axis=0)).real


def ensemble(w, T):
    """ln Z, energy, heat capacity and entropy, of all levels."""
    w, T = np.sort(w), np.asarray(T, float)
    p = np.exp((w[0] - w) / T[..., None])
    z = p.sum(-1)
    e = (p * w).sum(-1) / z
    c = (p * (w - e[..., None])**2).sum(-1) / z / T**2
    log_z = np.log(z) - w[0] / T
    return log_z, e, c, log_z + e / T


@pytest.mark.parametrize("H", [wisp.gallery("spinchain", sites=8, periodic="x"), wisp.gallery("haldane", nx=6, ny=6, disorder=1),
                               wisp.gallery("graphene", nx=6, ny=6, disorder=2)], ids=["spins", "haldane", "graphene"])
def test_thermal_down_to_the_ground_state(H):
    T = np.array([[1e-3, 1, 2e-3], [0.02, 5, 1e-3]])
    with pytest.raises(ValueError, match="they serve temperatures from"):
        H.thermal(T)
    w = exact_levels(H)  # bars can be as small as LAPACK's own rounding
    found = H.thermal(T, 16, cool=True)
    np.testing.assert_array_equal(found.temperature, T)
    for quantity, exact in zip(found[1:], ensemble(w, T)):
        half = (quantity.bar95[1] - quantity.bar95[0]) / 2
        assert quantity.value.shape == T.shape and np.all(quantity.bar95[0] <= quantity.bar95[1])
        assert np.all(abs(quantity.value - exact) < 2.5 * half)
    np.testing.assert_allclose(found.energy.value[T < 0.01], w[0], rtol=1e-9)  # there is no other level that near
    one = H.thermal(1e-3, 16, cool=True)
    assert one.energy.value.shape == () and one.energy.value == found.energy.value[0, 0]
    many = H.thermal([1e-3], 200, cool=True)  # batches of several widths, and what is of chance goes as 1 / sqrt(vectors)
    assert 0.5 < many.log_z.stderr[0] * np.sqrt(200) / (one.log_z.stderr * 4) < 2
    high = H.thermal([2.0, 5], 16, cool=True)  # moments serve all
    np.testing.assert_array_equal(high.log_z.value, H.thermal([2.0, 5], 16).log_z.value)


def test_cooled_states_that_fail_or_end():
    H = wisp.gallery("spinchain", sites=8, periodic="x")
    single = wisp.Matrix(H.tocsr(), dtype="f")
    w = np.linalg.eigvalsh(H.tocsr().toarray())
    cold = single.thermal(0.04, 8, cool=True, tol=0.5).energy
    assert cold.bar95[0] < ensemble(w, 0.04)[1] < cold.bar95[1] and abs(cold.value - w[0]) < 1e-3
    with pytest.raises(ArithmeticError, match="T: at temperature 0.001 cooled states leave an error of"):
        single.thermal(0.001, 8, cool=True)
    with pytest.raises(ValueError, match="leave exact out"):
        H.thermal(0.01, cool=True, exact=True)
    assert np.isnan(H.thermal(0.001, 1, cool=True).energy.stderr)

    def end(task, done):
        if task == "cooling" and done >= 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as told:
        H.thermal([0.001, 0.002], 16, cool=True, progress=end)
    half = H.thermal([0.001, 0.002], 8, cool=True)
    np.testing.assert_array_equal(told.value.result.entropy.value, half.entropy.value)  # of the first eight
    with pytest.raises(KeyboardInterrupt) as told:
        single.thermal([0.02, 0.03], 16, cool=True, progress=end)
    assert told.value.result is None  # rounding leaves too much
