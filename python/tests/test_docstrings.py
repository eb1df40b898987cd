"""Examples in docstrings are true, and what the docs site names is there."""
import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import wisp

MODULES = [m.name for m in pkgutil.iter_modules(wisp.__path__) if m.name not in ("_abi", "libwisp")]
SITE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module("wisp." + name)).failed == 0


@pytest.mark.skipif(not SITE.is_dir(), reason="this is not a checkout")
def test_the_site_names_what_is_there():
    known = {*dir(wisp), "shape", "dtype", "nnz"} | {name for kind in vars(wisp).values() if isinstance(kind, type) for name in dir(kind)}
    missing = set()
    for page in [*SITE.glob("*.md"), *SITE.glob("tutorials/*.md")]:
        text = page.read_text()
        missing |= {f"{page.name}: {name}" for name in re.findall(r"\b(?:wisp|H|rho|sigma|info)\.([a-zA-Z]\w*)", text)
                    if name not in known | set(wisp.EvolveInfo._fields)}
        for cell in re.findall(r"```\{code-cell\}[^\n]*\n(?:---\n.*?---\n)?(.*?)```", text, re.S):
            compile(cell, str(page), "exec")
    assert not missing
