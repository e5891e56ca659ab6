"""Arms that pay 0 or 1: the world of stochastic bandits, and of SAMBA's data owners."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import Arms, Words
from fedbandits.environments.drift import moved_on
from fedbandits.environments.kernels.arrivals import BernoulliWorld, pull_arm, pull_regret
from fedbandits.environments.open_world import Stage
from fedbandits.environments.rating_files import FromRatings, RatingFile, read_ratings
from fedbandits.environments.tables.files import read_text
from fedbandits.errors import DataError
from fedbandits.facts import ArmFacts, Facts
from fedbandits.random import Key, Purpose, uniforms


class Bernoulli(FromRatings, frozen=True, kw_only=True, tag="bernoulli"):
    """Arms with Bernoulli rewards; one arm is pulled a round.

    Parameters
    ----------
    means
        The mean reward of each arm, given in one of three ways. ``"uniform"``: new means for each
        replicate, uniform on [0, 1]. A list of numbers. The path of a file: its first line is the
        number of means, and each further line is a mean.
    ratings
        Path of a file of ratings, used instead of ``means`` (formats:
        :class:`~fedbandits.environments.RatingData`). The mean of an item is the share of its
        ratings above ``threshold``.
    threshold
        Ratings above this value count as reward 1, others as 0. Used with ``ratings`` only.
    share_of
        The divisor of a mean. ``ratings``: the number of ratings of the item, as in section 6.1 of
        Ciucanu et al. (2022). ``users``: the number of all users in the file, as in their published
        means. Used with ``ratings`` only.
    arms
        Number of arms, K. If more means are given, the K largest are kept, in descending order.
    """

    WORDS: ClassVar[Words] = Words("data owner", "data owners")
    FACTS: ClassVar[type[Facts]] = ArmFacts
    SECOND_WORLD: ClassVar[str] = "means change places: each arm has that of the arm before it"

    means: str | tuple[Annotated[float, Meta(ge=0.0, le=1.0)], ...] = "uniform"
    ratings: str | None = None
    threshold: float = 3.0
    share_of: Literal["ratings", "users"] = "ratings"
    arms: Arms = 10

    def validate(self) -> None:
        if self.ratings is not None and self.means != "uniform":
            raise ValueError("give means or ratings, not both")
        self.refuse_keys_of_file("ratings", self.ratings is not None)
        if not isinstance(self.means, str) and len(self.means) < self.arms:
            raise ValueError(f"means has {len(self.means)} entries, arms is {self.arms}")

    @property
    def parties(self) -> int:
        return self.arms

    @property
    def acting(self) -> int:
        return 1

    @property
    def facts(self) -> ArmFacts:
        return ArmFacts(parties=self.arms)

    def stage(self, key: Key) -> ArmStage:
        return ArmStage(self, key)

    def prepare(self) -> None:
        self._given()

    def world(self, key: Key) -> BernoulliWorld:
        given = self._given()
        means = uniforms(self.arms, key, 0, 0, Purpose.WORLD) if given is None else given.copy()
        if self.drift is None:
            return BernoulliWorld(means)
        return BernoulliWorld(means, moved_on(means), self.drift.shares(key))

    def _given(self) -> Floats | None:
        """Return the K largest means, in descending order; None if each replicate draws means."""
        if self.ratings is not None:
            source = self.ratings
            file = self.rating_file(self.ratings)
            means = _rated_means(file, self.threshold, self.share_of)
        elif isinstance(self.means, str):
            if self.means == "uniform":
                return None
            source, means = self.means, _read_means(self.means)
        else:
            source, means = "means", np.array(self.means, dtype=np.float64)
        if len(means) < self.arms:
            raise DataError(
                f"environment.arms: {self.arms} arms, but {source} has {len(means)}; use fewer arms"
            )
        return np.sort(means)[::-1][: self.arms].copy()


@functools.lru_cache(maxsize=4)
def _rated_means(file: RatingFile, threshold: float, share_of: str) -> Floats:
    users, items, values = read_ratings(*file)
    above = np.bincount(items, weights=(values > threshold).astype(np.float64))
    return above / (np.bincount(items) if share_of == "ratings" else users.max() + 1)


def _read_means(path: str) -> Floats:
    """Read the number of means, then a mean a line."""
    lines = read_text(path, "no such file; give a file of means, or a list").split()
    values = [_mean(path, number, line) for number, line in enumerate(lines[1:], start=2)]
    if not lines or lines[0] != str(len(values)):
        raise DataError(
            f"{path}, line 1: expected the number of means that follow ({len(values)}), then "
            "one mean on each line"
        )
    return np.array(values)


def _mean(path: str, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise DataError(f"{path}, line {number}: expected a number between 0 and 1")
    return value


class ArmStage(Stage):
    """One replicate: a situation is empty, a decision is to pull, an outcome is the reward.

    The parties settle the order of pulls, so no party acts by itself.
    """

    def __init__(self, environment: Bernoulli, key: Key) -> None:
        world = environment.world(key)
        super().__init__(world, key, len(world.means))
        #: All pulls, with round, arm and reward; only the owners know them.
        self.pulled: list[tuple[int, int, float]] = []
        self._gaps: Floats = world.means.max() - world.means
        self._pulls: Ints = np.zeros(len(world.means), np.int64)

    def acting(self, round_: int) -> Iterable[int]:
        return ()

    def situation(self, round_: int, player: int) -> None:
        return None

    def outcome(self, round_: int, player: int, decision: bool) -> float:
        reward = float(pull_arm(self.world, self.key, player, round_))
        self.pulled.append((round_, player, reward))
        if len(self.world.other):
            self.regret[player] += pull_regret(self.world, player, round_)
        else:  # a product, because sums of many equal numbers are rounded more often
            self._pulls[player] += 1
            self.regret[player] = self._pulls[player] * self._gaps[player]
        self.reward[player] += reward
        return reward
