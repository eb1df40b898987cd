"""Calls of a matrix that rest on Chebyshev moments."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np
import scipy.sparse as sp

from ._arguments import checked, in_range, numbers
from ._checkpoint import Run
from ._context import Context
from ._cool import Beside, Cooled
from ._errors import ArgumentError, NumericError, with_result
from ._lib import DTYPES, TYPES, as_type, ffi, lib, pointer, struct
from ._local import GreensFunction, LocalDensity
from ._moments import KERNELS, Estimate, SpectralDensity, Thermal, function_of, thermal_of
from ._overlap import Pencil
from ._parts import MatrixParts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._matrix import Matrix

_MOST = 2**30  # moments
ROUNDING = 0.1  # of half a bar at most, as with the command's --precision auto


def seed_of(rng: int | np.random.Generator | None, ctx: Context) -> int:
    """The seed of a generator, or the number itself; None: an arbitrary one. The same on all ranks."""
    if isinstance(rng, (int, np.integer)) and rng < 2**64:
        return int(rng)
    return ctx.agreed(int(np.random.default_rng(rng).integers(2**63)))


def rows_of(rows: ArrayLike, count: int, name: str = "rows") -> np.ndarray:
    """Numbers of rows, of a list of them or a mask of all."""
    r = np.atleast_1d(numbers(name, rows, "biu"))
    if r.dtype == bool and r.shape == (count,):
        r = np.flatnonzero(r)
    if r.ndim != 1 or not r.size or r.dtype.kind not in "iu":
        raise ValueError(f"{name} are a list of rows from 0 to {count - 1}, or a mask of all, one at least")
    in_range(name, r, count)
    return np.ascontiguousarray(r, np.int64)


class SpectralCalls(MatrixParts):
    """Calls of a matrix that rest on moments."""

    @checked()
    def find_bounds(self, *, rng: int | np.random.Generator | None = 0) -> tuple[float, float]:
        """An interval that holds all eigenvalues, by Lanczos (Kuczynski and Wozniakowski 1992); the chance that it does
        not is below 1e-8.

        Raises
        ------
        NotHermitianError
            The matrix is not Hermitian.
        """
        b, o = ffi.new("wisp_bounds *"), ffi.new("wisp_bounds_opts *", {"seed": seed_of(rng, self.ctx)})
        self.ctx.call(lib.wisp_bounds_find, b, self._mat, o)
        return b.center - b.halfwidth, b.center + b.halfwidth

    def _bounds_opts(self, o: Any, bounds: Sequence[float] | None) -> None:
        if bounds is not None:
            low, high = bounds
            o.method, o.given.center, o.given.halfwidth = lib.WISP_BOUNDS_GIVEN, (low + high) / 2, (high - low) / 2

    def _kpm(self, moments: int, vectors: int, bounds: Sequence[float] | None, progress: Any, kept: Run | None = None,
             **fields: Any) -> Callable[[Any, int], None]:
        """What makes the library's moments."""
        o, size = struct("wisp_kpm_opts", moments=moments, vectors=vectors, **fields)
        self._bounds_opts(o.bounds, bounds)

        def run(m: Any, msize: int) -> None:
            if self._stored and vectors and not o.right:
                choice, csize = struct("wisp_choice")
                self.ctx.call(lib.wisp_mat_choose_sized, self._mat, o.type or TYPES[self.dtype.char], vectors,
                              max(moments // 2, 1), choice, csize)
                o.width = choice.width
            if kept is not None:
                o.width = kept.width[0] = int(kept.width[0]) or o.width
                kept.set(o)
            self.ctx.call(lib.wisp_kpm_sized, m, msize, self._mat, o, size, progress=progress)

        return run

    def _moments(self, take: Callable[[Any], Any], kernel: str, run: Callable[[Any, int], None]) -> Any:
        """What `take` makes of the library's moments, and of those that were there when the run was interrupted."""
        if kernel not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}, not {kernel!r}")
        m, size = struct("wisp_moments")
        try:
            run(m, size)
            return take(m)
        except BaseException as failure:
            with_result(failure, take(m) if m.vectors and m.n else None)
            raise
        finally:
            lib.wisp_moments_free_sized(m, size)

    def _number(self, num_moments: int | None, resolution: float | None, bounds: Any) -> tuple[int, Any]:
        """How many moments, and the bounds, if that took them."""
        if resolution is None:
            return 512 if num_moments is None else num_moments, bounds
        if num_moments is not None:
            raise ValueError("num_moments and energy_resolution say the same: give one of them")
        if not resolution > 0:
            raise ValueError(f"energy_resolution is above 0, not {resolution}")
        bounds = self.find_bounds() if bounds is None else bounds
        return lib.wisp_moments_for((bounds[1] - bounds[0]) / 2, resolution), bounds

    @checked(operator=None)
    def spectral_density(self, num_vectors: int = 32, num_moments: int | None = None, *,
                         energy_resolution: float | None = None, rng: int | np.random.Generator | None = 0,
                         kernel: str = "jackson", bounds: Sequence[float] | None = None, operator: Any = None,
                         vectors: ArrayLike | None = None, rows: ArrayLike | None = None, exact: bool = False,
                         overlap: Any = None, overlap_bounds: Sequence[float] | None = None, precision: str | None = None,
                         checkpoint: Any = None, progress: Any = None) -> SpectralDensity:
        """The density of states, with error bars, by the kernel polynomial method.

        Parameters
        ----------
        num_vectors : int
            Random vectors; bars are as one over their square root.
        num_moments : int, optional
            None: 512, or what ``energy_resolution`` takes.
        energy_resolution : float, optional
            The standard deviation of Jackson's kernel at the centre, pi halfwidth / moments.
        rng : int, numpy.random.Generator or None
            The seed of the vectors. The same seed gives the same vectors on any machine.
        kernel : {"jackson", "lorentz", "fejer", "dirichlet"}
        bounds : tuple of float, optional
            The spectrum lies between these. None: they are found.
        operator : scipy sparse matrix, numpy array, Matrix, LinearOperator or operator of Kwant, optional
            B of tr[B delta(E - H)], which is complex then; random vectors are complex where B is. Of a LinearOperator the adjoint is asked for products. Kwant's
            are those with ``tocoo``, such as ``kwant.operator.Density(system)``.
        vectors : array of shape (rows,) or (rows, k), optional
            |r> of the sum of <r|delta(E - H)|r>, in place of random vectors.
        rows : array, optional
            Numbers of rows, or a mask of all rows, such as ``H.positions[:, 2] < 1``: the density of states of these alone,
            tr[P delta(E - H)] with P their projector, whose integral is their number. Neither with ``operator``,
            ``vectors`` nor ``overlap``.
        exact : bool
            All unit vectors in place of random ones: no bar, and as many vectors as rows.
        overlap : scipy sparse matrix or numpy array, optional
            S of H x = E S x, in a basis that is not orthogonal: Hermitian and positive definite. The density is that of
            S^-1/2 H S^-1/2 (Loewdin, J. Chem. Phys. 18, 365 (1950)); it takes double precision, and goes neither with
            ``operator`` nor with ``vectors``.
        overlap_bounds : tuple of float, optional
            The eigenvalues of S lie between these, both above 0. None: they are found. Give them where S has a large
            condition number.
        precision : {None, "auto"}
            "auto": single precision, by a copy of the matrix, where its rounding stays far below the error bars, which the
            run checks; else that of the matrix, as with None. ``dtype`` of the result tells. What is added to it later is of
            the same precision, without a check. Neither with ``operator``, ``rows`` nor ``overlap``.
        checkpoint : str, os.PathLike or Checkpoint, optional
            A file that keeps the state of the call, from which it goes on where the process was killed: see ``Checkpoint``.
            Neither with ``overlap`` nor ``precision``.
        progress : bool or callable, optional
            True, or ``tqdm.tqdm``: a bar of tqdm. Else a function of a task's name and its part that is done.

        Returns
        -------
        SpectralDensity

        Raises
        ------
        NotHermitianError
            The matrix, or the overlap matrix, is not Hermitian; the message names an entry.
        ArithmeticError
            The overlap matrix is not positive definite, as far as its bounds tell.
        BoundsError
            Eigenvalues lie outside the bounds that were given.
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is the SpectralDensity of what was there by then, or None.
        """
        if precision not in (None, "auto"):
            raise ValueError(f"precision is None or 'auto', not {precision!r}")
        if precision and not (operator is None and rows is None and overlap is None):
            raise ValueError("precision='auto' goes neither with operator, rows nor overlap")
        if checkpoint is not None and not (overlap is None and precision is None):
            raise ValueError("checkpoint goes neither with overlap nor with precision='auto'")
        r = None
        if rows is not None:
            if operator is not None or vectors is not None or overlap is not None:
                raise ValueError("rows go neither with operator, vectors nor overlap")
            r = np.unique(rows_of(rows, self.shape[0]))
            operator = sp.csr_matrix((np.ones(r.size), (r, r)), self.shape)
        if overlap is not None:
            if operator is not None or vectors is not None:
                raise ValueError("overlap goes neither with operator nor with vectors")
            pencil = Pencil(self, overlap, overlap_bounds)
            rho = pencil.C.spectral_density(num_vectors, num_moments, energy_resolution=energy_resolution, rng=rng,
                                            kernel=kernel, bounds=bounds, exact=exact, progress=progress)
            pencil.warn(rho)
            return rho
        if overlap_bounds is not None:
            raise ValueError("overlap_bounds go with overlap")
        fields: dict[str, Any] = {"seed": seed_of(rng, self.ctx)}
        keep: list[Any] = []
        if exact:
            if vectors is not None:
                raise ValueError("exact takes all unit vectors: leave vectors out")
            fields["trace"], num_vectors = lib.WISP_TRACE_EXACT, 0
        B = X = None
        dtype = self.dtype
        if operator is not None:
            B = self._beside("operator", operator, adjoint=True)
            fields["adjoint"] = B._mat
            if B.dtype.kind == "c" and dtype.kind == "f":  # vectors that it goes with
                dtype, fields["type"] = B.dtype, TYPES[B.dtype.char]
        if vectors is not None:
            X = self._some_columns("vectors", vectors)
            X = X.astype(as_type(np.result_type(X, dtype)), copy=False)
            keep.append(self._block(X))
            fields.update(trace=lib.WISP_TRACE_GIVEN, right=keep[-1])
            num_vectors = X.shape[1]
        moments, bounds = self._number(num_moments, energy_resolution, bounds)
        single = self._as_single(moments, num_vectors, fields) if precision else None
        if single is not None:
            try:
                run = single._kpm(moments, num_vectors, bounds, progress, rounding_limit=ROUNDING, **fields)
                return self._moments(lambda m: SpectralDensity(single, self.ctx, m, kernel), kernel, run)
            except NumericError:  # single precision is not enough
                pass
        with Run(checkpoint, self, "spectral_density", operator=B if rows is None else None, rows=r, vectors=X) as kept:
            return self._moments(lambda m: SpectralDensity(self, self.ctx, m, kernel, rows is not None), kernel,
                                 self._kpm(moments, num_vectors, bounds, progress, kept, **fields))

    def _as_single(self, moments: int, vectors: int, fields: dict[str, Any]) -> Matrix | None:
        """This matrix in single precision, where that is likely to do for random vectors; else None."""
        o, size = struct("wisp_kpm_opts", moments=moments, vectors=vectors, rounding_limit=ROUNDING, **fields)
        mine = TYPES[self.dtype.char]
        single = lib.wisp_kpm_type_sized(mine, self.shape[0], o, size)
        if single == mine or not self._stored:
            return None
        src, bytes_of_src = struct("wisp_src")
        self.ctx.call(lib.wisp_src_open_mat_sized, src, bytes_of_src, self._mat)
        try:
            A = self._of(src, bytes_of_src, DTYPES[single])
        except NumericError:  # numbers beyond its range
            return None
        finally:
            lib.wisp_src_close_sized(src, bytes_of_src)
        A._spec = self._spec
        return A

    @checked()
    def ldos(self, sites: ArrayLike, num_moments: int | None = None, *, energy_resolution: float | None = None,
             kernel: str = "jackson", bounds: Sequence[float] | None = None, progress: Any = None) -> LocalDensity:
        """Local densities of states <s|delta(E - H)|s> at sites (rows of the matrix, or a mask of all), exact but for the kernel.

        Other parameters are those of ``spectral_density``.

        Returns
        -------
        LocalDensity
        """
        s = rows_of(sites, self.shape[0], "sites")
        moments, bounds = self._number(num_moments, energy_resolution, bounds)
        return self._moments(lambda m: LocalDensity(self, self.ctx, m, kernel), kernel,
                             self._kpm(moments, s.size, bounds, progress, trace=lib.WISP_TRACE_SITES,
                                       sites=pointer(s, "int64_t")))

    @checked()
    def greens(self, i: ArrayLike, j: ArrayLike | None = None, *, eta: float, tol: float = 0,
               bounds: Sequence[float] | None = None, progress: Any = None) -> GreensFunction:
        """Retarded Green's functions G_ij(E + i eta) of all energies, without a kernel and with a bound of their error.

        By the Chebyshev series of 1/(z - x), whose coefficients are known (Abramowitz and Stegun 22.9.9).

        Parameters
        ----------
        i, j : int or array of int
            Rows of the matrix, broadcast as numpy does: ``i[:, None], j`` for all pairs. j None: G_ii. Each pair takes
            a vector; G_ii takes half as many products.
        eta : float
            The width of a level, in the unit of the matrix's entries. The number of moments goes as 1/eta.
        tol : float
            Of the error times eta. 0: 1e-10, in single precision 1e-4.
        bounds : tuple of float, optional
            The spectrum lies between these. None: they are found.
        progress : bool or callable, optional
            As in ``spectral_density``.

        Returns
        -------
        GreensFunction

        Examples
        --------
        >>> import wisp
        >>> G = wisp.gallery("graphene", nx=10, ny=10).greens([0, 0], [0, 1], eta=0.1)
        >>> G([0.0, 0.5, 1.0]).shape
        (2, 3)
        """
        try:
            rows, cols = (np.array(a) for a in np.broadcast_arrays(i, i if j is None else j))
        except ValueError:
            raise ValueError(f"i and j do not go together: their shapes are {np.shape(i)} and {np.shape(i if j is None else j)}") from None
        if not rows.size or rows.dtype.kind not in "iu" or cols.dtype.kind not in "iu":
            raise ValueError("i and j are rows of the matrix, one at least")
        for name, a in (("i", rows), ("j", cols)):
            in_range(name, a, self.shape[0])
        if not eta > 0:
            raise ValueError(f"eta is above 0, not {eta}")
        left, right = (np.ascontiguousarray(a, np.int64).reshape(-1) for a in (rows, cols))
        fields: dict[str, Any] = {"trace": lib.WISP_TRACE_SITES, "sites": pointer(left, "int64_t")}
        if not (left == right).all():
            blocks = [self._block(None, self.dtype, left.size) for _ in range(2)]
            for block, at in zip(blocks, (left, right)):
                self.ctx.call(lib.wisp_blk_fill_units, block, pointer(at, "int64_t"))
            fields = {"trace": lib.WISP_TRACE_GIVEN, "left": blocks[0], "right": blocks[1]}
        low, high = self.find_bounds() if bounds is None else bounds
        n = lib.wisp_green_moments((high - low) / 2, eta, tol or 1e-10)
        if n > _MOST:
            raise ValueError(f"eta={eta:g} is too small: it takes {n} moments, and {_MOST} are the most")
        return self._moments(lambda m: GreensFunction(self, self.ctx, m, rows, cols, eta, tol), "jackson",
                             self._kpm(n + n % 2, left.size, (low, high), progress, **fields))

    @checked()
    def trace(self, f: Callable[[float], float], num_vectors: int = 32, *, tol: float = 0,
              bounds: Sequence[float] | None = None, rng: int | np.random.Generator | None = 0, exact: bool = False,
              progress: Any = None) -> Estimate:
        """tr f(H) with its error bar, for a function that is smooth on ``bounds``; as many moments as f takes.

        Parameters
        ----------
        f : callable
            A real function of an energy.
        tol : float
            How far the series, and rounding, may be off, over rows times the largest |f|. 0: 1e-10.

        Other parameters are those of ``spectral_density``.

        Raises
        ------
        ValueError
            f takes too many moments: it has a step, a kink or a pole on the bounds, or near.
        ArithmeticError
            f is not finite somewhere on the bounds.
        """
        low, high = self.find_bounds() if bounds is None else bounds
        function, keep = function_of(f)
        o, size = struct("wisp_function_opts", tolerance=tol)
        b = ffi.new("wisp_bounds *", ((low + high) / 2, (high - low) / 2, 0))
        n = ffi.new("int64_t *")
        try:
            self.ctx.call(lib.wisp_function_moments_sized, self.ctx._ctx, b, function, o, size, n)
        except ArgumentError as failure:  # its advice is that of apply
            told = str(failure).partition(", or take more max_terms")
            if not told[1]:
                raise
            raise ArgumentError(f"{told[0]}, or take spectral_density(...).integrate(f, kernel='jackson')") from None
        del keep
        rho = self.spectral_density(num_vectors, n[0], rng=rng, bounds=(low, high), exact=exact, progress=progress)
        return rho.integrate(f, tol=tol)

    @checked()
    def logdet(self, num_vectors: int = 32, *, bounds: Sequence[float] | None = None, **options: Any) -> Estimate:
        """log det H of a positive definite matrix, the trace of its logarithm.

        Parameters are those of ``trace``. The bounds that are found reach a little below the smallest eigenvalue: where
        that is beyond 0, give ``bounds`` whose lower one is above 0.
        """
        return self.trace(np.log, num_vectors, bounds=bounds, **options)

    @checked()
    def thermal(self, T: ArrayLike, num_vectors: int = 32, *, tol: float = 0, bounds: Sequence[float] | None = None,
                rng: int | np.random.Generator | None = 0, exact: bool = False, cool: bool = False,
                checkpoint: Any = None, progress: Any = None) -> Thermal:
        """ln Z, energy, heat capacity and entropy at temperatures, as ``Moments.thermal``; as many moments as they take.

        Parameters
        ----------
        T : array
            Temperatures above 0, in the unit of the matrix's entries (k_B = 1).
        tol : float
            Of what is not of chance, in ln Z, E/T, C and S. 0: 1e-6, in single precision 1e-2.
        cool : bool
            True: temperatures that are too low for moments are served by as many random vectors that are cooled,
            exp(-H/2T)|r>, step by step (thermal pure states: Sugiura and Shimizu, Phys. Rev. Lett. 111, 010401 (2013)), down
            to the ground state. Errors are those of the jackknife over the vectors. Not with ``exact``.
        checkpoint : str, os.PathLike or Checkpoint, optional
            A file that keeps the state of the call, from which it goes on where the process was killed: see ``Checkpoint``.

        Other parameters are those of ``spectral_density``.

        Returns
        -------
        Thermal
            Of arrays like T; energies in the unit of the matrix's entries.

        Raises
        ------
        ValueError
            A temperature is lower than moments serve, without ``cool``; the message names the lowest that they do.
        ArithmeticError
            With ``cool``: rounding leaves more than ``tol``.
        KeyboardInterrupt
            Ctrl-C. While states are cooled its ``result`` is the Thermal of the vectors that had come to all temperatures; None
            of no such vector, or where rounding leaves more than ``tol``.

        Examples
        --------
        >>> import wisp
        >>> H = wisp.gallery("spinchain", sites=8, periodic="x")
        >>> cold = H.thermal([0.001, 1.0], cool=True)
        >>> round(float(cold.energy.value[0]), 6)  # of the ground state
        -3.651093
        """
        t = np.asarray(T, float)
        if cool and exact:
            raise ValueError("cool is for random vectors: leave exact out")
        low, high = self.find_bounds() if bounds is None else bounds
        half = (high - low) / 2
        n = lib.wisp_thermal_moments(half, max(t.min(), lib.wisp_thermal_coldest(half)) if cool else t.min())

        def density(run: Callable[[Any, int], None]) -> SpectralDensity:
            return self._moments(lambda m: SpectralDensity(self, self.ctx, m, "jackson"), "jackson", run)

        seed, beside = seed_of(rng, self.ctx), Beside(density)
        fields = {"trace": lib.WISP_TRACE_EXACT} if exact else {}
        with Run(checkpoint, self, "thermal", beside.items, T=t, num_vectors=num_vectors, tol=tol, bounds=bounds, rng=seed,
                 exact=exact, cool=cool) as kept:
            rho = beside.rho or density(
                self._kpm(n, 0 if exact else num_vectors, (low, high), progress, kept, seed=seed, **fields))
            if cool:
                beside.rho = rho
                return self._cooled(rho, t, tol, seed, progress)
            try:
                return rho.thermal(t, tol=tol)
            except ArgumentError as failure:
                raise ArgumentError(f"{failure}" + "; cool=True serves all" * (not exact)) from None

    def _cooled(self, rho: SpectralDensity, t: np.ndarray, tol: float, seed: int, progress: Any) -> Thermal:
        """By the moments, and below the lowest temperature that they serve by cooled states."""
        each, where = np.unique(t, return_inverse=True)
        found, left = np.empty((4, 4, each.size)), each.size  # value, error, low, high; of each quantity
        for left in range(each.size, 0, -1):
            try:
                served = rho.thermal(each[left - 1], tol=tol)
            except ArgumentError:
                break
            found[:, :, left - 1] = np.array([(e.value, e.stderr, *e.bar95) for e in served[1:]]).T
        else:
            left = 0

        def result() -> Thermal:
            for i in range(left):
                found[:, :, left - 1 - i] = cold.quantities(i, tol)
            return thermal_of(t, found[:, :, where.reshape(-1)])

        cold = Cooled(self, rho._bounds, each[:left][::-1], rho.num_vectors, seed)
        try:
            if left:
                cold.run(progress)
        except KeyboardInterrupt as failure:
            try:
                with_result(failure, result() if cold.done else None)
            except NumericError:  # which is not what ended the call
                with_result(failure, None)
            raise
        return result()
