"""Regret, reward, syncs and ε over rounds.

Regret and reward have 95% bands over replicates. Systems without a finite ε are drawn at infinity,
above all that have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator

from fedbandits._typing import Floats
from fedbandits.errors import DataError
from fedbandits.experiments.intervals import FEWEST
from fedbandits.experiments.labels import labels_of
from fedbandits.experiments.log_values import BAND_NOTE
from fedbandits.experiments.measure import SystemLine, regret_lines, reward_lines
from fedbandits.experiments.plots.style import (
    Look,
    coinciding,
    finish,
    line_style,
    logarithmic_rounds,
    looks,
    notes,
    own_axes,
    plain_number,
)

Scale = Literal["linear", "log"]

#: Largest ratio of final heights for linear axes, of regret and of syncs: beyond, the lowest curves
#: would lie on the ground.
_WIDEST, _WIDEST_SYNCS = 40.0, 60.0
#: A line that ends ``FAR`` times as high as all others leaves the picture, with this room for them.
FAR, ROOM = 3.0, 1.25


def regret(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    scale: Scale | None = None,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw the regret of one party over rounds: a line for each system, with a 95% band.

    Lines are means over replicates. Bands are by Student's t. With fewer than 3 replicates there is
    no band, and thin lines show the replicates. Lines that coincide share one dashed line.

    Axes are linear, unless systems differ too much; with ``log`` as ``scale`` they are logarithmic.
    One line that ends three times as high as all others leaves linear axes, and a note says where.
    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.

    Raises
    ------
    DataError
        If the regret is not known, as on a log.

    Examples
    --------
    >>> import fedbandits as fb
    >>> result = fb.run(fb.load("quickstart", ["environment.agents=5", "rounds=20"]))
    >>> fb.plot.regret(result).get_ylabel()
    'mistakes per agent so far'
    """
    lines = regret_lines(result)
    if lines is None:
        raise DataError("result.regret: it is not known here; draw fb.plot.reward instead")
    axes, look = own_axes(axes, size, font_size)
    chosen = scale or _scale_of([line.mean for line in lines.systems])
    title = f"{lines.unit} so far"
    return _draw_lines(axes, look, result, lines.systems, title, chosen, cuts=scale is None)


def reward(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw the mean reward of all decisions so far: a line for each system, with a 95% band.

    On a log, lines are doubly robust estimates, and bands are for the chance of the log.
    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.
    """
    lines = reward_lines(result)
    axes, look = own_axes(axes, size, font_size)
    title, bands = f"{lines.unit}, mean so far", None
    if lines.is_estimate:
        title, bands = f"{title} (estimated)", [BAND_NOTE]
    return _draw_lines(axes, look, result, lines.systems, title, "linear", bands)


def _scale_of(means: list[Floats]) -> Scale:
    """Choose a logarithmic scale if the lowest curve would lie on the ground of linear axes."""
    last = [mean[-1] for mean in means if np.isfinite(mean[-1]) and mean[-1] > 0.0]
    return "log" if last and max(last) > _WIDEST * min(last) else "linear"


def _draw_lines(
    axes: Axes, look: Look, result: xr.Dataset, curves: list[SystemLine], title: str, scale: Scale,
    bands: list[str] | None = None, cuts: bool = False,
) -> Axes:  # fmt: skip
    rounds = result["round"].values
    low, high = _heights(curves, scale)
    groups = coinciding(*_as_drawn(curves, low, high, scale))
    styles, entries = looks(groups), list[Artist]()
    sharing = {number: len(group) for group in groups for number in group}
    for number, curve in enumerate(curves):
        (line,) = axes.plot(rounds, curve.mean, label=curve.label, **styles[number])
        entries.append(line)
        band = {"color": line.get_color(), "alpha": 0.18 / sharing[number], "linewidth": 0}
        _draw_spread(axes, rounds, curve, band, low if scale == "log" else None)
    axes.set(yscale=scale, xlabel="round", ylabel=title)
    axes.set_ylim(bottom=low)
    far = _far_above(curves) if cuts and scale == "linear" else None
    if far is not None:
        axes.set_ylim(top=far[0])
    if scale == "linear":
        axes.set_xlim(left=0.0)
        axes.xaxis.set_major_formatter(plain_number)
        axes.yaxis.set_major_formatter(plain_number)
    else:
        logarithmic_rounds(axes, rounds)
    order = sorted(range(len(curves)), key=lambda i: -np.nan_to_num(curves[i].mean[-1], nan=-9e99))
    sentences = [
        *notes(groups, [curve.label for curve in curves]),
        *(bands or _spread_notes(curves)),
    ]
    sentences += [] if far is None else [far[1]]
    return finish(axes, look, [entries[i] for i in order], sentences)


def _far_above(curves: list[SystemLine]) -> tuple[float, str] | None:
    """Return the end of the axes below a line far above all others, and a note on the line."""
    known = sorted(
        (curve for curve in curves if np.isfinite(curve.mean[-1])), key=lambda c: -c.mean[-1]
    )
    if len(known) < 3 or not known[0].mean[-1] > FAR * known[1].mean[-1] > 0.0:
        return None
    highest = max(float(np.nanmax(curve.mean + np.nan_to_num(curve.half))) for curve in known[1:])
    note = f"{known[0].label} leaves the picture; it ends at {known[0].mean[-1]:.3g}"
    return ROOM * highest, note


def _heights(curves: list[SystemLine], scale: Scale) -> tuple[float, float]:
    """Return the lower end of the plot, and the height of its highest line."""
    means = np.concatenate([curve.mean for curve in curves])
    means = means[np.isfinite(means)]
    high = float(means.max(initial=0.0))
    if scale == "linear":
        return min(0.0, float(means.min(initial=0.0))), high
    # A band may leave the plot at the bottom: logarithmic axes have no 0.
    return float(means[means > 0.0].min()) / 2.0, high


def _as_drawn(
    curves: list[SystemLine], low: float, high: float, scale: Scale
) -> tuple[list[Floats], float, float]:
    means = [curve.mean for curve in curves]
    if scale == "linear":
        return means, low, high
    return [np.log(np.maximum(mean, low)) for mean in means], np.log(low), np.log(high)


def _draw_spread(
    axes: Axes, rounds: Floats, curve: SystemLine, band: dict[str, Any], floor: float | None
) -> None:
    """Draw the band; with few replicates, draw each replicate."""
    if np.isfinite(curve.half).any():
        low = curve.mean - curve.half
        low = low if floor is None else np.maximum(low, floor * 1e-3)
        axes.fill_between(rounds, low, curve.mean + curve.half, **band)
    elif len(curve.runs) > 1:
        for run in curve.runs:
            axes.plot(rounds, run, color=band["color"], linewidth=0.7, alpha=0.6)


def _spread_notes(curves: list[SystemLine]) -> list[str]:
    """Explain bands and thin lines."""
    counts = sorted({len(curve.runs) for curve in curves})
    shown = " to ".join(f"{count}" for count in dict.fromkeys((counts[0], counts[-1])))
    if counts[0] >= FEWEST:
        return [f"bands: 95% intervals of the mean, Student's t, {shown} replicates"]
    if counts[-1] == 1:
        return ["1 replicate: no band"]
    return [f"{shown} replicates: no band with fewer than {FEWEST}; thin: each replicate"]


def syncs(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw the number of syncs so far: means over replicates.

    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.
    """
    labels_of(result)
    axes, look = own_axes(axes, size, font_size)
    means = np.asarray(result.syncs.mean("replicate").transpose("system", "round").values)
    names = [str(name) for name in result.system.values]
    groups = coinciding(list(means), 0.0, float(np.nanmax(means, initial=1.0)))
    styles, entries = looks(groups), list[Artist]()
    for number, (name, mean) in enumerate(zip(names, means, strict=True)):
        style = styles[number] | {"drawstyle": "steps-post", "clip_on": False}
        (line,) = axes.plot(result["round"].values, mean, label=name, **style)
        entries.append(line)
    positive = means[:, -1][means[:, -1] > 0.0]
    if positive.size and positive.max() > _WIDEST_SYNCS * positive.min():
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("syncs so far")
    logarithmic_rounds(axes, result["round"].values)
    order = np.argsort(-np.nan_to_num(means[:, -1], nan=-1.0), kind="stable")
    return finish(axes, look, [entries[i] for i in order], notes(groups, names))


#: Share of the height for finite values, and the lower end of the strip for infinity.
_FINITE, _STRIP = 0.8, 0.86
_CONTENTS = "dashed thinly: contents alone, as if everybody might know when messages are sent"


class Spent(NamedTuple):
    """The ε that one system spends over rounds."""

    #: Number and label of the system.
    number: int
    label: str
    #: (points,): ε of everything that leaves one party, and of contents alone, the largest over
    #: replicates.
    accounted: Floats
    contents: Floats

    @property
    def is_infinite(self) -> bool:
        """True if no finite ε holds."""
        return bool(np.isposinf(self.accounted).any())

    @property
    def has_finite_contents(self) -> bool:
        """True if contents alone have a finite price above 0."""
        return bool(np.isfinite(self.contents).all() and (self.contents > 0.0).any())


def epsilon(
    result: xr.Dataset,
    axes: Axes | None = None,
    *,
    size: tuple[float, float] = Look().size,
    font_size: float = Look().font_size,
) -> Axes:
    """Draw the accounted ε over rounds; systems without a finite ε stand at infinity, on top.

    Below infinity, a dashed line shows the ε of contents alone, if that is finite. It would hold if
    everybody might know when messages are sent. Encryption has no ε, and is named beside the plot.
    :mod:`fedbandits.experiments.plots` explains ``result``, ``axes``, ``size`` and ``font_size``.
    """
    labels = labels_of(result)
    axes, look = own_axes(axes, size, font_size)
    rounds, spent = result["round"].values, list(_spent(result))
    beyond = [system for system in spent if system.is_infinite]
    finite = [system for system in spent if not system.is_infinite]
    highest = _set_heights(axes, spent, bool(beyond))
    entries: list[Artist] = [*_draw_infinite(axes, rounds, beyond, look)]
    groups = coinciding([system.accounted for system in finite], 0.0, highest)
    entries += _draw_finite(axes, rounds, finite, groups)
    axes.set_ylabel(f"ε so far, of one {labels.words.party}")
    logarithmic_rounds(axes, rounds)
    encrypted = [str(name) for name in result.system.values if labels.is_encrypted(str(name))]
    sentences = notes(groups, [system.label for system in finite])
    sentences += [_CONTENTS] if any(system.has_finite_contents for system in beyond) else []
    sentences += [f"{name}: encrypted, no ε" for name in encrypted]
    return finish(axes, look, entries, sentences)


def has_epsilon(result: xr.Dataset) -> bool:
    """Return whether any system spends some ε."""
    return bool((result.epsilon > 0.0).any())


def _spent(result: xr.Dataset) -> Iterator[Spent]:
    """Find all systems with an ε and a finished replicate."""
    for number, system in enumerate(result.system.values):
        mine = result.sel(system=system).dropna("replicate", how="all", subset=["epsilon"])
        if mine.sizes["replicate"]:
            largest = (mine[name].max("replicate") for name in ("epsilon", "epsilon_contents"))
            yield Spent(number, str(system), *(np.asarray(values) for values in largest))


def _set_heights(axes: Axes, spent: Sequence[Spent], leaves_room: bool) -> float:
    """Set the scale of the axis, and return its upper end: finite values stay below infinity."""
    numbers = [values for system in spent for values in (system.accounted, system.contents)]
    largest = max((float(v[np.isfinite(v)].max(initial=0.0)) for v in numbers), default=0.0)
    ticks = [float(tick) for tick in MaxNLocator(5).tick_values(0.0, largest)] if largest else [0.0]
    highest = (largest or 1.0) / (_FINITE if leaves_room else 0.95)
    axes.set_ylim(0.0, highest)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= largest * 1.0001]))
    return highest


def _draw_infinite(
    axes: Axes, rounds: Floats, beyond: Sequence[Spent], look: Look
) -> Iterator[Artist]:
    """Draw a strip at the upper edge with a line for each system, and contents dashed below."""
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
    for place, system in enumerate(beyond):
        style = line_style(system.number) | {"linewidth": 2.2}
        since = rounds[np.isposinf(system.accounted)]
        at = 1.0 - height * (place + 1) / (len(beyond) + 1)
        (line,) = axes.plot(
            [since[0], rounds[-1]], [at, at], transform=axes.get_xaxis_transform(),
            label=_spent_label(system), **style,
        )  # fmt: skip
        if system.has_finite_contents:
            style |= {"linestyle": (0, (2.0, 2.0)), "linewidth": 1.2}
            axes.plot(rounds, system.contents, drawstyle="steps-post", alpha=0.8, **style)
        yield line


def _spent_label(system: Spent) -> str:
    if not system.has_finite_contents:
        return f"{system.label}: ∞, no finite ε"
    return f"{system.label}: ∞, no finite ε (contents alone: {system.contents[-1]:.3g})"


def _draw_finite(
    axes: Axes, rounds: Floats, finite: Sequence[Spent], groups: Sequence[Sequence[int]]
) -> list[Artist]:
    """Draw a line for each system; the largest ε comes first in the legend."""
    styles, entries = looks(groups), list[Artist]()
    for place, system in enumerate(finite):
        style = styles[place] | {"color": line_style(system.number)["color"]}
        label = f"{system.label}: {system.accounted[-1]:.3g}"
        (line,) = axes.plot(
            rounds, system.accounted, drawstyle="steps-post", label=label, clip_on=False, **style
        )
        entries.append(line)
    order = sorted(range(len(finite)), key=lambda i: -finite[i].accounted[-1])
    return [entries[i] for i in order]
