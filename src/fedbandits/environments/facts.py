"""What every party may know of a world before anything is played.

Plans are made of facts, never of an environment: a simulated world has them, and the members of a
federation state them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fedbandits._checked import Checked

Count = Annotated[int, Meta(ge=1)]


class Facts(Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts of any world.

    Parameters
    ----------
    parties
        How many parties' regret and reward are told apart: agents, buyers, users, data owners.
    public
        What a privacy claim must take as public because of how the data was prepared, a sentence
        each.
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
        A bound on the Euclidean norm of every context.
    reward_range
        The smallest and the largest reward.
    persons
        Number of persons whose visits are played, over and over; None if each visit is a new one's.
    """

    dimension: Count
    arms: Count
    models: Count = 1
    context_norm: Annotated[float, Meta(gt=0.0)] = 1.0
    reward_range: tuple[float, float] = (0.0, 1.0)
    persons: Count | None = None

    def validate(self) -> None:
        low, high = self.reward_range
        if low > high:
            raise ValueError(f"reward_range: given {self.reward_range}, allowed: smallest first")

    @property
    def features_shape(self) -> tuple[int, int]:
        """Shape of a decision set's features: a column an arm, or one that all arms show."""
        return self.dimension, self.arms if self.models == 1 else 1

    def visits_per_person(self, rounds: int) -> float | None:
        """Mean number of visits of a person in so many rounds, or None if each has one."""
        return None if self.persons is None else rounds * self.parties / self.persons


class ArmFacts(Facts, frozen=True, kw_only=True, tag="arms"):
    """Facts of a world in which each of the ``parties`` data owners has one arm."""


class ProcurementFacts(Facts, frozen=True, kw_only=True, tag="procurement"):
    """Facts of a world in which each of the ``parties`` buyers chooses quantities.

    Parameters
    ----------
    producers
        Number of producers, m.
    largest_capacity
        The most units that somebody can buy from somebody in a round.
    quality_threshold
        The least average quality α that a purchase should have.
    revenue
        Revenue ρ of a good unit.
    capacities
        The most units that each buyer can buy from each producer in a round, a row a buyer. All
        buyers read each other's reports by them, so members of a federation state them here. A
        simulated world draws them itself, and states none.
    """

    producers: Count
    largest_capacity: Count
    quality_threshold: float
    revenue: float = 1.0
    capacities: tuple[tuple[int, ...], ...] = ()


class ClusteredFacts(Facts, frozen=True, kw_only=True, tag="clustered"):
    """Facts of a world in which one of the ``parties`` users arrives a round, at its server.

    Parameters
    ----------
    home
        For each user the number of its server, from 0.
    clusters
        m, how many clusters there truly are. The published theory takes it as known.
    dimension
        Dimension d of the context vectors.
    items
        Number of items, K, that are offered in a round.
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
        """The users of a server, in order."""
        return [user for user, home in enumerate(self.home) if home == server]
