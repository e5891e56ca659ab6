"""Figures of Solanki et al. (2022), P-FCB: the common runs and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from fedbandits.environments import Procurement
from fedbandits.reproduce.engine import Context, Key, Row, panels
from fedbandits.settings.experiment import Experiment, Variant

ALONE, CLEAR, FLOOR = "cucb-alone", "fcb", "fcb-every-round"
CASES = ("uniform", "normal")
#: Titles of panels, as in the captions; the deviation depends on the figure.
TITLES = {"uniform": "cᵢⱼ, qᵢ ~ U[0, 1]", "normal": "cᵢⱼ, qᵢ ~ N(0.4, {:g})"}
#: Regret above FCB's, in percent, by case: of P-FCB at ε = 1, and non-federated.
STATED = {"uniform": (136, 233), "normal": (235, 394)}
#: The ε of the published noise at ε = 1 by accounting, with δ = 0.01.
ACCOUNTED = 0.136
UNSTATED = (
    "The paper states neither ρ nor ζ, and contradicts itself about ω₁ and ω₂: here ρ = 1, "
    "ζ = 0.6, ω₁ = 0.1 and ω₂ = 10 (docs/pfcb.md)."
)
NO_IMAGES = (
    "The text at hand has no images: axes and systems are those that its text gives, numbers those "
    "that it states."
)


def cases_by_row(
    rows: Sequence[str], deviation: float, width: float
) -> tuple[Plot, dict[tuple[int, str], Axes]]:
    """Make axes for both cases in each row, by number of the row and case; rows have a title.

    The deviation of the normal case stands in its title.
    """
    plot, axes = panels(len(rows), len(CASES), width=width)
    places = [(number, case) for number in range(len(rows)) for case in CASES]
    drawn = dict(zip(places, axes, strict=True))
    for (number, case), panel in drawn.items():
        panel.set_title(f"{TITLES[case].format(deviation)}, {rows[number]}")
    return plot, drawn


class Scale(NamedTuple):
    """The scale of the figures."""

    instances: int
    runs: int
    rounds: int

    @classmethod
    def of(cls, context: Context, instances: int = 3) -> Scale:
        """Choose the paper's scale, or ``instances`` of one run each."""
        return cls(5, 20, 100_000) if context.full else cls(instances, 1, 100_000)


def experiment_of(
    world: Procurement, instance: int, systems: Sequence[Variant], scale: Scale
) -> Experiment:
    """Make an experiment of all systems in one instance of a world."""
    return Experiment(
        name="procurement",
        rounds=scale.rounds,
        environment=msgspec.structs.replace(world, instance=instance),
        systems=tuple(systems),
        replicates=scale.runs,
    )


def play(
    context: Context,
    table: Mapping[Key, tuple[str, Procurement]],
    systems: Sequence[Variant],
    scale: Scale,
) -> dict[Key, xr.Dataset]:
    """Run all instances of a table's worlds; results have dimensions of both repetitions.

    The table has a name and a world for each key. Repetitions are ``instance`` and ``replicate``.
    """
    results = context.played(
        {
            (key, i): (f"{name}-{i}", experiment_of(world, i, systems, scale))
            for key, (name, world) in table.items()
            for i in range(scale.instances)
        }
    )
    return {
        key: xr.concat(
            [results[key, i] for i in range(scale.instances)], dim="instance", combine_attrs="drop"
        )
        for key in table
    }


def row(result: xr.Dataset, label: str, **point: Any) -> Row:
    """Make the row of a system at the end; FRR is its regret over the regret of buyers alone."""
    last = result.isel(round=-1)
    mine = last.sel(system=label)
    of_instances = mine.regret.mean(("replicate", "party"))
    columns = {
        **point,
        "system": label,
        "regret a buyer": round(float(of_instances.mean()), 1),
        "median of instances": round(float(of_instances.median()), 1),
        "after exploration": round(float(mine.regret_after_exploration.mean()), 1),
    }
    if ALONE in last.system:
        alone = last.sel(system=ALONE)
        late, alone_late = mine.regret_after_exploration, alone.regret_after_exploration
        columns["FRR"] = round(float(mine.regret.mean() / alone.regret.mean()), 3)
        columns["FRR after exploration"] = round(float(late.mean() / alone_late.mean()), 3)
    return columns | {
        "missed, worst buyer": round(float(mine.violation_share.max()), 5),
        "empty rounds": round(float(mine.empty_rounds.mean()), 1),
        "reports taken": round(float(mine.reports_accepted.mean()), 1),
        "reports refused": round(float(mine.reports_refused.mean()), 1),
    }


def a_buyer(result: xr.Dataset) -> xr.DataArray:
    """Return the regret of a buyer, (system, replicate, round); instances are the replicates."""
    regret: xr.DataArray = result.regret.mean(("replicate", "party"))
    return regret.rename(instance="replicate")
