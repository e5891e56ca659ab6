"""What SAMBA's roles compute in a step (Figure 6), as compiled functions on arrays.

Owner i's place in Comp's list is ``places[i]``. A payload is a masked score as two floats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.crypto.keystream import Words64, exponentials
from fedbandits.environments.bernoulli import pull_arm
from fedbandits.learners.index_rules import LARGEST, note_bit, score_arms
from fedbandits.learners.selection import in_proportion, largest, mask_score
from fedbandits.random import Key


class Owners(NamedTuple):
    """What all data owners know, owner by owner."""

    pulls: Ints  # (arms,) nᵢ
    rewards: Floats  # (arms,) sᵢ
    memory: Floats  # (arms, 1)


@compiled
def pull(world: Any, owners: Owners, key: Key, arm: int, round_: int) -> None:
    """An owner pulls its arm."""
    owners.rewards[arm] += pull_arm(world, key, arm, round_)
    owners.pulls[arm] += 1


@compiled
def mask_scores(scores: Floats, mask: float, payloads: Floats) -> None:
    """Mask every score, into ``payloads`` (arms, 2)."""
    for i in range(scores.size):
        payloads[i, 0], payloads[i, 1] = mask_score(scores[i], mask)


@compiled
def owners_score(
    rule: Any, iteration: int, step: int, exploring: bool, mask: float, owners: Owners, key: Key,
    scores: Floats, payloads: Floats,
) -> None:  # fmt: skip
    """Step 2: every owner's masked score; equal ones (zero) where the step explores."""
    if exploring:
        scores[:] = 0.0
    else:
        score_arms(rule, iteration, step, owners.pulls, owners.rewards, owners.memory, key, scores)
    mask_scores(scores, mask, payloads)


@compiled
def select_arm(comparison: int, high: Floats, low: Floats, words: Words64, waits: Floats) -> int:
    """Step 4: the place that Comp chooses; -1 if a score cannot be one."""
    if comparison == LARGEST:
        return largest(high, low)
    exponentials(words, waits)
    return in_proportion(high, low, waits)


@compiled
def owners_take(
    world: Any, rule: Any, iteration: int, iterations: int, step: int, arm: int, owners: Owners,
    key: Key,
) -> None:  # fmt: skip
    """Step 5: every owner takes note of its bit; after the last iteration one pulls its arm."""
    for i in range(owners.pulls.size):
        note_bit(rule, iteration, i == arm, owners.memory[i])
    if iteration == iterations:
        pull(world, owners, key, arm, step)


class Scratch(NamedTuple):
    """Buffers of a step; nothing in them outlives it."""

    places: Ints  # (arms,)
    scores: Floats  # (arms,)
    payloads: Floats  # (arms, 2), by owner
    listed: Words64  # (arms, 2), by place, sealed
    high: Floats  # (arms,), by place
    low: Floats
    waits: Floats
    bits: Any  # (arms,) uint8, by place, sealed


def new_scratch(arms: int) -> Scratch:
    """Buffers for one run."""
    return Scratch(
        places=np.zeros(arms, np.int64),
        scores=np.zeros(arms),
        payloads=np.zeros((arms, 2)),
        listed=np.zeros((arms, 2), np.uint64),
        high=np.zeros(arms),
        low=np.zeros(arms),
        waits=np.zeros(arms),
        bits=np.zeros(arms, np.uint8),
    )
