"""What a person expects of a Python package: Ctrl-C, threads, processes, memory, the README's example."""
import gc
import multiprocessing
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import wisp


def interrupt_at(task):
    """A progress function that sends Ctrl-C when this task has begun."""
    sent = []

    def progress(name, done):
        if name == task and not sent:
            sent.append(done)
            signal.raise_signal(signal.SIGINT)

    return progress


def test_ctrl_c():
    M = wisp.gallery("topi", nx=8, ny=8, nz=4)
    with pytest.raises(KeyboardInterrupt) as caught:
        M.spectral_density(4, 20000, progress=interrupt_at("moments"))
    rho = caught.value.result
    assert rho is None or (not rho.complete and rho.num_moments < 20000)
    with pytest.raises(KeyboardInterrupt):
        M.eigs(3, progress=interrupt_at("bounds"), interval=(-0.1, 0.1))

    def interrupt(t, psi):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        M.evolve(np.ones(1024), [1.0, 2.0], observe=interrupt)
    assert M.spectral_density(2, 16).complete  # and the context goes on


CALLS = {
    "spectral_density": lambda M, p: M.spectral_density(4, 64, progress=p),
    "exact": lambda M, p: M.spectral_density(num_moments=8, exact=True, progress=p),
    "ldos": lambda M, p: M.ldos([3, 4], 64, progress=p),
    "ldos_map": lambda M, p: M.ldos_map([0.1], num_moments=32, num_vectors=4, progress=p),
    "greens": lambda M, p: M.greens([0, 1], [2, 3], eta=0.2, progress=p),
    "conductivity": lambda M, p: M.conductivity("x", "y", 2, 16, progress=p),
    "trace": lambda M, p: M.trace(np.exp, 4, progress=p),
    "thermal": lambda M, p: M.thermal([1.0], 4, progress=p),
    "eigs": lambda M, p: M.eigs(3, progress=p),
    "interval": lambda M, p: M.eigs(interval=(-0.2, 0.2), progress=p),
    "svds": lambda M, p: M.svds(3, progress=p),
    "solve": lambda M, p: M.solve(np.ones(M.shape[0]), method="minres", progress=p),
    "apply": lambda M, p: M.apply(np.exp, np.ones(M.shape[0]), progress=p),
    "evolve": lambda M, p: M.evolve(np.ones(M.shape[0]), [1.0, 40.0], progress=p),
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_at_each_task_of_each_call(call):
    def fresh():  # a matrix is checked once
        return wisp.gallery("haldane", nx=12, ny=12, t2=0.1, phi=0.5, disorder=1)

    tasks = []
    CALLS[call](fresh(), lambda task, done: tasks.append(task))
    assert tasks
    for task in dict.fromkeys(tasks):
        M = fresh()
        with pytest.raises(KeyboardInterrupt):
            CALLS[call](M, interrupt_at(task))
        CALLS[call](M, None)  # the context goes on


def test_ctrl_c_at_random_moments():
    rng = np.random.default_rng(50)
    names, told = sorted(CALLS), dict.fromkeys(CALLS, 0)

    def haldane():
        return wisp.gallery("haldane", nx=12, ny=12, t2=0.1, phi=0.5, disorder=1)

    def count(task, done):
        told[name] += 1

    for name in names:
        CALLS[name](haldane(), count)
    caught = 0
    while caught < 50:
        name = names[rng.integers(len(names))]
        left = [int(rng.integers(told[name])) + 1]

        def interrupt(task, done):
            left[0] -= 1
            if not left[0]:
                signal.raise_signal(signal.SIGINT)

        try:
            CALLS[name](haldane(), interrupt)
        except KeyboardInterrupt:
            caught += 1
        else:
            assert left[0] > 0  # it was over before that


def test_ctrl_c_within_a_function_of_the_program():
    """Of a LinearOperator nearly all of the time is within its matmat: what there was by then is kept as well."""
    A = wisp.gallery("haldane", nx=12, ny=12, t2=0.1, phi=0.5, disorder=1).tocsr()
    left = [0]

    def matmat(X):
        left[0] -= 1
        if not left[0]:
            signal.raise_signal(signal.SIGINT)
        return A @ X

    op = sp.linalg.LinearOperator(A.shape, matvec=matmat, matmat=matmat, dtype=complex)
    M, x = wisp.Matrix(op), np.ones(A.shape[0])
    for call, found in ((lambda: M.spectral_density(4, 256, bounds=(-5, 5)), lambda rho: 2 < rho.num_moments < 256 and not rho.complete),
                        (lambda: M.eigs(3), lambda pairs: not pairs.complete),
                        (lambda: M.solve(x, method="minres"), lambda result: not result[1].converged),
                        (lambda: M.evolve(x, [0.1, 50.0], bounds=(-5, 5)), lambda psi: psi.shape == (1, x.size)),
                        (lambda: M.apply(np.exp, x), lambda result: result is None)):
        left[0] = 40
        with pytest.raises(KeyboardInterrupt) as told:
            call()
        assert found(told.value.result)
    b = A + 9 * sp.eye(A.shape[0])
    left[0] = 4
    with pytest.raises(KeyboardInterrupt) as told:
        wisp.Matrix(b).solve(x, rtol=1e-14, precond=lambda X: matmat(X) * 0 + X)
    assert told.value.result[0].shape == x.shape and not told.value.result[1].converged


def test_ctrl_c_while_lapack_is_looked_for(monkeypatch):
    M = wisp.Matrix(np.diag(np.arange(1.0, 40)))
    find, sent = wisp._lapack.address, []

    def interrupted(name):
        if not sent:
            sent.append(name)
            signal.raise_signal(signal.SIGINT)
        return find(name)

    monkeypatch.setattr("wisp._lapack.address", interrupted)
    with pytest.raises(KeyboardInterrupt):
        M.eigs(2)
    assert sent
    np.testing.assert_allclose(M.eigs(2).values, [1, 2])


def test_an_exception_in_progress_is_raised():
    def progress(task, done):
        raise LookupError(task)

    with pytest.raises(LookupError):
        wisp.gallery("graphene", nx=30, ny=30).spectral_density(2, 64, progress=progress)


def test_tqdm():
    tqdm = pytest.importorskip("tqdm")
    made = []

    class Bar(tqdm.tqdm):
        def __init__(self, *args, **kw):
            made.append(kw["desc"])
            super().__init__(*args, disable=True, **kw)

    wisp.gallery("graphene", nx=20, ny=20).spectral_density(2, 64, progress=Bar)
    assert "moments" in made


def test_threads_share_a_context():
    M = wisp.gallery("graphene", nx=20, ny=20)
    expected = [M.spectral_density(2, 64, rng=i).moments for i in range(4)]
    found = [None] * 4

    def work(i):
        found[i] = M.spectral_density(2, 64, rng=i).moments

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(found, expected)


def in_a_process(seed):
    return wisp.gallery("graphene", nx=10, ny=10).spectral_density(2, 32, rng=seed).moments


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork beside threads, from Python 3.12 on
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pools(method):
    expected = [in_a_process(s) for s in range(3)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map(in_a_process, range(3))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_moments_outlive_all():
    ctx = wisp.Context()
    M = wisp.gallery("graphene", nx=10, ny=10, ctx=ctx)
    rho = M.spectral_density(3, 32)
    mu, copy = rho.moments, rho.moments.copy()
    gone = weakref.ref(M)
    del M, rho, ctx
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(mu, copy)


def test_nothing_leaks():
    ctx = wisp.Context(threads=1)
    A = np.diag(np.arange(1.0, 40))

    def use():
        M = wisp.Matrix(A, ctx=ctx, positions=np.arange(39.0))
        M @ np.ones(39)
        M.velocity("x")
        M.greens(0, 1, eta=9, tol=0.1, bounds=(0, 41))
        M.conductivity(num_vectors=1, num_moments=2, volume=39, bounds=(0, 41))
        M.evolve(np.ones(39), [0.01], operators=[A], bounds=(0, 41))
        return M.spectral_density(1, 8, bounds=(0, 41)).moments.size

    use()
    gc.collect()
    before = ctx.memory[0]
    for _ in range(1000):
        use()
    gc.collect()
    assert ctx.memory[0] == before


@pytest.mark.parametrize("readme", ["README.md", "python/README.md"])
def test_example_of_the_readme(readme):
    root = pathlib.Path(__file__).parents[2]
    if not (root / readme).exists():
        pytest.skip("an sdist has the package alone")
    code = re.findall(r"```python\n(import wisp\n.*?)```", (root / readme).read_text(), re.S)
    assert code
    for example in code:
        run = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True)
        assert run.returncode == 0 and run.stdout, run.stderr


def test_the_command_is_there():
    command = pathlib.Path(sys.executable).parent / "wisp"
    run = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert run.returncode == 0 and wisp.__version__ in run.stdout


def test_the_kernels_of_this_cpu_are_taken_or_missed():
    """Whoever compiled the library: it sees what this CPU runs, and says so where the build has no such kernels."""
    cpus = pathlib.Path("/proc/cpuinfo")
    flags = re.search(r"^flags\s*: (.*)", cpus.read_text() if cpus.exists() else "", re.M)
    if not flags or not {"avx2", "fma"} <= set(flags[1].split()):
        pytest.skip("no CPU of x86-64 with AVX2")
    code = "import logging; logging.basicConfig(level=1); import wisp; print(wisp.Context(level='perf'))"
    environment = {name: value for name, value in os.environ.items() if name not in ("WISP_ISA", "WISP_MACHINE")}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert re.search("cpu, avx|this CPU runs avx", run.stdout + run.stderr)


def test_threadpoolctl_limits_contexts():
    """Those that are made without a number of threads; all is as before behind it."""
    threadpoolctl = pytest.importorskip("threadpoolctl", "3.2")
    before = wisp.gallery("graphene", nx=3, ny=3).ctx
    for limits in (1, {"wisp": 3}):
        with threadpoolctl.threadpool_limits(limits):
            n = limits if isinstance(limits, int) else limits["wisp"]
            told = [of for of in threadpoolctl.threadpool_info() if of["user_api"] == "wisp"]
            assert [of["num_threads"] for of in told] == [n] and told[0]["version"] == wisp.__version__
            H = wisp.gallery("graphene", nx=3, ny=3)
            assert H.ctx.threads == wisp.Context().threads == n and wisp.Context(threads=2).threads == 2
            assert H.ctx is wisp.gallery("graphene", nx=2, ny=2).ctx
    assert wisp.gallery("graphene", nx=3, ny=3).ctx is before and wisp.Context().threads == before.threads
