"""Functions of the program that are given columns, as the library's functions of blocks."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ._arguments import given_array
from ._context import Context, callback
from ._lib import DTYPES, ffi, lib, pointer


def function_of_blocks(name: str, matmat: Callable[[np.ndarray], Any], ctx: Context) -> Any:
    """A function of columns, in numpy's order of rows, as one of the library's blocks; on one process. It is of the argument
    `name`."""

    def times(X: np.ndarray, Y: np.ndarray) -> None:
        try:
            found = matmat(X)
        except Exception as failure:
            if hasattr(failure, "add_note"):  # from Python 3.11 on; scipy's own words on what a matvec gives have no name
                failure.add_note(f"{name}: raised by the function, which was given columns of shape {X.shape} and {X.dtype}")
            raise
        Y[...] = given_array(name, found, Y.shape, Y.dtype)

    def apply(arg: Any, y: Any, x: Any) -> int:
        if lib.wisp_map_is_natural(lib.wisp_blk_map(x)):
            with _Lent(x, lib.WISP_READ) as X, _Lent(y, lib.WISP_DISCARD) as Y:
                times(X, Y)
            return lib.WISP_OK
        X = np.empty((lib.wisp_blk_nrows(x), lib.wisp_blk_width(x)), DTYPES[lib.wisp_blk_type(x)])
        ctx.call(lib.wisp_blk_get, x, lib.WISP_ROW_MAJOR, pointer(X), X.shape[1])
        Y = np.empty_like(X)
        times(X, Y)
        ctx.call(lib.wisp_blk_put, y, lib.WISP_ROW_MAJOR, pointer(Y), Y.shape[1])
        return lib.WISP_OK

    return callback("wisp_apply_fn", apply, lib.WISP_ERR_CALLBACK, stopped=lib.WISP_ERR_CANCELLED)


class _Lent:
    """numpy's view of a block's own memory, within a ``with`` block."""

    def __init__(self, block: Any, how: int) -> None:
        self.block, self.how = block, how

    def __enter__(self) -> np.ndarray:
        data, stride = ffi.new("void **"), ffi.new("int64_t *")
        if lib.wisp_blk_lend(self.block, self.how, data, stride):
            raise RuntimeError("the memory of a block can't be lent")
        n, w, t = lib.wisp_blk_nrows(self.block), lib.wisp_blk_width(self.block), DTYPES[lib.wisp_blk_type(self.block)]
        if not n:
            return np.zeros((0, w), t)
        flat = np.frombuffer(ffi.buffer(ffi.cast("char *", data[0]), ((n - 1) * stride[0] + w) * t.itemsize), t)
        return np.lib.stride_tricks.as_strided(flat, (n, w), (stride[0] * t.itemsize, t.itemsize),
                                               writeable=self.how != lib.WISP_READ)

    def __exit__(self, *error: Any) -> None:
        lib.wisp_blk_return(self.block)
