"""Where the rows of a matrix are, velocities along directions, and conductivities."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from ._arguments import checked, finite, numbers, shown, warn
from ._context import Context
from ._lib import DTYPES, TYPES, ffi, lib, pointer, struct
from ._moments import KERNELS, Estimate, Moments
from ._parts import MatrixParts
from ._show import axes
from ._spectral import ROUNDING, seed_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._matrix import Matrix

_FORMULAS = {"bastin": lib.WISP_BASTIN, "greenwood": lib.WISP_GREENWOOD}
_FAR = 10  # times the sample: beyond it there is a warning
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def kwant_positions(system: Any, orbitals: Sequence[int]) -> np.ndarray | None:
    """The position of each orbital of a finalized system, whose sites have so many; None: it does not tell."""
    if not hasattr(system, "pos"):
        return None
    at = np.array([system.pos(i) for i in range(len(orbitals))], float)
    return np.repeat(at.reshape(len(orbitals), -1), orbitals, axis=0)


def kwant_orbitals(system: Any, orbitals: Sequence[int]) -> np.ndarray | None:
    """Which orbital of a cell each row is: those of the families of sites, one family after the other; None: the system
    does not tell."""
    sites = getattr(system, "sites", None)
    if sites is None:
        return None
    first: dict[Any, int] = {}
    last = 0
    for site, many in zip(sites, orbitals):
        if site.family not in first:
            first[site.family], last = last, last + int(many)
    return np.concatenate([first[s.family] + np.arange(many) for s, many in zip(sites, orbitals)])


def checked_positions(positions: ArrayLike, rows: int, cell: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Positions of shape (rows, 1 to 3), and the vectors of a cell, of shape (0 to 3, 3)."""
    at = np.asarray(positions, float)
    at = np.ascontiguousarray(at[:, None] if at.ndim == 1 else at)
    if at.ndim != 2 or at.shape[0] != rows or not 1 <= at.shape[1] <= 3:
        raise ValueError(f"positions are of shape ({rows}, 1 to 3), not {np.shape(positions)}")
    given = np.atleast_2d(np.asarray(cell if cell is not None else np.zeros((0, 3)), float))
    if given.ndim != 2 or given.shape[0] > 3 or given.shape[1] > 3:
        raise ValueError(f"a cell is up to three vectors of up to three numbers, not of shape {given.shape}")
    vectors = np.zeros((given.shape[0], 3))
    vectors[:, :given.shape[1]] = given
    return at, vectors


class _Positions:
    """The library's positions of a matrix, within a ``with`` block."""

    def __init__(self, ctx: Context, where: Any, rows: int) -> None:
        self.ctx, self.where, self.rows = ctx, where, rows
        self.p, self.size = struct("wisp_positions")

    def __enter__(self) -> _Positions:
        ctx = self.ctx._ctx
        if isinstance(self.where, str):
            self.ctx.call(lib.wisp_positions_open_gallery_sized, self.p, self.size, ctx, self.where.encode())
        else:
            at, cell = self.where
            self.ctx.call(lib.wisp_positions_open_array_sized, self.p, self.size, ctx, self.rows, at.shape[1],
                          pointer(at, "double"), pointer(cell, "double"), cell.shape[0])
        return self

    def orbitals(self) -> np.ndarray | int:
        """Which orbital of its cell each row is, or their number, row i being of orbital i modulo it."""
        if not self.p.orbital:
            return max(1, self.p.orbitals)
        return np.array([self.p.orbital(self.p.arg, row) for row in range(self.rows)])

    @property
    def dimensions(self) -> int:
        return self.p.dimensions if isinstance(self.where, str) else self.where[0].shape[1]

    def array(self) -> np.ndarray:
        """Of shape (rows, dimensions)."""
        if not isinstance(self.where, str):
            return self.where[0].copy()
        at, xyz = np.empty((self.rows, self.dimensions)), ffi.new("double[3]")
        for row in range(self.rows):
            if self.p.at(self.p.arg, row, xyz):
                raise ValueError(f"row {row} has no position")
            at[row] = list(xyz)[:self.dimensions]
        return at

    def __exit__(self, *error: Any) -> None:
        lib.wisp_positions_close_sized(self.p, self.size)


class Conductivity(Moments):
    """A component of the conductivity tensor, in e^2/h in the plane (over a length in three dimensions).

    Called with chemical potentials it gives conductivities there, by Kubo-Bastin (Garcia, Covaci, Rappoport, Phys. Rev.
    Lett. 114, 116602 (2015)) or Kubo-Greenwood. They are those of J_alpha = sigma E_beta.

    Attributes
    ----------
    moments : numpy.ndarray
        Gamma_jk = <v|V_alpha T_j V_beta T_k|v>, of shape (vectors, moments * moments), complex.
    volume : float
        Of the sample: its area in the plane.
    formula : {"bastin", "greenwood"}
    kernel : {"jackson", "lorentz", "fejer", "dirichlet"}
    left_dtype : numpy.dtype
        In which left vectors V_alpha T_j|v> were held: single precision only by ``precision="auto"``. Files do not keep it.
    """

    _kept = ("kernel", "volume", "formula")
    _left: np.dtype | None = None  # None: that of the vectors

    def __init__(self, matrix: Any, ctx: Context, raw: Any, kernel: str, volume: float = 1.0,
                 formula: str = "bastin", dimensions: int = 0, direction: int = 0) -> None:
        super().__init__(matrix, ctx, raw, kernel)
        self._facts.update(dimensions=dimensions, direction=direction)
        self.volume, self.formula = volume, formula

    @property
    def num_moments(self) -> int:
        """Of each of both polynomials."""
        return self._facts["square"]

    @property
    def left_dtype(self) -> np.dtype:
        """In which left vectors were held."""
        return self._left or self.dtype

    def _share_of_rounding(self) -> float:
        """How far single precision of left vectors may move a value, over half of its bar, at most, at temperature 0."""
        share = ffi.new("double *")
        self._evaluate(lib.wisp_sigma_rounding_sized, self._at_mu(), share, 0.0, formula=_FORMULAS[self.formula])
        return share[0]

    def _at_mu(self) -> np.ndarray:
        return np.linspace(*self.bounds, 201)

    @checked()
    def __call__(self, mu: ArrayLike = 0.0, temperature: float = 0.0) -> Any:
        """The conductivity at chemical potentials, and a temperature in the unit of the matrix (k_B = 1)."""
        return self.at(mu, temperature).value

    @checked()
    def at(self, mu: ArrayLike = 0.0, temperature: float = 0.0) -> Estimate:
        """The conductivity with its error: NaN for a single random vector."""
        if self.formula not in _FORMULAS:
            raise ValueError(f"formula is one of {', '.join(_FORMULAS)}, not {self.formula!r}")
        return self._estimates(lib.wisp_sigma_sized, mu, temperature, formula=_FORMULAS[self.formula])

    @checked(mu=finite)
    def optical(self, omega: ArrayLike, mu: float = 0.0, temperature: float = 0.0) -> Estimate:
        """The optical conductivity at frequencies, of the same moments: its regular part, which absorbs light.

        The double sum of Weisse et al., Rev. Mod. Phys. 78, 275 (2006): 2 pi^2/volume times the integral over E of
        (f(E) - f(E + omega))/omega times the real part of tr[V_alpha delta(E + omega - H) V_beta delta(E - H)].

        Parameters
        ----------
        omega : float or array
            Frequencies above 0, in the unit of the matrix's entries (hbar = 1). They should be larger than the kernel's
            resolution.
        mu, temperature : float
            Chemical potential and temperature (k_B = 1).

        Returns
        -------
        Estimate
            Of arrays like omega, in the unit of the conductivity. ``bar95`` is of chance alone.

        Raises
        ------
        ValueError
            A frequency is not above 0.
        """
        return self._estimates(lib.wisp_sigma_optical_sized, omega, temperature, float(mu))

    def _evaluate(self, evaluate: Any, at: np.ndarray, to: Any, *args: float, **fields: Any) -> None:
        m, size = self._raw()
        o, osize = struct("wisp_sigma_opts", kernel=KERNELS[self.kernel], volume=self.volume, **fields)
        self._ctx.call(evaluate, self._ctx._ctx, m, size, o, osize, *args, at.size, pointer(at, "double"), to)

    def _estimates(self, evaluate: Any, at: ArrayLike, *args: float, **fields: Any) -> Estimate:
        """What the library evaluates of these moments at chemical potentials or frequencies."""
        shape = np.shape(at)
        flat = np.ascontiguousarray(at, float).reshape(-1)
        s = ffi.new("wisp_estimate[]", max(flat.size, 1))
        if flat.size:
            self._evaluate(evaluate, flat, s, *args, **fields)
        found = np.frombuffer(ffi.buffer(s), float).reshape(-1, 4)[:flat.size]
        value, err, low, high = (found[:, i].reshape(shape)[()] for i in range(4))
        return Estimate(value, err, (low, high))

    @checked()
    def to_xarray(self, mu: ArrayLike | None = None, temperature: float = 0.0) -> Any:
        """An xarray.Dataset of conductivity, stderr, low and high (of the 95% bar) over the chemical potential.

        Parameters
        ----------
        mu : array, optional
            None: 201 of them, over ``bounds``.
        """
        import xarray

        at = self._at_mu() if mu is None else np.atleast_1d(np.asarray(mu, float))
        e = self.at(at, temperature)
        curves = {"conductivity": e.value, "stderr": e.stderr, "low": e.bar95[0], "high": e.bar95[1]}
        return xarray.Dataset({name: ("mu", y) for name, y in curves.items()}, {"mu": at},
                              {**self._facts_shown(), "kernel": self.kernel, "formula": self.formula, "temperature": temperature})

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the conductivity, and its 95% bars, over chemical potentials, at temperature 0; gives the axes."""
        ax = axes(ax, "conductivity (e²/h)")
        ax.set_xlabel("chemical potential")
        mu = self._at_mu()
        e = self.at(mu)
        line, = ax.plot(mu, e.value, **style)
        if np.all(np.isfinite(e.stderr)):
            ax.fill_between(mu, *e.bar95, color=line.get_color(), alpha=0.3, linewidth=0)
        return ax


class TransportCalls(MatrixParts):
    """Calls of a matrix that ask where its rows are."""

    @property
    def positions(self) -> np.ndarray | None:
        """Of the rows, of shape (rows, dimensions), or None: those that were given, of the gallery, or of Kwant."""
        if isinstance(self._where, tuple):
            return self._where[0].copy()
        if self._where is None:
            return None
        with self._located() as p:
            return p.array()

    def _located(self, positions: ArrayLike | None = None) -> _Positions:
        """Positions that are given, of an open system, or those of the matrix."""
        if positions is not None:
            return _Positions(self.ctx, checked_positions(positions, self.shape[0], None), self.shape[0])
        if self._where is None:
            raise ValueError("it is not known where the rows of this matrix are: give wisp.Matrix(H, positions=...)")
        return _Positions(self.ctx, self._where, self.shape[0])

    def _looked_at(self, volume: float | None) -> float:
        """A volume that is given, or that of the cell, with a warning where the sample is far from filling it."""
        if self._where is None and volume is not None:
            return float(volume)
        with self._located() as p:
            told = p.p.volume
            if volume is None and not told > 0:
                raise ValueError("the area (or volume) of the sample is not known: give volume=..., or a cell of as "
                                 "many vectors as there are dimensions")
            if isinstance(self._where, tuple):
                at, cell = self._where
                if volume is None:
                    along = at @ np.linalg.pinv(cell)[:at.shape[1]]  # over each vector
                    for part, vector in zip(np.ptp(along, axis=0), cell):
                        if 1e-9 < part < 1 / _FAR:  # less: one layer, of which no spacing is known
                            warn(f"the positions extend over {part:.3g} of the vector {vector.tolist()} of the cell, and the "
                                  f"conductivity is divided by the whole cell, {told:.6g}; if the sample fills less, give "
                                  "volume=...")
                    return told
                told = told if told > 0 else float(np.prod(np.ptp(at, axis=0)))
        if volume is None:
            return told
        if told > 0 and not 1 / _FAR <= volume / told <= _FAR:
            warn(f"volume={volume:.6g} is {volume / told:.3g} times what the positions extend over, {told:.6g}: the "
                  "conductivity is divided by it")
        return float(volume)

    def _sample(self, alpha: Any, beta: Any) -> tuple[int, int]:
        """Dimensions and directions, as moments have them; 0: not known."""
        named = [isinstance(a, str) and a in _AXES for a in (alpha, beta)]
        direction = 1 + 3 * "xyz".index(alpha) + "xyz".index(beta) if all(named) else 0
        if self._where is None:
            return 0, direction
        with self._located() as p:
            return p.p.dimensions, direction

    @checked()
    def velocity(self, direction: str | ArrayLike, *, real: bool = False) -> Matrix:
        """The velocity i[H, x] along a direction, as a matrix with the order of rows of this one (hbar = 1).

        Entries are i h_rc d, with d the step from row r to the nearest image of row c along the direction.

        Parameters
        ----------
        direction : {"x", "y", "z"} or array
            An axis, or a vector, whose length scales the velocity.
        real : bool
            Of a real H the real antisymmetric w, where the velocity is i w.

        Raises
        ------
        ValueError
            Positions are not known; or two images of a bond are equally near, so that the cell is too small.
        NotImplementedError
            The matrix is a LinearOperator.
        """
        return self._velocity("direction", direction, real)

    def _velocity(self, name: str, direction: Any, real: bool) -> Matrix:
        if isinstance(direction, str) and direction not in _AXES:
            raise ValueError(f"{name} is 'x', 'y', 'z' or a vector, not {direction!r}")
        along = np.zeros(3)
        given = numbers(name, _AXES[direction] if isinstance(direction, str) else direction, "biuf")
        if given.ndim != 1 or not 1 <= given.size <= 3 or not np.all(np.isfinite(given)):
            raise ValueError(f"{name} is a vector of 1 to 3 finite numbers, not {shown(direction)}")
        along[:given.size] = given
        form = lib.WISP_VELOCITY_REAL if real else lib.WISP_VELOCITY
        h, size = struct("wisp_src")
        v, _ = struct("wisp_src")
        with self._located() as p:
            self.ctx.call(lib.wisp_src_open_mat_sized, h, size, self._mat)
            try:
                self.ctx.call(lib.wisp_src_velocity_sized, v, size, self.ctx._ctx, h, size, p.p, p.size,
                              pointer(along, "double"), form)
                return self._like(v, size)
            finally:
                lib.wisp_src_close_sized(v, size)
                lib.wisp_src_close_sized(h, size)

    @checked()
    def peierls(self, field: float) -> Matrix:
        """This matrix in a magnetic field along z, by Peierls' phases (Hofstadter, Phys. Rev. B 14, 2239 (1976)).

        h_rc turns by 2 pi times the integral of the vector potential from c straight to the nearest image of r, in Landau's
        gauge: a way around an area counterclockwise turns by 2 pi times its flux. The matrix that is given is complex, and
        has the positions of this one; this one is left as it is, and should have no phases of that field yet.

        Parameters
        ----------
        field : float
            Flux quanta h/e for each unit of area of the positions.

        Raises
        ------
        ValueError
            Positions are not known; the flux through a cell that is periodic in both directions is no whole number, and the
            message has the nearest field that fits; or the cell is too small, as for ``velocity``.
        NotImplementedError
            The matrix is a LinearOperator.

        Examples
        --------
        >>> import wisp
        >>> H = wisp.gallery("square", nx=12, ny=12).peierls(1 / 12)
        >>> H.dtype
        dtype('complex128')
        """
        (h, size), (b, _) = struct("wisp_src"), struct("wisp_src")
        with self._located() as p:
            self.ctx.call(lib.wisp_src_open_mat_sized, h, size, self._mat)
            try:
                self.ctx.call(lib.wisp_src_peierls_sized, b, size, self.ctx._ctx, h, size, p.p, p.size, float(field))
                made = self._of(b, size)
            finally:
                lib.wisp_src_close_sized(b, size)
                lib.wisp_src_close_sized(h, size)
        made._place, made._system, made._orbitals = self._where, self._system, self._orbitals
        return made

    def _velocities(self, alpha: Any, beta: Any) -> tuple[Any, Any]:
        """Both as matrices: of directions, or those that are given."""
        listed = [numbers(name, a) if isinstance(a, (list, tuple)) else a for name, a in (("alpha", alpha), ("beta", beta))]
        given = [not isinstance(a, str) and np.ndim(a) != 1 for a in listed]
        real = not any(given) and self.dtype.kind == "f"

        def make(name: str, a: Any, own: bool) -> Matrix:
            return self._beside(name, a) if own else self._velocity(name, a, real)

        first = make("alpha", alpha, given[0])
        if alpha is beta or (isinstance(alpha, str) and isinstance(beta, str) and alpha == beta):
            return first, first
        return first, make("beta", beta, given[1])

    @checked()
    def conductivity(self, alpha: Any = "x", beta: Any = "x", num_vectors: int = 4, num_moments: int = 128, *,
                     volume: float | None = None, formula: str = "bastin", kernel: str = "jackson",
                     rng: int | np.random.Generator | None = 0, bounds: Sequence[float] | None = None,
                     exact: bool = False, left_memory: float = 0, precision: str | None = None,
                     progress: Any = None) -> Conductivity:
        """A component of the conductivity tensor, as a function of chemical potential and temperature.

        Moments of both velocities are computed once (Garcia, Covaci, Rappoport, Phys. Rev. Lett. 114, 116602 (2015));
        all chemical potentials, temperatures and kernels are evaluated from them.

        Parameters
        ----------
        alpha, beta : {"x", "y", "z"}, array, or matrix
            Directions of the current and of the field; or velocities of your own, Hermitian matrices of scipy or numpy
            (or of ``velocity``).
        num_vectors : int
            Random vectors; bars take two at least.
        num_moments : int
            Of each of both polynomials: num_moments squared are held for each vector.
        volume : float, optional
            Of the sample: its area in the plane. None: that of the cell.
        formula : {"bastin", "greenwood"}
            "greenwood": for alpha equal to beta; never negative, but for the scatter of random vectors.
        kernel : {"jackson", "lorentz", "fejer", "dirichlet"}
        rng : int, numpy.random.Generator or None
            The seed of the vectors.
        bounds : tuple of float, optional
            The spectrum lies between these. None: they are found.
        exact : bool
            All unit vectors in place of random ones: no bar, and as many vectors as rows.
        left_memory : float
            Bytes for vectors that are held at once; more of it takes fewer products. 0: 2**30.
        precision : {None, "auto"}
            "auto": those vectors are held in single precision, twice as many at once, where not all of them are held at once
            otherwise, and where that moves no value by more than a tenth of half its bar, at 201 chemical potentials over
            ``bounds`` and temperature 0; where it does, moments are computed once more. ``left_dtype`` of the result tells.
            All else is in the matrix's precision.
        progress : bool or callable, optional
            As in ``spectral_density``.

        Returns
        -------
        Conductivity

        Raises
        ------
        ValueError
            Positions or the volume are not known; a velocity is not Hermitian (NotHermitianError).
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is the Conductivity of the vectors that were complete, or None.

        Examples
        --------
        >>> import wisp
        >>> H = wisp.gallery("haldane", nx=20, ny=20, t2=0.1, phi=0.5)
        >>> sigma = H.conductivity("x", "y", num_moments=32)
        >>> bool(0.5 < abs(sigma(0.0)) < 1.5)
        True
        """
        if formula not in _FORMULAS:
            raise ValueError(f"formula is one of {', '.join(_FORMULAS)}, not {formula!r}")
        if precision not in (None, "auto"):
            raise ValueError(f"precision is None or 'auto', not {precision!r}")
        if num_vectors < 1:
            raise ValueError(f"num_vectors is at least 1, not {num_vectors}")
        if volume is not None and not 0 < volume < np.inf:
            raise ValueError(f"volume is above 0, not {volume}")
        volume = self._looked_at(volume)
        first, second = self._velocities(alpha, beta)
        o, size = struct("wisp_kubo_opts", moments=num_moments, vectors=0 if exact else num_vectors,
                         seed=seed_of(rng, self.ctx),
                         trace=lib.WISP_TRACE_EXACT if exact else lib.WISP_TRACE_RANDOM, left_bytes=int(left_memory))
        self._bounds_opts(o.bounds, bounds)

        def run(m: Any, msize: int) -> None:
            self.ctx.call(lib.wisp_kubo_sized, m, msize, self._mat, first._mat, second._mat, o, size, progress=progress)

        sample = self._sample(alpha, beta)

        def moments(left: np.dtype | None) -> Conductivity:
            def take(m: Any) -> Conductivity:
                found = Conductivity(self, self.ctx, m, kernel, volume, formula, *sample)
                found._left = left
                return found

            o.left_type = TYPES[left.char] if left else lib.WISP_DEFAULT
            return self._moments(take, kernel, run)

        dtype = np.dtype("D" if "c" in (self.dtype.kind, first.dtype.kind, second.dtype.kind) else "d")
        if precision and self.dtype.char in "dD":
            left = lib.wisp_kubo_left_type_sized(self.ctx._ctx, TYPES[dtype.char], self.shape[0], o, size)
            if left != TYPES[dtype.char]:
                sigma = moments(DTYPES[left])
                if sigma._share_of_rounding() <= ROUNDING:
                    return sigma
        return moments(None)
