"""What the site needs of the files that it is made from; `make docs` makes it."""

from __future__ import annotations

import ast
import json
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[1] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


def listed(page: pathlib.Path) -> list[str]:
    """What the tables of contents of a page name."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if re.match(r"[\w/-]+", line)]


@pytest.mark.parametrize("folder", ["", "api"])
def test_every_page_is_in_a_table_of_contents_once(folder):
    pages = [page.stem for page in (DOCS / folder).glob("*.md") if page.stem != "index"]
    named = [name.removesuffix(".ipynb") for name in listed(DOCS / folder / "index.md")]
    assert len(named) == len(set(named))
    assert sorted(set(pages) - set(named)) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_of_the_gallery_have_a_title_and_a_text(path):
    title, empty, *text = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")
    assert 0 < len(title) <= 60
    assert empty == ""
    assert text


def test_the_notebook_is_kept_without_what_it_showed():
    """The site shows it as it ran, so nothing in it can be old."""
    for cell in json.loads((DOCS / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")
        if cell["cell_type"] == "code":
            ast.parse("".join(cell["source"]))
