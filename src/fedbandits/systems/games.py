"""Contents games: the release code of a system on one log, with one record replaced.

The party and the batch of the record are drawn from the number of the run, in both worlds alike,
and the attacker is told: a mistake for a single party, model or release must show too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.attacks import MOST_LEARNED, Transcripts
from fedbandits.privacy.auditing import Sees
from fedbandits.privacy.likelihood import Attacker
from fedbandits.random import Key, Purpose, normals, replicate_key, uniforms

#: Numbers of releases that are made at once; 64 MB.
_MOST_NUMBERS = 2**23
_FOREVER = 2**31
#: Runs of a late record: noise in common is found exactly, and attacks look for missing noise.
_LATE_RUNS = 2000
#: Numbers of a side, at most.
_MOST_MADE = 2**24
#: Seed of the audit's own draws, told apart from those of experiments by its size.
AUDIT_SEED = 0xA0D17
#: Round in the names of draws of targets.
_TARGETS = 2**31
#: A hair less than 1, the length of contexts relative to their bound: contexts are float32.
_INSIDE = 1.0 - 1e-6
#: Lengths of far too long, and of short, contexts, relative to their bound.
BEYOND, _SHORT = 6.0, 0.1

Neighbours = Literal["fixed log", "interactive"]


class Look(NamedTuple):
    """Statistics that an attacker of a known target makes of some runs."""

    values: Floats  # (runs, f): contents
    scores: Floats  # (runs, 1): their likelihood ratios
    others: Floats  # (runs, c): statistics that are not Gaussian


class ReplacedRecord(NamedTuple):
    """A record that is replaced in the releases of a log, and the attacker of these releases."""

    pair: tuple[Floats, Floats]  # (size,) each: the record's part of its batch in either world
    attacker: Attacker  # an attacker that knows all other records
    #: Whether the record comes in a drawn batch, not in the first: a late record misses some
    #: releases, so that noise in common to two releases shows.
    late: bool = False
    at_once: int = 1  # how many records are replaced: 1, or k of a person

    def batches(self, drawn: Ints) -> Ints:
        """Return the batch of the first replaced record of every run, from 1, (runs,)."""
        return drawn + 2 if self.late else np.ones_like(drawn)

    def entered(self, releases: Ints, batches: Ints) -> Floats:
        """Return how many replaced records are in each release, (runs, n).

        Of a late person each batch from the first one on has one more. Else the first batch has
        all, which costs most. ``releases`` (runs, n) or (n,) count from 1; for ``batches``
        (runs,) see :meth:`batches`.
        """
        since = releases - batches[:, None] + 1
        entered: Floats = (since > 0).astype(np.float64) * self.at_once
        return np.minimum(entered, np.maximum(since, 0)) if self.late else entered

    def words(self, some: str = "") -> str:
        """Return the replaced record in words; ``some`` names the records of a person."""
        if some:
            return f", {some}{' one by one from a drawn batch on' if self.late else ''}"
        return ", a record of a drawn batch" if self.late else ""


def look_of(
    attacker: Attacker, values: Floats, entered: Floats, scale: Floats | None = None
) -> Look:
    """Return the statistics of an attacker, of releases (runs, n, size).

    The other parameters are those of :meth:`.Attacker.scores`; ``scale`` is 1 by default.
    """
    count = len(values)
    scores = attacker.scores(values, entered, np.ones(count) if scale is None else scale)
    return Look(values.reshape(count, -1), scores, attacker.bare(values, entered))


def look_at_sums(
    record: ReplacedRecord, steps: Ints, release: Callable[[Floats, int], Floats]
) -> Callable[[int, int, int], Look]:
    """Return :attr:`ContentsGame.look` for running sums in which a record is replaced.

    Parameters
    ----------
    record
        The record; a late record is in a drawn batch.
    steps : (n,)
        Numbers of the releases that are attacked, from 1.
    release
        Releases sums (runs, n, size) of runs from a first one on, by the code of the system.
    """

    def look(world: int, first: int, count: int) -> Look:
        (batch,) = drawn_targets(first, count, max(1, len(steps) - 1))
        entered = record.entered(steps, record.batches(batch))
        values = release(entered[:, :, None] * record.pair[world], first)
        return look_of(record.attacker, values, entered)

    return look


class ContentsGame(NamedTuple):
    """Release code on one log with one record replaced."""

    looks_at: str  # the attacker's view, in words
    size: int  # the count of numbers in a run
    #: Plays the releases on both logs: from ``(world, first, count)`` to the statistics of runs
    #: ``first`` … ``first + count - 1``.
    look: Callable[[int, int, int], Look]
    made: int = 0  # the count of numbers that a run computes; ``size`` if not given
    #: Whether the record comes after some releases: few runs suffice to see releases without noise.
    #: The price of a record shows in the other games.
    late: bool = False
    neighbours: Neighbours = "fixed log"
    gaussian: bool = True
    sees: Sees = "contents"

    @property
    def runs(self) -> int:
        """Number of runs that suffice, and can be afforded."""
        most = _LATE_RUNS if self.late else _FOREVER
        return min(most, max(1000, _MOST_MADE // max(1, self.size, self.made)))

    def play(self, world: int, first: int, count: int) -> Transcripts:
        """Play runs first … first + count - 1 of a world.

        Beyond the numbers from which an attack learns only scores are kept, and made of a few runs
        at a time: all numbers would not fit into memory.
        """
        keeps, at_once = self.size <= MOST_LEARNED, max(1, _MOST_NUMBERS // self.size)
        parts = []
        for start in range(0, count, at_once):
            look = self.look(world, first + start, min(at_once, count - start))
            parts.append(look if keeps else look._replace(values=look.values[:, :0]))
        whole = Look(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return Transcripts(whole.scores, whole.values, np.zeros(count, np.int64), whole.others)


def drawn_targets(first: int, count: int, *bounds: int) -> tuple[Ints, ...]:
    """Draw where runs ``first`` … ``first + count - 1`` are attacked: below each bound, (count,).

    The targets are the same in both worlds, and independent of all draws of a run.
    """
    key, size = audit_key(0), len(bounds)
    drawn = [
        uniforms(size, key, run, _TARGETS, Purpose.WORLD) for run in range(first, first + count)
    ]
    return tuple((np.stack(drawn) * np.array(bounds)).astype(np.int64).T)


def opposite_records(
    dimension: int, context_bound: float, reward_bound: float, gram_noise: float = 1.0
) -> tuple[Record, Record]:
    """Return two records within bounds as far apart as any: [x; ρB] ⊥ [x'; ρB], where ρB ≤ L.

    ρ is ``gram_noise``, the deviation of the noise of x xᵀ relative to the noise of x y.
    """
    cosine = -min(1.0, (gram_noise * reward_bound / context_bound) ** 2)
    one, other = np.zeros(dimension), np.zeros(dimension)
    length = context_bound * _INSIDE
    one[0] = length
    other[0] = length * cosine
    if dimension > 1:
        other[1] = length * np.sqrt(1.0 - cosine**2)
    return Record(one, reward_bound), Record(other, reward_bound)


def different_records(
    dimension: int, context_bound: float, reward_bound: float
) -> tuple[Record, Record]:
    """Return two records within bounds that differ in every number of their packed statistics.

    Records that are furthest apart may differ in a single number, and would never show missing
    noise in another number.
    """
    length = context_bound * _INSIDE
    one, other = np.zeros(dimension), np.full(dimension, length / np.sqrt(dimension + 1.0))
    one[0] = length
    return Record(one, reward_bound), Record(other, -reward_bound)


def stretched_records(
    dimension: int, context_bound: float, reward_bound: float
) -> tuple[Record, Record]:
    """Return two records, one far beyond both bounds: a party that does not cut records shows.

    The other has a short context: a party that scales contexts by earlier contexts shows too.
    """
    one, other = np.zeros(dimension), np.zeros(dimension)
    one[-1], other[0] = _SHORT * context_bound, BEYOND * context_bound
    return Record(one, -BEYOND * reward_bound), Record(other, BEYOND * reward_bound)


def packed_record(record: Record) -> Floats:
    """Return a record's packed statistic: the upper triangle of x xᵀ, then x y."""
    x = record.context.astype(np.float32).astype(np.float64)
    return np.concatenate([np.outer(x, x)[np.triu_indices(len(x))], x * record.reward])


def packed_pair(pair: tuple[Record, Record]) -> tuple[Floats, Floats]:
    """Return the packed statistics of two records."""
    return packed_record(pair[0]), packed_record(pair[1])


def audit_key(run: int) -> Key:
    """Return the key of one run; its draws are shared with no experiment."""
    return replicate_key(AUDIT_SEED, run)


def contexts(key: Key, agent: int, round_: int, dimension: int, arms: int, bound: float) -> Floats:
    """Draw a decision set of an audit, (d, arms) float64, every context of norm ``bound``."""
    drawn = normals(dimension * arms, key, agent, round_, Purpose.CONTEXT).reshape(dimension, arms)
    return np.asarray(bound * _INSIDE * drawn / np.linalg.norm(drawn, axis=0))
