"""Curves that lie on one another, drawn so that one sees all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbandits._typing import Floats
from fedbandits.experiments.plots.style import line_style

#: Curves nearer than this share of the height of a plot are drawn as one.
_NEAR = 0.004
#: Length of a dash, in line widths.
_DASH = 3.5
_WIDTH = 1.8


def coinciding(curves: Sequence[Floats], low: float, high: float) -> list[tuple[int, ...]]:
    """Numbers of curves in groups; those of a group cannot be told apart.

    Parameters
    ----------
    curves : each (points,)
        Heights of the curves. A point that is NaN in both is no difference.
    low, high
        The heights at which the plot begins and ends.
    """
    groups: list[list[int]] = []
    for number, curve in enumerate(curves):
        for group in groups:
            other = curves[group[0]]
            apart = np.where(np.isnan(curve) & np.isnan(other), 0.0, np.abs(curve - other))
            if (apart <= _NEAR * (high - low)).all():
                group.append(number)
                break
        else:
            groups.append([number])
    return [tuple(group) for group in groups]


def looks(groups: Sequence[Sequence[int]]) -> dict[int, dict[str, Any]]:
    """The look of every curve; those of one group share a line, a dash each in turn."""
    found = {}
    for group in groups:
        for turn, number in enumerate(group):
            found[number] = line_style(number) | {"linewidth": _WIDTH}
            if len(group) > 1:
                period = _DASH * len(group)
                dashes = (_DASH, period - _DASH)
                start = (period - _DASH * turn) % period
                found[number] |= {"linestyle": (start, dashes), "dash_capstyle": "butt"}
    return found


def notes(groups: Sequence[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """A sentence for every group of several."""
    return [
        f"{', '.join(labels[i] for i in group[:-1])} and {labels[group[-1]]} coincide"
        for group in groups
        if len(group) > 1
    ]
