"""All that changes in a buyer, and in which report a purchase is due."""

from __future__ import annotations

from typing import NamedTuple, Self

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import LateRewardError
from fedbandits.federation.state import PartyState
from fedbandits.systems.pfcb.kernels.state import Books, empty_books, note_purchase, one_book
from fedbandits.systems.pfcb.plan import PFCBPlan


class LateOutcomeError(LateRewardError):
    """An outcome that comes after the report that it is due in, where that is too late."""


class Bought(NamedTuple):
    """A purchase whose outcome has not come.

    Parameters
    ----------
    due
        The report that it is due in, at the earliest.
    units : (m,) int64
        What was decided on, by producer: whoever tells the outcome need not repeat it.
    """

    due: int
    units: Ints


class Kept(NamedTuple):
    """An inspected purchase that is due in a later report than the next."""

    number: int
    due: int
    units: Ints  # (m,)
    good: Ints  # (m,)


class LastReport(NamedTuple):
    """Last report of a buyer, and its exchange."""

    release: int
    sums: Floats  # (2, m)


class ReleaseState(NamedTuple):
    """State of releases, which a buyer must save before a report leaves."""

    draws: Floats  # (slots, 2 m): noise in use, or covered values
    sums: Floats  # (slots, 2 m): earlier running sums, in capacities, before w and y are mixed

    @classmethod
    def empty(cls, plan: PFCBPlan) -> Self:
        """Return the state before the first report."""
        shape = (plan.slots, 2 * plan.constants.producers)
        return cls(np.zeros(shape), np.zeros(shape))


class BuyerState(PartyState, frozen=True, kw_only=True):
    """All that changes in a buyer.

    Parameters
    ----------
    stage
        ``exchanging`` from its own report to when it has taken what came of that exchange.
    decisions
        How many were made.
    open
        Decisions whose outcomes have not come, by their numbers.
    due, allotted
        That of the last decision, and how many decisions have the same.
    closed
        No outcome of decisions up to this one is taken any longer.
    kept
        Purchases that are due in a later report than the next: they wait.
    releases
        How many reports it has made: the exchange that is going on, or the last one.
    taken
        The last exchange whose reports are in its books.
    ordered : (m,) float64
        Units decided on since the last report.
    books
        What it knows.
    judged : (2,) int64
        How many reports it has accepted and refused, a producer at a time.
    released
        Where its releases stand.
    inbox
        Reports of exchanges that are not in its books yet, by exchange and buyer.
    newest
        The last running sum of every buyer that has told one.
    """

    stage: str = "ready"
    decisions: int = 0
    open: dict[int, Bought] = msgspec.field(default_factory=dict)
    due: int = 0
    allotted: int = 0
    closed: int = 0
    kept: tuple[Kept, ...] = ()
    releases: int = 0
    taken: int = 0
    ordered: Floats
    books: Books
    judged: Ints
    released: ReleaseState
    inbox: dict[int, dict[str, Floats]] = msgspec.field(default_factory=dict)
    newest: dict[str, LastReport] = msgspec.field(default_factory=dict)


def initial_state(plan: PFCBPlan) -> BuyerState:
    """Return the state before the first round."""
    producers = plan.constants.producers
    return BuyerState(
        ordered=np.zeros(producers),
        books=one_book(empty_books(1, producers), 0),
        judged=np.zeros(2, np.int64),
        released=ReleaseState.empty(plan),
    )


def allot(state: BuyerState, releases: int, most: int) -> tuple[int, int]:
    """Choose the report that the next decision is due in; count those that have the same.

    It is the next one of ``releases`` that has room for one of ``most`` purchases; after the last
    one nothing is reported, so there is room. That follows from how many decisions were made and
    when: what comes of them cannot push one out of its report.
    """
    due, allotted = state.due, state.allotted
    if due <= state.releases:
        due, allotted = state.releases + 1, 0
    if allotted >= most and due <= releases:
        due, allotted = due + 1, 0
    return due, allotted + 1


def copied(books: Books) -> Books:
    """Copy books, to write to them."""
    return Books(books.combined.copy(), books.own.copy(), books.fresh.copy())


class Closed(NamedTuple):
    """Purchases that are left when a report has been made."""

    open: dict[int, Bought]
    closed: int
    kept: tuple[Kept, ...]


def close_batch(state: BuyerState, plan: PFCBPlan, books: Books) -> Closed:
    """Note in ``books`` the purchases that were kept for the next report; ``state`` is before it.

    Where outcomes are immediate, no outcome is taken any longer of what was due until now.
    """
    made = state.releases + 1
    for each in state.kept:
        if each.due == made + 1:
            note_purchase(plan.constants.raw_view, each.units, each.good, books)
    kept = tuple(each for each in state.kept if each.due > made + 1)
    if plan.late:
        return Closed(state.open, 0, kept)
    left = {number: bought for number, bought in state.open.items() if bought.due > made}
    waiting = [*left, *(each.number for each in state.kept if each.due > made)]
    return Closed(left, min(waiting, default=state.decisions + 1) - 1, kept)
