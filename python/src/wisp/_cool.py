"""Thermodynamics at temperatures that moments do not serve, by random vectors that are cooled, as `wisp thermal --cool` has it.

A thermal pure state is exp(-H/2T)|r> of a random vector |r> (Sugiura and Shimizu, Phys. Rev. Lett. 111, 010401 (2013)): Z is
the mean of their squared norms, and energies are ratios of means. States are cooled step by step and scaled to norm 1 each time, so
that their digits are not those of a trace over all states. docs/solvers.md has the formulas."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._errors import NumericError
from ._lib import TYPES, ffi, lib, pointer, struct

_WIDTH = 8  # states at once
_STREAM = 0  # of random numbers: that of moments
_MOST = 3.0  # a step leaves at least exp(-3) of the norm
_STILL = 1e-8  # of the temperature: a state of so little spread is an eigenstate, and only loses norm
_EPS = np.finfo(float).eps


class Cooled:
    """States of random vectors at temperatures, which fall.

    Attributes
    ----------
    log_norm, energy, spread : numpy.ndarray
        Of shape (temperatures, vectors): ln of the norm that a state would have, <H>, and the root of <(H - <H>)^2>.
    off : numpy.ndarray
        Of shape (temperatures, 2): how far all steps so far, and the last one, made the states off, relative to them.
    done : int
        Vectors that have come to all temperatures.
    """

    def __init__(self, matrix: Any, bounds: tuple[float, float, float], temperatures: np.ndarray, vectors: int, seed: int) -> None:
        self.matrix, self.bounds, self.T, self.seed = matrix, bounds, temperatures, seed
        self.type = np.dtype("F" if matrix.dtype.char in "fF" else "D")
        self.log_norm, self.energy, self.spread = np.zeros((3, temperatures.size, vectors))
        self.off, self.done = np.zeros((temperatures.size, 2)), 0

    def run(self, progress: Any) -> None:
        """All vectors; those of a batch that is interrupted do not count."""
        vectors, ctx = self.energy.shape[1], self.matrix.ctx
        while self.done < vectors:
            states = _States(self, min(_WIDTH, vectors - self.done))
            for i, T in enumerate(self.T):
                part = (self.done + states.width * i / self.T.size) / vectors
                ctx.call(lib.wisp_ctx_step, ctx._ctx, b"cooling", part, 0.0, progress=progress)
                states.cool_to(0.5 / T, T)
                at = i, slice(self.done, self.done + states.width)
                self.log_norm[at], self.energy[at], self.spread[at] = states.log_norm, states.energy, states.spread
                self.off[i] = np.maximum(self.off[i], (states.off, states.last))
            self.done += states.width

    def quantities(self, i: int, tol: float) -> np.ndarray:
        """ln Z, energy, heat capacity and entropy at temperature number i: of each the value, the error and the ends of the bar."""
        n, T = self.done, self.T[i]
        of = np.array([self.log_norm[i, :n], self.energy[i, :n], self.spread[i, :n]])
        rows = np.log(self.matrix.shape[0])
        q, off = _quantities(of, T, rows), self._off(i)
        if not off.max() <= tol:
            raise NumericError(f"T: at temperature {T:g} cooled states leave an error of up to {off.max():.2g} in ln Z, E/T, C or S, and "
                               f"tol is {tol:g}")
        err, half, relative = np.full(4, np.nan), np.full(4, np.nan), np.nan
        if n > 1:
            without = np.array([_quantities(np.delete(of, v, 1), T, rows) for v in range(n)])
            err = np.sqrt((n - 1) * without.var(0))
            w = np.exp(2 * (of[0] - of[0].max()))
            relative = float(np.std(w / w.mean(), ddof=1) / np.sqrt(n))
            # Half of a bar over the error: with fewer degrees of freedom where few states make up Z.
            freedom = 1 / (1 / (n - 1) + min(n * relative**2, 1) / n)
            half = lib.wisp_student95(1 + max(1, int(freedom))) * err
        half = half + off * (1, T, 1, 1)
        found = np.array([q, err, q - half, q + half])
        if n > 1:  # that of ln Z is that of Z, which is not negative
            low, high = self._bar(relative)
            found[2:, 0] = q[0] + (np.log(low) if low > 0 else -np.inf) - off[0], q[0] + np.log(high) + off[0]
        return found

    def _bar(self, relative: float) -> tuple[float, float]:
        """The bar of a number that is 1, not negative, and has this error."""
        m, size = struct("wisp_moments", vectors=self.done, trace=lib.WISP_TRACE_RANDOM, type=TYPES["D"])
        one, err, low, high = np.array([[1.0], [relative], [0], [0]])
        lib.wisp_bars95_sized(m, size, ffi.NULL, ffi.sizeof("wisp_eval_opts"), 1,
                              *(pointer(a, "double") for a in (one, err, low, high)))
        return float(low[0]), float(high[0])

    def _off(self, i: int) -> np.ndarray:
        """How far ln Z, E/T, C and S may be off beside chance, about: errors at the lowest energies grow, relative to a state, at most
        as the state loses norm beside the coldest one; higher ones fade, but for those of the last step."""
        n, T = self.done, self.T[i]
        center, halfwidth, _ = self.bounds
        coldest = self.energy[:, :n].min()
        eps = 4 * _EPS
        zero = eps * (abs(center) + halfwidth) / T
        with np.errstate(over="ignore", invalid="ignore"):
            d = self.off[i, 0] * np.exp(max(0, np.max(-self.log_norm[i, :n] - coldest * 0.5 / T)))
            reach = self.energy[i, :n].max() - coldest + 2 * T
            moved = reach * d + 2 * halfwidth * self.off[i, 1]
            spread = self.spread[i, :n].max()
            log_z = 2 * d + zero + eps * abs(2 * self.log_norm[i, :n].max())
            energy = 2 * spread * d / T + zero
            off = np.array([log_z, energy, (2 * spread + moved) / T * (moved / T) + eps, log_z + energy])
        return np.where(np.isnan(off), np.inf, off)


def _quantities(of: np.ndarray, T: float, log_rows: float) -> np.ndarray:
    """ln Z, E, C and S of states with these log_norm, energy and spread."""
    log_norm, energy, spread = of
    shift = 2 * log_norm.max()
    w = np.exp(2 * log_norm - shift)
    e = energy[0] + (w * (energy - energy[0])).sum() / w.sum()
    c = (w * ((spread / T)**2 + ((energy - e) / T)**2)).sum() / w.sum()
    log_z = log_rows + shift + np.log(w.mean())
    return np.array([log_z, e, c, log_z + e / T])


class _States:
    """Some of the states, from infinite temperature on."""

    def __init__(self, of: Cooled, width: int) -> None:
        self.of, self.matrix, self.width = of, of.matrix, width
        self.psi, self.y = (self.matrix._block(None, of.type, width) for _ in range(2))
        self.log_norm, self.time, self.off, self.last = np.zeros(width), 0.0, 0.0, 0.0
        call = self.matrix.ctx.call
        call(lib.wisp_blk_fill_random, self.psi, lib.WISP_RANDOM_TRACE, of.seed, _STREAM, of.done)
        unit = np.full(width, 1 / np.sqrt(self.matrix.shape[0]), complex)  # each element has the same size
        call(lib.wisp_vscal, self.psi, pointer(unit, "wisp_scalar"))
        self._look()

    def _look(self) -> None:
        """Energy and spread of each."""
        call, norm, away = self.matrix.ctx.call, np.zeros(self.width), np.zeros(self.width)
        dot = np.zeros(self.width, complex)
        call(lib.wisp_norm, self.psi, pointer(norm, "double"))
        call(lib.wisp_spmmv_sized, self.y, self.matrix._mat, self.psi, ffi.NULL, ffi.sizeof("wisp_aug"))
        call(lib.wisp_dot, self.psi, self.y, pointer(dot, "wisp_scalar"))
        self.energy = dot.real / norm**2
        minus = -self.energy.astype(complex)
        call(lib.wisp_vaxpy, self.y, pointer(minus, "wisp_scalar"), self.psi)
        call(lib.wisp_norm, self.y, pointer(away, "double"))
        self.spread = away / norm

    def cool_to(self, to: float, T: float) -> None:
        """To this time, by exp(-H t)."""
        center, halfwidth, _ = self.of.bounds
        least = max(_STILL * T, 64 * _EPS * (halfwidth + abs(center)))
        while self.time < to:
            if self.spread.max() <= least:
                self.log_norm -= self.energy * (to - self.time)
                self.time = to
                return
            self._step(to)

    def _step(self, to: float) -> None:
        """Towards it, in a step that leaves a good part of the norm: at least exp(-_MOST), by Jensen's inequality."""
        center, halfwidth, _ = self.of.bounds
        left = to - self.time
        t = np.array([min(left, _MOST / (self.energy.max() - (center - halfwidth)))])
        rounding = 3 * np.finfo(self.of.type).eps * (4 + (halfwidth + abs(center)) * t[0]) * np.exp(_MOST)
        if not 4 * rounding < 1:  # no digit would be left: what is told of this temperature and lower ones is refused
            self.off = self.last = np.inf
            self.time = to
            return
        log_norm, off = np.zeros(self.width), np.zeros(1)
        o, size = struct("wisp_evolve_opts", tolerance=max(4 * rounding, 1e-12), direction=(0, -1), at_once=1,
                         log_norm=pointer(log_norm, "double"), off=pointer(off, "double"))
        self.matrix._bounds_opts(o.bounds, (center - halfwidth, center + halfwidth))
        self.matrix.ctx.call(lib.wisp_evolve_sized, ffi.NULL, ffi.sizeof("wisp_evolution"), self.matrix._mat, self.psi, 1,
                             pointer(t, "double"), o, size)
        self.log_norm += log_norm
        self.off, self.last = self.off + off[0], off[0]
        self.time = self.time + t[0] if t[0] < left else to
        self._look()
