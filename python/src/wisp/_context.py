"""Contexts: threads, memory limit, log and device; and how calls of the library are made."""
from __future__ import annotations

import contextvars
import ctypes
import logging
import re
import sys
import threading
import time
from types import TracebackType
from typing import Any, Callable

import numpy as np

from ._arguments import checked, memory, shown, whole, word
from ._errors import UnsupportedError, error
from ._lib import ffi, lib, struct, text

_LEVELS = {lib.WISP_LOG_WARN: logging.WARNING, lib.WISP_LOG_PERF: logging.INFO, lib.WISP_LOG_INFO: logging.INFO,
           lib.WISP_LOG_DEBUG: logging.DEBUG}
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_PATIENCE = 2.0  # seconds that a call has after Ctrl-C until it comes to a step at which its state can be kept


class Frame:
    """A call of the library under way: what is told of its progress, and the exception that ended it."""

    def __init__(self, progress: Any = None) -> None:
        self.error: BaseException | None = None
        self.keep: Callable[[], None] | None = None  # asks for the state to be kept, and for the end
        self.until = 0.0  # when it is to end, kept or not
        self.progress = _Bar(progress) if progress is True or hasattr(progress, "update") else progress


class _Bar:
    """tqdm, one bar after the other for each task of a call."""

    def __init__(self, make: Any) -> None:
        if make is True:
            from tqdm.auto import tqdm

            make = tqdm
        self.make, self.task = make, ""
        self.bar: Any = None

    def __call__(self, task: str, done: float) -> None:
        if task != self.task:
            self.close()
            self.task, self.bar = task, self.make(total=100, desc=task, unit="%", leave=False)
        self.bar.update(100 * done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.frames: list[Frame] = []  # the last one is the innermost call
        self.keep: Callable[[], None] | None = None  # of the next call


_thread = _Thread()


def _failed(kind: Any, value: BaseException, trace: TracebackType | None) -> None:
    # KeyboardInterrupt among them: Python raises it when the interpreter is entered.
    if _thread.frames and _thread.frames[-1].error is None:
        _thread.frames[-1].error = value


def _interrupted(kind: Any, value: BaseException, trace: TracebackType | None) -> int | None:
    """The first Ctrl-C of a call with a checkpoint: it goes on until its state is kept. A second one ends it."""
    frame = _thread.frames[-1] if _thread.frames else None
    first = frame is not None and frame.error is None
    _failed(kind, value, trace)
    if frame is None or not first or frame.keep is None or not isinstance(value, KeyboardInterrupt):
        return None
    frame.keep()
    frame.until = time.monotonic() + _PATIENCE
    return 0


def callback(signature: str, function: Callable[..., Any], failed: Any, frame: Frame | None = None,
             waits: bool = False, stopped: Any = None) -> Any:
    """function for the library. An exception in it makes it return `failed`, and is raised by the call that is under
    way in this thread, or that of `frame`. waits: after a Ctrl-C in it the call may go on until its state is kept. stopped:
    what it returns on Ctrl-C in place of `failed`."""

    def keep(kind: Any, value: BaseException, trace: TracebackType | None) -> None:
        if frame is not None and frame.error is None:
            frame.error = value

    def stop(kind: Any, value: BaseException, trace: TracebackType | None) -> Any:
        _failed(kind, value, trace)
        return stopped if isinstance(value, KeyboardInterrupt) else failed

    ended = keep if frame else _interrupted if waits else _failed if stopped is None else stop
    return ffi.callback(signature, error=failed, onerror=ended)(function)


def _on_progress(arg: Any, progress: Any) -> int:
    frame = _thread.frames[-1] if _thread.frames else None
    if frame is None:
        return 0
    if frame.error is not None:
        return int(time.monotonic() >= frame.until)
    if frame.progress is not None:
        frame.progress(text(progress.task), progress.done)
    return 0


# It is there in every context: the interpreter is entered, which is what makes Ctrl-C end a call.
_progress = callback("wisp_progress_fn", _on_progress, 1, waits=True)


def keep_by(ask: Callable[[], None] | None) -> None:
    """How the calls of this thread that follow have their state kept on Ctrl-C; None: not."""
    _thread.keep = ask


@ffi.callback("wisp_log_fn", onerror=_failed)
def _log(arg: Any, level: int, message: Any) -> None:
    ffi.from_handle(arg)(level, text(message))


def _logger(log: Any) -> Callable[[int, str], None]:
    if callable(log):
        return lambda level, message: log(message)
    if log is not None and not isinstance(log, (logging.Logger, logging.LoggerAdapter)):
        raise TypeError(f"log is a function of a text, or a logger, not {shown(log)}")
    logger = log if log is not None else logging.getLogger("wisp")
    return lambda level, message: logger.log(_LEVELS.get(level, logging.DEBUG), message)


def _bytes(limit: float | str | None) -> int:
    if limit is None:
        return 0
    if not isinstance(limit, str):
        return int(memory("memory_limit", limit))
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", limit.lower())
    if not match:
        raise ValueError(f"memory_limit is a number of bytes, or such as '20GB', not {limit!r}")
    try:
        number = float(match[1])
    except ValueError:
        raise ValueError(f"memory_limit is a number of bytes, or such as '20GB', not {limit!r}") from None
    return int(number * (1024 if match[3] else 1000) ** _UNITS[match[2]])


_shared: list[Any] = []  # contexts of several ranks, which free them together: when the process ends


def _by_mpi(comm: Any, made: Any, o: Any, size: int) -> int:
    """Makes a context of the processes of a communicator of mpi4py."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise TypeError("comm is a communicator of mpi4py, which is not there") from None
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is a communicator of mpi4py, such as mpi4py.MPI.COMM_WORLD, not {type(comm).__name__}")
    if "mpi" not in text(lib.wisp_features()).lower().split():
        raise UnsupportedError("Context(comm=...): this library of wisp was built without MPI, as those of wheels are. "
                               "Where an MPI is installed, `pip install ./python -Ccmake.define.WISP_MPI=ON` builds one "
                               "with it; or WISP_LIBRARY=build/src/libwisp.so names one that CMake has built")
    version, n = ffi.new("char[]", 8192), ffi.new("int *")
    lib.MPI_Get_library_version(version, n)
    if text(version).strip() != MPI.Get_library_version().strip("\0 \n"):
        raise UnsupportedError(f"Context(comm=...): mpi4py uses {MPI.Get_library_version().strip()!r}, and the library of "
                               f"wisp {text(version).strip()!r}: build one of them with the other's MPI")
    bytes_ = MPI._sizeof(MPI.Comm)
    handle = int.from_bytes(ctypes.string_at(MPI._addressof(comm), bytes_), sys.byteorder)
    create, kind = lib.wisp_ctx_create_mpi_sized, "void *" if bytes_ == ffi.sizeof("void *") else "int"
    if kind == "int":
        create = ffi.cast("wisp_status (*)(wisp_ctx **, int, const wisp_ctx_opts *, size_t)", create)
        handle -= (handle >> 31) << 32
    return create(made, ffi.cast(kind, handle), o, size)


class Context:
    """Where work runs: threads, a limit of memory, a log, a device, the processes that share it.

    Within ``with Context(...):`` matrices are made on it; else on one that is made when it is first needed.

    Parameters
    ----------
    threads : int, optional
        0: ``OMP_NUM_THREADS``, else the cores that this process may use. Within ``threadpoolctl.threadpool_limits(n)`` it is
        n; a matrix keeps the context that it was made on.
    memory_limit : int or str, optional
        Bytes that wisp may hold at once, or such as ``"20GB"``, ``"4GiB"``. None: no limit.
    log : callable or logging.Logger, optional
        A function of a text, or a logger. None: ``logging.getLogger("wisp")``.
    level : {"warn", "perf", "info", "debug"}
        Messages up to this level.
    device : str, optional
        Such as ``"cpu"``, ``"cuda"``; None: ``WISP_DEVICE``, else the CPU.
    isa : str, optional
        The instruction set; None: the best of this CPU.
    pin : bool
        False: the system places threads. True: each has a core, if no other context has it.
    comm : mpi4py.MPI.Comm, optional
        Its processes share the work: each of them runs the same program, and makes the same calls in the same order. It
        takes a library that was built with MPI ("mpi" is in ``wisp.features``), the MPI of mpi4py. Arrays are those of one
        process: each gives the whole matrix and whole vectors, of which a rank takes its own rows, and gets whole vectors
        back. Files of matrices, the gallery and ``Matrix.from_rows`` are read by each rank for its own rows alone. Threads
        and limits are those of each process; rank 0 alone logs, shows bars and writes files. Such a context lives until the
        process ends. Not with it: a LinearOperator as a matrix, a function as a preconditioner.

    Raises
    ------
    ValueError, NotImplementedError
        An option is out of its range; there is no such device; the library has no MPI, or another one than mpi4py.

    Examples
    --------
    ``mpirun -n 4 python script.py``, where the script has::

        from mpi4py import MPI
        import wisp

        with wisp.Context(comm=MPI.COMM_WORLD) as ctx:
            rho = wisp.gallery("graphene", nx=3000, ny=3000).spectral_density()
            if ctx.rank == 0:
                print(rho(0.0))
    """

    @checked(threads=whole(0), level=word, device=word, isa=word)
    def __init__(self, threads: int = 0, memory_limit: float | str | None = None, log: Any = None, *,
                 level: str = "warn", device: str | None = None, isa: str | None = None, pin: bool = True,
                 comm: Any = None) -> None:
        self.comm = comm
        self._logger = ffi.new_handle(_logger(log) if self.rank == 0 else lambda level, message: None)
        names = [ffi.new("char[]", name.encode()) if name else ffi.NULL for name in (device, isa)]
        levels = {"warn": lib.WISP_LOG_WARN, "perf": lib.WISP_LOG_PERF, "info": lib.WISP_LOG_INFO,
                  "debug": lib.WISP_LOG_DEBUG}
        if level not in levels:
            raise ValueError(f"level is one of {', '.join(levels)}, not {level!r}")
        o, size = struct("wisp_ctx_opts", threads=threads or limit, memory_limit=_bytes(memory_limit), device=names[0],
                         isa=names[1], no_pin=int(not pin), progress=_progress, log=_log, log_arg=self._logger,
                         level=levels[level])
        made = ffi.new("wisp_ctx **")
        self._ctx = ffi.NULL
        if comm is None:
            self.call(lib.wisp_ctx_create_sized, made, o, size)
        else:
            self.call(_by_mpi, comm, made, o, size)
            _shared.append(self)
        self._ctx = ffi.gc(made[0], lib.wisp_ctx_free)
        self._tokens: list[contextvars.Token] = []

    def call(self, function: Callable[..., int], *args: Any, frame: Frame | None = None, progress: Any = None) -> None:
        """Calls a function of the library that may fail. For this package."""
        if self.rank and (progress is True or hasattr(progress, "update")):  # one bar is enough
            progress = None
        frame = frame or Frame(progress)
        frame.keep, _thread.keep = _thread.keep, None  # which is not of calls within it
        _thread.frames.append(frame)
        try:
            status = function(*args)
        finally:
            _thread.frames.pop()
            _thread.keep = frame.keep
            if isinstance(frame.progress, _Bar):
                frame.progress.close()
        failure, frame.error = frame.error, None
        if failure is not None:
            if self._ctx:
                lib.wisp_ctx_resume(self._ctx)
            raise failure
        if status:
            message = ffi.new("char[]", lib.WISP_MESSAGE)
            raise error(status, text(lib.wisp_ctx_message(self._ctx, message, lib.WISP_MESSAGE)))

    @property
    def rank(self) -> int:
        """The number of this process among those that share the work, from 0."""
        return getattr(self.comm, "rank", 0)

    @property
    def ranks(self) -> int:
        """How many processes share the work."""
        return getattr(self.comm, "size", 1)

    def gather(self, own: np.ndarray) -> np.ndarray:
        """The rows of all ranks, one rank's after the other's, of each rank's own: for this package."""
        if self.ranks == 1:
            return own
        from mpi4py import MPI

        own = np.ascontiguousarray(own)
        counts = self.comm.allgather(len(own))
        whole = np.empty((sum(counts), *own.shape[1:]), own.dtype)
        row = MPI.BYTE.Create_contiguous(own.itemsize * int(np.prod(own.shape[1:]))).Commit()
        try:
            self.comm.Allgatherv([own, len(own), row], [whole, counts, row])
        finally:
            row.Free()
        return whole

    def agreed(self, value: Any) -> Any:
        """What rank 0 has of this, on all ranks."""
        return value if self.ranks == 1 else self.comm.bcast(value)

    @property
    def threads(self) -> int:
        """The number of threads, the calling one included."""
        return lib.wisp_ctx_threads(self._ctx)

    @property
    def device(self) -> str:
        """The name of the device."""
        return text(lib.wisp_ctx_device(self._ctx))

    @property
    def isa(self) -> str:
        """The name of the instruction set."""
        return text(lib.wisp_ctx_isa(self._ctx))

    @property
    def memory(self) -> tuple[int, int]:
        """Bytes that wisp holds now, and the most that it held at once."""
        both = np.zeros(2, np.int64)
        lib.wisp_ctx_memory(self._ctx, ffi.cast("int64_t *", both.ctypes.data), ffi.cast("int64_t *", both.ctypes.data + 8))
        return int(both[0]), int(both[1])

    def cancel(self) -> None:
        """Ends calls that take long, from another thread: they raise CancelledError, until ``resume``."""
        lib.wisp_ctx_cancel(self._ctx)

    def resume(self) -> None:
        """Takes ``cancel`` back."""
        lib.wisp_ctx_resume(self._ctx)

    def __reduce__(self) -> Any:
        raise TypeError("a Context can't be pickled, or copied: it is of one process, and each makes its own")

    def __enter__(self) -> Context:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *error: Any) -> None:
        _current.reset(self._tokens.pop())

    def __repr__(self) -> str:
        ranks = f"rank {self.rank} of {self.ranks}, " if self.comm is not None else ""
        return f"<wisp.Context: {ranks}{self.threads} threads, {self.device}, {self.isa}>"


_current: contextvars.ContextVar[Context | None] = contextvars.ContextVar("wisp.Context", default=None)
_defaults: dict[int, Context] = {}  # of the process, by the limit of threads that they were made under
_lock = threading.Lock()
limit = 0  # of threads, where a context is made without a number of them; 0: none (threadpoolctl sets it)


def default(threads: int) -> Context:
    """The process's context of so many threads; 0: as many as there are without a limit."""
    with _lock:
        if threads not in _defaults:
            _defaults[threads] = Context(threads)
        return _defaults[threads]


def context(ctx: Context | None = None) -> Context:
    """ctx, or that of the ``with`` block around, or the one of the process."""
    return ctx or _current.get() or default(limit)
