"""Local densities of many rows, spectral functions of plane waves, and averages over disorder."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np

from ._lib import lib
from ._moments import KERNELS, Estimate, Moments
from ._show import axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROWS = 1024  # whose moments are held at once
_COLUMNS = 32  # start vectors that go through the matrix together


class LocalMap(NamedTuple):
    """Local densities of states of rows at energies, exact but for the kernel: there is no bar.

    Attributes
    ----------
    energies : numpy.ndarray
        Of shape (energies,), in the unit of the matrix's entries.
    rows : numpy.ndarray
        Of shape (rows,).
    densities : numpy.ndarray
        <r|delta(E - H)|r> per unit of energy, of shape (energies, rows).
    resolution : float
        The standard deviation of Jackson's kernel at the centre: levels are blurred by it.
    positions : numpy.ndarray or None
        Of these rows, of shape (rows, dimensions), where they are known.
    """

    energies: np.ndarray
    rows: np.ndarray
    densities: np.ndarray
    resolution: float
    positions: np.ndarray | None

    def plot(self, index: int = 0, ax: Any = None, **style: Any) -> Any:
        """Draws the map at energy number ``index`` by matplotlib, over x and y, or over the rows where these are not
        known; gives the axes."""
        ax = axes(ax, "local density of states")
        at = self.positions
        if at is None or at.shape[1] < 2:
            ax.set_xlabel("row" if at is None else "x")
            ax.plot(self.rows if at is None else at[:, 0], self.densities[index], ".", **style)
            return ax
        ax.set_xlabel("x")
        ax.set_ylabel("y")
        ax.figure.colorbar(ax.scatter(at[:, 0], at[:, 1], c=self.densities[index], **{"s": 4, **style}), ax=ax)
        ax.set_title(f"local density of states at {self.energies[index]:.4g}")
        return ax


class SpectralFunction(Moments):
    """A(k, E), the sum over orbitals o of <k,o|delta(E - H)|k,o>, exact but for the kernel: there is no bar.

    Called with energies it gives densities per unit of energy, of shape (wave vectors, *energies); the integral of each
    is the number of orbitals. Levels are blurred by ``resolution``.

    Attributes
    ----------
    k : numpy.ndarray
        Wave vectors, of shape (wave vectors, dimensions).
    orbitals : int
        How many each of them has.
    moments : numpy.ndarray
        <k,o|T_n|k,o>, of shape (wave vectors * orbitals, moments), real.
    """

    _kept = ("kernel", "k", "orbitals")
    k: np.ndarray
    orbitals: int

    def _no_sum(self, *args: Any, **options: Any) -> Any:
        raise TypeError("plane waves are not all states of a system: take spectral_density for counts, integrals and "
                        "thermodynamics")

    count = integrate = thermal = _no_sum

    def __call__(self, energy: ArrayLike) -> np.ndarray:
        each = np.array([self._at(energy, v).value for v in range(self.num_vectors)])
        return each.reshape(len(self.k), self.orbitals, *np.shape(energy)).sum(1)

    @property
    def densities(self) -> np.ndarray:
        return self(self.energies)

    def plot(self, ax: Any = None, *, log: bool = False, **style: Any) -> Any:
        """Draws A over the number of the wave vector and energy by matplotlib; gives the axes."""
        ax = axes(ax, "energy")
        ax.set_xlabel("wave vector")
        a = self.densities
        if log:
            from matplotlib.colors import LogNorm

            style = {"norm": LogNorm(max(a.max() * 1e-4, 1e-300), a.max()), **style}
            a = np.maximum(a, a.max() * 1e-4)
        ax.pcolormesh(np.arange(len(self.k)), self.energies, a.T, shading="nearest", **style)
        return ax


class Average:
    """The mean of results over realizations of disorder, with one bar over realizations and random vectors.

    Called as its results are, it gives the mean of what they give. Each realization is one sample, whose scatter has that
    of its random vectors in it; so the standard error is the standard deviation of the realizations over the square root
    of their number, and the 95% bar Student's.

    Attributes
    ----------
    results : list
        Of each realization.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = list(results)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.at(*args, **options).value

    def at(self, *args: Any, **options: Any) -> Estimate:
        """The mean, its standard error (NaN for one realization) and its 95% bar."""
        values = [r(*args, **options) for r in self.results]
        each = np.array([getattr(v, "value", v) for v in values])
        n = len(each)

        def one(x: np.ndarray) -> tuple[Any, Any, Any]:
            err = x.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(x.shape[1:], np.nan)
            return x.mean(0), err, (lib.wisp_student95(n) if n > 1 else np.nan) * err

        value, err, half = one(each.real)
        if each.dtype.kind == "c":
            value, err, half = (a + 1j * b for a, b in zip((value, err, half), one(each.imag)))
        return Estimate(value[()], err[()], ((value - half)[()], (value + half)[()]))

    def plot(self, x: ArrayLike, ax: Any = None, **style: Any) -> Any:
        """Draws the mean and its 95% bars over energies, or chemical potentials, x by matplotlib; gives the axes."""
        ax, e = axes(ax, "mean"), self.at(x)
        line, = ax.plot(x, np.real(e.value), **style)
        if np.all(np.isfinite(e.stderr)):
            ax.fill_between(x, *np.real(e.bar95), color=line.get_color(), alpha=0.3, linewidth=0)
        return ax

    def __repr__(self) -> str:
        return f"<wisp.Average: {len(self.results)} realizations>"


def _same_moments(a: Any, b: Any) -> bool:
    return getattr(b, "_mu", None) is not None and a._mu.shape == b._mu.shape and bool(np.all(a._mu == b._mu))


def average(make: Callable[[Any], Any], seeds: Iterable[Any]) -> Average:
    """The mean over disorder: ``make(seed)`` gives the result of one realization.

    Parameters
    ----------
    make : callable
        It gives a density of states, local densities, Green's functions or a conductivity; or any function whose values
        are to be averaged, such as ``make(seed).at``. It has to take other random vectors for each seed
        (``rng=seed``), for the error that the same ones make is no smaller in the mean.
    seeds : iterable
        One for each realization.

    Returns
    -------
    Average

    Raises
    ------
    ValueError
        There are no seeds; or two realizations have the same random vectors.
    KeyboardInterrupt
        Ctrl-C. Its ``result`` is the Average of the realizations that were complete, or None.

    Examples
    --------
    >>> import wisp
    >>> def make(seed):
    ...     H = wisp.gallery("anderson", nx=10, ny=10, nz=10, disorder=4, seed=seed)
    ...     return H.spectral_density(2, 32, rng=seed)
    >>> wisp.average(make, range(3)).at([0.0, 1.0]).value.shape
    (2,)
    """
    results: list[Any] = []
    seen: dict[int, list[tuple[int, int]]] = {}
    try:
        for seed in seeds:
            result = make(seed)
            if not callable(result):
                raise TypeError(f"make gives a result that is called, such as a density of states, not {type(result).__name__}")
            facts = getattr(result, "_facts", None)
            if facts and facts["trace"] != lib.WISP_TRACE_RANDOM and results and _same_moments(result, results[0]):
                raise ValueError(f"the realization of seed {seed!r} has the moments of the first one: make takes another "
                                 "disorder for each seed")
            if facts and facts["trace"] == lib.WISP_TRACE_RANDOM:
                first, last = facts["first_vector"], facts["first_vector"] + facts["vectors"]
                before = seen.setdefault(facts["seed"], [])
                if any(first < b and a < last for a, b in before):
                    raise ValueError(f"the realization of seed {seed!r} has random vectors of one before it: make takes "
                                     "other ones for each seed (rng=seed)")
                before.append((first, last))
            results.append(result)
    except KeyboardInterrupt as failure:
        failure.result = Average(results) if results else None
        raise
    if not results:
        raise ValueError("an average takes one seed at least")
    return Average(results)


class MapCalls:
    """Calls of a matrix for many rows, and for plane waves."""

    def _known_orbitals(self) -> Any:
        if self._orbitals is None and isinstance(self._where, str):
            with self._located() as known:
                self._orbitals = known.orbitals()
        return 1 if self._orbitals is None else self._orbitals

    def ldos_map(self, energies: ArrayLike, rows: ArrayLike | None = None, num_moments: int | None = None, *,
                 energy_resolution: float | None = None, kernel: str = "jackson", bounds: Sequence[float] | None = None,
                 progress: Any = None) -> LocalMap:
        """Local densities of states <r|delta(E - H)|r> of many rows at chosen energies, exact but for the kernel.

        Each row takes half as many products as moments (Weisse et al., Rev. Mod. Phys. 78, 275 (2006), equations 35 and
        81). Moments are held of a thousand rows at a time, and the densities alone are kept.

        Parameters
        ----------
        energies : float or array of shape (energies,)
            In the unit of the matrix's entries.
        rows : array, optional
            Numbers of rows, or a mask of all rows, such as ``H.positions[:, 2] < 1``. None: all.
        num_moments, energy_resolution, kernel, bounds, progress
            As in ``spectral_density``.

        Returns
        -------
        LocalMap

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is the LocalMap of the rows that were complete, or None.
        """
        e = np.atleast_1d(np.asarray(energies, float))
        r = np.arange(self.shape[0]) if rows is None else np.atleast_1d(rows)
        if r.dtype == bool and r.shape == (self.shape[0],):
            r = np.flatnonzero(r)
        if e.ndim != 1 or r.ndim != 1 or not r.size or r.dtype.kind not in "iu":
            raise ValueError("energies are a list; rows are a list of rows, or a mask of all, one at least")
        bounds = self.find_bounds() if bounds is None else bounds
        found: list[np.ndarray] = []

        def upto(count: int) -> LocalMap:
            where = self.positions if self._where is not None else None
            densities = np.concatenate(found, 1) if found else np.zeros((e.size, 0))
            return LocalMap(e, r[:count], densities, resolution, None if where is None else where[r[:count]])

        resolution = np.nan
        try:
            for i in range(0, r.size, _ROWS):
                local = self.ldos(r[i:i + _ROWS], num_moments, energy_resolution=energy_resolution, kernel=kernel,
                                  bounds=bounds, progress=progress)
                resolution = local.resolution
                found.append(local(e).T)
        except KeyboardInterrupt as failure:
            failure.result = upto(sum(f.shape[1] for f in found)) if found else None
            raise
        return upto(r.size)

    def spectral_function(self, k: ArrayLike, num_moments: int | None = None, *, positions: ArrayLike | None = None,
                          orbitals: int | ArrayLike | None = None, energy_resolution: float | None = None, kernel: str = "jackson",
                          bounds: Sequence[float] | None = None, progress: Any = None) -> SpectralFunction:
        """A(k, E): the density of states that plane waves see, as photoemission measures it.

        The start vectors are |k,o> = sum over the N rows r of orbital o of exp(i k r)/sqrt(N) |r>; A(k, E) is the sum over
        o of <k,o|delta(E - H)|k,o> (Weisse et al., Rev. Mod. Phys. 78, 275 (2006), section III).

        Parameters
        ----------
        k : array of shape (wave vectors, dimensions) or (wave vectors,)
            In the inverse of the unit of the positions, 2 pi included. In a periodic sample Bloch's bands are met where
            k times each vector of the cell is a multiple of 2 pi.
        positions : array of shape (rows, dimensions), optional
            None: those of the matrix.
        orbitals : int or array of shape (rows,), optional
            So many, row i being of orbital i modulo that number; or the number of each row's orbital, 0 to the most.
            None: what the gallery, or Kwant's families of sites, tell, else 1.
        num_moments, energy_resolution, kernel, bounds, progress
            As in ``spectral_density``.

        Returns
        -------
        SpectralFunction

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is the SpectralFunction of the wave vectors that were complete, or None.

        Examples
        --------
        >>> import numpy as np, wisp
        >>> H = wisp.gallery("graphene", nx=12, ny=12)
        >>> A = H.spectral_function(np.zeros((1, 2)), 64)
        >>> A([0.0, 1.0]).shape
        (1, 2)
        """
        at = self.positions if positions is None else np.asarray(positions, float)
        if at is None:
            raise ValueError("it is not known where the rows are: give positions=...")
        at = at[:, None] if at.ndim == 1 else at
        k = np.asarray(k, float)
        k = k[:, None] if k.ndim == 1 else k
        if at.shape[0] != self.shape[0] or k.ndim != 2 or not len(k) or k.shape[1] != at.shape[1]:
            raise ValueError(f"k is of shape (wave vectors, {at.shape[1]}), one wave vector being [[...]], positions of "
                             f"shape ({self.shape[0]}, {at.shape[1]}), not {k.shape} and {at.shape}")
        if kernel not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}, not {kernel!r}")
        if orbitals is None:
            orbitals = self._known_orbitals()
        if np.ndim(orbitals) == 0 and (int(orbitals) < 1 or int(orbitals) != orbitals):
            raise ValueError(f"orbitals are a whole number, 1 at least, not {orbitals}")
        which = np.arange(self.shape[0]) % int(orbitals) if np.ndim(orbitals) == 0 else np.asarray(orbitals)
        if which.shape != (self.shape[0],) or which.dtype.kind not in "iu" or which.min() < 0 \
                or np.bincount(which).min() < 1:
            raise ValueError("each row has the number of its orbital, from 0 to the most, and none is left out")
        many = int(which.max()) + 1
        factor = 1 / np.sqrt(np.bincount(which))[which]
        bounds = self.find_bounds() if bounds is None else bounds
        at_once = max(1, _COLUMNS // many)
        dtype = np.complex64 if self.dtype.char in "fF" else complex
        parts: list[Any] = []

        def upto(count: int) -> SpectralFunction:
            a = SpectralFunction.__new__(SpectralFunction)
            a.__dict__.update(parts[0].__dict__)
            a._mu = np.concatenate([p._mu for p in parts])
            a._facts = {**parts[0]._facts, "vectors": len(a._mu)}
            a.k, a.orbitals, a._grid = k[:count].copy(), many, None
            return a

        try:
            for i in range(0, len(k), at_once):
                waves = (np.exp(1j * (at @ k[i:i + at_once].T)) * factor[:, None])[:, :, None]
                X = (waves * (which[:, None, None] == np.arange(many))).reshape(self.shape[0], -1).astype(dtype)
                parts.append(self.spectral_density(num_moments=num_moments, energy_resolution=energy_resolution,
                                                   kernel=kernel, bounds=bounds, vectors=X, progress=progress))
        except KeyboardInterrupt as failure:
            failure.result = upto(len(parts) * at_once) if parts else None
            raise
        return upto(len(k))
