"""Rating data as a bandit: a user visits, some items are offered, the rating is the reward."""

from __future__ import annotations

import functools
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Arms, ContextualEnvironment, Dimension, Needs, Words
from fedbandits.environments.drift import drifting
from fedbandits.environments.kernels import drift, recorded
from fedbandits.environments.kernels.recorded import RatingsWorld
from fedbandits.environments.kernels.worlds import expected_reward
from fedbandits.environments.open_world import WorldKernels
from fedbandits.environments.rating_files import RatingFile, leading_factors, read_ratings
from fedbandits.environments.tables.formats import Decimal, Separator, Thousands, refuse_reading
from fedbandits.errors import DataError
from fedbandits.facts import ContextualFacts
from fedbandits.random import Key, Purpose, permutation

#: Statistics that a privacy claim takes as public.
_PREPARATION = (
    "These are public: the factors of users and items, and which items each user has rated. The "
    "factors are computed here from all ratings."
)


class RatingData(ContextualEnvironment, frozen=True, kw_only=True, tag="ratings"):
    """Users of a rating data set, divided among agents; arms are items that the user has rated.

    Every round each agent serves one of its users, drawn with replacement. The agent chooses among
    ``arms`` different items that this user has rated. Factors of users and items come from a
    truncated singular value decomposition of the ratings. The context of an item is the entrywise
    product of the user's and the item's factors, so all agents can share one linear model. The
    reward is the rating, scaled to [0, 1]. With ``threshold`` it is 1 or 0.

    Parameters
    ----------
    path
        Path of the file, which gzip, bzip2, xz or zip may have packed. Known formats: MovieLens
        (``u.data``, ``ratings.dat``, ``ratings.csv``), Jester, LastFM (``user_artists.dat`` of
        hetrec2011), Yelp reviews, and CSV. A CSV file has the columns user, item, and either rating
        (from -100 to 100) or weight (from 0 to a billion).
    user, item, rating
        Columns of a CSV file with other names.
    dim
        Number of factors, which is the dimension of the contexts.
    arms
        Number of items to choose from. Users who rated fewer items are left out.
    threshold
        With a threshold, the reward is 1 for ratings of at least this value, and 0 for others.
    clip_quantile
        Contexts are divided by this quantile of their norms. Contexts that are then longer than 1
        are scaled back to norm 1.
    encoding, separator, decimal, thousands
        The format of the file, as in a ``table``.
    """

    WORDS: ClassVar[Words] = Words(turn="visit")
    REAL_DATA: ClassVar[bool] = True
    SECOND_WORLD: ClassVar[str] = "tastes are turned round: a reward r becomes 1 - r"

    KERNELS: ClassVar[WorldKernels] = WorldKernels(
        recorded.fill_ratings,
        expected_reward,
        recorded.user_of,
        workspace=recorded.ratings_workspace,
    )

    path: str
    dim: Dimension = 10
    arms: Arms = 20
    threshold: float | None = None
    clip_quantile: Annotated[float, Meta(gt=0.0, le=1.0)] = 0.5
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    encoding: str = "utf-8"
    separator: Separator | None = None
    decimal: Decimal | None = None
    thousands: Thousands | None = None

    def validate(self) -> None:
        refuse_reading(self)

    @property
    def dimension(self) -> int:
        return self.dim

    @property
    def arm_count(self) -> int:
        return self.arms

    @property
    def facts(self) -> ContextualFacts:
        users = len(self._data().starts) - 1
        share = 1.0 / max(1, users // self.agents)
        return msgspec.structs.replace(
            super().facts, public=(_PREPARATION,), persons=users, most_share=share, most_parties=1
        )

    def prepare(self) -> None:
        users = len(self._data().starts) - 1
        if self.agents > users:
            raise DataError(
                f"environment.agents: {self.agents} agents cannot share the {users} users with at "
                f"least {self.arms} ratings in {self.path}; use fewer agents or arms"
            )

    def needs(self, rounds: int) -> Needs:
        return Needs(operations=float(rounds * self.agents * self.arms * (self.dim + self.arms)))

    def world(self, key: Key) -> Any:
        data = self._data()
        users = len(data.starts) - 1
        order = permutation(users, key, 0, 0, Purpose.WORLD)
        shares = np.linspace(0, users, self.agents + 1).round().astype(np.int64)
        world = data._replace(order=order, shares=shares)
        return drifting(self, key, world, drift.OtherRewards(drift.MIRRORED, sum_=1.0))

    def _data(self) -> RatingsWorld:
        file = RatingFile.of(self, self.path)
        return _prepared(file, self.dim, self.arms, self.threshold, self.clip_quantile)


@functools.lru_cache(maxsize=4)
def _prepared(
    file: RatingFile, dim: int, arms: int, threshold: float | None, clip_quantile: float
) -> RatingsWorld:
    path = file.path
    users, items, values = read_ratings(*file)
    users, items, values = _last_of_each(users, items, values)
    rewards = _rewards(path, values, threshold)
    user_factors, item_factors = _factors(path, users, items, values, dim)
    counts = np.bincount(users)
    kept = np.flatnonzero(counts >= arms)
    if len(kept) == 0:
        raise DataError(f"{path}: no user has rated {arms} items; offer fewer arms")
    renumbered = np.full(len(counts), -1)
    renumbered[kept] = np.arange(len(kept))
    of_kept = renumbered[users] >= 0
    users, items, rewards = renumbered[users[of_kept]], items[of_kept], rewards[of_kept]
    order = np.argsort(users, kind="stable")
    users, items, rewards = users[order], items[order], rewards[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=len(kept)))])
    user_factors = user_factors[kept]
    norms = np.linalg.norm(user_factors[users] * item_factors[items], axis=1)
    return RatingsWorld(
        user_factors.astype(np.float32),
        item_factors.astype(np.float32),
        starts.astype(np.int64),
        items,
        rewards.astype(np.float32),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        max(float(np.quantile(norms, clip_quantile)), 1e-12),
        arms,
    )


def _last_of_each(users: Ints, items: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
    """Keep the last rating in the file, of several ratings of one item by one user."""
    pairs = users * (int(items.max()) + 1) + items
    _, reversed_first = np.unique(pairs[::-1], return_index=True)
    kept = np.sort(len(pairs) - 1 - reversed_first)
    return users[kept], items[kept], values[kept]


def _rewards(path: str, values: Floats, threshold: float | None) -> Floats:
    if threshold is not None:
        return (values >= threshold).astype(np.float64)
    low, high = float(values.min()), float(values.max())
    if low == high:
        raise DataError(f"{path}: all ratings are equal, so there is nothing to learn from")
    scaled: Floats = (values - low) / (high - low)
    return scaled


def _factors(
    path: str, users: Ints, items: Ints, values: Floats, dim: int
) -> tuple[Floats, Floats]:
    from scipy.sparse import csr_matrix

    shape = (int(users.max()) + 1, int(items.max()) + 1)
    if dim >= min(shape):
        raise DataError(
            f"environment.dim: {dim} factors of {shape[0]} users and {shape[1]} items in {path}; "
            f"use at most {min(shape) - 1}"
        )
    matrix = csr_matrix((values, (users, items)), shape=shape)
    factors = leading_factors(path, matrix, dim)
    # Divide the singular values evenly, so that both sides have similar lengths.
    root = np.sqrt(np.maximum(factors.singular_values, 1e-12))
    return factors.left / root, factors.right * root
