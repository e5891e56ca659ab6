"""Users who fall into unknown clusters and live on several servers: the world of FCLUB."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy import float32
from numpy.typing import NDArray

from fedbandits._compile import compiled, fma
from fedbandits._typing import Floats, Floats32, Ints, Words
from fedbandits.environments.base import Arms, Environment
from fedbandits.environments.directions import coordinate
from fedbandits.environments.preferences import (
    HALF,
    block_of,
    cluster_labels,
    drawn_preferences,
    largest_gap,
    rated_preferences,
    read_preferences,
)
from fedbandits.errors import ConfigError, DataError
from fedbandits.random import Key, Purpose, bernoulli, fill_words, uniform

_ARRIVAL, _CONTEXT, _REWARD = int(Purpose.ARRIVAL), int(Purpose.CONTEXT), int(Purpose.REWARD)

#: A little below 1/√2, so that float32 rounding leaves an item's norm at most 1.
_LENGTH = np.float32(HALF * (1.0 - 4.0e-7))

#: Most rated items that users are told apart by; Liu et al. (2022) take as many as users.
_RATED_ITEMS = 1000

Users = Annotated[int, Meta(ge=1, le=100_000)]
Dimension = Annotated[int, Meta(ge=2, le=2_000)]
Rate = Annotated[float, Meta(ge=0.0, le=1.0)]


class ClusteredWorld(NamedTuple):
    """One replicate of :class:`Clustered`."""

    theta: Floats  # (users, d) preference vectors
    server: Ints  # (users,) where each lives
    cumulative: Floats  # (users,) arrival probabilities, added up
    cluster: Ints  # (users,) the true clusters
    items: int


class Clustered(Environment, frozen=True, kw_only=True, tag="clustered"):
    """Users on servers; one random user arrives a round and is shown fresh items (Liu et al. 2022).

    An item is a uniform direction of length 1/√2 in d - 1 coordinates and a constant 1/√2. Its
    reward is 1 with probability ⟨θ, x⟩, else 0. Drawn preference vectors have the same form, so
    that ⟨θ, x⟩ lies in [0, 1]; where given ones lead outside, it is cut off at 0 and 1.

    Parameters
    ----------
    preferences
        A .npy file of preference vectors, (users, d), of length at most 1.
    ratings
        A file of ratings instead (see :class:`~fedbandits.environments.RatingData`), from which
        vectors are made: k-means clusters of the most active users, by which of the most rated
        items they rated (1,000, or as many as there are users).
    users
        Of a file of vectors the first so many, default all; else 40.
    clusters
        m, where vectors are drawn or made from ratings; 5.
    dim
        d; of a file of vectors its own, else 10.
    gap
        Smallest distance between the vectors of two clusters, where they are drawn.
    servers
        L. Users are cut into equal, contiguous blocks, the last ones one user fewer.
    placement
        ``together``: users on servers as they come. ``spread``: they are dealt out one by one, so
        that every cluster lies on all servers.
    arrivals
        Who comes: all users ``equal``-ly often, ``zipf``: in proportion to 1, 1/2, 1/3 …, or a
        list of probabilities.
    items
        K, in a round.
    """

    PARTIES: ClassVar[str] = "users"

    preferences: str | None = None
    ratings: str | None = None
    users: Users | None = None
    clusters: Users | None = None
    dim: Dimension | None = None
    gap: Annotated[float, Meta(ge=0.0)] = 0.0
    servers: Users = 5
    placement: Literal["together", "spread"] = "together"
    arrivals: Literal["equal", "zipf"] | tuple[Rate, ...] = "equal"
    items: Arms = 10

    def __post_init__(self) -> None:
        if self.preferences is not None and self.ratings is not None:
            raise ValueError("give preferences or ratings, not both")
        if self.preferences is not None and (self.clusters is not None or self.gap > 0.0):
            raise ValueError("clusters and gap are for vectors that are not given")
        if self.ratings is not None and self.gap > 0.0:
            raise ValueError("gap is for drawn vectors; ratings have distances of their own")
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
        """Coordinates of a vector, d."""
        if self.preferences is not None:
            return int(read_preferences(self.preferences).shape[1])
        return 10 if self.dim is None else self.dim

    @property
    def cluster_count(self) -> int:
        """How many clusters there truly are: m, which the published theory takes as known."""
        given = self._given()
        return self._clusters if given is None else int(cluster_labels(given).max()) + 1

    @property
    def public_facts(self) -> tuple[str, ...]:
        facts = ["who arrives when, on which server each user lives, and the items of every round"]
        if self.ratings is not None:
            facts.append("the preference vectors, computed here from all ratings")
        return tuple(facts)

    def prepare(self) -> None:
        self._given()

    def world(self, key: Key) -> ClusteredWorld:
        theta = self._given()
        n = self.parties
        if theta is None:
            theta = drawn_preferences(key, n, self._clusters, self.dimension, self.gap)
        if self.placement == "spread":
            server = np.arange(n, dtype=np.int64) % self.servers
        else:
            server = block_of(n, self.servers)
        return ClusteredWorld(
            np.array(theta), server, self._cumulative(n), cluster_labels(theta), self.items
        )

    def _given(self) -> Floats | None:
        """Preference vectors, (users, d); None if each replicate draws its own."""
        if self.ratings is not None:
            items = max(_RATED_ITEMS, self.parties)
            return rated_preferences(
                self.ratings, self.parties, items, self._clusters, self.dimension
            )
        if self.preferences is None:
            return None
        found, n = read_preferences(self.preferences), self.parties
        if n > len(found):
            raise DataError(
                f"environment.users: {n} users, but {self.preferences} has {len(found)}; use fewer"
            )
        if self.dim not in (None, found.shape[1]):
            raise DataError(
                f"environment.dim: {self.dim}, but vectors in {self.preferences} have "
                f"{found.shape[1]} coordinates; leave it out"
            )
        try:
            self._check_counts(n)
        except ValueError as error:
            raise ConfigError(f"environment.{error}") from None
        first: Floats = found[:n]
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
        cumulative[np.flatnonzero(rates)[-1] :] = 1.0  # nobody with rate 0 comes by rounding
        return cumulative


@compiled
def draw_arrival(world: Any, key: Key, round_: int) -> int:
    """Who comes in a round, the same user in every system."""
    ticket = uniform(key, 0, round_, _ARRIVAL, 0)
    low, high = 0, world.cumulative.size - 1
    while low < high:
        middle = (low + high) >> 1
        if world.cumulative[middle] > ticket:
            high = middle
        else:
            low = middle + 1
    return low


class ItemsWorkspace(NamedTuple):
    """Scratch of :func:`fill_items`."""

    words: Words  # (4, blocks): raw Philox words
    halves: NDArray[np.uint16]  # (d - 1, items): the same memory, a row a coordinate
    scale: Floats32  # (items,)


@compiled
def items_workspace(world: Any) -> ItemsWorkspace:
    """Scratch arrays that :func:`fill_items` may use."""
    rows, items = world.theta.shape[1] - 1, world.items
    words = np.zeros((4, (rows * items + 7) // 8), dtype=np.uint32)
    halves = words.reshape(-1).view(np.uint16)[: rows * items].reshape(rows, items)
    return ItemsWorkspace(words, halves, np.zeros(items, dtype=np.float32))


@compiled
def fill_items(
    world: Any, workspace: ItemsWorkspace, key: Key, round_: int, items: Floats32
) -> None:
    """Write a round's items, the same ones in every system, into ``items`` (d, K) float32."""
    words, halves, scale = workspace
    fill_words(words, key, 0, round_, _CONTEXT)
    scale[:] = float32(1.0e-30)
    rows, count = halves.shape
    for row in range(rows):
        for k in range(count):
            g = coordinate(halves[row, k])
            items[row, k] = g
            scale[k] = fma(g, g, scale[k])
    for k in range(count):
        scale[k] = _LENGTH / math.sqrt(scale[k])
        items[rows, k] = _LENGTH
    for row in range(rows):
        for k in range(count):
            items[row, k] *= scale[k]


@compiled
def fill_expected(world: Any, user: int, items: Floats32, expected: Floats) -> int:
    """Write the items' expected rewards for a user, (K,), and return the best item."""
    best = 0
    for k in range(items.shape[1]):
        mean = 0.0
        for i in range(items.shape[0]):
            mean = fma(world.theta[user, i], float(items[i, k]), mean)
        expected[k] = min(1.0, max(0.0, mean))
        if expected[k] > expected[best]:
            best = k
    return best


@compiled
def draw_item_reward(expected: float, key: Key, round_: int) -> float:
    """1 with probability ``expected``, else 0; one uniform draw a round, whatever was shown."""
    return 1.0 if bernoulli(expected, key, 0, round_, _REWARD, 0) else 0.0


@compiled
def draw_items(world: Any, key: Key, round_: int, items: Floats32) -> None:
    """:func:`fill_items` for callers outside compiled code."""
    fill_items(world, items_workspace(world), key, round_, items)
