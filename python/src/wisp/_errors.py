"""Exceptions: each status of the library has a class, which is also one of Python's own where one fits."""
from __future__ import annotations

import errno
import os
import re
from typing import Any

from numpy.linalg import LinAlgError

from ._lib import lib, text


class WispError(Exception):
    """A call failed. Its text is the library's message: what failed, where, and what to do.

    Attributes
    ----------
    result : object or None
        What the call had by then, where it keeps that (eigenpairs, a solution, vectors of moments).
    """

    result: Any = None


class ArgumentError(WispError, ValueError):
    """An argument is out of its range, or arrays do not fit together."""


class OutOfMemoryError(WispError, MemoryError):
    """There is not enough memory, or the limit of the context is reached."""


class TooLargeError(WispError, OverflowError):
    """There are more rows or columns than indices."""


class FileError(WispError, OSError):
    """A file can't be read or written. Where there is no such file, this is a FileNotFoundError as well; a PermissionError,
    or an IsADirectoryError, where that is why. ``errno`` is the system's number, if it gave one."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.errno = next((number for words, number in _REASONS.items() if message.endswith(words)), None)
        self.strerror = os.strerror(self.errno) if self.errno else None

    __str__ = Exception.__str__


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class DirectoryFileError(FileError, IsADirectoryError):
    """It is a directory."""


class ForbiddenFileError(FileError, PermissionError):
    """This process may not read it, or write it."""


# What the library's messages end with: the system's words, or its own.
_REASONS = {**{": " + os.strerror(number): number for number in errno.errorcode},
            "neither a file nor a gallery name (`wisp gen --list` has those)": errno.ENOENT,
            "this is a directory, not a matrix file": errno.EISDIR}
_BY_ERRNO = {errno.ENOENT: MissingFileError, errno.EISDIR: DirectoryFileError, errno.EACCES: ForbiddenFileError,
             errno.EPERM: ForbiddenFileError}


def file_error(message: str) -> FileError:
    """The exception for a message about a file."""
    return _BY_ERRNO.get(FileError(message).errno or 0, FileError)(message)


class FormatError(WispError, ValueError):
    """A file is malformed."""


class UnsupportedError(WispError, NotImplementedError):
    """This build, or this kind of matrix, does not have that."""


class CallbackError(WispError, RuntimeError):
    """A function of the program failed without an exception."""


class CancelledError(WispError, RuntimeError):
    """The call was cancelled."""


class NotHermitianError(WispError, ValueError):
    """The matrix is not Hermitian."""


class BoundsError(WispError, ValueError):
    """The spectrum leaves the given bounds."""


class NumericError(WispError, ArithmeticError):
    """A number is not finite, or single precision is not enough."""


class ConvergenceError(WispError, RuntimeError):
    """A method did not converge, or broke down. `result` holds the best there was."""


class SingularError(ConvergenceError, LinAlgError):
    """The matrix is singular, or not positive definite where it has to be."""


class IncompleteError(WispError, RuntimeError):
    """Something may be missing. `result` holds what was found, which is right as far as it goes."""


_CLASSES = {
    "ARG": ArgumentError, "NOMEM": OutOfMemoryError, "OVERFLOW": TooLargeError, "IO": FileError, "FORMAT": FormatError,
    "UNSUPPORTED": UnsupportedError, "MISMATCH": ArgumentError, "CALLBACK": CallbackError, "CANCELLED": CancelledError,
    "HERMITIAN": NotHermitianError, "BOUNDS": BoundsError, "NUMERIC": NumericError, "PRECISION": NumericError,
    "ITERATIONS": ConvergenceError, "STAGNATION": ConvergenceError, "BREAKDOWN": ConvergenceError,
    "INDEFINITE": SingularError, "SINGULAR": SingularError, "INCOMPLETE": IncompleteError,
}
_BY_STATUS = {getattr(lib, "WISP_ERR_" + name): cls for name, cls in _CLASSES.items()}
# The library names fields of its options; what stands for them here.
_FIELDS = {
    "opts.moments": "num_moments", "opts.vectors": "num_vectors", "opts.seed": "rng", "opts.tolerance": "tol",
    "opts.max_iterations": "maxiter", "opts.max_rounds": "maxiter", "opts.count": "k", "opts.target": "target",
    "opts.target_im": "target",
    "opts.memory_limit": "memory_limit", "opts.device": "device", "opts.threads": "threads", "opts.isa": "isa",
    "opts.bounds": "bounds", "opts.low": "interval", "opts.high": "interval", "opts.sites": "sites",
    "opts.method": "method", "opts.precond": "precond", "opts.terms": "max_terms", "opts.jackson": "max_terms",
    "opts.tolerance_abs": "atol", "opts.non_hermitian": "hermitian", "opts.absorption": "absorb",
    "opts.drive_at": "drive", "wisp_overlap_opts.bounds": "overlap_bounds",
    "opts.null": "null", "opts.adjoint": "operator", "opts.type": "dtype",
    "opts.eta": "eta", "opts.volume": "volume", "opts.left_bytes": "left_memory",
}


def with_result(failure: Any, result: Any) -> Any:
    """The exception, of wisp or KeyboardInterrupt, with what there was by then."""
    failure.result = result
    return failure


_NESTED = "the operator's function failed: "
# The library's calls, options and advice, by what a program of Python calls them.
_WORDS: list[Any] = [(re.compile(pattern), words) for pattern, words in {
    r", or opts\.jackson": ", or kernel='jackson'",
    r"other opts\.block_rows, or ": "",
    r"try a larger opts\.search, or": "try",
    r"(, of which|;) opts\.any (takes some|asks for some of them)": "; result has those that were found",
    r"\(wisp_src_hermitian_part\)": "(A + A.conj().T) / 2",
    r"wisp_sigma has": "the conductivity at mu has",
    r" \(wisp_sigma\)": ": give it chemical potentials",
    r"wisp_dos evaluates them": "they have values at energies alone",
    r"\bV_a\b": "the velocity of alpha",
    r"\bV_b\b": "the velocity of beta",
    r"wisp_gallery_list": "`wisp gen --list`",
    r" \(WISP_PRECOND_APPLY\)": "",
    r"function 0 is": "f is",
    r"an operator \(wisp_mat_from_apply\)": "a LinearOperator",
    r"^(a matrix as a source|a width for a recurrence): ": "",
    r"; take a stored matrix, and for bounds the Lanczos method or an interval of your own": ": store it, or take Matrix.from_rows",
    r"^wisp_kubo: ": "conductivity: ", r"^eig: ": "eigs: ", r"^svd: ": "svds: ",
    r"^trace_function: ": "integrate: ", r"^chebyshev_apply: ": "apply: ",
    r"(wisp_[a-z]+_)?opts\.\w+": lambda m: _FIELDS.get(m[0]) or _FIELDS.get(m[0][m[0].index("opts."):], m[0].rpartition(".")[2]),
    r"(method|which|side|precond) = WISP_(?:EIG_)?([A-Z_]+)": lambda m: f"{m[1]}={_name(m[2])}",
    r"WISP_(LANCZOS|CHEBFD|KRYLOV_SCHUR|DENSE|LSMR|MINRES|GMRES|BICGSTAB|CG|IDR)\b": lambda m: _name(m[1]),
}.items()]


def _name(constant: str) -> str:
    return repr(constant.lower().replace("_", "-"))


def error(status: int, message: str) -> WispError:
    """The exception for a status; for that of an operator of the library's own, such as S^-1/2 H S^-1/2, if it tells."""
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    if message.startswith(_NESTED):
        inner = message[len(_NESTED):]
        status = next((s for s in _BY_STATUS if inner.startswith(text(lib.wisp_status_string(s)) + ": ")), status)
    message = message or text(lib.wisp_status_string(status))
    of = _BY_STATUS.get(status, WispError)
    return file_error(message) if of is FileError else of(message)
