"""Records that count for a release, by the numbers of their decisions and by persons.

Where persons are protected, the first k visits of a person to an agent count, from the day that
they are decided on. So who counts follows from who comes when, which is public: from no context,
action or reward, and not from when a reward is observed, or whether it ever is. A visit whose
reward never comes is used up.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple, TypeVar

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.ridge import Record, add_record
from fedbandits.systems.agents.plan import AgentsPlan

AnyRecord = TypeVar("AnyRecord")

_DIGEST_BYTES = 16


def countable(
    plan: AgentsPlan, most: int, made: int, records: dict[int, Record]
) -> tuple[list[Record], dict[int, Record]]:
    """Split records into those that count for the next release, and those that wait.

    The k-th release is of decisions 1 … k · most: which records are in it then depends on no other
    record, nor on when that one's reward came. None is of more than the horizon's: sums are exact
    up to there (:mod:`fedbandits.privacy.rounding`). What is after the last release is in none,
    and waits for nothing.

    Parameters
    ----------
    most
        How many records a release can be about that none before it was.
    records
        Records by the numbers of their decisions.
    """
    if made == plan.constants.releases:
        return list(records.values()), {}
    return counted_until(min((made + 1) * most, plan.rounds), records)


def counted_until(
    last: int, records: dict[int, AnyRecord]
) -> tuple[list[AnyRecord], dict[int, AnyRecord]]:
    """Split off the records of decisions 1 … ``last``; the others keep their numbers."""
    if max(records) <= last:
        return list(records.values()), {}
    counted = [record for number, record in records.items() if number <= last]
    return counted, {n: record for n, record in records.items() if n > last}


def sum_to_release(
    plan: AgentsPlan, most: int, made: int, statistic: Floats, kept: dict[int, Record]
) -> tuple[Floats, dict[int, Record]]:
    """Add up all records that count for the next release; return those that wait too.

    Parameters
    ----------
    plan, most, made
        See :func:`countable`.
    statistic : (models, d (d + 3) / 2) float64
        The sum so far; left as it is.
    """
    if not kept:
        return statistic, kept
    counted, left = countable(plan, most, made, kept)
    statistic = statistic.copy()
    for context, reward, model in counted:
        add_record(statistic, model, context, reward, plan.constants.rounding)
    return statistic, left


def sum_of(
    statistic: Floats, uncounted: Floats, kept: dict[int, Record], rounding: float
) -> Floats:
    """Add up all of an agent's own records, (models, d (d + 3) / 2), whether they count or wait.

    ``statistic`` and ``uncounted`` are of that shape, or nothing; ``kept`` are records that wait.
    ``rounding`` is that of :func:`~fedbandits.learners.kernels.ridge.add_record`.
    """
    total = statistic + uncounted if uncounted.size else statistic.copy()
    for context, reward, model in kept.values():
        add_record(total, model, context, reward, rounding)
    return total


class Persons(NamedTuple):
    """Counts of persons that loops keep; arrays without entries where records are protected.

    Parameters
    ----------
    visits : (agents, persons) int64
        How many visits of each person to each agent count.
    uncounted : (sums, models, d (d + 3) / 2) float64
        Packed statistics of records that count for no release, one for each running sum; only
        where agents learn from them.
    """

    visits: Ints
    uncounted: Floats


def first_persons(plan: AgentsPlan, sums: int) -> Persons:
    """Return what is kept of persons before the first round.

    Parameters
    ----------
    sums
        How many running sums all agents have together.
    """
    persons = (plan.facts.persons or 0) if plan.counts_persons else 0
    visits = np.zeros((plan.constants.agents, persons), np.int64)
    return Persons(visits, nothing_uncounted(plan, sums))


def nothing_uncounted(plan: AgentsPlan, sums: int) -> Floats:
    """Return statistics of no uncounted records, for so many running sums: see :class:`Persons`."""
    models, size = plan.constants.statistic_shape
    learns = plan.counts_persons and (plan.constants.raw_view or plan.constants.own_view)
    return np.zeros((sums, models, size if learns else 0))


def digest_of_person(person: str, key: bytes) -> bytes:
    """Hash a person's name, as the state of a party keeps it.

    Parameters
    ----------
    key
        A secret of the party. Without it nobody can find out whose visits were counted.
    """
    return blake2b(person.encode(), key=key, digest_size=_DIGEST_BYTES).digest()
