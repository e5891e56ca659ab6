"""Sizes of the parts of an audit, and the progress of a part."""

from __future__ import annotations

from collections.abc import Callable

#: Is told how much of a part is done, from 0 to 1. It may raise an error to end the part.
Tick = Callable[[float], None]


def scaled(usual: int, scale: float, least: int) -> int:
    """Return a number of runs, in proportion.

    Parameters
    ----------
    usual
        How many there are at scale 1.
    scale
        How many times as many are wanted.
    least
        There are no fewer than these, unless ``usual`` is less.
    """
    return max(min(usual, least), round(usual * scale))


def unheard(share: float) -> None:
    """Tell nobody."""
    del share
