"""What lives on Chebyshev moments: densities of states, counts, thermodynamics, traces of functions."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from ._arguments import checked, given_number, no_nan
from ._context import Context, callback, context
from ._files import save
from ._lib import DTYPES, array, ffi, lib, pointer, struct, text
from ._show import axes, html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

KERNELS = {"jackson": lib.WISP_JACKSON, "lorentz": lib.WISP_LORENTZ, "fejer": lib.WISP_FEJER,
            "dirichlet": lib.WISP_DIRICHLET}
_PLAIN = ("rows", "nnz", "n", "vectors", "trace", "bounds_method", "seed", "first_vector", "type", "variant", "width",
          "depth", "threads", "seconds", "flops", "bounds_seconds", "rounding", "partial", "square", "volume", "dimensions", "direction",
          "realizations")


class Estimate(NamedTuple):
    """A number with its error.

    Attributes
    ----------
    value : float or numpy.ndarray
    stderr : float or numpy.ndarray
        Standard error: NaN for a single random vector, 0 for vectors that are not random.
    bar95 : tuple of float or numpy.ndarray
        The ends of the 95% bar, with room for what is not of chance.
    """

    value: Any
    stderr: Any
    bar95: tuple[Any, Any]

    def __float__(self) -> float:
        return float(self.value)


class Thermal(NamedTuple):
    """A system in heat bath, k_B = 1. Each field but the first is an Estimate of arrays like the temperatures."""

    temperature: np.ndarray
    log_z: Estimate
    energy: Estimate
    heat_capacity: Estimate
    entropy: Estimate


def _estimate(e: Any) -> Estimate:
    return Estimate(e.value, e.error, (e.low, e.high))


def ensemble(e: Any) -> np.ndarray:
    """The library's, of shape (4, 4): the value, the error and the ends of the bar; of ln Z, energy, heat capacity and entropy."""
    return np.array([(q.value, q.error, q.low, q.high) for q in (e.log_z, e.energy, e.heat_capacity, e.entropy)]).T


def thermal_of(T: np.ndarray, found: np.ndarray) -> Thermal:
    """Of ensembles at all of them: found[..., i] is that at T.flat[i]."""
    quantities = ([part.reshape(T.shape)[()] for part in found[:, q]] for q in range(4))
    return Thermal(T, *(Estimate(value, err, (low, high)) for value, err, low, high in quantities))


def function_of(f: Callable[[float], complex]) -> tuple[Any, Any]:
    """f as the library's function, and what has to be kept meanwhile."""

    def value(arg: Any, energy: float, to: Any) -> int:
        with np.errstate(all="ignore"):  # what is not finite the library tells
            z = given_number("f", f(energy))
        to.re, to.im = z.real, z.imag
        return 0

    keep = callback("wisp_function_fn", value, 1)
    return ffi.new("wisp_function *", {"value": keep}), keep


class Moments:
    """Chebyshev moments of a Hermitian matrix, and what follows from them.

    Attributes
    ----------
    moments : numpy.ndarray
        <v|T_k|v>, of shape (vectors, moments), real; with ``operator`` or ``left`` complex. The array is numpy's own.
    bounds : tuple of float
        The spectrum lies between these.
    complete : bool
        False: the run was ended before all vectors and moments were there.
    dtype : numpy.dtype
        Of the vectors that the moments are of.
    """

    _kept: tuple[str, ...] = ("kernel",)  # in a file, beside what the command has there

    def __init__(self, matrix: Any, ctx: Context, raw: Any, kernel: str) -> None:
        self._matrix, self._ctx = matrix, ctx
        if kernel not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}, not {kernel!r}")
        self.kernel = kernel
        self._take(raw)

    def _take(self, raw: Any) -> None:
        """Copies what the library made: from here on all memory is numpy's."""
        self._facts = {name: getattr(raw, name) for name in _PLAIN}
        self._facts["mark"] = tuple(tuple(row) for row in raw.mark)
        names = {name: text(getattr(raw, name)) or None for name in ("matrix", "command")}
        spec = getattr(self._matrix, "_spec", None)
        self._facts.update(names, matrix=names["matrix"] or (spec if isinstance(spec, str) else None))
        b = raw.bounds
        self._bounds = (b.center, b.halfwidth, b.failure_probability)
        count = raw.n * raw.vectors
        self._mu = array(raw.mu, count, float).reshape(raw.vectors, raw.n)
        self._imag = array(raw.imag, count, float).reshape(raw.vectors, raw.n) if raw.imag else None
        self._sites = array(raw.sites, raw.vectors, np.int64) if raw.sites else None
        self._grid: Estimate | None = None

    def _raw(self) -> tuple[Any, int]:
        """The library's struct over these arrays, for the time of a call."""
        m, size = struct("wisp_moments", **{name: self._facts[name] for name in _PLAIN})
        m.bounds.center, m.bounds.halfwidth, m.bounds.failure_probability = self._bounds
        for to, row in zip(m.mark, self._facts["mark"]):
            to[0:3] = row
        m.mu = pointer(self._mu, "double")
        if self._imag is not None:
            m.imag = pointer(self._imag, "double")
        if self._sites is not None:
            m.sites = pointer(self._sites, "int64_t")
        return m, size

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_matrix": None, "_ctx": None}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._ctx = context()

    @property
    def moments(self) -> np.ndarray:
        """Of shape (vectors, moments): <v|T_k|v> of each vector v, with T_k of H moved and scaled into [-1, 1]."""
        return self._mu if self._imag is None else self._mu + 1j * self._imag

    @property
    def bounds(self) -> tuple[float, float]:
        """The spectrum lies between these; moments are those on this interval."""
        return self._bounds[0] - self._bounds[1], self._bounds[0] + self._bounds[1]

    @property
    def dtype(self) -> np.dtype:
        """Of the vectors that the moments are of."""
        return DTYPES[self._facts["type"]]

    @property
    def num_moments(self) -> int:
        """How many of each vector."""
        return self._mu.shape[1]

    @property
    def num_vectors(self) -> int:
        """How many there are, those of an interrupted run that are there."""
        return self._mu.shape[0]

    @property
    def complete(self) -> bool:
        """False: the run was ended before all vectors and moments were there."""
        return not self._facts["partial"]

    @property
    def resolution(self) -> float:
        """The standard deviation of Jackson's kernel at the centre, in the unit of the energies."""
        return lib.wisp_resolution(self._bounds[1], self.num_moments)

    def _eval(self, part: int = 0) -> tuple[Any, int]:
        return struct("wisp_eval_opts", kernel=KERNELS[self.kernel], part=part)

    def _density(self, energy: np.ndarray, vector: int, part: int) -> tuple[np.ndarray, ...]:
        m, size = self._raw()
        o, osize = self._eval(part)
        d, err, low, high = np.zeros((4, energy.size))
        self._ctx.call(lib.wisp_dos_sized, self._ctx._ctx, m, size, o, osize, vector, energy.size,
                       *(pointer(a, "double") for a in (energy, d, err)))
        lib.wisp_bars95_sized(m, size, o, osize, energy.size, *(pointer(a, "double") for a in (d, err, low, high)))
        return d, err, low, high

    def _at(self, energy: ArrayLike, vector: int = -1) -> Estimate:
        shape = np.shape(energy)
        flat = np.ascontiguousarray(energy, float).reshape(-1)
        parts = self._density(flat, vector, lib.WISP_REAL_PART)
        if self._imag is not None:
            parts = tuple(a + 1j * b for a, b in zip(parts, self._density(flat, vector, lib.WISP_IMAGINARY_PART)))
        d, err, low, high = (a.reshape(shape)[()] for a in parts)
        return Estimate(d, err, (low, high))

    @property
    def energies(self) -> np.ndarray:
        """Twice as many energies as moments, ascending: the Chebyshev nodes of the whole interval."""
        e = np.empty(2 * self.num_moments)
        b = ffi.new("wisp_bounds *", self._bounds)
        lib.wisp_energies(b, e.size, pointer(e, "double"))
        return e

    def _green(self, energy: ArrayLike, eta: float, vector: int, tol: float) -> Estimate:
        """The Green's function of a vector, or of the trace (-1). The bar has room for what is not of chance."""
        shape = np.shape(energy)
        flat = np.ascontiguousarray(energy, float).reshape(-1)
        m, size = self._raw()
        o, osize = struct("wisp_green_opts", eta=eta, tolerance=tol)
        g, err = np.zeros((2, flat.size), complex)
        beside = np.zeros(flat.size)
        self._ctx.call(lib.wisp_green_sized, self._ctx._ctx, m, size, o, osize, vector, flat.size,
                       pointer(flat, "double"), pointer(g, "wisp_scalar"), pointer(err, "wisp_scalar"),
                       pointer(beside, "double"))
        random = self._facts["trace"] == lib.WISP_TRACE_RANDOM and vector < 0
        half = beside * (1 + 1j) + (lib.wisp_student95(self.num_vectors) * err if random else 0)
        g, err, low, high = (a.reshape(shape)[()] for a in (g, err, g - half, g + half))
        return Estimate(g, err, (low, high))

    @checked(a=no_nan, b=no_nan)
    def count(self, a: float, b: float) -> Estimate:
        """How many eigenvalues lie in [a, b], whose ends may be infinite.

        The integral of the density between them: complex where that is, of an operator. Bars are of chance alone: states within
        one ``resolution`` of an end count by a part.
        """
        parts = self._counted(a, b, lib.WISP_REAL_PART)
        if self._imag is not None and not getattr(self, "of_rows", False):
            parts = [x + 1j * y for x, y in zip(parts, self._counted(a, b, lib.WISP_IMAGINARY_PART))]
        value, err, low, high = parts
        return Estimate(value, err, (low, high))

    def _counted(self, a: float, b: float, part: int) -> list[Any]:
        m, size = self._raw()
        o, osize = self._eval(part)
        v, err, low, high = np.zeros((4, 1))
        self._ctx.call(lib.wisp_count_sized, self._ctx._ctx, m, size, o, osize, -1, a, b, pointer(v, "double"),
                       pointer(err, "double"))
        lib.wisp_bars95_sized(m, size, o, osize, 1, *(pointer(x, "double") for x in (v, err, low, high)))
        return [float(x[0]) for x in (v, err, low, high)]

    @checked()
    def integrate(self, f: Callable[[float], float] | None = None, *, tol: float = 0, kernel: str | None = None) -> Estimate:
        """The trace of f(H): the integral of f over the density of states, by f's Chebyshev series.

        Parameters
        ----------
        f : callable, optional
            A real function of an energy, asked for on all of ``bounds``. None: 1, whose trace is the number of rows.
        tol : float
            How far the series, and rounding, may be off, over rows times the largest |f|. 0: 1e-10, in single precision
            1e-4. The bar has room for it.
        kernel : {None, "jackson"}
            "jackson": the series is damped, whatever its error, which is in no bar then: for steps and kinks, which are
            refused else.

        Raises
        ------
        ValueError
            The moments are too few for this function; the message says how many would do.
        """
        if kernel not in (None, "jackson"):
            raise ValueError(f"kernel is 'jackson' or None, not {kernel!r}")
        m, size = self._raw()
        if getattr(self, "of_rows", False):
            m.imag = ffi.NULL  # of chance alone
        function, keep = function_of(f or (lambda energy: 1.0))
        o, osize = struct("wisp_function_opts", tolerance=tol, jackson=self.num_moments if kernel else 0)
        t, tsize = struct("wisp_traced")
        self._ctx.call(lib.wisp_trace_function_sized, self._ctx._ctx, m, size, function, o, osize, -1, t, tsize)
        del keep
        return _estimate(t.trace)

    @checked()
    def thermal(self, T: ArrayLike, *, tol: float = 0) -> Thermal:
        """Thermodynamics of H at temperatures in the unit of its entries, k_B = 1.

        ln Z, energy, heat capacity and entropy of the canonical ensemble, by Bessel functions (Weisse et al., Rev. Mod.
        Phys. 78, 275 (2006); Jaklic and Prelovsek, Phys. Rev. B 49, 5065 (1994)); no kernel smears them.

        Raises
        ------
        ValueError
            A temperature is lower than these moments serve; the message names the lowest that they do.
        """
        m, size = self._raw()
        T = np.asarray(T, float)
        o, osize = struct("wisp_thermal_opts", tolerance=tol)
        e, esize = struct("wisp_ensemble")
        found = np.empty((4, 4, T.size))
        for i, t in enumerate(T.reshape(-1)):
            self._ctx.call(lib.wisp_thermal_sized, self._ctx._ctx, m, size, o, osize, t, e, esize)
            found[:, :, i] = ensemble(e)
        return thermal_of(T, found)

    @checked()
    def save(self, path: str | os.PathLike) -> None:
        """Keeps the moments in a file (HDF5; it takes h5py), which ``wisp.load`` reads, and ``wisp dos --from``.

        An old file is replaced when the new one is whole.

        Raises
        ------
        OSError
            The file can't be written.
        """
        save(self, path)

    def _facts_shown(self) -> dict[str, str]:
        return {"rows": str(self._facts["rows"]), "moments": str(self.num_moments), "vectors": str(self.num_vectors),
                "bounds": f"{self.bounds[0]:.6g} to {self.bounds[1]:.6g}", "resolution": f"{self.resolution:.3g}",
                "complete": "yes" if self.complete else "no"}

    def _repr_html_(self) -> str:
        return html(type(self).__name__, self._facts_shown())

    def __repr__(self) -> str:
        return (f"<wisp.{type(self).__name__}: {self.num_moments} moments of {self.num_vectors} vectors, "
                f"{self.bounds[0]:.6g} to {self.bounds[1]:.6g}{'' if self.complete else ', not complete'}>")


class SpectralDensity(Moments):
    """The density of states of a matrix, per unit of energy: its integral is the number of rows.

    Called with energies it gives densities there (Weisse et al., Rev. Mod. Phys. 78, 275 (2006), equation 81).

    Attributes
    ----------
    energies, densities, stderr : numpy.ndarray
        On the default grid. stderr is NaN for a single random vector.
    bar95 : tuple of numpy.ndarray
        The lower and the upper ends of 95% bars, of chance alone.
    """

    _kept = ("kernel", "of_rows")
    of_rows: bool = False  # of some rows alone, by their projector

    def __init__(self, matrix: Any, ctx: Context, raw: Any, kernel: str, of_rows: bool = False) -> None:
        super().__init__(matrix, ctx, raw, kernel)
        self.of_rows = of_rows

    def _at(self, energy: ArrayLike, vector: int = -1) -> Estimate:
        found = super()._at(energy, vector)
        if not self.of_rows:
            return found
        value, err, (low, high) = found  # imaginary parts are of chance alone
        return Estimate(np.real(value), np.real(err), (np.real(low), np.real(high)))

    @checked()
    def __call__(self, energy: ArrayLike | None = None) -> Any:
        """The density at energies; without any, as Kwant has it: (energies, densities) on the default grid."""
        return (self.energies, self.densities) if energy is None else self._at(energy).value

    @checked()
    def at(self, energy: ArrayLike) -> Estimate:
        """The density at energies, with its error."""
        return self._at(energy)

    @checked()
    def greens(self, energy: ArrayLike, eta: float, *, tol: float = 0) -> Estimate:
        """The trace of the retarded Green's function 1/(E + i eta - H) at energies; complex, as its error is.

        Without a kernel: the width of a level is eta. By the Chebyshev series of 1/(z - x) (Abramowitz and Stegun
        22.9.9).

        Raises
        ------
        ValueError
            The moments are too few for so small an eta; the message says how many would do.
        """
        return self._green(energy, eta, -1, tol)

    def _default(self) -> Estimate:
        if self._grid is None:
            self._grid = self._at(self.energies)
        return self._grid

    @property
    def densities(self) -> np.ndarray:
        """At ``energies``, per unit of energy: their integral is the number of rows."""
        return self._default().value

    @property
    def stderr(self) -> np.ndarray:
        """Standard errors of ``densities``: NaN for a single random vector, 0 for vectors that are not random."""
        return self._default().stderr

    @property
    def bar95(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper ends of the 95% bars of ``densities``, of chance alone: the kernel's smearing is not in them."""
        return self._default().bar95

    def _may_have_more(self, what: str, traces: tuple[int, ...]) -> None:
        facts = self._facts
        if self._matrix is None or facts["trace"] not in traces or self._imag is not None or facts["first_vector"] < 0:
            raise ValueError(f"only the density of one run, without an operator, that has its matrix can have more {what}, "
                             "and of given vectors it can't")

    @checked()
    def add_moments(self, num_moments: int | None = None, *, energy_resolution: float | None = None, progress: Any = None) -> None:
        """Adds moments, which makes the resolution finer: those of the same vectors, on the same bounds.

        The recursion begins anew, for its vectors are not kept: it takes as long as a run with all of them.

        Parameters
        ----------
        num_moments : int
            How many more.
        energy_resolution : float
            In its place: as many more as make ``resolution`` as fine as this.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. The density stays as it was.
        """
        self._may_have_more("moments", (lib.WISP_TRACE_RANDOM, lib.WISP_TRACE_EXACT))
        if (num_moments is None) == (energy_resolution is None):
            raise ValueError("give either num_moments or energy_resolution")
        if num_moments is None:
            assert energy_resolution is not None
            num_moments = lib.wisp_moments_for(self._bounds[1], energy_resolution) - self.num_moments
            if num_moments < 1:
                raise ValueError(f"energy_resolution={energy_resolution:g} is what these {self.num_moments} moments have: "
                                 f"{self.resolution:.3g}")
        facts = self._facts
        exact = facts["trace"] == lib.WISP_TRACE_EXACT
        more, size = struct("wisp_moments")
        try:
            self._matrix._kpm(self.num_moments + num_moments, 0 if exact else self.num_vectors, self.bounds, progress,
                              seed=facts["seed"], first_vector=facts["first_vector"], type=facts["type"],
                              trace=facts["trace"])(more, size)
            self._take(more)
        finally:
            lib.wisp_moments_free_sized(more, size)

    @checked()
    def add_vectors(self, num_vectors: int, *, progress: Any = None) -> None:
        """Adds random vectors, which makes bars smaller; those after the ones that are there, on the same bounds."""
        self._may_have_more("vectors", (lib.WISP_TRACE_RANDOM,))
        (more, size), (both, _) = struct("wisp_moments"), struct("wisp_moments")
        self._matrix._kpm(self.num_moments, num_vectors, self.bounds, progress, seed=self._facts["seed"],
                          first_vector=self._facts["first_vector"] + self.num_vectors,
                          type=self._facts["type"])(more, size)
        try:
            runs = ffi.new("wisp_moments[2]")
            runs[0], runs[1] = self._raw()[0][0], more[0]
            runs[1].bounds = runs[0].bounds
            self._ctx.call(lib.wisp_moments_merge_sized, self._ctx._ctx, both, size, runs, size, 2)
            first = self._facts["first_vector"]
            self._take(both)
            self._facts["first_vector"] = first
        finally:
            lib.wisp_moments_free_sized(both, size)
            lib.wisp_moments_free_sized(more, size)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draws the density and its 95% bars by matplotlib; gives the axes."""
        ax = axes(ax, "density of states")
        line, = ax.plot(self.energies, self.densities, **style)
        if np.all(np.isfinite(self.stderr)):
            ax.fill_between(self.energies, *self.bar95, color=line.get_color(), alpha=0.3, linewidth=0)
        return ax


    def to_xarray(self) -> Any:
        """An xarray.Dataset of density, stderr, low and high (of the 95% bar) over energy."""
        import xarray

        curves = {"density": self.densities, "stderr": self.stderr, "low": self.bar95[0], "high": self.bar95[1]}
        return xarray.Dataset({name: ("energy", y) for name, y in curves.items()}, {"energy": self.energies},
                              {**self._facts_shown(), "kernel": self.kernel})

    def _repr_html_(self) -> str:
        return html(type(self).__name__, self._facts_shown(), self.energies, np.real(self.densities))
