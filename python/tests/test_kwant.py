"""Systems of Kwant: of a stand-in, and of Kwant itself where it is installed."""
import numpy as np
import pytest
import scipy.sparse as sp

import wisp


class Stand:
    """A system of two sites, of two orbitals and of one."""

    def pos(self, i):
        return [(0.0, 1.0), (2.0, 5.0)][i]

    def hamiltonian_submatrix(self, sparse, return_norb, params=None):
        assert sparse and return_norb
        t = (params or {}).get("t", 1.0)
        return sp.coo_matrix([[0, 0, t], [0, 0, t], [t, t, 0]]), [2, 1], [2, 1]


def test_orbitals_have_the_place_of_their_site():
    M = wisp.Matrix(Stand(), params={"t": 3.0})
    np.testing.assert_array_equal(M.positions, [[0, 1], [0, 1], [2, 5]])
    np.testing.assert_allclose(M @ np.eye(3), [[0, 0, 3], [0, 0, 3], [3, 3, 0]])
    np.testing.assert_allclose((M.velocity("y") @ np.eye(3))[0, 2], 3j * 4)
    other = wisp.Matrix(Stand(), positions=np.zeros((3, 1)))
    np.testing.assert_array_equal(other.positions, np.zeros((3, 1)))
    moved = wisp.Matrix(Stand(), cell=[[20.0, 0], [0, 30.0]])
    assert moved.conductivity(num_moments=4, num_vectors=2).volume == pytest.approx(600)


@pytest.fixture
def kwant():
    return pytest.importorskip("kwant", reason="Kwant is not installed")


def flake(kwant):
    lattice = kwant.lattice.honeycomb(norbs=1)
    system = kwant.Builder()
    system[lattice.shape(lambda at: at[0] ** 2 + at[1] ** 2 < 30, (0, 0))] = 0.1
    system[lattice.neighbors()] = lambda a, b, t: -t
    return system.finalized()


def test_kwant_system(kwant):
    system = flake(kwant)
    params = {"t": 1.5}
    H = system.hamiltonian_submatrix(params=params)
    M = wisp.Matrix(system, params=params)
    np.testing.assert_allclose(M @ np.eye(len(H)), H)
    np.testing.assert_allclose(M.positions, [system.pos(i) for i in range(len(H))])
    x = M.positions[:, 0]
    np.testing.assert_allclose(M.velocity("x") @ np.eye(len(H)), 1j * H * (x[None, :] - x[:, None]), atol=1e-12)


def test_kwant_operators(kwant):
    system = flake(kwant)
    params, options = {"t": 1.0}, dict(num_moments=12, exact=True, bounds=(-3.3, 3.3))
    M = wisp.Matrix(system, params=params)
    right = [site.pos[0] > 0 for site in system.sites]
    density = kwant.operator.Density(system, where=lambda site: site.pos[0] > 0, sum=True)
    mine, rows = M.spectral_density(operator=density, **options), M.spectral_density(rows=right, **options)
    np.testing.assert_allclose(mine(0.4), rows(0.4), atol=1e-9)
    psi = np.ones(len(system.sites))
    np.testing.assert_allclose(M.evolve(psi, [0.0], operators=[density])[0, 0], sum(right))


def test_kwant_conductivity(kwant):
    """As Kwant's own, of all unit vectors and the same moments; it gives the mean over vectors, of length 1. Its
    integral has other ends, which makes a small difference."""
    system = flake(kwant)
    params, n = {"t": 1.0}, len(system.sites)
    mine = wisp.Matrix(system, params=params).conductivity(num_moments=30, exact=True, bounds=(-3.3, 3.3), volume=n)
    theirs = kwant.kpm.conductivity(system, params=params, alpha="x", beta="x", num_vectors=n, num_moments=30, eps=1e-6,
                                    bounds=(-3.3, 3.3), vector_factory=list(np.eye(n)))
    for mu in (-1.0, 0.0, 0.7):
        assert mine(mu, 0.3) == pytest.approx(theirs(mu=mu, temperature=0.3).real, abs=0.02)
