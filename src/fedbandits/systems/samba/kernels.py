"""SAMBA's compiled code: computations of owners and Comp, in the order of Figure 6's steps.

Owner i's place in Comp's list is ``places[i]``. A turn is an iteration of a step.

**Silent steps.** Owners' scores are words: whole numbers that can be shared and compared, of which
no two are equal. A word is a score times 2³², rounded, with the owner's place in the lowest bits.
All words lie within ±2⁶⁰, so every difference of two lies within ±2⁶¹, and its sign is that of the
comparison: nothing overflows. The servers of a silent run find the owner of the largest word
without reading one. A simulation compares the words: the arm is the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.crypto.kernels.dealing import permute, word_below, word_to_unit
from fedbandits.environments.kernels.arrivals import pull_arm, pull_regret
from fedbandits.learners.kernels.index_rules import LARGEST
from fedbandits.learners.kernels.largest_scores import (
    equal_place,
    in_proportion,
    largest_place,
    largest_scores,
)
from fedbandits.learners.kernels.rule_handles import Handle, explores, note_chosen, score_arms
from fedbandits.random import Key

#: Bits behind the point: scores further apart than 2⁻³² keep their order.
SCALE_BITS = 32
#: A word's magnitude is at most two to this power.
MAGNITUDE_BITS = 60
#: Stands for a score that is no number; every word is larger.
REFUSED = -(1 << 63)
_SCALE = 2.0**SCALE_BITS


class Owners(NamedTuple):
    """Knowledge of all data owners, owner by owner."""

    pulls: Ints  # (arms,) nᵢ
    rewards: Floats  # (arms,) sᵢ
    memory: Floats  # (arms, 1): a rule's memory of earlier steps
    keys: Words64  # (arms, 2): of an owner's own draws
    regret: Floats  # (arms,) of its pulls; counted under drift only


@compiled
def word_to_mask(word: np.uint64) -> float:
    """Return αₜ: in one of 64 octaves, uniform within; never 0.

    The upper 53 bits make a significand in [1, 2), the lowest 6 an exponent from -32 to 31.
    """
    return math.ldexp(1.0 + word_to_unit(word), int(word & np.uint64(63)) - 32)


class Batch(NamedTuple):
    """All draws of some steps, for the compiled loop."""

    exploration: Floats  # (steps,) uniform
    masks: Floats  # (steps, iterations)
    places: Words64  # (steps, iterations, arms)
    waits: Words64  # (steps, iterations, arms or 0)
    ties: Words64  # (steps, iterations)
    drawn: Words64  # (steps, 0, 1 or arms)


@compiled
def fill_masks(words: Words64, masks: Floats) -> None:
    """Write :func:`word_to_mask` of every word."""
    for i in range(masks.size):
        masks[i] = word_to_mask(words[i])


@compiled
def fill_units(words: Words64, units: Floats) -> None:
    """Write :func:`.dealing.word_to_unit` of every word."""
    for i in range(units.size):
        units[i] = word_to_unit(words[i])


class Scratch(NamedTuple):
    """Buffers for a step; nothing in them outlives the step."""

    places: Ints  # (arms,)
    listed: Words64  # (arms,), by place, sealed
    opened: Floats  # (arms,), by place
    waits: Floats  # (arms,), by place
    bits: NDArray[np.uint8]  # (arms,), by place, sealed


def new_scratch(arms: int) -> Scratch:
    """Make buffers for one run."""
    return Scratch(
        places=np.zeros(arms, np.int64),
        listed=np.zeros(arms, np.uint64),
        opened=np.zeros(arms),
        waits=np.zeros(arms),
        bits=np.zeros(arms, np.uint8),
    )


class PacketPads(NamedTuple):
    """Key stream of all packets of some steps; zeros where nothing is encrypted."""

    scores: Words64  # (steps or 1, iterations, arms)
    bits: NDArray[np.uint8]  # (steps or 1, iterations, arms)


@compiled
def pull(world: Any, owners: Owners, key: Key, arm: int, round_: int) -> None:
    """Pull an owner's arm."""
    owners.rewards[arm] += pull_arm(world, key, arm, round_)
    owners.pulls[arm] += 1
    if world.other.size > 0:
        owners.regret[arm] += pull_regret(world, arm, round_)


@compiled
def owners_score(rule: Handle, iteration: int, step: int, exploring: bool, mask: float) -> None:
    """Compute every owner's masked score, by owner, into the rule's array (step 2).

    All scores are zero in an exploring step.
    """
    if exploring:
        rule.scores[:] = 0.0
        return
    score_arms(rule, iteration, step)
    for i in range(rule.scores.size):
        rule.scores[i] *= mask


@compiled
def send_scores(masked: Words64, places: Ints, pad: Words64, listed: Words64) -> None:
    """Seal scores under their places' key stream, and permute them (steps 2 and 3)."""
    for i in range(places.size):
        listed[places[i]] = masked[i] ^ pad[places[i]]


@compiled
def open_scores(listed: Words64, pad: Words64, opened: Words64) -> None:
    """Open Comp's list (step 4)."""
    for place in range(opened.size):
        opened[place] = listed[place] ^ pad[place]


@compiled
def any_place(tie: np.uint64, places: int) -> int:
    """Choose any of the places (step 4 where all scores are equal)."""
    return word_below(tie, places)


@compiled
def list_drawn(words: Words64, places: Ints, listed: Floats) -> None:
    """List the scores that the Controller draws for an exploring step (section 5.4, step 3).

    A single word is the score of all arms; otherwise every arm has a word.
    """
    for i in range(places.size):
        listed[places[i]] = word_to_unit(words[i % words.size])


@compiled
def select_drawn(listed: Floats) -> int:
    """Choose the first of the largest scores; -1 if a score is no number (section 5.4, step 4).

    Comp draws nothing: "the randomness in the argmax being simulated by the permutation".
    """
    best, _ = largest_place(listed)
    return best


@compiled
def exponentials(words: Words64, out: Floats) -> None:
    """Make a standard exponential variable of every word; never below 2**-54."""
    for i in range(out.size):
        out[i] = max(-np.log1p(-word_to_unit(words[i])), 2.0**-54)


@compiled
def select_arm(
    comparison: int, masked: Floats, tie: np.uint64, words: Words64, waits: Floats
) -> int:
    """Choose a place as Comp does, by masked scores (step 4); -1 if a number cannot be a score.

    ``comparison`` is ``LARGEST`` or ``IN_PROPORTION``. The random word ``tie`` chooses among equal
    largest scores. Probability matching reads the (arms,) random ``words`` and overwrites
    ``waits``, (arms,).
    """
    if comparison == LARGEST:
        best, equals = largest_place(masked)
        return equal_place(masked, best, any_place(tie, equals)) if equals > 1 else best
    exponentials(words, waits)
    return in_proportion(masked, waits)


@compiled
def send_bits(chosen: int, places: Ints, pad: NDArray[np.uint8], bits: NDArray[np.uint8]) -> int:
    """Seal a bit a place, and open all bits; returns the owner of bit 1 (steps 4 and 5)."""
    for place in range(bits.size):
        bits[place] = np.uint8(place == chosen) ^ pad[place]
    pulled = -1
    for i in range(places.size):
        if bits[places[i]] ^ pad[places[i]] == 1:
            pulled = i
    return pulled


@compiled
def owners_take(
    world: Any, rule: Handle, iteration: int, iterations: int, step: int, arm: int,
    owners: Owners, key: Key,
) -> None:  # fmt: skip
    """Let every owner take note of its bit (step 5); the last iteration is followed by a pull."""
    note_chosen(rule, iteration, arm)
    if iteration == iterations:
        pull(world, owners, key, arm, step)


@compiled
def play_steps(
    world: Any, rule: Handle, comparisons: Ints, owners: Owners, key: Key, first: int, draws: Batch,
    pads: PacketPads, scratch: Scratch, explored: Ints,
) -> int:  # fmt: skip
    """Play as many steps as there are draws; returns 0, or the step whose scores were refused."""
    arms, iterations = scratch.places.size, comparisons.size
    for s in range(draws.exploration.size):
        step = first + s
        exploring = explores(rule, step, arms, draws.exploration[s])
        explored[0] += exploring
        row = min(s, pads.scores.shape[0] - 1)
        for i in range(iterations):
            permute(draws.places[s, i], scratch.places)
            if exploring and draws.drawn.shape[1] > 0:
                list_drawn(draws.drawn[s], scratch.places, scratch.opened)
                place = select_drawn(scratch.opened)
            else:
                mask = draws.masks[s, i]
                owners_score(rule, i + 1, step, exploring, mask)
                pad = pads.scores[row, i]
                send_scores(rule.scores.view(np.uint64), scratch.places, pad, scratch.listed)
                open_scores(scratch.listed, pad, scratch.opened.view(np.uint64))
                place = select_arm(
                    comparisons[i], scratch.opened, draws.ties[s, i], draws.waits[s, i],
                    scratch.waits,
                )  # fmt: skip
            if place < 0:
                return step
            arm = send_bits(place, scratch.places, pads.bits[row, i], scratch.bits)
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


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
    """Buffers for a step, by owner; nothing in them outlives the step."""

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
def play_silent_steps(
    world: Any, rule: Handle, iterations: int, owners: Owners, key: Key, first: int,
    draws: SilentBatch, tie_bits: int, scratch: SilentScratch,
) -> int:  # fmt: skip
    """Play as many steps as there are draws.

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
