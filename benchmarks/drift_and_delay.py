"""What rewards that change, or come late, do to regret, and what it costs to play them.

The table has the regret of one party by system and setting, mean and standard error over
replicates. With ``--picture`` it draws regret over rounds in the small linear world.

    .venv/bin/python benchmarks/drift_and_delay.py --picture docs/images/drift-and-delay.png
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fedbandits as fb
from fedbandits.reproduce.feducb import proved
from fedbandits.testing.replicates import simulate

ROUNDS = 1000
LINEAR: dict[str, Any] = {"agents": 20, "dim": 5, "arms": 10}
HOSPITALS: dict[str, Any] = {
    "dataset": "breast_cancer", "agents": 500, "components": 5, "shards": "shared"
}  # fmt: skip
#: What is set beside the undisturbed world, for so many rounds.
SETTINGS: dict[str, Any] = {
    "undisturbed": lambda rounds: {},
    "a change at half time": lambda rounds: {"drift": f"change({rounds // 2 + 1})"},
    "a walk, step 0.05 every 10": lambda rounds: {"drift": "walk(0.05, 10)"},
    "rewards 20 rounds late": lambda rounds: {"delay": "fixed(20)"},
    "late by 20 on average": lambda rounds: {"delay": "geometric(20)"},
    "three in ten never come": lambda rounds: {"delay": "fixed(0, 0.3)"},
}
DRAWN = ("undisturbed", "a change at half time", "late by 20 on average")
COLOURS = ("#0072B2", "#D55E00", "#009E73")


def systems(scale: float) -> tuple[Any, ...]:
    return (
        proved("linucb-alone", label="alone", exploration_scale=scale),
        proved("linucb-pooled", label="pooled in clear", exploration_scale=scale),
        proved("feducb", epsilon=1.0, delta=1e-5, exploration_scale=scale),
    )


def played(world: Any, rounds: int, replicates: int, scale: float) -> xr.Dataset:
    return fb.run(
        fb.Experiment(
            rounds=rounds, replicates=replicates, environment=world, systems=systems(scale)
        )
    )


def table(kind: Any, settings: dict[str, Any], rounds: int, replicates: int, scale: float) -> Any:
    found = {}
    names = [variant.label for variant in systems(scale)]
    print("| setting |", " | ".join(names), "|\n| --- |", " | ".join("---:" for _ in names), "|")
    for name, setting in SETTINGS.items():
        result = played(kind(**settings, **setting(rounds)), rounds, replicates, scale)
        each = result.regret.isel(round=-1).mean("party")
        error = each.std("replicate", ddof=1) / replicates**0.5
        cells = [
            f"{float(each.sel(system=label).mean()):.1f} ± {float(error.sel(system=label)):.1f}"
            for label in names
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
        found[name] = result.regret.mean(("party", "replicate"))
    return found


def draw(curves: dict[str, Any], path: str) -> None:
    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    panels: Any = figure.subplots(1, len(DRAWN), sharey=True)
    for axes, name in zip(panels, DRAWN, strict=True):
        _panel(axes, name, curves[name])
    panels[0].set_ylabel("regret of an agent")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=130)


def _panel(axes: Axes, name: str, curves: Any) -> None:
    for colour, label in zip(COLOURS, curves.system.values, strict=True):
        curve = curves.sel(system=label)
        axes.plot(curve["round"], curve, color=colour, label=str(label))
    axes.set_title(name)
    axes.set_xlabel("round")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def speed() -> None:
    """Agent-steps a second, of one processor, with and without delays."""
    for variant in systems(1.0):
        rates = []
        for setting in ({}, {"drift": "walk(0.05, 10)"}, {"delay": "geometric(20)"}):
            world, rounds = fb.environments.Linear(**LINEAR, **setting), 400
            simulate(variant.config, world, rounds, 0, 0).advance(rounds)  # compiles
            run = simulate(variant.config, world, rounds, 0, 1)
            began = time.process_time()
            run.advance(rounds)
            rates.append(rounds * world.agents / (time.process_time() - began))
        plain, drifting, late = rates
        print(f"{variant.label}: {plain:,.0f}; drift {drifting:,.0f}; delay {late:,.0f} steps a s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="where the picture is written")
    parser.add_argument("--replicates", type=int, default=4)
    given = parser.parse_args()
    print(f"## Linear, {ROUNDS} rounds: {LINEAR}, exploration_scale = 0.1\n")
    curves = table(fb.environments.Linear, LINEAR, ROUNDS, given.replicates, 0.1)
    if given.picture:
        draw(curves, given.picture)
    print(f"\n## Hospitals, 100 rounds: {HOSPITALS}\n")
    table(fb.environments.Classification, HOSPITALS, 100, given.replicates, 1.0)
    print()
    speed()


if __name__ == "__main__":
    main()
