"""Thermodynamics at temperatures that moments do not serve, by random vectors that the library cools, as `wisp thermal --cool`."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import NumericError
from ._lib import ffi, lib, pointer, struct
from ._moments import ensemble


class Cooled:
    """Thermal pure states of random vectors at temperatures, which fall."""

    def __init__(self, matrix: Any, bounds: tuple[float, float, float], temperatures: np.ndarray, vectors: int, seed: int) -> None:
        self.ctx, size = matrix.ctx, ffi.sizeof("wisp_cooled")
        self.T = np.ascontiguousarray(temperatures)
        self.c = ffi.gc(ffi.new("wisp_cooled *"), lambda c: lib.wisp_cooled_free_sized(c, size)), size
        o, osize = struct("wisp_cool_opts", temperatures=self.T.size, temperature=pointer(self.T, "double"), vectors=vectors, seed=seed)
        o.bounds.method = lib.WISP_BOUNDS_GIVEN
        o.bounds.given.center, o.bounds.given.halfwidth, o.bounds.given.failure_probability = bounds
        self.opts = matrix._mat, o, osize

    @property
    def done(self) -> int:
        """Vectors that have come to all temperatures."""
        return self.c[0].done

    def run(self, progress: Any) -> None:
        """All vectors; those of a batch that is interrupted do not count."""
        self.ctx.call(lib.wisp_cool_sized, *self.c, *self.opts, progress=progress)

    def quantities(self, i: int, tol: float) -> np.ndarray:
        """ln Z, energy, heat capacity and entropy at temperature number i: of each the value, the error and the ends of the bar."""
        o, osize = struct("wisp_thermal_opts", tolerance=tol)
        e, esize = struct("wisp_ensemble")
        try:
            self.ctx.call(lib.wisp_cooled_ensemble_sized, self.ctx._ctx, *self.c, o, osize, i, e, esize)
        except NumericError as failure:
            raise NumericError(f"T: {failure}") from None
        return ensemble(e)
