"""Buyers, whoever adds up what they report: one decides, buys and inspects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decide, Decision, Observe
from fedbandits.federation.exchange.outlet import Outlet
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.federation.totals.plan import AgentSecrets
from fedbandits.privacy.bounds import require_within
from fedbandits.privacy.kernels import purchase_fault
from fedbandits.privacy.running_sum import NoiseSource
from fedbandits.systems.pfcb.kernels import CLEAR, Books, note_purchase
from fedbandits.systems.pfcb.kernels.purchases import decide, new_scratch
from fedbandits.systems.pfcb.kernels.reports import next_noise
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.state import AnyBuyingState, Bought, Kept, LateOutcomeError, allot
from fedbandits.systems.shell import Releasing, Shell


class BuyerSupply(NamedTuple):
    """Supply of a buyer: its noise, its costs, and everybody's capacities.

    Parameters
    ----------
    noise
        The noise of the z-th report, (2 m,), asked once each, again only if it raised. Simulated in
        a simulation; in a deployment it must be secure and what it gave saved.
    cost : (m,) float64
        What a unit costs this buyer, by producer; nobody else is told.
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
        If costs or capacities are not what they must be, or the noise is not what the terms say.
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
        if not constants.raw_view:  # what it orders follows from reports; when units come does not
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
        numbers = np.asarray(units)
        if numbers.shape != self._cost.shape or not np.issubdtype(numbers.dtype, np.integer):
            raise LocalProtocolError(
                f"{self.name}: expected {self._cost.size} whole numbers, one a producer"
            )
        return numbers.astype(np.int64)


def require_numbers(name: str, supply: BuyerSupply, plan: PFCBPlan) -> None:
    """Refuse costs and capacities that are not what they must be."""
    cost, capacities = supply.cost, supply.capacities
    n, m = plan.constants.agents, plan.constants.producers
    if cost.shape != (m,) or capacities.shape != (n, m):
        raise LocalProtocolError(f"{name}: costs are ({m},), capacities ({n}, {m}) numbers")
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise LocalProtocolError(f"{name}: costs are numbers ≥ 0")
    whole = np.isfinite(capacities).all() and (np.mod(capacities, 1) == 0).all()
    if not (whole and (capacities >= 0).all()):
        raise LocalProtocolError(f"{name}: capacities are whole numbers ≥ 0")
