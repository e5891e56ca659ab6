"""The one place that holds records to their bounds, before they touch any statistic.

Every price rests on what one record can be: ‖x‖ ≤ L and a reward in a known range, or good units
among units among a capacity. All systems, in loops and in parties, call these functions.
"""

from __future__ import annotations

import math

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.errors import BoundExceededError

#: What is wrong with a record.
NO_FAULT, CONTEXT_TOO_LONG, REWARD_TOO_LARGE, NOT_A_NUMBER, UNITS_IMPOSSIBLE = 0, 1, 2, 3, 9

#: Share by which a context may be longer than its bound: float32 moves the norm of a unit vector by
#: up to 2⁻²⁴, and adding up squares a little. Prices have room for it
#: (:mod:`fedbandits.privacy.rounding`).
CAST_ROOM = 2.0**-23
#: The same of squares.
_SQUARE_ROOM = (1.0 + CAST_ROOM) ** 2

_MESSAGES = {
    CONTEXT_TOO_LONG: "a context is longer than its bound",
    REWARD_TOO_LARGE: "a reward is outside its bounds",
    NOT_A_NUMBER: "a context or reward is not a finite number",
    UNITS_IMPOSSIBLE: "good units must lie between 0 and those bought, which capacities bound",
}


@compiled
def record_fault(
    context: Floats, reward: float, context_bound: float, lowest: float, highest: float, clip: bool
) -> tuple[int, float]:
    """Hold a record to ‖x‖ ≤ L and lowest ≤ y ≤ highest; clip it in place when asked to.

    A context may be longer by :data:`CAST_ROOM`, which casting it to float32 may have added.

    Parameters
    ----------
    context : (d,) float64
        Scaled back into the ball of radius L, and the reward with it, if it is longer and
        ``clip`` is set.
    reward : float
    context_bound : float
        The bound L on ‖x‖.
    lowest, highest : float
        -B and B, or the range that a system has for rewards.
    clip : bool
        Scale back what is out of bounds instead of refusing it.

    Returns
    -------
    fault : int
        ``NO_FAULT``, or what is wrong.
    reward : float
        The reward to use.
    """
    square = 0.0
    for i in range(context.size):
        square += context[i] * context[i]
    if not (math.isfinite(square) and math.isfinite(reward)):
        return NOT_A_NUMBER, reward
    if square > context_bound * context_bound * _SQUARE_ROOM:
        if not clip:
            return CONTEXT_TOO_LONG, reward
        # A hair inside the ball, so that rounding cannot leave it outside.
        factor = context_bound * (1.0 - 1e-12) / math.sqrt(square)
        for i in range(context.size):
            context[i] *= factor
        reward *= factor  # (f·x, f·y) is linear in the same θ*, with less noise
    if not lowest <= reward <= highest:
        if not clip:
            return REWARD_TOO_LARGE, reward
        reward = min(max(reward, lowest), highest)
    return NO_FAULT, reward


@compiled
def contexts_fault(contexts: Floats32, context_bound: float) -> int:
    """Hold a whole decision set, (d, K), to ‖x‖ ≤ L."""
    for k in range(contexts.shape[1]):
        square = 0.0
        for i in range(contexts.shape[0]):
            square += float(contexts[i, k]) * float(contexts[i, k])
        if not math.isfinite(square):
            return NOT_A_NUMBER
        if square > context_bound * context_bound * _SQUARE_ROOM:
            return CONTEXT_TOO_LONG
    return NO_FAULT


@compiled
def purchase_fault(units: Ints, good: Ints, capacity: Ints) -> int:
    """Hold a purchase to 0 ≤ good units ≤ units ≤ capacity, producer by producer, (m,) each."""
    for i in range(units.size):
        if not 0 <= good[i] <= units[i] <= capacity[i]:
            return UNITS_IMPOSSIBLE
    return NO_FAULT


def require_within(fault: int, where: str) -> None:
    """Raise what a fault means.

    Raises
    ------
    BoundExceededError
        If it is not ``NO_FAULT``; the message has no value of the record in it.
    """
    if fault != NO_FAULT:
        raise BoundExceededError(f"{where}: {_MESSAGES[fault]}")
