"""Averages over disorder."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

import numpy as np

from ._arguments import checked, shown
from ._errors import IncompleteError, with_result
from ._lib import lib
from ._moments import Estimate
from ._show import axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Average:
    """The mean of results over realizations of disorder, with one bar over realizations and random vectors.

    Called as its results are, it gives the mean of what they give. Each realization is one sample, whose scatter has that
    of its random vectors in it; so the standard error is the standard deviation of the realizations over the square root
    of their number, and the 95% bar Student's.

    Attributes
    ----------
    results : list
        Of each realization.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = list(results)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.at(*args, **options).value

    def at(self, *args: Any, **options: Any) -> Estimate:
        """The mean, its standard error (NaN for one realization) and its 95% bar."""
        values = [r(*args, **options) for r in self.results]
        each = np.array([getattr(v, "value", v) for v in values])
        n = len(each)

        def one(x: np.ndarray) -> tuple[Any, Any, Any]:
            err = x.std(0, ddof=1) / np.sqrt(n) if n > 1 else np.full(x.shape[1:], np.nan)
            return x.mean(0), err, (lib.wisp_student95(n) if n > 1 else np.nan) * err

        value, err, half = one(each.real)
        if each.dtype.kind == "c":
            value, err, half = (a + 1j * b for a, b in zip((value, err, half), one(each.imag)))
        return Estimate(value[()], err[()], ((value - half)[()], (value + half)[()]))

    def plot(self, x: ArrayLike, ax: Any = None, **style: Any) -> Any:
        """Draws the mean and its 95% bars over energies, or chemical potentials, x by matplotlib; gives the axes."""
        ax, e = axes(ax, "mean"), self.at(x)
        line, = ax.plot(x, np.real(e.value), **style)
        if np.all(np.isfinite(e.stderr)):
            ax.fill_between(x, *np.real(e.bar95), color=line.get_color(), alpha=0.3, linewidth=0)
        return ax

    def __repr__(self) -> str:
        return f"<wisp.Average: {len(self.results)} realizations>"


def _same_moments(a: Any, b: Any) -> bool:
    return getattr(b, "_mu", None) is not None and a._mu.shape == b._mu.shape and bool(np.all(a._mu == b._mu))


_LEAST = 8  # realizations, before their scatter is trusted


class _Enough:
    """Whether the standard errors of the mean are small enough, told after each realization."""

    def __init__(self, stderr: ArrayLike | None, at: Any) -> None:
        self.target, self.at = stderr, at if isinstance(at, tuple) else (at,)
        self.values: list[Any] = []
        if (stderr is None) != (at is None):
            raise ValueError("stderr and at go together: the standard error that is wanted, and where")
        if stderr is not None and not np.all(np.asarray(stderr, float) > 0):
            raise ValueError(f"stderr is above 0, not {shown(stderr)}")

    def __call__(self, result: Any) -> bool:
        if self.target is None:
            return False
        value = result(*self.at)
        self.values.append(getattr(value, "value", value))
        return len(self.values) >= _LEAST and bool(np.all(self.error() <= self.target))

    def error(self) -> np.ndarray:
        each = np.array(self.values)
        parts = (each.real, each.imag) if each.dtype.kind == "c" else (each,)
        return np.max([p.std(0, ddof=1) for p in parts], 0) / np.sqrt(len(each))

    def missed(self) -> IncompleteError | None:
        if self.target is None:
            return None
        n = len(self.values)
        off = f"the largest standard error is {np.max(self.error()):.2g}" if n > 1 else "there is no standard error"
        return IncompleteError(f"average: after {n} realizations {off}, and {np.max(self.target):.2g} is wanted (of {_LEAST} "
                               "realizations at least): give more seeds, such as itertools.count(); what there is is in "
                               "`result`")


@checked()
def average(make: Callable[[Any], Any], seeds: Iterable[Any], *, stderr: ArrayLike | None = None,
            at: Any = None) -> Average:
    """The mean over disorder: ``make(seed)`` gives the result of one realization.

    Parameters
    ----------
    make : callable
        It gives a density of states, local densities, Green's functions or a conductivity; or any function whose values
        are to be averaged, such as ``make(seed).at``. It has to take other random vectors for each seed
        (``rng=seed``), for the error that the same ones make is no smaller in the mean.
    seeds : iterable
        One for each realization. With ``stderr`` it may be endless, as ``itertools.count()``.
    stderr : float or array, optional
        Realizations are added until the standard error of the mean is no more than this, wherever ``at`` says; eight at
        least, for a few that happen to be close would tell of an error that is too small.
    at : array or tuple, optional
        With ``stderr``: what the result is called with, such as energies; or a tuple of arguments.

    Returns
    -------
    Average

    Raises
    ------
    ValueError
        There are no seeds; or two realizations have the same random vectors.
    IncompleteError
        The seeds are all used, and the standard error is above ``stderr``. Its ``result`` is the Average.
    KeyboardInterrupt
        Ctrl-C. Its ``result`` is the Average of the realizations that were complete, or None.

    Examples
    --------
    >>> import wisp
    >>> def make(seed):
    ...     H = wisp.gallery("anderson", nx=10, ny=10, nz=10, disorder=4, seed=seed)
    ...     return H.spectral_density(2, 32, rng=seed)
    >>> wisp.average(make, range(3)).at([0.0, 1.0]).value.shape
    (2,)
    """
    enough = _Enough(stderr, at)
    results: list[Any] = []
    seen: dict[int, list[tuple[int, int]]] = {}
    try:
        for seed in seeds:
            result = make(seed)
            if not callable(result):
                raise TypeError(f"make gives a result that is called, such as a density of states, not {type(result).__name__}")
            facts = getattr(result, "_facts", None)
            if facts and facts["trace"] != lib.WISP_TRACE_RANDOM and results and _same_moments(result, results[0]):
                raise ValueError(f"the realization of seed {shown(seed)} has the moments of the first one: make takes another "
                                 "disorder for each seed")
            if facts and facts["trace"] == lib.WISP_TRACE_RANDOM:
                first, last = facts["first_vector"], facts["first_vector"] + facts["vectors"]
                before = seen.setdefault(facts["seed"], [])
                if any(first < b and a < last for a, b in before):
                    raise ValueError(f"the realization of seed {shown(seed)} has random vectors of one before it: make takes "
                                     "other ones for each seed (rng=seed)")
                before.append((first, last))
            results.append(result)
            if enough(result):
                return Average(results)
    except KeyboardInterrupt as failure:
        with_result(failure, Average(results) if results else None)
        raise
    if not results:
        raise ValueError("seeds are one at least")
    missed = enough.missed()
    if missed:
        raise with_result(missed, Average(results))
    return Average(results)
