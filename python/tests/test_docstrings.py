"""Examples in docstrings are true, and what the docs site names is there."""
import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import pytest

import wisp

MODULES = [m.name for m in pkgutil.iter_modules(wisp.__path__) if m.name not in ("_abi", "libwisp")]
SITE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"


class Finder(doctest.DocTestFinder):
    """Calls whose arguments are looked at are those of another module's function, around them."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if callable(object) else object)


def examples():
    for name in MODULES:
        module = importlib.import_module("wisp." + name)
        yield from (test for test in Finder(exclude_empty=True).find(module, module.__name__) if test.examples)


def test_examples():
    ran = doctest.DocTestRunner()
    names = {test.name for test in examples() if ran.run(test) is not None}
    assert ran.failures == 0
    assert {"wisp._matrix.Matrix", "wisp._average.average", "wisp._spectral.SpectralCalls.greens"} <= names


@pytest.mark.skipif(not SITE.is_dir(), reason="this is not a checkout")
def test_tables_of_names_are_true():
    """Calls and keywords in wisp's column."""
    kinds = (wisp, wisp.Matrix, wisp.SpectralDensity, wisp.Conductivity)
    seen, wrong = 0, []
    for row in re.findall(r"^\|.*", (SITE / "from.md").read_text(), re.M):
        for name, arguments in re.findall(r"(\w+)\(([^()]*)\)", row.split("|")[2]):
            call = next((getattr(kind, name) for kind in kinds if hasattr(kind, name)), None)
            known = inspect.signature(call).parameters if call else {}
            wrong += [f"{name}({key}=" for key in re.findall(r"(\w+)=", arguments) if key not in known] + [name] * (not call)
            seen += 1
    assert not wrong and seen > 20


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
