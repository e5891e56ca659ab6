"""The price of all visits of one person together, where a claim is for one visit.

A party's releases are one Gaussian mechanism: n records of a person are n steps apart, so they cost
n times μ. Where parties draw their noise independently, their releases compose: n records at each
of several parties cost √(Σ n²) times μ. Where one noise covers a sum over all parties, n is the
number of records in the sum, and their prices add up. The claim states which case holds:
:attr:`.claims.PrivacyClaim.one_noise`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from fedbandits.errors import ClaimError
from fedbandits.privacy import gaussian

Counted = Literal["on average", "at most", "to all parties", "exactly"]
Places = Literal["one party", "several parties", "any parties"]
_SOME: dict[Counted, str] = {
    "on average": "the mean: some have more",
    "at most": "the most that is expected of anybody",
    "to all parties": "the most that count",
    "exactly": "as counted",
}
_WHERE: dict[Places, str] = {
    "one party": "",
    "several parties": " at several parties",
    "any parties": " at as few parties as can be",
}


class PersonCost(msgspec.Struct, frozen=True, kw_only=True):
    """The price of a person with several records.

    ``counted`` is the kind of the number ``visits``. ``on average``: some persons have more. ``at
    most``: no person is expected to have more. ``to all parties``: as many count at all parties
    together, each of which protects persons by itself. ``exactly``: the visits were counted.
    ``places`` names the parties of the visits. ``any parties``: the parties are not known, so the
    price is that of visits to as few parties as possible. Less than 1 visit raises ClaimError.

    Examples
    --------
    >>> print(person_cost(3, mu=0.1, delta=1e-5))
    ε = 1.132 at δ = 1e-05 for a person with 3 visits (the mean: some have more)
    """

    visits: int  # number of that person's records
    mu: float  # Gaussian differential privacy of all records together
    epsilon: float  # price of all records together at ``delta``
    delta: float
    counted: Counted = "on average"
    places: Places = "one party"

    def __post_init__(self) -> None:
        if self.visits < 1:
            raise ClaimError(f"PersonCost.visits: given {self.visits}, allowed: 1 or more")

    def __str__(self) -> str:
        """Return the price in one line."""
        price = f"ε = {self.shown} at δ = {self.delta:g}"
        return f"{price} for a person with {self.counted_visits} ({_SOME[self.counted]})"

    @property
    def counted_visits(self) -> str:
        """The number of visits as text."""
        where = " to all parties" if self.counted == "to all parties" else _WHERE[self.places]
        return f"{self.visits:,} visit{'s' if self.visits != 1 else ''}{where}"

    @property
    def shown(self) -> str:
        """The ε as text."""
        return f"{self.epsilon:,.0f}" if self.epsilon >= 1000.0 else f"{self.epsilon:.4g}"


def person_cost(
    visits: float,
    mu: float,
    delta: float,
    counted: Counted = "on average",
    *,
    squares: int | None = None,
    one_noise: bool = False,
    places: Places = "one party",
) -> PersonCost:
    """Return the price of ``visits`` records of one person, where one record costs ``mu``.

    Neighbours that differ in k records are k steps apart, so k records cost k times μ. A fraction
    of a visit counts as one more visit. ε is stated at ``delta``.

    ``squares`` is Σ n², with n records at each of several parties. They cost its root times μ,
    unless ``one_noise`` covers all parties. ``counted`` and ``places`` are fields of
    :class:`PersonCost`.
    """
    count = max(1, math.ceil(visits))
    together = count * mu if one_noise or squares is None else math.sqrt(squares) * mu
    return PersonCost(
        visits=count,
        mu=together,
        epsilon=gaussian.epsilon_of(together, delta),
        delta=delta,
        counted=counted,
        places=places,
    )


def cost_at_parties(
    counts: Sequence[int], mu: float, delta: float, *, one_noise: bool
) -> PersonCost:
    """Return the exact price of a person whose records at each party were counted.

    Parameters
    ----------
    counts
        Records of the person at each party, n.
    mu
        μ of one record.
    delta
        The δ at which ε is stated.
    one_noise
        Whether one noise covers the sum of all parties, as in the field of the claim.

    Returns
    -------
    PersonCost
        The price μ √(Σ n²) where each party has noise of its own, or μ Σ n where one noise covers
        all
        parties, and the ε of that price.

    Examples
    --------
    >>> print(cost_at_parties([3, 0, 1], mu=0.1, delta=1e-5, one_noise=False))
    ε = 1.199 at δ = 1e-05 for a person with 4 visits at several parties (as counted)
    >>> print(cost_at_parties([3, 0, 1], mu=0.1, delta=1e-5, one_noise=True))
    ε = 1.555 at δ = 1e-05 for a person with 4 visits at several parties (as counted)
    """
    places: Places = "one party" if sum(count > 0 for count in counts) <= 1 else "several parties"
    squares = sum(count * count for count in counts)
    return person_cost(
        sum(counts), mu, delta, "exactly", squares=squares, one_noise=one_noise, places=places
    )
