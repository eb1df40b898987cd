"""scikit-build-core, whose sdist has the library's source as well: it lies one folder up, where an sdist can't reach."""
import os
import pathlib
import shutil
import tempfile

import scikit_build_core.build as build
from scikit_build_core.build import *  # noqa: F403: the other hooks

_PARTS = ("CMakeLists.txt", "LICENSE", "cmake", "docs/wisp.1", "examples", "include", "src")


def build_sdist(sdist_directory, config_settings=None):
    here = pathlib.Path(__file__).resolve().parent
    if (here / "library").exists():  # of an sdist
        return build.build_sdist(sdist_directory, config_settings)
    target, before = os.path.abspath(sdist_directory), os.getcwd()
    leave = shutil.ignore_patterns("build*", "dist", "__pycache__")
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "python")
        shutil.copytree(here, whole, ignore=leave)
        for part in _PARTS:
            to = whole / "library" / part
            to.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (here.parent / part).is_dir() else shutil.copy2)(here.parent / part, to)
        shutil.copy2(here.parent / "LICENSE", whole / "LICENSE")
        os.chdir(whole)
        try:
            return build.build_sdist(target, config_settings)
        finally:
            os.chdir(before)
