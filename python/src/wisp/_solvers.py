"""Eigenpairs, linear systems, functions of a matrix times vectors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from ._arguments import checked, shown, warn
from ._blocks import function_of_blocks
from ._checkpoint import Run
from ._errors import ConvergenceError, IncompleteError, UnsupportedError, with_result
from ._lib import DTYPES, TYPES, array, ffi, lib, struct
from ._moments import function_of
from ._overlap import Pencil
from ._parts import MatrixParts
from ._results import Eigenpairs, SingularTriplets, SolveInfo
from ._spectral import seed_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._matrix import Matrix

_WHICH = {"SA": lib.WISP_EIG_SMALLEST, "LA": lib.WISP_EIG_LARGEST, "SM": lib.WISP_EIG_NEAREST,
          "LR": lib.WISP_EIG_LARGEST_REAL}
_WHICH_SINGULAR = {"LM": lib.WISP_EIG_LARGEST, "SM": lib.WISP_EIG_SMALLEST}
_EIG_METHODS = {None: lib.WISP_EIG_DEFAULT, "chebfd": lib.WISP_CHEBFD, "lanczos": lib.WISP_LANCZOS,
                "krylov-schur": lib.WISP_KRYLOV_SCHUR, "dense": lib.WISP_EIG_DENSE, "invert": lib.WISP_EIG_INVERT}
_PROOFS = {None: lib.WISP_PROOF_NONE, "checks": lib.WISP_PROOF_CHECKS, "inertia": lib.WISP_PROOF_INERTIA,
           "all": lib.WISP_PROOF_ALL}
_METHODS = {None: lib.WISP_METHOD_DEFAULT, "cg": lib.WISP_CG, "bicgstab": lib.WISP_BICGSTAB, "gmres": lib.WISP_GMRES,
            "minres": lib.WISP_MINRES, "lsmr": lib.WISP_LSMR, "idr": lib.WISP_IDR}
_SIDES = {None: lib.WISP_SIDE_DEFAULT, "left": lib.WISP_SIDE_LEFT, "right": lib.WISP_SIDE_RIGHT}
_PRECONDS = {None: lib.WISP_PRECOND_NONE, "jacobi": lib.WISP_JACOBI, "block-jacobi": lib.WISP_BLOCK_JACOBI,
             "chebyshev": lib.WISP_CHEBYSHEV, "neumann": lib.WISP_NEUMANN, "amg": lib.WISP_AMG,
             "ilu": lib.WISP_ILU, "ic": lib.WISP_IC}


def _choice(name: str, value: Any, of: dict) -> int:
    if not isinstance(value, (str, type(None))) or value not in of:
        raise ValueError(f"{name} is one of {', '.join(map(str, of))}, not {shown(value)}")
    return of[value]


def _word(value: int, of: dict) -> str | None:
    return next((key for key, number in of.items() if number == value), None)


def _how(e: Any, complete: bool) -> tuple[np.ndarray, bool, str | None, int, str | None]:
    """How good values are, and how they were found."""
    return (array(e.residual, e.found, float), complete, _word(e.method, _EIG_METHODS), e.products,
            _word(e.proof, _PROOFS) if complete else None)


class SolverCalls(MatrixParts):
    """Calls of a matrix that solve."""

    @checked()
    def eigs(self, k: int = 6, which: str = "SA", *, target: complex | None = None, sigma: complex | None = None,
             interval: Sequence[float] | None = None, tol: float = 0, maxiter: int = 0, method: str | None = None,
             bounds: Sequence[float] | None = None, rng: int | np.random.Generator | None = 0, overlap: Any = None,
             overlap_bounds: Sequence[float] | None = None, any: bool = False, checkpoint: Any = None,
             progress: Any = None) -> Eigenpairs:
        """Eigenpairs, at an end of the spectrum, next to a number, or all in an interval.

        By Chebyshev filter diagonalization (Pieper et al., J. Comput. Phys. 325, 226 (2016)), block Lanczos or
        Krylov-Schur (Stewart, SIAM J. Matrix Anal. Appl. 23, 601 (2002)).

        Parameters
        ----------
        k : int
            How many; not with ``interval``. If the last one belongs to a multiplet, all of it is given, unless ``any``.
        which : {"SA", "LA", "SM", "LR"}
            As in scipy: smallest, largest, nearest to 0, of largest real part. Of a matrix that is not Hermitian "SA"
            and "LA" are those of smallest and largest absolute value.
        target, sigma : float or complex, optional
            Those nearest to this number; two names for one thing. A complex one is for a matrix that is not Hermitian; then
            both of a conjugate pair are given only if both are that near, and vectors are complex.
        interval : tuple of float, optional
            All eigenvalues in [low, high].
        tol : float
            Of |A v - lambda v| over the halfwidth of the spectrum. 0: 1e-8, in single precision 1e-4.
        maxiter : int
            Rounds of filtering, or restarts. 0: 30, or 10000.
        method : {None, "chebfd", "lanczos", "krylov-schur", "dense", "invert"}
            "invert" is shift and invert, for ``target``: by factors of MUMPS, where the library has it ("mumps" is in
            ``wisp.features``). It proves that no pair of a Hermitian matrix is missing; of another one it never does, and
            there is an IncompleteError. With ``overlap`` the factors are those of A - target S. By default ``target`` takes it where it is to be had and takes less than a
            filter, "chebfd", does.
        overlap : scipy sparse matrix or numpy array, optional
            S of A x = lambda S x, in a basis that is not orthogonal: A Hermitian, S Hermitian and positive definite, as
            ``M`` of scipy's eigsh. Vectors are orthonormal with S then: x^H S x = 1; residuals are those of
            |S^-1/2 (A x - lambda S x)|, computed from A and S. It takes double precision.
        overlap_bounds : tuple of float, optional
            The eigenvalues of S lie between these, both above 0. None: they are found.
        any : bool
            Of a multiplet that the last one belongs to, as many as make k are enough, whichever they are. Not with ``interval``.
        checkpoint : str, os.PathLike or Checkpoint, optional
            A file that keeps the state of the call, from which it goes on where the process was killed: see ``Checkpoint``.
            Not with ``overlap``; of "chebfd", "lanczos", "krylov-schur" and "invert". A call that goes on may have another
            ``maxiter``, and with ``method=None`` takes the file's method, whose vectors are its own: signs, phases, and what
            spans the space of a level with several states, differ from one method to another.

        Returns
        -------
        Eigenpairs

        Raises
        ------
        IncompleteError, ConvergenceError
            Something is, or may be, missing; ``result`` has the pairs that were found.
        KeyboardInterrupt
            Ctrl-C. Its ``result`` has the pairs that were found. MUMPS analyses a matrix, and makes factors, in one piece each,
            whose end it waits for.
        """
        near = target if target is not None else sigma
        o, size = struct("wisp_eig_opts", which=_choice("which", which, _WHICH), tolerance=tol, max_rounds=maxiter,
                         method=_choice("method", method, _EIG_METHODS), seed=seed_of(rng, self.ctx), any=1 if any else 0)
        if interval is not None:
            if any:
                raise ValueError("any is for a number k of pairs, and an interval has all of its pairs")
            if near is not None:
                raise ValueError("give either an interval or a target")
            if interval[0] > interval[1]:
                raise ValueError(f"interval is a pair (low, high), and {shown(interval)} falls")
            o.which, (o.low, o.high) = lib.WISP_EIG_INTERVAL, interval
        else:
            o.count = k
            if k < 1:
                raise ValueError(f"k is at least 1, not {k}")
            if near is not None:
                o.which, o.target, o.target_im = lib.WISP_EIG_NEAREST, near.real, near.imag
        if overlap_bounds is not None and overlap is None:
            raise ValueError("overlap_bounds go with overlap")
        self._bounds_opts(o.bounds, bounds)
        if interval is None and o.method != lib.WISP_CHEBFD and overlap is None:  # those refuse such a matrix
            self._warn_of_rounding(which in ("SA", "LA") and near is None)
        if checkpoint is not None and overlap is not None:
            raise ValueError("checkpoint does not go with overlap")
        pencil = None if overlap is None else Pencil(self, overlap, overlap_bounds)
        with Run(checkpoint, self, "eigs") as kept:
            kept.set(o)
            return self._eigs(o, size, pencil, tol, progress)

    def _eigs(self, o: Any, size: int, pencil: Pencil | None, tol: float, progress: Any) -> Eigenpairs:
        e, esize = struct("wisp_eigen")
        try:
            try:
                self.ctx.call(lib.wisp_eig_sized, e, esize, (pencil.C if pencil else self)._mat, o, size,
                              progress=progress)
            except (IncompleteError, ConvergenceError, KeyboardInterrupt) as failure:
                with_result(failure, self._pairs(e, pencil, tol))
                raise
            found = self._pairs(e, pencil, tol)
        finally:
            lib.wisp_eigen_free_sized(e, esize)
        if pencil and not found.complete:
            missed = IncompleteError(f"eigs: a pair of A x = lambda S x has a residual of {found.residuals.max():.1e}, "
                                     f"and {tol or 1e-8:.1e} is wanted")
            raise with_result(missed, found)
        return found

    def _warn_of_rounding(self, by_size: bool) -> None:
        """Says so where a matrix is Hermitian but for rounding."""
        if not self._stored or self.shape[0] != self.shape[1]:
            return
        props, size = struct("wisp_mat_props")
        self.ctx.call(lib.wisp_mat_get_props_sized, self._mat, props, size)
        if props.nearly_hermitian and not props.hermitian and props.nonfinite_row < 0:
            warn("the matrix is Hermitian but for rounding, and is treated as not Hermitian"
                          + (": eigenvalues are ordered by absolute values" if by_size else "")
                          + "; (A + A.conj().T) / 2 is Hermitian")

    def _pairs(self, e: Any, pencil: Pencil | None, tol: float) -> Eigenpairs:
        n = e.found
        complete = bool(e.complete)
        if pencil and n:
            complete &= pencil.deliver(e, tol or 1e-8)
        w = array(e.value, n, complex)
        v = self._get(e.vectors) if n else np.zeros((self.shape[0], 0), self.dtype)
        return Eigenpairs(w if e.condition else w.real.copy(), *_how(e, complete), v)

    @checked()
    def svds(self, k: int = 6, which: str = "LM", *, interval: Sequence[float] | None = None, tol: float = 0,
             maxiter: int = 0, method: str | None = None, rng: int | np.random.Generator | None = 0,
             progress: Any = None) -> SingularTriplets:
        """Singular values and vectors of a matrix of any shape: the largest ones, the smallest, or all in an interval.

        They are eigenpairs of [[0, A], [A^H, 0]] (Golub and Van Loan, Matrix Computations, section 8.6), which is held
        beside the matrix until the call ends: no condition number is squared.

        Parameters
        ----------
        k : int
            How many, at most the smaller one of rows and columns; not with ``interval``.
        which : {"LM", "SM"}
            As in scipy's ``svds``: largest, or smallest.
        interval : tuple of float, optional
            All singular values in [low, high], low above 0.
        tol : float
            Of the residuals, over the largest singular value. 0: 1e-8, in single precision 1e-4.
        maxiter : int
            Rounds of filtering, or restarts. 0: 30, or 10000.
        method : {None, "chebfd", "lanczos", "dense", "invert"}
            None: what takes least.
        rng : int, numpy.random.Generator or None
            The seed of the start.
        progress : bool or callable, optional
            As in ``spectral_density``.

        Returns
        -------
        SingularTriplets

        Raises
        ------
        IncompleteError, ConvergenceError
            Something is, or may be, missing; ``result`` has the triplets that were found.
        KeyboardInterrupt
            Ctrl-C. Its ``result`` has the triplets that were found. It waits for MUMPS as with ``eigs``.

        Examples
        --------
        >>> import numpy as np, wisp
        >>> u, s, vh = wisp.Matrix(np.diag([1.0, 2.0, 3.0])[:, :2]).svds(1)
        >>> round(float(s[0]), 6)
        2.0
        """
        o, size = struct("wisp_eig_opts", which=_choice("which", which, _WHICH_SINGULAR), tolerance=tol, max_rounds=maxiter,
                         method=_choice("method", method, _EIG_METHODS), seed=seed_of(rng, self.ctx), count=k)
        if interval is not None:
            if not 0 < interval[0] <= interval[1]:
                raise ValueError(f"interval is a pair (low, high), low above 0, not {shown(interval)}; which='SM' gives what is near 0")
            o.which, o.count, (o.low, o.high) = lib.WISP_EIG_INTERVAL, 0, interval
        elif k < 1:
            raise ValueError(f"k is at least 1, not {k}")
        B, rows = self._augmented(), self.shape[0]
        e, esize = struct("wisp_eigen")

        def found() -> SingularTriplets:
            n = e.found
            both = B._get(e.vectors) if n else np.zeros((sum(self.shape), 0), self.dtype)
            return SingularTriplets(array(e.value, n, complex).real.copy(), *_how(e, bool(e.complete)), both[:rows].copy(),
                                    both[rows:].copy())

        try:
            self.ctx.call(lib.wisp_svd_sized, e, esize, B._mat, rows, o, size, progress=progress)
            return found()
        except (IncompleteError, ConvergenceError, KeyboardInterrupt) as failure:
            with_result(failure, found())
            raise
        finally:
            lib.wisp_eigen_free_sized(e, esize)

    def _augmented(self) -> Matrix:
        """[[0, A], [A^H, 0]]."""
        (src, size), (both, _) = struct("wisp_src"), struct("wisp_src")
        self.ctx.call(lib.wisp_src_open_mat_sized, src, size, self._mat)
        try:
            self.ctx.call(lib.wisp_src_augmented_sized, both, size, self.ctx._ctx, src, size)
        finally:
            lib.wisp_src_close_sized(src, size)
        try:
            return self._of(both, size)
        finally:
            lib.wisp_src_close_sized(both, size)

    @checked()
    def solve(self, b: ArrayLike, *, rtol: float = 0, atol: float = 0, x0: ArrayLike | None = None, maxiter: int = 0,
              method: str | None = None, precond: str | Callable[[np.ndarray], np.ndarray] | None = None,
              restart: int = 0, null: ArrayLike | None = None, damp: float = 0, shadow: int = 0, side: str | None = None,
              bounds: Sequence[float] | None = None, checkpoint: Any = None,
              progress: Any = None) -> tuple[np.ndarray, SolveInfo]:
        """Solves A x = b for one or more columns, to a residual that is computed from x itself.

        Of a matrix that is not square x makes |b - A x| least (LSMR: Fong and Saunders, SIAM J. Sci. Comput. 33, 2950
        (2011)), and of all such it is the shortest one.

        Parameters
        ----------
        b : array of shape (rows,) or (rows, k)
        rtol : float
            Of |b - A x| / |b|, each column. 0: 1e-8, in single precision 1e-4; none if atol is given.
        atol : float
            Of |b - A x|: a column has converged where it is within one of the two.
        x0 : array like x, optional
            A guess.
        maxiter : int
            0: 10000, or ten times the rows, if that is less.
        method : {None, "cg", "minres", "gmres", "bicgstab", "idr", "lsmr"}
            None: CG for a Hermitian matrix, which MINRES takes over where it is not positive definite; LSMR for one that
            is not square, or with ``damp``; else GMRES. LSMR stores A^H as well, until the call ends. A column has
            converged for it also where |A^H r| / (|A| |r|), r = b - A x, is within the tolerance.
        precond : {None, "jacobi", "block-jacobi", "chebyshev", "neumann", "amg", "ilu", "ic"} or callable
            A function gives M^-1 X for columns X.
        side : {None, "left", "right"}
            Of the matrix, on which ``precond`` of GMRES, BiCGStab and IDR stands. None: right. On the left GMRES makes
            |M^-1 (b - A x)| least; columns converge by |b - A x| all the same, and ``info.history`` has an estimate of
            that. With ``method=None`` a side takes GMRES.
        bounds : tuple of float, optional
            The spectrum of the matrix lies between these: for ``precond`` "chebyshev" and "neumann". None: they are found, if
            the matrix is Hermitian; for "chebyshev" another one, and a LinearOperator, need them, both above 0.
        restart : int
            m of GMRES(m). 0: 30.
        shadow : int
            s of IDR(s), 1 to 64: more take fewer products, and three vectors each. 0: 4.
        null : array of shape (rows,) or (rows, k), optional
            Vectors of which a singular A makes 0, such as ``np.ones(rows)`` for the Laplacian of a graph: x is the
            shortest solution, and one of least residual where b has a part in their span that A does not reach.

        damp : float
            LSMR: x makes |b - A x|^2 + damp^2 |x|^2 least.
        checkpoint : str, os.PathLike or Checkpoint, optional
            A file that keeps the state of the call, from which it goes on where the process was killed: see ``Checkpoint``.
            Of a function ``precond`` it is not known whether it is the same one. For square matrices.

        Returns
        -------
        x : numpy.ndarray
            Of shape (columns,) or (columns, k).
        info : SolveInfo

        Raises
        ------
        ConvergenceError, SingularError
            Some column did not converge; ``result`` is (x, info), with the best x there was.
        KeyboardInterrupt
            Ctrl-C. Its ``result`` is (x, info) as far as it was.
        """
        B = self._some_columns("b", b)
        X0 = None if x0 is None else self._columns("x0", x0, self.shape[1], B.dtype)
        if X0 is not None and X0.shape[1] != B.shape[1]:
            raise ValueError(f"x0 has as many columns as b, of shape {np.shape(b)}; its own has {X0.shape[1]}")
        bb, bx = self._block(B), self._block(X0, B.dtype, B.shape[1], columns=True)
        bn = None if null is None else self._block(self._columns("null", null, self.shape[0], B.dtype))
        o, size = struct("wisp_solve_opts", tolerance=rtol, tolerance_abs=atol, max_iterations=maxiter,
                         restart=restart, shadow=shadow, method=_choice("method", method, _METHODS),
                         guess=int(x0 is not None), damp=damp, side=_choice("side", side, _SIDES))
        if bounds is not None and precond not in ("chebyshev", "neumann"):
            raise ValueError("bounds are for precond='chebyshev' and 'neumann'")
        self._bounds_opts(o.bounds, bounds)
        keep = adjoint = None
        if o.method == lib.WISP_METHOD_DEFAULT and (damp or self.shape[0] != self.shape[1]):
            o.method = lib.WISP_LSMR
        if o.method == lib.WISP_LSMR:
            if not self._stored:
                raise UnsupportedError("method='lsmr', and damp, take a matrix of entries, whose adjoint is known, and no LinearOperator")
            made = ffi.new("wisp_mat **")
            self.ctx.call(lib.wisp_mat_adjoint_sized, made, self._mat, ffi.NULL, 0)
            o.adjoint = adjoint = ffi.gc(made[0], lib.wisp_mat_free)
        if checkpoint is not None and self.shape[0] != self.shape[1]:
            raise ValueError("checkpoint is for square matrices")
        if callable(precond):
            if self.ctx.ranks > 1:
                raise UnsupportedError("a function can't be a preconditioner on several processes: name one of wisp's")
            keep = function_of_blocks("precond", precond, self.ctx)
            o.precond, o.apply = lib.WISP_PRECOND_APPLY, keep
        else:
            o.precond = _choice("precond", precond, _PRECONDS)
        if bn is not None:
            o.null = bn
        s, ssize = struct("wisp_solution")

        def result() -> tuple[np.ndarray, SolveInfo]:
            X = self._get(bx)
            info = SolveInfo(bool(s.converged), array(s.residuals, s.columns, float), s.iterations,
                             array(s.history, s.iterations + 1, float), _word(s.method, _METHODS), s.products,
                             array(s.optimalities, s.columns, float) if s.optimalities else None)
            return (X if np.ndim(b) == 2 else X[:, 0]), info

        try:
            with Run(checkpoint, self, "solve", b=B, x0=X0, null=null, precond=precond) as kept:
                kept.set(o)
                self.ctx.call(lib.wisp_solve_sized, s, ssize, bx, self._mat, bb, o, size, progress=progress)
            return result()
        except (ConvergenceError, KeyboardInterrupt) as failure:
            if self.ctx.ranks == 1 or isinstance(failure, ConvergenceError):  # Ctrl-C may be of one rank alone
                with_result(failure, result())
            raise
        finally:
            lib.wisp_solution_free_sized(s, ssize)
            del keep, adjoint

    @checked()
    def apply(self, f: Callable[[float], complex], x: ArrayLike, *, tol: float = 0, max_terms: int = 0,
              bounds: Sequence[float] | None = None, kernel: str | None = None, progress: Any = None) -> np.ndarray:
        """f(A) x for a Hermitian matrix, by a Chebyshev series of f (Trefethen, Approximation Theory, 2013).

        Parameters
        ----------
        f : callable
            A function of an energy, real or complex, asked for on all of the bounds.
        x : array of shape (rows,) or (rows, k)
        tol : float
            Of the error over max |f| |x|, each column. 0: 1e-10, in single precision 1e-4.
        max_terms : int
            The most terms of the series. 0: 65536. With ``kernel`` their number.
        kernel : {None, "jackson"}
            "jackson": the series is damped, whatever its error; for functions that are not smooth.

        Raises
        ------
        ValueError
            f can't be met with so many terms.
        """
        if kernel not in (None, "jackson"):
            raise ValueError(f"kernel is 'jackson' or None, not {kernel!r}")
        low, high = self.find_bounds() if bounds is None else bounds
        dtype = np.result_type(np.asarray(x).dtype, self.dtype)
        if np.iscomplexobj(f((low + high) / 2)):
            dtype = np.result_type(dtype, np.complex64)
        X = self._columns("x", x, self.shape[0], DTYPES[TYPES.get(dtype.char, lib.WISP_D)])
        bx, by = self._block(X), self._block(None, X.dtype, X.shape[1])
        function, keep = function_of(f)
        o, size = struct("wisp_chebyshev_opts", tolerance=tol, terms=max_terms)
        if kernel:
            o.jackson, o.terms = max_terms or 512, 0
        self._bounds_opts(o.bounds, (low, high))
        y = ffi.new("wisp_blk *[1]", [by])
        self.ctx.call(lib.wisp_chebyshev_apply_sized, ffi.NULL, ffi.sizeof("wisp_expansion"), y, self._mat, bx, 1,
                      function, o, size, progress=progress)
        del keep
        Y = self._get(by)
        return Y if np.ndim(x) == 2 else Y[:, 0]
