"""Local densities of many rows, and spectral functions of plane waves."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np

from ._arguments import checked, reals, shown
from ._context import callback
from ._errors import with_result
from ._lib import DTYPES, TYPES, ffi, lib, pointer
from ._moments import KERNELS, Moments
from ._random_map import Sums
from ._parts import MatrixParts
from ._show import axes, html
from ._spectral import rows_of, seed_of
from ._transport import kwant_orbitals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ROWS = 1024  # whose moments are held at once


class LocalMap(NamedTuple):
    """Local densities of states of rows at energies: exact but for the kernel, or by random vectors, with bars.

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
    stderr : numpy.ndarray or None
        Like densities, by random vectors: NaN for a single one. None: nothing is of chance.
    bar95 : tuple of numpy.ndarray or None
        The lower and the upper ends of 95% bars, of chance alone.
    """

    energies: np.ndarray
    rows: np.ndarray
    densities: np.ndarray
    resolution: float
    positions: np.ndarray | None
    stderr: np.ndarray | None = None
    bar95: tuple[np.ndarray, np.ndarray] | None = None

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

    def to_xarray(self) -> Any:
        """An xarray.Dataset of the density over energy and row; by random vectors also of stderr, low and high."""
        import xarray

        maps = {"density": self.densities}
        if self.stderr is not None and self.bar95 is not None:
            maps.update(stderr=self.stderr, low=self.bar95[0], high=self.bar95[1])
        where = {} if self.positions is None else {
            name: ("row", x) for name, x in zip("xyz", self.positions.T)}
        return xarray.Dataset({name: (("energy", "row"), y) for name, y in maps.items()},
                              {"energy": self.energies, "row": self.rows, **where}, {"resolution": self.resolution})

    def _repr_html_(self) -> str:
        bars = "none: exact but for the kernel" if self.stderr is None else "of random vectors"
        return html("LocalMap", {"energies": str(self.energies.size), "rows": str(self.rows.size), "bars": bars,
                                 "resolution": f"{self.resolution:.3g}"})


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

    def __init__(self, matrix: Any, ctx: Any, raw: Any, kernel: str, k: np.ndarray, orbitals: int) -> None:
        super().__init__(matrix, ctx, raw, kernel)
        whole = self.num_vectors // orbitals  # the last one may lack orbitals, if the run was ended
        self.k, self.orbitals = k[:whole].copy(), orbitals
        self._mu = self._mu[:whole * orbitals].copy()
        self._facts["vectors"] = len(self._mu)

    def _no_sum(self, *args: Any, **options: Any) -> Any:
        """Not of plane waves, which are not all states: ``spectral_density`` has it."""
        raise TypeError("plane waves are not all states of a system: take spectral_density for counts, integrals and "
                        "thermodynamics")

    count = integrate = thermal = _no_sum

    @checked()
    def __call__(self, energy: ArrayLike) -> np.ndarray:
        """A(k, E) at energies, of shape (wave vectors, ...)."""
        each = np.array([self._at(energy, v).value for v in range(self.num_vectors)])
        return each.reshape(len(self.k), self.orbitals, *np.shape(energy)).sum(1)

    @property
    def densities(self) -> np.ndarray:
        """Of shape (wave vectors, energies), per unit of energy; the integral of each is the number of orbitals."""
        return self(self.energies)

    def to_xarray(self) -> Any:
        """An xarray.DataArray of the densities over wave (its number, with kx, ky, kz beside) and energy."""
        import xarray

        waves = {f"k{name}": ("wave", k) for name, k in zip("xyz", self.k.T)}
        return xarray.DataArray(self.densities, {"wave": np.arange(len(self.k)), "energy": self.energies, **waves},
                                ("wave", "energy"), "density", {**self._facts_shown(), "kernel": self.kernel})

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


class MapCalls(MatrixParts):
    """Calls of a matrix for many rows, and for plane waves."""

    def _known_orbitals(self) -> Any:
        if self._orbitals is None and self._system is not None:
            self._orbitals = kwant_orbitals(*self._system)
        if self._orbitals is None and isinstance(self._where, str):
            with self._located() as known:
                self._orbitals = known.orbitals()
        return 1 if self._orbitals is None else self._orbitals

    @checked()
    def ldos_map(self, energies: ArrayLike, rows: ArrayLike | None = None, num_moments: int | None = None, *,
                 energy_resolution: float | None = None, num_vectors: int | None = None,
                 rng: int | np.random.Generator | None = 0, kernel: str = "jackson", bounds: Sequence[float] | None = None,
                 progress: Any = None) -> LocalMap:
        """Local densities of states <r|delta(E - H)|r> of many rows at chosen energies, exact but for the kernel, or by
        random vectors.

        Exactly each row takes half as many products as moments (Weisse et al., Rev. Mod. Phys. 78, 275 (2006), equations
        35 and 81). Moments are held of a thousand rows at a time, and the densities alone are kept. Random vectors serve
        all rows at once: each takes half as many products as moments, and the scatter of one is about the density itself,
        whatever the resolution.

        Parameters
        ----------
        energies : float or array of shape (energies,)
            In the unit of the matrix's entries.
        rows : array, optional
            Numbers of rows, or a mask of all rows, such as ``H.positions[:, 2] < 1``. None: all.
        num_vectors : int, optional
            So many random vectors; bars take two at least. None: exact.
        rng : int, numpy.random.Generator or None
            The seed of the vectors.
        num_moments, energy_resolution, kernel, bounds, progress
            As in ``spectral_density``. Random vectors take kernel "jackson" or "fejer".

        Returns
        -------
        LocalMap

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is the LocalMap of the rows, or vectors, that were complete, or None.

        Examples
        --------
        >>> import wisp
        >>> m = wisp.gallery("graphene", nx=20, ny=20).ldos_map([0.0, 1.0], num_moments=64, num_vectors=8)
        >>> m.densities.shape, m.bar95[0].shape
        ((2, 800), (2, 800))
        """
        e = np.atleast_1d(np.asarray(energies, float))
        if e.ndim != 1 or not np.all(np.isfinite(e)):
            raise ValueError(f"energies are a list of finite numbers, not {shown(energies)}")
        r = np.arange(self.shape[0]) if rows is None else rows_of(rows, self.shape[0])
        bounds = self.find_bounds() if bounds is None else bounds
        if num_vectors is not None:
            return self._random_map(e, r, self._number(num_moments, energy_resolution, bounds)[0], num_vectors, rng, kernel,
                                    bounds, progress)
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
            with_result(failure, upto(sum(f.shape[1] for f in found)) if found else None)
            raise
        return upto(r.size)

    def _random_map(self, e: np.ndarray, r: np.ndarray, moments: int, vectors: int, rng: Any, kernel: str,
                    bounds: Sequence[float], progress: Any) -> LocalMap:
        if vectors < 1:
            raise ValueError(f"num_vectors is at least 1, not {vectors}")
        if kernel not in ("jackson", "fejer"):
            raise ValueError(f"random vectors take kernel 'jackson' or 'fejer', not {kernel!r}")
        if not e.size:
            raise ValueError("energies are one at least, with random vectors")
        if not 2 <= moments <= lib.WISP_CHEBYSHEV_TERMS:
            raise ValueError(f"num_moments is from 2 to {lib.WISP_CHEBYSHEV_TERMS}, not {moments}")
        terms = moments // 2 + 1
        sums = Sums(self, e, r, terms, seed_of(rng, self.ctx), kernel, bounds)

        def found() -> LocalMap:
            mean, err, bars = sums.means()
            where = self.positions if self._where is not None else None
            resolution = lib.wisp_resolution((bounds[1] - bounds[0]) / 2, 2 * terms - 1)
            return LocalMap(e, r, mean, resolution, None if where is None else where[r], err, bars)

        try:
            sums.add(vectors, progress)
        except KeyboardInterrupt as failure:
            with_result(failure, found() if sums.done else None)
            raise
        return found()

    @checked(k=reals)
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
            Ctrl-C. Its ``result`` is the SpectralFunction of the wave vectors, and moments, that were there, or None.

        Examples
        --------
        >>> import numpy as np, wisp
        >>> H = wisp.gallery("graphene", nx=12, ny=12)
        >>> A = H.spectral_function(np.zeros((1, 2)), 64)
        >>> A([0.0, 1.0]).shape
        (1, 2)
        """
        k = np.asarray(k, float)
        k = np.ascontiguousarray(k[:, None] if k.ndim == 1 else k)
        if kernel not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}, not {kernel!r}")
        with self._located(positions) as where:
            if k.ndim != 2 or not len(k) or k.shape[1] != where.dimensions:
                raise ValueError(f"k is of shape (wave vectors, {where.dimensions}), one wave vector being [[...]], "
                                 f"not {k.shape}")
            waves = _Waves(self, where, k, orbitals)
            dtype = TYPES["F" if self.dtype.char in "fF" else "D"]
            moments, bounds = self._number(num_moments, energy_resolution, bounds)
            start = callback("wisp_start_fn", waves.start, lib.WISP_ERR_CALLBACK)  # it has to live through the run
            run = self._kpm(moments, len(k) * waves.many, bounds, progress, trace=lib.WISP_TRACE_GIVEN, type=dtype,
                            start=start)
            return self._moments(lambda m: SpectralFunction(self, self.ctx, m, kernel, k, waves.many), kernel, run)


class _Waves:
    """Plane waves of one wave vector after the other, of each of its orbitals, made as they are needed."""

    def __init__(self, matrix: Any, where: Any, k: np.ndarray, orbitals: Any) -> None:
        self.ctx, self.where, rows = matrix.ctx, where, matrix.shape[0]
        self.k = np.zeros((len(k), 3))
        self.k[:, :k.shape[1]] = k
        self.at: Any = None
        self.which: Any = None
        if orbitals is None:
            orbitals = matrix._known_orbitals()
            if isinstance(matrix._where, str) and where.where is matrix._where:  # the library knows them as well
                self.many = max(1, where.p.orbitals)
                where.p.orbitals = self.many
                return
        if np.ndim(orbitals) == 0:
            if int(orbitals) < 1 or int(orbitals) != orbitals or int(orbitals) > rows:
                raise ValueError(f"orbitals are a whole number, from 1 to the rows, not {orbitals}")
            self.many = int(orbitals)
            where.p.orbitals, where.p.orbital = self.many, ffi.NULL
            return
        self.which = np.asarray(orbitals)
        if self.which.shape != (rows,) or self.which.dtype.kind not in "iu" or self.which.min() < 0 \
                or np.bincount(self.which).min() < 1:
            raise ValueError("orbitals are the number of each row's orbital, from 0 to the most, and none is left out")
        count = np.bincount(self.which)
        self.many, self.factor = count.size, 1 / np.sqrt(count)[self.which]
        own = matrix._own()
        self.at, self.which, self.factor = where.array()[own], self.which[own], self.factor[own]

    def start(self, arg: Any, first: int, x: Any) -> int:
        """Vector v is orbital v modulo their number, at wave vector v over it."""
        v = first + np.arange(lib.wisp_blk_width(x))
        k, orbital = np.ascontiguousarray(self.k[v // self.many]), np.ascontiguousarray(v % self.many, np.intc)
        if self.which is None:
            self.ctx.call(lib.wisp_blk_fill_waves_sized, x, self.where.p, self.where.size, pointer(k, "double"),
                          pointer(orbital, "int"))
        else:
            X = np.empty((len(self.which), v.size), DTYPES[lib.wisp_blk_type(x)])
            for j in range(v.size):  # column by column, so that one alone is held beside the block
                wave = np.exp(1j * (self.at @ k[j, :self.at.shape[1]])) * self.factor
                X[:, j] = np.where(self.which == orbital[j], wave, 0)
            self.ctx.call(lib.wisp_blk_put, x, lib.WISP_ROW_MAJOR, pointer(X), X.shape[1])
        return lib.WISP_OK
