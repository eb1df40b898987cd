"""What all calls of a matrix share, and where it is, for readers and for mypy: nothing of this is there at run time."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ._context import Context


class MatrixParts:
    """The base of classes that a matrix is put together from."""

    # _matrix.py
    ctx: Context
    shape: tuple[int, int]
    nnz: int
    dtype: np.dtype
    _mat: Any
    _stored: bool
    _keep: list[Any]
    _spec: Any
    _op: Any
    _on: Any
    _place: Any
    _system: Any
    _orbitals: Any
    _block: Callable[..., Any]
    _get: Callable[..., np.ndarray]
    _own: Callable[..., slice]
    _columns: Callable[..., np.ndarray]
    _some_columns: Callable[..., np.ndarray]
    _beside: Callable[..., Any]
    _of: Callable[..., Any]
    _like: Callable[..., Any]
    _arrays: Callable[..., None]
    _operator: Callable[..., None]
    tocsr: Callable[..., Any]
    # _spectral.py
    find_bounds: Callable[..., tuple[float, float]]
    ldos: Callable[..., Any]
    _bounds_opts: Callable[..., None]
    _kpm: Callable[..., Callable[[Any, int], None]]
    _moments: Callable[..., Any]
    _number: Callable[..., tuple[int, Any]]
    # _transport.py
    if TYPE_CHECKING:
        @property
        def _where(self) -> Any: ...

        @property
        def positions(self) -> Any: ...

    _located: Callable[..., Any]
    # _maps.py
    _known_orbitals: Callable[..., Any]
