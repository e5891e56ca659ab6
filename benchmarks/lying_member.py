"""What one member that lies costs the others: in a linear world of 60, and in the quickstart's.

The member decides and learns as all do. What it sends is false, with true noise: its records with
their rewards reversed, all of them F times; its rewards in another unit, F times too large, with
their sign or the other one; or records that it makes up along the direction that others have
explored least, F times as many as it can have. The limits of messages hold each sum as a party
holds it. Prints regret, or mistakes, of the others by F, beside that of a federation in which
nobody lies and of LinUCB alone; half of the 95% interval stands behind. Takes a minute.

    python benchmarks/lying_member.py [NAME …]      linear, quickstart; both by default
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.errors import ConfigWarning
from fedbandits.testing.lying import (
    Lie,
    LyingReplicate,
    other_units,
    reversed_rewards,
    unexplored_direction,
)
from fedbandits.testing.replicates import plan_of, simulate

PRESETS = ("feducb-secure", "feducb-secure-hybrid", "feducb-hybrid")
#: Lies by F.
KINDS: dict[str, Callable[[float], Lie]] = {
    "its records F times, rewards reversed": reversed_rewards,
    "rewards in another unit, F times too large": other_units,
    "the same, and reversed": lambda times: other_units(-times),
    "made up where others have fewest": unexplored_direction,
}


class World(NamedTuple):
    """Where lies are told, and how large they are; the last F is the number of members."""

    environment: ContextualEnvironment
    rounds: int
    times: tuple[int, ...]


WORLDS = {
    "linear": World(Linear(agents=60, dim=5, arms=10), 500, (1, 10, 30, 60)),
    "quickstart": World(
        Classification(agents=500, dataset="breast_cancer", components=5, shards="shared"), 100,
        (1, 50, 200, 500),
    ),
}  # fmt: skip


def shown(values: list[float]) -> str:
    """Return a mean and half of its 95% interval, by Student's t."""
    deviation = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = float(stats.t.ppf(0.975, len(values) - 1)) * deviation
    return f"{np.mean(values):.3g} ± {half:.2g}"


def honest(config: Any, world: World, replicates: int, seed: int) -> str:
    """Play without a lie; return what all members but the first lost."""
    lost = []
    for replicate in range(replicates):
        played = simulate(config, world.environment, world.rounds, seed, replicate)
        played.advance(world.rounds)
        lost.append(float(played.regret[1:].mean()))
    return shown(lost)


def lied(
    config: Any, world: World, lie: Lie, replicates: int, seed: int
) -> tuple[str, int, int]:  # fmt: skip
    """Play with a lie; return what the others lost, how many sums were refused, and of how many."""
    plan, lost, refused, sums = plan_of(config, world.environment, world.rounds), [], 0, 0
    for replicate in range(replicates):
        played = LyingReplicate(plan, world.environment, seed, replicate, lie)
        played.advance(world.rounds)
        lost.append(float(played.regret_of_others.mean()))
        refused, sums = refused + played.refused, sums + played.syncs
    return shown(lost), refused, sums


def main() -> None:
    """Print a table for each world."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORLDS))
    parser.add_argument("--replicates", type=int, default=8, help="8 by default")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConfigWarning)
    how = given.replicates, given.seed
    for name in given.names or WORLDS:
        world = WORLDS[name]
        print(f"\n**{name}**, M = {world.times[-1]}, T = {world.rounds}.", end=" ")
        print(f"`linucb-alone`: {honest(fb.system('linucb-alone').config, world, *how)}.\n")
        times = [f"F = {factor}" for factor in world.times]
        print("| system | the lie | none | " + " | ".join(times) + " |")
        print("| --- | --- |" + " ---: |" * (1 + len(times)), flush=True)
        refused, sums = 0, 0
        for preset in PRESETS:
            config = fb.system(preset, epsilon=1.0, delta=1e-5).config
            none = honest(config, world, *how)
            for kind, make in KINDS.items():
                found = [lied(config, world, make(factor), *how) for factor in world.times]
                cells = [preset, kind, none, *(cell for cell, _, _ in found)]
                print("| " + " | ".join(cells) + " |", flush=True)
                refused += sum(count for _, count, _ in found)
                sums += sum(count for _, _, count in found)
        print(f"\nThe limits of messages refuse {refused} of {sums:,} false sums.", flush=True)


if __name__ == "__main__":
    main()
