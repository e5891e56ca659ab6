"""Users who fall into unknown clusters and live on several servers: the world of FCLUB."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import F32, F64, Arms, Memory, Needs, Words
from fedbandits.environments.kernels.arrivals import (
    ClusteredWorld,
    draw_arrival,
    draw_item_reward,
    draw_items,
    fill_expected,
)
from fedbandits.environments.open_world import Stage
from fedbandits.environments.preferences import (
    block_of,
    cluster_labels,
    drawn_preferences,
    largest_gap,
    preferences_of_next,
    rated_preferences,
    read_preferences,
)
from fedbandits.environments.rating_files import FromRatings
from fedbandits.errors import ConfigError, DataError
from fedbandits.facts import ClusteredFacts, Facts
from fedbandits.random import Key

#: Least number of most rated items for distinguishing users; Liu et al. (2022) take as many as
#: users.
_RATED_ITEMS = 1000
#: Largest η of drawn users of a cluster: half a length, 1/√2, to each side.
_WIDEST = 0.7
#: Facts that a privacy claim takes as public.
_ARRIVALS = (
    "These are public: who arrives when, on which server each user lives, and the items of every "
    "round."
)
_COMPUTED = "The preference vectors are public. They are computed here from all ratings."

Users = Annotated[int, Meta(ge=1, le=100_000)]
Dimension = Annotated[int, Meta(ge=2, le=2_000)]
Rate = Annotated[float, Meta(ge=0.0, le=1.0)]


class Clustered(FromRatings, frozen=True, kw_only=True, tag="clustered"):
    """Users of several servers; each round one random user is shown new items (Liu et al. 2022).

    An item is a uniform direction of length 1/√2 in d - 1 coordinates and a constant 1/√2. Its
    reward is 1 with probability ⟨θ, x⟩, else 0. Drawn preference vectors θ have the same form, so
    ⟨θ, x⟩ is in [0, 1]. With given vectors, ⟨θ, x⟩ is cut off at 0 and 1.

    Parameters
    ----------
    preferences
        Path of a .npy file of preference vectors, (users, d), of norm at most 1.
    ratings
        Path of a file of ratings, used instead of ``preferences`` (formats:
        :class:`~fedbandits.environments.RatingData`). Preference vectors are made from the ratings.
        The
        most active users are grouped by k-means, according to the most rated items that they rated.
        The 1,000 most rated items are used, or as many items as users if there are more users.
    users
        Number of users. From a file of vectors the first ``users`` rows are taken, by default all.
        Otherwise the default is 40.
    clusters
        Number of clusters, m, if vectors are drawn or made from ratings. The default is 5.
    dim
        Dimension d of the vectors, 10 by default. Vectors in a file have their own dimension.
    gap
        γ, the smallest distance between the vectors of users of two clusters, if vectors are drawn.
    within
        η, the largest distance between the vectors of two users of one cluster, if vectors are
        drawn. With 0 the vectors are equal (the paper's clusters; its footnote 2 allows η > 0).
    servers
        Number of servers, L. Users are divided into contiguous blocks of equal size. Where this is
        not possible, the last blocks have one user fewer.
    placement
        ``together``: users keep their order, so a cluster may be on one server. ``spread``: users
        are dealt to the servers one by one, so every cluster is on all servers.
    arrivals
        Rates of arrival. ``equal``: all users arrive equally often. ``zipf``: in proportion to 1,
        1/2,
        1/3 …. Or a list of probabilities.
    items
        Number of items, K, that a user is shown in a round.
    """

    WORDS: ClassVar[Words] = Words("user", "users")
    FACTS: ClassVar[type[Facts]] = ClusteredFacts
    SECOND_WORLD: ClassVar[str] = "each cluster has the preferences of the next cluster"

    preferences: str | None = None
    ratings: str | None = None
    users: Users | None = None
    clusters: Users | None = None
    dim: Dimension | None = None
    gap: Annotated[float, Meta(ge=0.0)] = 0.0
    within: Annotated[float, Meta(ge=0.0)] = 0.0
    servers: Users = 5
    placement: Literal["together", "spread"] = "together"
    arrivals: Literal["equal", "zipf"] | tuple[Rate, ...] = "equal"
    items: Arms = 10

    def validate(self) -> None:
        if self.preferences is not None and self.ratings is not None:
            raise ValueError("give preferences or ratings, not both")
        self.refuse_keys_of_file("ratings", self.ratings is not None)
        if self.preferences is not None and (self.clusters is not None or self.gap > 0.0):
            raise ValueError("clusters and gap are for vectors that are drawn; leave them out")
        if self.ratings is not None and self.gap > 0.0:
            raise ValueError("gap is for vectors that are drawn; leave it out with ratings")
        if self.within > 0.0:
            self._check_within()
        if self.gap > largest_gap(self._clusters):
            raise ValueError(
                f"gap: {self._clusters} vectors cannot keep a distance of {self.gap:g}; at most "
                f"{largest_gap(self._clusters):.4g}"
            )
        if not isinstance(self.arrivals, str):
            total = math.fsum(self.arrivals)
            if not math.isclose(total, 1.0, abs_tol=1e-9):
                raise ValueError(f"arrivals: probabilities must sum to 1, these sum to {total:.9g}")
        if self.preferences is None:
            self._check_counts(self.users or 40)

    def _check_within(self) -> None:
        if self.preferences is not None or self.ratings is not None:
            raise ValueError("within is for vectors that are drawn; leave it out")
        if self.dim == 2:
            raise ValueError("within: in dim = 2 there are two directions alone; use a larger dim")
        most = min(largest_gap(self._clusters) - self.gap, _WIDEST)
        if self.within > most:
            raise ValueError(
                f"within: given {self.within:g}, allowed: at most {most:.4g}, so that clusters "
                f"can lie a gap of {self.gap:g} apart"
            )

    def _check_counts(self, users: int) -> None:
        if self.servers > users:
            raise ValueError(f"servers: {self.servers} servers for {users} users; use fewer")
        if self._clusters > users and self.preferences is None:
            raise ValueError(f"clusters: {self._clusters} clusters of {users} users; use fewer")
        if not isinstance(self.arrivals, str) and len(self.arrivals) != users:
            raise ValueError(f"arrivals: {len(self.arrivals)} probabilities for {users} users")

    @property
    def _clusters(self) -> int:
        return 5 if self.clusters is None else self.clusters

    @property
    def parties(self) -> int:
        if self.users is not None:
            return self.users
        return 40 if self.preferences is None else len(read_preferences(self.preferences))

    @property
    def acting(self) -> int:
        return 1

    @property
    def dimension(self) -> int:
        """Number of coordinates of a vector, d."""
        if self.preferences is not None:
            return int(read_preferences(self.preferences).shape[1])
        return 10 if self.dim is None else self.dim

    @property
    def cluster_count(self) -> int:
        """True number of clusters, m; the published theory assumes that it is known."""
        given = self._given()
        return self._clusters if given is None else int(cluster_labels(given).max()) + 1

    @property
    def facts(self) -> ClusteredFacts:
        computed = () if self.ratings is None else (_COMPUTED,)
        return ClusteredFacts(
            parties=self.parties,
            public=(_ARRIVALS, *computed),
            home=tuple(self._home().tolist()),
            clusters=self.cluster_count,
            dimension=self.dimension,
            items=self.items,
        )

    def stage(self, key: Key) -> ClusteredStage:
        return ClusteredStage(self.world(key), key, self.parties)

    def prepare(self) -> None:
        self._given()

    def needs(self, rounds: int) -> Needs:
        d, n = self.dimension, self.parties
        keys = "environment.dim, environment.users or environment.items"
        kept = Memory(
            "preferences, and a round's items", d * (n * F64 + self.items * F32 / 2), keys
        )
        drawn = 0.0 if self._given() is not None else float(d) * self._clusters**2
        return Needs((kept,), 3.0 * rounds * d * self.items + drawn)

    def world(self, key: Key) -> ClusteredWorld:
        theta = self._given()
        n = self.parties
        if theta is None:
            theta = drawn_preferences(key, n, self._clusters, self.dimension, self.gap, self.within)
            labels = block_of(n, self._clusters)
        else:
            labels = cluster_labels(theta)
        world = ClusteredWorld(
            np.array(theta), self._home(), self._cumulative(n), labels, self.items
        )
        if self.drift is None:
            return world
        other = preferences_of_next(world.theta, world.cluster)
        return world._replace(other=other, shares=self.drift.shares(key))

    def _home(self) -> Ints:
        """Return the server of each user, (users,)."""
        if self.placement == "spread":
            return np.arange(self.parties, dtype=np.int64) % self.servers
        return block_of(self.parties, self.servers)

    def _given(self) -> Floats | None:
        """Return preference vectors, (users, d); None if each replicate draws its vectors."""
        if self.ratings is not None:
            items = max(_RATED_ITEMS, self.parties)
            file = self.rating_file(self.ratings)
            return rated_preferences(file, self.parties, items, self._clusters, self.dimension)
        if self.preferences is None:
            return None
        vectors, n = read_preferences(self.preferences), self.parties
        if n > len(vectors):
            raise DataError(
                f"environment.users: {n} users, but {self.preferences} has {len(vectors)}; "
                "use fewer"
            )
        if self.dim not in (None, vectors.shape[1]):
            raise DataError(
                f"environment.dim: {self.dim}, but vectors in {self.preferences} have "
                f"{vectors.shape[1]} coordinates; leave it out"
            )
        try:
            self._check_counts(n)
        except ValueError as error:
            raise ConfigError(f"environment.{error}") from None
        first: Floats = vectors[:n]
        return first

    def _cumulative(self, users: int) -> Floats:
        if self.arrivals == "equal":
            equal: Floats = np.arange(1, users + 1) / users
            return equal
        if self.arrivals == "zipf":
            rates = 1.0 / np.arange(1, users + 1)
        else:
            rates = np.array(self.arrivals, dtype=np.float64)
        cumulative: Floats = np.cumsum(rates) / rates.sum()
        cumulative[np.flatnonzero(rates)[-1] :] = 1.0  # users with rate 0 never arrive by rounding
        return cumulative


class Arrival(NamedTuple):
    """A user who has arrived at its server, and the items to recommend."""

    round_: int
    user: int
    items: Floats32  # (d, K)


class ClusteredStage(Stage):
    """The server of the arriving user acts; a decision is an item, an outcome a reward.

    Regret and reward are booked for users.
    """

    def __init__(self, world: Any, key: Key, users: int) -> None:
        super().__init__(world, key, users)
        self._items = np.zeros((world.theta.shape[1], world.items), np.float32)
        self._expected: Floats = np.zeros(world.items)
        self._user = self._best = 0

    def acting(self, round_: int) -> Iterable[int]:
        self._user = int(draw_arrival(self.world, self.key, round_))
        return (int(self.world.server[self._user]),)

    def situation(self, round_: int, player: int) -> Arrival:
        draw_items(self.world, self.key, round_, self._items)
        self._best = fill_expected(self.world, self._user, round_, self._items, self._expected)
        return Arrival(round_, self._user, self._items)

    def outcome(self, round_: int, player: int, decision: int) -> float:
        expected = self._expected
        reward = float(draw_item_reward(expected[decision], self.key, round_))
        self.regret[self._user] += expected[self._best] - expected[decision]
        self.reward[self._user] += reward
        return reward
