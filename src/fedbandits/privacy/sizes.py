"""Sizes of the parts of an audit, and the progress of a part."""

from __future__ import annotations

from collections.abc import Callable

#: Is told how much of a part is done, from 0 to 1. It may raise an error to end the part.
Tick = Callable[[float], None]


def scaled(usual: int, scale: float, least: int) -> int:
    """Return ``scale`` times the ``usual`` number of runs: no fewer than ``least`` or the usual."""
    return max(min(usual, least), round(usual * scale))


def unheard(share: float) -> None:
    """Tell nobody."""
    del share
