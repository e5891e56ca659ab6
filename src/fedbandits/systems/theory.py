"""Bounds from theorems, as curves over rounds that a run is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from fedbandits._typing import Floats

#: What a bound is on: a variable of a run's results, summed over the parties.
Quantity = Literal["regret", "syncs", "messages"]


class Bound(NamedTuple):
    """A bound that a paper proves, with its constants.

    Parameters
    ----------
    theorem
        Where it is proved: paper and number.
    statement
        The bound as a formula, and what constants were taken where the paper hides them.
    quantity
        What it is on.
    at
        From rounds played (n,) to the bound after each, (n,).
    largest
        The most that one round of all parties can add, whatever is played. A bound above that
        for every round promises nothing: it is vacuous. Infinite if nothing is known.
    departs
        Conditions of the theorem that this run does not meet, a sentence each. It promises
        nothing here then, and is shown for comparison.
    in_mean
        Whether it bounds the expectation, not a run with high probability.
    since
        The first horizon that it is about; where ln T stands, that is 2.
    """

    theorem: str
    statement: str
    quantity: Quantity
    at: Callable[[Floats], Floats]
    largest: float = math.inf
    departs: tuple[str, ...] = ()
    in_mean: bool = False
    since: int = 2
