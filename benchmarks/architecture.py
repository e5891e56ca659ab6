"""The picture of how fedbandits is built: ``python benchmarks/architecture.py [FILE]``."""

from __future__ import annotations

import pathlib
import sys

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FILE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "images" / "architecture.png"
FOOT = "Arrows point to what is used. Loops and parties give the same results bit for bit."
PLAIN, SHARED, DRIVEN, JUDGED = "#f4f4f4", "#dcebf7", "#fdebd3", "#e2f1de"
#: Left end, lower end, width, name, what is in it, colour.
ROOMS = (
    (0.1, 5.8, 3.5, "researchers", "TOML or Python, own data,\nown algorithm", PLAIN),
    (4.25, 5.8, 3.5, "privacy officers", "reports, claims, audits,\nledger statements", PLAIN),
    (8.4, 5.8, 3.5, "applications", "HTTP door, clients:\ndecide, then reward", PLAIN),
    (0.1, 4.1, 3.5, "experiments", "compiled loops, sweeps,\n“does it pay?”", DRIVEN),
    (4.25, 4.1, 3.5, "audits, ledger", "attacks on claims; releases\nare charged first", JUDGED),
    (8.4, 4.1, 3.5, "deployment", "one process a party: store,\nsealed messages", DRIVEN),
    (
        *(0.1, 2.4, 11.8, "systems: FedUCB · FCLUB · P-FCB · SAMBA · baselines · yours"),
        *("a plan, parties without input or output, a loop with the same mathematics, a claim",),
        SHARED,
    ),
    (0.1, 0.7, 2.8, "environments", "worlds, tables, logs,\ndrift, delay", PLAIN),
    (3.1, 0.7, 2.8, "learners", "ridge regression, confidence,\nclusters, indices", SHARED),
    (6.1, 0.7, 2.8, "privacy", "mechanisms, accounting,\nclaims, secure noise", JUDGED),
    (9.1, 0.7, 2.8, "crypto", "packets, Paillier,\nshares, comparison", SHARED),
)
#: Where they begin, and where they end.
ARROWS = (
    *(((x, 5.8), (x, 5.14)) for x in (1.85, 6.0, 10.15)),
    *(((x, 4.1), (x, 3.44)) for x in (1.85, 6.0, 10.15)),
    *(((x, 2.4), (x, 1.74)) for x in (1.5, 4.5, 7.5, 10.5)),
)


def box(
    axes: Axes, left: float, low: float, wide: float, title: str, text: str, color: str
) -> None:
    """A room: its name, and in small letters what is in it."""
    shape = {"boxstyle": "round,pad=0,rounding_size=0.08", "edgecolor": "#555555"}
    axes.add_patch(FancyBboxPatch((left, low), wide, 1.0, facecolor=color, **shape))
    middle = left + wide / 2
    axes.text(middle, low + 0.72, title, ha="center", va="center", fontsize=11, weight="bold")
    axes.text(middle, low + 0.32, text, ha="center", va="center", fontsize=8.2)


def draw() -> Figure:
    """What is written once is in the middle; above, who plays it; below, what it stands on."""
    figure = Figure(figsize=(11, 6.2))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(0, 12), ylim=(-0.1, 6.9))
    axes.axis("off")
    for room in ROOMS:
        box(axes, *room)
    for start, end in ARROWS:
        style = {"arrowstyle": "-|>", "color": "#555555"}
        axes.annotate("", xy=end, xytext=start, arrowprops=style)
    axes.text(6.0, 0.25, FOOT, ha="center", va="center", fontsize=9, style="italic")
    return figure


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    draw().savefig(sys.argv[1] if len(sys.argv) > 1 else FILE, dpi=110)
