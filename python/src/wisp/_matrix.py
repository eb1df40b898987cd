"""Matrices: of scipy, numpy, files, the gallery, functions."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import scipy.sparse

from ._arguments import checked, mapping, numbers, path, shown, whole
from ._blocks import function_of_blocks
from ._context import Context, Frame, callback, context
from ._errors import UnsupportedError
from ._evolve import EvolveCalls
from ._lib import DTYPES, TYPES, as_type, ffi, lib, pointer, struct
from ._maps import MapCalls
from ._show import html
from ._solvers import SolverCalls
from ._spectral import SpectralCalls
from ._transport import TransportCalls, checked_positions, kwant_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


class Matrix(SpectralCalls, MapCalls, TransportCalls, SolverCalls, EvolveCalls):
    """A sparse matrix, stored as wisp's kernels like it best.

    Parameters
    ----------
    H : scipy sparse matrix or array, numpy array, LinearOperator, Matrix, str, or os.PathLike
        CSR with integers of 32 or 64 bits is read in place, other formats become CSR first. A string is a gallery spec,
        such as ``"topi:nx=10,ny=10,nz=4"``, or a file (.mtx, .mtx.gz, .crs, .npz). A LinearOperator is never stored: its
        ``matmat`` is called with blocks; that it is Hermitian is not checked. Of an object with
        ``hamiltonian_submatrix``, such as a finalized system of Kwant, that matrix is taken, and positions of its sites. Another
        Matrix is copied, such as into another ``dtype``, with its positions.
    copy : bool
        False: the arrays of a CSR matrix stay where they are and must keep their pattern; values that the program writes
        there count from then on. Products are slower that way. Another matrix, whose arrays would be copied, is refused.
    dtype : dtype, optional
        Of the stored values (float32, float64, complex64, complex128). None: that of H; integers become float64.
    params : dict, optional
        Given to ``hamiltonian_submatrix``.
    positions : array of shape (rows, 1 to 3), optional
        Where the rows are, for velocities and conductivities. None: as the gallery, or Kwant, has it.
    cell : array of shape (vectors, dimensions), optional
        Vectors along which the whole system repeats, given with ``positions``. None: it is open.
    ctx : Context, optional
        None: that of the ``with`` block around, or the one of the process.

    Attributes
    ----------
    shape : tuple of int
    nnz : int
        Stored entries, duplicates merged; 0 for a LinearOperator.
    dtype : numpy.dtype
    borrowed : bool
        The arrays of the program are used in place.

    Raises
    ------
    ValueError, MemoryError, OSError
        The arrays are no matrix; there is not enough memory; a file can't be read.

    Examples
    --------
    >>> import wisp
    >>> H = wisp.Matrix("graphene:nx=10,ny=10")
    >>> H.shape
    (200, 200)
    """

    _place: Any = None
    _orbitals: Any = None
    _system: Any = None  # of Kwant, and how many orbitals each of its sites has
    _op: Any = None
    __array_ufunc__ = None  # numpy's arrays leave products with one to it

    @checked(H=None, params=mapping)
    def __init__(self, H: Any, *, copy: bool = True, dtype: DTypeLike | None = None, params: dict | None = None,
                 positions: ArrayLike | None = None, cell: ArrayLike | None = None, ctx: Context | None = None) -> None:
        if H is None or isinstance(H, bytes):
            raise TypeError(f"H is a matrix, a name, or a file, not {shown(H)}")
        self._keep: list[Any] = []
        self.ctx = context(ctx)
        self._spec = H if isinstance(H, (str, os.PathLike)) else None
        if isinstance(H, Matrix):
            H = self._copied(H, copy, dtype)
        if cell is not None and positions is None and not hasattr(H, "hamiltonian_submatrix"):
            raise ValueError("cell is given with positions")
        if hasattr(H, "hamiltonian_submatrix"):
            more = {"params": params} if params else {}
            system, (H, orbitals, _) = H, H.hamiltonian_submatrix(sparse=True, return_norb=True, **more)
            self._system = system, orbitals
            positions = kwant_positions(system, orbitals) if positions is None and cell is not None else positions
        if isinstance(H, (str, os.PathLike)):
            H = self._open_or_load(H, dtype)
        if H is None:
            pass
        elif _is_operator(H):
            self._operator(H, dtype)
        else:
            self._arrays(H, copy, dtype)
        if positions is not None:
            self._place = checked_positions(positions, self.shape[0], cell)
        elif isinstance(self._spec, str) and not os.path.exists(self._spec):
            self._place = self._spec

    @classmethod
    @checked(rows=None, max_row=whole(1, 2**63 - 1))
    def from_rows(cls, rows: Callable[[np.ndarray], Any], shape: tuple[int, int], max_row: int, *,
                  dtype: DTypeLike = float, ctx: Context | None = None) -> Matrix:
        """A matrix given by a function of its rows, many at a time.

        Parameters
        ----------
        rows : callable
            ``rows(i)`` gives the rows of these numbers, an ascending array of int64, as something that scipy makes a CSR
            matrix of shape (len(i), shape[1]); or as a tuple (data, indices, indptr). It must give the same each time,
            as it is called twice or more for a row, by one thread at a time. Or a compiled function, such as a
            ``numba.cfunc``, of the signature of ``wisp_many_fn`` in wisp/source.h: its ``address`` is called by many threads
            at once.
        shape : tuple of int
        max_row : int
            The most entries of a row.
        dtype : dtype
            Of the values.

        Raises
        ------
        Exception
            Whatever ``rows`` raises.
        """
        if not callable(rows) and not getattr(rows, "address", None):
            raise TypeError(f"rows is a function of the numbers of rows, not {shown(rows)}")
        try:
            shape = whole(0, 2**63 - 1)("shape", shape[0]), whole(0, 2**63 - 1)("shape", shape[1])
        except (TypeError, IndexError, KeyError):
            raise TypeError(f"shape is a pair of whole numbers, not {shown(shape)}") from None
        A = cls.__new__(cls)
        A._keep, A.ctx, A._spec = [], context(ctx), None
        dtype, frame = as_type(dtype), Frame()
        latest: list[Any] = [None, None]  # the library counts entries, and then asks for them

        def many(arg: Any, first: int, count: int, room: int, rowptr: Any, col: Any, val: Any) -> int:
            if latest[0] != (first, count):
                given = rows(np.arange(first, first + count))
                try:
                    if given is None:
                        raise TypeError
                    found = scipy.sparse.csr_matrix(given, shape=(count, shape[1]))
                except (TypeError, ValueError, AttributeError):
                    raise TypeError(f"rows: the function gives {shown(given)}, and nothing that scipy makes a CSR matrix of shape "
                                    f"{(count, shape[1])}") from None
                if found.dtype.kind == "c" and dtype.kind != "c":
                    raise TypeError(f"rows: the function gives complex numbers, and dtype is {dtype}")
                latest[:] = (first, count), found.astype(dtype, copy=False)
            found = latest[1]
            _fill(rowptr, found.indptr, np.int64)
            if 0 < found.nnz <= room:
                _fill(col, found.indices[:found.nnz], np.int64)
                _fill(val, found.data[:found.nnz], dtype)
            return found.nnz

        compiled = getattr(rows, "address", None)
        f = ffi.cast("wisp_many_fn", compiled) if compiled else callback("wisp_many_fn", many, -1, frame)
        src, size = struct("wisp_src", rows=shape[0], cols=shape[1], max_row=max_row, type=TYPES[dtype.char], many=f)
        A._create(src, size, None, frame)
        return A

    @property
    def _where(self) -> Any:
        """Positions and a cell, or a spec of the gallery, or None. Sites of Kwant are asked when it is needed: it takes longer
        than to make the matrix."""
        if self._place is None and self._system is not None:
            at = kwant_positions(*self._system)
            self._place = None if at is None else checked_positions(at, self.shape[0], None)
        return self._place

    # ---- how it is made ------------------------------------------------------------------------------

    def _copied(self, other: Matrix, copy: bool, dtype: Any) -> Any:
        """Makes it of another matrix's entries; what there is to be made of one that has none is given back."""
        if not copy:
            raise ValueError("copy=False uses the arrays of a CSR matrix of scipy in place: another wisp.Matrix is copied")
        if not other._stored and other._op is None:
            raise TypeError("H is a matrix of entries, or a LinearOperator, not one that wisp made of others")
        self._spec, self._place, self._orbitals, self._system = other._spec, other._place, other._orbitals, other._system
        if not other._stored or other.ctx is not self.ctx:
            return other.tocsr() if other._stored else other._op
        src, size = struct("wisp_src")
        self.ctx.call(lib.wisp_src_open_mat_sized, src, size, other._mat)
        try:
            self._create(src, size, dtype)
        finally:
            lib.wisp_src_close_sized(src, size)
        return None

    def _open_or_load(self, name: Any, dtype: Any) -> Any:
        """Opens a file or a spec; what the library does not read of scipy's files (bsr, dia) is given back as scipy has it."""
        try:
            return self._open(name, dtype)
        except UnsupportedError:
            if not os.fspath(name).endswith(".npz"):
                raise
            return scipy.sparse.load_npz(name)

    def _open(self, name: Any, dtype: Any) -> None:
        src, size = struct("wisp_src")
        path("H", name)
        opened = lib.wisp_src_open_sized if isinstance(name, str) else lib.wisp_src_open_file_sized
        self.ctx.call(opened, src, size, self.ctx._ctx, os.fsencode(name))
        try:
            self._create(src, size, dtype)
        finally:
            lib.wisp_src_close_sized(src, size)

    def _arrays(self, H: Any, copy: bool, dtype: Any, name: str = "H") -> None:
        if not scipy.sparse.issparse(H):
            H = numbers(name, H)
            if H.ndim != 2:
                raise ValueError(f"{name} is a matrix, of two dimensions, not {H.ndim}")
            H = H.astype(as_type(H.dtype), copy=False)  # also halves, and other orders of bytes, which scipy does not take
        elif H.dtype == bool and copy:
            H = H.tocsr(copy=True)
            H.sum_duplicates()  # as truth values: True and True are True
        given = H
        H = H.tocsr() if hasattr(H, "tocsr") else scipy.sparse.csr_matrix(H)
        H = H.astype(as_type(H.dtype, name), copy=False)
        arrays = [np.ascontiguousarray(a) for a in (H.indptr, H.indices, H.data)]
        ints = {4: lib.WISP_INT32, 8: lib.WISP_INT64}
        crs, crs_size = struct("wisp_crs", rows=H.shape[0], cols=H.shape[1], type=TYPES[H.dtype.char],
                               rowptr_int=ints[arrays[0].itemsize], col_int=ints[arrays[1].itemsize])
        crs.rowptr, crs.col, crs.val = (pointer(a) for a in arrays)
        if not copy:
            own = [getattr(given, part, None) for part in ("indptr", "indices", "data")]
            if getattr(given, "format", "") != "csr" or any(a.size and not np.may_share_memory(a, b) for a, b in zip(arrays, own)):
                raise ValueError(f"copy=False uses the arrays of a CSR matrix of scipy in place, of a type that wisp has; {name} "
                                 "would be copied: leave copy=False out")
            if dtype is not None and as_type(dtype) != H.dtype:
                raise ValueError(f"values of {H.dtype} can't be used in place as {np.dtype(dtype)}: leave copy=False out")
            self._keep = arrays
            made = ffi.new("wisp_mat **")
            self.ctx.call(lib.wisp_mat_borrow_crs_sized, made, self.ctx._ctx, crs, crs_size)
            self._made(made)
            return
        src, size = struct("wisp_src")
        self.ctx.call(lib.wisp_src_open_crs_sized, src, size, self.ctx._ctx, crs, crs_size)
        try:
            self._create(src, size, dtype)
        finally:
            lib.wisp_src_close_sized(src, size)

    def _operator(self, op: Any, dtype: Any, name: str = "H") -> None:
        dtype = as_type(dtype or op.dtype)
        if self.ctx.ranks > 1:
            raise UnsupportedError("a LinearOperator can't be shared by several processes: store the matrix, or give "
                                   "Matrix.from_rows a function of its rows")
        if len(op.shape) != 2 or op.shape[0] != op.shape[1]:
            raise ValueError(f"an operator is square, not of shape {op.shape}")
        self._op = op
        f = function_of_blocks(name, op.matmat, self.ctx)
        on, maps, made = getattr(self, "_on", ffi.NULL), ffi.new("wisp_map **"), ffi.new("wisp_mat **")
        if not on:
            self.ctx.call(lib.wisp_map_create, maps, self.ctx._ctx, op.shape[0])
        try:
            o, size = struct("wisp_operator", map=on or maps[0], type=TYPES[dtype.char], apply=f)
            self.ctx.call(lib.wisp_mat_from_apply_sized, made, self.ctx._ctx, o, size)
        finally:
            lib.wisp_map_free(maps[0])
        self._keep = [f]
        self._made(made)

    def _hash(self) -> str:
        """What tells its entries apart from those of others; of a LinearOperator its size alone."""
        if not self._stored:
            return repr(self)
        (src, size), found = struct("wisp_src"), ffi.new("uint64_t *")
        self.ctx.call(lib.wisp_src_open_mat_sized, src, size, self._mat)
        try:
            self.ctx.call(lib.wisp_src_hash_sized, self.ctx._ctx, src, size, found)
        finally:
            lib.wisp_src_close_sized(src, size)
        return f"{found[0]:016x}"

    def _of(self, src: Any, size: int, dtype: Any = None) -> Matrix:
        """A source as a matrix of its own."""
        other = Matrix.__new__(Matrix)
        other._keep, other.ctx, other._spec = [], self.ctx, None
        other._create(src, size, dtype)
        return other

    def _like(self, src: Any, size: int) -> Matrix:
        """A source as a matrix whose rows are those of this one, in its order."""
        other = Matrix.__new__(Matrix)
        other._keep, other.ctx, other._spec, other._on = [], self.ctx, None, lib.wisp_mat_map(self._mat)
        other._create(src, size, None)
        return other

    def _create(self, src: Any, size: int, dtype: Any, frame: Frame | None = None) -> None:
        on, ctx, call = getattr(self, "_on", ffi.NULL), self.ctx._ctx, self.ctx.call
        o, osize = struct("wisp_mat_opts", type=TYPES[as_type(dtype).char] if dtype is not None else 0, map=on)
        if src.rows == src.cols and src.rows and not on:  # stored for the blocks of a usual run
            choice, csize = struct("wisp_choice")
            call(lib.wisp_src_choose_sized, ctx, src, size, o, osize, o.type or src.type, 32, 256, choice, csize,
                 frame=frame)
            o.width = choice.width
        made = ffi.new("wisp_mat **")
        call(lib.wisp_mat_create_sized, made, ctx, src, size, o, osize, frame=frame)
        self._made(made)

    def _made(self, made: Any, free: Any = lib.wisp_mat_free) -> None:
        self._mat = ffi.gc(made[0], free)
        info, size = struct("wisp_mat_info")
        lib.wisp_mat_get_info_sized(self._mat, info, size)
        self.shape, self.nnz, self.dtype = (info.rows, info.cols), info.nnz, DTYPES[info.type]
        self.ndim, self.borrowed, self._stored = 2, info.user_bytes > 0, info.format != lib.WISP_FORMAT_OPERATOR

    def _beside(self, name: str, B: Any, adjoint: bool = False) -> Matrix:
        """B, or its adjoint, as a matrix whose rows are those of this one, in its order."""
        if isinstance(B, (str, os.PathLike)) or B is None:
            raise TypeError(f"{name} is a matrix of scipy, numpy or wisp, or a LinearOperator, not {shown(B)}")
        if isinstance(B, Matrix):
            if not adjoint and lib.wisp_mat_map(B._mat) == lib.wisp_mat_map(self._mat):
                return B
            if not B._stored and B._op is None:
                raise TypeError(f"{name} is a matrix of scipy, numpy or wisp, or a LinearOperator, not one that wisp made of others")
            B = B.tocsr() if B._stored else B._op
        other = Matrix.__new__(Matrix)
        other._keep, other.ctx, other._spec, other._on = [], self.ctx, None, lib.wisp_mat_map(self._mat)
        if not _is_operator(B) and not scipy.sparse.issparse(B):
            B = B.tocoo() if hasattr(B, "tocoo") else numbers(name, B)  # Kwant's operators have that
        if B.shape != self.shape:
            raise ValueError(f"{name} is of the shape of the matrix, {self.shape}, not {B.shape}")
        as_type(B.dtype, name)
        if adjoint:
            if _is_operator(B) and not hasattr(B, "adjoint"):
                raise TypeError(f"{name} has no adjoint: make it one of scipy's, LinearOperator(shape, matvec, rmatvec)")
            B = B.adjoint() if _is_operator(B) else B.conj().T
        dtype = ("F" if np.dtype(B.dtype).kind == "c" else "f") if self.dtype.char in "fF" else None
        if _is_operator(B):
            other._operator(B, dtype, name)
        else:
            other._arrays(B, True, dtype, name)
        return other

    # ---- products ------------------------------------------------------------------------------------

    def _block(self, X: np.ndarray | None, dtype: Any = None, width: int = 0, columns: bool = False) -> Any:
        """A block with these columns, or of zeros, on the map of the rows (or columns)."""
        if X is not None:
            dtype, width = X.dtype, X.shape[1]
        made = ffi.new("wisp_blk **")
        on = self._map(columns)
        self.ctx.call(lib.wisp_blk_create, made, self.ctx._ctx, on, TYPES[np.dtype(dtype).char], width)
        block = ffi.gc(made[0], lib.wisp_blk_free)
        if X is not None:
            X = X[self._own(columns)]
            self.ctx.call(lib.wisp_blk_put, block, lib.WISP_ROW_MAJOR, pointer(X), X.shape[1])
        return block

    def _map(self, columns: bool = False) -> Any:
        return (lib.wisp_mat_col_map if columns else lib.wisp_mat_map)(self._mat)

    def _own(self, columns: bool = False) -> slice:
        """The rows (or columns) that this rank has; on one rank all."""
        first = ffi.new("int64_t *")
        count = lib.wisp_map_local(self._map(columns), first)
        return slice(first[0], first[0] + count)

    def _get(self, block: Any) -> np.ndarray:
        """The columns of a block, all rows of them. On all ranks."""
        X = np.empty((lib.wisp_blk_nrows(block), lib.wisp_blk_width(block)), DTYPES[lib.wisp_blk_type(block)])
        self.ctx.call(lib.wisp_blk_get, block, lib.WISP_ROW_MAJOR, pointer(X), X.shape[1])
        return self.ctx.gather(X)

    def _columns(self, name: str, x: ArrayLike, rows: int, dtype: Any = None) -> np.ndarray:
        """x as columns of a type that goes with the matrix."""
        x = numbers(name, x)
        if x.ndim not in (1, 2) or x.shape[0] != rows:
            raise ValueError(f"{name} is of shape ({rows},) or ({rows}, columns), not {x.shape}")
        as_type(x.dtype)
        if dtype is None:
            dtype = as_type(np.result_type(x.dtype, self.dtype))
        return np.ascontiguousarray(x if x.ndim == 2 else x[:, None], dtype)

    def _some_columns(self, name: str, x: ArrayLike, dtype: Any = None) -> np.ndarray:
        """The same as columns of so many rows as the matrix has, of which there must be one at least."""
        X = self._columns(name, x, self.shape[0], dtype)
        if not X.shape[1]:
            raise ValueError(f"{name} has no column")
        return X

    def __matmul__(self, x: ArrayLike) -> np.ndarray:
        """A x: x of shape (columns,) or (columns, k); the result likewise."""
        return self._times("x", x)

    def _times(self, name: str, x: ArrayLike) -> np.ndarray:
        X = self._columns(name, x, self.shape[1])
        if not X.shape[1]:
            return np.zeros((self.shape[0], 0), X.dtype)
        bx, by = self._block(X, columns=True), self._block(None, X.dtype, X.shape[1])
        self.ctx.call(lib.wisp_spmmv_sized, by, self._mat, bx, ffi.NULL, ffi.sizeof("wisp_aug"))
        Y = self._get(by)
        return Y if np.ndim(x) == 2 else Y[:, 0]

    def matvec(self, x: ArrayLike) -> np.ndarray:
        """A x, as a LinearOperator of scipy has it."""
        x = numbers("x", x)
        y = self @ x.reshape(-1)
        return y if x.ndim == 1 else y[:, None]

    def matmat(self, X: ArrayLike) -> np.ndarray:
        """A X for columns X."""
        return self._times("X", X)

    def tocsr(self) -> scipy.sparse.csr_matrix:
        """The stored entries as scipy's CSR matrix, a copy. Rows are read one by one: seconds for some million of them.

        Raises
        ------
        NotImplementedError
            The matrix is a LinearOperator.
        """
        src, bytes_of_src = struct("wisp_src")
        self.ctx.call(lib.wisp_src_open_mat_sized, src, bytes_of_src, self._mat)
        try:
            own, room = self._own(), src.max_row
            size, col, val = np.zeros(own.stop - own.start, np.int64), np.empty(self.nnz + room, np.int64), \
                np.empty(self.nnz + room, self.dtype)
            to_col, to_val, bytes_ = pointer(col, "int64_t"), pointer(val, "char"), val.itemsize
            row, arg, end = src.row, src.arg, 0
            for i in range(own.start, own.stop):
                if end + room > col.size:  # more than are stored, as where rows hold entries twice
                    raise RuntimeError("a row has more entries than were counted")
                size[i - own.start] = row(arg, i, to_col + end, to_val + end * bytes_)
                end += int(size[i - own.start])
        finally:
            lib.wisp_src_close_sized(src, bytes_of_src)
        size, col, val = (self.ctx.gather(a) for a in (size, col[:end], val[:end]))
        A = scipy.sparse.csr_matrix((val, col, np.concatenate(([0], np.cumsum(size)))), self.shape)
        A.sort_indices()
        return A

    def aslinearoperator(self) -> Any:
        """This matrix as scipy's LinearOperator; its adjoint is itself where it is square, so only Hermitian ones have
        a right one."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.matvec, matmat=self.matmat, rmatvec=self.matvec, dtype=self.dtype)

    def __reduce__(self) -> Any:
        """What it was made of, where that is a name or a LinearOperator; else its entries, as ``tocsr`` gives them."""
        if self.ctx.ranks > 1:
            raise TypeError("a matrix of several processes can't be pickled: pickle what it was made of")
        made_of = self._spec if self._spec is not None else self._op if self._op is not None else self.tocsr()
        orbitals = self._known_orbitals() if self._system is not None else self._orbitals
        return _again, (made_of, self.dtype, self._where, orbitals)

    def _repr_html_(self) -> str:
        return html("Matrix", {"rows": str(self.shape[0]), "columns": str(self.shape[1]), "entries": str(self.nnz),
                               "numbers": str(self.dtype), "made of": str(self._spec or "arrays or functions")})

    def __repr__(self) -> str:
        return f"<wisp.Matrix: {self.shape[0]} x {self.shape[1]}, {self.dtype}, {self.nnz} entries>"


def _is_operator(H: Any) -> bool:
    return hasattr(H, "matmat") and hasattr(H, "shape") and not scipy.sparse.issparse(H)


def _again(made_of: Any, dtype: Any, place: Any, orbitals: Any) -> Matrix:
    M = Matrix(made_of, dtype=dtype)
    M._place, M._orbitals = place, orbitals
    return M


def _fill(to: Any, values: np.ndarray, dtype: Any) -> None:
    values = np.ascontiguousarray(values, dtype)
    ffi.memmove(to, ffi.from_buffer(values), values.nbytes)


@checked()
def gallery(name: str, *, ctx: Context | None = None, dtype: DTypeLike | None = None, **keys: Any) -> Matrix:
    """A Hamiltonian or mesh of the gallery, ``wisp.gallery("topi", nx=100, ny=100, nz=40)``.

    Parameters
    ----------
    name : str
        As ``wisp gen --list`` has it.
    **keys
        Its keys.
    """
    if not isinstance(name, str):
        raise TypeError(f"name is that of a Hamiltonian of the gallery, not {shown(name)}")
    spec = name + ":" * bool(keys) + ",".join(f"{key}={value}" for key, value in keys.items())
    return Matrix(spec, ctx=ctx, dtype=dtype)


