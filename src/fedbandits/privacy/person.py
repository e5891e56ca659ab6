"""The price of all visits of one person together, where a claim is for one visit."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from fedbandits.errors import ClaimError
from fedbandits.privacy import gaussian

Counted = Literal["on average", "at most", "to all parties"]
_SOME: dict[Counted, str] = {
    "on average": "the mean: some have more",
    "at most": "the most that is expected of anybody",
    "to all parties": "the most that count",
}


class PersonCost(msgspec.Struct, frozen=True, kw_only=True):
    """The price of a person, who has several records.

    ``counted`` says what kind of number ``visits`` is. ``on average``: some persons have more.
    ``at most``: nobody is expected to have more. ``to all parties``: as many count at all parties
    together, each of which protects persons by itself. Less than 1 visit raises ClaimError.

    Examples
    --------
    >>> print(person_cost(3, mu=0.1, delta=1e-5))
    ε = 1.132 at δ = 1e-05 for a person with 3 visits (the mean: some have more)
    """

    visits: int  # how many records that person has
    mu: float  # Gaussian differential privacy of all of them together
    epsilon: float  # what they cost together at ``delta``
    delta: float
    counted: Counted = "on average"

    def __post_init__(self) -> None:
        if self.visits < 1:
            raise ClaimError(f"PersonCost.visits: given {self.visits}, allowed: 1 or more")

    def __str__(self) -> str:
        """Say the price in one line."""
        price = f"ε = {self.shown} at δ = {self.delta:g}"
        return f"{price} for a person with {self.counted_visits} ({_SOME[self.counted]})"

    @property
    def counted_visits(self) -> str:
        """The number of visits as text."""
        all_parties = " to all parties" if self.counted == "to all parties" else ""
        return f"{self.visits:,} visit{'s' if self.visits != 1 else ''}{all_parties}"

    @property
    def shown(self) -> str:
        """The ε as text."""
        return f"{self.epsilon:,.0f}" if self.epsilon >= 1000.0 else f"{self.epsilon:.4g}"


def person_cost(
    visits: float, mu: float, delta: float, counted: Counted = "on average"
) -> PersonCost:
    """Return what ``visits`` records of one person cost, if one record costs ``mu``.

    Neighbours that differ in k records are k steps apart, so k records cost k times μ. A fraction
    of a visit counts as one more. ε is stated at ``delta``.
    """
    count = max(1, math.ceil(visits))
    epsilon = gaussian.epsilon_of(count * mu, delta)
    return PersonCost(visits=count, mu=count * mu, epsilon=epsilon, delta=delta, counted=counted)
