"""Figures of the papers, made again: each is a thin definition over experiments."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fedbandits.reproduce import fclub, feducb, pfcb, samba
from fedbandits.reproduce.figure import Figure

if TYPE_CHECKING:  # what makes figures is imported when it is asked for
    from fedbandits.reproduce.context import Context, Outcome, Verdict, write_outcome

#: Every figure, by the name that ``fedbandits reproduce`` takes.
FIGURES: dict[str, Figure] = {
    **feducb.FIGURES,
    **samba.FIGURES,
    **pfcb.FIGURES,
    **fclub.FIGURES,
}

__all__ = ["FIGURES", "Context", "Figure", "Outcome", "Verdict", "write_outcome"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("fedbandits.reproduce.context"), name)
