"""Checkpoints: files from which a call goes on after its process has ended. The library writes them."""
from __future__ import annotations

import os
import threading
import zlib
from types import TracebackType
from typing import Any, Callable

import numpy as np
import scipy.sparse

from ._arguments import checked, not_negative, path, shown
from ._context import callback, keep_by
from ._errors import ArgumentError
from ._lib import ffi, lib, pointer, struct, text


class Checkpoint:
    """A file that keeps the state of a call that takes long: ``H.spectral_density(checkpoint="run.ck")``.

    While the call runs its state is written there now and then, beside the computation. Where the file is there already, the
    call goes on from it; so a script whose process was killed is started again as it is. On the same machine, with any number of
    threads, it ends with the same bits as one that was never interrupted. The file is of one call, of one matrix: a call of
    another matrix, or with other arguments, raises an ArgumentError that says what is not the same. (Of a function or a
    LinearOperator only that there is one is compared.) When the call has ended well, the file is removed; after an exception it
    is left. Ctrl-C has the state written before it ends the call, where a step comes to its end within two seconds and Ctrl-C does
    not come within a function of your own; a second Ctrl-C does not wait for a step.

    Parameters
    ----------
    path : str or os.PathLike
        Beside it lie, as needed, path.before and path.NUMBER.RANK.
    every : float
        Seconds from one state to the next. 0: after each step, and the call waits for it, which is slow.

    Examples
    --------
    >>> import os, tempfile, wisp
    >>> H = wisp.gallery("graphene", nx=10, ny=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.ck")
    ...     rho = H.spectral_density(2, 64, checkpoint=wisp.Checkpoint(path, every=60))
    ...     os.path.exists(path)
    False
    """

    @checked(every=not_negative)
    def __init__(self, path: str | bytes | os.PathLike, every: float = 600) -> None:
        self.path, self.every = path, every

    def __repr__(self) -> str:
        return f"<wisp.Checkpoint: {os.fsdecode(self.path)}, every {self.every:g} s>"


_OWN, _OF = "argument ", " of Python'"  # as names and words of items have it
_VALUES = ", values "  # what stands behind it tells values apart, and nothing to a reader


def words_of(value: Any) -> str:
    """A short text of an argument's value, by which a kept call is compared with this one."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if hasattr(value, "_hash"):  # a matrix of this package
        return repr(value) + (_VALUES + value._hash() if value._stored else "")
    if scipy.sparse.issparse(value):
        sparse: Any = value
        whole = sparse.tocsr()
        return _told(f"a matrix of {whole.dtype} and shape {whole.shape}", whole.indptr, whole.indices, whole.data)
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}" + _VALUES + f"{zlib.crc32(' '.join(map(words_of, value)).encode()):08x}"
    array = np.ascontiguousarray(value)
    if array.dtype.kind not in "biufc":
        return "a function or an operator"  # what it does is not known
    return _told(f"an array of {array.dtype} and shape {array.shape}", array)


def _told(words: str, *arrays: np.ndarray) -> str:
    return words + _VALUES + " ".join(f"{a.dtype.str} {zlib.crc32(np.ascontiguousarray(a).tobytes()):08x}" for a in arrays)


def _unlike(path: str, name: str, kept: str, now: str) -> str:
    """What is not the same in the call that a file is of, and in this one."""
    kept, now = (words.partition(_VALUES)[0] for words in (kept, now))
    if name == "call":
        return f"checkpoint: {path} is of a call of {kept[1:-len(_OF)]}, and this one is {now[1:-len(_OF)]}"
    name = name.replace(_OWN, "", 1)
    if kept == now:
        return f"checkpoint: {path} is of a call with other values of {name}: both are {now}"
    kept, now = ("none" if words == "None" else words for words in (kept, now))
    return f"checkpoint: {path} is of a call with {name}: {kept}; this one has {name}: {now}"


class _Thread(threading.local):
    run: Run | None = None


_thread = _Thread()


def around() -> Run | None:
    """The innermost call in this thread of those that may have a checkpoint, if it has one."""
    return _thread.run


class Run:
    """A call with a checkpoint, or without one, within a ``with`` block.

    same: arguments, by their names, that have to be those of the call that is gone on with. more(run, state): notes, or fills
    in, what the call keeps besides."""

    def __init__(self, checkpoint: Any, matrix: Any, call: str, more: Callable[[Run, Any], None] | None = None,
                 **same: Any) -> None:
        if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
            if not isinstance(checkpoint, (str, bytes, os.PathLike)):
                raise TypeError(f"checkpoint is the name of a file, or a wisp.Checkpoint, not {shown(checkpoint)}")
            checkpoint = Checkpoint(path("checkpoint", checkpoint))
        self.of, self.ctx, self.more = checkpoint, matrix.ctx, more
        # The solver's own items are named after arguments as well.
        own = {_OWN + name: value for name, value in same.items()}
        self.same = {"call": call + " of Python", "matrix": matrix, **own} if checkpoint is not None else {}
        self.kept, self.made = ffi.NULL, ffi.NULL
        self.width = np.zeros(1, np.int64)
        self.held: Any = None  # what lives until the state is copied

    def __enter__(self) -> Run:
        self.before = _thread.run
        if self.of is None:
            _thread.run = None
            return self
        self.words = {name: words_of(value) for name, value in self.same.items()}
        name = os.fsencode(self.of.path)
        self.items = callback("wisp_items_fn", self._items, lib.WISP_ERR_CALLBACK)
        # Of several ranks each makes all offers, or the call is cancelled.
        self.offer = callback("wisp_offer_fn", self._offer, 1, waits=self.ctx.ranks == 1)
        if self.ctx.agreed(os.path.exists(name)):
            kept = ffi.new("wisp_state **")
            self.ctx.call(lib.wisp_state_open, kept, self.ctx._ctx, name)
            self.kept = ffi.gc(kept[0], lib.wisp_state_free)
            self.ctx.call(self.items, ffi.NULL, self.kept)
        where = ffi.new("char[]", name)
        o, size = struct("wisp_checkpoint_opts", path=where, every=self.of.every, after=self.kept)
        made = ffi.new("wisp_checkpoint **")
        self.ctx.call(lib.wisp_checkpoint_create_sized, made, self.ctx._ctx, o, size)
        self.made = made[0]
        keep_by(lambda: lib.wisp_checkpoint_request(self.made, 1))
        _thread.run = self
        return self

    def set(self, o: Any, solver: str | None = None) -> None:
        """Sets the fields of a solver's options: the state that it goes on from, and what it offers its own to. A call of
        several solvers names the one: it goes on from a state of its own alone."""
        if self.of is not None:
            o.offer = self.offer
            if solver is None or (self.kept and text(lib.wisp_state_words(self.kept, b"solver")) == solver):
                o.resume = self.kept

    def keep(self, state: Any, name: str, array: np.ndarray) -> None:
        """An item: noted, or filled in."""
        if lib.wisp_state_data(state, name.encode(), pointer(array), array.nbytes):
            raise _Told

    def keep_moments(self, state: Any, name: bytes, m: Any, size: int) -> None:
        """Moments, as items: noted, or filled in."""
        if lib.wisp_state_moments_sized(state, name, m, size):
            raise _Told

    def _items(self, arg: Any, state: Any) -> int:
        try:
            for name, words in self.words.items():
                if lib.wisp_state_same(state, name.encode(), words.encode()):
                    kept = text(lib.wisp_state_words(state, name.encode())) if lib.wisp_state_is_kept(state) else ""
                    if not kept:  # of the command, or of another rank
                        return lib.WISP_ERR_MISMATCH
                    raise ArgumentError(_unlike(os.fsdecode(self.of.path), name, kept, words))
            self.keep(state, "width of blocks", self.width)
            if self.more:
                self.more(self, state)
        except _Told:
            return lib.WISP_ERR_FORMAT
        return lib.WISP_OK

    def _offer(self, arg: Any, state: Any) -> int:
        if lib.wisp_state_add(state, self.items, ffi.NULL):
            return 1
        if self.of.every:
            return lib.wisp_checkpoint_offer(self.made, state)
        lib.wisp_checkpoint_request(self.made, 0)
        return int(lib.wisp_checkpoint_offer(self.made, state) or lib.wisp_checkpoint_wait(self.made) != lib.WISP_OK)

    def __exit__(self, kind: Any, value: BaseException | None, trace: TracebackType | None) -> None:
        _thread.run = self.before
        if self.made:
            keep_by(None)
            if value is None:
                lib.wisp_checkpoint_remove(self.made)
            lib.wisp_checkpoint_free(self.made)
        self.made = self.kept = ffi.NULL


class _Told(Exception):
    """The library has said what is wrong."""
