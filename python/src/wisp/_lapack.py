"""LAPACK is scipy's, whichever BLAS that has: it is given to the library as this is imported."""
from __future__ import annotations

import ctypes
from typing import Any

from ._context import callback
from ._lib import ffi, lib, text


def address(name: str) -> int:
    """Of a function of scipy's LAPACK; 0: there is none."""
    if name.startswith("openblas_"):
        return 0
    from scipy.linalg import cython_lapack  # only now: small dense problems are rare

    capsule = cython_lapack.__pyx_capi__.get(name)
    if capsule is None:
        return 0
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


def _find(name: Any) -> Any:
    return ffi.cast("void *", address(text(name)))


_found = callback("wisp_find_fn", _find, ffi.NULL)  # Ctrl-C while scipy is imported is told by the call under way
lib.wisp_set_lapack(_found)
