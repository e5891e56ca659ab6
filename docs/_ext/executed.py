"""Pages that are programs: scripts of the gallery, and notebooks, run while the site is made.

A script's docstring is its text: the first line is the title. Beside its code stand what it printed
and the pictures that it wrote, or else the regret of its runs. A program that fails stops the site.
"""

from __future__ import annotations

import ast
import base64
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import nbformat
from markdown import fence
from nbclient import NotebookClient
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = pathlib.Path(__file__).parents[1]
#: Where pictures lie while the site is made; Sphinx copies those that pages show.
PICTURES = DOCS / "_build" / "pictures"
_LONGEST = 1800  # seconds, on a busy machine that compiles everything anew


class Played(NamedTuple):
    """What a script printed, and the pictures that it wrote."""

    text: str
    pictures: tuple[pathlib.Path, ...]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_source_suffix(".py", "markdown")
    app.add_source_suffix(".ipynb", "markdown")
    app.connect("builder-inited", play_all)
    app.connect("source-read", show)
    return {"parallel_read_safe": False, "parallel_write_safe": True}


def play_all(app: Sphinx) -> None:
    """Run all scripts, two at a time: one compiles while the other plays."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(play, scripts()))


def scripts() -> list[pathlib.Path]:
    """The scripts of the gallery, in the order of their names."""
    return sorted((DOCS / "gallery").glob("*.py"))


def show(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the page in place of the program."""
    path = pathlib.Path(app.env.doc2path(docname))
    if path.suffix == ".py":
        source[0] = script_page(path)
    elif path.suffix == ".ipynb":
        source[0] = notebook_page(path)


@functools.cache
def play(path: pathlib.Path) -> Played:
    """Run a script in an empty folder, as a user would."""
    own = {**os.environ, "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, path], cwd=folder, env=own, capture_output=True, text=True,
            check=False, timeout=_LONGEST,
        )  # fmt: skip
        if done.returncode:
            raise ExtensionError(f"{path.name} failed:\n{done.stdout}{done.stderr}")
        here = pathlib.Path(folder)
        written = sorted(here.glob("*.png")) or sorted(here.rglob("plots/regret.png"))
        pictures = [keep(f"{path.stem}-{each.stem}.png", each.read_bytes()) for each in written]
    return Played(done.stdout, tuple(pictures))


def keep(name: str, content: bytes) -> pathlib.Path:
    """Put a picture where Sphinx finds it."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_bytes(content)
    return PICTURES / name


def text_of(path: pathlib.Path) -> tuple[str, str, str]:
    """Title, text and code of a script."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or "").partition("\n")
    code = "".join(source.splitlines(keepends=True)[tree.body[0].end_lineno :])
    return title.rstrip("."), text.strip(), code.strip()


def script_page(path: pathlib.Path) -> str:
    """A script, what it says, and what it drew."""
    title, text, code = text_of(path)
    played = play(path)
    shown = [picture(title, each) for each in played.pictures]
    return "\n\n".join(
        [
            f"# {title}",
            text,
            *shown,
            fence("python", code),
            *([f"It prints:\n\n{fence('text', played.text)}"] if played.text.strip() else []),
            f"The script: {{download}}`{path.name}`.",
        ]
    )


def gallery() -> str:
    """All scripts with a picture each, as cards that lead to their pages."""
    cards = []
    for path in scripts():
        title, text, _ = text_of(path)
        drawn = play(path).pictures
        seen = f"[{picture(title, drawn[-1])}]({path.name})" if drawn else ""
        first = f"{text.partition('. ')[0].rstrip('.')}."
        shown = [":::{container} card", seen, f"[{title}]({path.name})", first, ":::"]
        cards.append("\n\n".join(filter(None, shown)))
    return "::::{container} cards\n" + "\n".join(cards) + "\n::::"


def picture(title: str, path: pathlib.Path) -> str:
    """A picture as Markdown."""
    return f"![{title}](/{path.relative_to(DOCS)})"


def notebook_page(path: pathlib.Path) -> str:
    """A notebook, run from top to bottom in a kernel of its own, with what each cell showed."""
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(book, timeout=_LONGEST, resources={"metadata": {"path": folder}}).execute()
    parts = []
    for number, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(fence("python", cell.source))
        shown = enumerate(cell.outputs)
        parts += [_output(path, f"{number}-{place}", each) for place, each in shown]
    parts.append(f"The notebook: {{download}}`{path.name}`.")
    return "\n\n".join(parts)


def _output(path: pathlib.Path, place: str, output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return fence("text", output["text"])
    data = output["data"]
    if "image/png" in data:
        content = base64.b64decode(data["image/png"])
        return picture("What the cell drew", keep(f"{path.stem}-{place}.png", content))
    if "text/html" in data:
        return fence("{raw} html", data["text/html"])
    return fence("text", data["text/plain"])
