"""Every argument of every public call, given what it is not: there is one plain line that names it, and never words of numpy or cffi,
or an AttributeError."""
import inspect
import re
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

import wisp

H = wisp.gallery("graphene", nx=3, ny=3)
N = H.shape[0]
RHO = H.spectral_density(2, 16)
LOCAL = H.ldos([0], 16)
G = H.greens([0], eta=9.0)
SIGMA = H.conductivity("x", "x", 2, 8)
ONE = np.ones(N)
# A call, what it takes at least.
CALLS = {
    "Matrix": (wisp.Matrix, {"H": np.eye(3)}),
    "from_rows": (wisp.Matrix.from_rows, {"rows": lambda i: sp.eye(4).tocsr()[i], "shape": (4, 4), "max_row": 1}),
    "gallery": (wisp.gallery, {"name": "graphene"}),
    "load": (wisp.load, {"path": "none.h5"}),
    "average": (wisp.average, {"make": lambda seed: RHO, "seeds": [1]}),
    "Context": (wisp.Context, {}),
    "Checkpoint": (wisp.Checkpoint, {"path": "none.ck"}),
    "find_bounds": (H.find_bounds, {}),
    "spectral_density": (H.spectral_density, {}),
    "ldos": (H.ldos, {"sites": [0]}),
    "ldos_map": (H.ldos_map, {"energies": [0.0]}),
    "spectral_function": (H.spectral_function, {"k": [[0.0, 0.0]]}),
    "greens": (H.greens, {"i": [0], "eta": 9.0}),
    "trace": (H.trace, {"f": np.exp}),
    "logdet": (wisp.Matrix(np.eye(3)).logdet, {"bounds": (0.5, 2.0)}),
    "thermal": (H.thermal, {"T": [9.0]}),
    "eigs": (H.eigs, {}),
    "svds": (H.svds, {}),
    "solve": (H.solve, {"b": ONE}),
    "apply": (H.apply, {"f": np.exp, "x": ONE}),
    "evolve": (H.evolve, {"psi": ONE, "times": [0.1]}),
    "evolution": (lambda *a, **o: next(H.evolution(*a, **o)), {"psi": ONE, "times": [0.1]}),
    "velocity": (H.velocity, {"direction": "x"}),
    "peierls": (H.peierls, {"field": 0.1}),
    "conductivity": (H.conductivity, {}),
    "matvec": (H.matvec, {"x": ONE}),
    "matmat": (H.matmat, {"X": ONE}),
    "count": (RHO.count, {"a": 0.0, "b": 1.0}),
    "integrate": (RHO.integrate, {}),
    "rho.thermal": (RHO.thermal, {"T": [9.0]}),
    "save": (RHO.save, {"path": "/none/none.h5"}),
    "rho": (RHO.__call__, {}),
    "at": (RHO.at, {"energy": 0.0}),
    "rho.greens": (RHO.greens, {"energy": 0.0, "eta": 9.0}),
    "local": (LOCAL.__call__, {"energy": 0.0}),
    "local.greens": (LOCAL.greens, {"energy": 0.0, "eta": 9.0}),
    "G": (G.__call__, {"energy": 0.0}),
    "G.at": (G.at, {"energy": 0.0}),
    "sigma": (SIGMA.__call__, {"mu": 0.0}),
    "sigma.at": (SIGMA.at, {"mu": 0.0}),
    "sigma.to_xarray": (SIGMA.to_xarray, {}),
    "G.to_xarray": (G.to_xarray, {}),
    "optical": (SIGMA.optical, {"omega": 1.0}),
    "A": (H.spectral_function([[0.0, 0.0]], 16).__call__, {"energy": 0.0}),
    "add_moments": (lambda *a, **o: H.spectral_density(2, 16).add_moments(*a, **o), {}),
    "add_vectors": (lambda *a, **o: H.spectral_density(2, 16).add_vectors(*a, **o), {}),
}
SIGNATURES = {"evolution": H.evolution, "add_moments": RHO.add_moments, "add_vectors": RHO.add_vectors}
SMALL = {"num_vectors": 2, "num_moments": 16}
KINDS = [object(), "x", b"x", {}, [[1], [1, 2]], None]  # nothing that a number, an array or a matrix may be
VALUES = [np.nan, -1, -1.5, 10**30, 1e300, np.inf, [], np.zeros((2, 2, 2)), 1j, [np.nan], [-1], [10**6], True, np.float32(0.5),
          (1, 2, 3)]  # which may be right
# What a message may call it instead; and of KINDS what it may be.
WORDS = {"times": "time", "isa": "instruction set", "b": "interval", "a": "interval", "H": "neither a file nor", "path": "No such file",
         "seeds": "seed", "sigma": "target",
         "mu": "chemical potential", "omega": "frequency"}
MAY_BE = {"params": [{}], "direction": ["x"], "alpha": ["x"], "beta": ["x"], "seeds": ["x", b"x", {}, [[1], [1, 2]]],
          "dtype": [None], "rng": [None], "path": ["x", b"x"], "checkpoint": ["x", b"x"], "times": [{}]}


def every():
    for label, (call, least) in CALLS.items():
        parameters = inspect.signature(SIGNATURES.get(label, call)).parameters
        for name, parameter in parameters.items():
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                small = {key: value for key, value in SMALL.items() if key in parameters}
                yield pytest.param(call, {**small, **least}, name, parameter.default, id=f"{label}-{name}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call, least, name, default", [*every()])
def test_arguments(call, least, name, default, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if call.__name__ == "to_xarray":
        pytest.importorskip("xarray")
    if name == "comm":
        pytest.importorskip("mpi4py")
    for value in KINDS + VALUES:
        if value is default:
            continue
        try:
            call(**{**least, name: value})
        except (TypeError, ValueError, wisp.WispError, MemoryError) as failure:
            text = str(failure)
            assert name in text or WORDS.get(name, name) in text, (value, text)
            assert "\n" not in text and "ufunc" not in text and "not iterable" not in text
        except StopIteration:
            assert name == "times"
        else:
            may = MAY_BE.get(name, [])
            assert not any(value is kind for kind in KINDS) or any(value is m or value == m for m in may), f"{value!r} is taken"


def test_none_where_it_is_said():
    """Of what has another default."""
    said = []
    for call, least, name, default in (p.values for p in every()):
        parameter = inspect.signature(SIGNATURES.get(call.__name__, call)).parameters.get(name)
        if parameter is not None and default is not None and "None" in str(parameter.annotation):
            call(**{**least, name: None})
            said.append(name)
    assert "rng" in said


def test_all_public_calls_are_here():
    """Whatever takes arguments and is no picture."""
    kinds = {"": wisp, "Matrix": wisp.Matrix, "SpectralDensity": wisp.SpectralDensity, "LocalDensity": wisp.LocalDensity,
             "GreensFunction": wisp.GreensFunction, "Conductivity": wisp.Conductivity, "SpectralFunction": wisp.SpectralFunction}
    known = {getattr(call, "__name__", "") for call, _ in CALLS.values()} | {*CALLS}
    for kind, of in kinds.items():
        for name, call in vars(of).items() if not isinstance(of, type) else inspect.getmembers(of, inspect.isroutine):
            if name.startswith("_") or inspect.ismodule(call) or inspect.isclass(call) or not callable(call):
                continue
            takes = [p for p in inspect.signature(call).parameters if p not in ("self", "args", "options")]
            assert not takes or name == "plot" or name in known, f"{kind}.{name}"


def test_what_goes_with_a_matrix():
    """Operators of any kind, also other matrices of wisp and complex ones of a real matrix; and shapes."""
    A = H.tocsr()
    B = sp.diags(np.arange(N) % 3 - 1.0).tocsr()
    Z = A + 1j * sp.diags(np.ones(N - 1), 1) - 1j * sp.diags(np.ones(N - 1), -1)
    whole = {"num_moments": 16, "vectors": np.eye(N)}
    want = H.spectral_density(operator=B, **whole)(0.3)
    np.testing.assert_allclose(H.spectral_density(operator=wisp.Matrix(B), **whole)(0.3), want)
    np.testing.assert_allclose(H.spectral_density(operator=H, **whole)(0.3), H.spectral_density(operator=A, **whole)(0.3))
    exact = wisp.Matrix(A.astype(complex)).spectral_density(operator=Z, exact=True, num_moments=16)(0.3)
    np.testing.assert_allclose(H.spectral_density(operator=Z, exact=True, num_moments=16)(0.3), exact)
    vectors = np.eye(N)  # real ones of a real matrix
    np.testing.assert_allclose(H.spectral_density(operator=Z, vectors=vectors, num_moments=16)(0.3), exact)
    single = wisp.Matrix(A, dtype="f").spectral_density(2, 16, operator=Z)
    assert single.dtype == np.complex64
    assert H.spectral_density(2, 16, operator=H.velocity("x")).dtype == complex
    np.testing.assert_allclose(H.evolve(ONE, [0.5], operators=[wisp.Matrix(B)]), H.evolve(ONE, [0.5], operators=[B]))
    with pytest.raises(ValueError, match="operator is of the shape of the matrix"):
        H.spectral_density(operator=np.eye(3))
    with pytest.raises(TypeError, match="target is a number"):
        H.eigs(target="x")


def test_what_reads_as_something_else(tmp_path):
    D = wisp.Matrix(np.diag([1.0, 2, 3]))
    assert list(D.ldos(np.array([False, True, True]), 64).sites) == [1, 2]  # a mask
    for sites in ([0.0], [3], [True, False], []):
        with pytest.raises((ValueError, TypeError), match="sites"):
            D.ldos(sites, 64)
    A = sp.csr_matrix([[1, 0], [0, 2]])
    for H in (A, np.eye(2), sp.eye(2).tocsc(), sp.csr_matrix((np.ones(4)[::2], A.indices, A.indptr))):
        with pytest.raises(ValueError, match="copy=False"):  # it would not be used in place
            wisp.Matrix(H, copy=False)
    F = A.astype(float)
    M = wisp.Matrix(F, copy=False)
    F.data[:] = 7
    assert M.borrowed and list(M @ np.ones(2)) == [7, 7]
    assert wisp.Matrix(sp.csr_matrix((0, 0)), copy=False).shape == (0, 0)
    twice = sp.csr_matrix((np.array([True, True]), [0, 0], [0, 2]), (1, 1))
    assert wisp.Matrix(twice).tocsr()[0, 0] == 1 and twice.nnz == 2
    rho = D.spectral_density(2, 16)
    for call in (rho.save, wisp.load, lambda name: D.spectral_density(2, 16, checkpoint=name), wisp.Checkpoint, wisp.Matrix):
        for name in (str(tmp_path / "m.h5") + "\0x", ""):
            with pytest.raises(ValueError, match="zero byte|is empty|not empty|named ''|neither a file"):
                call(name)
    assert not list(tmp_path.iterdir())
    for call in (lambda: D.solve(np.zeros((3, 0))), lambda: D.evolve(np.zeros((3, 0)), [1.0]),
                 lambda: D.spectral_density(vectors=np.zeros((3, 0)))):
        with pytest.raises(ValueError, match="(b|psi|vectors) has no column"):
            call()
    with pytest.raises(ValueError, match="interval is a pair"):
        D.eigs(interval=(2, 1))
    with pytest.raises(ValueError, match="memory_limit"):
        wisp.Context(memory_limit="..GB")
    with pytest.raises(NotImplementedError, match="take method='chebfd'") as told:
        wisp.gallery("graphene", nx=20, ny=20).eigs(4, which="SM", method="lanczos")
    assert "WISP" not in str(told.value)


@pytest.mark.parametrize("call, words", [
    (lambda: H.ldos_map([0.0], [-1]), "rows: the rows of the matrix are from 0 to 17, and -1 is none"),
    (lambda: H.ldos_map([0.0], [-1], num_vectors=2), "rows: the rows of the matrix are from 0 to 17, and -1 is none"),
    (lambda: H.ldos([3, 18]), "sites: the rows of the matrix are from 0 to 17, and 18 is none"),
    (lambda: H.spectral_density(rows=[-3]), "rows: .* and -3 is none"),
    (lambda: H.greens([1], [99], eta=1.0), "j: .* and 99 is none"),
    (lambda: H.ldos_map([np.nan]), "energies are a list of finite numbers"),
    (lambda: H.ldos_map([np.nan], num_vectors=2), "energies are a list of finite numbers"),
    (lambda: H.ldos_map([0.0], [True, False]), "rows are a list of rows from 0 to 17, or a mask of all"),
    (lambda: H.evolve(ONE, [1.0], absorb=np.where(np.arange(N) == 4, np.nan, 1)), "absorb holds finite numbers, and that of row 4 is nan"),
    (lambda: H.evolve(ONE, [1.0], absorb=np.ones(3)), "absorb is .* one for each of 18 rows, not of shape"),
    (lambda: H.evolve(ONE, [1.0], absorb="x<1:1e"), "absorb='x<1:1e': x<1:1e has something that is no number"),
    (lambda: H.evolve(ONE, [1.5e308 + 1.5e308j]), "times are too large"),
])
def test_what_is_out_of_range(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_times_that_are_tiny():
    for times in ([-1e-320j], [0, -1e-320j, -1e-310j], [1e-320 + 1e-320j], [-5e-324j]):
        np.testing.assert_allclose(H.evolve(ONE / N**0.5, times), np.full((len(times), N), N**-0.5), atol=1e-12)


def test_counts_of_an_operator():
    rho = wisp.Matrix(np.diag([-1.0, 1])).spectral_density(num_moments=64, exact=True, operator=(1 + 2j) * np.eye(2), bounds=(-2, 2))
    assert abs(rho.count(-2, 2).value - (2 + 4j)) < 1e-9
    assert abs(rho.count(0, 2).value - (1 + 2j)) < 1e-3


def test_integrals_of_some_rows():
    H = wisp.gallery("graphene", nx=6, ny=6, disorder=1)
    rho = H.spectral_density(16, 64, rows=range(10))
    got = rho.integrate()
    assert got.bar95[0] - 1e-9 <= 10 <= got.bar95[1] + 1e-9
    w, v = np.linalg.eigh(H.tocsr().toarray())
    got, exact = rho.integrate(np.exp), ((abs(v[:10])**2) * np.exp(w)).sum()
    assert abs(got.value - exact) < 6 * got.stderr


class Mine(Exception):
    pass


def fails(*args):
    raise Mine("of the program")


def operator(f, dtype=float):
    """Whose matmat is f, without what scipy itself does there."""
    op = LinearOperator((N, N), matvec=f, dtype=dtype)
    op.matmat = f
    op.adjoint = lambda: op
    return op


# By the argument that the function is: a call that takes it, what is no result of it, and what it says.
NO_ARRAYS = [(None, "None"), ("x", "no array"), ([1, 2], "shape"), (1.0, "shape"), (np.ones(7), "shape"), ([[1], [1, 2]], "precond|operator|H|no array")]
NO_NUMBERS = [(None, "None"), ("1.5", "1.5"), ([1, 2], "no number"), (np.ones(7), "no number")]
GIVEN = {
    "H": (lambda f: wisp.Matrix(operator(f)).spectral_density(2, 16, bounds=(-4, 4)), NO_ARRAYS + [(lambda X: 1j * X, "complex")]),
    "operator": (lambda f: H.spectral_density(2, 16, operator=operator(f)), NO_ARRAYS + [(lambda X: 1j * X, "complex")]),
    "precond": (lambda f: wisp.Matrix(H.tocsr() + 5 * sp.diags(np.arange(N) + 1.0)).solve(ONE, precond=f),
                NO_ARRAYS + [(lambda X: 1j * X, "complex")]),
    "rows": (lambda f: wisp.Matrix.from_rows(f, (4, 4), 4), [(None, "None"), ("x", "CSR"), ([[1], [1, 2]], "CSR"),
                                                             (lambda i: np.ones((len(i), 4)) * 1j, "complex")]),
    "drive": (lambda f: H.evolve(ONE, [0.1], drive=(sp.eye(N), f)), NO_NUMBERS + [(1j, "real number")]),
    "f": (lambda f: H.apply(f, ONE), NO_NUMBERS),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_functions_of_the_program_give(name):
    call, wrong = GIVEN[name]
    for value, words in wrong:
        with pytest.raises((TypeError, ValueError), match=words) as told:
            call(value if callable(value) else lambda *args: value)
        assert str(told.value).startswith(name + ": the function gives"), told.value
    with pytest.raises(Mine, match="^of the program"):
        call(fails)
    with pytest.raises(TypeError, match="positional argument"):
        call(lambda: 1)


def test_functions_that_give_what_will_do():
    """Truth values, whole numbers, arrays of one number, lists of lists."""
    assert H.apply(lambda energy: energy < 0, ONE, kernel="jackson", max_terms=64).shape == (N,)
    np.testing.assert_allclose(H.apply(lambda energy: np.array(2), ONE), 2 * ONE)
    np.testing.assert_allclose(wisp.Matrix(operator(lambda X: X.astype(int).tolist())) @ ONE, ONE)
    A = wisp.Matrix(H.tocsr() + 5 * sp.eye(N))
    assert A.solve(ONE, precond=lambda X: (X / 5).tolist())[1].converged


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_notes_of_what_functions_raise():
    for name, call in (("H", lambda op: wisp.Matrix(op).spectral_density(2, 16, bounds=(-4, 4))),
                       ("operator", lambda op: H.spectral_density(2, 16, operator=op)), ("precond", lambda op: H.solve(ONE, precond=op))):
        with pytest.raises(Mine) as told:
            call(fails if name == "precond" else operator(fails))
        assert told.value.__notes__[0].startswith(f"{name}: raised by the function, which was given columns of shape ({N}, ")


def test_words_of_other_functions():
    rho = H.spectral_density(2, 64)
    with pytest.raises(ArithmeticError, match="^f is nan"):
        H.trace(lambda energy: np.nan)
    with pytest.raises(TypeError, match="^f: the function gives None"):
        rho.integrate(lambda energy: None)
    with pytest.raises(ValueError, match="observe: .* one shape"):
        H.evolve(ONE, [0.1, 0.2], observe=lambda t, psi: np.ones(1 if t < 0.15 else 2))
    with pytest.raises(ArithmeticError, match="drive tells f_0 = nan at time"):
        H.evolve(ONE, [0.1], drive=(sp.eye(N), lambda t: np.nan))
    with pytest.raises(ValueError, match="table of drive .* finite"):
        H.evolve(ONE, [0.1], drive=(sp.eye(N), ([0, 1], [0, np.nan])))
    for f in (fails, lambda: None):
        with pytest.raises((Mine, TypeError), match="of the program|positional"), wisp.Context(log=f, level="debug"):
            wisp.gallery("graphene", nx=3, ny=3).spectral_density(2, 16)


def test_words_are_those_of_python():
    """What the library says of fields and constants of C."""
    A = (sp.random(400, 400, 0.02, random_state=1) + sp.eye(400)).tocsr()
    M, op, b = wisp.Matrix(A), wisp.Matrix(sp.linalg.aslinearoperator(A)), np.ones(400)
    for call, words in ((lambda: H.eigs(4, which="SM", method="krylov-schur"), "take method='chebfd'"),
                        (lambda: H.eigs(4, which="LA", method="chebfd"), "take method='lanczos' or 'krylov-schur'"),
                        (lambda: H.eigs(interval=(0, 1), any=True), "an interval has all of its pairs"),
                        (lambda: M.svds(interval=(0, 1)), "interval is a pair .*, low above 0, not .*; which='SM' gives"),
                        (lambda: M.svds(interval=(2, 1)), "interval is a pair"),
                        (lambda: op.solve(b, damp=0.1), "lsmr.* take a matrix of entries"),
                        (lambda: op.solve(b, precond="ilu"), "take a polynomial, or a function$"),
                        (op.tocsr, "the matrix is a LinearOperator, whose entries are not known"),
                        (lambda: op.evolve(b, [1.0], hermitian=False), "hermitian=False takes a matrix of entries")):
        with pytest.raises((ValueError, NotImplementedError), match=words) as told:
            call()
        assert "wisp_" not in str(told.value) and "WISP_" not in str(told.value)


def test_words_name_nothing_of_c(tmp_path):
    """Calls that fail in the library, and what of its own names could come with that."""
    many = wisp.Matrix(sp.eye(3000).tocsr())
    near = np.diag(np.arange(50.0))
    near[3, 4] = 1e-13
    op = wisp.Matrix(sp.linalg.aslinearoperator(sp.eye(N)))
    calls = [(lambda: many.eigs(4), "more of the last one's multiplet; result has those that were found"),
             (lambda: wisp.Matrix(near).spectral_density(2, 16), r"take the Hermitian part \(A \+ A.conj\(\).T\) / 2"),
             (lambda: SIGMA.optical(0.0), "the conductivity at mu has the limit of 0"),
             (lambda: SIGMA.count(0, 1), "give it chemical potentials"),
             (lambda: H.spectral_density(2, 16, operator=sp.eye(N)).thermal(50.0), "they have values at energies alone"),
             (lambda: H.greens(0, 1, eta=9.0).integrate(), "^integrate: "),
             (lambda: wisp.Matrix(np.ones((3, 2))).solve(np.ones(3), checkpoint=tmp_path / "x"), "checkpoint is for square matrices"),
             (lambda: wisp.Matrix(np.diag([1.0, 0])).solve(np.ones(2), precond="block-jacobi"), "take another precond$"),
             (lambda: H.apply(lambda e: e > 0, ONE), "take more max_terms, or kernel='jackson'"),
             (lambda: H.apply(np.exp, ONE, max_terms=10**9, kernel="jackson"), "max_terms is 1000000000"),
             (lambda: H.trace(lambda e: e > 0), r"or take spectral_density\(...\).integrate\(f, kernel='jackson'\)"),
             (lambda: H.greens(0, eta=1e-9), "eta=1e-09 is too small"),
             (lambda: H.thermal(1e-6), "; cool=True serves all$"),
             (lambda: op.svds(1), "^the matrix is a LinearOperator.*store it, or take Matrix.from_rows$"),
             (lambda: wisp.Matrix(np.ones((3, 2))).spectral_density(), "^the matrix is 3 x 2, not square"),
             (lambda: H.spectral_density(bounds=(1, -1)), r"bounds is a pair of numbers, \(low, high\), low below high, not \(1, -1\)"),
             (lambda: H.eigs(80), "^eigs: k is 80")]
    for call, words in calls:
        with pytest.raises((wisp.WispError, ValueError), match=words) as told:
            call()
        assert not re.search("wisp_|WISP_|opts|--[a-z]", str(told.value)), told.value


def test_numbers_that_are_objects():
    """Fractions, decimals, and whatever else float() takes, where real numbers are expected; int() where whole ones are."""
    half, one = Fraction(1, 2), Decimal(1)
    np.testing.assert_array_equal(RHO([half, one]), RHO([0.5, 1.0]))
    assert RHO(half) == RHO(0.5) and np.shape(RHO(one)) == ()
    np.testing.assert_array_equal(wisp.Matrix([[half, 0], [0, one]]) @ [one, half], [0.5, 0.5])
    np.testing.assert_array_equal(H.evolve([one] * N, [half]), H.evolve(ONE, [0.5]))
    np.testing.assert_array_equal(H.evolve(np.array([1j] * N, object), [half]), H.evolve(1j * ONE, [0.5]))
    np.testing.assert_array_equal(H.thermal([Decimal(9)]).energy.value, H.thermal([9.0]).energy.value)
    np.testing.assert_array_equal(H.ldos(np.array([1, 2], object), 16).sites, [1, 2])
    np.testing.assert_array_equal(SIGMA(half, Decimal("0.1")), SIGMA(0.5, 0.1))
    np.testing.assert_array_equal(wisp.Matrix(np.eye(2), positions=[[half], [one]]).positions, [[0.5], [1.0]])
    np.testing.assert_array_equal(wisp.Matrix(operator(lambda X: np.array([[Fraction(x) for x in row] for row in X]))) @ ONE, ONE)
    for call, words in ((lambda: H.solve([one, None] * (N // 2)), "b is an array of numbers, and has None"),
                        (lambda: RHO([half, "1"]), "energy is an array of real numbers, and has .*'1'"),
                        (lambda: RHO("1"), "energy is an array of real numbers, not '1'"),
                        (lambda: RHO([1j, half]), "energy is an array of real numbers, and has 1j"),
                        (lambda: H.ldos([half], 16), r"sites is an array of whole numbers, and has Fraction\(1, 2\)"),
                        (lambda: H.ldos([10**30], 16), "sites is an array of whole numbers, and has 1000")):
        with pytest.raises((TypeError, ValueError), match=words):
            call()
