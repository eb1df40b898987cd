"""Local densities of states, and Green's functions, exact but for a kernel or a bound."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import checked
from ._context import Context
from ._moments import Estimate, Moments
from ._show import axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class LocalDensity(Moments):
    """Local densities of states at sites, exact but for the kernel.

    Called with energies it gives densities of shape (sites, ...).

    Attributes
    ----------
    sites : numpy.ndarray
    energies : numpy.ndarray
    densities : numpy.ndarray
        Of shape (sites, energies); each one's integral is 1.
    """

    @property
    def sites(self) -> Any:
        """The rows of the matrix that were asked for."""
        return self._sites

    @checked()
    def __call__(self, energy: ArrayLike) -> np.ndarray:
        """The densities at energies, of shape (sites, ...)."""
        return np.array([self._at(energy, i).value for i in range(self.num_vectors)])

    @checked()
    def greens(self, energy: ArrayLike, eta: float, *, tol: float = 0) -> np.ndarray:
        """G_ss(E + i eta) at energies, of shape (sites, ...), as ``SpectralDensity.greens``."""
        return np.array([self._green(energy, eta, i, tol).value for i in range(self.num_vectors)])

    @property
    def densities(self) -> np.ndarray:
        """Of shape (sites, energies), per unit of energy; each one's integral is 1."""
        return self(self.energies)

    def to_xarray(self) -> Any:
        """An xarray.DataArray of the densities over site and energy."""
        import xarray

        return xarray.DataArray(self.densities, {"site": self.sites, "energy": self.energies}, ("site", "energy"),
                                "density", {**self._facts_shown(), "kernel": self.kernel})

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the densities by matplotlib; gives the axes."""
        ax = axes(ax, "local density of states")
        for site, density in zip(self.sites, self.densities):
            ax.plot(self.energies, density, label=f"site {site}", **style)
        ax.legend()
        return ax


class GreensFunction(Moments):
    """Retarded Green's functions G_ij(E + i eta) = <i|1/(E + i eta - H)|j>, exact but for ``bar95``.

    Called with energies it gives complex numbers of shape (pairs of i and j, energies).

    Attributes
    ----------
    i, j : numpy.ndarray
        Rows of the matrix, of one shape.
    eta : float
        The width of a level. Another one may be set: a larger one needs no new moments.
    tol : float
        Of what is not of chance, times eta.
    """

    _kept = ("i", "j", "eta", "tol")

    def __init__(self, matrix: Any, ctx: Context, raw: Any, i: np.ndarray, j: np.ndarray, eta: float,
                 tol: float) -> None:
        super().__init__(matrix, ctx, raw, "jackson")
        self.i, self.j, self.eta, self.tol = i, j, eta, tol

    @checked()
    def __call__(self, energy: ArrayLike) -> Any:
        return self.at(energy).value

    @checked()
    def at(self, energy: ArrayLike) -> Estimate:
        """G at energies. ``bar95`` holds the terms that are left out, and rounding; nothing is of chance."""
        shape = self.i.shape + np.shape(energy)
        found = [self._green(energy, self.eta, v, self.tol) for v in range(self.num_vectors)]
        if len(found) < self.i.size:
            raise ValueError("the run was ended before all pairs were there")
        value, err, low, high = (np.array(a).reshape(shape)[()] for a in zip(*((*e[:2], *e[2]) for e in found)))
        return Estimate(value, err, (low, high))

    @checked()
    def to_xarray(self, energy: ArrayLike | None = None) -> Any:
        """An xarray.Dataset of G, and of the ends low and high of its bars, over pair (with rows i and j) and energy.

        Parameters
        ----------
        energy : array, optional
            None: ``energies``.
        """
        import xarray

        at = self.energies if energy is None else np.atleast_1d(np.asarray(energy, float))
        found, pairs = self.at(at), (self.i.size, at.size)
        curves = {"greens": found.value, "low": found.bar95[0], "high": found.bar95[1]}
        return xarray.Dataset({name: (("pair", "energy"), np.reshape(g, pairs)) for name, g in curves.items()},
                              {"i": ("pair", self.i.ravel()), "j": ("pair", self.j.ravel()), "energy": at},
                              {**self._facts_shown(), "eta": self.eta})
