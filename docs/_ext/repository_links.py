"""Links out of docs/: on GitHub they lead into the repository, here to a page that has the same.

A folder is shown by the file that says what it is.
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

DOCS = pathlib.Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
#: Files of the repository that are pages of the site, by their path from its root.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/federation/README.md": "federation-examples.md",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)#:\s]+)\)")
#: Files that pages link to, and that the site shows as they are.
_linked: set[pathlib.Path] = set()


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("source-read", redirect)
    app.connect("html-collect-pages", source_pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def redirect(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links of a page that lead out of docs/."""
    page = pathlib.Path(app.env.doc2path(docname))
    source[0] = _moved(source[0], page.parent, page.parent)


def text_of(path: str) -> str:
    """A file of the repository below its title, with its links as they are from docs/."""
    file = ROOT / path
    _, _, text = file.read_text(encoding="utf-8").partition("\n")
    return _moved(text, file.parent, DOCS)


def source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for every file that is linked to."""
    for file in sorted(_linked):
        path = file.relative_to(ROOT).as_posix()
        language = "python" if file.suffix == ".py" else "text"
        text = file.read_text(encoding="utf-8")
        shown = app.builder.highlighter.highlight_block(text, language)  # type: ignore[attr-defined]
        yield f"source/{path}", {"title": path, "body": f"<h1>{path}</h1>{shown}"}, "page.html"


def _moved(text: str, before: pathlib.Path, now: pathlib.Path) -> str:
    def place(link: re.Match[str]) -> str:
        target = (before / link["target"]).resolve()
        if not target.is_relative_to(ROOT) or not target.exists():
            return link[0]  # what leads nowhere is for Sphinx to say
        shown = _shown(target)
        if shown.is_relative_to(DOCS):
            return f"[{link['text']}]({os.path.relpath(shown, now)})"
        _linked.add(shown)
        page = f"{os.path.relpath(DOCS, now)}/source/{shown.relative_to(ROOT).as_posix()}.html"
        return f'<a href="{page}">{link["text"]}</a>'

    return _LINK.sub(place, text)


def _shown(target: pathlib.Path) -> pathlib.Path:
    if target.is_dir():
        named = [target / name for name in ("README.md", "__init__.py", "run.py")]
        target = next(file for file in [*named, *sorted(target.glob("*.py"))] if file.is_file())
    page = PAGES.get(target.relative_to(ROOT).as_posix())
    return DOCS / page if page else target
