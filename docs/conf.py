"""How Sphinx makes the site: `make docs`. It works without a network."""

from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "tests")]

project = "fedbandits"
copyright = "the authors of fedbandits"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "references",
    "made",
]
exclude_patterns = ["_build", "_ext", "conf.py"]
suppress_warnings: list[str] = []

# Pages: GitHub shows the same files, so links name files and headings as GitHub does.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings: numpy style. Types are in signatures, and are not said twice.
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

nitpicky = True

html_theme = "furo"
html_title = "fedbandits"
html_static_path = ["_static"]
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
