"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ROLE = re.compile(r":\w+:`[~.\w]*?(\w+)`")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a bar in a cell would end it."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def code(text: str) -> str:
    """Text as code; empty where there is none."""
    return f"`{text}`" if text else ""


def plain(text: str) -> str:
    """Text that is no Markdown, on one line, with what it marks as code."""
    text = _ROLE.sub(r"`\1`", text).replace("``", "`").replace("\\[", "[")
    pieces = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([*_<>\[\]$])", r"\\\1", piece)
        for piece in pieces
    )


def fence(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
