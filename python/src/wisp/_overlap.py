"""Bases that are not orthogonal: A x = lambda S x, by S^-1/2 A S^-1/2."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from ._arguments import warn
from ._errors import WispError
from ._lib import ffi, lib, struct

if TYPE_CHECKING:
    from ._matrix import Matrix


class Pencil:
    """A and S, and C = S^-1/2 A S^-1/2, a matrix with the eigenvalues of A x = lambda S x (Loewdin, J. Chem. Phys. 18,
    365 (1950)). S^-1/2 is a polynomial of S, which is stored nowhere."""

    def __init__(self, A: Any, S: Any, bounds: Sequence[float] | None) -> None:
        if A.dtype.char in "fF":
            raise ValueError("overlap takes a matrix of double precision: wisp.Matrix(H, dtype=float) or dtype=complex")
        self.A, self.ctx, self.S = A, A.ctx, A._beside("overlap", S)
        o, size = struct("wisp_overlap_opts")
        if bounds is not None and not 0 < bounds[0] < bounds[1] < np.inf:
            raise ValueError(f"overlap_bounds are two numbers above 0, the smaller one first, not {tuple(bounds)}")
        A._bounds_opts(o.bounds, bounds)
        made, matrix = ffi.new("wisp_overlap **"), ffi.new("wisp_mat **")
        try:
            self.ctx.call(lib.wisp_overlap_create_sized, made, self.S._mat, o, size)
        except WispError as failure:
            raise type(failure)(f"the overlap matrix: {failure}") from None
        self.overlap = ffi.gc(made[0], lib.wisp_overlap_free)
        self.info, size = struct("wisp_overlap_info")
        lib.wisp_overlap_get_info_sized(self.overlap, self.info, size)
        self.ctx.call(lib.wisp_overlap_matrix, matrix, self.overlap, A._mat)
        self.C = self._matrix(matrix)

    def _matrix(self, made: Any) -> Matrix:
        C = self.A.__class__.__new__(self.A.__class__)
        C._keep, C.ctx, C._spec = [], self.ctx, None
        needs = self.overlap, self.S, self.A

        def free(mat: Any, needs: Any = needs) -> None:  # they live until it is gone
            lib.wisp_mat_free(mat)

        C._made(made, free)
        return C

    def energy_error(self, bounds: Sequence[float]) -> float:
        """How far an eigenvalue may be off, by the error of S^-1/2 and rounding."""
        root = np.sqrt(self.info.condition)
        return float(2 * (self.info.error + self.info.rounding) * root * max(abs(bounds[0]), abs(bounds[1])))

    def warn(self, rho: Any) -> None:
        """Says so where that error shows in a density."""
        off = self.energy_error(rho.bounds)
        if 100 * off > rho.resolution:
            warn(f"energies are off by up to {off:.1e}, by the error of S^-1/2, and the resolution is "
                          f"{rho.resolution:.1e}: fewer moments hide that")

    def deliver(self, e: Any, tol: float) -> bool:
        """Makes eigenvectors of C into those of the pencil, where they are, and residuals into |S^-1/2 (A x - lambda S x)|,
        computed from A and S. They are over the halfwidth of the spectrum; or over more, where rounding alone is more than
        the tolerance allows (wisp_overlap_unit). Whether all are within the tolerance."""
        self.ctx.call(lib.wisp_overlap_apply, self.overlap, e.vectors, e.vectors)
        self.ctx.call(lib.wisp_overlap_residuals, self.overlap, self.A._mat, e.value, e.vectors, e.residual, ffi.NULL)
        c = e.bounds
        residuals = np.frombuffer(ffi.buffer(e.residual, 8 * e.found))
        residuals /= lib.wisp_overlap_unit(self.overlap, lib.wisp_blk_type(e.vectors), c.halfwidth,
                                           c.halfwidth + abs(c.center), tol)
        return bool(residuals.max() <= tol)
