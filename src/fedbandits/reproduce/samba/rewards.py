"""Figure 8(c) of Ciucanu et al. (2022): cumulative rewards of SAMBA and of plain runs."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.random import Key
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Row,
    Verdict,
    count_in_thousands,
    grouped,
    legend_beside,
    panels,
    where,
)
from fedbandits.reproduce.samba import (
    ALGORITHMS,
    PARTY_STEPS,
    Source,
    parties,
    played_means,
    replicate,
    sources,
)
from fedbandits.settings.experiment import Experiment, Variant, system

#: The schedule of decreasing ε in the authors' code; the paper has no schedule.
LOGARITHMIC = "egreedy-decreasing, 1 / log₂ t"
#: All played algorithms, in order.
PLAYED = (*ALGORITHMS[:2], LOGARITHMIC, *ALGORITHMS[2:])
#: The paper's six algorithms, by the settings of the authors' code.
THEIRS = tuple(LOGARITHMIC if name == "egreedy-decreasing" else name for name in ALGORITHMS)
#: Mean rewards of N = 10⁵ pulls on MovieLens's means, from the authors' published results.
PUBLISHED = {
    10: dict(zip(THEIRS, (51_069, 51_862, 49_614, 49_174, 52_310, 52_743), strict=True)),
    100: dict(zip(THEIRS, (48_172, 49_451, 47_737, 45_119, 47_953, 52_572), strict=True)),
}
#: The same on Jester's ratings, as far as known (150 runs), and the authors' tuned settings there.
JESTER: dict[int, dict[str, int]] = {100: {"softmax": 46_589, "thompson": 48_605}}
TUNED_ON_JESTER = {"softmax": "softmax(0.02)", "pursuit": "pursuit(0.2)"}
#: Mean and deviation of a single run with independent draws, from a separate check.
CHECKED = {
    (10, "ucb"): (52_285, 144),
    (10, "thompson"): (53_014, 137),
    (100, "ucb"): (47_945, 177),
    (100, "thompson"): (52_183, 169),
}
#: Largest distance of the authors' means from ours, in deviations of a run: their replicates repeat
#: each other's draws, so their mean varies about like a run.
_FAR = 3.0
#: Number of secure runs that are compared with plain runs.
_SECURE = 2
#: Columns with the result of Theorem 2, by kind of run.
_EQUAL = {"secure": "secure equals plain", "silent": "silent equals its plain run"}
BUDGET, ARMS = 100_000, (10, 100)
#: Runs quick and full, of the published variant and of the silent variant. An owner's secret draws
#: make a silent run ten times as long.
REPLICATES, SILENT_REPLICATES = (20, 50), (4, 20)


class Rewards(NamedTuple):
    """Rewards by way of play, (system, replicate, round)."""

    plain: xr.DataArray  # of the published variant, on one machine
    secure: xr.DataArray  # of the published variant, by SAMBA
    silent: xr.DataArray  # of the silent variant, with other rounding and draws of scores


def figure_8c(context: Context) -> Outcome:
    """Make rewards; on some replicates, secure runs must have the rewards of plain runs.

    Silent runs of parties must have the rewards of plain runs, in few steps.
    """
    data, rows = sources(context), list[Row]()
    curves: dict[str, xr.DataArray] = {}
    for source in data:
        for arms in ARMS:
            played = _play(context, source, arms)
            rows += [_row(source, arms, name, played) for name in PLAYED]
        curves[source.name] = played.plain
    remarks = [played_means(data), *_remarks(rows)]
    return Outcome(rows, _draw(rows, curves), remarks, verdict(rows))


def _variants(kind: str, source: Source, **parts: Any) -> tuple[Variant, ...]:
    presets = {name: f"{kind}-{name.partition(',')[0]}" for name in PLAYED}
    algorithms = {LOGARITHMIC: "decreasing-epsilon-greedy(1, 1, logarithmic)"}
    algorithms |= TUNED_ON_JESTER if source.is_jester else {}
    settings = {name: {"algorithm": algorithm} for name, algorithm in algorithms.items()}
    return tuple(
        system(preset, label=name, **parts, **settings.get(name, {}))
        for name, preset in presets.items()
    )


def _play(context: Context, source: Source, arms: int) -> Rewards:
    stem = f"{source.name}-K{arms}".replace(" ", "-")
    kinds = {
        "plain": (_variants("plain", source), REPLICATES[context.full]),
        "secure": (_variants("samba", source, cipher="stream", paillier_bits=2048), _SECURE),
        "silent": (
            _variants("plain", source, comparison="silent"),
            SILENT_REPLICATES[context.full],
        ),
    }
    table = {
        kind: (
            f"{stem}-{kind}",
            Experiment(
                name="reward",
                rounds=BUDGET,
                environment=source.world(arms),
                systems=systems,
                replicates=count,
                checkpoints=150,
            ),
        )
        for kind, (systems, count) in kinds.items()
    }
    results = context.played(table).values()
    return Rewards(*(result.reward.sum("party", skipna=False) for result in results))


def _row(source: Source, arms: int, name: str, played: Rewards) -> Row:
    totals, secured, silent = (of_way.sel(system=name).isel(round=-1).values for of_way in played)
    stated = JESTER if source.is_jester else PUBLISHED if _is_published(source) else {}
    authors = stated.get(arms, {}).get(name, "–")
    deviation = float(totals.std(ddof=1))
    return {
        "data": source.name,
        "arms K": arms,
        "algorithm": name,
        "mean": round(float(totals.mean()), 1),
        "deviation": round(deviation, 1),
        "standard error": round(deviation / math.sqrt(len(totals)), 1),
        "secure equals plain": _equal(secured, totals),
        "silent mean": round(float(silent.mean()), 1),
        "silent deviation": round(float(silent.std(ddof=1)), 1),
        "silent equals its plain run": _by_parties(source, arms, name),
        "authors": authors,
    }


def _equal(private: np.ndarray, plain: np.ndarray) -> str:
    """Return whether the first runs, which are played both ways, have equal rewards."""
    return "yes" if (private == plain[: len(private)]).all() else "NO"


def _by_parties(source: Source, arms: int, name: str) -> str:
    """Return whether a silent run of parties has the rewards of its plain run, in few steps."""
    world, rounds = source.world(arms), arms + PARTY_STEPS
    silent, plain = (
        next(variant for variant in variants if variant.label == name).config
        for variants in (
            _variants("samba-silent", source),
            _variants("plain", source, comparison="silent"),
        )
    )
    by_parties, in_clear = parties(silent, world, rounds), replicate(plain, world, rounds)
    by_parties.advance(rounds)
    in_clear.advance(rounds)
    return _equal(by_parties.reward, in_clear.reward)


def _is_published(source: Source) -> bool:
    """Return whether the means are the authors' published means: 501/943 for the best."""
    if source.path is None or pathlib.Path(source.path).suffix != ".txt":
        return False
    means = source.world(2).world(Key(0, 0)).means
    return bool(abs(means[0] - 501 / 943) < 1e-9)


def verdict(rows: Sequence[Row]) -> Verdict:
    """Judge by Theorem 2, by the authors' comparable means, and by the best algorithm."""
    for kind, column in _EQUAL.items():
        unequal = [row for row in rows if row[column] != "yes"]
        if unequal:
            why = f"{kind} and plain runs differ in {len(unequal)} of {len(rows)} rows"
            return Verdict(False, why)
    parts = [
        "secure runs return the same rewards as their plain ones in every pair, and so do silent "
        "runs that parties play"
    ]
    papers = grouped((row for row in rows if row["algorithm"] in THEIRS), "data", "arms K")
    best = {at: max(of, key=lambda row: row["mean"])["algorithm"] for at, of in papers.items()}
    others = {f"{data}, K = {arms}": b for (data, arms), b in best.items() if b != "thompson"}
    wins = "; ".join(f"{at}: {name} earns most" for at, name in others.items())
    parts.append(wins or "Thompson earns most everywhere, as in the paper")
    apart = [(_distance(row), row) for row in rows if row["authors"] != "–"]
    far = [f"{row['algorithm']} at K = {row['arms K']}" for far, row in apart if far > _FAR]
    if apart:
        most, row = max(apart, key=lambda pair: pair[0])
        parts.append(
            f"the authors' {len(apart)} means lie within {most:.1f} deviations of a run of ours "
            f"(furthest {row['algorithm']}, K = {row['arms K']}: {row['mean']:,.0f} here, "
            f"{row['authors']:,} there)"
        )
        if far:
            parts.append(f"further than {_FAR:g}: {', '.join(far)}")
    else:
        parts.append("the authors' numbers are of other means and cannot be compared")
    return Verdict(not others and not far, "; ".join(parts) + ".")


def _distance(row: Row) -> float:
    """Return the distance of the authors' mean from ours, in deviations of a run."""
    return float(abs(row["mean"] - row["authors"]) / max(row["deviation"], 1e-9))


def _remarks(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        expected = CHECKED.get((row["arms K"], row["algorithm"]))
        if row["authors"] != "–" and expected:
            mean, deviation = expected
            distance = (row["mean"] - mean) / math.hypot(row["standard error"], deviation / 20**0.5)
            yield (
                f"K = {row['arms K']}, {row['algorithm']}: {row['mean']:,.0f} against {mean:,} in "
                f"another check with independent draws: {distance:+.1f} standard errors."
            )
    yield (
        f"Parties of the silent variant play {PARTY_STEPS} steps of a run, which are compared with "
        "its plain run. Longer silent runs are simulated: the means are those of plain ones."
    )
    yield (
        "The paper names no schedule of decreasing ε. The authors' code has 1 / log₂ t, so their "
        "numbers stand beside that; egreedy-decreasing is min(1, K / t)."
    )
    yield (
        "The authors' replicates are not independent (each repeats the draws of the one before, a "
        "step later) and their Thompson arms share one seed a step, so their means are one draw "
        "of the dice rather than an average: held against deviations of a run, not standard errors."
    )


def _draw(rows: Sequence[Row], curves: dict[str, xr.DataArray]) -> Plot:
    """Draw rewards over budgets with the most arms, as the paper does, and final rewards beside."""
    plot, axes = panels(len(curves), 2, width=6.4, height=4.3)
    for (name, curve), theirs, ours in zip(curves.items(), axes[::2], axes[1::2], strict=True):
        _draw_budgets(theirs, curve)
        theirs.set_title(f"as the paper draws it: {name}, K = {max(ARMS)}")
        _draw_ends(ours, where(rows, data=name))
        ours.set_title(f"mean ± deviation of a run: {name}, N = {BUDGET:,}")
    return plot


def _draw_budgets(axes: Axes, curve: xr.DataArray) -> None:
    """Draw rewards over budgets; the first rounds of a run are a run of a smaller budget."""
    late = curve.interp(round=np.linspace(BUDGET / 2, BUDGET, 6))
    for index, name in enumerate(THEIRS):
        mean = late.sel(system=name).mean("replicate")
        look = line_style(index) | {"linewidth": 1.5, "linestyle": "--"}
        axes.plot(late["round"], mean, marker=".", label=name, **look)
    axes.set(xlabel="budget N", ylabel="cumulative reward")
    count_in_thousands(axes, "x", "y")
    axes.legend(frameon=False, fontsize=8)


def _draw_ends(axes: Axes, rows: Sequence[Row]) -> None:
    for index, ((arms,), mine) in enumerate(grouped(rows, "arms K").items()):
        x = np.arange(len(mine)) + 0.3 * (index - 0.5)
        look = line_style(index) | {"linestyle": "none"}
        axes.errorbar(
            x, [r["mean"] for r in mine], [r["deviation"] for r in mine], fmt="o", capsize=3,
            label=f"K = {arms}", **look,
        )  # fmt: skip
        axes.errorbar(
            x - 0.1, [r["silent mean"] for r in mine], [r["silent deviation"] for r in mine],
            fmt="s", markerfacecolor="none", capsize=3, label=f"K = {arms}, silent", **look,
        )  # fmt: skip
        stated = [(at + 0.1, row["authors"]) for at, row in zip(x, mine, strict=True)]
        known = [(at, value) for at, value in stated if value != "–"]
        if known:
            label = "authors" if index == 0 else None
            axes.plot(*zip(*known, strict=True), "x", color="black", label=label)
    labels = [name.replace("-", "-\n").replace(", ", ",\n") for name in PLAYED]
    axes.set_xticks(range(len(PLAYED)), labels, fontsize=8)
    axes.set(ylabel="cumulative reward")
    count_in_thousands(axes, "y")
    legend_beside(axes)
