"""Moments files: those that the command reads and writes (`--save`, `--from`), by h5py.

Their checksums are the library's: src/solver/kpm/moments_fields.c (of what is in them) and seal.c (of the bytes)."""
from __future__ import annotations

import io
import os
import warnings
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import checked
from ._context import Context, context
from ._errors import FileError, FormatError, UnsupportedError, file_error
from ._lib import __version__, ffi, lib

if TYPE_CHECKING:
    from ._moments import Moments

_TRACES = ["random", "exact", "sites", "given"]
_METHODS = ["lanczos", "gershgorin", "given"]
_VARIANTS = ["blocked", "fused", "naive"]
_TYPES = ["default", "single", "double", "complex single", "complex double"]
# The attributes in the order of the checksum: name in the file, name here, numpy's type or a list of words.
_FIELDS: list[tuple[str, str, Any]] = [
    ("rows", "rows", "<i8"), ("nnz", "nnz", "<i8"), ("trace", "trace", _TRACES), ("center", "center", "<f8"),
    ("halfwidth", "halfwidth", "<f8"), ("failure_probability", "failure_probability", "<f8"),
    ("bounds_method", "bounds_method", _METHODS), ("bounds_seconds", "bounds_seconds", "<f8"), ("seed", "seed", "<u8"),
    ("first_vector", "first_vector", "<i8"), ("type", "type", _TYPES), ("variant", "variant", _VARIANTS),
    ("width", "width", "<i4"), ("powers", "depth", "<i4"), ("threads", "threads", "<i4"), ("seconds", "seconds", "<f8"),
    ("flops", "flops", "<f8"), ("partial", "partial", "<i8"), ("matrix", "matrix", str), ("command", "command", str)]
_DIRECTIONS = ["unknown", "xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"]
# Those of a sample, in files of version 5, which also have the marks of the matrices.
_SAMPLE: list[tuple[str, str, Any]] = [
    ("volume", "volume", "<f8"), ("dimensions", "dimensions", "<i4"), ("direction", "direction", _DIRECTIONS)]
# Those of plane waves, in files of version 6, which have all of version 5 as well.
_POINTS: list[tuple[str, str, Any]] = [
    ("columns", "columns", "<i8"), ("moved", "moved", "<f8"), ("orbitals", "orbitals", "<i4"),
    ("realizations", "realizations", "<i4")]
_UNITS = ("moments: <v|T_n((A - center)/halfwidth)|v>, without unit; center, halfwidth: the matrix's own unit of energy; "
          "seconds: s; flops: floating-point operations")
_NO_MARKS = ((0.0,) * 3,) * 3
_SEAL = b"wisp-crc32="


def _bytes(kind: Any, value: Any) -> bytes:
    """A value as the checksum has it."""
    if isinstance(kind, list):
        return kind[value].encode() + b"\0"
    if kind is str:
        return b"\xff" if value is None else value.encode() + b"\0"
    return np.array(value, "<i8" if kind == "<i4" else kind).tobytes()


def _checksum(facts: dict, version: str, mu: np.ndarray, sites: Any, imag: Any) -> int:
    crc = 0
    for name, key, kind in _FIELDS:
        crc = zlib.crc32(name.encode() + b"\0" + _bytes(kind, facts[key]), crc)
    crc = zlib.crc32(version.encode() + b"\0" + np.array(mu.shape, "<i8").tobytes(), crc)
    crc = zlib.crc32(np.ascontiguousarray(mu, "<f8").tobytes(), crc)
    for array, kind in ((sites, "<i8"), (imag, "<f8")):
        if array is not None:
            crc = zlib.crc32(np.ascontiguousarray(array, kind).tobytes(), crc)
    if facts["square"]:
        crc = zlib.crc32(np.array(facts["square"], "<i8").tobytes(), crc)
    points = facts.get("points")
    if _has_sample(facts) or points is not None or facts["realizations"]:
        for name, key, kind in _SAMPLE:
            crc = zlib.crc32(name.encode() + b"\0" + _bytes(kind, facts[key]), crc)
        crc = zlib.crc32(np.array(facts["mark"], "<f8").tobytes(), crc)
    if points is None and facts["realizations"]:
        crc = zlib.crc32(b"realizations\0" + np.array(facts["realizations"], "<i8").tobytes(), crc)
    if points is not None:
        for name, key, kind in _POINTS:
            crc = zlib.crc32(name.encode() + b"\0" + _bytes(kind, facts[key]), crc)
        crc = zlib.crc32(np.ascontiguousarray(points, "<f8").tobytes(), crc)
    return crc


def _has_sample(facts: dict) -> bool:
    return bool(facts["volume"] or facts["dimensions"] or facts["direction"] or np.any(np.array(facts["mark"])[:, 0]))


def save(m: Moments, path: Any) -> None:
    """Writes moments; an old file is replaced when the new one is whole."""
    import h5py

    facts = {**m._facts, "volume": getattr(m, "volume", 0.0), **dict(zip(("center", "halfwidth", "failure_probability"), m._bounds))}
    number = 7 if facts["realizations"] else 5 if _has_sample(facts) else 4 if facts["square"] else 3 if m._imag is not None or facts["trace"] == lib.WISP_TRACE_GIVEN else 2
    image = io.BytesIO()
    with h5py.File(image, "w") as f:

        def text(name: str, value: str) -> None:
            whole = value.encode() + b"\0"
            f.attrs.create(name, np.bytes_(whole), dtype=h5py.string_dtype("utf-8", len(whole)))

        text("format", "wisp-moments")
        f.attrs["format_version"] = np.int32(number)
        text("units", _UNITS)
        text("version", __version__)
        f.attrs["checksum"] = np.uint32(_checksum(facts, __version__, m._mu, m._sites, m._imag))
        for name, key, kind in _FIELDS + (_SAMPLE if number >= 5 else []) + (_POINTS[-1:] if number == 7 else []):
            value = facts[key]
            if isinstance(kind, list):
                text(name, kind[value])
            elif kind is not str:
                f.attrs[name] = np.array(value, kind)[()]
            elif value is not None:
                text(name, value)
        if facts["square"]:
            f.attrs["square"] = np.int64(facts["square"])
        if number >= 5:
            f["marks"] = np.array(facts["mark"])
        f["moments"] = m._mu
        if m._imag is not None:
            f["imaginary"] = m._imag
        if m._sites is not None:
            f["sites"] = m._sites
        for name in m._kept:  # what Python alone reads; an attribute has 64 KiB at most
            if name == "volume":  # which has its place
                continue
            value = getattr(m, name)
            if isinstance(value, np.ndarray):
                f["python_" + name] = value
            else:
                f.attrs["python_" + name] = value
        text("python_class", type(m).__name__)
    whole = image.getvalue()
    whole += _SEAL + b"%08x\n" % zlib.crc32(whole)
    failure = None
    if m._ctx.rank == 0:
        try:
            m._ctx.call(lib.wisp_file_write, m._ctx._ctx, os.fsencode(path), ffi.from_buffer(whole), len(whole))
        except FileError as error:
            failure = error
    failure = m._ctx.agreed(failure)
    if failure:
        raise failure


def _text(value: Any) -> str:
    return (value.decode() if isinstance(value, bytes) else str(value)).rstrip("\0")


def _read(f: Any, path: Any) -> tuple[dict, dict]:
    """Facts, and arrays with what Python keeps."""
    if "format" not in f.attrs or _text(f.attrs["format"]) != "wisp-moments":
        raise FormatError(f"{path}: an HDF5 file, but not of moments (no format \"wisp-moments\")")
    number = int(f.attrs["format_version"])
    if not 1 <= number <= 7:
        raise UnsupportedError(f"{path}: moments file of format version {number}; this wisp reads 1 to 7")
    facts: dict[str, Any] = {"square": int(f.attrs["square"]) if number >= 4 and "square" in f.attrs else 0,
                             "rounding": 0.0, "volume": 0.0, "dimensions": 0, "direction": 0, "realizations": 0,
                             "mark": _NO_MARKS}
    if number >= 5:
        facts["mark"] = tuple(map(tuple, f["marks"][()].reshape(3, 3).tolist()))
    if number == 6:
        facts["points"] = f["points"][()].astype(float)
    for name, key, kind in _FIELDS + (_SAMPLE if number >= 5 else []) + (_POINTS if number == 6 else _POINTS[-1:] if number == 7 else []):
        if kind is str:
            facts[key] = _text(f.attrs[name]) if name in f.attrs else None
        elif isinstance(kind, list):
            facts[key] = kind.index(_text(f.attrs[name]))
        elif name == "powers" and name not in f.attrs:
            facts[key] = 1
        else:
            facts[key] = np.array(f.attrs[name]).astype(kind).item()
    arrays = {"mu": f["moments"][()].astype(float), "imag": None, "sites": None}
    if "imaginary" in f:
        arrays["imag"] = f["imaginary"][()].astype(float)
    if facts["trace"] == lib.WISP_TRACE_SITES:
        arrays["sites"] = f["sites"][()].astype(np.int64)
    facts["vectors"], facts["n"] = arrays["mu"].shape
    sound = arrays["imag"] is None or arrays["imag"].shape == arrays["mu"].shape
    sound = sound and (arrays["sites"] is None or arrays["sites"].shape == (facts["vectors"],))
    if not sound or min(arrays["mu"].shape) < 1 or (facts["square"] and facts["square"] ** 2 != facts["n"]):
        raise FormatError(f"{path}: its arrays do not fit together; is it a moments file of wisp?")
    if "checksum" not in f.attrs and number == 1:
        warnings.warn(f"{path}: this moments file of an older wisp has no checksum", stacklevel=3)
    elif int(f.attrs["checksum"]) != _checksum(facts, _text(f.attrs["version"]), arrays["mu"], arrays["sites"],
                                               arrays["imag"]):
        raise FormatError(f"{path}: the checksum does not fit: the file is damaged, or was changed; compute the moments "
                          "anew")
    kept = {name[7:]: value for name, value in f.attrs.items() if name.startswith("python_")}
    kept.update((name[7:], np.asarray(f[name][()])) for name in f if name.startswith("python_"))
    return facts, {**arrays, "kept": kept}


@checked()
def load(path: str | os.PathLike, *, ctx: Context | None = None) -> Moments:
    """Moments from a file that ``save``, or ``wisp dos --save``, has written (HDF5; it takes h5py).

    Returns
    -------
    SpectralDensity, LocalDensity, SpectralFunction, GreensFunction or Conductivity
        As it was; of a file of the command what its moments are of. Without its matrix: vectors and moments can't be
        added. The volume of a conductivity is that of the file; where an earlier version has kept none, it is 1 until
        it is set.

    Raises
    ------
    OSError
        The file can't be read.
    ValueError
        It is damaged, or no moments file.
    """
    import h5py

    from . import _local, _maps, _moments, _transport

    try:
        with open(path, "rb") as file:
            whole = file.read()
    except OSError as error:
        raise file_error(f"{os.fspath(path)}: {error.strerror}") from None
    body, seal = whole[:-20], whole[-20:]
    if seal.startswith(_SEAL) and seal != _SEAL + b"%08x\n" % zlib.crc32(body):
        raise FormatError(f"{os.fspath(path)}: the file is damaged: its bytes do not have the checksum at its end; compute "
                          "the moments anew")
    try:
        with h5py.File(io.BytesIO(whole), "r") as f:
            facts, data = _read(f, os.fspath(path))
    except (OSError, KeyError, IndexError, TypeError, UnicodeDecodeError) as error:
        raise FormatError(f"{os.fspath(path)}: no moments file, or it is damaged ({error})") from None
    kinds: dict[str, Any] = {"SpectralDensity": _moments.SpectralDensity, "LocalDensity": _local.LocalDensity,
             "GreensFunction": _local.GreensFunction, "SpectralFunction": _maps.SpectralFunction, "Conductivity": _transport.Conductivity}
    given = facts["trace"] == lib.WISP_TRACE_GIVEN
    usual = "Conductivity" if facts["square"] else "LocalDensity" if data["sites"] is not None else "SpectralDensity"
    kept = {name: _text(v) if isinstance(v, (str, bytes)) else v for name, v in data["kept"].items()}
    if given and "class" not in kept and not facts["square"]:
        raise FormatError(f"{os.fspath(path)}: moments of vectors that were given, which are no density of states; evaluate "
                          "them by the command")
    if data["sites"] is not None and facts["realizations"] > 1:
        raise FormatError(f"{os.fspath(path)}: moments of rows of several realizations of disorder (--average); evaluate them by the "
                          "command")
    kind = kinds.get(kept.pop("class", usual), kinds[usual])
    m = kind.__new__(kind)
    bounds = tuple(facts.pop(name) for name in ("center", "halfwidth", "failure_probability"))
    m.__dict__.update(_matrix=None, _ctx=context(ctx), _facts=facts, _bounds=bounds, _mu=data["mu"], _imag=data["imag"],
                      _sites=data["sites"], _grid=None, kernel="jackson", **({"volume": facts["volume"] or 1.0, "formula": "bastin"}
                                                                             if facts["square"] else {}))
    m.__dict__.update({name: v.item() if isinstance(v, np.generic) else v for name, v in kept.items()})
    if isinstance(m, _local.GreensFunction):  # arrays also where there is one pair, which older files have as a number
        m.i, m.j = np.asarray(m.i), np.asarray(m.j)
    return m
