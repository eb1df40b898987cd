"""The library, and small things that all calls share."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _abi
from ._abi import ffi
from ._arguments import shown

# Beside the description that was made with it, unless WISP_LIBRARY names another one.
lib: Any = ffi.dlopen(os.environ.get("WISP_LIBRARY") or os.path.join(os.path.dirname(_abi.__file__), "libwisp.so"))

TYPES = {"f": lib.WISP_S, "d": lib.WISP_D, "F": lib.WISP_C, "D": lib.WISP_Z}
DTYPES = {value: np.dtype(key) for key, value in TYPES.items()}


def text(pointer: Any) -> str:
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def struct(name: str, **fields: Any) -> tuple[Any, int]:
    """A zeroed struct, which means the defaults, with these fields, and its size. None leaves a field as it is."""
    p = ffi.new(name + " *")
    for key, value in fields.items():
        if value is not None:
            setattr(p, key, value)
    return p, ffi.sizeof(name)


def pointer(array: np.ndarray, to: str = "void") -> Any:
    """The address of an array, which the caller keeps alive."""
    return ffi.cast(to + " *", array.ctypes.data)


def array(pointer: Any, count: int, dtype: Any) -> np.ndarray:
    """A copy of an array of the library's."""
    if not count or not pointer:
        return np.zeros(0, dtype)
    return np.frombuffer(ffi.buffer(ffi.cast("char *", pointer), count * np.dtype(dtype).itemsize), dtype).copy()


def as_type(dtype: Any, name: str = "") -> np.dtype:
    """The type in which numbers of this one, those of the argument `name`, are computed with; TypeError if there is none."""
    try:
        dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError("dtype is a type of real or complex numbers, such as float, not " + shown(dtype)) from None
    if dtype.char in TYPES:
        return dtype.newbyteorder("=")
    if dtype.kind in "biuf":
        return np.dtype("d")
    if dtype.kind == "c":
        return np.dtype("D")
    raise TypeError(f"{name} holds real or complex numbers, not {dtype}" if name else
                    f"dtype is a type of real or complex numbers, not {dtype}")


__version__ = text(lib.wisp_version())
features = text(lib.wisp_features()).split()
