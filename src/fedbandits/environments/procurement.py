"""Buyers, and producers of unknown quality: the world of P-FCB."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import F64, FromFile, Memory, Needs, Words
from fedbandits.environments.drift import moved_on
from fedbandits.environments.kernels.procurement import (
    ProcurementWorld,
    draw_good_units,
    earned,
    fill_benchmark,
    keep_up,
    purchase_regret,
    truth_of,
)
from fedbandits.environments.open_world import Stage
from fedbandits.environments.tables.cells import numbers
from fedbandits.environments.tables.delimited import read_delimited
from fedbandits.environments.tables.files import Stamp, read_bytes, stamp
from fedbandits.environments.tables.formats import AS_FOUND, Reading
from fedbandits.errors import DataError
from fedbandits.facts import Facts, ProcurementFacts
from fedbandits.learners.kernels.purchasing import EXACT, GREEDY
from fedbandits.random import MOST_TRIALS, Key, Purpose, normals, replicate_key, uniforms

#: Largest counts: a unit's draw is named by its producer's number in 16 bits.
_MOST = {"agents": 10_000, "producers": 65_535}

_NO_FILE = 'no such file; case is "uniform", "normal" or the path of a CSV'
#: Largest length of a name; longer cells are not names.
_LONGEST = 100

COLUMNS = ("agent", "producer", "quality", "cost", "capacity")

Buyers = Annotated[int, Meta(ge=1, le=_MOST["agents"])]
ProducerCount = Annotated[int, Meta(ge=1, le=_MOST["producers"])]
Capacity = Annotated[int, Meta(ge=1, le=MOST_TRIALS)]
OpenUnit = Annotated[float, Meta(gt=0.0, lt=1.0)]


class Procurement(FromFile, frozen=True, kw_only=True, tag="procurement"):
    """Buyers choose quantities from producers of unknown quality (Solanki et al. 2022).

    A unit of producer i is good with probability qᵢ for every buyer. A unit costs buyer j cᵢⱼ, good
    or not. Its expected revenue is ρ qᵢ - cᵢⱼ. The average quality of a buyer's units in a round
    should be at least α. If it is, the regret is r* minus the expected revenue. If it is not, the
    regret is L, the largest possible regret.

    Parameters
    ----------
    case
        ``uniform``: qualities and costs are uniform on [0, 1]. ``normal``: both are normal with
        mean α, cut off at 0 and 1. Or the path of a CSV file with the columns agent, producer,
        quality, cost, capacity.
    agents
        Number of buyers, n. The default is 10 for drawn buyers. From a file the first buyers are
        taken, by default all.
    producers
        Number of producers, m. The default is 30 for drawn producers. From a file the first
        producers
        are taken, by default all.
    max_capacity
        Drawn capacities are uniform on 1 … max_capacity.
    quality_threshold
        Smallest average quality α that a purchase should have.
    revenue
        Revenue ρ of a good unit. The paper does not give its value.
    deviation
        Standard deviation of qualities and costs in the ``normal`` case. The paper uses 0.2 in the
        captions of Figures 3 to 5, 0.1 in the caption of Figure 2, and 0 in section 6.1.
    homogeneous
        If true, all buyers have the costs and capacities of the first buyer.
    benchmark
        The purchase with the expected revenue r*. ``greedy``: the purchase of the greedy oracle at
        the
        true qualities, as in the paper. ``exact``: the optimal purchase. Greedy loses part of one
        unit in a round. The exact benchmark counts this loss as regret of every system that buys
        greedily. The greedy benchmark counts a round with a smaller loss as a gain.
    instance
        A seed. All replicates then have the same costs, qualities and capacities, drawn from this
        seed.
        By default each replicate draws its own.
    """

    WORDS: ClassVar[Words] = Words("buyer", "buyers", turn="purchase")
    FACTS: ClassVar[type[Facts]] = ProcurementFacts
    SECOND_WORLD: ClassVar[str] = "each producer has the quality of the producer before it"

    case: str = "uniform"
    agents: Buyers | None = None
    producers: ProducerCount | None = None
    max_capacity: Capacity = 50
    quality_threshold: OpenUnit = 0.4
    revenue: Annotated[float, Meta(gt=0.0, le=1e6)] = 1.0
    deviation: Annotated[float, Meta(ge=0.0, le=1e3)] = 0.2
    homogeneous: bool = False
    benchmark: Literal["greedy", "exact"] = "greedy"
    instance: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None = None

    def validate(self) -> None:
        self.refuse_keys_of_file("case", not self.is_drawn)

    @property
    def is_drawn(self) -> bool:
        """True if producers are drawn at random instead of read from a file."""
        return self.case in ("uniform", "normal")

    @property
    def parties(self) -> int:
        if self.agents is not None:
            return self.agents
        return 10 if self.is_drawn else len(self._read().cost)

    @property
    def producer_count(self) -> int:
        """Number of producers, m."""
        if self.producers is not None:
            return self.producers
        return 30 if self.is_drawn else len(self._read().quality)

    @property
    def largest_capacity(self) -> int:
        """Largest number of units that one buyer can buy from one producer in a round."""
        return self.max_capacity if self.is_drawn else int(self._given().capacity.max())

    @property
    def facts(self) -> ProcurementFacts:
        return ProcurementFacts(
            parties=self.parties,
            producers=self.producer_count,
            largest_capacity=self.largest_capacity,
            quality_threshold=self.quality_threshold,
            revenue=self.revenue,
        )

    def stage(self, key: Key) -> ProcurementStage:
        return ProcurementStage(self, key)

    def prepare(self) -> None:
        if not self.is_drawn:
            self._given()

    def needs(self, rounds: int) -> Needs:
        pairs = self.parties * self.producer_count
        keys = "environment.agents or environment.producers"
        return Needs(
            (Memory("costs and capacities", 2 * pairs * F64, keys),), 10.0 * rounds * pairs
        )

    def world(self, key: Key) -> ProcurementWorld:
        replicate = key
        if self.instance is not None:
            key = replicate_key(self.instance, 0)
        quality, cost, capacity = self._drawn(key) if self.is_drawn else self._given()
        if self.homogeneous:
            shape = (self.parties, 1)
            cost, capacity = np.tile(cost[:1], shape), np.tile(capacity[:1], shape)
        world = ProcurementWorld(
            quality, cost, capacity, self.quality_threshold, self.revenue,
            np.zeros(self.parties), np.zeros(self.parties),
            EXACT if self.benchmark == "exact" else GREEDY,
        )  # fmt: skip
        fill_benchmark(world, world.oracle)
        if self.drift is None:
            return world
        return world._replace(other=moved_on(quality), shares=self.drift.shares(replicate))

    def _read(self) -> Producers:
        """Return all agents and producers of the file."""
        return read_producers(self.case, self.reading)

    def _given(self) -> Producers:
        """Return the first agents and producers of the file."""
        producers, n, m = self._read(), self.parties, self.producer_count
        for name, wanted, there in (
            ("agents", n, len(producers.cost)),
            ("producers", m, len(producers.quality)),
        ):
            if wanted > there:
                raise DataError(
                    f"environment.{name}: {wanted} {name}, but {self.case} has {there}; use fewer"
                )
            if wanted > _MOST[name]:
                raise DataError(
                    f"environment.{name}: {self.case} has {there:,} {name}, allowed are "
                    f"{_MOST[name]:,}; give the number of those to use"
                )
        return Producers(
            producers.quality[:m].copy(),
            producers.cost[:n, :m].copy(),
            producers.capacity[:n, :m].copy(),
        )

    def _drawn(self, key: Key) -> Producers:
        """Draw each buyer by itself: the draws do not depend on the number of buyers."""
        n, m = self.parties, self.producer_count
        capacity = np.empty((n, m), np.int64)
        for j in range(n):
            capacity[j] = 1 + np.floor(
                self.max_capacity * uniforms(m, key, j, 2, Purpose.WORLD)
            ).astype(np.int64)
        cost = np.array([self._values(key, j, 1) for j in range(n)])
        return Producers(self._values(key, 0, 0), cost, capacity)

    def _values(self, key: Key, party: int, what: int) -> Floats:
        m = self.producer_count
        if self.case == "uniform":
            return uniforms(m, key, party, what, Purpose.WORLD)
        spread = self.deviation * normals(m, key, party, what, Purpose.WORLD)
        return np.clip(self.quality_threshold + spread, 0.0, 1.0)


class ProcurementStage(Stage):
    """One replicate: a decision is units by producer, an outcome the good units."""

    def __init__(self, environment: Procurement, key: Key) -> None:
        world = environment.world(key)
        super().__init__(world, key, len(world.cost))
        self._truths = [truth_of(world, agent) for agent in range(len(world.cost))]
        #: (agents, producers): the last round's purchases.
        self.purchases: Ints = np.zeros(world.cost.shape, np.int64)
        #: (agents,): whether the last round's purchase missed the constraint.
        self.missed = np.zeros(len(world.cost), np.bool_)

    def acting(self, round_: int) -> Iterable[int]:
        return range(len(self.regret))

    def situation(self, round_: int, player: int) -> None:
        return None

    def outcome(self, round_: int, player: int, decision: Ints) -> Ints:
        world, good = self.world, np.zeros(decision.size, np.int64)
        draw_good_units(world, self.key, player, round_, decision, good)
        truth = self._truths[player]
        keep_up(world, player, round_, truth)
        regret, self.missed[player] = purchase_regret(
            truth.unit_revenue, truth.surplus, truth.ends[0], truth.ends[1], decision
        )
        self.purchases[player] = decision
        self.regret[player] += regret
        self.reward[player] += earned(world, player, decision, good)
        return good


class Producers(NamedTuple):
    """The content of a file, agents and producers numbered in order of appearance."""

    quality: Floats  # (producers,)
    cost: Floats  # (agents, producers)
    capacity: Ints  # (agents, producers)


class _Row(NamedTuple):
    line: int
    agent: str
    producer: str
    quality: float
    cost: float
    capacity: int


def read_producers(path: str, reading: Reading = AS_FOUND) -> Producers:
    """Read a CSV with a header that names agent, producer, quality, cost and capacity.

    One row for every agent and producer, in any order. A producer's quality is the same for all
    agents. ``reading`` is the format of the file. A file is read once, and again after a change.
    Raises DataError with the line or the pair, if the file is missing, malformed or incomplete.
    """
    return _read(path, reading, stamp(os.path.abspath(path)) if path else Stamp(path))


@functools.lru_cache(maxsize=4)
def _read(path: str, reading: Reading, file: Stamp) -> Producers:
    """Read a file; errors name its ``path``, and its stamp identifies the version."""
    del file
    rows = [*_rows(path, reading)]
    if not rows:
        raise DataError(f"{path}: has no producers")
    agents = {name: j for j, name in enumerate(dict.fromkeys(row.agent for row in rows))}
    producers = {name: i for i, name in enumerate(dict.fromkeys(row.producer for row in rows))}
    _check_pairs(path, rows, agents, producers)
    quality = np.full(len(producers), np.nan)
    cost = np.zeros((len(agents), len(producers)))
    capacity = np.zeros(cost.shape, np.int64)
    for row in rows:
        j, i = agents[row.agent], producers[row.producer]
        if not np.isnan(quality[i]) and quality[i] != row.quality:
            raise DataError(
                f"{path}, line {row.line}: quality {row.quality:g} of producer {row.producer!r}, "
                f"but it was {quality[i]:g} before; give one quality for all agents"
            )
        quality[i], cost[j, i], capacity[j, i] = row.quality, row.cost, row.capacity
    return Producers(quality, cost, capacity)


def _check_pairs(
    path: str, rows: list[_Row], agents: Collection[str], producers: Collection[str]
) -> None:
    """Check that every pair has one row, before arrays of all pairs are made."""
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if (row.agent, row.producer) in seen:
            raise DataError(
                f"{path}, line {row.line}: agent {row.agent!r} and producer {row.producer!r} is "
                "there twice; remove one line"
            )
        seen.add((row.agent, row.producer))
    first = next((pair for pair in itertools.product(agents, producers) if pair not in seen), None)
    if first is not None:
        missing = len(agents) * len(producers) - len(seen)
        raise DataError(
            f"{path}: {missing} pairs are missing, the first is agent {first[0]!r} with "
            "producer "
            f"{first[1]!r}; every agent needs a row for every producer (capacity 0 where it cannot "
            "buy)"
        )


def _rows(path: str, reading: Reading) -> Iterator[_Row]:
    """Yield the rows, with columns found by their names."""
    raw = read_delimited(path, read_bytes(path, _NO_FILE), reading)
    names = [name.lower() for name in raw.columns]
    if absent := [column for column in COLUMNS if column not in names]:
        raise DataError(
            f"{path}, line 1: expected a header with {', '.join(COLUMNS)}; no {absent[0]} in it"
        )
    if twice := [column for column in COLUMNS if names.count(column) > 1]:
        raise DataError(f"{path}, line 1: {twice[0]} is there twice; rename one")
    known = {name.lower(): name for name in raw.columns}
    quality, cost, capacity = (numbers(raw, known[column], column) for column in COLUMNS[2:])
    texts = (raw.columns[known[column]] for column in COLUMNS[:2])
    for row in map(
        _Row._make, zip(raw.lines.tolist(), *texts, quality, cost, capacity, strict=True)
    ):
        yield _checked(path, row)


def _checked(path: str, row: _Row) -> _Row:
    """Return a row after a check of its names and numbers."""
    if not all(0 < len(name) <= _LONGEST for name in (row.agent, row.producer)):
        raise DataError(
            f"{path}, line {row.line}: agent and producer must have names of at most {_LONGEST} "
            "characters"
        )
    limits = {
        "quality": (0.0, 1.0, "a number between 0 and 1"),
        "cost": (0.0, 1e12, "a number ≥ 0"),
        "capacity": (0.0, MOST_TRIALS, f"a whole number from 0 to {MOST_TRIALS:,}"),
    }
    for column, (low, high, expected) in limits.items():
        if not low <= getattr(row, column) <= high:  # also refuses NaN
            raise DataError(f"{path}, line {row.line}: {column} must be {expected}")
    if row.capacity != int(row.capacity):
        raise DataError(f"{path}, line {row.line}: capacity must be a whole number")
    return row._replace(capacity=int(row.capacity))
