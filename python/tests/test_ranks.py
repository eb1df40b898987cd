"""Several processes by MPI: `Context(comm=...)`. They take mpi4py, mpirun, and a library that was built with the same MPI,
which WISP_MPI_LIBRARY names."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import wisp

PROGRAM = pathlib.Path(__file__).with_name("ranks.py")
LIBRARY = os.environ.get("WISP_MPI_LIBRARY")


def run(*start, results, mpi=True):
    environment = {**os.environ, "WISP_LIBRARY": LIBRARY, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_mpi_yield_when_idle": "1"}
    command = [*start, sys.executable, "-B", str(PROGRAM), str(results), *["mpi"] * mpi]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(results) as found:
        return dict(found)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return run(results=tmp_path_factory.mktemp("alone") / "r.npz", mpi=False)


@pytest.mark.skipif(not LIBRARY, reason="WISP_MPI_LIBRARY names no library")
@pytest.mark.parametrize("ranks", [2, 3])
def test_as_one_process(alone, ranks, tmp_path):
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun"):
        pytest.skip("there is no mpirun")
    found = run("mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", results=tmp_path / "r.npz")
    assert set(found) == set(alone)
    for name in alone:
        scale = abs(alone[name]).max() + 1e-300
        np.testing.assert_allclose(found[name] / scale, alone[name] / scale, rtol=0, atol=1e-7, err_msg=name)


@pytest.mark.skipif("mpi" in wisp.features, reason="this library has MPI")
def test_a_library_without_mpi():
    mpi4py = pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    with pytest.raises(wisp.UnsupportedError, match="without MPI.*WISP_MPI=ON.*WISP_LIBRARY"):
        wisp.Context(comm=mpi4py.COMM_SELF)


def test_what_is_no_communicator():
    pytest.importorskip("mpi4py.MPI", exc_type=ImportError)
    with pytest.raises(TypeError, match="communicator of mpi4py"):
        wisp.Context(comm="world")
