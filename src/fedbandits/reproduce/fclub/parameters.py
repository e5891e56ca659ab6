"""FCLUB over parameters: those of Appendix E.2 of Liu et al. (2022), and ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xarray as xr
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Clustered
from fedbandits.reproduce.engine import (
    Context,
    Outcome,
    Row,
    Verdict,
    count_in_thousands,
    draw_curves,
    draw_rows,
    grouped,
    legend_beside,
    panels,
    styles_of,
    tick_values,
    where,
)
from fedbandits.reproduce.fclub import (
    ALONE,
    AS_RUN,
    BUDGET,
    DELTA,
    EPSILON,
    LOCAL,
    POINTS,
    PUBLISHED,
    Scale,
    at_end,
    drawn_world,
    experiment_of,
    given_path,
    given_world,
    random_regret,
    total_regret,
)
from fedbandits.settings.experiment import Variant, system

#: Varied parameters, with the values of the authors' plots; all others as in Figure 2(a).
SWEEPS: dict[str, tuple[float, ...]] = {
    "L": (2, 4, 5, 6, 8),
    "m": (2, 4, 6, 8),
    "d": (5, 10, 15, 20),
    "n": (20, 40, 60, 80),
    "ε": (0.5, 1, 2, 4, 8),
}
_FIELDS = {"L": "servers", "m": "clusters", "d": "dim", "n": "users"}
_LABELS = (PUBLISHED, AS_RUN, "fclub", ALONE)
#: Direction of regret by Theorem 1.
_DIRECTIONS = {"L": 1, "m": 1, "d": 1, "n": 1, "ε": -1}


def _world_at(part: str, value: float) -> Clustered:
    world = drawn_world("together")
    return world if part == "ε" else msgspec.structs.replace(world, **{_FIELDS[part]: int(value)})


def _systems_at(part: str, value: float) -> list[Variant]:
    budget = BUDGET | ({"epsilon": value} if part == "ε" else {})
    return [*(system(label, **budget) for label in (PUBLISHED, AS_RUN, "fclub")), system(ALONE)]


def sweeps(context: Context) -> Outcome:
    """Make regret over rounds for every value, and regret at T over the values."""
    scale = Scale.of(context)
    table = {
        (part, value): (
            f"{_FIELDS.get(part, 'epsilon')}-{value:g}",
            experiment_of(_world_at(part, value), _systems_at(part, value), scale, 120),
        )
        for part, values in SWEEPS.items()
        for value in values
    }
    results = context.played(table)
    random = {point: random_regret(_world_at(*point)) for point in results}
    rows = [
        _swept(result, part, value, label, random[part, value])
        for (part, value), result in results.items()
        for label in _LABELS
    ]
    remarks = [
        "Appendix E.2 is not in the text at hand: values are those of the authors' plots, and the "
        "direction in which regret goes is held against Theorem 1. Users lie in blocks; where "
        "L ≠ m clusters lie on several servers.",
        f"{AS_RUN} plays what the authors' code runs: as no noise is added, ε changes nothing but "
        "its exploration.",
        *(_direction(rows, part, label) for part in SWEEPS for label in (PUBLISHED, "fclub")),
    ]
    return Outcome(rows, _draw_sweeps(results, rows), remarks, _verdict_on_sweeps(rows))


def _swept(result: xr.Dataset, part: str, value: float, label: str, random: float) -> Row:
    regret = at_end(result, label)
    return {
        "parameter": part,
        "value": value,
        "system": label,
        "regret": round(regret.mean, 1),
        "deviation": round(regret.deviation, 1),
        "standard error": round(regret.error, 1),
        "of random play": round(regret.mean / (random * int(result["round"][-1])), 3),
    }


def _slope(rows: Sequence[Row], part: str, label: str) -> tuple[float, float]:
    """Fit the power of the parameter in the regret, by least squares, and its error."""
    mine = where(rows, parameter=part, system=label)
    values, regret = (np.log([row[key] for row in mine]) for key in ("value", "regret"))
    weights = (values - values.mean()) / ((values - values.mean()) ** 2).sum()
    errors = np.array([row["standard error"] / row["regret"] for row in mine])
    return float(weights @ regret), float(np.sqrt(((weights * errors) ** 2).sum()))


def _direction(rows: Sequence[Row], part: str, label: str) -> str:
    slope, error = _slope(rows, part, label)
    says = "grows with" if _DIRECTIONS[part] > 0 else "falls with"
    return (
        f"{label}: regret goes about like {part}^{slope:.2f} (± {error:.2f}); by Theorem 1 it "
        f"{says} {part}."
    )


def _verdict_on_sweeps(rows: Sequence[Row]) -> Verdict:
    """Judge by Theorem 1's directions, by two standard errors, and by play at random."""
    slopes = {part: _slope(rows, part, PUBLISHED) for part in SWEEPS}
    wrong = [part for part, (slope, e) in slopes.items() if slope * _DIRECTIONS[part] <= 2.0 * e]
    powers = ", ".join(f"{part}^{slope:.2f}" for part, (slope, _) in slopes.items())
    shares = [row["of random play"] for row in where(rows, system=PUBLISHED)]
    share = f"{min(shares):.0%} to {max(shares):.0%} of what play at random would cost"
    if not wrong:
        return Verdict(True, f"regret goes as Theorem 1 says over all: {powers}. It is {share}.")
    return Verdict(
        False,
        f"with its noise regret goes like {powers}; over {', '.join(wrong)} it does not go as "
        f"Theorem 1 says. It is {share}.",
    )


def _draw_sweeps(results: Mapping[tuple[str, float], xr.Dataset], rows: Sequence[Row]) -> Plot:
    """Draw the paper's panels, as its authors ran them, and below the noise and our systems."""
    plot, axes = panels(2, len(SWEEPS), width=4.4, height=3.7)
    for column, (part, values) in enumerate(SWEEPS.items()):
        top, bottom = axes[column], axes[len(SWEEPS) + column]
        curves = {f"{part} = {v:g}": total_regret(results[part, v], AS_RUN) for v in values}
        draw_curves(top, curves, styles_of(list(curves)))
        top.set(title=f"{AS_RUN} over {part}", xlabel="round", ylabel="cumulative regret")
        top.set_ylim(bottom=0)
        top.tick_params(axis="x", labelsize=7)
        count_in_thousands(top, "x")
        top.legend(frameon=False, fontsize=8, loc="best")
        for index, label in enumerate(_LABELS):
            mine = where(rows, parameter=part, system=label)
            draw_rows(bottom, mine, "value", "regret", "deviation", index, label=label, **POINTS)
        bottom.set(xlabel=part, ylabel="regret at T", yscale="log")
        if part == "ε":
            tick_values(bottom, values, [f"{v:g}" for v in values])
    legend_beside(axes[-1])
    return plot


#: Parameters that are varied alone, by system and part; all others keep their defaults.
VARIED: dict[tuple[str, str], tuple[float, ...]] = {
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
        settings = BUDGET | settings
    return system(preset, label=_label(preset, part, value), **settings)


def parameters(context: Context) -> Outcome:
    """Make regret at T, one parameter at a time."""
    path = given_path(context)
    world = drawn_world("spread") if path is None else given_world(path, whole=False)
    scale = Scale.of(context, quick=2)
    baselines = experiment_of(world, [system(ALONE), system(LOCAL)], scale)
    without = context.run("baselines", baselines)
    table = {
        swept: (
            f"sweep-{number}",
            experiment_of(world, [_varied(*swept, value) for value in values], scale),
        )
        for number, (swept, values) in enumerate(VARIED.items(), 1)
    }
    base = {label: at_end(without, label).mean for label in (ALONE, LOCAL)}
    rows = [
        _point(result, base[ALONE], *swept, value)
        for swept, result in context.played(table).items()
        for value in VARIED[swept]
    ]
    placed = "each cluster on all servers" if path is None else "on servers as they come"
    remarks = [
        f"Users: {placed}. One parameter is varied at a time; the others are as in Figure 2(a): "
        f"ε = {EPSILON:g}, δ = {DELTA:g} for fclub.",
        f"Without any collaboration between servers: {ALONE} (what ratios are to) "
        f"{base[ALONE]:,.0f}, {LOCAL} {base[LOCAL]:,.0f}.",
        *_best(rows),
    ]
    return Outcome(rows, _draw_parameters(rows, base), remarks, _verdict_on_parameters(rows))


def _verdict_on_parameters(rows: Sequence[Row]) -> Verdict:
    """Name the default of ours with the largest gain of another value."""
    tuned = {
        f"{name}, {part}": min(row["regret"] for row in mine) / _default(mine)["regret"]
        for (name, part), mine in grouped(rows, "system", "parameter").items()
        if part not in ("ε", "δ")
    }
    worst = min(tuned, key=lambda key: tuned[key])
    return Verdict(
        None,
        "the paper has no such figure; of our defaults the one that tuning would gain most from "
        f"is {worst}: {tuned[worst]:.2f} × the regret at its best value.",
    )


def _default(rows: Sequence[Row]) -> Row:
    """Return the row of the default value."""
    return next(row for row in rows if row["default"])


def _point(result: xr.Dataset, alone: float, preset: str, part: str, value: float) -> Row:
    label = _label(preset, part, value)
    regret = at_end(result, label)
    end = result.sel(system=label).isel(round=-1)
    return {
        "system": preset,
        "parameter": _SYMBOLS.get(part, part),
        "value": value,
        "default": "yes" if value == _DEFAULTS[part] else "",
        "regret": round(regret.mean, 1),
        "deviation": round(regret.deviation, 1),
        "ratio": round(regret.mean / alone, 3),
        "Rand index": round(float(end.adjusted_rand_index.mean()), 3),
        "messages": round(float(end.messages.mean())),
    }


def _best(rows: Sequence[Row]) -> Iterator[str]:
    for (name, part), mine in grouped(rows, "system", "parameter").items():
        best, default = min(mine, key=lambda row: row["regret"]), _default(mine)
        yield (
            f"{name}, {part}: least regret {best['regret']:,} at {best['value']:g}, "
            f"{default['regret']:,} at the default {default['value']:g}, at most "
            f"{max(row['regret'] for row in mine):,}."
        )


def _draw_parameters(rows: Sequence[Row], base: Mapping[str, float]) -> Plot:
    groups = grouped(rows, "system", "parameter")
    plot, axes = panels(2, 4, height=3.2)
    highest = max(*(row["regret"] + row["deviation"] for row in rows), *base.values())
    lowest = min(*(row["regret"] - row["deviation"] for row in rows), *base.values())
    for panel, ((name, part), mine) in zip(axes, groups.items(), strict=False):
        # Thresholds are drawn by their excess over 1.
        mine = [row | {"x": row["value"] - (1.0 if part == "U = D" else 0.0)} for row in mine]
        index = 0 if name == "fclub" else 1
        draw_rows(panel, mine, "x", "regret", "deviation", index, linewidth=1.6, **POINTS)
        for style, (label, level) in zip(("--", ":"), base.items(), strict=True):
            panel.axhline(level, color="black", linestyle=style, lw=1.0, label=label)
        default = _default(mine)
        panel.plot(default["x"], default["regret"], "s", color="black", label="default")
        panel.set(title=f"{name}: {part}", xlabel=part, yscale="log")
        panel.set_ylim(0.9 * max(lowest, 1e-2), 1.1 * highest)
        if part in ("U = D", "ε", "δ"):
            values = [row["x"] for row in mine]
            tick_values(panel, values, [f"{row['value']:g}" for row in mine])
    for first in axes[::4]:
        first.set_ylabel("regret at T")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[-1].legend(handles, labels, frameon=False, loc="center")
    for panel in axes[len(groups) :]:
        panel.axis("off")
    return plot
