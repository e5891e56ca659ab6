"""Two whole buyers, with one purchase of one of them replaced."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import Procurement
from fedbandits.federation.events import Decision
from fedbandits.federation.messages import Message
from fedbandits.privacy.auditing import Game
from fedbandits.random import Purpose, integer
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import Look, Neighbours, audit_key, drawn_targets
from fedbandits.systems.party_games import (
    PARTY_RUNS,
    SECURE_RUNS,
    MessagesGame,
    Released,
    play_parties,
)
from fedbandits.systems.pfcb.audit.contents import UNITS
from fedbandits.systems.pfcb.audit.stated import attacker, covariance_over_time, draw_covariance
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.kernels.constants import RUNNING
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles import Buyer

ROUNDS = 48
BUYERS, PRODUCERS = 2, 2
#: The world that whole buyers are audited in.
WORLD = Procurement(
    agents=BUYERS, producers=PRODUCERS, max_capacity=UNITS, quality_threshold=0.1, instance=1
)


def small_plan(system: System[PFCBPlan], config: PFCB) -> PFCBPlan:
    """The variant as two buyers play it."""
    small = msgspec.structs.replace(config, window="auto")
    return system.plan(small, WORLD.facts, ROUNDS)


def messages_games(system: System[PFCBPlan], plan: PFCBPlan) -> list[Game]:
    """Two buyers on a log and reacting; with secure noise; and, of running sums, a later purchase.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        What they go by, see :func:`small_plan`.
    """
    exchanges = exchange_rounds_of(plan)
    # In the first running sum, and so in all; a batch is as good as any other.
    early = exchanges[0] if plan.continual is not None else exchanges[-1]
    kinds: tuple[Neighbours, ...] = ("fixed log", "interactive")
    found: list[Game] = [messages_game(system, kind, plan, (1, early)) for kind in kinds]
    if plan.continual is not None and len(exchanges) > 1:
        late = exchanges[0] + 1, exchanges[-1]
        found.append(messages_game(system, "fixed log", plan, late))
    found.append(messages_game(system, "fixed log", plan, (1, exchanges[-1]), secure=True))
    return found


def exchange_rounds_of(plan: PFCBPlan) -> list[int]:
    """The rounds at whose end reports are due."""
    return [plan.exchange_round(z) for z in range(1, plan.constants.releases + 1)]


def messages_game(
    system: System[PFCBPlan], neighbours: Neighbours, plan: PFCBPlan, rounds: tuple[int, int],
    secure: bool = False,
) -> MessagesGame:  # fmt: skip
    """Two whole buyers, of whom one's purchase from one producer in one round is replaced.

    Parameters
    ----------
    system
        The system whose parties play.
    neighbours
        Whether what all buyers buy is a fixed log.
    plan
        What they go by, see :func:`small_plan`.
    rounds
        The first and the last round that the replaced purchase may be drawn from.
    secure
        Whether they have the noise of a deployment.
    """
    fixed, (first, last) = neighbours == "fixed log", rounds
    # Whoever acts on reports alone buys what follows from them and from what is public.
    informed = fixed or plan.config.local_view == "released"

    def begin(run: int) -> BuyersRun:
        drawn = drawn_targets(run, 1, BUYERS, PRODUCERS, last - first + 1)
        buyer, producer, after = (int(one[0]) for one in drawn)
        parties = play_parties(system, plan, WORLD, run, secure)
        target = buyer, producer, first + after
        return BuyersRun(parties, run, fixed, informed, target)

    which = f", a purchase of rounds {first} to {last}" + (", with secure noise" if secure else "")
    return MessagesGame(
        neighbours, f"messages of one drawn of 2 buyers in {plan.rounds} rounds{which}",
        plan.rounds, begin, gaussian=informed, runs=SECURE_RUNS if secure else PARTY_RUNS,
        covariance=None if secure else covariance_over_time(plan),
    )  # fmt: skip


class BuyersRun:
    """Two buyers; in one round one of them finds no good unit, or none but good ones.

    On a fixed log, where amounts are covered too, it buys nothing there in the first world.

    Parameters
    ----------
    parties
        The buyers and their network.
    run
        The run's number, which names the draws.
    fixed
        Everybody buys all there is in every round, whatever was decided.
    informed
        Look at reports as someone who knows all other purchases.
    target
        The buyer, the producer and the round of the replaced purchase.
    """

    def __init__(
        self, parties: PartiesReplicate, run: int, fixed: bool, informed: bool,
        target: tuple[int, int, int],
    ) -> None:  # fmt: skip
        plan: Any = parties.plan
        self.run, self.network = parties, parties.network
        self._buyers: list[Buyer] = parties.players
        self._capacity: Ints = parties.stage.world.capacity
        self._fixed, self._key = fixed, audit_key(0) if fixed else audit_key(run)
        self._informed, self._plan = informed, plan
        self._buyer, self._producer, self._round = target
        self.audited: str = self._buyers[self._buyer].name
        self._amounts = fixed and plan.config.local_view == "raw"
        #: Of the audited buyer and producer: all other units so far, and at the last report.
        self._units, self._before = np.zeros(2), np.zeros(2)
        self._fresh = False  # whether the replaced purchase came since the last report
        self._seen: list[Floats] = []
        self._entered: list[bool] = []

    def play_round(self, world: int, round_: int) -> None:
        """Both buyers buy and find out what was good."""
        for index, buyer in enumerate(self._buyers):
            decision, capacity = buyer.decide(None), self._capacity[index]
            replaced = index == self._buyer and round_ == self._round
            whole = self._fixed or round_ == 1 or replaced
            bought = (capacity if whole else decision.action).copy()
            good = np.array([self._good(index, round_, i, int(n)) for i, n in enumerate(bought)])
            at = self._producer
            if replaced:
                bought[at] = capacity[at] * (world if self._amounts else 1)
                good[at] = bought[at] * world
                self._fresh = True
            elif index == self._buyer:
                self._units += bought[at], good[at]
            self.network.send(buyer.observe(Decision(decision.number, bought), good))
        self.run.end_round(round_, self._hear)

    def _good(self, buyer: int, round_: int, producer: int, units: int) -> int:
        name = (self._key, buyer, round_, int(Purpose.REWARD), producer)
        return int(integer(units + 1, *name))

    def _hear(self, buyer: Any, messages: list[Message]) -> None:
        """Note a report in capacities, less what all other purchases add to it."""
        if buyer is not self._buyers[self._buyer] or not messages:
            return
        reported = np.frombuffer(messages[0].sums).reshape(2, -1)[:, self._producer]  # type: ignore[attr-defined]
        running = self._plan.constants.reports == RUNNING
        others = self._units if running else self._units - self._before
        capacity = float(self._capacity[self._buyer, self._producer])
        self._seen.append((reported - others) / capacity)
        self._entered.append(self._fresh)
        self._fresh, self._before = self._fresh and running, self._units.copy()

    def released(self, message: Any) -> Released:
        """A report, in capacities, and in deviations of the noise that its two rows share."""
        reported = np.frombuffer(message.sums).reshape(2, -1) / self._capacity[self._buyer]
        drawn = np.linalg.cholesky(draw_covariance(self._plan, message.release))
        return Released(message.release, np.linalg.solve(drawn, reported).reshape(-1))

    def look(self) -> Look | None:
        """The likelihood ratio and numbers without noise, if others' purchases are known."""
        if not self._informed:
            return None
        values, entered = np.array(self._seen)[None], np.array([self._entered], np.float64)
        sees = attacker(self._plan, self._amounts, np.arange(1, len(self._seen) + 1))
        scores = sees.scores(values, entered, np.ones(1))
        return Look(values.reshape(1, -1), scores, sees.bare(values, entered))
