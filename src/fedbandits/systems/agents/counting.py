"""Which records count for the next release, and which wait."""

from __future__ import annotations

from typing import TypeVar

from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import Record, add_record
from fedbandits.systems.agents.plan import AgentsPlan

AnyRecord = TypeVar("AnyRecord")


def countable(
    plan: AgentsPlan, most: int, made: int, records: dict[int, Record]
) -> tuple[list[Record], dict[int, Record]]:
    """Those records that count for the next release, and those that wait.

    The k-th release is of decisions 1 … k · most: which records are in it then depends on no other
    record, nor on when that one's reward came. None is of more than the horizon's: sums are exact
    up to there (:mod:`fedbandits.privacy.rounding`). What is after the last release is in none,
    and waits for nothing.

    Parameters
    ----------
    plan
        What all parties go by.
    most
        How many records a release can be about that none before it was.
    made
        How many releases were made.
    records
        Records by the numbers of their decisions.
    """
    if made == plan.constants.releases:
        return list(records.values()), {}
    return counted_until(min((made + 1) * most, plan.rounds), records)


def counted_until(
    last: int, records: dict[int, AnyRecord]
) -> tuple[list[AnyRecord], dict[int, AnyRecord]]:
    """The records of decisions 1 … ``last``, and the others by the numbers of their decisions."""
    if max(records) <= last:
        return list(records.values()), {}
    counted = [record for number, record in records.items() if number <= last]
    return counted, {n: record for n, record in records.items() if n > last}


def sum_to_release(
    plan: AgentsPlan, most: int, made: int, statistic: Floats, kept: dict[int, Record]
) -> tuple[Floats, dict[int, Record]]:
    """The sum of all records that count for the next release, and those that wait.

    Parameters
    ----------
    plan, most, made
        See :func:`countable`.
    statistic : (models, d (d + 3) / 2) float64
        The sum so far; left as it is.
    kept
        Records that have waited.
    """
    if not kept:
        return statistic, kept
    counted, left = countable(plan, most, made, kept)
    statistic = statistic.copy()
    for context, reward, model in counted:
        add_record(statistic, model, context, reward, plan.constants.rounding)
    return statistic, left
