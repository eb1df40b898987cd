"""Checks of the arguments of public calls, by their names, which the messages tell.

``checked`` looks at what kind of thing an argument is; whether it goes with a matrix, or with other arguments, is looked at
where it is used. Numbers are handed on as Python's own."""
from __future__ import annotations

import functools
import inspect
import numbers as numbers_
import os
import warnings
from typing import Any, Callable, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Check = Callable[[str, Any], Any]
_INT, _INT64 = 2**31 - 1, 2**63 - 1
_FOLDER = os.path.dirname(__file__)


def shown(value: Any) -> str:
    """A value in a message: short."""
    text = repr(value)
    return text if len(text) <= 40 and "\n" not in text else f"this {type(value).__name__}"


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iufc"
    return isinstance(value, (numbers_.Number, np.number)) and not isinstance(value, (bool, np.bool_))


def whole(least: int, most: int = _INT) -> Check:
    def check(name: str, value: Any) -> int:
        if not _is_number(value) or not hasattr(value, "__index__") or getattr(value, "dtype", np.dtype(int)).kind not in "iu":
            raise TypeError(f"{name} is a whole number, not {shown(value)}")
        number = int(value)
        if not least <= number <= most:
            raise ValueError(f"{name} is at least {least}, not {number}" if number < least else
                             f"{name} is at most {most}, not {shown(number)}")
        return number

    return check


def _number(name: str, value: Any) -> complex:
    if not _is_number(value):
        raise TypeError(f"{name} is a number, not {shown(value)}")
    try:
        return complex(value)
    except OverflowError:
        raise ValueError(f"{name} is too large") from None


def given_number(name: str, value: Any, real: bool = False) -> complex:
    """What a function of the program's, the argument `name`, has given."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        z = complex(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name}: the function gives {shown(value)}, and no number") from None
    if real and z.imag:
        raise TypeError(f"{name}: the function gives {shown(value)}, and has to give a real number")
    return z


def given_array(name: str, value: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same of one that gives an array."""
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.array(None)
    if found.dtype.kind == "O":
        found = _converted(found)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"{name}: the function gives {shown(value)}, and no array of numbers")
    if found.shape != shape:
        raise ValueError(f"{name}: the function gives an array of shape {found.shape} for columns of shape {shape}")
    if found.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{name}: the function gives complex numbers for {dtype} ones: take its real part, or say that it is complex "
                        "(dtype=complex)")
    return found


def real(words: str, holds: Callable[[float], bool]) -> Check:
    """A check of real numbers that `holds` is true of; `words` say so in the message."""

    def check(name: str, value: Any) -> float:
        z = _number(name, value)
        if z.imag:
            raise TypeError(f"{name} is a real number, not {shown(value)}")
        if not holds(z.real):
            raise ValueError(f"{name} is {words}, not {shown(value)}")
        return z.real

    return check


below_1 = real("0 or more, and below 1", lambda x: 0 <= x < 1)
not_negative = real("0 or more, and finite", lambda x: 0 <= x < np.inf)
positive = real("above 0, and finite", lambda x: 0 < x < np.inf)
memory = real("a number of bytes, 0 or more, below 2**63", lambda x: 0 <= x < 2**63)
finite = real("finite", lambda x: -np.inf < x < np.inf)
no_nan = real("a number", lambda x: x == x)


def complex_number(name: str, value: Any) -> complex:
    z = _number(name, value)
    if not np.isfinite(z):
        raise ValueError(f"{name} is finite, not {shown(value)}")
    return z if z.imag else z.real


def pair(each: Check) -> Check:
    def check(name: str, value: Any) -> tuple[float, float]:
        ends = list_of(name, value, "a pair of numbers, (low, high)")
        if len(ends) != 2:
            raise ValueError(f"{name} is a pair of numbers, (low, high), not {shown(value)}")
        return each(name, ends[0]), each(name, ends[1])

    return check


def _bounds(name: str, value: Any) -> tuple[float, float]:
    low, high = pair(finite)(name, value)
    if not low < high:
        raise ValueError(f"{name} is a pair of numbers, (low, high), low below high, not {shown(value)}")
    return low, high


def list_of(name: str, value: Any, what: str) -> list:
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__") or (hasattr(value, "ndim") and value.ndim == 0):
        raise TypeError(f"{name} is {what}, not {shown(value)}")
    return list(value)


def iterable(name: str, value: Any) -> Any:
    """Given back as it is, and not made a list: it may be endless."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name} is a list, or another iterable, not {shown(value)}")
    return value


def mapping(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"{name} is a dict, not {shown(value)}")
    return value


def matrices(name: str, value: Any) -> list:
    return list_of(name, value, "a list of matrices")


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError(f"{name} is True or False, not {shown(value)}")
    return bool(value)


def word(name: str, value: Any) -> str:
    """Any string: the call itself refuses one that it does not know."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is a word, such as its default, not {shown(value)}")
    return value


def function(name: str, value: Any) -> Any:
    if not callable(value):
        raise TypeError(f"{name} is a function, not {shown(value)}")
    return value


def progress(name: str, value: Any) -> Any:
    if not isinstance(value, (bool, np.bool_)) and not callable(value):
        raise TypeError(f"{name} is True, tqdm, or a function of a task's name and its part that is done, not {shown(value)}")
    return None if value is False else value


def path(name: str, value: Any) -> Any:
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is the name of a file, not {shown(value)}")
    words = os.fsencode(value)
    if not words or b"\0" in words:
        raise ValueError(f"{name} is the name of a file, and not {'empty' if not words else 'with a zero byte in it'}")
    return value


def seed(name: str, value: Any) -> Any:
    if value is None or isinstance(value, np.random.Generator):
        return value
    return whole(0, 10**400)(name, value)


_TURNS = {"c": ("__float__", "__complex__"), "f": ("__float__",), "u": ("__index__",)}  # into numbers of such a kind


def _no_number(value: Any, kind: str) -> bool:
    return isinstance(value, np.ndarray) or not any(hasattr(value, turn) for turn in _TURNS[kind])


def _converted(array: np.ndarray, kind: str = "c") -> np.ndarray:
    """An array of objects, such as fractions or decimals, as one of numbers; as it is, if there is something else in it."""
    if not any(_no_number(x, kind) for x in array.flat):
        for dtype in (np.int64,) if kind == "u" else (float, complex) if kind == "c" else (float,):
            try:
                return array.astype(dtype)
            except (TypeError, ValueError, OverflowError):
                pass
    return array


def numbers(name: str, value: Any, kinds: str = "biufc") -> np.ndarray:
    """An array of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # earlier versions of numpy warn of ragged lists
            array = np.asarray(value)
    except Exception:
        raise ValueError(f"{name} is an array of numbers, whose rows have one length, not {shown(value)}") from None
    widest = kinds[-1]
    if array.dtype.kind == "O":
        array = _converted(array, widest)
    if array.dtype.kind not in kinds and array.size:
        what = {"c": "numbers", "f": "real numbers", "u": "whole numbers"}[widest]
        if array.dtype.kind in "biufc":
            raise ValueError(f"{name} is an array of {what}, not {array.dtype}")
        wrong = next((x for x in array.flat if _no_number(x, widest)), array.flat[0])
        raise TypeError(f"{name} is an array of {what}, " + (f"and has {shown(wrong)}" if array.ndim else f"not {shown(value)}"))
    return array


def in_range(name: str, rows: np.ndarray, count: int) -> None:
    """Numbers of rows are from 0 to count - 1: those of Python that count from the end would hide mistakes."""
    wrong = rows[(rows < 0) | (rows >= count)]
    if wrong.size:
        raise ValueError(f"{name}: the rows of the matrix are from 0 to {count - 1}, and {wrong[0]} is none of them")


def _array_of(kinds: str) -> Check:
    return lambda name, value: numbers(name, value, kinds)


def temperatures(name: str, value: Any) -> Any:
    t = numbers(name, value, "biuf")
    if not t.size or not np.all((t > 0) & np.isfinite(t)):
        raise ValueError(f"{name} is one temperature or several, above 0 and finite, not {shown(value)}")
    return t


array, reals, wholes = _array_of("biufc"), _array_of("biuf"), _array_of("biu")


def context(name: str, value: Any) -> Any:
    from ._context import Context

    if not isinstance(value, Context):
        raise TypeError(f"{name} is a wisp.Context, not {shown(value)}")
    return value


_CHECKS: dict[str, Check] = {}
for _check, _names in {
    whole(1, _INT64): "num_vectors num_moments", whole(1): "k", whole(0, _INT64): "maxiter max_terms", whole(0): "restart shadow",
    seed: "rng", not_negative: "tol atol damp longest_step temperature", below_1: "rtol", memory: "left_memory",
    positive: "eta volume energy_resolution", finite: "field", complex_number: "target sigma",
    _bounds: "bounds overlap_bounds", pair(no_nan): "interval", word: "which method precision kernel formula side",
    flag: "any exact cool hermitian info real copy pin", function: "f make observe", progress: "progress", path: "path", context: "ctx",
    temperatures: "T", matrices: "operators", iterable: "seeds", reals: "energy energies mu omega positions cell stderr",
    wholes: "sites i j rows orbitals", array: "times psi b x x0 null vectors",
}.items():
    _CHECKS.update(dict.fromkeys(_names.split(), _check))


def checked(**more: Check | None) -> Callable[[F], F]:
    """Decorates a public call: each argument goes through the check of its name before the call has it. `more` are checks of
    this call alone, in place of those of the table; None: no check."""

    def wrap(call: F) -> F:
        signature = inspect.signature(call)
        checks = {name: more.get(name, _CHECKS.get(name)) for name in signature.parameters}

        @functools.wraps(call)
        def look(*args: Any, **options: Any) -> Any:
            try:
                given = signature.bind(*args, **options)
            except TypeError as failure:  # which names no call
                raise TypeError(f"{call.__name__ if call.__name__[0] != '_' else call.__qualname__}: {failure}") from None
            for name, value in given.arguments.items():
                check = checks[name]
                if check is not None and value is not signature.parameters[name].default:
                    given.arguments[name] = check(name, value)
            try:
                return call(*given.args, **given.kwargs)
            except KeyboardInterrupt as failure:  # which has a result, if only None
                setattr(failure, "result", getattr(failure, "result", None))
                raise

        return cast(F, look)

    return wrap


def warn(message: str) -> None:
    """A warning, at the line of the program that called this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _FOLDER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)
