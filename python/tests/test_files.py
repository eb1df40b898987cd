"""Moments kept in files, more of them, and what notebooks and xarray show."""
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import hermitian

import wisp

# WISP_COMMAND: a command that was built with HDF5, which that of the wheel is without.
COMMAND = pathlib.Path(os.environ.get("WISP_COMMAND") or pathlib.Path(sys.executable).parent / "wisp")


def kept():
    M = wisp.gallery("graphene", nx=6, ny=5)
    return {"random": M.spectral_density(3, 24, kernel="lorentz"), "exact": M.spectral_density(num_moments=9, exact=True),
            "operator": M.spectral_density(2, 16, operator=np.diag(np.arange(60.0))), "sites": M.ldos([7, 3], 16),
            "given": M.spectral_density(num_moments=8, vectors=np.eye(60)[:, :2]),
            "green": M.greens([[0], [1]], [2, 3], eta=0.5), "kubo": M.conductivity("x", "y", 2, 8)}


@pytest.mark.parametrize("what", ["random", "exact", "operator", "sites", "given", "green", "kubo"])
def test_kept_is_what_is_read(tmp_path, what):
    h5py = pytest.importorskip("h5py")
    m, path = kept()[what], tmp_path / "m.h5"
    m.save(path)
    again = wisp.load(path)
    assert type(again) is type(m) and repr(again) == repr(m)
    np.testing.assert_array_equal(again.moments, m.moments)
    x = np.linspace(-2, 2, 5)
    np.testing.assert_array_equal(again(x), m(x))
    assert again.bounds == m.bounds and again.complete
    assert pickle.loads(pickle.dumps(again)).bounds == m.bounds
    assert [p.name for p in tmp_path.iterdir()] == ["m.h5"]
    with h5py.File(path) as f:
        assert f["moments"].shape == m._mu.shape
    whole = bytearray(path.read_bytes())
    whole[whole.find(m._mu.tobytes())] ^= 4  # a bit of a number
    path.write_bytes(whole)
    with pytest.raises(wisp.FormatError, match="damaged"):
        wisp.load(path)
    path.write_bytes(whole[:-20])  # without the sum of the bytes, that of the content tells
    with pytest.raises(wisp.FormatError, match="checksum"):
        wisp.load(path)


def test_no_moments_file(tmp_path):
    pytest.importorskip("h5py")
    rho = kept()["random"]
    with pytest.raises(OSError):
        wisp.load(tmp_path / "none.h5")
    (tmp_path / "text").write_text("text")
    with pytest.raises(wisp.FormatError, match="text"):
        wisp.load(tmp_path / "text")
    with pytest.raises(OSError):
        rho.save(tmp_path / "no" / "folder.h5")
    rho.save(tmp_path / "m.h5")
    with pytest.raises(ValueError, match="matrix"):
        wisp.load(tmp_path / "m.h5").add_vectors(1)


def test_the_command_and_python_read_each_other(tmp_path):
    pytest.importorskip("h5py")
    mine, theirs = tmp_path / "mine.h5", tmp_path / "theirs.h5"
    rho = wisp.gallery("graphene", nx=6, ny=5).spectral_density(3, 24)
    rho.save(mine)
    run = [COMMAND, "dos", "--from", mine, "--energies", "0.5", "--json"]
    found = subprocess.run(run, capture_output=True, text=True)
    if "has no HDF5" in found.stderr + found.stdout:
        pytest.skip("this build of the command is without HDF5")
    assert json.loads(found.stdout)["dos"][0] == pytest.approx(rho(0.5), rel=1e-9), found.stderr
    subprocess.run([COMMAND, "dos", "graphene:nx=6,ny=5", "--moments", "24", "--vectors", "3", "--save", theirs], check=True,
                   capture_output=True)
    np.testing.assert_allclose(wisp.load(theirs)(0.5), rho(0.5), rtol=1e-6)


def test_add_moments():
    M = wisp.Matrix(hermitian(80, "float64", 3))
    b = M.find_bounds()
    rho, whole = (M.spectral_density(3, n, rng=4, bounds=b) for n in (20, 50))
    rho.add_moments(30)
    np.testing.assert_allclose(rho.moments, whole.moments, atol=1e-10)
    rho.add_vectors(2)
    assert rho.moments.shape == (5, 50) and rho.densities.shape == (100,)
    exact = M.spectral_density(num_moments=8, exact=True)
    exact.add_moments(2)
    assert exact.moments.shape == (1, 10)
    before = rho.moments.copy()

    def stop(task, done):
        signal.raise_signal(signal.SIGINT)

    for add in (rho.add_moments, rho.add_vectors):
        with pytest.raises(KeyboardInterrupt):
            add(4, progress=stop)
        np.testing.assert_array_equal(rho.moments, before)
    with pytest.raises(ValueError):
        rho.add_moments(0)
    with pytest.raises(ValueError, match="given"):
        M.spectral_density(num_moments=8, vectors=np.ones(80)).add_moments(1)


def test_notebooks():
    for what, m in kept().items():
        page = m._repr_html_()
        assert type(m).__name__ in page and "<table>" in page, what
    assert "<svg" in kept()["random"]._repr_html_()


def test_xarray():
    xarray = pytest.importorskip("xarray")
    m = kept()
    data = m["random"].to_xarray()
    assert isinstance(data, xarray.Dataset) and data.density.dims == ("energy",)
    np.testing.assert_array_equal(data.low, m["random"].bar95[0])
    sites = m["sites"].to_xarray()
    assert sites.sel(site=3).shape == (32,)
