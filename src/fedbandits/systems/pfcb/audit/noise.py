"""Whether all that buyers report has its planned noise. Noise is in capacities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Key
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import audit_key
from fedbandits.systems.noisy_releases import (
    CompiledNoise,
    PartiesNoise,
    compiled_numbers,
    parties_numbers,
    some_releases,
)
from fedbandits.systems.pfcb.audit.contents import UNITS
from fedbandits.systems.pfcb.audit.parties import BUYERS, WORLD
from fedbandits.systems.pfcb.audit.stated import planned_deviations
from fedbandits.systems.pfcb.kernels.books import Books, empty_books, one_book
from fedbandits.systems.pfcb.kernels.constants import RUNNING, Constants
from fedbandits.systems.pfcb.kernels.reports import write_report
from fedbandits.systems.pfcb.kernels.rounds import draw_noise
from fedbandits.systems.pfcb.plan import PFCBPlan

#: Units that a report stands for: they are taken off again.
_BOUGHT = 3.0
#: Keys of draws that nothing else here has.
_CHECKED = 2**21


def simulated_numbers(plan: PFCBPlan) -> NoisyNumbers:
    """All buyers' reports as configured, by the code of the simulation."""
    constants = plan.constants
    buyers, size = constants.agents, 2 * constants.producers
    steps = some_releases(constants.releases, buyers * size, plan.continual)
    deviations = _planned(plan, buyers, steps)
    drawn = CompiledNoise(steps, constants.releases, deviations, partial(_drawn, plan, steps))
    number = partial(_number, constants.producers)
    return compiled_numbers(drawn, f"{buyers} buyers", "buyer", number)


def _planned(plan: PFCBPlan, buyers: int, steps: Ints) -> Floats:
    """Deviations of all numbers, (buyers, reports, 2 m)."""
    by_row = np.repeat(planned_deviations(plan, steps), plan.constants.producers, axis=1)
    return np.broadcast_to(by_row, (buyers, *by_row.shape))


def _number(producers: int, place: int) -> str:
    kind, producer = divmod(place, producers)
    return f"units {('bought', 'good')[kind]} of producer {producer}"


def _drawn(plan: PFCBPlan, steps: Ints, first: int, count: int) -> Floats:
    constants = plan.constants
    reports = np.zeros((count, constants.agents, len(steps), 2, constants.producers))
    books = one_book(empty_books(1, constants.producers), 0)
    draws = np.zeros((plan.slots, 2 * constants.producers))
    capacity = np.full(constants.producers, UNITS, np.int64)
    for run in range(count):
        key = audit_key(_CHECKED + first + run)
        draw_reports(constants, steps, key, capacity, books, draws, reports[run])
    noise: Floats = (reports - _BOUGHT) / UNITS
    return noise.reshape(*noise.shape[:3], -1)


@compiled
def draw_reports(
    constants: Constants, steps: Ints, key: Key, capacity: Ints, books: Books, draws: Floats,
    reports: Floats,
) -> None:  # fmt: skip
    """Some reports of all buyers, into ``reports`` (buyers, steps, 2, m)."""
    for buyer in range(reports.shape[0]):
        done = 0
        for place in range(steps.size):
            release = steps[place]
            first = done + 1 if constants.reports == RUNNING else release
            for step in range(first, release + 1):
                draw_noise(constants, key, buyer, step, draws)
            books.own[:] = _BOUGHT
            books.fresh[:] = _BOUGHT
            write_report(constants, release, capacity, draws, books, reports[buyer, place])
            done = release


def secure_numbers(system: System[PFCBPlan], plan: PFCBPlan) -> NoisyNumbers:
    """All that two buyers report with the noise of a deployment.

    Parameters
    ----------
    system
        The system whose parties play.
    plan
        What they go by, see :func:`.small_plan`.
    """
    deviations = _planned(plan, BUYERS, np.arange(1, plan.constants.releases + 1))
    played = PartiesNoise(system, plan, WORLD, deviations, partial(_Heard, plan))
    number = partial(_number, plan.constants.producers)
    return parties_numbers(played, "2 buyers", "buyer", number)


class _Heard:
    """What buyers report, less what they have bought: all of it, or since the last report."""

    def __init__(self, plan: PFCBPlan, run: PartiesReplicate) -> None:
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
