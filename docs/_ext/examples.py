"""A plugin of pytest: the Python examples of pages and of docstrings are run, each page as one.

A page runs in an empty folder. What cannot be run is left out by a comment with a reason, as
``<!--- skip: next "needs a party that runs" -->``. `make docs` runs it; `make test` does not.
"""

from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Any

from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from sybil.parsers.rest import DocTestParser

ROOT = pathlib.Path(__file__).parents[2]
#: Their blocks are files that import one another: tests/test_extending.py plays them so.
_FILES = ("docs/extending.md",)


def _enter(namespace: dict[str, Any]) -> None:
    namespace["_before"] = pathlib.Path.cwd()
    namespace["_folder"] = tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def _leave(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


_pages = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    path=str(ROOT),
    patterns=["README.md", "docs/*.md"],
    excludes=_FILES,
    setup=_enter,
    teardown=_leave,
)
_docstrings = Sybil(
    parsers=[DocTestParser()],
    path=str(ROOT),
    pattern="src/fedbandits/**/*.py",
    document_types={".py": PythonDocStringDocument},
)
pytest_collect_file = (_pages + _docstrings).pytest()
