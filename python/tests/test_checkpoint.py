"""Calls that go on from a file after their process has ended, with the same bits."""
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import wisp

# What each call gives, as arrays. H: one for each, so that nothing of another call is there.
SCRIPT = """
import pickle, sys
import numpy as np, scipy.sparse as sp
import wisp

def run(name, **more):
    H = wisp.gallery("graphene", nx=12, ny=12, disorder=1)
    n, x = H.shape[0], np.random.default_rng(1).standard_normal((H.shape[0], 2))
    if name == "density":
        return [H.spectral_density(8, 256, **more).moments]
    if name == "operator":
        B = sp.diags(np.arange(n) % 3 + 1j * (np.arange(n) % 2)).tocsr()
        return [H.spectral_density(operator=B, vectors=x, num_moments=256, **more).moments]
    if name.startswith("thermal"):
        return [[e.value, e.stderr, *e.bar95] for e in H.thermal([1e-3, 0.002, 9], 12, cool=True, **more)[1:]]
    if name == "eigs":
        e = H.eigs(4, method="lanczos", **more)
        return [e.values, e.vectors]
    if name == "chebfd":
        e = H.eigs(interval=(-0.2, 0.2), method="chebfd", **more)
        return [e.values, e.vectors]
    if name == "solve":
        return [wisp.Matrix(H.tocsr() + 4 * sp.eye(n)).solve(x, rtol=1e-12, **more)[0]]
    if name == "evolve":
        psi, info = H.evolve(x, np.linspace(0, 90, 4), tol=1e-12, info=True, **more)
        return [psi, info.log_norm, info.off]
    if name == "operators":
        return [H.evolve(x[:, 0], np.linspace(0, 90, 4), operators=[H, sp.eye(n)], **more)]
"""
KILLED = SCRIPT + """
import os
path, tasks = sys.argv[2], []

def progress(task, done):
    tasks.append(task)
    if os.path.exists(path) and len(tasks) > int(sys.argv[3]):
        os._exit(9)  # as if it was killed: nothing is tidied up

run(sys.argv[1], checkpoint=wisp.Checkpoint(path, every=0), progress=progress)
"""
AGAIN = SCRIPT + """
done = {}
found = run(sys.argv[1], checkpoint=sys.argv[2], progress=lambda task, part: done.setdefault(task, part))
with open(sys.argv[3], "wb") as file:
    pickle.dump((found, run(sys.argv[1]), done), file)
"""


# Begins processes from one that has imported all and done nothing: to import takes longer than most calls.
FORKS = """
import ast, os, sys, traceback
import numpy, scipy.sparse, wisp

for line in sys.stdin:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    try:
        sys.argv = ast.literal_eval(line)
        exec(sys.argv[0], {})
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def python():
    """python(script, arguments...): the status of a process that runs it."""
    where = os.pathsep.join([str(pathlib.Path(wisp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen([sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": where}) as forks:

        def run(*words):
            print([*map(str, words)], file=forks.stdin, flush=True)
            return int(forks.stdout.readline())

        yield run
        forks.stdin.close()


CALLS = pytest.mark.parametrize("name, calls", [("density", 30), ("operator", 30), ("eigs", 6), ("chebfd", 40), ("solve", 8),
                                                ("evolve", 12), ("operators", 12), ("thermal, of moments", 20),
                                                ("thermal, cooled", 300)])


@CALLS
def test_a_killed_process_goes_on(name, calls, tmp_path, python):
    path, out = tmp_path / "run.ck", tmp_path / "out"
    assert python(KILLED, name, path, calls) == 9
    assert path.exists()
    assert python(AGAIN, name, path, out) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["out"]  # what has ended well needs none
    found, whole, done = pickle.loads(out.read_bytes())
    for a, b in zip(found, whole):
        np.testing.assert_array_equal(a, b)
    assert name != "density" or done["moments"] > 0


def steps(told):
    """What progress was told of, but for the look at the matrix, which each call takes anew, and for where cooling is, which a
    call that goes on tells first."""
    return [each for each in told if each[0] not in ("checking", "cooling")]


@CALLS
def test_ctrl_c_keeps_the_state(name, calls, tmp_path, monkeypatch):
    monkeypatch.setattr(wisp._context, "_PATIENCE", 1e9)  # no machine is too slow
    path, told, left, all_of_it = tmp_path / "run.ck", [], [], []
    code = {}
    exec(SCRIPT, code)

    def progress(*step):
        told.append(step)
        if len(told) == calls:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        code["run"](name, checkpoint=wisp.Checkpoint(path, every=1e9), progress=progress)
    assert path.exists()
    assert len(told) == calls  # it is not told of any more
    found = code["run"](name, checkpoint=path, progress=lambda *step: left.append(step))
    assert not path.exists()
    for a, b in zip(found, code["run"](name, progress=lambda *step: all_of_it.append(step))):
        np.testing.assert_array_equal(a, b)
    first, second, whole = map(steps, (told, left, all_of_it))
    assert first == whole[:len(first)]
    assert second == whole[-len(second):]  # it does what is left, and nothing that the first one has done
    assert len(second) <= len(whole) - len(first) + 1  # that of the step at which the first one stopped is told again


def test_ctrl_c_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(wisp._context, "_PATIENCE", -1.0)  # as if no step came to its end
    path = tmp_path / "run.ck"
    H = wisp.gallery("graphene", nx=12, ny=12)

    def progress(task, done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        H.spectral_density(8, 256, bounds=(-3.1, 3.1), checkpoint=wisp.Checkpoint(path, every=1e9), progress=progress)


def interrupted(call, path, **options):
    def progress(task, done):
        if path.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(checkpoint=wisp.Checkpoint(path, every=0), progress=progress, **options)


def test_another_call_is_refused(tmp_path):
    path = tmp_path / "run.ck"
    H, other = wisp.gallery("graphene", nx=9, ny=9), wisp.gallery("graphene", nx=9, ny=9, disorder=1)
    b = np.arange(162.0)
    interrupted(H.spectral_density, path, num_vectors=4, num_moments=256)
    for call, options, words in ((other.spectral_density, dict(num_vectors=4, num_moments=256), "matrix"),
                                 (H.spectral_density, dict(num_vectors=5, num_moments=256), "vectors"),
                                 (H.spectral_density, dict(num_vectors=4, num_moments=256, operator=sp.eye(162)), "operator"),
                                 (H.solve, dict(b=b), "call")):
        with pytest.raises(wisp.ArgumentError, match=words):
            call(checkpoint=path, **options)
    rho = H.spectral_density(4, 256, checkpoint=str(path))
    np.testing.assert_array_equal(rho.moments, H.spectral_density(4, 256).moments)
    assert not path.exists()
    path.write_text("text")
    with pytest.raises(wisp.FormatError):
        H.spectral_density(4, 256, checkpoint=path)
    with pytest.raises(FileNotFoundError):
        H.spectral_density(4, 256, checkpoint=tmp_path / "none" / "run.ck")
    assert path.read_text() == "text"


def test_what_is_refused(tmp_path):
    H = wisp.gallery("graphene", nx=3, ny=3)
    path = tmp_path / "run.ck"
    for call, options in ((H.spectral_density, dict(overlap=sp.eye(18))), (H.spectral_density, dict(precision="auto")),
                          (H.eigs, dict(overlap=sp.eye(18))),
                          (H.evolve, dict(psi=np.ones(18), times=[1.0], observe=lambda t, psi: 0))):
        with pytest.raises(ValueError, match="checkpoint"):
            call(checkpoint=path, **options)
    assert "run.ck, every 600 s" in repr(wisp.Checkpoint(path))


def test_words_of_a_refusal(tmp_path):
    """What differs is said in words, and no sums of values are shown."""
    path = tmp_path / "run.ck"
    H, other = wisp.gallery("graphene", nx=9, ny=9), wisp.gallery("graphene", nx=9, ny=9, disorder=1)
    x = np.arange(162.0)

    def refused(call, words, **options):
        with pytest.raises(wisp.ArgumentError) as told:
            call(checkpoint=path, **options)
        assert words in str(told.value) and "run.ck is of a call" in str(told.value), told.value
        assert ", values" not in str(told.value)

    size = dict(num_vectors=4, num_moments=256)
    interrupted(H.spectral_density, path, **size, rows=[1, 2])
    for more, words in ((dict(rows=[1, 3]), "other values of rows: both are an array of int64 and shape (2,)"),
                        (dict(rows=[1, 2, 3]), "rows: an array of int64 and shape (2,); this one has rows: an array of int64 and shape (3,)"),
                        ({}, "rows: an array of int64 and shape (2,); this one has rows: none"),
                        (dict(operator=sp.eye(162)), "operator: none; this one has operator: <wisp.Matrix: 162 x 162")):
        refused(H.spectral_density, words, **size, **more)
    refused(other.spectral_density, "with matrix: <wisp.Matrix: 162 x 162, float64, ", **size, rows=[1, 2])
    refused(wisp.Matrix(2 * H.tocsr()).spectral_density, "other values of matrix: both are <wisp.Matrix", **size, rows=[1, 2])
    refused(H.solve, "a call of spectral_density, and this one is solve", b=x)
    path = tmp_path / "cold" / "run.ck"
    path.parent.mkdir()
    interrupted(H.thermal, path, T=[1e-3, 5], num_vectors=4, cool=True)
    for more, words in ((dict(T=[1e-3, 6]), "other values of T: both are an array of float64 and shape (2,)"),
                        (dict(num_vectors=8), "num_vectors: 4; this one has num_vectors: 8"), (dict(rng=7), "rng: 0; this one has rng: 7"),
                        (dict(cool=False, T=[5.0, 6]), "other values of T"), (dict(tol=0.1), "tol: 0; this one has tol: 0.1"),
                        (dict(bounds=(-4, 4)), "bounds: none; this one has bounds: a list of 2")):
        refused(H.thermal, words, **{"T": [1e-3, 5], "num_vectors": 4, "cool": True, **more})
    path = tmp_path / "other" / "run.ck"
    path.parent.mkdir()
    interrupted(H.evolve, path, psi=x, times=np.linspace(0, 90, 5), operators=[H])
    for more, words in ((dict(psi=x + 1), "other values of psi: both are an array of complex128 and shape (162, 1)"),
                        (dict(times=[0.0, 1]), "times: an array of float64 and shape (5,); this one has times: an array"),
                        (dict(operators=[sp.eye(162)]), "other values of operators: both are a list of 1"),
                        (dict(drive=(H, np.sin)), "drive: none; this one has drive: a list of 2")):
        refused(H.evolve, words, **{"psi": x, "times": np.linspace(0, 90, 5), "operators": [H], **more})


def test_thermal_that_fails_keeps_its_file(tmp_path):
    """A call that ends well removes it; that of temperatures that moments do not serve has not."""
    path = tmp_path / "run.ck"
    H = wisp.gallery("graphene", nx=9, ny=9)
    with pytest.raises(ValueError, match="cool=True serves all"):
        H.thermal(1e-5, 2, bounds=(-3.1, 3.1), tol=1e-12, checkpoint=wisp.Checkpoint(path, every=0))
    assert path.exists()
    other = tmp_path / "other.ck"
    exact = H.thermal([5.0, 9], exact=True, checkpoint=wisp.Checkpoint(other, every=0))
    np.testing.assert_array_equal(exact.energy.value, H.thermal([5.0, 9], exact=True).energy.value)
    assert not other.exists()


def test_a_call_within_another_one_has_no_part_in_its_file(tmp_path):
    path, cold = tmp_path / "run.ck", []
    H = wisp.gallery("graphene", nx=4, ny=4, disorder=1)

    def progress(task, done):
        if path.exists() and not cold:
            cold.append(H.thermal(1e-3, 2, cool=True).energy.value)

    moments = H.spectral_density(2, 64, checkpoint=wisp.Checkpoint(path, every=0), progress=progress).moments
    assert cold == [H.thermal(1e-3, 2, cool=True).energy.value]
    np.testing.assert_array_equal(moments, H.spectral_density(2, 64).moments)


def test_a_state_of_one_method_and_a_call_of_another(tmp_path):
    """By default a call goes on by the method of the file, and gives that method's vectors, to the bit: another method's have
    other signs or phases, and others in the space of a level with several states. A method that is named is refused by its
    name where the file has another one."""
    n, path = 200, tmp_path / "run.ck"
    level = np.repeat(np.arange(n // 2) / 3, 2)  # twice each
    U = np.linalg.qr(np.random.default_rng(2).standard_normal((n, n)))[0]
    A = U * level @ U.T
    H = wisp.Matrix((A + A.T) / 2)
    whole, dense = H.eigs(4, method="lanczos"), H.eigs(4)
    assert (whole.method, dense.method) == ("lanczos", "dense")
    assert abs(whole.vectors - dense.vectors).max() > 0.1
    found = []
    for stop in range(2, 12, 3):
        told = []

        def progress(task, done):
            told.append(task)
            if path.exists() and len(told) > stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            H.eigs(4, method="lanczos", checkpoint=wisp.Checkpoint(path, every=0), progress=progress)
        for method in ("dense", "chebfd", "invert"):
            with pytest.raises((wisp.ArgumentError, NotImplementedError), match=method):
                H.eigs(4, method=method, checkpoint=path)
        found.append(H.eigs(4, checkpoint=path))
    for e in found:
        assert e.method == "lanczos"
        np.testing.assert_array_equal(e.values, whole.values)
        np.testing.assert_array_equal(e.vectors, whole.vectors)
    for i in (0, 2):  # the space of each level is one
        overlaps = np.linalg.svd(whole.vectors[:, i:i + 2].T @ dense.vectors[:, i:i + 2], compute_uv=False)
        np.testing.assert_allclose(overlaps, 1, rtol=1e-10)
