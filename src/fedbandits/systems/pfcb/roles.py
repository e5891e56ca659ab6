"""P-FCB's buyers, as parties that broadcast reports to one another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import LocalProtocolError, RemoteProtocolError
from fedbandits.federation.messages import (
    DuplicateError,
    Message,
    OutOfOrderError,
    pack,
    unpack,
)
from fedbandits.federation.party import ActingParty
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import Transitions
from fedbandits.privacy.bounds import purchase_fault, require_within
from fedbandits.privacy.running_sum import NoiseSource, draw_ahead
from fedbandits.systems.pfcb.kernels.books import Books, empty_books, note_purchase, one_book
from fedbandits.systems.pfcb.kernels.purchases import decide, new_scratch
from fedbandits.systems.pfcb.kernels.reports import (
    begin_exchange,
    next_exchange,
    next_noise,
    noise_deviation,
    take_report,
)
from fedbandits.systems.pfcb.messages import TABLE, Report
from fedbandits.systems.pfcb.plan import CLEAR, PFCBPlan
from fedbandits.systems.pfcb.release import ReleaseState, release_report

#: Deviations of noise beyond which a report cannot come from a buyer that follows the protocol.
_IMPOSSIBLE = 40.0


class ImplausibleReportError(RemoteProtocolError):
    """A report of what capacities do not allow, noise included."""


class BuyerSupply(NamedTuple):
    """What a buyer brings.

    Parameters
    ----------
    noise
        The noise of the z-th report, (2 m,), asked once each, again only if it raised. Simulated in
        a simulation; in a deployment it must be secure and what it gave saved.
    cost : (m,) float64
        What a unit costs this buyer, by producer; nobody else is told.
    capacities : (n, m) int64
        The most units that each buyer can buy from each producer in a round; public.
    """

    noise: NoiseSource
    cost: Floats
    capacities: Ints


class Buyer(ActingParty):
    """Buys, inspects, reports in rounds fixed in advance, and learns from others' reports.

    A decision is units to buy by producer, an outcome those found good.

    Parameters
    ----------
    index
        Which of the buyers this is.
    buyers
        Names of all buyers; reports are taken in this order.
    plan
        What all buyers go by.
    supply
        Its noise, its costs, and everybody's capacities.

    Raises
    ------
    LocalProtocolError
        If names, costs or capacities are not what they must be.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("ready", "decide"): ("buying",),
        ("buying", "observe"): ("ready", "ending"),
        ("ending", "end_round"): ("ready", "exchanging"),
        ("ready", "Report"): ("ready",),
        ("buying", "Report"): ("buying",),
        ("ending", "Report"): ("ending",),
        ("exchanging", "Report"): ("exchanging", "ready"),
    }

    def __init__(
        self, index: int, buyers: Sequence[str], plan: PFCBPlan, supply: BuyerSupply
    ) -> None:
        _check_names(index, buyers, plan)
        name = buyers[index]
        _check_numbers(name, supply, plan)
        super().__init__(name, "ready", [buyer for buyer in buyers if buyer != name])
        m = plan.constants.producers
        self.round = 0
        self.releases = 0
        self.books = one_book(empty_books(1, m), 0)
        self.judged = np.zeros(2, np.int64)
        self.released = ReleaseState.empty(plan)
        self._index, self._buyers, self._plan = index, tuple(buyers), plan
        self._noise, self._cost = supply.noise, supply.cost.astype(np.float64)
        self._capacities = supply.capacities.astype(np.int64)
        self._purchase = np.zeros(m, np.int64)
        # Reports of an exchange, by its number: a peer that has all of one may send the next.
        self._inbox: dict[int, dict[str, Floats]] = {}
        self._due: int | None = None
        self._await_exchange()

    @property
    def next_end(self) -> int | None:
        """The next round that ends with an exchange."""
        return self._due

    def _await_exchange(self) -> None:
        """Get ready for the next exchange, if there is one: know its round, and have its noise."""
        constants = self._plan.constants
        left = self.releases < constants.releases
        if left and constants.reports != CLEAR:
            draw_ahead(self._noise, 2 * constants.producers)
        self._due = int(next_exchange(constants, self.round)) if left else None

    def decide(self, situation: None) -> Ints:
        """What to buy in the next round, (m,) whole numbers.

        Raises
        ------
        LocalProtocolError
            If a purchase has not been inspected yet, or reports are being waited for.
        """
        self._require("decide")
        if self.releases in self._inbox:  # all had reported when this buyer did
            self._await_exchange()
            self._take_all()
        constants, scratch = self._plan.constants, new_scratch(self._cost.size)
        decide(
            constants, self.round + 1, self.books, next_noise(constants, self.releases), self._cost,
            self._capacities[self._index], scratch,
        )  # fmt: skip
        self._purchase = scratch.purchase
        self._move("decide", "buying")
        return self._purchase.copy()

    def observe(self, decision: Ints, outcome: Ints) -> list[Message]:
        """Learn how many units were good. Reports leave at the round's end.

        Parameters
        ----------
        decision : (m,) whole numbers
            The units that were really bought, which need not be those that :meth:`decide` said.
        outcome : (m,) whole numbers
            The good ones among them.

        Raises
        ------
        LocalProtocolError
            If no purchase was decided on, or the numbers are not one a producer. Nothing has
            changed then.
        BoundExceededError
            If 0 ≤ good units ≤ units ≤ capacity does not hold. Nothing has changed then.
        """
        self._require("observe")
        purchase, found = self._whole(decision), self._whole(outcome)
        fault = purchase_fault(purchase, found, self._capacities[self._index])
        require_within(int(fault), f"{self.name}, round {self.round + 1}")
        note_purchase(self._plan.constants.raw_view, purchase, found, self.books)
        self.round += 1
        self._move("observe", "ending" if self.round == self._due else "ready")
        return []

    def end_round(self, round_: int) -> list[Message]:
        """The round is over: report, and wait for the others.

        Raises
        ------
        LocalProtocolError
            If no exchange is due, another round was played, or the noise is not what it must be.
            Nothing has changed then, nor if the noise itself raises.
        """
        self._require_end(round_, self.round)
        books = Books(*(book.copy() for book in self.books))
        report = self._write(books)
        self.books = books
        return self._report(report)

    def _whole(self, units: Ints) -> Ints:
        """Numbers of units as they are counted with."""
        found = np.asarray(units)
        if found.shape != self._purchase.shape or not np.issubdtype(found.dtype, np.integer):
            raise LocalProtocolError(
                f"{self.name}: expected {self._purchase.size} whole numbers, one a producer"
            )
        return found.astype(np.int64)

    def _write(self, books: Books) -> Floats:
        """The report that is due, with its noise: settled before anything is booked or leaves."""
        capacity = self._capacities[self._index]
        self.released, report = release_report(
            self._plan, self.releases + 1, capacity, books, self.released, self._noise
        )
        return report

    def _report(self, report: Floats) -> list[Message]:
        """Send a report, then wait for the others."""
        self.releases += 1
        heard = self._inbox.setdefault(self.releases, {})
        heard[self.name] = report
        # Reports are judged by raw books: what has been heard waits until this one has left.
        self._move("end_round", "ready" if len(heard) == len(self._buyers) else "exchanging")
        sums = pack(report.reshape(-1))
        return [
            self._numbered(
                Report(
                    sender=self.name,
                    receiver=buyer,
                    release=self.releases,
                    round=self.round,
                    sums=sums,
                )
            )
            for buyer in self._buyers
            if buyer != self.name
        ]

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Report):
            raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for a buyer")
        self._check_turn(message)
        report = unpack(message.sums, 2 * self._cost.size).reshape(2, -1)
        self._check_plausible(message, report)
        heard = len(self._inbox.get(message.release, {})) + 1
        ends = self.state == "exchanging" and message.release == self.releases
        complete = ends and heard == len(self._buyers)
        if complete:
            self._await_exchange()  # nothing has changed if the noise raises
        self._inbox.setdefault(message.release, {})[message.sender] = report
        self._move("Report", "ready" if complete else self.state)
        if complete:
            self._take_all()
        return []

    def _check_turn(self, message: Report) -> None:
        """Reports of the exchange that is going on are taken, and of the one after it.

        The latter from those that have reported to this one: they may have heard all the others.
        """
        constants, name = self._plan.constants, message.sender
        going_on = self.releases if self.state == "exchanging" else self.releases + 1
        if name in self._inbox.get(message.release, {}):
            raise DuplicateError(f"{self.name}: {name} reported {message.release} already")
        reported = name in self._inbox.get(going_on, {})
        release = going_on + (1 if reported and going_on == self.releases else 0)
        over = self.round - 1 if self.state == "ending" else self.round
        round_ = self.round if release == self.releases else int(next_exchange(constants, over))
        if release > constants.releases or (message.release, message.round) != (release, round_):
            raise OutOfOrderError(
                f"{self.name}: report {message.release} of round {message.round} from {name}, "
                f"expected {release} of round {round_}"
            )

    def _check_plausible(self, message: Report, report: Floats) -> None:
        """A report in clear is of whole units; a noisy one is about a batch of known length."""
        constants = self._plan.constants
        capacity = self._capacities[self._buyers.index(message.sender)]
        noise = float(noise_deviation(constants, message.release))
        slack = _IMPOSSIBLE * noise * math.sqrt(float(constants.covariance.max()))
        most = capacity * (self._plan.batch_length(message.release, message.round) + slack)
        possible = (report <= most).all() and (report >= -capacity * slack).all()
        if constants.reports == CLEAR:
            possible = possible and (report[1] <= report[0]).all() and (report % 1 == 0).all()
        if not possible:
            raise ImplausibleReportError(
                f"{self.name}: {message.sender} reports what capacities and noise do not allow"
            )

    def _take_all(self) -> None:
        """Take what all buyers reported, in their order."""
        constants, heard = self._plan.constants, self._inbox.pop(self.releases)
        begin_exchange(constants, self.books)
        for index, buyer in enumerate(self._buyers):
            mine = index == self._index
            if not (mine and constants.raw_view):
                take_report(
                    constants, self.releases, self.round, self._capacities[index], heard[buyer],
                    mine, self.books, self.judged,
                )  # fmt: skip


def _check_names(index: int, buyers: Sequence[str], plan: PFCBPlan) -> None:
    n = plan.constants.agents
    if not 0 <= index < n or len(set(buyers)) != len(buyers) or len(buyers) != n:
        raise LocalProtocolError(
            f"buyer {index}: buyers are {n} different names, one of them its own"
        )


def _check_numbers(name: str, supply: BuyerSupply, plan: PFCBPlan) -> None:
    cost, capacities = supply.cost, supply.capacities
    n, m = plan.constants.agents, plan.constants.producers
    if cost.shape != (m,) or capacities.shape != (n, m):
        raise LocalProtocolError(f"{name}: costs are ({m},), capacities ({n}, {m}) numbers")
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise LocalProtocolError(f"{name}: costs are numbers ≥ 0")
    whole = np.isfinite(capacities).all() and (np.mod(capacities, 1) == 0).all()
    if not (whole and (capacities >= 0).all()):
        raise LocalProtocolError(f"{name}: capacities are whole numbers ≥ 0")


def roles(plan: PFCBPlan) -> Roles:
    """Buyers that report to one another."""
    buyers = tuple(f"buyer-{j}" for j in range(plan.constants.agents))
    return Roles((Role("buyer", buyers, lambda j, own: Buyer(j, buyers, plan, own), True),), TABLE)
