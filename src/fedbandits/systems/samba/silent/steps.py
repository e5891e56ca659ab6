"""What owners compute where neither server learns anything, and the plain run of it.

A silent run of any execution goes by :func:`owners_words`, finds the owner of the largest word,
and lets owners take note of it by :func:`owners_note`. Here it is found in clear.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.crypto.keystream import permute
from fedbandits.learners.kernels.index_rules import explores
from fedbandits.learners.kernels.largest_scores import largest_scores, note_silent_bit
from fedbandits.random import Key
from fedbandits.systems.samba.fixed_point import to_words
from fedbandits.systems.samba.kernels import pull
from fedbandits.systems.samba.silent.draws import SilentBatch
from fedbandits.systems.samba.state import Owners


class SilentScratch(NamedTuple):
    """Buffers of a step, by owner; nothing in them outlives it."""

    places: Ints  # (arms,)
    scores: Floats  # (arms,)
    words: Ints  # (arms,)


def new_silent_scratch(arms: int) -> SilentScratch:
    """Buffers for one run."""
    return SilentScratch(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms, np.int64))


@compiled
def owners_words(
    rule: Any, iteration: int, step: int, draws: SilentBatch, s: int, owners: Owners,
    tie_bits: int, scratch: SilentScratch,
) -> bool:  # fmt: skip
    """Every owner's word, from its own records and its place among ties.

    Parameters
    ----------
    rule, iteration, step
        What is played, and where the run is.
    draws : SilentBatch
    s : int
        Which of its steps this is.
    owners : Owners
    tie_bits : int
        Bits of a place.
    scratch : SilentScratch
        Receives places and words.

    Returns
    -------
    bool
        Whether all scores are numbers.
    """
    pulls, rewards, memory, keys, _ = owners
    permute(draws.places[s, iteration - 1], scratch.places)
    exploring = explores(rule, step, scratch.places.size, draws.exploration[s])
    largest_scores(rule, iteration, step, pulls, rewards, memory, keys, exploring, scratch.scores)
    return to_words(scratch.scores, scratch.places, tie_bits, scratch.words)


@compiled
def largest_word(words: Ints) -> int:
    """The owner of the largest word; no two are equal."""
    best = 0
    for i in range(1, words.size):
        if words[i] > words[best]:
            best = i
    return best


@compiled
def owners_note(
    world: Any, rule: Any, iteration: int, iterations: int, step: int, arm: int, owners: Owners,
    key: Key,
) -> None:  # fmt: skip
    """Every owner takes note of its bit; after the last iteration one pulls its arm."""
    for i in range(owners.pulls.size):
        note_silent_bit(rule, iteration, i == arm, owners.memory[i])
    if iteration == iterations:
        pull(world, owners, key, arm, step)


@compiled
def play_plain_silent(
    world: Any, rule: Any, iterations: int, owners: Owners, key: Key, first: int,
    draws: SilentBatch, tie_bits: int, scratch: SilentScratch,
) -> int:  # fmt: skip
    """Play as many steps as there are draws, on one machine.

    Every silent run must pull the same arms.

    Returns
    -------
    int
        0, or the step in which a score was no number.
    """
    for s in range(draws.exploration.size):
        step = first + s
        for i in range(iterations):
            if not owners_words(rule, i + 1, step, draws, s, owners, tie_bits, scratch):
                return step
            arm = largest_word(scratch.words)
            owners_note(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0
