"""Standard output: sentences, tables, and pages that are read from top to bottom."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:  # a table is printed without the imports of its content
    from fedbandits.experiments.progress import TerminalProgress
    from fedbandits.settings.reference.keys import Key, Part

#: Most characters of a line, however wide the terminal is: longer lines are hard to read.
_WIDEST = 100
#: Most characters of a column of names: wider ones leave too little room for the texts.
_WIDEST_NAME = 32


def output() -> Console:
    """Return standard output, wide enough for tables if no terminal sets a width."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def folding(*titles: str, **look: Any) -> list[Column]:
    """Make columns of words, which are folded on narrow terminals."""
    return [Column(escape(title), overflow="fold", **look) for title in titles]


def whole(*titles: str, justify: Literal["left", "right"] = "right") -> list[Column]:
    """Make columns of numbers or short words, which are never folded."""
    return [Column(escape(title), justify=justify, no_wrap=True) for title in titles]


def table(
    columns: Iterable[Column], rows: Iterable[Iterable[str]], title: str = "", **look: Any
) -> Table:
    """Make a table; brackets in titles and cells are text, not markup."""
    filled = Table(*columns, title=escape(title) or None, **look)
    for row in rows:
        filled.add_row(*map(escape, row))
    return filled


@contextmanager
def shown_progress(interrupted: str, passing: bool = False) -> Iterator[TerminalProgress]:
    """Show progress on standard error; after Ctrl-C, print ``interrupted`` and exit.

    ``passing`` bars are wiped from a terminal when they are full.
    """
    from fedbandits.experiments.progress import TerminalProgress

    try:
        with TerminalProgress(Console(stderr=True), passing) as progress:
            yield progress
    except KeyboardInterrupt:
        typer.echo(interrupted, err=True)
        raise typer.Exit(130) from None


def print_lines(lines: Iterable[str], style: str = "") -> None:
    """Print sentences, wrapped at the width of a terminal; without a terminal, a line each."""
    console = output()
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=not console.is_terminal, highlight=False)


class Page:
    """Standard output for continuous text."""

    def __init__(self) -> None:
        console = Console(highlight=False)
        is_known = console.is_terminal or "COLUMNS" in os.environ
        width = min(console.width, _WIDEST) if is_known else _WIDEST
        self._console = Console(width=width, highlight=False)
        self._begun = False

    def title(self, kind: str, name: str, what: str = "") -> None:
        """Begin a section; an empty line separates sections."""
        if self._begun:
            self._console.print()
        self._begun = True
        heading = Text.assemble((f"{kind} " if kind else "", "dim"), (name, "bold"))
        self._console.print(heading.append(f": {what}" if what else ""))

    def text(self, text: str, indent: int = 2, style: str = "") -> None:
        """Print a paragraph."""
        for line in self._wrapped(text, indent):
            self._line(Text(" " * indent).append(line, style))

    def heading(self, text: str) -> None:
        """Print the heading of the next lines."""
        self._console.print()
        self._console.print(Text(f"  {text}", "bold"))

    def facts(self, rows: Iterable[tuple[str, str]], indent: int = 2) -> None:
        """Print names with their texts beside them; names with an empty text are left out.

        If a name is long, texts stand below the names.
        """
        shown = [(name, text) for name, text in rows if text]
        wide = max((len(name) for name, _ in shown), default=0) + 2
        if wide > _WIDEST_NAME:
            for name, text in shown:
                self._line(Text(" " * indent).append(name, "bold"))
                self.text(text, indent + 4)
            return
        for name, text in shown:
            first, *further = self._wrapped(text, indent + wide)
            self._line(
                Text(" " * indent).append(name.ljust(wide), "bold").append(first, "not bold")
            )
            for line in further:
                self._line(Text(" " * (indent + wide) + line))

    def keys(self, keys: Sequence[Key], indent: int = 4) -> None:
        """Print keys with their defaults, meanings and allowed values."""
        for key in keys:
            self.key(key, indent)

    def key(self, key: Key, indent: int = 4) -> None:
        """Print one key."""
        head = Text(" " * indent).append(key.name, "bold cyan")
        if key.default is None:
            head.append("  must be given", "italic")
        elif key.default:
            head.append(f" = {key.default}")
        self._line(head)
        if key.meaning:
            self.text(key.meaning, indent + 4)
        if not key.parts:
            self.text(key.allowed, indent + 4, "dim")
        if key.words:
            words = ", ".join(f'"{word}"' for word in key.words)
            self.text(f"{words}, or", indent + 4, "dim")
        self.parts(key.parts, indent + 4)

    def parts(self, parts: Sequence[Part], indent: int) -> None:
        """Print the parts that a key accepts, each with its meaning."""
        self.facts([(part.written, part.meaning) for part in parts], indent)

    def toml(self, text: str) -> None:
        """Print lines to copy, which are never broken."""
        for line in text.splitlines():
            self._line(Text("    ").append(line, "green"))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        room = max(20, self._console.width - indent)
        return [line.plain.rstrip() for line in Text(text).wrap(self._console, room)] or [""]

    def _line(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)
