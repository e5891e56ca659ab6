"""Regret by the number of standard deviations that agents explore, with everybody at their best.

Eight worlds, ε = 1 and δ = 1e-5. Alone, private and pooled, at α of 0.25 to 2; *alone* besides over
a finer grid. Where noise is divided by √M, as a secure sum would have it, ε is that of μ·√M. Other
worlds, which no choice was made by, come with ``--held-out``. Prints Markdown. Mistakes or regret
an agent, over the same replicates for all. ``--draws`` plays Thompson sampling instead.

    python benchmarks/exploration.py [--replicates 12] [--held-out] [--draws] [--only NAME …]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.environments.base import Environment
from fedbandits.privacy import gaussian
from fedbandits.testing.replicates import simulate

EPSILON, DELTA = 1.0, 1e-5
SCALES = (0.25, 0.5, 1.0, 2.0)
FINE = (0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)


class World(NamedTuple):
    """A world, and how many rounds are played in it."""

    environment: Environment
    rounds: int


def data(dataset: str, components: int, agents: int, rounds: int, **more: Any) -> World:
    """Return a world of scikit-learn's bundled data."""
    options = {"shards": "shared"} | more
    made = Classification(agents=agents, dataset=dataset, components=components, **options)
    return World(made, rounds)


def linear(dim: int, arms: int, agents: int, rounds: int, **more: Any) -> World:
    """Return a synthetic world."""
    return World(Linear(agents=agents, dim=dim, arms=arms, **more), rounds)


def labelled(contexts: Any, label: Any, agents: int, rounds: int) -> World:
    """Return a world of rows with a class to name, which are dealt to agents."""
    columns = {f"x{i}": column for i, column in enumerate(contexts.T)}
    made = fb.environments.table(
        columns | {"label": label.astype(str)}, target="label", features=list(columns),
        scaling="data", agents=agents,
    )  # fmt: skip
    return World(made, rounds)


def flowers(agents: int, rounds: int) -> World:
    """Return a world of Fisher's irises."""
    contexts, label = datasets.load_iris(return_X_y=True)
    return labelled(contexts, label, agents, rounds)


def diabetes(agents: int, rounds: int) -> World:
    """Return a world of patients, with the question of whose disease progresses more."""
    contexts, progress = datasets.load_diabetes(return_X_y=True)
    return labelled(contexts, (progress > np.median(progress)).astype(int), agents, rounds)


WORLDS = {
    "breast cancer, M = 500, T = 100": data("breast_cancer", 5, 500, 100),
    "breast cancer, M = 50, T = 500": data("breast_cancer", 5, 50, 500),
    "breast cancer, M = 10, T = 2,000": data("breast_cancer", 5, 10, 2000),
    "digits (8 components), M = 100, T = 300": data("digits", 8, 100, 300),
    "wine (5 components), M = 100, T = 100": data("wine", 5, 100, 100),
    "linear d = 10, K = 20, M = 10, T = 10,000": linear(10, 20, 10, 10_000),
    "linear d = 10, K = 20, M = 40, T = 3,000": linear(10, 20, 40, 3_000),
    "linear d = 5, K = 10, M = 200, T = 500": linear(5, 10, 200, 500),
}
HELD_OUT = {
    "iris, M = 10, T = 300": flowers(10, 300),
    "diabetes, above or below the median, M = 20, T = 300": diabetes(20, 300),
    "digits (16 components), M = 300, T = 100": data("digits", 16, 300, 100),
    "wine (8 components), each its own rows, M = 8, T = 400": data(
        "wine", 8, 8, 400, shards="disjoint"
    ),
    "breast cancer (20 components), M = 100, T = 300": data("breast_cancer", 20, 100, 300),
    "linear d = 30, K = 20, M = 50, T = 1,000": linear(30, 20, 50, 1_000),
    "linear d = 3, K = 5, M = 1,000, T = 100": linear(3, 5, 1_000, 100),
    "linear d = 5, K = 50, gap 0.05, M = 20, T = 2,000": linear(5, 50, 20, 2_000, gap=0.05),
    "late joiners, linear d = 5, K = 10, M = 60, T = 500": linear(
        5, 10, 60, 500, first_round=tuple(1 + 250 * (agent % 2) for agent in range(60))
    ),
}


def chosen(held_out: bool, only: Sequence[str]) -> dict[str, World]:
    """Return the worlds of a table: those whose names hold one of these texts, or all."""
    worlds = HELD_OUT if held_out else WORLDS
    return {n: w for n, w in worlds.items() if not only or any(part in n for part in only)}


def regret(
    world: World, preset: str, scale: float, replicates: int, **settings: Any
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the regret of an agent, one number a replicate."""
    system = fb.system(preset, confidence="deviations", exploration_scale=scale, **settings)
    found = []
    for replicate in range(replicates):
        run = simulate(system.config, world.environment, world.rounds, 0, replicate)
        run.advance(world.rounds)
        found.append(float(run.regret.mean()))
    return np.array(found)


def epsilon_of_sum(parties: int) -> float:
    """Return the ε whose noise is smaller by √M: that of μ·√M."""
    mu = gaussian.mu_of(EPSILON, DELTA) * math.sqrt(parties)
    return float(gaussian.epsilon_of(mu, DELTA))


def cells(values: Mapping[float, np.ndarray[Any, Any]]) -> str:
    """Return means over replicates, by scale."""
    return " / ".join(f"{each.mean():.3g}" for each in values.values())


def rows(name: str, world: World, replicates: int) -> tuple[str, str]:
    """Return a row of regrets, and one of ratios, of one world."""
    parties = world.environment.facts.parties
    fine = {a: regret(world, "linucb-alone", a, replicates) for a in FINE}
    alone = {a: regret(world, "linucb-alone", a, replicates) for a in SCALES}
    pooled = {a: regret(world, "linucb-pooled", a, replicates) for a in SCALES}
    best = min(fine, key=lambda a: float(fine[a].mean()))
    private: dict[str, dict[float, Any]] = {}
    ratios = [f"{alone[1.0].mean() / fine[best].mean():.2f} (best α {best:g})"]
    for divided in (False, True):
        budget = {"epsilon": epsilon_of_sum(parties) if divided else EPSILON, "delta": DELTA}
        hybrid, released = (
            {a: regret(world, preset, a, replicates, **budget) for a in SCALES}
            for preset in ("feducb-hybrid", "feducb")
        )
        private[f"hybrid{divided}"], private[f"feducb{divided}"] = hybrid, released
        if divided:
            against = [max(hybrid[a].mean() / released[a].mean() for a in SCALES)]
            against += [max(hybrid[a].mean() / alone[a].mean() for a in SCALES)]
        else:
            better = {a: min(alone[a].mean(), released[a].mean()) for a in SCALES}
            against = [max(hybrid[a].mean() / better[a] for a in SCALES)]
        ratios += [f"{one:.3f}" for one in against]
    shown = [alone, *private.values(), pooled]
    return (
        f"| {name} | " + " | ".join(map(cells, shown)) + " |",
        f"| {name} | " + " | ".join(ratios) + " |",
    )


DRAWS = ("lints-alone", "lints-hybrid", "lints-pooled")


def print_draws(worlds: Mapping[str, World], replicates: int) -> None:
    """Print the regrets of Thompson sampling."""
    print("| world | " + " | ".join(f"`{preset}`" for preset in DRAWS) + " |")
    print("| --- | --- | --- | --- |", flush=True)
    for name, world in worlds.items():
        found = ({a: regret(world, preset, a, replicates) for a in SCALES} for preset in DRAWS)
        print(f"| {name} | " + " | ".join(map(cells, found)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=12)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--draws", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    worlds = chosen(given.held_out, given.only)
    if given.draws:
        print_draws(worlds, given.replicates)
        return
    print(
        "| world | alone | hybrid | `feducb` | hybrid, noise / √M | `feducb`, noise / √M | pooled |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    lines = []
    for name, world in worlds.items():
        regrets, ratios = rows(name, world, given.replicates)
        lines.append(ratios)
        print(regrets, flush=True)
    print()
    print("The largest over all α, but for the first column, which is at α = 1.")
    print()
    print(
        "| world | alone / its best | hybrid / better of alone and `feducb` "
        "| noise / √M: hybrid / `feducb` | hybrid / alone |"
    )
    print("| --- | --- | --- | --- | --- |")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
