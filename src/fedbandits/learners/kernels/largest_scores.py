"""Comparisons of masked scores: the largest wins, or a draw in proportion to the scores.

A score is masked by multiplying it with a positive number that only its owners know. The product is
rounded to a float, and the rounding is necessary: exact products of one step have the mask as a
common divisor, which anybody with two products could compute. Rounding never inverts an order, but
two scores that differ in their last bit may become equal. The plain run therefore compares the same
rounded products, and breaks such ties as all ties are broken.

Where nobody may learn more than the place of the largest score, a step can only find this place. So
two things change in :mod:`.index_rules`:

* Probability matching. An arm adds Gumbel noise of its own to the logarithm of its weight wᵢ. The
  largest sum is then arm i's with probability wᵢ / Σw (Yellott 1977). It is the race of
  :func:`in_proportion`, in logarithms. Pursuit keeps logarithms from the start.
* Steps that explore. Every arm's score is a fresh uniform number of its own.

An arm's draws are named by its key, the step and the iteration, so the arm can repeat them alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Words64
from fedbandits.learners.kernels.index_rules import (
    LARGEST,
    Pursuit,
    Softmax,
    declare,
    empirical_mean,
)
from fedbandits.learners.kernels.rule_handles import Handle, score_arms
from fedbandits.random import Key, Purpose, uniform

_SCORE = int(Purpose.SCORE)
#: Pursuit's least log-weight: e⁻¹⁰⁰⁰ is no float, and never wins.
LEAST_LOG_WEIGHT = -1000.0


class LargestSoftmax(NamedTuple):
    """Softmax by the largest score."""

    temperature: float = 0.06


class LargestPursuit(NamedTuple):
    """Pursuit by the largest score; its memory is the logarithm of its weight."""

    rate: float = 0.1


#: Rules that compare in proportion, and their counterparts by the largest score.
_STANDS_FOR: dict[type, type] = {Softmax: LargestSoftmax, Pursuit: LargestPursuit}


def as_largest(rule: Any) -> Any:
    """Return the counterpart of a rule in which the largest score wins."""
    return _STANDS_FOR.get(type(rule), type(rule))(*rule)


def first_memory(rule: Any, arms: int) -> float:
    """Return an arm's memory before the first step: ln(1 / K) for Pursuit, 0 for other rules."""
    return -math.log(arms) if isinstance(rule, LargestPursuit) else 0.0


@compiled
def own_uniform(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own uniform on [0, 1) for one iteration."""
    return uniform(key, 0, step, _SCORE, iteration)


@compiled
def own_gumbel(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own standard Gumbel variable, from -3.7 to 37.5.

    The variable is -ln E, where E is a standard exponential variable, and at least 2⁻⁵⁴.
    """
    wait = max(-np.log1p(-own_uniform(key, iteration, step)), 2.0**-54)
    return -math.log(wait)


def _softmax(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return empirical_mean(arm) / rule.temperature + own_gumbel(arm.key, iteration, step)


def _pursuit(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    if iteration == 1:
        return empirical_mean(arm)
    return memory[0] + own_gumbel(arm.key, iteration, step)


def _pursue(rule: Any, iteration: Any, chosen: Any, memory: Any) -> Any:
    if iteration != 1:
        return
    if chosen:  # ln(β + (1 - β) w), exact also for w near 1
        memory[0] = math.log1p((1.0 - rule.rate) * math.expm1(memory[0]))
    else:
        memory[0] = max(memory[0] + math.log1p(-rule.rate), LEAST_LOG_WEIGHT)


declare(LargestSoftmax, (LARGEST,), _softmax)
declare(LargestPursuit, (LARGEST, LARGEST), _pursuit, _pursue)


@compiled
def largest_scores(
    handle: Handle, iteration: int, step: int, keys: Words64, exploring: bool
) -> None:
    """Score all arms for a comparison by the largest score, into the handle's array.

    ``keys``, (arms, 2), are those of the arms' own draws, and ``exploring`` tells whether the step
    explores. An arm's memory is :func:`first_memory` before the first step.
    """
    if not exploring:
        score_arms(handle, iteration, step)
        return
    for i in range(handle.scores.size):
        handle.scores[i] = own_uniform(Key(keys[i, 0], keys[i, 1]), iteration, step)


@compiled
def largest_place(scores: Floats) -> tuple[int, int]:
    """Return the first place with the largest masked score, and the number of such places.

    The place is -1 if a score is not a finite number.
    """
    best, equals, top = -1, 0, -np.inf
    for place in range(scores.size):
        score = scores[place]
        if not np.isfinite(score):
            return -1, 0
        if score > top:
            best, equals, top = place, 1, score
        elif score == top:
            equals += 1
    return best, equals


@compiled
def equal_place(scores: Floats, first: int, rank: int) -> int:
    """Return the place that equals place ``first`` in score and follows ``rank`` equal places."""
    place = first
    while rank > 0:
        place += 1
        if scores[place] == scores[first]:
            rank -= 1
    return place


@compiled
def in_proportion(scores: Floats, waits: Floats) -> int:
    """Draw a place with probability in proportion to its masked score, as a race.

    If place j's score is v and its wait is exponential, the largest v / wait is place j's with
    probability v / Σv: probability matching without a sum.

    ``scores`` are masked and ≥ 0, ``waits`` standard exponential variables above 0, (places,) each.
    Returns -1 if a score is negative or not a finite number. Among equal ratios the shortest wait
    wins: if all scores are zero, a uniformly random place.
    """
    best, top = -1, -1.0
    for place in range(scores.size):
        if not (np.isfinite(scores[place]) and scores[place] >= 0.0):
            return -1
        ratio = scores[place] / waits[place]
        if ratio > top or (ratio == top and waits[place] < waits[best]):
            best, top = place, ratio
    return best
