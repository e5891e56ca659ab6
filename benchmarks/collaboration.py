"""Whether learning together privately beats learning alone, and what to choose without knowing it.

Regret of one agent at ε = 1, means over replicates. The last column is the regret of the hybrid as
a multiple of the better of ``linucb-alone`` and ``feducb``, with a 95% interval of the paired
difference (Student's t): the same replicate has the same contexts and draws of rewards.

    .venv/bin/python benchmarks/collaboration.py [REPLICATES] [SEED] [TEXT]

With a third argument, only rows whose world has that text are played.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.experiments.intervals import interval
from fedbandits.reproduce.feducb import proved

SYSTEMS = ("linucb-alone", "linucb-pooled", "feducb", "feducb-hybrid", "feducb-published")
LATE = [1] * 10 + [851] * 30
Environment = Linear | Classification


def linear(agents: int, **more: Any) -> Linear:
    return Linear(agents=agents, dim=10, arms=20, **more)


def rows() -> Iterator[tuple[str, Environment, int, float]]:
    """Name, world, rounds and δ of every row."""
    yield "linear, M = 2, T = 1,000", linear(2), 1_000, 1e-5
    for agents in (2, 3, 5, 20, 80):
        yield f"linear, M = {agents}, T = 10,000", linear(agents), 10_000, 1e-5
    yield "linear, M = 10, T = 10,000, δ = 0.1", linear(10), 10_000, 0.1
    yield "linear, M = 40, T = 1,000, 30 join late", linear(40, first_round=LATE), 1_000, 1e-5
    for agents, rounds in ((10, 2000), (100, 150), (300, 150), (300, 500)):
        world = Classification(agents=agents, components=10, shards="shared")
        yield f"breast cancer, M = {agents}, T = {rounds:,}", world, rounds, 1e-5


def regret(
    world: Environment, rounds: int, delta: float, scale: float, replicates: int, seed: int
) -> dict[str, Any]:
    """Regret of one agent, (replicates,), of every system."""
    systems = []
    for name in SYSTEMS:
        budget = {} if name.startswith("linucb") else {"epsilon": 1.0, "delta": delta}
        systems.append(proved(name, exploration_scale=scale, **budget))
    experiment = fb.Experiment(
        rounds=rounds, replicates=replicates, seed=seed, environment=world, systems=tuple(systems)
    )
    runs = fb.run(experiment).regret.isel(round=-1).mean("party")
    return {name: runs.sel(system=name).values for name in SYSTEMS}


def ratio(found: dict[str, Any]) -> str:
    """The hybrid as a multiple of the better of alone and feducb."""
    best = min((found["linucb-alone"], found["feducb"]), key=np.mean)
    _, half = interval(found["feducb-hybrid"] - best)
    return f"{found['feducb-hybrid'].mean() / best.mean():.3f} ± {half / best.mean():.3f}"


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    chosen = sys.argv[3] if len(sys.argv) > 3 else ""
    print(f"replicates: {replicates}, seed: {seed}\n")
    print("| world | scale |", " | ".join(f"`{name}`" for name in SYSTEMS), "| hybrid ÷ better |")
    print("| --- | ---: |", " | ".join("---:" for _ in SYSTEMS), "| ---: |")
    for scale in (1.0, 0.1):
        for name, world, rounds, delta in rows():
            if chosen not in name:
                continue
            found = regret(world, rounds, delta, scale, replicates, seed)
            cells = " | ".join(f"{found[key].mean():,.1f}" for key in SYSTEMS)
            print(f"| {name} | {scale:g} | {cells} | {ratio(found)} |", flush=True)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
