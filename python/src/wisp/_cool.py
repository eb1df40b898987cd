"""Thermodynamics at temperatures that moments do not serve, by random vectors that the library cools, as `wisp thermal --cool`."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._checkpoint import Run, around
from ._errors import NumericError
from ._lib import ffi, lib, pointer, struct
from ._moments import SpectralDensity, ensemble


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
        kept = around()
        if kept is not None:
            kept.set(self.opts[1], "cool")
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


class Beside:
    """The density beside cooled states, whose checkpoint has its moments, so that they are not computed anew. made(run): that
    of the moments that run(m, size) makes."""

    _NAME = b"cooled vectors"

    def __init__(self, made: Callable[[Callable[[Any, int], None]], SpectralDensity]) -> None:
        self.made = made
        self.rho: SpectralDensity | None = None

    def items(self, run: Run, state: Any) -> None:
        """Notes them, once they are there, or fills them in."""
        if not lib.wisp_state_is_kept(state):
            if self.rho is not None:
                run.keep_moments(state, self._NAME, *self.rho._raw())
        elif lib.wisp_state_bytes(state, b"moments of " + self._NAME):
            self.rho = self.made(lambda m, size: run.keep_moments(state, self._NAME, m, size))
