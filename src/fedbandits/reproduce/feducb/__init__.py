"""Figures of Dubey & Pentland (2020), FedUCB: their world, scale and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from fedbandits.environments import Linear
from fedbandits.reproduce.engine import Context, Key, Measured, Row, Verdict
from fedbandits.settings.experiment import Experiment, Variant, system

#: δ of all figures.
DELTA = 0.1
PUBLISHED, SOUND, CLEAR, ALONE = "feducb-published", "feducb", "feducb-nonprivate", "linucb-alone"


def proved(preset: str, **settings: Any) -> Variant:
    """Return a variant that explores by a proved radius, like all theorems of the paper.

    Settings are as in :func:`fedbandits.system`. A preset with another radius keeps it. Hybrids and
    draws have no radius, and are refused.
    """
    if getattr(system(preset).config, "confidence", None) == "deviations":
        settings = {"confidence": "adaptive"} | settings
    return system(preset, **settings)


class Scale(NamedTuple):
    """The scale of the figures."""

    rounds: int  # T
    replicates: int
    arms: int  # most actions K of a decision set: the paper has K ≤ d²

    @classmethod
    def of(cls, context: Context, rounds: int = 10_000, replicates: int = 4) -> Scale:
        """Choose the paper's T and repetitions, or a quick scale."""
        return cls(10_000_000, 100, 100) if context.full else cls(rounds, replicates, 20)

    @property
    def remark(self) -> str:
        """The choices that the paper leaves open."""
        return (
            f"θ* is drawn in the unit ball, again and again until ‖θ*‖ ≥ 0.8 (0.7 + Δ for a larger "
            f"gap), since no action has the mean that the paper asks for otherwise. K = "
            f"{self.arms}, or d² where that is less: the paper says K ≤ d². δ = {DELTA:g}; "
            f"{self.replicates} runs. The paper does not state its exploration scale (here the "
            "theorem's, 1). The text at hand has no images, so shapes are compared."
        )


class Played(NamedTuple):
    """A played experiment, with its world and its results."""

    experiment: Experiment
    environment: Linear
    result: xr.Dataset

    def curve(self, label: str) -> xr.DataArray:
        """Return the regret of an agent, (replicate, round)."""
        mean: xr.DataArray = self.result.regret.sel(system=label).mean("party")
        return mean

    def final(self, label: str) -> Measured:
        """Measure the regret of an agent after the last round."""
        return Measured.of(self.curve(label).isel(round=-1))

    def syncs(self, label: str) -> float:
        """Return the number of syncs, the mean of all runs."""
        return float(self.result.syncs.sel(system=label).isel(round=-1).mean())

    def row(self, label: str) -> Row:
        """Make the columns of a system's regret at the end, and of its syncs."""
        regret = self.final(label)
        return {
            "system": label,
            "regret an agent": round(regret.mean, 1),
            "standard error": round(regret.error, 1),
            "syncs": round(self.syncs(label), 1),
        }

    def theorem_remark(self, label: str) -> str:
        """Write the bound of Theorem 1 at the end, and whether the bound is vacuous."""
        limit, most = float(self.theorem(label)[-1]), self.most
        kind, times = "vacuous" if limit >= most else "not vacuous", _factor(limit / most)
        return (
            f"Theorem 1 ({label}, M = {self.agents}): {limit:,.0f} an agent, {times} times "
            f"the most that there is ({most:,.0f}): {kind}."
        )

    def theorem(self, label: str) -> xr.DataArray:
        """Return Theorem 1 as printed over rounds, divided by the agents."""
        bounds = self.experiment.bounds()[label]
        (bound,) = (b for b in bounds if b.theorem.endswith(", Theorem 1"))
        rounds = self.result["round"]
        limits = bound.at(rounds.values.astype(np.float64)) / self.agents
        return xr.DataArray(limits, dims="round", coords={"round": rounds})

    def shift(self, label: str) -> str:
        """Compare the published shift with the seen records: the reason of random play."""
        share = self._shift(label)
        times = _factor(self.shift_factor(label))
        return (
            f"an agent's share of the shift, 2Λ = {share:,.0f}, is {times} times what it "
            "has seen in a direction by the end, about T/d"
        )

    def shift_factor(self, label: str) -> float:
        """Return the published shift over an agent's records in a direction by the end."""
        return self._shift(label) * self.environment.dim / self.experiment.rounds

    def _shift(self, label: str) -> float:
        """Return an agent's share of the shift, 2Λ."""
        index = [entry.label for entry in self.experiment.systems].index(label)
        plan = self.experiment.check()[index]
        return 2.0 * float(plan.bounds.rho_min)  # type: ignore[attr-defined] # an AgentsPlan

    def judged(self, label: str, agrees: bool, why: str) -> Verdict:
        """Judge a sentence of the paper about a published system.

        If the shift exceeds the seen records, the system plays at random. So it does at a quick
        scale, and not at the paper's scale. Then a difference is not comparable.
        """
        if not agrees and self.shift_factor(label) > 1.0:
            return Verdict(None, why, comparable=False)
        return Verdict(agrees, why)

    @property
    def agents(self) -> int:
        """The number of agents, M."""
        return self.environment.agents

    @property
    def most(self) -> float:
        """The most regret that an agent can have."""
        return self.environment.largest_gap * self.experiment.rounds


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"


def falls(values: Sequence[Measured]) -> bool:
    """Return whether values fall at every step, and the last is clearly below the first."""
    down = all(b.mean < a.mean for a, b in pairwise(values))
    return down and values[-1].clearly_below(values[0])


def world(scale: Scale, agents: int, dim: int = 10, gap: float = 0.1) -> Linear:
    """Make the paper's world: θ* in the ball, K ≤ d²."""
    arms = min(scale.arms, dim * dim)
    return Linear(agents=agents, dim=dim, arms=arms, gap=gap, parameter="ball")


def play(
    context: Context, table: Mapping[Key, tuple[str, Linear, Sequence[Variant]]], scale: Scale
) -> dict[Key, Played]:
    """Run a table: for each key the name of a folder, a world, and its systems."""
    experiments = {
        key: Experiment(
            name="regret",
            rounds=scale.rounds,
            environment=environment,
            systems=tuple(systems),
            replicates=scale.replicates,
        )
        for key, (_, environment, systems) in table.items()
    }
    results = context.played({key: (row[0], experiments[key]) for key, row in table.items()})
    return {
        key: Played(experiments[key], environment, results[key])
        for key, (_, environment, _) in table.items()
    }
