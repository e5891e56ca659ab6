"""All that changes in a P-FCB run: in a compiled loop, and in a buyer that is a party."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import F64, Memory, Needs
from fedbandits.errors import LateRewardError
from fedbandits.systems.pfcb.kernels import Books, Clock, State, Tally, empty_books, note_purchase
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.shell import ShellState


def initial_state(plan: PFCBPlan) -> State:
    """Return the state before the first round."""
    n, m = plan.constants.agents, plan.constants.producers
    return State(
        clock=Clock(np.zeros(1, np.int64), np.zeros(1, np.int64)),
        faults=np.zeros(n, np.int64),
        books=empty_books(m, n),
        draws=np.zeros((n, plan.slots, 2 * m)),
        reports=np.zeros((n if plan.secure is None else 0, 2, m)),
        total=np.zeros(0 if plan.secure is None else 2 * m, np.int64),
        tally=Tally(
            regret=np.zeros(n),
            late_regret=np.zeros(n),
            reward=np.zeros(n),
            violations=np.zeros(n, np.int64),
            empty=np.zeros(n, np.int64),
            units=np.zeros(n, np.int64),
            judged=np.zeros((n, 2), np.int64),
        ),
    )


def needs(plan: PFCBPlan) -> Needs:
    """Estimate what :func:`initial_state` will take, and the rounds after it."""
    pairs = plan.constants.agents * plan.constants.producers
    keys = "environment.agents or environment.producers"
    parts = (
        Memory("books and reports of buyers", 8 * pairs * F64, keys),
        Memory("noise that is kept for later reports", 2 * plan.slots * pairs * F64, keys),
    )
    exchanges = min(plan.constants.releases, plan.rounds)
    # Everybody judges everybody's report, or one sum.
    judged = 10.0 * (plan.constants.agents if plan.secure is None else 1)
    report = 40.0 + plan.slots + judged
    return Needs(parts, pairs * (30.0 * plan.rounds + exchanges * report))


# ---------------------------------------------------------------- a buyer


class LateOutcomeError(LateRewardError):
    """An outcome that comes after the report that it is due in, where that is too late."""


class Bought(NamedTuple):
    """A purchase whose outcome has not come."""

    due: int  # the report that it is due in, at the earliest
    units: Ints  # (m,): what was decided on; whoever tells the outcome need not repeat it


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


class BuyingState(ShellState, frozen=True, kw_only=True):
    """State of a buyer, whether reports are seen or only sums of reports.

    The stage is ``exchanging`` from the buyer's report until it has taken the reports of others.
    """

    #: Decisions whose outcomes have not come, by their numbers.
    open: dict[int, Bought] = msgspec.field(default_factory=dict)  # type: ignore[assignment]
    due: int = 0  # the report that the last decision is due in
    allotted: int = 0  # how many decisions are due in the same
    closed: int = 0  # no outcome of decisions up to this one is taken any longer
    kept: tuple[Kept, ...] = ()  # purchases that wait: they are due in a later report than the next
    releases: int = 0  # reports made: the exchange that is going on, or the last one
    taken: int = 0  # the last exchange whose reports are in its books
    ordered: Floats  # (m,): units decided on since the last report
    books: Books
    judged: Ints  # (2,): reports accepted and refused, a producer at a time


class BuyerState(BuyingState, frozen=True, kw_only=True):
    """All that changes in a buyer that reports to all others."""

    released: ReleaseState
    #: Reports of exchanges that are not in its books yet, by exchange and buyer.
    inbox: dict[int, dict[str, Floats]] = msgspec.field(default_factory=dict)
    #: The last running sum of every buyer that has told one.
    newest: dict[str, LastReport] = msgspec.field(default_factory=dict)


AnyBuyingState = TypeVar("AnyBuyingState", bound=BuyingState)


def first_state(plan: PFCBPlan) -> dict[str, Any]:
    """Return what a buyer knows before the first round, as fields of its state."""
    producers = plan.constants.producers
    return {
        "ordered": np.zeros(producers),
        "books": empty_books(producers),
        "judged": np.zeros(2, np.int64),
    }


def initial_buyer_state(plan: PFCBPlan) -> BuyerState:
    """Return a buyer's state before the first round."""
    return BuyerState(**first_state(plan), released=ReleaseState.empty(plan))


def allot(state: BuyingState, releases: int, most: int) -> tuple[int, int]:
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
    return Books(*(each.copy() for each in books))


def close_batch(state: AnyBuyingState, plan: PFCBPlan, books: Books) -> AnyBuyingState:
    """Return the state after the next report, with the purchases that are left.

    Those that were kept for the report after it are noted in ``books``. Where outcomes are
    immediate, no outcome is taken any longer of what was due until now.
    """
    made = state.releases + 1
    for each in state.kept:
        if each.due == made + 1:
            note_purchase(plan.constants.raw_view, each.units, each.good, books)
    kept = tuple(each for each in state.kept if each.due > made + 1)
    if plan.late:
        return msgspec.structs.replace(state, kept=kept)
    left = {number: bought for number, bought in state.open.items() if bought.due > made}
    waiting = [*left, *(each.number for each in state.kept if each.due > made)]
    closed = min(waiting, default=state.decisions + 1) - 1
    return msgspec.structs.replace(state, open=left, closed=closed, kept=kept)
