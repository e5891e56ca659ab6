"""Figures of the papers, made again: each is a thin definition over experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbandits._lazy import lazily
from fedbandits.reproduce.figures import FIGURES, Figure

__all__ = ["FIGURES", "Context", "Figure", "Outcome", "Verdict", "write_outcome"]

if TYPE_CHECKING:  # what makes figures is imported when it is asked for
    from fedbandits.reproduce.engine import Context, Outcome, Verdict, write_outcome
else:
    _HOME = "fedbandits.reproduce.engine"
    __getattr__, __dir__ = lazily(
        __name__,
        __all__,
        {name: f"{_HOME}:{name}" for name in ("Context", "Outcome", "Verdict", "write_outcome")},
    )
