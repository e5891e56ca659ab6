"""Figure 8(c) of Ciucanu et al. (2022): cumulative rewards of SAMBA and of plain runs."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.random import Key
from fedbandits.reproduce.context import Context, Outcome
from fedbandits.reproduce.samba_data import (
    ALGORITHMS,
    MEANS,
    WHAT,
    bernoulli_world,
    data_name,
    data_panels,
)
from fedbandits.settings.experiment import Experiment, system

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


def figure_8c(context: Context) -> Outcome:
    """Rewards; the secure run returns the plain one's, which is checked on some replicates."""
    budget, replicates = 100_000, 50 if context.full else 20
    rows = []
    for path in context.need_data(MEANS, WHAT):
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
    world = bernoulli_world(path, arms)
    results = {
        kind: context.run(
            f"{data_name(path)}-K{arms}-{kind}",
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
                "data": data_name(path),
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
    means = bernoulli_world(path, 2).world(Key(0, 0)).means
    return pathlib.Path(path).suffix == ".txt" and abs(means[0] - 501 / 943) < 1e-9


def _published(path: str, arms: int, algorithm: str) -> int | str:
    """What the authors had, on the means that they published."""
    known = _is_published(path)
    return PUBLISHED[arms][ALGORITHMS.index(algorithm)] if known else "–"


def _draw_rewards(rows: list[dict[str, Any]]) -> Plot:
    plot, panels = data_panels(rows)
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
