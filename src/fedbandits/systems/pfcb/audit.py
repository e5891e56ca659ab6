"""P-FCB in two neighbouring worlds, for an audit.

The record is one purchase from one producer: ten units that are all good in one world; in the other
nothing was bought, or, where only outcomes are covered, none of the ten is good.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import Procurement
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import decoder, telling_releases
from fedbandits.random import Key, Purpose, integer
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import ContentsGame, MessagesGame, Neighbours, audit_key
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.kernels.books import Books, empty_books, one_book
from fedbandits.systems.pfcb.kernels.reports import next_exchange, write_report
from fedbandits.systems.pfcb.loop import draw_noise
from fedbandits.systems.pfcb.plan import CLEAR, Constants, PFCBPlan
from fedbandits.systems.pfcb.roles import Buyer

_UNITS = 10
_ROUNDS = 48
_WORLD = Procurement(agents=2, producers=2, max_capacity=_UNITS, quality_threshold=0.1, instance=1)


def games(system: System[PFCBPlan], plan: PFCBPlan) -> Sequence[Game]:
    """What an audit plays: reports as configured, then two buyers on a log, and reacting.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        Plan of the configured variant.
    """
    if plan.constants.reports == CLEAR or plan.constants.releases == 0:
        return []
    small = small_plan(system, plan.config)
    kinds: tuple[Neighbours, ...] = ("fixed log", "interactive")
    found: list[Game] = [_contents_game(plan, 1)]
    found += [messages_game(system, kind, small, 1) for kind in kinds]
    late = int(next_exchange(small.constants, 0)) + 1
    # The first record is in all running sums: only another shows what two have in common.
    if plan.continual is not None and plan.constants.releases > 1 and late <= _ROUNDS:
        found += [_contents_game(plan, 2), messages_game(system, "fixed log", small, late)]
    return found


def small_plan(system: System[PFCBPlan], config: PFCB) -> PFCBPlan:
    """The variant as two buyers play it."""
    small = msgspec.structs.replace(config, window="auto")
    return system.plan(small, _WORLD.facts, _ROUNDS)


class _Log(NamedTuple):
    """What is reported, as far as it is about one producer."""

    steps: Ints  # numbers of the reports
    fresh: Floats  # (reports, 2, 1): what came since the last one
    own: Floats  # (reports, 2, 1): all of it so far


def _contents_game(plan: PFCBPlan, batch: int) -> ContentsGame:
    """Reports about one producer: of running sums all, of batches the record's and the next.

    ``batch`` is that of the record, in running sums.
    """
    constants = plan.constants._replace(producers=1)
    if plan.continual is not None:
        steps = telling_releases(plan.continual)
        mixing = decoder(plan.continual, steps)
        over_time = np.linalg.solve(mixing @ mixing.T, (steps >= batch).astype(np.float64))
        scale = plan.continual.scale
    else:
        least = min((1, constants.releases), key=plan.deviation)
        steps = np.array([least, *([least + 1] if least < constants.releases else [])], np.int64)
        over_time = np.eye(len(steps))[0]
        scale = plan.deviation(least)
    # Nothing, or all of it bought and good; where amounts are not covered, none good or all.
    bought = 1 if plan.config.local_view == "raw" else 0
    change = np.array([bought * _UNITS, _UNITS], np.float64)
    deviation = scale * _UNITS
    weights = np.outer(over_time, np.linalg.solve(constants.covariance * deviation**2, change))
    logs = []
    for world in (0, 1):
        own = np.array([[_UNITS], [_UNITS]]) - (1 - world) * change[:, None]
        fresh = np.zeros((len(steps), 2, 1))
        fresh[0] = own
        logs.append(_Log(steps, fresh, np.where(steps[:, None, None] >= batch, own, 0.0)))
    which = "" if batch == 1 else f", a purchase of batch {batch}"
    looks_at = f"contents of {len(steps)} of {constants.releases} reports, one producer{which}"
    return ContentsGame(looks_at, partial(_reported, constants, plan, logs), weights)


def _reported(
    constants: Constants, plan: PFCBPlan, logs: list[_Log], world: int, first: int, count: int
) -> Floats:
    log, books = logs[world], one_book(empty_books(1, 1), 0)
    values = np.zeros((count, len(log.steps), 2))
    capacity, draws = np.array([_UNITS], np.int64), np.zeros((plan.slots, 2))
    play_reports(constants, log, capacity, books, draws, audit_key(0), first, values)
    return values


@compiled
def play_reports(
    constants: Constants, log: _Log, capacity: Ints, books: Books, draws: Floats, key: Key,
    first: int, values: Floats,
) -> None:  # fmt: skip
    """Run after run the reports of a log, into ``values`` (runs, reports, 2)."""
    report = np.zeros((2, 1))
    for run in range(values.shape[0]):
        for place in range(log.steps.size):
            release = log.steps[place]
            draw_noise(constants, key, first + run, release, draws)
            books.own[:], books.fresh[:] = log.own[place], log.fresh[place]
            write_report(constants, release, capacity, draws, books, report)
            values[run, place, 0] = report[0, 0]
            values[run, place, 1] = report[1, 0]


def messages_game(
    system: System[PFCBPlan], neighbours: Neighbours, plan: PFCBPlan, round_: int
) -> MessagesGame:
    """Two whole buyers, of whom the first one's purchase of a round is replaced.

    Parameters
    ----------
    system
        The system whose parties play.
    neighbours
        Whether what all buyers buy is a fixed log.
    plan
        What they go by, see :func:`small_plan`.
    round_
        The round of the replaced purchase.
    """
    fixed = neighbours == "fixed log"
    which = "" if round_ == 1 else f", a purchase of round {round_}"
    return MessagesGame(
        neighbours, f"messages of 2 buyers in {plan.rounds} rounds{which}", "buyer-0", plan.rounds,
        lambda run: BuyersRun(PartiesReplicate(system, plan, _WORLD, 0, run), run, fixed, round_),
    )  # fmt: skip


class BuyersRun:
    """Two buyers; in one round the first one finds no good unit, or none but good ones.

    On a fixed log, where amounts are covered too, it buys nothing there in the first world.

    Parameters
    ----------
    parties
        The buyers and their network.
    run
        The run's number, which names the draws.
    fixed
        Everybody buys all there is in every round, whatever was decided.
    record_round
        The round of the replaced purchase.
    """

    def __init__(self, parties: PartiesReplicate, run: int, fixed: bool, record_round: int) -> None:
        self.run, self.network = parties, parties.network
        self._buyers: list[Buyer] = parties.players
        self._capacity: Ints = parties.stage.world.capacity
        self._fixed, self._key = fixed, audit_key(0) if fixed else audit_key(run)
        self._round = record_round
        self._amounts = fixed and parties.plan.config.local_view == "raw"

    def play_round(self, world: int, round_: int) -> None:
        """Both buyers buy and find out what was good."""
        for index, buyer in enumerate(self._buyers):
            decided, capacity = buyer.decide(None), self._capacity[index]
            replaced = index == 0 and round_ == self._round
            bought = (capacity if self._fixed or round_ == 1 or replaced else decided).copy()
            good = np.array([self._good(index, round_, i, int(n)) for i, n in enumerate(bought)])
            if replaced:
                bought[0] *= world if self._amounts else 1
                good[0] = bought[0] * world
            self.network.send(buyer.observe(bought, good))
        self.run.end_round(round_)

    def _good(self, buyer: int, round_: int, producer: int, units: int) -> int:
        name = (self._key, buyer, round_, int(Purpose.REWARD), producer)
        return int(integer(units + 1, *name))

    def scores(self) -> Floats:
        """None: what others bought is not known here."""
        return np.zeros(0)
