"""Local densities of states of all rows at once, by random vectors, as `wisp map` has them.

The estimate of a random vector |r> is |(f(H)|r>)_i|^2 at row i, with f^2 the kernel around the energy: its mean is
<i|f(H)^2|i>, for the numbers of |r> have size 1 and mean 0; it is never negative."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._lib import TYPES, ffi, lib, pointer, struct
from ._moments import KERNELS

_WIDTH = 4  # vectors that go together, each with one more for each energy
_STREAM = 2  # of random numbers, the command's


class Sums:
    """Of the densities of the vectors so far, and of their squares, at rows."""

    def __init__(self, matrix: Any, energies: np.ndarray, rows: np.ndarray, terms: int, seed: int, kernel: str,
                 bounds: Sequence[float]) -> None:
        self.matrix, self.rows, self.seed, self.done = matrix, rows, seed, 0
        self.total, self.squares = np.zeros((2, energies.size, rows.size))
        self.series = np.zeros((energies.size, terms), complex)
        low, high = bounds
        b = ffi.new("wisp_bounds *", ((low + high) / 2, (high - low) / 2, 0))
        for e, c in zip(energies, self.series):
            lib.wisp_kernel_root(b, KERNELS[kernel], e, terms, pointer(c, "wisp_scalar"))
        self.f = ffi.new("wisp_function[]", energies.size)
        for f, c in zip(self.f, self.series):
            f.terms, f.c = terms, pointer(c, "wisp_scalar")
        self.o, self.size = struct("wisp_chebyshev_opts")
        matrix._bounds_opts(self.o.bounds, bounds)

    def add(self, vectors: int, progress: Any) -> None:
        """So many more vectors; those of a batch that is interrupted do not count."""
        upto = self.done + vectors
        while self.done < upto:
            width = min(_WIDTH, upto - self.done)
            x, *y = (self.matrix._block(None, self.matrix.dtype, width) for _ in range(1 + len(self.series)))
            call = self.matrix.ctx.call
            call(lib.wisp_blk_fill_random, x, lib.WISP_RANDOM_TRACE, self.seed, _STREAM, self.done)
            call(lib.wisp_chebyshev_apply_sized, ffi.NULL, ffi.sizeof("wisp_expansion"), ffi.new("wisp_blk *[]", y),
                 self.matrix._mat, x, len(y), self.f, self.o, self.size, progress=progress)
            each = np.array([abs(self.matrix._get(block)[self.rows].astype(complex)) ** 2 for block in y])
            self.total += each.sum(2)
            self.squares += (each**2).sum(2)
            self.done += width
            del x, y  # before the next ones are made

    def means(self) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Densities, their standard errors (NaN for a single vector), and the 95% bars."""
        n, mean, err = self.done, self.total.copy(), self.squares.copy()
        lib.wisp_sums_mean(n, mean.size, pointer(mean, "double"), pointer(err, "double"))
        m, size = struct("wisp_moments", vectors=n, trace=lib.WISP_TRACE_RANDOM, type=TYPES[self.matrix.dtype.char])
        low, high = np.zeros((2, *mean.shape))
        lib.wisp_bars95_sized(m, size, ffi.NULL, ffi.sizeof("wisp_eval_opts"), mean.size,
                              *(pointer(a, "double") for a in (mean, err, low, high)))
        return mean, err, (low, high)
