"""threadpoolctl: ``threadpool_limits`` limits contexts that are made without a number of threads, as the library is imported."""
from __future__ import annotations

from typing import Any

from . import _context
from ._lib import __version__


def _get() -> int:
    return _context.limit or _context.default(0).threads


def _set(threads: int) -> None:
    # That without a limit is made here, before there is one.
    _context.limit = 0 if threads == _context.default(0).threads else threads


def register() -> None:
    """Tells threadpoolctl of the library, if both are there."""
    try:
        import threadpoolctl
    except ImportError:
        return
    if not hasattr(threadpoolctl, "register"):  # before its version 3.2
        return

    class WispController(threadpoolctl.LibController):
        user_api = internal_api = "wisp"
        filename_prefixes = ("libwisp",)

        def get_num_threads(self) -> int:
            return _get()

        def set_num_threads(self, num_threads: Any) -> None:
            _set(int(num_threads))

        def get_version(self) -> str:
            return __version__

    threadpoolctl.register(WispController)


register()
