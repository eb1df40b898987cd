"""Sphinx's settings: docs/site/build makes the site, and executes the tutorials."""
import importlib.util
import re

import wisp

project = "wisp"
author = "the wisp authors"
copyright = "2026, the wisp authors"
version = release = wisp.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "requirements.txt"]
html_theme = "furo"
html_title = f"wisp {version}"

# Every figure is made anew; a cell that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
myst_enable_extensions = ["amsmath", "dollarmath"]

autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's parameters tell them
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes are told once, in the docstring
suppress_warnings = ["ref.python"]  # attributes that several results have
if importlib.util.find_spec("kwant") is None:
    print("-- LEFT OUT: the cells of tutorials/hall.md are not executed, for there is no Kwant")
    nb_execution_excludepatterns = ["tutorials/hall.md"]
    suppress_warnings.append("myst-nb.lexer")


def plain(app, what, name, obj, options, lines):
    """Docstrings are plain text: |x| and * are no markup in them."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(``[^`]*``)", line)
            parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", plain, priority=400)  # before napoleon, whose markup is meant
