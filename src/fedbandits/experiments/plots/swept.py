"""Plots over values of a key: of a sweep, and of an advice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from fedbandits.errors import ConfigError
from fedbandits.experiments.answers.advice import Advice, Curve
from fedbandits.experiments.measure import Ends, claimed_epsilon, ends, swept_keys
from fedbandits.experiments.plots import Look, Picture, line_style
from fedbandits.experiments.plots.curves import FAR, ROOM
from fedbandits.experiments.plots.style import picture, svg_of
from fedbandits.settings.sweeps import in_words, key_words, value_text

#: Least ratio of values for a logarithmic axis.
_DECADE = 10.0
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Most systems of a legend between the lines.
_INSIDE = 5
#: Most pictures of one sweep.
_PICTURES = 24
#: Most values with ticks of their own.
_TICKS = 9


def draw_sweep(result: xr.Dataset, axes: Axes | None = None) -> Axes:
    """Draw the final regret of one party against a swept value, one line for each system.

    Bars are 95% intervals (Student's t over replicates), with at least 3 replicates. A system far
    above all others leaves the picture, and its name has its height. If two keys are swept, there
    is a line for each system and each value of the second key.

    Parameters
    ----------
    result
        The result of a sweep over one or two keys. Of more keys, first choose values of all others:
        ``result.sel(agents=10)``.
    axes
        The axes to draw on. By default new axes in a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ConfigError
        If more than two keys are swept, or none.
    """
    keys = swept_keys(result)
    if len(keys) not in (1, 2):
        raise ConfigError(
            f"sweep: a plot shows one or two swept keys, given {len(keys)}: {', '.join(keys)}; "
            "choose values of the others with result.sel"
        )
    if axes is None:
        size = _size(len(keys), result.sizes["system"])
        axes = Figure(figsize=size, layout="constrained").add_subplot()
    across = next((key for key in keys if _is_number(result, key)), keys[0])
    others = [key for key in keys if key != across]
    at_end = ends(result)
    places = _places(axes, result, across)
    names = _names(result, keys)
    for index, system in enumerate(names):
        _draw_system(axes, at_end, places, system, index, others)
    _scale_up(axes, at_end.mean)
    _cut(axes, at_end, names)
    axes.set_xlabel(key_words(across))
    axes.set_ylabel(at_end.unit)
    axes.grid(alpha=0.25, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    _explain(axes, list(names.values()), {key: result[key].values.tolist() for key in others})
    return axes


def sweep_pictures(result: xr.Dataset) -> dict[str, Picture]:
    """Draw a sweep: one picture for each choice of all keys but two, by that choice in words.

    There are at most 24; the table has all points.
    """
    look = Look(size=_size(len(swept_keys(result)), result.sizes["system"]))
    return {
        in_words(chosen): picture(partial(draw_sweep, result.sel(chosen)), look)
        for chosen in _choices(result, swept_keys(result)[2:])[:_PICTURES]
    }


def _size(keys: int, systems: int) -> tuple[float, float]:
    """Return the size of a plot, which is wider if the legend stands beside the axes."""
    return (7.2 if keys == 1 and systems <= _INSIDE else 9.0, 4.4)


def _choices(result: xr.Dataset, keys: Sequence[str]) -> list[dict[str, Any]]:
    if not keys:
        return [{}]
    rest = _choices(result, keys[1:])
    return [{keys[0]: value, **more} for value in result[keys[0]].values.tolist() for more in rest]


def _is_number(result: xr.Dataset, key: str) -> bool:
    return bool(np.issubdtype(result[key].dtype, np.number))


def _places(axes: Axes, result: xr.Dataset, key: str) -> xr.DataArray:
    """Return the places of a key's values, and set scale and ticks of the axis."""
    values = result[key].values
    if not _is_number(result, key):
        axes.set_xticks(range(len(values)), [value_text(value) for value in values.tolist()])
        return xr.DataArray(np.arange(len(values), dtype=np.float64), dims=key)
    if values.min() > 0 and values.max() / values.min() > _DECADE:
        axes.set_xscale("log")
    if len(values) <= _TICKS:
        axes.set_xticks(values, [value_text(value) for value in values.tolist()])
        axes.set_xticks([], minor=True)
    return xr.DataArray(values.astype(np.float64), dims=key)


def _draw_system(
    axes: Axes, at_end: Ends, places: xr.DataArray, system: str, index: int, others: list[str]
) -> None:
    """Draw a line for each value of the second key, or a single line if all coincide."""
    across = str(places.dims[0])
    mean, half = at_end.mean.sel(system=system), at_end.half.sel(system=system)
    if not others:
        lines = [(system, mean, half)]
    elif _coincide(mean, others[0]):
        first = {others[0]: 0}
        lines = [(system, mean.isel(first), half.isel(first))]
    else:
        lines = [
            (
                f"{system}, {key_words(others[0])} = {value_text(value)}",
                mean.isel({others[0]: n}),
                half.isel({others[0]: n}),
            )
            for n, value in enumerate(mean[others[0]].values.tolist())
        ]
    order = np.argsort(places.values, kind="stable")
    ordered = np.issubdtype(mean[across].dtype, np.number)  # no lines between words
    for number, (label, line, width) in enumerate(lines):
        look = line_style(index) | _look(index, number if others else None)
        look |= {} if ordered else {"linestyle": "none"}
        values, bars = line.transpose(across).values[order], width.transpose(across).values[order]
        axes.errorbar(
            places.values[order], values, yerr=_bars(bars), label=label, capsize=3,
            markersize=4.5, elinewidth=1.2, **look,
        )  # fmt: skip


def _look(index: int, number: int | None) -> dict[str, Any]:
    """Choose markers by system; with a second key, markers and dashes by its values."""
    if number is None:
        return {"marker": _MARKERS[index % len(_MARKERS)]}
    return {
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def _names(result: xr.Dataset, keys: Sequence[str]) -> dict[str, str]:
    """Return the systems' names in the legend, with a note on systems without a finite ε."""
    systems = [str(system) for system in result["system"].values]
    none = xr.apply_ufunc(np.isinf, claimed_epsilon(result)).all(keys)
    return {
        system: f"{system} (no finite ε)" if "epsilon" in keys and none.sel(system=system)
        else system
        for system in systems
    }  # fmt: skip


def _explain(axes: Axes, systems: Sequence[str], others: dict[str, list[Any]]) -> None:
    """Draw the legend: colours of systems, and dashes of a second key beside the axes."""
    handles = [
        Line2D([], [], label=name, **line_style(n), **({} if others else _look(n, None)))
        for n, name in enumerate(systems)
    ]
    for key, values in others.items():
        handles += [
            Line2D([], [], label=f"{key_words(key)} = {value_text(value)}", color="#555555",
                   **_look(0, n))
            for n, value in enumerate(values)
        ]  # fmt: skip
    outside = others or len(systems) > _INSIDE
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if outside else {}
    for text in axes.legend(handles=handles, frameon=False, fontsize=9, **beside).get_texts():
        text.set_parse_math(False)  # a label is a name, not a formula


def _bars(half: NDArray[np.float64]) -> NDArray[np.float64] | None:
    return half if np.isfinite(half).any() else None


def _coincide(mean: xr.DataArray, key: str) -> bool:
    first = mean.isel({key: 0}, drop=True)
    return bool(((mean == first) | (mean.isnull() & first.isnull())).all())


def _scale_up(axes: Axes, mean: xr.DataArray) -> None:
    """Begin at zero, or scale logarithmically if values span more than two decades."""
    known = mean.values[np.isfinite(mean.values)]
    if len(known) and known.min() > 0 and known.max() / known.min() > _DECADE**2:
        axes.set_yscale("log")
    elif len(known) and known.min() >= 0:
        axes.set_ylim(bottom=0.0)


def _cut(axes: Axes, at_end: Ends, names: dict[str, str]) -> None:
    """End linear axes below a system far above all others, and add its height to its name."""
    highest = {system: float(at_end.mean.sel(system=system).max()) for system in names}
    (far, top), *others = sorted(highest.items(), key=lambda item: -item[1])
    if axes.get_yscale() != "linear" or len(others) < 2 or not top > FAR * others[0][1] > 0.0:
        return
    axes.set_ylim(top=ROOM * others[0][1])
    names[far] += f", up to {top:.3g}"


_SAVES, _COSTS, _UNKNOWN = "#009E73", "#D55E00", "#666666"
_COLOURS = {True: _SAVES, False: _COSTS, None: _UNKNOWN}


def draw_advice(advice: Advice) -> bytes:
    """Draw all curves of an advice side by side, and return the SVG image."""
    count = len(advice.curves)
    figure = Figure(figsize=(0.8 + 4.2 * count, 3.2), layout="constrained")
    for place, curve in enumerate(advice.curves):
        _draw(figure.add_subplot(1, count, place + 1), curve, advice.parties)
    figure.axes[0].set_ylabel(f"saved: {advice.unit}")
    return svg_of(figure)


def _draw(axes: Axes, curve: Curve, parties: str) -> None:
    """Draw one curve: a point for each value, in the colour of its comparison."""
    across = [one.parties if curve.axis == "parties" else one.epsilon for one in curve.tried]
    axes.axhline(0.0, color="#888888", linewidth=1.0)
    axes.plot(across, [one.saves for one in curve.tried], color="#BBBBBB", zorder=1)
    for value, one in zip(across, curve.tried, strict=True):
        axes.errorbar(
            [value], [one.saves], yerr=[one.half_width or 0.0], fmt="o", capsize=4,
            color=_COLOURS[one.pays],
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(across, [f"{value:,.0f}" if value > 99 else f"{value:.3g}" for value in across])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(parties if curve.axis == "parties" else "ε")
    axes.xaxis.label.set_parse_math(False)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
