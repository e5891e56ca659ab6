"""FCLUB over its parameters, and from where private collaboration pays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.experiments.plots import line_style
from fedbandits.reproduce.context import Context, Outcome
from fedbandits.reproduce.fclub_worlds import (
    ALONE,
    CLUSTERS,
    DELTA,
    EPSILON,
    LOCAL,
    SMALL_DELTA,
    Scale,
    drawn_world,
    given_path,
    given_world,
    mean_and_deviation,
    panels,
    play,
    standard_error,
    total_regret,
)
from fedbandits.settings.experiment import Variant, system

#: What is varied by itself: system, part, and its values; the others stay at their defaults.
SWEEPS: dict[tuple[str, str], tuple[float, ...]] = {
    ("fclub-dc", "alpha1"): (0.5, 1.0, 1.5, 2.0, 3.0),
    ("fclub-dc", "alpha2"): (0.5, 1.0, 2.0, 3.0, 4.0),
    ("fclub-dc", "U = D"): (1.001, 1.01, 1.1, 1.5, 2.0),
    ("fclub", "epsilon"): (0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    ("fclub", "delta"): (1e-6, 1e-5, 1e-3, 1e-1),
    ("fclub", "strictness"): (0.25, 0.5, 0.75, 1.0, 2.0),
    ("fclub", "trust"): (0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
}
_DEFAULTS = {
    "alpha1": 1.5, "alpha2": 2.0, "U = D": 1.01,
    "epsilon": EPSILON, "delta": DELTA, "strictness": 0.75, "trust": 1.0,
}  # fmt: skip
_SYMBOLS = {"alpha1": "α₁", "alpha2": "α₂", "U = D": "U = D", "epsilon": "ε", "delta": "δ"}


def _label(preset: str, part: str, value: float) -> str:
    return f"{preset}, {_SYMBOLS.get(part, part)}{',' if part == 'U = D' else ' ='} {value:g}"


def _varied(preset: str, part: str, value: float) -> Variant:
    settings: dict[str, Any] = {part: value}
    if part == "U = D":
        settings = {"sharing": f"delayed({value}, {value})"}
    if preset == "fclub":
        settings = {"epsilon": EPSILON, "delta": DELTA} | settings
    return system(preset, label=_label(preset, part, value), **settings)


def parameters(context: Context) -> Outcome:
    """Regret at T, one parameter at a time."""
    path = given_path(context)
    world = drawn_world("spread") if path is None else given_world(path, whole=False)
    scale = Scale.of(context, quick=2)
    without = play(context, "baselines", world, [system(ALONE), system(LOCAL)], scale)
    rows = []
    for number, ((preset, part), values) in enumerate(SWEEPS.items()):
        systems = [_varied(preset, part, value) for value in values]
        result = play(context, f"sweep-{number + 1}", world, systems, scale)
        rows += [_point(result, without, preset, part, value) for value in values]
    base = {label: _final(without, label) for label in (ALONE, LOCAL)}
    placed = "each cluster on all servers" if path is None else "on servers as they come"
    remarks = [
        f"Users: {placed}. One parameter is varied at a time; the others are as in Figure 2(a): "
        f"ε = {EPSILON:g}, δ = {DELTA:g} for fclub.",
        f"Without any collaboration between servers: {ALONE} (what ratios are to) "
        f"{base[ALONE]:,.0f}, {LOCAL} {base[LOCAL]:,.0f}.",
        *_best(rows),
    ]
    return Outcome(rows, _draw_parameters(rows, base), remarks)


def _final(result: xr.Dataset, label: str) -> float:
    return mean_and_deviation(total_regret(result, label).isel(round=-1))[0]


def _point(
    result: xr.Dataset, without: xr.Dataset, preset: str, part: str, value: float
) -> dict[str, Any]:
    label = _label(preset, part, value)
    mean, deviation = mean_and_deviation(total_regret(result, label).isel(round=-1))
    end = result.sel(system=label).isel(round=-1)
    return {
        "system": preset,
        "parameter": _SYMBOLS.get(part, part),
        "value": value,
        "default": "yes" if value == _DEFAULTS[part] else "",
        "regret": round(mean, 1),
        "deviation": round(deviation, 1),
        "ratio": round(mean / _final(without, ALONE), 3),
        "Rand index": round(float(end.adjusted_rand_index.mean()), 3),
        "messages": round(float(end.messages.mean())),
    }


def _grouped(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    names = dict.fromkeys((row["system"], row["parameter"]) for row in rows)
    return [
        (name, part, [r for r in rows if (r["system"], r["parameter"]) == (name, part)])
        for name, part in names
    ]


def _best(rows: Sequence[dict[str, Any]]) -> list[str]:
    remarks = []
    for name, part, mine in _grouped(rows):
        best = min(mine, key=lambda row: row["regret"])
        default = next(row for row in mine if row["default"])
        remarks.append(
            f"{name}, {part}: least regret {best['regret']:,} at {best['value']:g}, "
            f"{default['regret']:,} at the default {default['value']:g}, at most "
            f"{max(row['regret'] for row in mine):,}."
        )
    return remarks


def _draw_parameters(rows: Sequence[dict[str, Any]], base: dict[str, float]) -> Plot:
    groups = _grouped(rows)
    plot, axes = panels(2, 4, height=3.2)
    highest = max(*(row["regret"] + row["deviation"] for row in rows), *base.values())
    lowest = min(*(row["regret"] - row["deviation"] for row in rows), *base.values())
    for each, (name, part, mine) in zip(axes, groups, strict=False):
        base_of = 1.0 if part == "U = D" else 0.0  # thresholds are told apart by what exceeds 1
        values = [row["value"] - base_of for row in mine]
        look = line_style(0 if name == "fclub" else 1) | {"linewidth": 1.6}
        each.errorbar(
            values, [r["regret"] for r in mine], [r["deviation"] for r in mine],
            marker="o", markersize=4, capsize=3, **look,
        )  # fmt: skip
        for index, (label, level) in enumerate(base.items()):
            each.axhline(level, color="black", linestyle=("--", ":")[index], lw=1.0, label=label)
        default = next(row for row in mine if row["default"])
        each.plot(
            default["value"] - base_of, default["regret"], "s", color="black", label="default"
        )
        each.set(title=f"{name}: {part}", xlabel=part, yscale="log")
        each.set_ylim(0.9 * max(lowest, 1e-2), 1.1 * highest)
        if part in ("U = D", "ε", "δ"):
            each.set_xscale("log")
            each.set_xticks(values, [f"{row['value']:g}" for row in mine])
            each.minorticks_off()
    for first in axes[::4]:
        first.set_ylabel("regret at T")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[-1].legend(handles, labels, frameon=False, loc="center")
    for each in axes[len(groups) :]:
        each.axis("off")
    return plot


class Pays(NamedTuple):
    """Where collaboration is held against its absence.

    Parameters
    ----------
    epsilons
        Values of ε, played with 40 users for as many rounds as the scale has.
    rounds
        Horizons T, played with 40 users.
    users
        Numbers of users in 5 clusters, with as many rounds a user as 40 have.
    """

    epsilons: Sequence[float]
    rounds: Sequence[int]
    users: Sequence[int]

    @classmethod
    def of(cls, context: Context) -> Pays:
        """More points at the full scale."""
        if context.full:
            return cls(
                (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
                (10_000, 20_000, 50_000, 131_071, 300_000, 1_000_000),
                (20, 40, 80, 160, 320),
            )
        return cls(
            (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (20_000, 50_000, 131_071, 300_000), (20, 40, 80, 160)
        )


_DELTAS = (SMALL_DELTA, DELTA)


def _private(epsilon: float, delta: float) -> Variant:
    label = f"fclub, ε = {epsilon:g}, δ = {delta:g}"
    return system("fclub", label=label, epsilon=epsilon, delta=delta)


def pays(context: Context) -> Outcome:
    """Regret with private releases over regret of every server by itself."""
    points, scale = Pays.of(context), Scale.of(context)
    rows = _ratios(context, "epsilon", 40, scale, points.epsilons)
    for rounds in points.rounds:
        rows += _ratios(context, "T", 40, scale._replace(rounds=rounds), [EPSILON])
    for users in points.users:
        long = scale._replace(rounds=max(2, scale.rounds * users // 40))
        rows += _ratios(context, "users a cluster", users, long, [EPSILON])
    remarks = [
        "Every cluster lies on all 5 servers. Ratios below 1: noisy sums of other servers' users "
        f"help. Where they are not varied ε = {EPSILON:g}, T = {scale.rounds:,} and 40 users; "
        "with more users T grows in proportion, so that rounds a user stay.",
        *_thresholds(rows),
        f"δ = {DELTA:g} is the paper's; a promise that may fail for every tenth record is none to "
        f"rely on, hence {SMALL_DELTA:g} beside it.",
    ]
    return Outcome(rows, _draw_pays(rows), remarks)


def _ratios(
    context: Context, over: str, users: int, scale: Scale, epsilons: Iterable[float]
) -> list[dict[str, Any]]:
    points = [(epsilon, delta) for epsilon in epsilons for delta in _DELTAS]
    systems = [system(LOCAL), *(_private(*point) for point in points)]
    name = f"{over.replace(' ', '-')}-{users}-users-{scale.rounds}-rounds"
    result = play(context, name, drawn_world("spread", users), systems, scale)
    local = total_regret(result, LOCAL).isel(round=-1)
    rows = []
    for epsilon, delta in points:
        private = total_regret(result, _private(epsilon, delta).label).isel(round=-1)
        value = {"epsilon": epsilon, "T": scale.rounds, "users a cluster": users // CLUSTERS}[over]
        rows.append(
            {
                "over": over,
                "value": value,
                "epsilon": epsilon,
                "delta": delta,
                "users": users,
                "rounds": scale.rounds,
                "fclub": round(float(private.mean()), 1),
                LOCAL: round(float(local.mean()), 1),
                "ratio": round(float(private.mean() / local.mean()), 3),
                "standard error": round(standard_error(private / local), 3),
            }
        )
    return rows


def _thresholds(rows: Sequence[dict[str, Any]]) -> list[str]:
    """From which value on all ratios are clearly below 1: by two standard errors."""
    remarks = []
    for over in dict.fromkeys(row["over"] for row in rows):
        for delta in _DELTAS:
            mine = [row for row in rows if row["over"] == over and row["delta"] == delta]
            start = len(mine)
            while start and mine[start - 1]["ratio"] + 2.0 * mine[start - 1]["standard error"] < 1:
                start -= 1
            worst = max(mine, key=lambda row: row["ratio"])
            where = f"from {mine[start]['value']:,g} on" if start < len(mine) else "NOWHERE here"
            remarks.append(
                f"{over}, δ = {delta:g}: clearly pays (two standard errors) {where}; "
                f"{mine[-1]['ratio']} at {mine[-1]['value']:,g}; at worst {worst['ratio']} at "
                f"{worst['value']:,g}."
            )
    return remarks


def _draw_pays(rows: Sequence[dict[str, Any]]) -> Plot:
    overs = dict.fromkeys(row["over"] for row in rows)
    titles = {"epsilon": "privacy budget ε", "T": "rounds T", "users a cluster": "users a cluster"}
    plot, axes = panels(1, len(overs), height=3.9)
    bottom = min(0.8, *(row["ratio"] - 2 * row["standard error"] - 0.05 for row in rows))
    top = max(1.1, *(row["ratio"] + 2 * row["standard error"] + 0.05 for row in rows))
    for each, over in zip(axes, overs, strict=True):
        for index, delta in enumerate(_DELTAS):
            mine = [row for row in rows if row["over"] == over and row["delta"] == delta]
            each.errorbar(
                [row["value"] for row in mine], [row["ratio"] for row in mine],
                [row["standard error"] for row in mine],
                marker="o", markersize=4, capsize=3, label=f"δ = {delta:g}",
                **(line_style(index) | {"linewidth": 1.8}),
            )  # fmt: skip
        ticks = sorted({row["value"] for row in rows if row["over"] == over})
        each.axhline(1.0, color="black", lw=1.0)
        each.set(xlabel=titles[over], ylabel=f"regret of fclub / {LOCAL}", xscale="log")
        each.set_ylim(bottom, top)
        each.set_xticks(ticks, [_short(tick) for tick in ticks])
        each.minorticks_off()
    axes[0].legend(frameon=False)
    return plot


def _short(value: float) -> str:
    """Round numbers in thousands."""
    if value >= 1e4:
        return f"{value / 1e3:,.0f}k"
    return f"{value:g}"
