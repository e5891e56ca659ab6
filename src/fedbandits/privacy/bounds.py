"""Bounds of records: the faults of a record, and their errors.

Every price rests on bounds of one record: ‖x‖ ≤ L and a reward in a known range, or good units
among units within a capacity. :mod:`fedbandits.privacy.kernels` checks each record before the
record changes any statistic. All systems call these checks, in loops and in parties.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats32
from fedbandits.errors import BoundExceededError
from fedbandits.privacy.kernels import (
    CAST_ROOM,
    CONTEXT_TOO_LONG,
    NO_FAULT,
    NOT_A_NUMBER,
    REWARD_TOO_LARGE,
    UNITS_IMPOSSIBLE,
    contexts_fault,
)

_MESSAGES = {
    CONTEXT_TOO_LONG: "a context is longer than its bound",
    REWARD_TOO_LARGE: "a reward is outside its bounds",
    NOT_A_NUMBER: "a context or reward is not a finite number",
    UNITS_IMPOSSIBLE: "good units must lie between 0 and the bought units, which capacities bound",
}


def require_contexts(contexts: Floats32, bound: float, where: str) -> None:
    """Check a decision set, (d, K), against ‖x‖ ≤ L; ``where`` names the set in the error.

    The BoundExceededError gives the number of a context that is too long, and its norm. The error
    shows no entry of the context.
    """
    fault = contexts_fault(contexts, bound)
    if fault != CONTEXT_TOO_LONG:
        require_within(fault, where)
        return
    norms = np.linalg.norm(contexts.astype(np.float64), axis=0)
    row = int(np.argmax(norms > bound * (1.0 + CAST_ROOM)))
    raise BoundExceededError(
        f"{where}: row {row} (the first is 0) has the norm {norms[row]:.9g}, allowed: "
        f"{bound:.9g}, the context_bound of the terms; scale contexts down"
    )


def as_reward(value: object, place: str) -> float:
    """Return a reward as a number; a BoundExceededError does not show the given value."""
    try:  # a complex number of NumPy's would lose its imaginary part
        reward = None if isinstance(value, np.complexfloating) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        reward = None
    if reward is None:
        raise BoundExceededError(f"{place}: {_MESSAGES[NOT_A_NUMBER]}")
    return reward


def require_within(fault: int, where: str) -> None:
    """Raise the BoundExceededError of a fault, if any; the error shows no value of the record."""
    if fault != NO_FAULT:
        raise BoundExceededError(f"{where}: {_MESSAGES[fault]}")
