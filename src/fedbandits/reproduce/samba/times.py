"""Figure 8(a) and (b) of Ciucanu et al. (2022): time over the budget and over the arms."""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.engine import Context, Outcome, legend_beside, panels, verdict_of
from fedbandits.reproduce.samba.laws import work_out
from fedbandits.reproduce.samba.runs import (
    ALGORITHMS,
    SILENT,
    SILENT_STREAM,
    STREAM,
    WAYS,
    Source,
    bare_costs,
    cpu_seconds,
    sources,
    what_was_played,
)
from fedbandits.systems.samba.theory import Costs, operations

#: Secure over plain and over distributed in one of the authors' result files.
_AUTHORS = (
    "In one of the authors' own result files (Jester, N = 10⁵, K = 100, first iteration) secure "
    "runs take 45 to 57 times as long as plain ones (Thompson 8 times), and 4 to 8 times as long "
    "as their distributed runs in clear: the paper's order of magnitude is the latter."
)


class Points(NamedTuple):
    """The points of the figure: budgets, numbers of arms, and how often."""

    budgets: Sequence[int]
    arms: Sequence[int]
    repeats: int

    @property
    def over(self) -> str:
        """The column that varies."""
        return "budget N" if len(self.budgets) > 1 else "arms K"


#: Sizes by figure and scale. Full: those of the authors' configuration, 50 runs each.
QUICK_8A = Points(range(2000, 10_001, 2000), [20], 5)
FULL_8A = Points(range(50_000, 100_001, 10_000), [100], 50)
QUICK_8B = Points([4000], range(10, 51, 10), 5)
FULL_8B = Points([100_000], [10, 20, 40, 60, 80, 100], 50)


def figure_8a(context: Context) -> Outcome:
    """Make time over the budget."""
    return _times(context, FULL_8A if context.full else QUICK_8A)


def figure_8b(context: Context) -> Outcome:
    """Make time over the number of arms."""
    return _times(context, FULL_8B if context.full else QUICK_8B)


def _times(context: Context, points: Points) -> Outcome:
    found = sources(context)
    taken = _measure(context, found, points)
    bare = context.measured({0: ("bare", lambda _: list(bare_costs()))}, points.repeats)[0]
    costs = Costs(*(statistics.median(each) for each in zip(*bare, strict=True)))
    rows = [
        _row(source, budget, arms, system, seconds, costs)
        for (source, budget, arms, system), seconds in taken.items()
    ]
    laws = work_out(rows, points.over, costs)
    remarks = [
        what_was_played(found),
        f"Means and deviations of {points.repeats} runs, measured in turn, in processor time; the "
        "customer's key of 2048 bits is made before.",
        *_bare(rows, costs, points.over),
        _beside_published(rows),
        _AUTHORS,
        "The text at hand has no images, so shapes are compared. Its times (about 840 s at "
        "N = 10⁵, K = 100) are of another machine and code.",
    ]
    return Outcome(rows, _draw(rows, points.over), remarks, verdict_of(laws))


def _measure(
    context: Context, found: Sequence[Source], points: Points
) -> dict[tuple[str, int, int, str], list[float]]:
    """Measure seconds by data, N, K and system."""
    table = {
        (source.name, budget, arms, title): (
            f"{source.name}-N{budget}-K{arms}-{title}".replace(" ", "_"),
            functools.partial(cpu_seconds, preset, source.world(arms), budget, parts),
        )
        for source, budget, arms in itertools.product(found, points.budgets, points.arms)
        for title, preset, parts in _systems()
    }
    return context.measured(table, points.repeats)


def _systems() -> Iterator[tuple[str, str, dict[str, str]]]:
    for way, algorithm in itertools.product(WAYS, ALGORITHMS):
        yield f"{algorithm}, {WAYS[way]}", f"{way}-{algorithm}", {}
    yield f"ucb, {STREAM}", "samba-ucb", {"cipher": "stream"}
    yield f"ucb, {SILENT}", "samba-silent-ucb", {}
    yield f"ucb, {SILENT_STREAM}", "samba-silent-ucb", {"cipher": "stream"}


def _row(
    source: str, budget: int, arms: int, system: str, seconds: Sequence[float], costs: Costs
) -> dict[str, Any]:
    spread = statistics.stdev(seconds) if len(seconds) > 1 else 0.0
    iterations = 2 if system.startswith("pursuit") else 1
    # Steps that explore seal no scores, and how many do differs from run to run.
    sealed = system.endswith(WAYS["samba"]) and not system.startswith("egreedy")
    bare = operations(budget, arms, iterations).seconds(costs) if sealed else None
    return {
        "data": source,
        "budget N": budget,
        "arms K": arms,
        "system": system,
        "seconds": round(statistics.mean(seconds), 5),
        "deviation": round(spread, 5),
        "runs": len(seconds),
        "bare operations": "–" if bare is None else round(bare, 5),
    }


def _bare(rows: Sequence[dict[str, Any]], costs: Costs, over: str) -> Iterator[str]:
    aes = 1e6 * (costs.aes_encryption + costs.aes_decryption) / 2
    yield (
        f"Theorem 4: (N - K) nb_A times 4 K AES-GCM operations of {aes:.2f} µs each, K Paillier "
        f"encryptions of {1e3 * costs.paillier_encryption:.1f} ms and a decryption, drawn dashed."
    )
    last = max(row[over] for row in rows)
    mine = [row for row in rows if row["system"] == f"ucb, {WAYS['samba']}" and row[over] == last]
    share = statistics.mean(row["bare operations"] / row["seconds"] for row in mine)
    yield f"They are {100 * share:.0f}% of UCB's time at {over} = {last:,}."


def _beside_published(rows: Sequence[dict[str, Any]]) -> str:
    """Compare the silent variant with the published one, of the same cipher, over all sizes."""
    pairs = {"AES-GCM packets": (SILENT, WAYS["samba"]), "stream cipher": (SILENT_STREAM, STREAM)}
    total = {
        way: sum(row["seconds"] for row in rows if row["system"] == f"ucb, {way}")
        for way in itertools.chain(*pairs.values())
    }
    said = (
        f"{total[silent] / max(total[published], 1e-12):.2f} times with {cipher}"
        for cipher, (silent, published) in pairs.items()
    )
    return (
        f"With UCB the silent variant takes as long as the published one {', '.join(said)}, the "
        "dealer's work included. It adds shares in place of Paillier's encryptions. The paper "
        "does not have it, so it does not count in the verdict."
    )


def _draw(rows: Sequence[dict[str, Any]], over: str) -> Plot:
    names = list(dict.fromkeys(row["data"] for row in rows))
    plot, axes = panels(len(names), 2, width=5.9, height=4.1)
    for name, (theirs, ours) in zip(names, zip(axes[::2], axes[1::2], strict=True), strict=True):
        mine = [row for row in rows if row["data"] == name]
        _draw_as_published(theirs, mine, over)
        theirs.set(title=f"as the paper draws it: {name}")
        _draw_ways(ours, mine, over)
        ours.set(title=f"every way to play UCB: {name}")
    return plot


def _draw_as_published(axes: Axes, rows: Sequence[dict[str, Any]], over: str) -> None:
    """Draw linear axes: SAMBA solid, plain runs dotted, Theorem 4 dashed."""
    for index, algorithm in enumerate(ALGORITHMS):
        for way, style in (("samba", "-"), ("plain", ":")):
            look = line_style(index) | {"linestyle": style, "linewidth": 1.5}
            label = algorithm if way == "samba" else None
            _points(axes, rows, f"{algorithm}, {WAYS[way]}", over, label, look)
    _bare_line(axes, rows, "ucb", over, "bare operations (Theorem 4)")
    _bare_line(axes, rows, "pursuit", over, None)
    axes.set(xlabel=over, ylabel="processor time (s)")
    axes.set_ylim(bottom=0)
    legend_beside(axes, title="SAMBA (dotted: plain)", title_fontsize=8)


def _draw_ways(axes: Axes, rows: Sequence[dict[str, Any]], over: str) -> None:
    ways = (SILENT, "secure", SILENT_STREAM, STREAM, "distributed in clear", "plain")
    for index, way in enumerate(ways):
        look = line_style(index) | {"linewidth": 1.5}
        _points(axes, rows, f"ucb, {way}", over, way, look)
    _bare_line(axes, rows, "ucb", over, "bare operations (Theorem 4)")
    axes.set(xlabel=over, ylabel="processor time (s)", yscale="log")
    legend_beside(axes)


def _points(
    axes: Axes, rows: Sequence[dict[str, Any]], system: str, over: str, label: str | None,
    look: dict[str, Any],
) -> None:  # fmt: skip
    mine = [row for row in rows if row["system"] == system]
    axes.errorbar(
        [row[over] for row in mine], [row["seconds"] for row in mine],
        [row["deviation"] for row in mine], marker=".", capsize=2, label=label, **look,
    )  # fmt: skip


def _bare_line(
    axes: Axes, rows: Sequence[dict[str, Any]], algorithm: str, over: str, label: str | None
) -> None:
    mine = [row for row in rows if row["system"] == f"{algorithm}, {WAYS['samba']}"]
    axes.plot(
        [row[over] for row in mine], [row["bare operations"] for row in mine],
        color="black", linestyle="--", linewidth=1.2, label=label,
    )  # fmt: skip
