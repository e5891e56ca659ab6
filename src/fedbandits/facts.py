"""Facts of a world: everything that all parties may know before the first round.

A plan is made from facts, never from an environment. In a simulation the environment has the facts.
In a federation the members state them.

Each party has noise of its own. So the price of a person's records follows from Σ n², with n visits
to each party (see :mod:`fedbandits.privacy.person`): the facts here bound Σ n².
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.rows import Rows

__all__ = ["ArmFacts", "ClusteredFacts", "ContextualFacts", "Facts", "ProcurementFacts"]

Count = Annotated[int, Meta(ge=1)]
#: Probability that some person exceeds a bound of this module.
EXCEEDED = 0.01
#: Largest count of visits to one party for which moments bound the squares; larger counts vary
#: little.
_MOMENTS = 2_000
#: Values of θ to try, as multiples of 1/c²; e^θc² must stay a finite number.
_TRIED = np.geomspace(1e-4, 100.0, 240)


class Facts(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that every kind of world has.

    Parameters
    ----------
    parties
        Number of parties: agents, buyers, users or data owners.
    public
        Statistics that the preparation of the data made public, which a privacy claim must treat as
        public. One sentence for each item.
    """

    parties: Count
    public: tuple[str, ...] = ()


class ContextualFacts(Facts, frozen=True, kw_only=True, tag="contextual"):
    """Facts of a world that shows each of the ``parties`` agents a decision set every round.

    Parameters
    ----------
    dimension
        d, the length of a context vector.
    arms
        K, the number of actions in a decision set.
    models
        Number of parameter vectors: 1 if the arms share one, else ``arms``.
    context_norm
        An upper bound on the Euclidean norm of every context.
    reward_range
        The smallest and the largest reward.
    persons
        Number of persons, if the same persons visit again and again. None if each visit is of a new
        person.
    most_share
        Expected number of visits in a round of the person who visits most often, where visits are
        drawn at random. None if visits are not drawn, or the number is not known.
    most_rows
        Largest number of visits of one person, if known.
    most_parties
        Largest number of parties that one person visits, if known.
    share_at_one
        Largest expected number of visits in a round of one person to one party, where visits are
        drawn at random.
    most_squares
        Largest Σ n² of one person, with n visits to each party, if ``most_rows`` is known.
    rows
        How parties make contexts of raw numbers that applications send. None where applications
        send contexts.
    constant
        Whether a coordinate of every context is the same number, and not 0, and contexts have
        lengths near ``context_norm`` as a rule. ``rows`` with an intercept imply this too.
    """

    LATER_KEYS: ClassVar[tuple[str, ...]] = ("rows", "constant")

    dimension: Count
    arms: Count
    models: Count = 1
    context_norm: Annotated[float, Meta(gt=0.0)] = 1.0
    reward_range: tuple[float, float] = (0.0, 1.0)
    persons: Count | None = None
    most_share: Annotated[float, Meta(gt=0.0)] | None = None
    most_rows: Count | None = None
    most_parties: Count | None = None
    share_at_one: Annotated[float, Meta(gt=0.0)] | None = None
    most_squares: Count | None = None
    rows: Rows | None = None
    constant: bool = False

    @property
    def has_constant(self) -> bool:
        """True if a coordinate of every context is known to be constant."""
        return self.constant or (self.rows is not None and self.rows.intercept > 0.0)

    def validate(self) -> None:
        low, high = self.reward_range
        if low > high:
            raise ValueError(
                f"reward_range: given {self.reward_range}, allowed: the smallest reward, then the "
                "largest"
            )
        if self.rows is not None and self.rows.dimension != self.dimension:
            constant = " and a constant coordinate" if self.rows.intercept > 0.0 else ""
            raise ValueError(
                f"dimension: given {self.dimension}, allowed: {self.rows.dimension}, for rows "
                f"makes a context of {self.rows.raw} raw numbers{constant}"
            )

    @property
    def features_shape(self) -> tuple[int, int]:
        """Shape of the features of a decision set: one column for each arm, or one for all arms."""
        return self.dimension, self.arms if self.models == 1 else 1

    def visits_per_person(self, rounds: int) -> float | None:
        """Return the mean visits of a person in ``rounds`` rounds; None if each has one visit."""
        return None if self.persons is None else rounds * self.parties / self.persons

    def most_visits(self, rounds: int) -> float | None:
        """Return a number of visits in ``rounds`` rounds that no person exceeds; None if unknown.

        Where visits are drawn at random, some person has more with a probability of at most 1 %.
        """
        all_there_are = rounds * (self.most_parties or self.parties)
        if self.most_rows is not None:
            return float(min(self.most_rows, all_there_are))
        if self.most_share is None or self.persons is None:
            return None
        return float(min(largest_of_many(rounds * self.most_share, self.persons), all_there_are))

    @property
    def knows_parties_of_persons(self) -> bool:
        """True if the spread of a person's visits over parties is known."""
        alone = 1 in (self.parties, self.most_parties)
        return alone or self.share_at_one is not None or self.most_squares is not None

    def squared_visits(self, rounds: int, counted: int | None = None) -> int | None:
        """Return a Σ n² that no person exceeds, with n its visits to each party; None if unknown.

        Where visits are drawn at random, some person has more with a probability of at most 1 %. If
        the spread of visits is not known, as few parties as possible have them, one a round.

        Parameters
        ----------
        rounds
            Number of rounds.
        counted
            How many of a person's visits to one party count; by default all.
        """
        cap = rounds if counted is None else min(counted, rounds)
        parties, most = self.most_parties or self.parties, self.most_visits(rounds)
        bounds = [] if counted is None else [parties * cap * cap]
        if most is not None:
            bounds.append(packed(math.ceil(most), cap))
        if self.most_squares is not None:
            bounds.append(self.most_squares)
        if self.persons and self.most_share and self.share_at_one and most is not None:
            means = rounds * self.most_share, rounds * self.share_at_one
            bounds.append(largest_squares(*means, self.persons, parties, cap))
        return min(bounds, default=None)


class ArmFacts(Facts, frozen=True, kw_only=True, tag="arms"):
    """Facts of a world in which each of the ``parties`` data owners has one arm."""


class ProcurementFacts(Facts, frozen=True, kw_only=True, tag="procurement"):
    """Facts of a world in which each of the ``parties`` buyers chooses quantities.

    Parameters
    ----------
    producers
        Number of producers, m.
    largest_capacity
        Largest number of units that one buyer can buy from one producer in a round.
    quality_threshold
        Smallest average quality α that a purchase should have.
    revenue
        Revenue ρ of a good unit.
    capacities
        Largest number of units that each buyer can buy from each producer in a round; one row for
        each buyer. All buyers need it to read each other's reports, so the members of a federation
        state it here. A simulated world draws it itself and leaves this empty.
    """

    producers: Count
    largest_capacity: Annotated[int, Meta(ge=0)]
    quality_threshold: float
    revenue: float = 1.0
    capacities: tuple[tuple[int, ...], ...] = ()


class ClusteredFacts(Facts, frozen=True, kw_only=True, tag="clustered"):
    """Facts of a world in which each round one of the ``parties`` users arrives at its server.

    Parameters
    ----------
    home
        For each user the number of its server, from 0.
    clusters
        True number of clusters, m. The published theory assumes that it is known.
    dimension
        Dimension d of the context vectors.
    items
        Number of items, K, that a user is shown in a round.
    """

    home: tuple[Annotated[int, Meta(ge=0)], ...]
    clusters: Count
    dimension: Count
    items: Count

    @property
    def servers(self) -> int:
        """Number of servers, L."""
        return max(self.home) + 1

    def users_of(self, server: int) -> list[int]:
        """List the users of ``server`` by number, in ascending order."""
        return [user for user, home in enumerate(self.home) if home == server]


def largest_of_many(mean: float, persons: int, exceeded: float = EXCEEDED) -> int:
    """Return a count that no sum of ``persons`` many exceeds, but with probability ``exceeded``.

    Each sum is of independent draws, and has at most the given ``mean``. By Chernoff's bound the
    sum reaches k > mean with a probability of at most exp(k - mean - k ln(k / mean)).
    """
    enough = math.log(persons / exceeded)

    def is_rare(count: int) -> bool:
        return count > mean and count * math.log(count / mean) - count + mean >= enough

    low, high = 0, 1
    while not is_rare(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_rare(middle) else (middle, high)
    return high - 1


def packed(visits: int, cap: int) -> int:
    """Return the largest Σ n² of counts n ≤ ``cap`` with the sum ``visits``.

    Σ n² is convex, so as many counts as possible are ``cap``, and one more count has the rest.
    """
    full, rest = divmod(visits, cap)
    return full * cap * cap + rest * rest


def largest_squares(mean: float, mean_at_one: float, persons: int, parties: int, cap: int) -> int:
    """Return a Σ n² that no person exceeds, but with probability 1 %; n are visits to each party.

    Visits to a party are sums of independent draws. With half of that probability some person has
    more than c visits to one party. Otherwise Σ n² ≤ c Σ n. Chernoff's bound is sharper: for every
    θ > 0, with g(n) = e^(θ n²) up to c and linear beyond,

        P(Σ n² ≥ s) ≤ e^(-θ s) Π E[g(n)].

    g is convex. So E[g(n)] is largest for Poisson counts, and E[g(n)] - 1 grows at most in
    proportion to the mean. With h for the party of the largest mean, the product is at most (1 +
    h)^parties, and at most e^(h · mean / mean_at_one).

    Parameters
    ----------
    mean, mean_at_one
        Largest expected number of a person's visits: to all parties, and to one party.
    persons
        Number of persons.
    parties
        Largest number of parties that one person visits.
    cap
        Largest number of visits to one party that count.
    """
    most_at_one = min(cap, largest_of_many(mean_at_one, persons * parties, EXCEEDED / 2.0))
    all_visits = largest_of_many(mean, persons, EXCEEDED / 2.0)
    bound = packed(all_visits, most_at_one)
    if most_at_one > _MOMENTS:
        return bound
    allowed = math.log(persons / (EXCEEDED / 2.0))
    for theta in _TRIED / (most_at_one * most_at_one):
        h = _excess(float(theta), mean_at_one, most_at_one)
        log_product = min(parties * math.log1p(h), h * mean / mean_at_one)
        bound = min(bound, math.floor((log_product + allowed) / theta))
    return bound


def _excess(theta: float, mean: float, knee: int) -> float:
    """Return E[g(n)] - 1 for a Poisson count of that mean; g is e^(θ n²) up to ``knee``."""
    last = 2 * (knee + math.ceil(mean)) + 60  # from here on terms at least halve
    n = np.arange(last + 1, dtype=np.float64)
    logs = n * math.log(mean) - mean
    logs[1:] -= np.cumsum(np.log(n[1:]))
    step = math.exp(theta * knee**2) - math.exp(theta * (knee - 1) ** 2)
    bent = np.minimum(n, knee)
    g = np.expm1(theta * bent * bent) + step * (n - bent)
    terms = np.exp(logs) * g
    return float(terms.sum() + 3.0 * terms[-1])
