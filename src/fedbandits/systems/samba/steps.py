"""What SAMBA's roles compute in a step (Figure 6), as compiled functions on arrays.

Owner i's place in Comp's list is ``places[i]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.keystream import exponentials
from fedbandits.environments.bernoulli import pull_arm
from fedbandits.learners.index_rules import LARGEST, note_bit, score_arms
from fedbandits.learners.selection import in_proportion, largest
from fedbandits.random import Key


class Owners(NamedTuple):
    """What all data owners know, owner by owner."""

    pulls: Ints  # (arms,) nᵢ
    rewards: Floats  # (arms,) sᵢ
    memory: Floats  # (arms, 1)
    keys: Words64  # (arms, 2): of its own draws


@compiled
def pull(world: Any, owners: Owners, key: Key, arm: int, round_: int) -> None:
    """An owner pulls its arm."""
    owners.rewards[arm] += pull_arm(world, key, arm, round_)
    owners.pulls[arm] += 1


@compiled
def owners_score(
    rule: Any, iteration: int, step: int, exploring: bool, mask: float, owners: Owners,
    masked: Floats,
) -> None:  # fmt: skip
    """Step 2: every owner's masked score, by owner; zeros where the step explores."""
    if exploring:
        masked[:] = 0.0
        return
    pulls, rewards, memory, keys = owners
    score_arms(rule, iteration, step, pulls, rewards, memory, keys, masked)
    for i in range(masked.size):
        masked[i] *= mask


@compiled
def select_arm(comparison: int, masked: Floats, words: Words64, waits: Floats) -> int:
    """Step 4: the place that Comp chooses; -1 if a score cannot be one.

    Parameters
    ----------
    comparison : int
        ``LARGEST`` or ``IN_PROPORTION``.
    masked : (arms,) float64
        Masked scores by place.
    words : (arms,) uint64
        Random words for probability matching; not read otherwise.
    waits : (arms,) float64
        Scratch.
    """
    if comparison == LARGEST:
        return largest(masked)
    exponentials(words, waits)
    return in_proportion(masked, waits)


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
    masked: Floats  # (arms,), by owner
    listed: Words64  # (arms,), by place, sealed
    opened: Floats  # (arms,), by place
    waits: Floats
    bits: Any  # (arms,) uint8, by place, sealed


def new_scratch(arms: int) -> Scratch:
    """Buffers for one run."""
    return Scratch(
        places=np.zeros(arms, np.int64),
        masked=np.zeros(arms),
        listed=np.zeros(arms, np.uint64),
        opened=np.zeros(arms),
        waits=np.zeros(arms),
        bits=np.zeros(arms, np.uint8),
    )
