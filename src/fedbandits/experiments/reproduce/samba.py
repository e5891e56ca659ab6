"""Figure 8 of Ciucanu et al. (2022): time, reward and shares of work of SAMBA."""

from __future__ import annotations

import functools
import math
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Bernoulli
from fedbandits.experiments.config import Experiment, system
from fedbandits.experiments.plots import line_style
from fedbandits.experiments.reproduce.context import Context, Figure, Outcome
from fedbandits.random import Key
from fedbandits.systems.samba import Samba, Simulation
from fedbandits.systems.samba.packets import ROLES

_PAPER = "Ciucanu et al. 2022, Figure 8"
_MEANS = "../shared/data/arm-means/movielens.txt"
_WHAT = "arm means (how many, then one a line) or a file of ratings such as MovieLens's u.data"
ALGORITHMS = ("egreedy", "egreedy-decreasing", "softmax", "pursuit", "ucb", "thompson")
#: Mean rewards of N = 10⁵ pulls on MovieLens's means, as the authors' published results give them.
PUBLISHED = {
    10: (51_069, 51_862, 49_614, 49_174, 52_310, 52_743),
    100: (48_172, 49_451, 47_737, 45_119, 47_953, 52_572),
}
#: Of a run with independent draws, from a separate check: mean and deviation of a single run.
CHECKED = {
    (10, "ucb"): (52_285, 144),
    (10, "thompson"): (53_014, 137),
    (100, "ucb"): (47_945, 177),
    (100, "thompson"): (52_183, 169),
}


def _world(path: str, arms: int) -> Bernoulli:
    """Means as they are, or counted from ratings the way the published means were."""
    if pathlib.Path(path).suffix == ".txt":
        return Bernoulli(means=path, arms=arms)
    # Jester's ratings go from -10 to 10; MovieLens's published means count 4 and 5 stars.
    threshold = 0.0 if "jester" in _name(path).lower() else 3.0
    return Bernoulli(ratings=path, threshold=threshold, share_of="users", arms=arms)


def _name(path: str) -> str:
    return pathlib.Path(path).stem


def _time(context: Context, budgets: Sequence[int], arm_counts: Sequence[int]) -> Outcome:
    """CPU seconds of every algorithm, secure and plain, over budgets or numbers of arms."""
    paths = context.need_data(_MEANS, _WHAT)
    rows = [
        row
        for path in paths
        for budget in budgets
        for arms in arm_counts
        for row in _timings(context, path, budget, arms)
    ]
    over = "budget N" if len(budgets) > 1 else "arms K"
    return Outcome(rows, _draw_time(rows, over), _slopes(rows, over))


def _timings(context: Context, path: str, budget: int, arms: int) -> list[dict[str, Any]]:
    world = _world(path, arms)
    presets = [f"{kind}-{algorithm}" for kind in ("samba", "plain") for algorithm in ALGORITHMS]
    return [
        {
            "data": _name(path),
            "budget N": budget,
            "arms K": arms,
            "system": preset,
            "seconds": context.measure(
                f"{_name(path)}-N{budget}-K{arms}-{preset}",
                functools.partial(_cpu_seconds, preset, world, budget),
            ),
        }
        for preset in presets
    ]


def _cpu_seconds(preset: str, world: Bernoulli, budget: int) -> float:
    """Of one whole run without compilation; processor time, which other work disturbs little."""
    run = Simulation(system(preset, paillier_bits=2048).config, world, budget, 0, 0)
    began = time.thread_time()
    run.advance(budget)
    return round(time.thread_time() - began, 4)


def _draw_time(rows: list[dict[str, Any]], over: str) -> Plot:
    plot, panels = _panels(rows)
    for axes, data in panels:
        for index, algorithm in enumerate(ALGORITHMS):
            for prefix, style in (("samba", "-"), ("plain", ":")):
                points = [
                    (row[over], row["seconds"])
                    for row in rows
                    if row["data"] == data and row["system"] == f"{prefix}-{algorithm}"
                ]
                label = algorithm if prefix == "samba" else None
                look = line_style(index) | {"linestyle": style}
                axes.plot(*zip(*points, strict=True), marker=".", label=label, **look)
        axes.set(xlabel=over, ylabel="CPU seconds", yscale="log", title=data)
    panels[0][0].legend(frameon=False, title="SAMBA (dotted: plain)")
    return plot


def _panels(rows: list[dict[str, Any]]) -> tuple[Plot, list[tuple[Any, str]]]:
    """One pair of axes a data set."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    plot = Plot(figsize=(7.2 * len(names), 4.6), layout="constrained")
    axes = plot.subplots(1, len(names), squeeze=False)[0]
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return plot, list(zip(axes, names, strict=True))


def _slopes(rows: list[dict[str, Any]], over: str) -> list[str]:
    """Least-squares lines through each algorithm's seconds."""
    remarks = []
    for algorithm in ALGORITHMS:
        points = [(r[over], r["seconds"]) for r in rows if r["system"] == f"samba-{algorithm}"]
        x, y = np.array(points, dtype=np.float64).T
        slope, offset = np.polyfit(x, y, 1)
        spread = 1.0 - np.var(y - slope * x - offset) / np.var(y)
        remarks.append(
            f"{algorithm}: {slope:.3g} s for each unit of {over}, {offset:.2g} s beside; a line "
            f"explains {100 * spread:.1f}% of the variance"
        )
    remarks.append(
        "The paper's times (about 840 s at N = 10⁵, K = 100) are of another machine and code; its "
        "shapes are lines in N and K, Pursuit with twice the slope of the others."
    )
    return remarks


def _figure_8a(context: Context) -> Outcome:
    if context.full:
        return _time(context, range(50_000, 100_001, 10_000), [100])
    return _time(context, range(2000, 10_001, 2000), [20])


def _figure_8b(context: Context) -> Outcome:
    if context.full:
        return _time(context, [100_000], range(10, 101, 10))
    return _time(context, [4000], range(10, 51, 10))


def _figure_8c(context: Context) -> Outcome:
    """Rewards; the secure run returns the plain one's, which is checked on some replicates."""
    budget, replicates = 100_000, 50 if context.full else 20
    rows = []
    for path in context.need_data(_MEANS, _WHAT):
        for arms in (10, 100):
            rows += _rewards(context, path, budget, arms, replicates)
    return Outcome(rows, _draw_rewards(rows), _compare_rewards(rows))


def _rewards(
    context: Context, path: str, budget: int, arms: int, replicates: int
) -> list[dict[str, Any]]:
    plain = [system(f"plain-{algorithm}") for algorithm in ALGORITHMS]
    secure = [
        system(f"samba-{algorithm}", cipher="stream", paillier_bits=2048)
        for algorithm in ALGORITHMS
    ]
    world = _world(path, arms)
    results = {
        kind: context.run(
            f"{_name(path)}-K{arms}-{kind}",
            Experiment(
                name="reward",
                rounds=budget,
                environment=world,
                systems=tuple(systems),
                replicates=count,
            ),
        )
        for kind, systems, count in (("plain", plain, replicates), ("secure", secure, 2))
    }
    rows = []
    for algorithm in ALGORITHMS:
        last = results["plain"].reward.isel(round=-1).sum("party")
        totals = last.sel(system=f"plain-{algorithm}").values
        checked = results["secure"].reward.isel(round=-1).sum("party")
        secured = checked.sel(system=f"samba-{algorithm}").values
        rows.append(
            {
                "data": _name(path),
                "arms K": arms,
                "algorithm": algorithm,
                "mean": round(float(totals.mean()), 1),
                "deviation": round(float(totals.std(ddof=1)), 1),
                "standard error": round(float(totals.std(ddof=1)) / math.sqrt(len(totals)), 1),
                "secure equals plain": "yes" if (secured == totals[:2]).all() else "NO",
                "authors": _published(path, arms, algorithm),
            }
        )
    return rows


def _is_published(path: str) -> bool:
    """Whether a file holds the means that the authors published: 501 of 943 users for the best."""
    means = _world(path, 2).world(Key(0, 0)).means
    return pathlib.Path(path).suffix == ".txt" and abs(means[0] - 501 / 943) < 1e-9


def _published(path: str, arms: int, algorithm: str) -> int | str:
    """What the authors had, on the means that they published."""
    known = _is_published(path)
    return PUBLISHED[arms][ALGORITHMS.index(algorithm)] if known else "–"


def _draw_rewards(rows: list[dict[str, Any]]) -> Plot:
    plot, panels = _panels(rows)
    for axes, data in panels:
        for index, arms in enumerate((10, 100)):
            mine = [row for row in rows if row["data"] == data and row["arms K"] == arms]
            x = np.arange(len(mine)) + 0.3 * (index - 0.5)
            look = line_style(index) | {"linestyle": "none"}
            axes.errorbar(
                x, [r["mean"] for r in mine], [r["deviation"] for r in mine], fmt="o", capsize=3,
                label=f"K = {arms}: mean ± deviation of a run", **look,
            )  # fmt: skip
            if mine[0]["authors"] != "–":
                authors = [row["authors"] for row in mine]
                axes.plot(x + 0.08, authors, "x", color="black", label="authors" if index else None)
        axes.set_xticks(range(len(ALGORITHMS)), ALGORITHMS, rotation=20)
        axes.set(ylabel="cumulative reward", title=data)
    panels[0][0].legend(frameon=False, loc="lower left")
    return plot


def _compare_rewards(rows: list[dict[str, Any]]) -> list[str]:
    remarks = [
        "Secure and plain runs return the same rewards: "
        + (
            "yes, in every one compared."
            if all(r["secure equals plain"] == "yes" for r in rows)
            else "NO."
        )
    ]
    for row in rows:
        expected = CHECKED.get((row["arms K"], row["algorithm"]))
        if row["authors"] != "–" and expected:
            mean, deviation = expected
            distance = (row["mean"] - mean) / math.hypot(row["standard error"], deviation / 20**0.5)
            remarks.append(
                f"K = {row['arms K']}, {row['algorithm']}: {row['mean']:,.0f} against {mean:,} in "
                f"another check with independent draws: {distance:+.1f} standard errors."
            )
    remarks += [
        "The authors' replicates are not independent (each repeats the draws of the one before, a "
        "step later) and their Thompson arms share one seed a step, so their means are one draw "
        "of the dice rather than an average.",
        "Their schedule of decreasing ε is not in the paper; here it is min(1, K / t).",
    ]
    return remarks


def _figure_8d(context: Context) -> Outcome:
    """Who works how long: one UCB run each, every packet sealed by itself."""
    budget = 100_000 if context.full else 3000
    rows = []
    for path in context.need_data(_MEANS, _WHAT):
        for arms in (10, 50, 100):
            seconds = context.measure(
                f"{_name(path)}-N{budget}-K{arms}",
                functools.partial(_seconds_by_role, _world(path, arms), budget),
            )
            total = sum(seconds.values())
            rows.append(
                {"data": _name(path), "arms K": arms, "seconds": round(total, 2)}
                | {role: round(seconds[role] / total, 4) for role in ROLES}
                | {"one data owner": round(seconds["data owners"] / total / arms, 5)}
            )
    most = all(row["comp"] > max(row["one data owner"], row["controller"]) for row in rows)
    remarks = [
        "As in the paper Comp works most of all single parties."
        if most
        else "Unlike in the paper Comp does not work most of all single parties.",
        "Owners share their work equally. Key generation and decryption are the customer's and do "
        "not grow with N.",
        "Times are of one process that plays all roles; messages are not wrapped for a network.",
    ]
    return Outcome(rows, _draw_shares(rows), remarks)


def _seconds_by_role(world: Bernoulli, budget: int) -> dict[str, float]:
    run = Simulation(Samba(paillier_bits=2048), world, budget, 0, 0)
    run.advance(budget)
    return run.seconds


def _draw_shares(rows: list[dict[str, Any]]) -> Plot:
    plot, panels = _panels(rows)
    for axes, data in panels:
        mine = [row for row in rows if row["data"] == data]
        base = np.zeros(len(mine))
        for index, role in enumerate(ROLES):
            heights = np.array([100 * row[role] for row in mine])
            colour = line_style(index)["color"]
            labels = [f"K = {row['arms K']}" for row in mine]
            axes.bar(labels, heights, bottom=base, label=role, color=colour)
            base += heights
        axes.set(ylabel="share of time (%)", title=data)
    panels[0][0].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return plot


FIGURES: dict[str, Figure] = {
    "samba-8a": Figure(
        "Time over the budget", f"{_PAPER}(a)", "K = 20, N = 2,000 … 10,000",
        "K = 100, N = 50,000 … 100,000", _figure_8a,
    ),
    "samba-8b": Figure(
        "Time over the number of arms", f"{_PAPER}(b)", "N = 4,000, K = 10 … 50",
        "N = 100,000, K = 10 … 100", _figure_8b,
    ),
    "samba-8c": Figure(
        "Cumulative rewards", f"{_PAPER}(c)", "N = 100,000, K = 10 and 100, 20 runs",
        "the same, 50 runs", _figure_8c,
    ),
    "samba-8d": Figure(
        "Shares of time", f"{_PAPER}(d)", "N = 3,000, K = 10, 50, 100", "N = 100,000", _figure_8d,
    ),
}  # fmt: skip
