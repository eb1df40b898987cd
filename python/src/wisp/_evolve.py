"""Time evolution, and expectation values along the way."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._arguments import checked, finite, given_number, iterable, list_of, numbers
from ._checkpoint import Run
from ._context import callback
from ._errors import UnsupportedError, with_result
from ._lib import TYPES, ffi, lib, pointer, struct
from ._parts import MatrixParts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class EvolveInfo(NamedTuple):
    """Norms along an evolution, and how good it is.

    Attributes
    ----------
    times : numpy.ndarray
    log_norm : numpy.ndarray
        ln |psi(t)|, of shape (times,) or (times, k): of psi before it was scaled, in complex time. The square of its
        exponential, over that of psi(0), is what an absorbing potential has left.
    off : numpy.ndarray
        How far psi(t) may be off, of the worst column, of shape (times,): over |psi(0)|, in complex time over |psi(t)|.
        What is left out of the series is bounded, rounding is an estimate. Of real times, and a Hermitian matrix, it is
        the tolerance; with ``drive`` all of it is an estimate.
    """

    times: np.ndarray
    log_norm: np.ndarray
    off: np.ndarray


def _line(times: np.ndarray) -> tuple[np.ndarray, complex | None]:
    """Real times t and the direction d, |d| = 1, of times d t on a line through 0; None: they are real."""
    if not np.iscomplexobj(times) or not np.any(times.imag):
        return np.ascontiguousarray(times.real, float), None
    size = max(abs(times.real).max(), abs(times.imag).max())
    near_1 = times.real / size + 1j * (times.imag / size)  # quotients and lengths of numbers that small, or large, are none
    far = near_1[np.argmax(abs(near_1))]
    d = complex(far / abs(far))
    along = near_1 * np.conj(d)
    if np.any(abs(along.imag) > 1e-12):
        raise ValueError("complex times lie on one line through 0, such as -1j * tau")
    with np.errstate(over="ignore"):
        t = along.real * size
    if not np.all(np.isfinite(t)):
        raise ValueError(f"times are too large: {times[np.argmax(abs(near_1))]}")
    return np.ascontiguousarray(t), d


class _Expectations:
    """<psi|B|psi> of operators: real where all of them are Hermitian."""

    def __init__(self, matrix: Any, operators: Sequence[Any], dtype: np.dtype, width: int) -> None:
        self.ctx, self.width = matrix.ctx, width
        self.operators = [matrix._beside("operators", B) for B in operators]
        self.y = matrix._block(None, dtype, width)
        self.dots = np.zeros((3, width), complex)
        self.aug, self.size = struct("wisp_aug", terms=lib.WISP_DOT_XY, dot=pointer(self.dots, "wisp_scalar"))
        props, psize = struct("wisp_mat_props")
        self.real = True
        for B in self.operators:
            if not B._stored:  # it is not known whether a LinearOperator is Hermitian
                self.real = False
                continue
            self.ctx.call(lib.wisp_mat_get_props_sized, B._mat, props, psize)
            self.real = self.real and bool(props.hermitian)

    def __call__(self, psi: Any) -> np.ndarray:
        values = np.empty((len(self.operators), self.width), complex)
        for row, B in zip(values, self.operators):
            self.ctx.call(lib.wisp_spmmv_sized, self.y, B._mat, psi, self.aug, self.size)
            row[:] = self.dots[1]
        return values.real if self.real else values


def _table(table: Any, t: np.ndarray) -> tuple[Callable[[float], Any], np.ndarray]:
    """The function that follows a table (times, values) along straight lines from 0 to all of t, and its times."""
    at, values = (numbers("drive", x, "biuf").astype(float) for x in table)
    if at.ndim != 1 or at.shape != values.shape or at.size < 2 or not np.all(np.isfinite([at, values])) or np.any(np.diff(at) <= 0):
        raise ValueError("a table of drive has as many values as times, two at least, all finite, and its times ascend")
    low, high = min(0.0, t.min(initial=0)), max(0.0, t.max(initial=0))
    if at[0] > low or at[-1] < high:
        raise ValueError(f"a table of drive goes from time {at[0]:g} to {at[-1]:g}; the evolution from {low:g} to {high:g}")
    return lambda now: np.interp(now, at, values), at


class _Drives:
    """Matrices and functions of time that are added to a matrix: opts.drive and what goes with it."""

    def __init__(self, matrix: Any, drive: Any, t: np.ndarray) -> None:
        pairs = [drive] if isinstance(drive, tuple) and len(drive) == 2 and not isinstance(drive[0], tuple) else list_of(
            "drive", drive, "a pair (B, f), or a list of such")
        if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs) or not pairs:
            raise ValueError("drive is a pair (B, f), or a list of such: f is a function of time, or a table (times, values)")
        known = [(f, np.zeros(0)) if callable(f) else _table(f, t) for _, f in pairs]
        self.functions = [f for f, _ in known]
        self.breaks = np.concatenate([at for _, at in known])
        self.matrices = [matrix._beside("drive", B) for B, _ in pairs]
        self.array = ffi.new("const wisp_mat *[]", [B._mat for B in self.matrices])
        self.call = callback("wisp_drive_fn", self._at, 1)

    def _at(self, arg: Any, now: float, f: Any) -> int:
        for j, function in enumerate(self.functions):
            f[j] = given_number("drive", function(now), real=True).real
        return 0

    def fields(self) -> dict[str, Any]:
        return {"drives": len(self.matrices), "drive": self.array, "drive_at": self.call, "breaks": self.breaks.size,
                "break_at": pointer(self.breaks, "double")}


class EvolveCalls(MatrixParts):
    """Calls of a matrix that evolve in time."""

    _absorption: tuple[float, float] | None = None  # bounds of W, where this is H - iW

    def _look(self, X: np.ndarray, single: bool, operators: Sequence[Any] | None) -> Callable[[Any], np.ndarray]:
        """What is kept of a block: its columns, or expectation values; without the last axis for a single vector."""
        if operators is not None:
            values = _Expectations(self, operators, X.dtype, X.shape[1])
            return lambda block: values(block)[:, 0] if single else values(block)
        return lambda block: self._get(block)[:, 0] if single else self._get(block)

    def _start(self, psi: ArrayLike) -> np.ndarray:
        dtype = np.result_type(np.asarray(psi).dtype, self.dtype, np.complex64)
        return self._some_columns("psi", psi, dtype if dtype.char in TYPES else "D")

    def _evolve(self, block: Any, t: np.ndarray, tol: float, bounds: Sequence[float] | None, look: Any, progress: Any,
                kept: Run | None = None, **fields: Any) -> None:
        o, size = struct("wisp_evolve_opts", tolerance=tol, observe=look, **fields)
        if kept is not None:
            kept.set(o)
        self._bounds_opts(o.bounds, bounds)
        self._bounds_opts(o.absorption, self._absorption)
        self.ctx.call(lib.wisp_evolve_sized, ffi.NULL, ffi.sizeof("wisp_evolution"), self._mat, block, t.size,
                      pointer(t, "double"), o, size, progress=progress)

    def _layers(self, text: str) -> np.ndarray:
        """W of layers such as x<10:0.2, in which it grows like the square of how deep a row is, as the command has them."""
        at = self.positions
        if at is None:
            raise ValueError("it is not known where the rows are, for the layers of absorb: give wisp.Matrix(H, positions=...)")
        w = np.zeros(self.shape[0])
        for layer in text.split(","):
            match = re.fullmatch(r"([xyz])([<>])=?([-+.\deE]+):([-+.\deE]+)", layer.strip())
            if match is None or "xyz".index(match[1]) >= at.shape[1]:
                raise ValueError(f"absorb={text!r}: layers are such as 'x<10:0.2,x>90:0.2', each with its strength")
            try:
                edge, strength = float(match[3]), float(match[4])
            except ValueError:
                raise ValueError(f"absorb={text!r}: {layer.strip()} has something that is no number") from None
            depth = (at[:, "xyz".index(match[1])] - edge) * (1 if match[2] == ">" else -1)
            if not depth.max() > 0:
                raise ValueError(f"absorb={text!r}: no row is in the layer {layer.strip()}")
            w += strength * (np.maximum(depth, 0) / depth.max()) ** 2
        return w

    def _absorbing(self, absorb: ArrayLike | str) -> Any:
        """H - iW as a matrix with the order of rows of this one, for an array of W of the rows, or layers."""
        w = self._layers(absorb) if isinstance(absorb, str) else numbers("absorb", absorb, "biuf")
        if w.shape != (self.shape[0],):
            raise ValueError(f"absorb is an array of real numbers, one for each of {self.shape[0]} rows, not of shape {w.shape}")
        wrong = np.flatnonzero(~np.isfinite(w))
        if wrong.size:
            raise ValueError(f"absorb holds finite numbers, and that of row {wrong[0]} is {w[wrong[0]]}")
        A = self.__class__.__new__(self.__class__)
        A._keep, A.ctx, A._spec = [], self.ctx, None
        dtype = np.complex64 if self.dtype.char in "fF" else complex
        if self._stored:
            A._on = lib.wisp_mat_map(self._mat)
            A._arrays(self.tocsr().astype(dtype) - sp.diags(1j * w.astype(float)).astype(dtype), True, None)
        elif self._op is not None:
            H, w = self._op, w[:, None]
            A._operator(LinearOperator(self.shape, matvec=lambda x: x, matmat=lambda X: H.matmat(X) - 1j * w * X,
                                       dtype=dtype), dtype)
        else:
            raise TypeError("absorb takes a matrix of entries, or a LinearOperator")
        A._absorption = float(w.min()), float(w.max())
        return A

    @checked()
    def evolve(self, psi: ArrayLike, times: ArrayLike, *, operators: Sequence[Any] | None = None, tol: float = 0,
               bounds: Sequence[float] | None = None, absorb: ArrayLike | str | None = None, hermitian: bool = True,
               drive: Any = None, longest_step: float = 0,
               observe: Callable[[float, np.ndarray], Any] | None = None, info: bool = False, checkpoint: Any = None,
               progress: Any = None) -> Any:
        """exp(-i A t) psi, by Chebyshev polynomials (Tal-Ezer and Kosloff 1984); hbar = 1.

        Parameters
        ----------
        psi : array of shape (rows,) or (rows, k)
        times : array
            In any order, in the inverse of the unit of the matrix's entries. Complex ones lie on one line through 0:
            ``-1j * tau`` is imaginary time, exp(-A tau), which cools to the ground state. Nothing keeps the norm then:
            psi is scaled to norm 1, column by column, and ``info`` has the logarithms of norms.
        operators : sequence of matrices, optional
            B of the expectation values <psi(t)|B|psi(t)>, which are kept in place of psi: matrices of scipy or numpy,
            LinearOperators, whose values are complex, this matrix, or its ``velocity``.
        tol : float
            Of |psi(t) - exact| / |psi(0)|, in complex time over |psi(t)|. 0: 1e-10, in single precision 1e-4. An
            expectation value is off by at most about twice that times the norms of psi and of B psi.
        bounds : tuple of float, optional
            The spectrum lies between these; that of (A + A^H)/2, where A is not Hermitian. None: they are found.
        absorb : array of shape (rows,) or str, optional
            W of an absorbing potential: psi evolves under A - iW, and loses norm at rates of W, in the unit of the
            matrix's entries. psi(t) is not scaled; ``abs(psi)**2`` summed is what is left. Not with complex times. A str
            has layers by the positions of rows, such as ``"x<10:0.2,x>90:0.2"``: in each W grows like the square of how
            deep a row is, to that strength at the deepest one, so that little is reflected where it begins.
            By Faber polynomials (Beckermann and Reichel, SIAM J. Numer. Anal. 47, 3849 (2009)).
        hermitian : bool
            False: the matrix itself may be any H - iW; bounds of both parts are found. Not with complex times.
        drive : (B, f) or list of such pairs, optional
            H(t) = A + sum of f(t) B, from time 0 on: B is a Hermitian matrix as in ``operators``, f a function of time that
            gives a real number, or a table (times, values) that is followed along straight lines. By a commutator-free
            Magnus integrator of fourth order (Alvermann and Fehske, J. Comput. Phys. 230, 5930 (2011)), whose steps follow
            from an estimate of their error; ``info`` has it. f is looked at some 20,000 times at least. Not with complex
            times, ``absorb`` and ``hermitian=False``.
        longest_step : float
            With ``drive``: no step is longer than this time, so that pulses of f of a 64th of it are seen. 0: any.
        observe : callable, optional
            ``observe(t, psi)`` for each time; what it returns is kept in place of psi.
        checkpoint : str, os.PathLike or Checkpoint, optional
            A file that keeps the state of the call, from which it goes on where the process was killed: see ``Checkpoint``.
            Not with ``observe``. Of a function in ``drive`` it is not known whether it is the same one.
        info : bool
            True: give (result, EvolveInfo), with norms and how far psi may be off.

        Returns
        -------
        numpy.ndarray
            Of shape (times, *psi.shape), complex; or of what ``observe`` returned. With ``operators`` (times, operators)
            or (times, operators, k), real where all operators are Hermitian.
        EvolveInfo
            With ``info`` alone.

        Raises
        ------
        ArithmeticError
            In complex time, with ``drive``, or where norms grow: the error would be above the tolerance; the message says
            what helps.
        KeyboardInterrupt
            Ctrl-C. Its ``result`` has what there was by then.

        Examples
        --------
        >>> import numpy as np, wisp
        >>> H = wisp.gallery("graphene", nx=4, ny=4)
        >>> cold, info = H.evolve(np.ones(32), -1j * np.array([0.0, 9.0]), operators=[H], info=True)
        >>> bool(cold[1, 0] < -2.9)
        True
        """
        if operators is not None and observe is not None:
            raise ValueError("give either operators or observe")
        X, single = self._start(psi), np.ndim(psi) == 1
        given = np.atleast_1d(times)
        if given.ndim != 1 or not np.all(np.isfinite(given)):
            raise ValueError("times are a list of finite numbers")
        t, direction = _line(given)
        if direction is not None and (absorb is not None or not hermitian):
            raise ValueError("absorb, and matrices that are not Hermitian, take real times")
        if absorb is not None and not hermitian:
            raise ValueError("absorb is for a Hermitian matrix: put W into the matrix, or leave hermitian=False out")
        if not hermitian and not self._stored:
            raise UnsupportedError("hermitian=False takes a matrix of entries: of a LinearOperator give the Hermitian part, and absorb=W")
        if drive is not None and (direction is not None or absorb is not None or not hermitian):
            raise ValueError("drive takes real times and a Hermitian matrix, without absorb")
        if checkpoint is not None and observe is not None:
            raise ValueError("checkpoint does not go with observe, whose results are not kept: take operators")
        if longest_step and drive is None:
            raise ValueError("longest_step is for drive")
        A = self if absorb is None else self._absorbing(absorb)
        if A is not self and bounds is None:
            bounds = self.find_bounds()
        log_norm, off = np.zeros((t.size, X.shape[1])), np.full(t.size, tol or (1e-4 if X.dtype.char == "F" else 1e-10))
        out: list[Any] = []
        kept = A._look(X, single, operators)
        shape = (X.shape[0] if operators is None else len(operators), X.shape[1])[:1 if single else 2]  # for each time
        fields = {"non_hermitian": int(A is not self or not hermitian), "log_norm": pointer(log_norm, "double")}
        if direction is not None:
            fields["direction"] = (direction.real, direction.imag)
        drives = None if drive is None else _Drives(self, drive, t)
        if drives is not None:
            fields.update(drives.fields(), longest_step=longest_step)
        if direction is not None or A is not self or not hermitian or drives is not None:  # else it is the tolerance
            fields["off"] = pointer(off, "double")

        def look(arg: Any, i: int, block: Any, norm: Any) -> int:
            found = kept(block)
            out.append(observe(given[i].item(), found) if observe else found)
            return 0

        def whole() -> np.ndarray:
            try:
                return np.array(out)
            except ValueError:
                raise ValueError("observe: the function gives arrays of one shape, not one shape at a time and another one at "
                                 "another") from None

        def result() -> Any:
            n = len(out)
            if not info:
                return whole()
            return whole(), EvolveInfo(given[:n], log_norm[:n, 0] if single else log_norm[:n], off[:n])

        def more(kept: Run, state: Any) -> None:
            """What was looked at by now: values, which are bytes of arrays of one shape and type, norms and errors."""
            sizes = np.array([len(out), out[0].nbytes, ord(out[0].dtype.char)] if out else [0, 0, 0], np.int64)
            kept.keep(state, "times done", sizes)
            values = kept.held = np.array(out) if out else np.empty(sizes[:2], np.uint8)
            for name, array in (("values", values), ("log_norm", log_norm), ("off", off)):
                if array.size:
                    kept.keep(state, name, array)
            if not out:
                out.extend(np.frombuffer(row.tobytes(), chr(sizes[2])).reshape(shape) for row in values)

        try:
            with Run(checkpoint, A, "evolve", more, psi=X, times=given, operators=operators, drive=drive) as kept_state:
                A._evolve(A._block(X), t, tol, bounds, callback("wisp_evolve_fn", look, 1), progress, kept_state, **fields)
        except KeyboardInterrupt as failure:
            with_result(failure, result())
            raise
        return result()

    @checked(times=iterable)
    def evolution(self, psi: ArrayLike, times: Iterable[float], *, operators: Sequence[Any] | None = None,
                  tol: float = 0, bounds: Sequence[float] | None = None,
                  absorb: ArrayLike | str | None = None) -> Iterator[tuple[float, np.ndarray]]:
        """An iterator over times, which need not be known beforehand: (t, psi(t)) one after the other.

        Each goes on from the one before it, so that errors add up: after n times psi may be off by n ``tol``. ``evolve``
        is faster where all times are known, and keeps one tolerance for all.

        Parameters
        ----------
        times : iterable of float
            Real ones. It may be endless, as ``itertools.count(0, 0.1)``.

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
        bounds = self.find_bounds() if bounds is None else bounds
        A = self if absorb is None else self._absorbing(absorb)
        kept, block = A._look(X, single, operators), A._block(X)
        now = 0.0
        for given in times:
            t = finite("times", given)
            if t != now:
                A._evolve(block, np.array([t - now]), tol, bounds, None, None, non_hermitian=int(A is not self))
            now = t
            yield now, kept(block)
