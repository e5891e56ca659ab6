"""Reports as configured, with one purchase replaced: of a buyer and a producer that are drawn."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import Attacker, telling_releases
from fedbandits.random import Key
from fedbandits.systems.games import ContentsGame, Look, audit_key, drawn_targets
from fedbandits.systems.pfcb.audit.stated import attacker, record_pair
from fedbandits.systems.pfcb.kernels.books import Books, empty_books, one_book
from fedbandits.systems.pfcb.kernels.constants import Constants
from fedbandits.systems.pfcb.kernels.reports import write_report
from fedbandits.systems.pfcb.kernels.rounds import draw_noise
from fedbandits.systems.pfcb.plan import PFCBPlan

#: The most units that anybody buys.
UNITS = 10


class _Setting(NamedTuple):
    """What is attacked, and by whom."""

    plan: PFCBPlan
    steps: (
        Ints  # reports of running sums that all runs look at; else the least noisy one, if any is
    )
    late: bool
    attacker: Attacker
    pair: tuple[Floats, Floats]


def contents_games(plan: PFCBPlan) -> list[Game]:
    """Reports about one drawn producer: of running sums all, of batches the record's and another.

    The first record is in all running sums: only another shows what two have in common.
    """
    running = plan.continual is not None and plan.constants.releases > 1
    return [_game(plan, late) for late in ((False, True) if running else (False,))]


def _game(plan: PFCBPlan, late: bool) -> ContentsGame:
    amounts, releases = plan.config.local_view == "raw", plan.constants.releases
    if plan.continual is not None:
        steps = telling_releases(plan.continual)
        seen = f"{len(steps)} of {releases} reports"
        made = 1 + len(steps) // 8  # a report takes the noise of all before it
    else:
        alike = plan.deviation(1) == plan.deviation(releases)
        least = min((1, releases), key=plan.deviation)
        steps = np.array([] if alike else [least], np.int64)
        seen = f"{'a drawn one' if alike else f'report {least}'} of {releases} reports and another"
        made = 1
    # Where batches are reported the record is in one alone, and the other report looks on.
    known = steps if len(steps) else np.array([1], np.int64)
    setting = _Setting(plan, steps, late, attacker(plan, amounts, known), record_pair(amounts))
    which = ", a purchase of a drawn batch" if late else ""
    places = len(steps) if plan.continual is not None else min(2, releases)
    looks_at = f"contents of {seen}, one drawn buyer and producer{which}"
    numbers = 2 * places * plan.constants.producers
    return ContentsGame(looks_at, 2 * places, partial(_look, setting), numbers * made, late)


def _look(setting: _Setting, world: int, first: int, count: int) -> Look:
    constants, steps = setting.plan.constants, setting.steps
    n = max(1, len(steps) - 1)
    bounds = constants.agents, constants.producers, constants.releases, n
    buyer, producer, drawn, batch = drawn_targets(first, count, *bounds)
    if setting.plan.continual is not None:
        at = np.tile(steps, (count, 1))
        entered = (at >= (batch[:, None] + 2 if setting.late else 1)).astype(np.float64)
    else:
        at = drawn + 1 if not len(steps) else np.full(count, steps[0])
        another = np.where(at < constants.releases, at + 1, at - 1)
        at = np.stack([at, another] if constants.releases > 1 else [at], axis=1)
        entered = np.zeros(at.shape)
        entered[:, 0] = 1.0
    targets = np.stack([buyer, producer], axis=1)
    keys = np.array([audit_key(run) for run in range(first, first + count)], np.uint64)
    values = np.zeros((*at.shape, 2))
    books = one_book(empty_books(1, constants.producers), 0)
    draws = np.zeros((setting.plan.slots, 2 * constants.producers))
    capacity = np.full(constants.producers, UNITS, np.int64)
    record = setting.pair[world] * UNITS
    play_reports(constants, at, entered, record, targets, keys, capacity, books, draws, values)
    values /= UNITS
    sees = setting.attacker
    seen = entered.shape[1] if setting.plan.continual is not None else 1
    scores = sees.scores(values[:, :seen], entered[:, :seen], np.ones(count))
    return Look(values.reshape(count, -1), scores, sees.bare(values, entered))


@compiled
def play_reports(
    constants: Constants, steps: Ints, entered: Floats, record: Floats, targets: Ints,
    keys: NDArray[np.uint64], capacity: Ints, books: Books, draws: Floats, values: Floats,
) -> None:  # fmt: skip
    """Run after run the reports ``steps`` (runs, n) about one producer, into ``values`` (.., 2).

    What is about other purchases is known to the attacker and left out; the replaced one is in the
    reports that ``entered`` (runs, n) says, of the buyer and the producer in ``targets`` (runs, 2).
    """
    report = np.zeros((2, capacity.size))
    for run in range(steps.shape[0]):
        buyer, producer = targets[run, 0], targets[run, 1]
        key = Key(keys[run, 0], keys[run, 1])
        for place in range(steps.shape[1]):
            release = steps[run, place]
            draw_noise(constants, key, buyer, release, draws)
            books.own[:] = 0.0
            books.fresh[:] = 0.0
            for row in range(2):
                books.own[row, producer] = entered[run, place] * record[row]
                books.fresh[row, producer] = entered[run, place] * record[row]
            write_report(constants, release, capacity, draws, books, report)
            for row in range(2):
                values[run, place, row] = report[row, producer]
