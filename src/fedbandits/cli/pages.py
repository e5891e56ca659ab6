"""What ``fedbandits list`` and ``explain`` print: titles, paragraphs, keys, tables to copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:  # pages need none of what they show
    from fedbandits.settings.reference import Key, Part

#: Longer lines are hard to read, however wide the terminal is.
_WIDEST = 100


class Page:
    """Standard output, for text that is read from top to bottom."""

    def __init__(self) -> None:
        console = Console(highlight=False)
        width = min(console.width, _WIDEST) if console.is_terminal else _WIDEST
        self._console = Console(width=width, highlight=False)
        self._begun = False

    def title(self, kind: str, name: str, what: str = "") -> None:
        """What a section is about; an empty line stands between sections."""
        if self._begun:
            self._console.print()
        self._begun = True
        heading = Text.assemble((f"{kind} " if kind else "", "dim"), (name, "bold"))
        self._console.print(heading.append(f": {what}" if what else ""))

    def text(self, text: str, indent: int = 2) -> None:
        """A paragraph."""
        self._console.print(Padding(Text(text), (0, 0, 0, indent), expand=False))

    def heading(self, text: str) -> None:
        """What the lines below are about."""
        self._console.print()
        self._console.print(Text(f"  {text}", "bold"))

    def facts(self, rows: Iterable[tuple[str, str]], indent: int = 2) -> None:
        """Names, and what belongs to each in a column beside them; empty ones are left out."""
        shown = [(name, text) for name, text in rows if text]
        wide = max((len(name) for name, _ in shown), default=0) + 2
        for name, text in shown:
            body = Text(text)
            lines = body.wrap(self._console, max(20, self._console.width - indent - wide))
            for number, line in enumerate(lines):
                first = Text((name if number == 0 else "").ljust(wide), "bold")
                line.rstrip()
                self._console.print(
                    Padding(first.append_text(_plain(line)), (0, 0, 0, indent), expand=False),
                    soft_wrap=True,
                )

    def keys(self, keys: Sequence[Key], indent: int = 4) -> None:
        """Keys with defaults, what is allowed, and what they mean."""
        for key in keys:
            self.key(key, indent)

    def key(self, key: Key, indent: int = 4, name: str = "") -> None:
        """One key."""
        head = Text(name or key.name, "bold cyan")
        if key.default is None:
            head.append("  must be given", "italic")
        elif key.default:
            head.append(f" = {key.default}", "not bold")
        self._console.print(Padding(head, (0, 0, 0, indent), expand=False))
        if key.meaning:
            self.text(key.meaning, indent + 4)
        if not key.parts:
            self._console.print(
                Padding(Text(key.allowed, "dim"), (0, 0, 0, indent + 4), expand=False)
            )
        self.parts(key.parts, indent + 4)

    def parts(self, parts: Sequence[Part], indent: int) -> None:
        """What a key can be, where each has a meaning and keys of its own."""
        self.facts([(part.written, part.meaning) for part in parts], indent)

    def toml(self, text: str) -> None:
        """Lines to copy; they are never broken."""
        for line in text.splitlines():
            self._console.print(Text(f"    {line}", "green"), soft_wrap=True)


def _plain(line: Text) -> Text:
    return Text(line.plain)
