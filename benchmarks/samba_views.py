"""Whether what servers see of a silent run tells two worlds apart that differ in everything.

All arms are poor (0.1) in one world; in the other one arm is good (0.9). 500 features, chosen in
advance, are tried on 2,000 runs of each world, and on views that were made without any scores.
What Comp sees of the published variant is tried for comparison.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np

from fedbandits.crypto.keystream import derive_key
from fedbandits.systems.samba.kernels import word_to_mask

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.systems.silent_distinguisher import (
    Likeness,
    compare,
    features,
    first_channels,
    published_channels,
    second_channels,
)
from tests.systems.silent_reference import Owners, play, uniform
from tests.systems.silent_simulator import simulate_first, simulate_second

BATCH, ARITY = 200, 4
KEY = bytes(range(32))
SERVERS = {
    "Controller": ("first", first_channels, simulate_first),
    "Comp": ("second", second_channels, simulate_second),
}
#: Arms, algorithm, and steps after the first pulls.
CASES = ((5, "ucb", 60), (5, "thompson", 60), (5, "egreedy", 60), (50, "ucb", 20))
PUBLISHED = ((5, "ucb", 100), (50, "ucb", 400))


def means(good: bool, arms: int) -> np.ndarray:
    given = np.full(arms, 0.1)
    given[0] = 0.9 if good else 0.1
    return given


def real(good: bool, arms: int, algorithm: str, steps: int, runs: int):
    """Features of both servers' views, by server; runs are played in batches."""
    found = {who: [] for who in SERVERS}
    for batch in range(runs // BATCH):
        seed = 1_000_000 * (1 + good) + batch
        turns = play(means(good, arms), BATCH, steps, ARITY, seed, algorithm)
        for who, (field, channels, _) in SERVERS.items():
            found[who].append(features(channels([getattr(t, field) for t in turns], ARITY)))
    return {who: joined(pieces) for who, pieces in found.items()}


def made(who: str, arms: int, steps: int, runs: int):
    """Features of made views."""
    _, channels, simulate = SERVERS[who]
    pieces = []
    for batch in range(runs // BATCH):
        keys = [derive_key(KEY, f"{who} {batch} {step}") for step in range(steps)]
        pieces.append(
            features(channels([simulate(key, BATCH, arms, ARITY) for key in keys], ARITY))
        )
    return joined(pieces)


def published(good: bool, arms: int, algorithm: str, steps: int, runs: int):
    """Features of what Comp sees of the published variant: masked scores in a random order."""
    draws = np.random.default_rng(3 + good)
    pieces = []
    for _ in range(runs // BATCH):
        owners, lists = Owners(algorithm, means(good, arms), BATCH, draws), []
        for _ in range(steps):
            words = owners.words()
            masks = np.array([word_to_mask(word) for word in uniform(draws, BATCH)])
            lists.append(draws.permuted(words / 2.0**48, axis=1) * masks[:, None])
            owners.pull(words.argmax(axis=1))
        values = np.stack(lists, axis=1)
        pieces.append(features(published_channels(values, values.argmax(axis=2))))
    return joined(pieces)


def joined(pieces):
    return pieces[0][0], np.concatenate([values for _, values in pieces])


def shown(title: str, one, other) -> Likeness:
    found = compare(one[0], one[1], other[1])
    verdict = "at chance" if found.at_chance else f"told apart by {found.feature}"
    print(f"  {title:56s} {found.accuracy:.3f}   p {found.p_value:8.2g}   {verdict}", flush=True)
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=2000, help="of each world")
    runs = asked.parse_args().runs
    print(f"{runs:,} runs a side: share of runs named rightly, p after Bonferroni's correction")
    for arms, algorithm, steps in CASES:
        print(f"silent, K = {arms}, {algorithm}, {steps} steps")
        poor, good = (real(each, arms, algorithm, steps, runs) for each in (False, True))
        for who in SERVERS:
            shown(f"{who}: two worlds", poor[who], good[who])
            shown(f"{who}: a world and a made view", good[who], made(who, arms, steps, runs))
    for arms, algorithm, steps in PUBLISHED:
        print(f"published, K = {arms}, {algorithm}, {steps} steps")
        worlds = (published(each, arms, algorithm, steps, runs) for each in (False, True))
        shown("Comp: two worlds", *worlds)


if __name__ == "__main__":
    main()
