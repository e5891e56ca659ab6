"""Buyers, whether reports are seen or only sums of reports: they decide, buy and inspect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import LateRewardError, LocalProtocolError
from fedbandits.federation.events import Decide, Decision, Observe
from fedbandits.federation.exchange.outlet import Outlet
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.privacy.bounds import require_within
from fedbandits.privacy.kernels import purchase_fault
from fedbandits.privacy.running_sum import NoiseSource
from fedbandits.systems.pfcb.kernels import CLEAR, Books, empty_books, note_purchase
from fedbandits.systems.pfcb.kernels.purchases import decide, new_scratch
from fedbandits.systems.pfcb.kernels.reports import next_noise
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.shell import Releasing, Shell, ShellState


class LateOutcomeError(LateRewardError):
    """An outcome that comes after the report that it is due in, where that is too late."""


class Bought(NamedTuple):
    """A purchase whose outcome has not come."""

    due: int  # the report that it is due in, at the earliest
    units: Ints  # (m,): the decided units; a report of the outcome need not repeat them


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
    allotted: int = 0  # decisions that are due in the same report
    closed: int = 0  # outcomes of decisions up to this number are taken no longer
    kept: tuple[Kept, ...] = ()  # purchases that are due in a later report than the next
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
    """Return the fields of a buyer's state before the first round."""
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
    when: outcomes cannot push a decision out of its report.
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
    immediate, outcomes of decisions that were due until now are taken no longer.
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


class BuyerSupply(NamedTuple):
    """Supply of a buyer: its noise, its costs, and everybody's capacities.

    Parameters
    ----------
    noise
        The noise of the z-th report, (2 m,), asked once each, again only if it raised. Simulated in
        a simulation; in a deployment the source must be secure, and its draws saved.
    cost : (m,) float64
        The price of a unit for this buyer, by producer; nobody else is told.
    capacities : (n, m) int64
        The most units that each buyer can buy from each producer in a round; public.
    masks
        Its secrets to mask reports by, where only sums of them are seen.
    """

    noise: NoiseSource
    cost: Floats
    capacities: Ints
    masks: AgentSecrets | None = None


class Buying(Shell[AnyBuyingState]):
    """Buys and inspects in any round, and reports in rounds fixed in advance.

    A decision is units to buy by producer, an outcome those found good. The units that were really
    bought need not be those that were decided on: ``observe`` is told them as the decision's
    action.

    Raises
    ------
    LocalProtocolError
        If costs or capacities are malformed, or the noise is not of the kind in the terms.
    """

    def __init__(
        self, seat: Seat, plan: PFCBPlan, supply: BuyerSupply, state: AnyBuyingState,
        outlet: Outlet | None = None,
    ) -> None:  # fmt: skip
        require_numbers(seat.name, supply, plan)
        releasing = Releasing(
            plan.rounds, plan.constants.releases, plan.schedule.most_records, plan.exchange_round
        )
        is_noisy = plan.constants.reports != CLEAR
        super().__init__(seat, state, supply.noise, is_noisy, releasing, outlet)
        self._plan, self._most = plan, releasing.most_records
        self._cost = supply.cost.astype(np.float64)
        self._capacities = supply.capacities.astype(np.int64)
        self._capacity = self._capacities[seat.place]
        #: Work memory of a decision.
        self._scratch, self._coming = new_scratch(self._cost.size), np.zeros((2, self._cost.size))
        self._have_noise()

    @property
    def _made(self) -> int:
        return self._state.releases

    @property
    def settled_decisions(self) -> int:
        return self._state.closed

    def _caught_up(self) -> AnyBuyingState:
        """Return the state on which the next decision is based."""
        return self._state

    def _decide(self, event: Decide) -> Step:
        """Decide the units to buy in the next round, (m,) whole numbers."""
        del event
        state, constants, scratch = self._caught_up(), self._plan.constants, self._scratch
        books, number, ordered = state.books, state.decisions + 1, state.ordered
        if not constants.raw_view:  # orders follow from reports; the time of units does not
            self._coming[0] = ordered
            books = Books(books.combined, books.own, self._coming)
        decide(
            constants, number, books, next_noise(constants, state.releases), self._cost,
            self._capacity, scratch,
        )  # fmt: skip
        due, allotted = allot(state, constants.releases, self._most)
        units = scratch.purchase.copy()
        after = msgspec.structs.replace(
            state, decisions=number, due=due, allotted=allotted,
            ordered=ordered if constants.raw_view else ordered + units,
        )  # fmt: skip
        bought = Bought(due, units)
        return Step(after, answer=Decision(number, units.copy()), opened=(number, bought))

    def _observe(self, event: Observe) -> Step:
        """Learn how many units were good, as bounds allow. Reports leave at the round's end."""
        number = event.decision.number
        due = self._memory(number).due
        state = self._after(records=self._state.records + 1)
        units, good = self._whole(event.decision.action), self._whole(event.outcome)
        fault = purchase_fault(units, good, self._capacity)
        require_within(int(fault), f"{self.name}, decision {number}")
        if due > state.releases + 1:
            kept = (*state.kept, Kept(number, due, units, good))
            return Step(msgspec.structs.replace(state, kept=kept), closed=number)

        def note() -> Sequence[Message]:
            note_purchase(self._plan.constants.raw_view, units, good, state.books)
            return ()

        return Step(state, write=note, closed=number)

    def _memory(self, number: int) -> Bought:
        """Return the memory of an open decision.

        Refuses a decision whose report has left, where outcomes are immediate.
        """
        state = self._state
        if number not in state.open and 0 < number <= state.closed:
            raise LateOutcomeError(
                f"{self.name}: the outcome of decision {number} comes after its report has left, "
                'and the terms have outcomes = "immediate"'
            )
        bought: Bought = super()._memory(number)
        return bought

    def _whole(self, units: Ints) -> Ints:
        """Return numbers of units as they are counted with."""
        try:
            numbers: Any = np.asarray(units)
        except (TypeError, ValueError):  # rows of several lengths, say
            numbers = np.zeros(0)
        if numbers.shape != self._cost.shape or not np.issubdtype(numbers.dtype, np.integer):
            raise LocalProtocolError(
                f"{self.name}: expected {self._cost.size} whole numbers, one a producer"
            )
        whole: Ints = numbers.astype(np.int64)
        return whole


def require_numbers(name: str, supply: BuyerSupply, plan: PFCBPlan) -> None:
    """Refuse malformed costs and capacities."""
    cost, capacities = supply.cost, supply.capacities
    n, m = plan.constants.agents, plan.constants.producers
    if cost.shape != (m,) or capacities.shape != (n, m):
        raise LocalProtocolError(f"{name}: costs are ({m},), capacities ({n}, {m}) numbers")
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise LocalProtocolError(f"{name}: costs are numbers ≥ 0")
    whole = np.isfinite(capacities).all() and (np.mod(capacities, 1) == 0).all()
    if not (whole and (capacities >= 0).all()):
        raise LocalProtocolError(f"{name}: capacities are whole numbers ≥ 0")
