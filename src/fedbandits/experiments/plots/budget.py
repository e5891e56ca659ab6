"""ε over rounds. What has no finite ε is drawn at infinity, above all that has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator

from fedbandits._typing import Floats
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.plots.style import (
    Look,
    coinciding,
    finish,
    line_style,
    logarithmic_rounds,
    looks,
    notes,
    own_axes,
)

#: Share of the height that finite values have, and the strip above it that infinity has.
_FINITE, _STRIP = 0.8, 0.86
_CONTENTS = "dashed thinly: contents alone, as if everybody might know when messages are sent"


class Spent(NamedTuple):
    """The ε that one system spends over rounds."""

    #: The system's place and label.
    number: int
    label: str
    #: (points,): ε of everything that leaves one party, and of contents alone: the largest of all
    #: replicates.
    accounted: Floats
    contents: Floats

    @property
    def is_infinite(self) -> bool:
        """True if no finite ε holds."""
        return bool(np.isposinf(self.accounted).any())

    @property
    def has_finite_contents(self) -> bool:
        """True if contents alone have a price."""
        return bool(np.isfinite(self.contents).all() and (self.contents > 0.0).any())


def epsilon(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw the ε accounted over rounds; systems without a finite ε stand at infinity, on top.

    Of those, a dashed line shows the ε of contents alone, if that is finite. It would hold if
    everybody might know when messages are sent. Encryption has no ε, and is named beside the plot.
    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.
    """
    labels = labels_of(result)
    axes, look = own_axes(axes, size, font_size)
    rounds, spent = result["round"].values, list(_spent(result))
    beyond = [each for each in spent if each.is_infinite]
    finite = [each for each in spent if not each.is_infinite]
    highest = _set_heights(axes, spent, bool(beyond))
    entries: list[Artist] = [*_draw_infinite(axes, rounds, beyond, look)]
    groups = coinciding([each.accounted for each in finite], 0.0, highest)
    entries += _draw_finite(axes, rounds, finite, groups)
    axes.set_ylabel(f"ε so far, of one {labels.words.party}")
    logarithmic_rounds(axes, rounds)
    encrypted = [str(name) for name in result.system.values if labels.is_encrypted(str(name))]
    told = notes(groups, [each.label for each in finite])
    told += [_CONTENTS] if any(each.has_finite_contents for each in beyond) else []
    told += [f"{name}: encrypted, no ε" for name in encrypted]
    return finish(axes, look, entries, told)


def has_epsilon(result: xr.Dataset) -> bool:
    """Return whether any system spends some ε, so that there is something to draw."""
    return bool((result.epsilon > 0.0).any())


def _spent(result: xr.Dataset) -> Iterator[Spent]:
    """Find all systems that have an ε and a finished replicate."""
    for number, system in enumerate(result.system.values):
        mine = result.sel(system=system).dropna("replicate", how="all", subset=["epsilon"])
        if mine.sizes["replicate"]:
            largest = (mine[name].max("replicate") for name in ("epsilon", "epsilon_contents"))
            yield Spent(number, str(system), *(np.asarray(each.values) for each in largest))


def _set_heights(axes: Axes, spent: Sequence[Spent], leaves_room: bool) -> float:
    """Set the scale of the axis, and return its upper end: finite values stay below infinity."""
    numbers = [values for each in spent for values in (each.accounted, each.contents)]
    largest = max((float(v[np.isfinite(v)].max(initial=0.0)) for v in numbers), default=0.0)
    ticks = [float(tick) for tick in MaxNLocator(5).tick_values(0.0, largest)] if largest else [0.0]
    highest = (largest or 1.0) / (_FINITE if leaves_room else 0.95)
    axes.set_ylim(0.0, highest)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= largest * 1.0001]))
    return highest


def _draw_infinite(
    axes: Axes, rounds: Floats, beyond: Sequence[Spent], look: Look
) -> Iterator[Artist]:
    """Draw a strip at the upper edge with a line for each; contents dashed, far below."""
    if not beyond:
        return
    height = 1.0 - _STRIP
    strip = Rectangle(
        (0.0, _STRIP), 1.0, height, transform=axes.transAxes, hatch="////", facecolor="#f4f4f4",
        edgecolor="#d0d0d0", linewidth=0.0, zorder=0.5,
    )  # fmt: skip
    axes.add_patch(strip)
    axes.text(
        -0.015, _STRIP + height / 2, "∞", transform=axes.transAxes, ha="right", va="center",
        fontsize=look.font_size * 1.3,
    )  # fmt: skip
    for place, each in enumerate(beyond):
        style = line_style(each.number) | {"linewidth": 2.2}
        since = rounds[np.isposinf(each.accounted)]
        at = 1.0 - height * (place + 1) / (len(beyond) + 1)
        (line,) = axes.plot(
            [since[0], rounds[-1]], [at, at], transform=axes.get_xaxis_transform(),
            label=_label(each), **style,
        )  # fmt: skip
        if each.has_finite_contents:
            style |= {"linestyle": (0, (2.0, 2.0)), "linewidth": 1.2}
            axes.plot(rounds, each.contents, drawstyle="steps-post", alpha=0.8, **style)
        yield line


def _label(each: Spent) -> str:
    if not each.has_finite_contents:
        return f"{each.label}: ∞, no finite ε"
    return f"{each.label}: ∞, no finite ε (contents alone: {each.contents[-1]:.3g})"


def _draw_finite(
    axes: Axes, rounds: Floats, finite: Sequence[Spent], groups: Sequence[Sequence[int]]
) -> list[Artist]:
    """Draw a line for each; those with the largest ε come first in the legend."""
    styles, entries = looks(groups), list[Artist]()
    for place, each in enumerate(finite):
        style = styles[place] | {"color": line_style(each.number)["color"]}
        label = f"{each.label}: {each.accounted[-1]:.3g}"
        (line,) = axes.plot(
            rounds, each.accounted, drawstyle="steps-post", label=label, clip_on=False, **style
        )
        entries.append(line)
    order = sorted(range(len(finite)), key=lambda i: -finite[i].accounted[-1])
    return [entries[i] for i in order]
