"""The index rules once more, so that the largest score wins in every iteration.

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
from typing import Any

import numpy as np

from fedbandits._compile import compiled, implements
from fedbandits._typing import Floats, Ints, Words64
from fedbandits.learners.kernels.index_rules import (
    ITERATIONS,
    UCB,
    Arm,
    DecreasingEpsilonGreedy,
    EpsilonGreedy,
    Pursuit,
    Softmax,
    Thompson,
    compute_score,
    empirical_mean,
)
from fedbandits.random import Key, Purpose, uniform

_SCORE = int(Purpose.SCORE)
#: Pursuit's least log-weight: e⁻¹⁰⁰⁰ is no float, and never wins.
LEAST_LOG_WEIGHT = -1000.0


def compute_largest(rule: Any, iteration: int, step: int, arm: Arm, memory: Floats) -> float:
    """Score one arm in a step that does not explore. Implemented once a rule.

    The parameters are those of :func:`.index_rules.compute_score`; the memory is this module's.
    """
    raise NotImplementedError(f"{type(rule).__name__} has no score of which the largest wins")


def keep_bit(rule: Any, iteration: int, chosen: bool, memory: Floats) -> None:
    """Take note of whether an iteration chose this arm. Implemented once a rule."""
    raise NotImplementedError(f"no memory is defined for {type(rule).__name__}")


@compiled
def own_uniform(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own uniform on [0, 1) for one iteration."""
    return uniform(key, 0, step, _SCORE, iteration)


@compiled
def own_gumbel(key: Key, iteration: int, step: int) -> float:
    """Draw the arm's own standard Gumbel variable, from -3.7 to 37.5.

    It is -ln E, where E is exponential and at least 2⁻⁵⁴, as in
    :func:`~fedbandits.crypto.kernels.words.exponentials`.
    """
    wait = max(-np.log1p(-own_uniform(key, iteration, step)), 2.0**-54)
    return -math.log(wait)


def _as_published(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return compute_score(rule, iteration, step, arm, memory)


@implements(compute_largest, Softmax)
def _softmax(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    return empirical_mean(arm) / rule.temperature + own_gumbel(arm.key, iteration, step)


@implements(compute_largest, Pursuit)
def _pursuit(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    if iteration == 1:
        return empirical_mean(arm)
    return memory[0] + own_gumbel(arm.key, iteration, step)


@implements(keep_bit, Pursuit)
def _pursue(rule: Any, iteration: Any, chosen: Any, memory: Any) -> Any:
    if iteration != 1:
        return
    if chosen:  # ln(β + (1 - β) w), also where w is 1 but for rounding
        memory[0] = math.log1p((1.0 - rule.rate) * math.expm1(memory[0]))
    else:
        memory[0] = max(memory[0] + math.log1p(-rule.rate), LEAST_LOG_WEIGHT)


def _forgets(rule: Any, iteration: Any, chosen: Any, memory: Any) -> Any:
    return None


_SAME: tuple[type, ...] = (UCB, Thompson, EpsilonGreedy, DecreasingEpsilonGreedy)
for _rule in _SAME:
    implements(compute_largest, _rule)(_as_published)
for _rule in ITERATIONS.keys() - {Pursuit}:
    implements(keep_bit, _rule)(_forgets)


def first_memory(rule: Any, arms: int) -> float:
    """Return what an arm keeps before the first step: Pursuit's ln(1 / K); others keep nothing."""
    return -math.log(arms) if isinstance(rule, Pursuit) else 0.0


@compiled
def largest_score(
    rule: Any, iteration: int, step: int, arm: Arm, memory: Floats, exploring: bool
) -> float:
    """Score one arm, such that the largest score of an iteration wins; it is finite.

    The parameters are those of :func:`.index_rules.compute_score`. ``arm`` has the key of its own
    draws, and ``memory`` is what it keeps, from :func:`first_memory` on. ``exploring`` says whether
    the step explores, see :func:`.index_rules.explores`.
    """
    if exploring:
        return own_uniform(arm.key, iteration, step)
    return compute_largest(rule, iteration, step, arm, memory)


@compiled
def note_silent_bit(rule: Any, iteration: int, chosen: bool, memory: Floats) -> None:
    """Take note of whether an iteration chose this arm; changes ``memory``, (1,) float64."""
    keep_bit(rule, iteration, chosen, memory)


@compiled
def largest_scores(
    rule: Any, iteration: int, step: int, pulls: Ints, rewards: Floats, memory: Floats,
    keys: Words64, exploring: bool, out: Floats,
) -> None:  # fmt: skip
    """Compute :func:`largest_score` of all arms, each from its own records.

    ``memory`` is (arms, 1), ``keys`` (arms, 2), the others (arms,).
    """
    for i in range(out.size):
        arm = Arm(pulls[i], rewards[i], Key(keys[i, 0], keys[i, 1]))
        out[i] = largest_score(rule, iteration, step, arm, memory[i], exploring)
