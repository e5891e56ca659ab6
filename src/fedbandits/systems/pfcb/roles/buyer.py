"""Buyers that broadcast reports to one another, and take those of all others."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits.federation.events import Deadline, Decide, EndRound, Observe
from fedbandits.federation.messages import pack
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.privacy.running_sum import draw_ahead
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.messages import Report
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buying import BuyerSupply, Buying
from fedbandits.systems.pfcb.roles.reports import Exchange, release_report
from fedbandits.systems.pfcb.state import BuyerState, close_batch, copied, initial_buyer_state


class Buyer(Buying[BuyerState]):
    """Reports to all others in rounds fixed in advance, and learns from their reports."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", Decide): ("ready",),
        ("ready", Observe): ("ready",),
        ("ready", EndRound): ("exchanging",),
        ("ready", Report): ("ready",),
        ("exchanging", Decide): ("exchanging", "ready"),
        ("exchanging", Observe): ("exchanging",),
        ("exchanging", EndRound): ("exchanging",),
        ("exchanging", Report): ("exchanging", "ready"),
        ("exchanging", Deadline): ("exchanging", "ready"),
    }

    def __init__(self, seat: Seat, plan: PFCBPlan, supply: BuyerSupply) -> None:
        super().__init__(seat, plan, supply, initial_buyer_state(plan))
        buyers = seat.names(seat.role)
        self._exchange = Exchange(plan, self.name, buyers, self._capacities)

    @property
    def _answer_due(self) -> int | None:
        """The exchange whose reports have not all come."""
        return self._state.releases if self.stage == "exchanging" else None

    def _draw_noise(self) -> None:
        constants = self._plan.constants
        if constants.reports != CLEAR:
            draw_ahead(self._noise, constants.release_size)

    def _caught_up(self) -> BuyerState:
        """Return the state with all reports that are there: all may have come when it reported."""
        state = self._state
        return self._exchange.caught_up(state) if state.stage == "exchanging" else state

    def _release(self) -> Step:
        """Report; reports of others are judged by raw books, so they wait until this has left."""
        state, books = self._state, copied(self._state.books)
        made = state.releases + 1
        released, report = release_report(
            self._plan, made, self._capacity, books, state.released, self._noise
        )
        self._has_noise = False
        heard = {**state.inbox.get(made, {}), self.name: report}
        after = msgspec.structs.replace(
            close_batch(state, self._plan, books), stage="exchanging", releases=made,
            released=released, books=books, ordered=np.zeros_like(state.ordered),
            inbox={**state.inbox, made: heard},
        )  # fmt: skip
        told: dict[str, Any] = {
            "release": made,
            "round": self._plan.exchange_round(made),
            "sums": pack(report.reshape(-1)),
        }
        others = (buyer for buyer in self._exchange.buyers if buyer != self.name)
        return Step(after, [Report(sender=self.name, receiver=other, **told) for other in others])

    def _take_message(self, message: Report) -> Step:
        heard = self._exchange.heard(self._state, message)
        after = self._exchange.caught_up(heard)
        if after.taken > heard.taken:
            self._have_noise()  # nothing has changed if the noise raises
        return Step(after)

    def _go_on_without(self) -> Step:
        """Go on with the reports that have come of the present exchange."""
        self._have_noise()
        return Step(self._exchange.taken(self._state, self._state.releases))
