"""Time evolution, and expectation values along the way."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence

import numpy as np

from ._context import Context, callback
from ._lib import TYPES, ffi, lib, pointer, struct

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class _Expectations:
    """<psi|B|psi> of operators: real where all of them are Hermitian."""

    def __init__(self, matrix: Any, operators: Sequence[Any], dtype: np.dtype, width: int) -> None:
        self.ctx, self.width = matrix.ctx, width
        self.operators = [matrix._beside(B) for B in operators]
        self.y = matrix._block(None, dtype, width)
        self.dots = np.zeros((3, width), complex)
        self.aug, self.size = struct("wisp_aug", terms=lib.WISP_DOT_XY, dot=pointer(self.dots, "wisp_scalar"))
        props, psize = struct("wisp_mat_props")
        self.real = True
        for B in self.operators:
            self.ctx.call(lib.wisp_mat_get_props_sized, B._mat, props, psize)
            self.real = self.real and bool(props.hermitian)

    def __call__(self, psi: Any) -> np.ndarray:
        values = np.empty((len(self.operators), self.width), complex)
        for row, B in zip(values, self.operators):
            self.ctx.call(lib.wisp_spmmv_sized, self.y, B._mat, psi, self.aug, self.size)
            row[:] = self.dots[1]
        return values.real if self.real else values


class EvolveCalls:
    """Calls of a matrix that evolve in time."""

    ctx: Context

    def _look(self, X: np.ndarray, single: bool, operators: Sequence[Any] | None) -> Callable[[Any], np.ndarray]:
        """What is kept of a block: its columns, or expectation values; without the last axis for a single vector."""
        if operators is not None:
            values = _Expectations(self, operators, X.dtype, X.shape[1])
            return lambda block: values(block)[:, 0] if single else values(block)

        def copy(block: Any) -> np.ndarray:
            Y = np.empty_like(X)
            self.ctx.call(lib.wisp_blk_get, block, lib.WISP_ROW_MAJOR, pointer(Y), Y.shape[1])
            return Y[:, 0] if single else Y

        return copy

    def _start(self, psi: ArrayLike) -> np.ndarray:
        dtype = np.result_type(np.asarray(psi).dtype, self.dtype, np.complex64)
        return self._columns(psi, self.shape[0], dtype if dtype.char in TYPES else "D")

    def _evolve(self, block: Any, t: np.ndarray, tol: float, bounds: Sequence[float] | None, look: Any,
                progress: Any) -> None:
        o, size = struct("wisp_evolve_opts", tolerance=tol, observe=look)
        self._bounds_opts(o.bounds, bounds)
        self.ctx.call(lib.wisp_evolve_sized, ffi.NULL, ffi.sizeof("wisp_evolution"), self._mat, block, t.size,
                      pointer(t, "double"), o, size, progress=progress)

    def evolve(self, psi: ArrayLike, times: ArrayLike, *, operators: Sequence[Any] | None = None, tol: float = 0,
               bounds: Sequence[float] | None = None, observe: Callable[[float, np.ndarray], Any] | None = None,
               progress: Any = None) -> np.ndarray:
        """exp(-i A t) psi for a Hermitian matrix, by Chebyshev polynomials (Tal-Ezer and Kosloff 1984); hbar = 1.

        Parameters
        ----------
        psi : array of shape (rows,) or (rows, k)
        times : array
            In any order, in the inverse of the unit of the matrix's entries.
        operators : sequence of matrices, optional
            B of the expectation values <psi(t)|B|psi(t)>, which are kept in place of psi: matrices of scipy or numpy, this
            matrix, or its ``velocity``.
        tol : float
            Of |psi(t) - exact| / |psi(0)|. 0: 1e-10, in single precision 1e-4. An expectation value is off by at most
            about twice that times the norms of psi and of B psi.
        observe : callable, optional
            ``observe(t, psi)`` for each time; what it returns is kept in place of psi.

        Returns
        -------
        numpy.ndarray
            Of shape (times, *psi.shape), complex; or of what ``observe`` returned. With ``operators`` (times, operators)
            or (times, operators, k), real where all operators are Hermitian.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. Its ``result`` has what there was by then.
        """
        if operators is not None and observe is not None:
            raise ValueError("give either operators or observe")
        X, single = self._start(psi), np.ndim(psi) == 1
        t = np.ascontiguousarray(np.atleast_1d(times), float)
        out: list[Any] = []
        kept = self._look(X, single, operators)

        def look(arg: Any, i: int, block: Any, norm: Any) -> int:
            found = kept(block)
            out.append(observe(float(t[i]), found) if observe else found)
            return 0

        try:
            self._evolve(self._block(X), t, tol, bounds, callback("wisp_evolve_fn", look, 1), progress)
        except KeyboardInterrupt as failure:
            failure.result = np.array(out)
            raise
        return np.array(out)

    def evolution(self, psi: ArrayLike, times: Iterable[float], *, operators: Sequence[Any] | None = None,
                  tol: float = 0, bounds: Sequence[float] | None = None) -> Iterator[tuple[float, np.ndarray]]:
        """An iterator over times, which need not be known beforehand: (t, psi(t)) one after the other.

        Each goes on from the one before it, so that errors add up: after n times psi may be off by n ``tol``. ``evolve``
        is faster where all times are known, and keeps one tolerance for all.

        Parameters
        ----------
        times : iterable of float
            It may be endless, as ``itertools.count(0, 0.1)``.

        Other parameters are those of ``evolve``.

        Yields
        ------
        t : float
        psi : numpy.ndarray
            Like psi, complex; or with ``operators`` expectation values.

        Examples
        --------
        >>> import numpy as np, wisp
        >>> H = wisp.gallery("graphene", nx=4, ny=4)
        >>> for t, psi in H.evolution(np.eye(32)[0], [0.5, 1.0]):
        ...     print(t, round(abs(np.vdot(psi, psi)), 8))
        0.5 1.0
        1.0 1.0
        """
        X, single = self._start(psi), np.ndim(psi) == 1
        kept, block = self._look(X, single, operators), self._block(X)
        bounds = self.find_bounds() if bounds is None else bounds
        now = 0.0
        for t in times:
            self._evolve(block, np.array([float(t) - now]), tol, bounds, None, None)
            now = float(t)
            yield now, kept(block)
