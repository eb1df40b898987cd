"""Maps of local densities, spectral functions and averages over disorder, against dense numpy and closed forms."""
import itertools
import json
import pathlib
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import hermitian, tolerance

import wisp


def kernel_of(x, n):
    """Jackson's kernel of a level at x, as a function of the other x: the series of its delta function."""
    k = np.arange(n)
    q = np.pi / (n + 1)
    g = ((n - k + 1) * np.cos(q * k) + np.sin(q * k) / np.tan(q)) / (n + 1)
    g[1:] *= 2

    def at(y):
        t = np.cos(np.multiply.outer(np.arccos(y), k)) * np.cos(k * np.arccos(x))
        return t @ g / (np.pi * np.sqrt(1 - np.asarray(y) ** 2))

    return at


@pytest.mark.parametrize("rows", [None, [5, 0, 5], "mask"])
def test_ldos_map(dtype, rows):
    n, N, bounds = 45, 24, (-9.0, 9.0)
    A = hermitian(n, dtype, 3)
    assert abs(np.linalg.eigvalsh(A.toarray())).max() < 9
    M = wisp.Matrix(A, positions=np.arange(2.0 * n).reshape(n, 2))
    which = np.arange(n) % 3 == 1 if rows == "mask" else rows
    m = M.ldos_map([-1.0, 0.2, 3.0], which, N, bounds=bounds)
    at = np.arange(n) if rows is None else np.flatnonzero(which) if rows == "mask" else np.array(rows)
    w, v = np.linalg.eigh(A.toarray().astype(complex))
    exact = np.zeros((3, n))
    for level, vector in zip(w, v.T):
        exact += np.multiply.outer(kernel_of(level / 9, N)(m.energies / 9) / 9, abs(vector) ** 2)
    np.testing.assert_allclose(m.densities, exact[:, at], atol=tolerance(dtype))
    np.testing.assert_array_equal(m.rows, at)
    np.testing.assert_array_equal(m.positions, M.positions[at])
    assert m.resolution == pytest.approx(np.pi * 9 / N)
    assert M.ldos_map(0.2, which, N, bounds=bounds).densities.shape == (1, at.size)


def test_ldos_map_of_more_rows_than_are_held_at_once(monkeypatch):
    M = wisp.gallery("graphene", nx=8, ny=8)
    whole = M.ldos_map([0.1, 0.5], None, 16)
    monkeypatch.setattr("wisp._maps._ROWS", 50)
    np.testing.assert_allclose(M.ldos_map([0.1, 0.5], None, 16).densities, whole.densities, atol=1e-12)
    calls = []

    def stop(task, done):
        if task == "moments" and done == 1:
            calls.append(done)
            if len(calls) == 2:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        M.ldos_map(0.1, None, 16, progress=stop)
    part = caught.value.result
    assert part.densities.shape == (1, part.rows.size) and 0 < part.rows.size < 128
    for wrong in ([], [[1]], [0.5], [128], [-1], np.zeros(5, bool)):
        with pytest.raises(ValueError):
            M.ldos_map(0.0, wrong, 16)


@pytest.mark.parametrize("kernel", ["jackson", "fejer"])
def test_random_ldos_map(dtype, kernel):
    n, N, E = 60, 24, [-1.0, 0.2, 3.0]
    A = hermitian(n, dtype, 3)
    half = 1.1 * abs(np.linalg.eigvalsh(A.toarray())).max()
    known = {"bounds": (-half, half), "kernel": kernel}
    M, rows = wisp.Matrix(A, positions=np.arange(2.0 * n).reshape(n, 2)), np.arange(0, n, 2)
    exact = M.ldos_map(E, rows, N + 1, **known)  # the square has as many moments
    m = M.ldos_map(E, rows, N, num_vectors=400, **known)
    assert m.resolution == exact.resolution and m.stderr.shape == m.densities.shape == (3, 30)
    # The squares of both angles of an energy are not the square of their sum, by a little.
    beside = 0.02 * exact.densities.max()
    off = abs(m.densities - exact.densities) - beside
    assert np.mean(off < 2 * m.stderr) > 0.9 and np.all(off < 5 * m.stderr)
    assert np.all(m.bar95[0] <= m.densities) and np.all(m.densities <= m.bar95[1])
    np.testing.assert_array_equal(m.positions, M.positions[rows])
    again = M.ldos_map(E, num_moments=N, num_vectors=400, **known)
    np.testing.assert_allclose(again.densities[:, ::2], m.densities, rtol=1e-5)
    assert np.all(np.isnan(M.ldos_map(E, rows, N, num_vectors=1, **known).stderr)) and exact.stderr is None


def test_random_ldos_map_holds_the_vectors_of_one_batch():
    peaks = []
    for vectors in (4, 12):  # one batch, and three
        with wisp.Context(threads=1) as ctx:
            wisp.gallery("square", nx=40, ny=40).ldos_map(np.linspace(-1, 1, 20), None, 8, num_vectors=vectors, bounds=(-5, 5))
        peaks.append(ctx.memory[1])
    assert peaks[0] == peaks[1]


def test_random_ldos_map_is_that_of_the_command():
    command = pathlib.Path(sys.executable).parent / "wisp"
    run = subprocess.run([command, "map", "graphene:nx=5,ny=4", "--energies", "0.1,0.5", "--moments", "16", "--vectors", "6",
                          "--bounds", "-3.5,3.5", "--json"], capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    m = wisp.gallery("graphene", nx=5, ny=4).ldos_map([0.1, 0.5], None, 16, num_vectors=6, bounds=(-3.5, 3.5))
    assert m.resolution == pytest.approx(told["resolution"])
    for mine, name in zip((m.densities, m.stderr, *m.bar95), ("ldos", "ldos_error", "ldos_low", "ldos_high")):
        np.testing.assert_allclose(mine, told[name], rtol=1e-9)


def test_random_ldos_map_is_interrupted_and_refused():
    M = wisp.gallery("graphene", nx=8, ny=8)
    calls = []

    def stop(task, done):
        if done == 1:
            calls.append(task)
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        M.ldos_map([0.1], None, 16, num_vectors=100, bounds=(-3.5, 3.5), progress=stop)
    part = caught.value.result
    assert part.densities.shape == (1, 128) and np.all(np.isfinite(part.stderr))
    for wrong in (dict(num_vectors=0), dict(num_vectors=2, kernel="lorentz"), dict(num_vectors=2, rows=[128]),
                  dict(num_vectors=2, num_moments=1), dict(num_vectors=2, energies=np.nan), dict(num_vectors=2, energies=[])):
        with pytest.raises(ValueError):
            M.ldos_map(**{"energies": 0.0, "num_moments": 16, **wrong})


def ring(n):
    return sp.csr_matrix((np.full(2 * n, -1.0), (np.r_[:n, :n], np.r_[1:n, 0, n - 1, :n - 1])), (n, n))


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_moments_of_a_ring(kind):
    n, N = 40, 30
    k = 2 * np.pi * np.arange(-20, 21) / n  # more than go together
    M = wisp.Matrix(ring(n).astype(kind), positions=np.arange(n))
    A = M.spectral_function(k, N, bounds=(-2.5, 2.5))
    exact = np.cos(np.multiply.outer(np.arccos(-2 * np.cos(k) / 2.5), np.arange(N)))
    np.testing.assert_allclose(A.moments, exact, atol=tolerance(kind))
    assert A.k.shape == (41, 1) and A.orbitals == 1
    again = pickle.loads(pickle.dumps(A))
    np.testing.assert_array_equal(again([0.3, 1.0]), A([0.3, 1.0]))


def honeycomb(n):
    """A periodic sheet of n by n cells, with bonds of length 1: matrix, positions, vectors of the sample."""
    a1, a2 = np.array([1.5, np.sqrt(3) / 2]), np.array([1.5, -np.sqrt(3) / 2])
    rows, cols, at = [], [], []
    for i, j in itertools.product(range(n), range(n)):
        cell = i * n + j
        at += [i * a1 + j * a2, i * a1 + j * a2 + (1, 0)]
        for a, b in ((0, 0), (-1, 0), (0, -1)):
            rows.append(2 * cell)
            cols.append(2 * ((i + a) % n * n + (j + b) % n) + 1)
    H = sp.coo_matrix((np.full(len(rows), -1.0), (rows, cols)), (2 * n * n,) * 2).tocsr()
    return H + H.T, np.array(at), np.array([n * a1, n * a2])


def test_bands_of_the_honeycomb():
    n, N = 12, 200
    H, at, sample = honeycomb(n)
    dual = 2 * np.pi * np.linalg.inv(sample).T
    m = np.array([[0, 0], [1, 2], [3, 7], [4, -4], [5, 0]])
    k = m @ dual
    steps = at[1] - at[0] - np.array([[0, 0], sample[0] / n, sample[1] / n])
    band = abs(np.exp(1j * k @ steps.T).sum(1))
    M = wisp.Matrix(H, positions=at)
    A = M.spectral_function(k, N, orbitals=2, bounds=(-3.2, 3.2))
    E = np.linspace(-3.1, 3.1, 1001)
    exact = [(kernel_of(e / 3.2, N)(E / 3.2) + kernel_of(-e / 3.2, N)(E / 3.2)) / 3.2 for e in band]
    np.testing.assert_allclose(A(E), exact, atol=1e-9)
    peaks = abs(E[np.argmax(A(E), 1)])
    assert np.all(abs(peaks - band) < A.resolution)
    # The same orbitals by number, and in another order of rows.
    order = np.random.default_rng(1).permutation(2 * n * n)
    other = wisp.Matrix(H[order][:, order]).spectral_function(k, N, positions=at[order], orbitals=order % 2,
                                                              bounds=(-3.2, 3.2))
    np.testing.assert_allclose(other.moments.reshape(5, 2, N).sum(1), A.moments.reshape(5, 2, N).sum(1), atol=1e-10)


def test_spectral_function_refuses():
    M, plain = wisp.gallery("graphene", nx=4, ny=4), wisp.Matrix(np.eye(3))
    for wrong in (dict(k=[0.0]), dict(k=np.zeros((0, 2))), dict(k=np.zeros((1, 2)), orbitals=0),
                  dict(k=np.zeros((1, 2)), orbitals=np.zeros(3, int)), dict(k=np.zeros((1, 2)), kernel="boxcar"),
                  dict(k=np.zeros((1, 2)), orbitals=np.full(32, 1))):
        with pytest.raises(ValueError):
            M.spectral_function(num_moments=8, **wrong)
    with pytest.raises(ValueError, match="positions"):
        plain.spectral_function([0.0], 8)
    with pytest.raises(KeyboardInterrupt) as caught:
        M.spectral_function(np.zeros((1, 2)), 8, progress=lambda task, done: signal.raise_signal(signal.SIGINT))
    assert caught.value.result is None


@pytest.mark.parametrize("orbitals", [None, 2, "array"])
def test_waves_are_made_as_they_are_needed(orbitals):
    n = 24
    H = wisp.gallery("graphene", nx=n, ny=n)
    rows = 2 * n * n
    which = np.arange(rows) % 2 if orbitals == "array" else orbitals
    k = np.random.default_rng(1).standard_normal((150, 2))
    before = H.ctx.memory[0]
    with wisp.Context(threads=1, memory_limit=before + 12 * 2**20):
        G = wisp.gallery("graphene", nx=n, ny=n)
        A = G.spectral_function(k, 8, orbitals=which, bounds=(-3.1, 3.1))
    assert A.moments.shape == (300, 8)
    waves = np.exp(1j * (H.positions @ k[149])) * (np.arange(rows) % 2 == 1) / np.sqrt(rows / 2)
    one = H.spectral_density(num_moments=8, vectors=waves, bounds=(-3.1, 3.1))
    np.testing.assert_allclose(A.moments[299], one.moments[0], atol=1e-12)


def test_spectral_function_that_is_interrupted():
    M = wisp.gallery("graphene", nx=8, ny=8)
    k = np.linspace(0, 1, 120)[:, None] * [1.0, 0.5]
    seen = []

    def stop(task, done):
        if task == "moments" and done > 0.5 and not seen:
            seen.append(done)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        M.spectral_function(k, 64, bounds=(-3.1, 3.1), progress=stop)
    part = caught.value.result
    assert 0 < len(part.k) < 120 and part.moments.shape[0] == 2 * len(part.k) and not part.complete
    whole = M.spectral_function(k, 64, bounds=(-3.1, 3.1))
    np.testing.assert_allclose(part.moments, whole.moments[:2 * len(part.k), :part.num_moments], atol=1e-12)


def test_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    M = wisp.gallery("graphene", nx=6, ny=6)
    M.ldos_map([0.0, 1.0], None, 16).plot(1)
    plt.figure()
    wisp.Matrix(ring(6)).ldos_map(0.0, None, 16).plot()
    plt.figure()
    A = M.spectral_function(np.zeros((2, 2)), 16, orbitals=2)
    A.plot()
    plt.figure()
    A.plot(log=True)
    plt.figure()
    wisp.average(lambda seed: M.spectral_density(2, 16, rng=seed), range(2)).plot([0.0, 1.0])
    plt.close("all")


# ---- averages over disorder ------------------------------------------------------------------------


def test_the_bar_holds_the_exact_average():
    sites, N, bounds, E = 4, 6, (-5.0, 5.0), np.array([-1.3, 0.4])
    configurations = [np.diag(c) + ring(sites).toarray() for c in itertools.product((-2.0, 2.0), repeat=sites)]
    systems = [wisp.Matrix(H) for H in configurations]
    exact = np.mean([M.spectral_density(num_moments=N, exact=True, bounds=bounds)(E) for M in systems], 0)
    rng = np.random.default_rng(8)
    held, experiments, realizations = np.zeros(2), 120, 8
    for i in range(experiments):
        chosen = rng.integers(len(systems), size=realizations)
        mean = wisp.average(lambda s: systems[chosen[s]].spectral_density(2, N, bounds=bounds, rng=1000 * i + s),
                            range(realizations))
        low, high = mean.at(E).bar95
        held += (low <= exact) & (exact <= high)
    assert np.all(held / experiments > 0.88), held / experiments


def test_average():
    def make(seed):
        return wisp.gallery("graphene", nx=5, ny=5).spectral_density(3, 16, rng=seed)

    mean, x = wisp.average(make, [3, 4, 9]), np.linspace(-1, 1, 7).reshape(1, 7)
    each = np.array([make(s)(x) for s in (3, 4, 9)])
    e = mean.at(x)
    np.testing.assert_allclose(e.value, each.mean(0))
    np.testing.assert_allclose(e.stderr, each.std(0, ddof=1) / np.sqrt(3))
    np.testing.assert_allclose(e.bar95[1] - e.value, 4.302652729911275 * e.stderr)  # Student's, 2 degrees of freedom
    np.testing.assert_array_equal(mean(x), e.value)
    assert np.isnan(wisp.average(make, [1])(x)).sum() == 0 and np.isnan(wisp.average(make, [1]).at(0.0).stderr)
    M = wisp.gallery("haldane", nx=4, ny=4, t2=0.1)
    sigma = wisp.average(lambda s: M.conductivity("x", num_vectors=1, num_moments=6, rng=s), range(2))
    assert sigma.at([0.0, 0.1], 0.5).value.shape == (2,)
    G = wisp.average(lambda s: M.greens([0, 1], eta=1 + s), range(2))
    assert G.at([0.0]).bar95[0].dtype == complex
    with pytest.raises(ValueError, match="rng=seed"):
        wisp.average(lambda s: M.spectral_density(2, 8), range(2))
    with pytest.raises(ValueError, match="seed"):
        wisp.average(make, [])

    def stops(seed):
        if seed == 2:
            raise KeyboardInterrupt
        return make(seed)

    with pytest.raises(KeyboardInterrupt) as caught:
        wisp.average(stops, range(5))
    assert len(caught.value.result.results) == 2


def test_orbitals_are_known():
    H = wisp.Matrix("graphene:nx=9,ny=9,vacancies=0.1")
    k = np.array([[1.0, 0.5]])
    A = H.spectral_function(k, 32, bounds=(-3.1, 3.1))
    assert A.orbitals == 2
    with pytest.raises(TypeError):
        A.count(-1, 1)
    whole = wisp.Matrix("graphene:nx=9,ny=9")
    np.testing.assert_allclose(whole.spectral_function(k, 32, bounds=(-3.1, 3.1))([0.0, 1.0]),
                               whole.spectral_function(k, 32, orbitals=2, bounds=(-3.1, 3.1))([0.0, 1.0]))


def test_families_of_sites_are_orbitals():
    """As a finalized system of Kwant has them: sites by family."""
    from collections import namedtuple

    from wisp._transport import kwant_orbitals

    Site = namedtuple("Site", "family")
    System = namedtuple("System", "sites")
    system = System([Site("a"), Site("a"), Site("b"), Site("b")])
    assert kwant_orbitals(system, [1, 1, 2, 2]).tolist() == [0, 0, 1, 2, 1, 2]
    assert kwant_orbitals(object(), [1]) is None


def test_average_of_functions_and_of_one_disorder():
    def make(seed):
        return wisp.gallery("anderson", nx=5, ny=5, nz=5, disorder=4, seed=seed).spectral_density(4, 32, rng=seed)

    of_functions = wisp.average(lambda seed: make(seed).at, range(3)).at([0.0, 1.0])
    np.testing.assert_allclose(of_functions.value, wisp.average(make, range(3)).at([0.0, 1.0]).value)
    H = wisp.gallery("anderson", nx=5, ny=5, nz=5, disorder=4)
    with pytest.raises(ValueError, match="another disorder"):
        wisp.average(lambda seed: H.ldos([0], 32), range(2))
    with pytest.raises(TypeError, match="LocalMap"):
        wisp.average(lambda seed: H.ldos_map([0.0], [0], 32), range(2))


def test_average_to_a_standard_error():
    E = np.array([-0.5, 0.5])

    def make(seed):
        return wisp.gallery("anderson", nx=5, ny=5, nz=5, disorder=4, seed=seed).spectral_density(2, 16, rng=seed)

    wanted = 0.15 * make(0)(E)
    mean = wisp.average(make, itertools.count(), stderr=wanted, at=E)
    n = len(mean.results)
    assert n >= 8 and np.all(mean.at(E).stderr <= wanted)
    if n > 8:
        assert np.any(wisp.Average(mean.results[:-1]).at(E).stderr > wanted)
    with pytest.raises(wisp.IncompleteError, match="10 realizations") as caught:
        wisp.average(make, range(10), stderr=1e-9, at=E)
    assert len(caught.value.result.results) == 10
    loose = wisp.average(make, itertools.count(), stderr=1e9, at=(E,))
    assert len(loose.results) == 8
    H = wisp.gallery("haldane", nx=4, ny=4, t2=0.1)
    sigma = wisp.average(lambda s: H.conductivity("x", "y", num_vectors=1, num_moments=6, rng=s), itertools.count(),
                         stderr=1e9, at=([0.0, 0.1], 0.5))
    assert sigma.at([0.0, 0.1], 0.5).value.shape == (2,)
    G = wisp.average(lambda s: H.spectral_density(2, 128, rng=s).greens, range(9), stderr=1e9,
                     at=(0.0, 1.0))
    assert len(G.results) == 8
    for wrong in (dict(stderr=1.0), dict(at=E), dict(stderr=0.0, at=E), dict(stderr=-1, at=E)):
        with pytest.raises(ValueError):
            wisp.average(make, range(3), **wrong)
