"""Two whole buyers on a log, where in one world an outcome comes after its report has left."""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.events import Decision
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import Look, drawn_targets
from fedbandits.systems.party_games import PARTY_RUNS, MessagesGame, play_parties
from fedbandits.systems.pfcb.audit.moved import corners, moved
from fedbandits.systems.pfcb.audit.parties import (
    BUYERS,
    PRODUCERS,
    WORLD,
    BuyersRun,
    exchange_rounds_of,
)
from fedbandits.systems.pfcb.plan import PFCBPlan


def late_game(system: System[PFCBPlan], plan: PFCBPlan) -> MessagesGame:
    """Two whole buyers, of whom one's purchase from one producer is inspected in time, or late.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        What they go by, with two exchanges at least; see :func:`.small_plan`.
    """
    last = exchange_rounds_of(plan)[-2]

    def begin(run: int) -> LateRun:
        drawn = drawn_targets(run, 1, BUYERS, PRODUCERS, last)
        buyer, producer, after = (int(one[0]) for one in drawn)
        parties = play_parties(system, plan, WORLD, run, secure=False)
        return LateRun(parties, run, (buyer, producer, 1 + after))

    return MessagesGame(
        "fixed log",
        f"messages of one drawn of 2 buyers in {plan.rounds} rounds, a purchase of rounds 1 to "
        f"{last} whose outcome comes before its report or after it",
        plan.rounds, begin, gaussian=True, runs=PARTY_RUNS,
    )  # fmt: skip


class LateRun(BuyersRun):
    """Two buyers who buy all there is; one order of one of them is known at once, or late.

    That order is of one producer alone: the outcomes of an order are told together.

    Parameters
    ----------
    parties, run, target
        See :class:`.parties.BuyersRun`.
    """

    def __init__(self, parties: PartiesReplicate, run: int, target: tuple[int, int, int]) -> None:
        super().__init__(parties, run, fixed=True, informed=True, target=target)
        self._ends = exchange_rounds_of(self._plan)
        #: The exchange whose report has the order where it is known at once.
        self._batch = int(np.searchsorted(self._ends, self._round)) + 1
        self._held: tuple[Decision, Ints] | None = None

    def play_round(self, world: int, round_: int) -> None:
        """Both buyers buy and find out what was good, of one order perhaps later."""
        for index, buyer in enumerate(self._buyers):
            number, bought = buyer.decide(None).number, self._capacity[index].copy()
            good = np.array([self._good(index, round_, i, int(n)) for i, n in enumerate(bought)])
            if (index, round_) == (self._buyer, self._round):
                bought, good = self._replaced(world, bought)
                if world:
                    self._held = Decision(number, bought), good
                    continue
            elif index == self._buyer:
                self._units += bought[self._producer], good[self._producer]
            self.network.send(buyer.observe(Decision(number, bought), good))
        self.run.end_round(round_, self._hear)
        if self._held and round_ == self._ends[self._batch - 1]:
            self.network.send(self._buyers[self._buyer].observe(*self._held))
            self._held = None

    def _replaced(self, world: int, capacity: Ints) -> tuple[Ints, Ints]:
        """Units bought and good of the order that is known at once or late."""
        order: Floats = np.zeros((2, len(capacity)))
        order[:, self._producer] = corners(self._plan)[world] * capacity[self._producer]
        bought, good = order.astype(np.int64)
        return bought, good

    def look(self) -> Look:
        """The likelihood ratio and numbers without noise."""
        values = np.array(self._seen)[None]
        steps = np.arange(1, values.shape[1] + 1)
        sees = moved(self._plan, steps, (self._batch, self._batch + 1))
        return Look(values.reshape(1, -1), sees.scores(values), sees.bare(values))
