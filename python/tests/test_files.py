"""Moments kept in files, more of them, and what notebooks and xarray show."""
import errno
import importlib.util
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
            "one vector": M.spectral_density(1, 24), "one site": M.ldos(4, 16),
            "green": M.greens([[0], [1]], [2, 3], eta=0.5), "one pair": M.greens(3, 5, eta=0.5),
            "diagonal": M.greens(3, eta=1), "waves": M.spectral_function(np.eye(2), 16, orbitals=2),
            "kubo": M.conductivity("x", "y", 2, 8),
            "greenwood": M.conductivity("x", num_vectors=1, num_moments=6, formula="greenwood", kernel="lorentz")}


KEPT = ["random", "exact", "operator", "sites", "given", "one vector", "one site", "green", "one pair", "diagonal", "waves",
        "kubo", "greenwood"]


@pytest.mark.parametrize("what", KEPT)
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


def numbers(x):
    """All numbers of a result, one after the other."""
    if x is None or isinstance(x, str):
        return []
    return sum(map(numbers, x), []) if isinstance(x, tuple) else [np.asarray(x)]


def every_number(m):
    """What each method and attribute of a result gives."""
    x = np.array([[-1.5, 0.25, 1.0]])
    ask = {"call": lambda: m(x), "at": lambda: m.at(x), "one": lambda: m(0.5), "moments": lambda: m.moments,
           "count": lambda: m.count(-1, 0.3), "integrate": lambda: m.integrate(), "cubic": lambda: m.integrate(lambda e: e**3),
           "step": lambda: m.integrate(lambda e: e < 0.1, kernel="jackson"), "thermal": lambda: m.thermal([2.0, 9.0]),
           "greens": lambda: m.greens(x, 2.0), "warm": lambda: m(x, 0.2)}
    names = [name for name in dir(m) if not name.startswith("_") and not callable(getattr(m, name))]
    ask.update((name, lambda name=name: getattr(m, name)) for name in names)
    found = {"shown": [str(m._repr_html_())]}
    for name, f in ask.items():
        try:
            found[name] = numbers(f())
        except (AttributeError, TypeError) as error:  # it has no such method
            found[name] = [type(error).__name__]
        except ValueError as error:  # too few moments, for example
            found[name] = [str(error)]
    return found


@pytest.mark.parametrize("again", ["file", "pickle", "file and pickle"])
@pytest.mark.parametrize("what", KEPT)
def test_all_numbers_are_those_before(tmp_path, what, again):
    m = other = kept()[what]
    if "file" in again:
        pytest.importorskip("h5py")
        m.save(tmp_path / "m.h5")
        other = wisp.load(tmp_path / "m.h5")
    if "pickle" in again:
        other = pickle.loads(pickle.dumps(other))
    before, after = every_number(m), every_number(other)
    assert before.keys() == after.keys() and len(before["call"]) == 1 and before["call"][0].dtype.kind in "fc"
    for name in before:
        assert len(before[name]) == len(after[name]), name
        for a, b in zip(before[name], after[name]):
            np.testing.assert_array_equal(a, b, err_msg=name)
            assert getattr(a, "shape", None) == getattr(b, "shape", None), name


def test_more_pairs_than_an_attribute_holds(tmp_path):
    pytest.importorskip("h5py")
    M = wisp.gallery("graphene", nx=6, ny=5)
    G = M.greens(np.arange(8200) % 60, eta=20, tol=0.1)
    G.save(tmp_path / "m.h5")
    np.testing.assert_array_equal(wisp.load(tmp_path / "m.h5")(0.5), G(0.5))


def test_files_that_are_not_there(tmp_path):
    """They are told as Python tells them, and by wisp's class as well, also in another process."""
    missing, folder = tmp_path / "none.mtx", str(tmp_path)
    rho = kept()["random"]
    cases = [(lambda: wisp.Matrix(missing), FileNotFoundError, errno.ENOENT),
             (lambda: wisp.Matrix(str(missing)), FileNotFoundError, errno.ENOENT),
             (lambda: wisp.Matrix(tmp_path / "none.npz"), FileNotFoundError, errno.ENOENT),
             (lambda: wisp.Matrix(folder), IsADirectoryError, errno.EISDIR)]
    if importlib.util.find_spec("h5py"):
        cases += [(lambda: wisp.load(tmp_path / "none.h5"), FileNotFoundError, errno.ENOENT),
                  (lambda: wisp.load(folder), IsADirectoryError, errno.EISDIR),
                  (lambda: rho.save(tmp_path / "no" / "folder.h5"), FileNotFoundError, errno.ENOENT),
                  (lambda: rho.save(folder), IsADirectoryError, errno.EISDIR)]
    for call, kind, number in cases:
        with pytest.raises(kind) as told:
            call()
        for failure in (told.value, pickle.loads(pickle.dumps(told.value))):
            assert isinstance(failure, wisp.FileError) and failure.errno == number
            assert str(failure).startswith(("cannot write ", folder)) and failure.strerror == os.strerror(number)


def test_no_moments_file(tmp_path):
    pytest.importorskip("h5py")
    rho = kept()["random"]
    (tmp_path / "text").write_text("text")
    with pytest.raises(wisp.FormatError, match="text"):
        wisp.load(tmp_path / "text")
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
    # The volume, the dimensions and the directions of a conductivity.
    s = wisp.gallery("haldane", nx=4, ny=4).conductivity("x", "y", 2, 8)
    s.save(mine)
    found = subprocess.run([COMMAND, "sigma", "--from", mine, "--mu", "0.5", "--json"], capture_output=True, text=True)
    told = json.loads(found.stdout)
    assert told["sigma"][0] == pytest.approx(s(0.5), rel=1e-9) and told["volume"] == pytest.approx(s.volume)
    assert told["direction"] == "xy" and told["dimensions"] == 2 and told["units"]["sigma"] == "e^2/h"
    subprocess.run([COMMAND, "sigma", "haldane:nx=4,ny=4", "--direction", "xy", "--moments", "8", "--vectors", "2", "--save",
                    theirs], check=True, capture_output=True)
    again = wisp.load(theirs)
    assert again.volume == pytest.approx(s.volume) and again(0.5) == pytest.approx(s(0.5), rel=1e-6)


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
    finer = M.spectral_density(3, 20, rng=4, bounds=b)
    finer.add_moments(energy_resolution=finer.resolution / 2.875)
    assert finer.num_moments == 58  # 57.5 would do
    for wrong, words in ((dict(energy_resolution=1e9), "is what these 58 moments have"), ({}, "give either"),
                         (dict(num_moments=2, energy_resolution=0.1), "give either")):
        with pytest.raises(ValueError, match=words):
            finer.add_moments(**wrong)
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
    M = wisp.gallery("haldane", nx=4, ny=4, t2=0.1)
    for shown in (M, M.eigs(7), M.svds(2), M.solve(np.ones(32), method="minres")[1], M.ldos_map(0.0, None, 8),
                  M.ldos_map(0.0, None, 8, num_vectors=2), wisp.Matrix(np.eye(2)), wisp.Matrix(np.arange(6.0).reshape(2, 3))):
        page = shown._repr_html_()
        assert type(shown).__name__ in page and "<table>" in page


def test_xarray():
    xarray = pytest.importorskip("xarray")
    m = kept()
    data = m["random"].to_xarray()
    assert isinstance(data, xarray.Dataset) and data.density.dims == ("energy",)
    np.testing.assert_array_equal(data.low, m["random"].bar95[0])
    M = wisp.gallery("graphene", nx=4, ny=4)
    exact = M.ldos_map([0.1, 0.2], [3, 5], 8).to_xarray()
    assert exact.density.dims == ("energy", "row") and "stderr" not in exact and exact.y.sel(row=5) == M.positions[5, 1]
    random = M.ldos_map([0.1, 0.2], [3, 5], 8, num_vectors=3).to_xarray()
    assert np.all(random.low <= random.high) and random.stderr.shape == (2, 2)
    waves = M.spectral_function(np.eye(2), 8).to_xarray()
    assert waves.dims == ("wave", "energy") and waves.ky.values.tolist() == [0, 1]
    G = M.greens([3, 4], [3, 5], eta=20.0, tol=0.1)
    greens = G.to_xarray([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(greens.greens, G([0.1, 0.2, 0.3]))
    assert greens.greens.dims == ("pair", "energy") and list(greens.j) == [3, 5] and np.all(greens.low.real < greens.high.real)
    sigma = wisp.gallery("graphene", nx=4, ny=4).conductivity("x", "x", 3, 8)
    np.testing.assert_array_equal(sigma.to_xarray([0.1, 0.2], 0.5).conductivity, sigma([0.1, 0.2], 0.5))
    assert sigma.to_xarray().stderr.sizes == {"mu": 201}
    sites = m["sites"].to_xarray()
    assert sites.sel(site=3).shape == (32,)


@pytest.mark.skipif(not COMMAND.exists(), reason="needs the command")
def test_realizations_of_the_command(tmp_path):
    pytest.importorskip("h5py")
    path, again = tmp_path / "m.h5", tmp_path / "again.h5"
    run = [COMMAND, "dos", "square:nx=6,ny=6,disorder=3", "--moments", "40", "--vectors", "2", "--average", "5", "--energies=-1,0.5"]
    done = subprocess.run([*run, "--save", path, "--json"], capture_output=True, text=True)
    if "HDF5" in done.stderr:
        pytest.skip("the command has no HDF5")
    told = json.loads(done.stdout)
    m = wisp.load(path)
    m.save(again)
    for one in (m, wisp.load(again)):  # Student's bars, of one sample for each realization
        e = one.at([-1, 0.5])
        assert e.value == pytest.approx(told["dos"], rel=1e-12) and e.stderr == pytest.approx(told["dos_error"], rel=1e-9)
        assert e.bar95[0] == pytest.approx(told["dos_low"], rel=1e-9) and e.bar95[1] == pytest.approx(told["dos_high"], rel=1e-9)
    rows = [COMMAND, "ldos", "square:nx=6,ny=6,disorder=3", "--sites", "0,1", "--moments", "8", "--average", "2", "--save", path]
    subprocess.run(rows, capture_output=True, check=True)
    with pytest.raises(wisp.FormatError, match="several realizations"):
        wisp.load(path)
