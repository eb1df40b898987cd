"""What solvers give."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator

import numpy as np

from ._show import html


@dataclass(frozen=True)
class _Found:
    """What eigenpairs and singular triplets have alike."""

    values: np.ndarray
    residuals: np.ndarray = field(repr=False)
    complete: bool
    method: str | None
    products: int
    proof: str | None

    def _repr_html_(self) -> str:
        first = ", ".join(f"{x:.6g}" for x in self.values[:6]) + (", .." if self.values.size > 6 else "")
        return html(type(self).__name__, {
            "values": f"{self.values.size}: {first}", "largest residual": f"{self.residuals.max(initial=0):.2g}",
            "complete": f"yes, by {self.proof}" if self.proof else "yes" if self.complete else "no", "method": str(self.method),
            "products": str(self.products)})


@dataclass(frozen=True)
class Eigenpairs(_Found):
    """Eigenpairs, ascending. ``w, v = ...`` takes it apart.

    Attributes
    ----------
    values : numpy.ndarray
        Real for a Hermitian matrix.
    vectors : numpy.ndarray
        Of shape (rows, values), orthonormal for a Hermitian matrix, else of length 1.
    residuals : numpy.ndarray
        |A v - lambda v|, computed from the vectors, in the unit of ``tol``: over the halfwidth of the spectrum.
    complete : bool
        All that were asked for were found, as far as the library's checks tell.
    proof : {None, "checks", "inertia", "all"}
        What ``complete`` rests on: searches and densities that found nothing else, which are likely to be right; the number
        of eigenvalues between two numbers, by Sylvester's law of inertia; or that all were computed.
    method : str
    products : int
        Of the matrix with one vector.
    """

    vectors: np.ndarray = field(repr=False)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.values, self.vectors))


@dataclass(frozen=True)
class SingularTriplets(_Found):
    """Singular values and vectors, ascending. ``u, s, vh = ...`` takes it apart, as scipy's ``svds`` gives it.

    Attributes
    ----------
    left : numpy.ndarray
        u, of shape (rows, values), orthonormal.
    values : numpy.ndarray
        s, in the unit of the matrix's entries.
    right : numpy.ndarray
        v, of shape (columns, values), orthonormal: A v = s u, A^H u = s v.
    residuals : numpy.ndarray
        The larger one of |A v - s u| and |A^H u - s v|, computed from the vectors, in the unit of ``tol``: over the largest
        singular value.
    complete : bool
        All that were asked for were found, as far as the library's checks tell.
    proof : {None, "checks", "inertia", "all"}
        What ``complete`` rests on: searches and densities that found nothing else, which are likely to be right; the number
        of eigenvalues between two numbers, by Sylvester's law of inertia; or that all were computed.
    method : str
    products : int
        Of the matrix, or of its adjoint, with one vector.
    """

    left: np.ndarray = field(repr=False)
    right: np.ndarray = field(repr=False)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.left, self.values, self.right.conj().T))


@dataclass(frozen=True)
class SolveInfo:
    """How a linear system was solved.

    Attributes
    ----------
    converged : bool
        The residuals of all columns, computed anew from x, are within the tolerance.
    residuals : numpy.ndarray
        |b - A x| / |b| of each column, computed from x.
    iterations : int
        Of the column that took most.
    history : numpy.ndarray
        The largest residual after each iteration, by the method's recurrence.
    method : str
    products : int
    optimalities : numpy.ndarray or None
        LSMR: |A^H r| / (|A| |r|) with r = b - A x, of each column, computed from x. Where it is within the tolerance, x makes
        |r| least. With ``damp`` of the matrix (A; damp).
    """

    converged: bool
    residuals: np.ndarray
    iterations: int
    history: np.ndarray = field(repr=False)
    method: str | None
    products: int
    optimalities: np.ndarray | None = None

    def _repr_html_(self) -> str:
        return html("SolveInfo", {"converged": "yes" if self.converged else "no", "columns": str(self.residuals.size),
                                  "largest residual": f"{self.residuals.max(initial=0):.2g}",
                                  "iterations": str(self.iterations), "method": str(self.method),
                                  "products": str(self.products)})
