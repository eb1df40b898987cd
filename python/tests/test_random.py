"""All calls on random small systems, against scipy and dense numpy. WISP_SYSTEMS: how many, 20 unless it says otherwise."""
import os

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from conftest import DTYPES, hermitian

import wisp

SYSTEMS = int(os.environ.get("WISP_SYSTEMS") or 20)


class System:
    """A Hermitian matrix, its eigenvalues w and vectors v, and bounds around them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([7, seed])
        self.n = int(self.rng.integers(1, 60))
        self.dtype = np.dtype(DTYPES[seed % 4])
        A = hermitian(self.n, self.dtype, seed, self.rng.uniform(0, 0.3))
        if self.rng.random() < 0.3:  # a row and a column that are empty
            keep = np.ones(self.n)
            keep[self.rng.integers(self.n)] = 0
            A = sp.csr_matrix((sp.diags(keep) @ A @ sp.diags(keep)).astype(self.dtype))
            A.eliminate_zeros()
        self.A = A.asformat(str(self.rng.choice(["csr", "csc", "coo"])))
        if self.A.format == "csr" and self.rng.random() < 0.5:
            self.A.indptr, self.A.indices = self.A.indptr.astype(np.int64), self.A.indices.astype(np.int64)
        self.dense = A.toarray().astype(complex)
        self.w, self.v = np.linalg.eigh(self.dense)
        self.bounds = float(self.w[0]) - 0.5, float(self.w[-1]) + 0.5
        self.M = wisp.Matrix(self.A, copy=bool(self.rng.random() < 0.7) or self.A.format != "csr")
        self.size = abs(self.w).max() + 1
        self.eps = 3e-4 if np.finfo(self.dtype).bits == 32 else 1e-9

    def close(self, found, expected, scale=1.0):
        np.testing.assert_allclose(found, expected, rtol=0, atol=self.eps * scale)

    def function(self, f):
        return self.v @ (f(self.w)[:, None] * self.v.conj().T)

    def vectors(self, k):
        x = self.rng.standard_normal((self.n, k))
        return (x + 1j * self.rng.standard_normal((self.n, k)) if self.dtype.kind == "c" else x).astype(self.dtype)


def products_and_moments(s):
    X = s.vectors(int(s.rng.integers(1, 6)))
    s.close(s.M @ X, s.dense @ X, 10 * s.size)
    low, high = s.M.find_bounds()
    assert low <= s.w[0] + s.eps and s.w[-1] - s.eps <= high
    n = int(s.rng.integers(2, 40))
    x = (2 * s.w - s.bounds[0] - s.bounds[1]) / (s.bounds[1] - s.bounds[0])
    T = np.cos(np.arange(n)[:, None] * np.arccos(x))
    rho = s.M.spectral_density(num_moments=n, bounds=s.bounds, exact=True)
    s.close(rho.moments[0], T.sum(1), 10 * s.n)
    s.close(rho.count(-np.inf, np.inf).value, s.n, 10 * s.n)
    sites = s.rng.integers(s.n, size=2)
    s.close(s.M.ldos(sites, n, bounds=s.bounds).moments, abs(s.v[sites]) ** 2 @ T.T, 10)
    random = s.M.spectral_density(3, n, bounds=s.bounds, rng=int(s.rng.integers(99)))
    s.close(random.moments[:, 0], s.n, s.n)
    assert np.all(abs(random.moments) <= s.n * (1 + s.eps))


def functions(s):
    width = s.bounds[1] - s.bounds[0]
    f = lambda e: np.exp(-e * e / (width * width))  # noqa: E731
    s.close(s.M.trace(f, bounds=s.bounds, exact=True).value, f(s.w).sum(), 10 * s.n)
    shifted = wisp.Matrix((s.A + (1 - s.w[0]) * sp.identity(s.n)).astype(s.dtype))
    s.close(shifted.logdet(bounds=(0.7, s.w[-1] - s.w[0] + 1.5), exact=True, tol=10 * s.eps).value,
            np.log(s.w - s.w[0] + 1).sum(), 100 * s.n)
    p = np.exp(-(s.w - s.w[0]) / width)
    t = s.M.thermal([width], bounds=s.bounds, exact=True)
    s.close(t.log_z.value[0], np.log(p.sum()) - s.w[0] / width, 1e4)
    s.close(t.energy.value[0], (p * s.w).sum() / p.sum(), 1e4 * width)
    x = s.vectors(2)
    s.close(s.M.apply(f, x, bounds=s.bounds), s.function(f) @ x, 10 * np.linalg.norm(x))
    times = s.rng.uniform(-2, 2, 2)
    evolved = np.array([s.function(lambda w: np.exp(-1j * w * t)) @ x for t in times])
    s.close(s.M.evolve(x, times), evolved, 100 * np.linalg.norm(x))
    energies = s.M.evolve(x, times, operators=[s.A])[:, 0]
    s.close(energies, [np.sum(x.conj() * (s.dense @ x), axis=0).real] * 2, 1e3 * s.size * np.linalg.norm(x) ** 2)


def greens_and_conductivity(s):
    eta = float(s.rng.uniform(0.2, 1))
    i, j = s.rng.integers(s.n, size=(2, 3))
    E = s.rng.uniform(*s.bounds, 2)
    G = np.array([np.linalg.inv((e + 1j * eta) * np.eye(s.n) - s.dense)[i, j] for e in E]).T
    tol = 5e-3 if s.eps > 1e-6 else 0
    s.close(s.M.greens(i, j, eta=eta, tol=tol, bounds=s.bounds)(E), G, 20 / eta)
    at = s.rng.uniform(0, 5, (s.n, 2))
    V = [1j * s.dense * (at[None, :, d] - at[:, None, d]) for d in range(2)]
    x = (2 * s.w - s.bounds[0] - s.bounds[1]) / (s.bounds[1] - s.bounds[0])
    T = np.einsum("ia,ka,ja->kij", s.v, np.cos(np.arange(5)[:, None] * np.arccos(x)), s.v.conj())
    M = wisp.Matrix(s.A, positions=at)
    found = M.conductivity("x", "y", num_moments=5, exact=True, bounds=s.bounds, volume=25.0).moments.reshape(5, 5)
    gamma = np.einsum("jab,kba->jk", V[0] @ T, V[1] @ T)
    s.close(found, gamma, 100 * (abs(gamma).max() + s.n * 25))


def solutions(s):
    k = int(s.rng.integers(1, min(s.n, 5) + 1))
    tol = 30 * s.eps * s.size
    for pairs, nearest in ((s.M.eigs(k, "SA"), s.w), (s.M.eigs(k, target=0.1), s.w[np.argsort(abs(s.w - 0.1))])):
        found = pairs.values
        assert found.size >= k and pairs.complete
        np.testing.assert_allclose(np.sort(found), np.sort(nearest[:found.size]), atol=tol)
        np.testing.assert_allclose(s.dense @ pairs.vectors, pairs.vectors * found, atol=10 * tol)
    shift = 0.5 - s.w[0]
    b = s.vectors(2)
    x, info = wisp.Matrix((s.A + shift * sp.identity(s.n)).astype(s.dtype)).solve(b)
    exact = scipy.linalg.solve(s.dense + shift * np.eye(s.n), b)
    assert info.converged
    s.close(x, exact, 100 * s.size * np.linalg.norm(b))


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_system(seed):
    with wisp.Context(threads=1):  # so small systems have no use for more, which wait for each other on a busy machine
        s = System(seed)
        for calls in (products_and_moments, functions, greens_and_conductivity, solutions):
            calls(s)
