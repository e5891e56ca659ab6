"""Index rules of which the largest score wins in every iteration.

Nothing else can be compared where nobody may learn more than who has the largest score. Of
:mod:`.index_rules` two things change:

* Probability matching. An arm adds Gumbel noise of its own to the logarithm of its weight wᵢ. The
  largest sum is then arm i's with probability wᵢ / Σw (Yellott 1977). It is the race of
  :func:`.selection.in_proportion`, in logarithms. Pursuit keeps logarithms from the start.
* Steps that explore. Every arm's score is a fresh uniform number of its own.

An arm's draws are named by its key, the step and the iteration: it can make them again alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Words64
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
    """Softmax of which the largest score wins."""

    temperature: float = 0.06


class LargestPursuit(NamedTuple):
    """Pursuit of which the largest score wins; its memory is the logarithm of its weight."""

    rate: float = 0.1


#: The rules that compare in proportion, and those that stand for them.
_STANDS_FOR: dict[type, type] = {Softmax: LargestSoftmax, Pursuit: LargestPursuit}


def as_largest(rule: Any) -> Any:
    """Return the rule in the form in which the largest score wins."""
    return _STANDS_FOR.get(type(rule), type(rule))(*rule)


def first_memory(rule: Any, arms: int) -> float:
    """Return what an arm keeps before the first step: Pursuit's ln(1 / K); others keep nothing."""
    return -math.log(arms) if isinstance(rule, LargestPursuit) else 0.0


@compiled
def own_uniform(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own uniform on [0, 1) for one iteration."""
    return uniform(key, 0, step, _SCORE, iteration)


@compiled
def own_gumbel(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own standard Gumbel variable, from -3.7 to 37.5.

    It is -ln E, where E is a standard exponential variable, and at least 2⁻⁵⁴.
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
    if chosen:  # ln(β + (1 - β) w), also where w is 1 but for rounding
        memory[0] = math.log1p((1.0 - rule.rate) * math.expm1(memory[0]))
    else:
        memory[0] = max(memory[0] + math.log1p(-rule.rate), LEAST_LOG_WEIGHT)


declare(LargestSoftmax, (LARGEST,), _softmax)
declare(LargestPursuit, (LARGEST, LARGEST), _pursuit, _pursue)


@compiled
def largest_scores(
    handle: Handle, iteration: int, step: int, keys: Words64, exploring: bool
) -> None:
    """Score all arms, such that the largest score of an iteration wins, into the handle's array.

    ``keys``, (arms, 2), are those of the arms' own draws, and ``exploring`` says whether the step
    explores. What an arm keeps is :func:`first_memory` before the first step.
    """
    if not exploring:
        score_arms(handle, iteration, step)
        return
    for i in range(handle.scores.size):
        handle.scores[i] = own_uniform(Key(keys[i, 0], keys[i, 1]), iteration, step)
