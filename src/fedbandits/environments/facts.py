"""Facts of a world: everything that all parties may know before the first round.

A plan is made from facts, never from an environment. In a simulation the environment has the facts.
In a federation the members state them.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from msgspec import Meta

from fedbandits._checked import Checked
from fedbandits.environments.rows import Rows
from fedbandits.environments.visits import largest_of_many, largest_squares, packed

Count = Annotated[int, Meta(ge=1)]


class Facts(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that every kind of world has.

    Parameters
    ----------
    parties
        Number of parties: agents, buyers, users or data owners.
    public
        What a privacy claim must treat as public because of how the data was prepared. One sentence
        for each item.
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
        drawn at random. None where they are not, or it is not known.
    most_rows
        Largest number of visits of one person, where that is known.
    most_parties
        Largest number of parties that one person visits, where that is known.
    share_at_one
        Expected number of visits in a round of one person to one party, the largest there is, where
        visits are drawn at random.
    most_squares
        Largest Σ n² of one person, with n visits to each party, where ``most_rows`` is known.
    rows
        How parties make contexts of raw numbers that applications send. None where they send
        contexts.
    constant
        Whether a coordinate of every context is the same number, and not 0, and contexts have
        lengths near ``context_norm`` as a rule. ``rows`` with an intercept say so too.
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
        """True if it is known that a coordinate of every context is constant."""
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

        Where visits are drawn at random, with a probability of at most 1 % somebody has more.
        """
        all_there_are = rounds * (self.most_parties or self.parties)
        if self.most_rows is not None:
            return float(min(self.most_rows, all_there_are))
        if self.most_share is None or self.persons is None:
            return None
        return float(min(largest_of_many(rounds * self.most_share, self.persons), all_there_are))

    @property
    def knows_parties_of_persons(self) -> bool:
        """True if it is known how a person's visits are spread over parties."""
        alone = 1 in (self.parties, self.most_parties)
        return alone or self.share_at_one is not None or self.most_squares is not None

    def squared_visits(self, rounds: int, counted: int | None = None) -> int | None:
        """Return a Σ n² that no person exceeds, with n its visits to each party; None if unknown.

        Where visits are drawn at random, with a probability of at most 1 % somebody has more. Where
        it is not known how visits are spread, as few parties as can be have them: one a round.

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
