"""How Sphinx makes the site: `make docs`. It works without a network."""

from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "fedbandits"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "references",  # those below are in _ext
    "repository_links",
    "executed",
    "made",
]
exclude_patterns = ["_build", "_checks", "_ext", "conf.py"]
nitpicky = True  # a name in a docstring that leads nowhere stops `make docs`

# Pages: GitHub shows the same files, so links name files and headings as GitHub does.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# Docstrings: numpy style.
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # what a base class says stands with the base class
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "fedbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
