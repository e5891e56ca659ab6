"""Bounds of records: what can be wrong with a record, and the errors that say so.

Every price rests on what one record can be: ‖x‖ ≤ L and a reward in a known range, or good units
among units among a capacity. :mod:`fedbandits.privacy.kernels` checks each record before it touches
any statistic. All systems, in loops and in parties, call it.
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
    UNITS_IMPOSSIBLE: "good units must lie between 0 and those bought, which capacities bound",
}


def require_contexts(contexts: Floats32, bound: float, where: str) -> None:
    """Hold a decision set, (d, K), to ‖x‖ ≤ L; ``where`` names it in the BoundExceededError.

    That says which context is too long, and how long it is. It shows no number of it.
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
    """Return a reward as a number; a BoundExceededError never tells what was given."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise BoundExceededError(f"{place}: {_MESSAGES[NOT_A_NUMBER]}") from None


def require_within(fault: int, where: str) -> None:
    """Raise the BoundExceededError of a fault, if it is one; no value of the record is in it."""
    if fault != NO_FAULT:
        raise BoundExceededError(f"{where}: {_MESSAGES[fault]}")
