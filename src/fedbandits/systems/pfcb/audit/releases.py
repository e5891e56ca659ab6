"""Reports as configured, for an audit: what they tell of a purchase, and their noise.

One purchase is replaced, or moves: of a buyer and a producer that are drawn.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import telling_releases
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    ReplacedRecord,
    audit_key,
    drawn_targets,
    look_of,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases
from fedbandits.systems.party_games import SmallWorld
from fedbandits.systems.pfcb.audit.stated import (
    attacker,
    corners,
    farthest_batches,
    moved,
    planned_deviations,
    record_pair,
)
from fedbandits.systems.pfcb.kernels.rounds import draw_reports, play_reports
from fedbandits.systems.pfcb.kernels.state import RUNNING, empty_books, one_book
from fedbandits.systems.pfcb.plan import PFCBPlan

#: The most units that anybody buys.
UNITS = 10
#: Units that a report stands for in a check of noise: they are taken off again.
_BOUGHT = 3.0
#: Keys of draws that nothing else here has.
_CHECKED = 2**21


# ---------------------------------------------------------------- contents


class _Attacked(NamedTuple):
    """The reports that are attacked, and the purchase that is replaced in them."""

    plan: PFCBPlan
    steps: Ints  # running sums that all runs look at; else the least noisy report, if any is
    record: ReplacedRecord


def contents_games(plan: PFCBPlan) -> list[Game]:
    """Attack reports about one drawn producer: all running sums, or the record's batch and another.

    The first record is in all running sums: only another shows what two have in common.
    """
    running = plan.continual is not None and plan.constants.releases > 1
    return [_contents_game(plan, late) for late in ((False, True) if running else (False,))]


def _contents_game(plan: PFCBPlan, late: bool) -> ContentsGame:
    amounts, releases = plan.config.local_view == "raw", plan.constants.releases
    if plan.continual is not None:
        steps = telling_releases(plan.continual)
        seen, places = f"{len(steps)} of {releases} reports", len(steps)
        made = 1 + len(steps) // 8  # a report takes the noise of all before it
    else:
        alike = plan.deviation(1) == plan.deviation(releases)
        least = min((1, releases), key=plan.deviation)
        steps = np.array([] if alike else [least], np.int64)
        seen = f"{'a drawn one' if alike else f'report {least}'} of {releases} reports and another"
        made, places = 1, min(2, releases)
    # Where batches are reported the record is in one alone, and the other report looks on.
    known = steps if len(steps) else np.array([1], np.int64)
    record = ReplacedRecord(record_pair(amounts), attacker(plan, amounts, known), late)
    which = ", a purchase of a drawn batch" if late else ""
    looks_at = f"contents of {seen}, one drawn buyer and producer{which}"
    made *= 2 * places * plan.constants.producers
    look = partial(_look, _Attacked(plan, steps, record))
    return ContentsGame(looks_at, 2 * places, look, made, late)


def _look(attacked: _Attacked, world: int, first: int, count: int) -> Look:
    plan, steps, record = attacked
    constants, n = plan.constants, max(1, len(steps) - 1)
    bounds = constants.agents, constants.producers, constants.releases, n
    buyer, producer, drawn, batch = drawn_targets(first, count, *bounds)
    if plan.continual is not None:
        at = np.tile(steps, (count, 1))
        entered = record.entered(at, record.batches(batch))
    else:
        at = drawn + 1 if not len(steps) else np.full(count, steps[0])
        another = np.where(at < constants.releases, at + 1, at - 1)
        at = np.stack([at, another] if constants.releases > 1 else [at], axis=1)
        entered = np.zeros(at.shape)
        entered[:, 0] = 1.0
    targets = np.stack([buyer, producer], axis=1)
    values = _reported(plan, at, entered, record.pair[world], targets, first)
    if plan.continual is not None:
        return look_of(record.attacker, values, entered)
    look = look_of(record.attacker, values[:, :1], entered[:, :1])
    return look._replace(
        values=values.reshape(count, -1), others=record.attacker.bare(values, entered)
    )


def _reported(
    plan: PFCBPlan, at: Ints, entered: Floats, record: Floats, targets: Ints, first: int
) -> Floats:
    """Return the reports ``at`` (runs, n) of runs from ``first`` on, (runs, n, 2)."""
    producers = plan.constants.producers
    keys = np.array([audit_key(run) for run in range(first, first + len(at))], np.uint64)
    values, draws = np.zeros((*at.shape, 2)), np.zeros((plan.slots, 2 * producers))
    play_reports(
        plan.constants, at, entered, record * UNITS, targets, keys,
        np.full(producers, UNITS, np.int64), one_book(empty_books(1, producers), 0), draws, values,
    )  # fmt: skip
    return values / UNITS


def moved_game(plan: PFCBPlan) -> ContentsGame:
    """Attack reports about a drawn producer of a drawn buyer, with one purchase moved."""
    running, releases = plan.continual is not None, plan.constants.releases
    steps = telling_releases(plan.continual) if plan.continual is not None else np.array([1, 2])
    batches = farthest_batches(plan, steps)
    made = 1 + len(steps) // 8 if running else 1
    return ContentsGame(
        f"contents of {len(steps)} of {releases} reports, one drawn buyer and producer, a purchase "
        f"of batch {batches[0]} or, late, of batch {batches[1]}",
        2 * len(steps),
        partial(_look_for_moved, plan, steps, batches),
        2 * len(steps) * plan.constants.producers * made,
    )


def _look_for_moved(
    plan: PFCBPlan, steps: Ints, batches: tuple[int, int], world: int, first: int, count: int
) -> Look:
    constants, sees = plan.constants, moved(plan, steps, batches)
    targets = np.stack(drawn_targets(first, count, constants.agents, constants.producers), axis=1)
    entered, record = np.tile(sees.means[world, :, 0], (count, 1)), corners(plan)[world]
    return sees.look(_reported(plan, np.tile(steps, (count, 1)), entered, record, targets, first))


# ---------------------------------------------------------------- noise


def simulated_numbers(plan: PFCBPlan) -> NoisyNumbers:
    """Return all buyers' reports as configured, by the code of the simulation."""
    constants = plan.constants
    buyers, size = constants.agents, 2 * constants.producers
    steps = some_releases(constants.releases, buyers * size, plan.continual)
    stated = _stated(plan, buyers, steps)
    return stated.simulated(steps, constants.releases, partial(_drawn, plan, steps))


def secure_numbers(small: SmallWorld) -> NoisyNumbers:
    """Return all that a few buyers report with the noise of a deployment."""
    plan: PFCBPlan = small.plan
    steps = np.arange(1, plan.constants.releases + 1)
    return _stated(plan, plan.constants.agents, steps).deployed(small, _Heard)


def _stated(plan: PFCBPlan, buyers: int, steps: Ints) -> StatedNoise:
    by_row = np.repeat(planned_deviations(plan, steps), plan.constants.producers, axis=1)
    deviations = np.broadcast_to(by_row, (buyers, *by_row.shape))
    number = partial(_number, plan.constants.producers)
    return StatedNoise(f"{buyers} buyers", "buyer", deviations, number)


def _number(producers: int, place: int) -> str:
    kind, producer = divmod(place, producers)
    return f"units {('bought', 'good')[kind]} of producer {producer}"


def _drawn(plan: PFCBPlan, steps: Ints, first: int, count: int) -> Floats:
    constants, producers = plan.constants, plan.constants.producers
    reports = np.zeros((count, constants.agents, len(steps), 2, producers))
    books = one_book(empty_books(1, producers), 0)
    draws, capacity = np.zeros((plan.slots, 2 * producers)), np.full(producers, UNITS, np.int64)
    for run in range(count):
        key = audit_key(_CHECKED + first + run)
        draw_reports(constants, steps, _BOUGHT, key, capacity, books, draws, reports[run])
    noise: Floats = (reports - _BOUGHT) / UNITS
    return noise.reshape(*noise.shape[:3], -1)


class _Heard:
    """Hears the noise in reports: less what was bought, all of it or since the last report."""

    def __init__(self, run: PartiesReplicate) -> None:
        plan: Any = run.plan
        self._running = plan.constants.reports == RUNNING
        self._buyers, self._capacity = run.players, run.stage.world.capacity
        self._before = [np.zeros_like(buyer.state.books.own) for buyer in self._buyers]

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        found: list[tuple[int, int, Floats]] = []
        for index, buyer in enumerate(self._buyers):
            sent: Any
            for sent in (m for m in messages if m.sender == buyer.name):
                own = buyer.state.books.own.copy()
                exact = own if self._running else own - self._before[index]
                report = np.frombuffer(sent.sums).reshape(2, -1)
                noise = (report - exact) / self._capacity[index]
                found.append((index, sent.release, noise.reshape(-1)))
                self._before[index] = own
        return found
