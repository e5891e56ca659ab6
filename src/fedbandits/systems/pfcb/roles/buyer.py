"""Buyers that broadcast reports to one another, and take those of all others."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Deadline, Decide, EndRound, Observe
from fedbandits.federation.exchange.broadcast import Broadcast
from fedbandits.federation.messages import (
    ImplausibleError,
    Message,
    pack,
    unpack,
)
from fedbandits.federation.roles import MessageTable
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.privacy.kernels import any_implausible, draw_slot
from fedbandits.privacy.running_sum import NoiseSource, checked_noise, cover, draw_ahead, encode
from fedbandits.systems.pfcb.kernels import CLEAR, RUNNING, Books
from fedbandits.systems.pfcb.kernels.reports import (
    begin_exchange,
    noise_deviation,
    take_report,
    write_report,
)
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buying import (
    BuyerState,
    BuyerSupply,
    Buying,
    LastReport,
    ReleaseState,
    close_batch,
    copied,
    initial_buyer_state,
)
from fedbandits.systems.shell import staying


class Report(Message, frozen=True, kw_only=True, tag="pfcb.report"):
    """A buyer's z-th report to another: noisy units bought and found good, by producer."""

    release: int  # z, which counts exchanges from 1
    round: int  # at its end the exchange is, by the schedule
    sums: bytes  # (2, m) packed numbers

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.sums)


#: Sender and receiver of each message.
TABLE: MessageTable = {Report: ("buyer", "buyer")}


def release_report(
    plan: PFCBPlan, release: int, capacity: Ints, books: Books, state: ReleaseState,
    noise: NoiseSource,
) -> tuple[ReleaseState, Floats]:  # fmt: skip
    """Write a buyer's report (2, m), and return it after the state to save.

    The reported units are no longer fresh in ``books``; ``state`` is left as it is. The source of
    noise is asked once, unless reports are in clear.

    Raises
    ------
    NoiseError
        If the source did not give 2 m finite numbers.
    """
    constants, report = plan.constants, np.zeros((2, len(capacity)))
    if constants.reports == CLEAR:
        write_report(constants, release, capacity, state.draws, books, report)
        return state, report
    draws, sums = state.draws.copy(), state.sums.copy()
    slot = int(draw_slot(constants.mechanism, release)) if constants.reports == RUNNING else 0
    written = books
    if hasattr(noise, "cover"):
        values = _values(plan, release, slot, capacity, books, sums)
        draws[slot] = cover(noise, release, values)
        written = books._replace(own=np.zeros_like(books.own), fresh=np.zeros_like(books.fresh))
    else:
        draws[slot] = checked_noise(noise(release), 2 * len(capacity))
    write_report(constants, release, capacity, draws, written, report)
    books.fresh[:] = 0.0
    return ReleaseState(draws, sums), report


def _values(
    plan: PFCBPlan, release: int, slot: int, capacity: Ints, books: Books, sums: Floats
) -> Floats:
    """Return the covered values, (2 m,): units in deviations of a draw, before w and y are mixed.

    The exact running sum, in capacities, is noted in its slot of ``sums``.
    """
    constants = plan.constants
    known = books.own if constants.reports == RUNNING else books.fresh
    units = np.divide(known, capacity, out=np.zeros_like(known), where=capacity > 0)
    sums[slot] = np.linalg.solve(constants.mixing, units).reshape(-1)
    if plan.continual is None:
        values: Floats = sums[slot] / plan.deviation(release)
        return values
    return encode(plan.continual, sums, release) / constants.scale


class Exchange(Broadcast[BuyerState]):
    """Part of a buyer that hears the others."""

    def __init__(
        self, plan: PFCBPlan, name: str, buyers: tuple[str, ...], capacities: Ints
    ) -> None:
        super().__init__(name, buyers, plan.constants.releases, plan.exchange_round)
        self._plan, self._capacities = plan, capacities
        self._most_purchases = float(plan.schedule.most_records)
        deviations = np.sqrt(np.diag(plan.constants.covariance))
        #: (n, 2 m): half of the largest purchase, and the noise of one unit of scale.
        self._half = 0.5 * np.tile(capacities, 2)
        self._scales = np.concatenate([capacities * each for each in deviations], axis=1)

    def _checked(self, message: Report) -> Floats:
        """Return units (2, m) that the terms allow, but for noise; in clear they are whole."""
        sums = unpack(message.sums, 2 * self._capacities.shape[1])
        constants, place = self._plan.constants, self._place[message.sender]
        purchases = self._plan.batches(message.release) * self._most_purchases
        half, deviation = self._half[place], noise_deviation(constants, message.release)
        centred = sums - purchases * half
        possible = not any_implausible(centred, half, purchases, self._scales[place], deviation)
        if constants.reports == CLEAR:
            bought, good = sums.reshape(2, -1)
            whole = bool((sums % 1 == 0).all() and (good >= 0).all())
            possible = possible and whole and bool((good <= bought).all())
        if not possible:
            raise ImplausibleError(
                f"{self._name}: {message.sender} reports what capacities and noise do not allow"
            )
        return sums.reshape(2, -1)

    def taken(self, state: BuyerState, through: int) -> BuyerState:
        """Return the state in which the reports up to an exchange are in the books.

        A batch without a report adds nothing: each report is judged and weighed by itself, and the
        books are as sure as the reports in them. Of running sums the last one that came stands in
        for one that is missing, with the noise that it has.
        """
        if state.taken >= through:
            return state
        plan = self._plan
        constants, index = plan.constants, self._place[self._name]
        books, judged, newest = copied(state.books), state.judged.copy(), dict(state.newest)
        for release in range(state.taken + 1, through + 1):
            inbox = state.inbox.get(release, {})
            told = {buyer: LastReport(release, sums) for buyer, sums in inbox.items()}
            if constants.reports == RUNNING:
                told = newest = {**newest, **told}
            begin_exchange(constants, books)
            for place, buyer in enumerate(self.members):
                mine = place == index
                if buyer in told and not (mine and constants.raw_view):
                    take_report(
                        constants, told[buyer].release, plan.exchange_round(release),
                        self._capacities[place], told[buyer].sums, mine, books, judged,
                    )  # fmt: skip
        return msgspec.structs.replace(
            state, stage="ready" if through == state.releases else state.stage, taken=through,
            books=books, judged=judged,
            inbox={release: heard for release, heard in state.inbox.items() if release > through},
            newest=newest,
        )  # fmt: skip


class Buyer(Buying[BuyerState]):
    """Reports to all others in rounds fixed in advance, and learns from their reports."""

    TRANSITIONS: ClassVar[Transitions] = {
        **staying(("ready", "exchanging"), Decide, Observe, EndRound, Report),
        ("ready", EndRound): ("exchanging",),
        ("exchanging", Decide): ("exchanging", "ready"),
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
        others = (buyer for buyer in self._exchange.members if buyer != self.name)
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
