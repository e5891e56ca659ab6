"""Silent steps: what owners compute, and the compiled loops of a run.

Owners' scores are words: whole numbers that can be shared and compared, of which no two are equal.
A word is a score times 2³², rounded, with the owner's place in the lowest bits. All words lie
within ±2⁶⁰, so every difference of two lies within ±2⁶¹, and its sign is that of the comparison:
nothing overflows.

A silent run of any execution goes by :func:`owners_words`, finds the owner of the largest word, and
lets owners take note of it by :func:`.published.owners_take`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.kernels.words import permute
from fedbandits.learners.kernels.largest_scores import largest_scores
from fedbandits.learners.kernels.rule_handles import Handle, explores
from fedbandits.random import Key
from fedbandits.systems.samba.kernels.published import Owners, owners_take
from fedbandits.systems.samba.kernels.servers import (
    Bracket,
    Buffers,
    Dealt,
    Links,
    OwnerWords,
    read_answers,
    seal_column,
    select,
)

#: Bits behind the point: scores further apart than 2⁻³² keep their order.
SCALE_BITS = 32
#: A word's magnitude is at most two to this power.
MAGNITUDE_BITS = 60
#: Stands for a score that is no number; no word is that low.
REFUSED = -(1 << 63)
_SCALE = 2.0**SCALE_BITS


def bits_for_ties(arms: int) -> int:
    """Count the lowest bits of a word that hold a place of 0 … ``arms`` - 1; at least 1."""
    return max(1, (arms - 1).bit_length())


@compiled
def to_word(score: float, place: int, tie_bits: int) -> int:
    """Return the word that an owner shares, from -2⁶⁰ to 2⁶⁰ - 1; ``REFUSED`` for NaN.

    The score saturates at ±2^(28 - ``tie_bits``), and -∞ is lower than every finite score. No two
    owners have the same place, which is below 2^``tie_bits``, see :func:`bits_for_ties`.
    """
    if math.isnan(score):
        return REFUSED
    most = np.int64(1) << np.int64(MAGNITUDE_BITS - tie_bits)
    scaled = np.rint(score * _SCALE)
    if scaled >= most:
        number = most - np.int64(1)
    elif scaled > -most:
        number = np.int64(scaled)
    elif score == -np.inf:
        number = -most
    else:
        number = -most + np.int64(1)
    return int((number << np.int64(tie_bits)) + np.int64(place))


@compiled
def to_words(scores: Floats, places: Ints, tie_bits: int, words: Ints) -> bool:
    """Write :func:`to_word` of all owners; whether all scores are numbers. All are (arms,)."""
    for i in range(words.size):
        words[i] = to_word(scores[i], places[i], tie_bits)
        if words[i] == REFUSED:
            return False
    return True


class SilentBatch(NamedTuple):
    """All draws of some steps but the owners' own, for the compiled loop."""

    exploration: Floats  # (steps,) uniform
    places: Words64  # (steps, iterations, arms)


class SilentScratch(NamedTuple):
    """Buffers of a step, by owner; nothing in them outlives it."""

    places: Ints  # (arms,)
    words: Ints  # (arms,)


def new_silent_scratch(arms: int) -> SilentScratch:
    """Make buffers for one run."""
    return SilentScratch(np.zeros(arms, np.int64), np.zeros(arms, np.int64))


@compiled
def owners_words(
    rule: Handle, iteration: int, step: int, draws: SilentBatch, s: int, owners: Owners,
    tie_bits: int, scratch: SilentScratch,
) -> bool:  # fmt: skip
    """Make every owner's word of its records and its place among ties; whether all are numbers.

    Step number ``s`` of the draws is played. ``scratch`` receives places and words.
    """
    permute(draws.places[s, iteration - 1], scratch.places)
    exploring = explores(rule, step, scratch.places.size, draws.exploration[s])
    largest_scores(rule, iteration, step, owners.keys, exploring)
    return to_words(rule.scores, scratch.places, tie_bits, scratch.words)


@compiled
def largest_word(words: Ints) -> int:
    """Return the owner of the largest word; no two are equal."""
    best = 0
    for i in range(1, words.size):
        if words[i] > words[best]:
            best = i
    return best


@compiled
def play_plain_silent(
    world: Any, rule: Handle, iterations: int, owners: Owners, key: Key, first: int,
    draws: SilentBatch, tie_bits: int, scratch: SilentScratch,
) -> int:  # fmt: skip
    """Play as many steps as there are draws, on one machine: all silent runs pull the same arms.

    Returns 0, or the step in which a score was no number.
    """
    for s in range(draws.exploration.size):
        step = first + s
        for i in range(iterations):
            if not owners_words(rule, i + 1, step, draws, s, owners, tie_bits, scratch):
                return step
            arm = largest_word(scratch.words)
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


@compiled
def owners_send(words: Ints, streams: OwnerWords, column: int, sent: Words64) -> None:
    """Send every owner's word to the Controller, less what Comp has of it."""
    seal = seal_column(streams, column)
    for i in range(words.size):
        sent[i] = (np.uint64(words[i]) - streams.words[i, column]) ^ streams.up[i, seal]


@compiled
def shared_words(
    rule: Handle, iteration: int, step: int, draws: SilentBatch, s: int, owners: Owners,
    tie_bits: int, streams: OwnerWords, column: int, scratch: SilentScratch, sent: Words64,
) -> bool:  # fmt: skip
    """Make what every owner sends in one turn; returns whether all scores are numbers."""
    fine = owners_words(rule, iteration, step, draws, s, owners, tie_bits, scratch)
    owners_send(scratch.words, streams, column, sent)
    return fine


@compiled
def play_silent(
    world: Any, rule: Handle, iterations: int, owners: Owners, key: Key, first: int,
    draws: SilentBatch, tie_bits: int, bracket: Bracket, dealt: Dealt, links: Links,
    streams: OwnerWords, offset: int, scratch: SilentScratch, buffers: Buffers,
) -> int:  # fmt: skip
    """Play as many steps as there are draws.

    Returns 0, the step in which a score was no number, or less than 0 if not exactly one owner was
    told that it is chosen.
    """
    for s in range(draws.exploration.size):
        step = first + s
        for i in range(iterations):
            turn = s * iterations + i
            if not shared_words(
                rule, i + 1, step, draws, s, owners, tie_bits, streams, turn + offset, scratch,
                buffers.sent,
            ):  # fmt: skip
                return step
            arm = select(bracket, dealt, links, streams, turn, offset, buffers)
            if arm < 0:
                return -step
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


@compiled
def note_answers(
    world: Any, rule: Handle, iteration: int, iterations: int, step: int, answers: Words64,
    streams: OwnerWords, column: int, owners: Owners, key: Key,
) -> bool:  # fmt: skip
    """Let every owner read its answer; returns whether exactly one of them was chosen."""
    arm = read_answers(answers, streams, column)
    if arm < 0:
        return False
    owners_take(world, rule, iteration, iterations, step, arm, owners, key)
    return True
