"""P-FCB in two neighbouring worlds, for an audit.

The record is one purchase from one producer: all units that can be bought, all of them good, in one
world; in the other nothing was bought, or, where only outcomes are covered, none of them is good.
Where outcomes may come late, it also moves from one batch to another.

:mod:`.releases` attacks reports as configured and looks at their noise; whole buyers are attacked
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import Procurement
from fedbandits.errors import BoundExceededError
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import Message
from fedbandits.federation.totals.messages import Increment
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import Attacker
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.random import Purpose, integer
from fedbandits.systems.aggregation import SecureSum, of_few
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import BEYOND, Look, Neighbours, audit_key
from fedbandits.systems.party_games import (
    AuditedRun,
    MessagesGame,
    Released,
    SmallWorld,
    Targets,
    moves,
    sent_share,
)
from fedbandits.systems.pfcb.audit.releases import (
    UNITS,
    attacker,
    contents_games,
    corners,
    covariance_over_time,
    draw_covariance,
    moved,
    moved_game,
    secure_numbers,
    share_numbers,
    simulated_numbers,
)
from fedbandits.systems.pfcb.config import PFCB, Growing
from fedbandits.systems.pfcb.kernels import CLEAR, RUNNING
from fedbandits.systems.pfcb.kernels.sums import share_pattern
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.sums_audit import sums_checks
from fedbandits.systems.sums_audit.run import MEMBERS, SUMS, SumsAudited


def games(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[Game]:
    """Return the games of an audit: reports as configured, then whole buyers on a log, reacting."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    moves = plan.late and plan.constants.releases > 1
    small = small_world(system, plan.config, plan.facts.parties)
    return [
        *contents_games(plan),
        *([moved_game(plan)] if moves else []),
        *messages_games(small),
        *([late_game(small)] if moves and small.plan.constants.releases > 1 else []),
        *moves_games(making_all(system, plan)),
    ]


def noise_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[NoisyNumbers]:
    """Return all reports of buyers as configured, and of a few buyers with secure noise."""
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    small = making_all(system, plan)
    if plan.secure is not None:
        return [share_numbers(small, secure) for secure in (True, False)]
    return [simulated_numbers(plan), secure_numbers(small)]


def protocol_checks(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[ProtocolCheck]:
    """Return checks of secure sums beside their noise; none where reports are seen."""
    if plan.secure is None or plan.constants.releases == 0:
        return []
    small = _releasing(system, plan, SUMS, MEMBERS)
    covariance = covariance_over_time(small.plan)
    return sums_checks(SumsAudited(system, plan, small, "buyer", covariance))


ROUNDS = 48
#: Releases that whole buyers make where they make all.
_MOST_RELEASES = 24
#: Buyers of whole runs: in secure sums one may tell the others its noise, and three share noise.
BUYERS, PRODUCERS = 4, 2
#: The world that whole buyers are audited in.
WORLD = Procurement(
    agents=BUYERS, producers=PRODUCERS, max_capacity=UNITS, quality_threshold=0.1, instance=1
)


def small_world(system: System[PFCBPlan], config: PFCB, parties: int = BUYERS) -> SmallWorld:
    """Return the variant of so many ``parties`` as four buyers play it."""
    return _played(system, msgspec.structs.replace(config, window="auto"), ROUNDS, parties)


def making_all(system: System[PFCBPlan], plan: PFCBPlan) -> SmallWorld:
    """Return four buyers that make all releases of a plan, if not too many, one a round."""
    return _releasing(system, plan, min(plan.constants.releases, _MOST_RELEASES))


def _releasing(
    system: System[PFCBPlan], plan: PFCBPlan, releases: int, buyers: int = BUYERS
) -> SmallWorld:
    """Return a few buyers that make so many releases, one a round."""
    small = plan.config
    if not plan.constants.every_round:
        small = msgspec.structs.replace(small, schedule=Growing(1.01), window=(1, releases))
    return _played(system, small, releases + 1, plan.facts.parties, buyers)


def _played(
    system: System[PFCBPlan], config: PFCB, rounds: int, parties: int, buyers: int = BUYERS
) -> SmallWorld:
    """Return the variant of so many ``parties`` as a few ``buyers`` play it."""
    small, world = config, msgspec.structs.replace(WORLD, agents=buyers)
    if isinstance(config.aggregation, SecureSum):
        few = of_few(config.aggregation, parties, buyers)
        small = msgspec.structs.replace(small, aggregation=few)
        # With equal capacities a purchase moves sums the farthest.
        world = msgspec.structs.replace(world, homogeneous=True)
    return SmallWorld(system, system.plan(small, world.facts, rounds), world)


def messages_games(small: SmallWorld) -> list[Game]:
    """Attack whole buyers on a log and reacting; a later purchase of sums; with secure noise."""
    plan, ends = small.plan, exchange_rounds_of(small.plan)
    # In the first running sum, and so in all; a batch is as good as any other.
    early = 1, ends[0] if plan.continual is not None else ends[-1]
    found: list[Game] = [
        messages_game(small, "fixed log", early),
        messages_game(small, "interactive", early),
    ]
    if plan.continual is not None and len(ends) > 1:
        found.append(messages_game(small, "fixed log", (ends[0] + 1, ends[-1])))
    found.append(messages_game(small, "fixed log", (1, ends[-1]), secure=True))
    return found


def moves_games(small: SmallWorld) -> list[Game]:
    """Measure how far a purchase moves all releases, within its bounds and beyond."""
    rounds, words = (1, small.plan.rounds), f", {small.plan.constants.releases} releases"
    within = messages_game(small, "fixed log", rounds)
    beyond = messages_game(small, "fixed log", rounds, times=int(BEYOND))
    stretched = f"{beyond.looks_at}{words}, a purchase beyond its capacity"
    return moves(
        within._replace(looks_at=f"{within.looks_at}{words}"), beyond._replace(looks_at=stretched)
    )


def messages_game(
    small: SmallWorld, neighbours: Neighbours, rounds: tuple[int, int], secure: bool = False,
    times: int = 1,
) -> MessagesGame:  # fmt: skip
    """Attack whole buyers, with a purchase of a buyer from a producer replaced.

    Its round is drawn from ``rounds``, the first and the last. ``secure``: with the noise of a
    deployment. The purchase may be so many ``times`` as large as the capacity.
    """
    plan, (first, last), fixed = small.plan, rounds, neighbours == "fixed log"
    # Purchases of a buyer that acts on reports alone follow from reports and public facts.
    informed = fixed or plan.config.local_view == "released"

    def make(run: PartiesReplicate, number: int, targets: Targets) -> BuyersRun:
        orders = [Order(buyer, producer, first + after) for buyer, producer, after in targets]
        return BuyersRun(run, number, fixed, informed, orders, times)

    which = f", a purchase of rounds {first} to {last}" + (", with secure noise" if secure else "")
    what = "messages" if plan.secure is None else "sums by messages"
    buyers = plan.constants.agents
    looks_at = f"{what} of one drawn of {buyers} buyers in {plan.rounds} rounds{which}"
    return MessagesGame(
        neighbours, looks_at, small, (buyers, PRODUCERS, last - first + 1), make, informed, secure,
        covariance_over_time(plan),
    )  # fmt: skip


def late_game(small: SmallWorld) -> MessagesGame:
    """Attack whole buyers, with a purchase of a buyer inspected in time, or late.

    They must have two exchanges at least.
    """
    plan, last = small.plan, exchange_rounds_of(small.plan)[-2]

    def make(run: PartiesReplicate, number: int, targets: Targets) -> LateRun:
        ((buyer, producer, after),) = targets
        return LateRun(run, number, Order(buyer, producer, 1 + after))

    buyers = plan.constants.agents
    looks_at = (
        f"messages of one drawn of {buyers} buyers in {plan.rounds} rounds, a purchase of rounds 1 "
        f"to {last} whose outcome comes before its report or after it"
    )
    bounds = buyers, PRODUCERS, last
    return MessagesGame("fixed log", looks_at, small, bounds, make, gaussian=True)


# ---------------------------------------------------------------- runs of whole buyers


def exchange_rounds_of(plan: PFCBPlan) -> list[int]:
    """Return the rounds at whose end reports are due."""
    return [plan.exchange_round(z) for z in range(1, plan.constants.releases + 1)]


class Order(NamedTuple):
    """A replaced purchase: its buyer, its producer, its round."""

    buyer: int
    producer: int
    round_: int


class BuyersRun(AuditedRun):
    """Whole buyers; in one round some buyers find no good unit, or good units alone.

    On a fixed log, where amounts are covered too, such a buyer buys nothing in the first world.

    ``orders`` are the replaced purchases, at most one of a buyer. On a ``fixed`` log all buyers buy
    their capacity in every round, whatever they decided. An ``informed`` attacker of the first
    buyer knows all other purchases. ``number`` names the draws. A replaced purchase is of ``times``
    the capacity: a buyer learns nothing from a purchase that the buyer refuses.
    """

    def __init__(
        self, run: PartiesReplicate, number: int, fixed: bool, informed: bool,
        orders: Sequence[Order], times: int = 1,
    ) -> None:  # fmt: skip
        self._orders = {order.buyer: order for order in orders}
        self._buyer, self._producer, self._round = orders[0]
        knows = self._knows_others if informed else None
        super().__init__(run, [order.buyer for order in orders], knows)
        plan: Any = run.plan
        self._plan: PFCBPlan = plan
        self._buyers: list[Any] = run.players
        self._capacity: Ints = run.stage.world.capacity
        self._fixed, self._key = fixed, audit_key(0) if fixed else audit_key(number)
        self._times, self._amounts = times, fixed and plan.config.local_view == "raw"
        #: Of the audited buyer and producer: all other units so far, and at the last report.
        self._units, self._before = np.zeros(2), np.zeros(2)
        self._fresh = False  # whether the replaced purchase came since the last report

    def _knows_others(self, steps: Ints) -> Attacker:
        return attacker(self._plan, self._amounts, steps)

    def play_round(self, world: int, round_: int) -> None:
        """Let all buyers buy and learn the outcomes."""
        for index, buyer in enumerate(self._buyers):
            decision, capacity = buyer.decide(None), self._capacity[index]
            order = self._orders.get(index)
            replaced = order is not None and round_ == order.round_
            whole = self._fixed or round_ == 1 or replaced
            bought = (capacity if whole else decision.action).copy()
            good = self._good(index, round_, bought)
            if order is not None and replaced:
                at = order.producer
                bought[at] = self._times * capacity[at] * (world if self._amounts else 1)
                good[at] = bought[at] * world
                self._fresh |= index == self._buyer
            elif index == self._buyer:
                self._units += bought[self._producer], good[self._producer]
            with suppress(BoundExceededError):
                self.network.send(buyer.observe(Decision(decision.number, bought), good))
        self._end_round(round_)

    def _end_round(self, round_: int) -> None:
        self.run.end_round(round_, self._hear)
        self._hear_total()

    def _good(self, buyer: int, round_: int, bought: Ints) -> Ints:
        """Draw how many of the units bought from each producer are good."""
        name = self._key, buyer, round_, int(Purpose.REWARD)
        return np.array([int(integer(int(n) + 1, *name, i)) for i, n in enumerate(bought)])

    def _hear(self, buyer: Any, messages: list[Message]) -> None:
        """Note a report in capacities, less the sum of all other purchases."""
        if buyer is not self.target or not messages or self._plan.secure is not None:
            return
        reported = np.frombuffer(messages[0].sums).reshape(2, -1)[:, self._producer]  # type: ignore[attr-defined]
        running = self._plan.constants.reports == RUNNING
        others = self._units if running else self._units - self._before
        capacity = float(self._capacity[self._buyer, self._producer])
        self.note((reported - others) / capacity, self._fresh)
        self._fresh, self._before = self._fresh and running, self._units.copy()

    def _hear_total(self) -> None:
        """Note a new secure sum in capacities, less the known part of other purchases."""
        total = None if self._plan.secure is None else self.new_total()
        if total is None:
            return
        values = total - self.known_in_total(_exact)
        bought, better = values.reshape(2, -1)[:, self._producer]
        capacity = float(self._capacity[self._buyer, self._producer])
        reported = np.array([bought, 0.5 * (bought + better)])
        self.note((reported - self._units) / capacity, self._fresh)

    def released(self, message: Any) -> Released | None:
        """Return a report, in capacities, and in deviations of the common noise of its rows.

        Or the share of a secure sum, in deviations of a draw of all noise in the sum: a share moves
        as far as the sum.
        """
        buyer = self.places[message.sender]
        if self._plan.secure is not None:
            if not isinstance(message, Increment):
                return None
            constants = self._plan.constants
            share = constants.step * sent_share(self._buyers[buyer].state.sending, message)
            noise = constants.scale * share_pattern(self._capacity[0].astype(np.float64))
            return Released(message.release, share / noise)
        sums = np.frombuffer(message.sums).reshape(2, -1)
        reported: Floats = sums / self._capacity[buyer]
        drawn = np.linalg.cholesky(draw_covariance(self._plan, message.release))
        return Released(message.release, np.linalg.solve(drawn, reported).reshape(-1))


def _exact(buyer: Any) -> Floats:
    """Return the sum of the purchases in the newest share of a buyer that is in a total."""
    exact: Floats = buyer.state.under_way[buyer.state.sending.base]
    return exact


class LateRun(BuyersRun):
    """Buyers that buy their capacity; the outcome of one order is known at once, or late.

    The order is of one producer alone: the outcomes of an order come together. For parameters see
    :class:`BuyersRun`.
    """

    def __init__(self, run: PartiesReplicate, number: int, order: Order) -> None:
        super().__init__(run, number, fixed=True, informed=True, orders=[order])
        self._ends = exchange_rounds_of(self._plan)
        #: The exchange whose report has the order, if the outcome is known at once.
        self._batch = int(np.searchsorted(self._ends, self._round)) + 1
        self._held: tuple[Decision, Ints] | None = None

    def play_round(self, world: int, round_: int) -> None:
        """Let all buyers buy and learn the outcomes, of one order perhaps later."""
        for index, buyer in enumerate(self._buyers):
            number, bought = buyer.decide(None).number, self._capacity[index].copy()
            good = self._good(index, round_, bought)
            if (index, round_) == (self._buyer, self._round):
                bought, good = self._replaced(world, bought)
                if world:
                    self._held = Decision(number, bought), good
                    continue
            elif index == self._buyer:
                self._units += bought[self._producer], good[self._producer]
            self.network.send(buyer.observe(Decision(number, bought), good))
        self._end_round(round_)
        if self._held and round_ == self._ends[self._batch - 1]:
            self.network.send(self._buyers[self._buyer].observe(*self._held))
            self._held = None

    def _replaced(self, world: int, capacity: Ints) -> tuple[Ints, Ints]:
        """Return units bought and good of the order, known at once or late."""
        order: Floats = np.zeros((2, len(capacity)))
        order[:, self._producer] = corners(self._plan)[world] * capacity[self._producer]
        bought, good = order.astype(np.int64)
        return bought, good

    def look(self) -> Look:
        """Return the likelihood ratio and numbers without noise."""
        values = self.noted[None]
        steps = np.arange(1, values.shape[1] + 1)
        return moved(self._plan, steps, (self._batch, self._batch + 1)).look(values)
