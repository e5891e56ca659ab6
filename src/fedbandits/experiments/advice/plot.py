"""The plot of an advice: what is saved at each tried value, with intervals."""

from __future__ import annotations

import io
import warnings

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbandits.experiments.advice.tried import Advice, Curve

_SAVES, _COSTS, _UNKNOWN = "#009E73", "#D55E00", "#666666"
_COLOURS = {True: _SAVES, False: _COSTS, None: _UNKNOWN}


def draw_advice(advice: Advice) -> bytes:
    """All curves side by side, as the text of an SVG image.

    Parameters
    ----------
    advice
        What was tried.
    """
    count = len(advice.curves)
    figure = Figure(figsize=(0.8 + 4.2 * count, 3.2), layout="constrained")
    for place, curve in enumerate(advice.curves):
        _draw(figure.add_subplot(1, count, place + 1), curve, advice.parties)
    figure.axes[0].set_ylabel(f"saved: {advice.unit}")
    image = io.BytesIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "fedbandits"}):
        warnings.filterwarnings("ignore", message="Glyph")  # scripts that the font lacks
        figure.savefig(image, format="svg", metadata={"Date": None})
    return image.getvalue()


def _draw(axes: Axes, curve: Curve, parties: str) -> None:
    """One curve: a point for each value, in the colour of what was found there."""
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
