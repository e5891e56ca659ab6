"""Noise in reports, for an audit: as configured, and of a few buyers that are parties."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message
from fedbandits.federation.totals.messages import Increment
from fedbandits.privacy.likelihood import decoder, drawn_steps, stated_deviations
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, normals
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import audit_key
from fedbandits.systems.noisy_releases import StatedNoise, some_releases
from fedbandits.systems.party_games import SmallWorld, sent_share
from fedbandits.systems.pfcb.audit.releases import UNITS, planned_deviations
from fedbandits.systems.pfcb.kernels import RUNNING, empty_books
from fedbandits.systems.pfcb.kernels.rounds import draw_reports
from fedbandits.systems.pfcb.plan import PFCBPlan

#: Units that a report stands for in a check of noise: they are taken off again.
_BOUGHT = 3.0
#: Keys of draws that nothing else here has.
_CHECKED = 2**21


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


def share_numbers(small: SmallWorld, secure: bool) -> NoisyNumbers:
    """Return all noise in a few buyers' shares, with the noise of a deployment, or a simulation."""
    plan: PFCBPlan = small.plan
    steps, producers = np.arange(1, plan.constants.releases + 1), plan.constants.producers
    turned = np.array([[1.0, 0.0], [-1.0, 2.0]])  # from (w, y) to what is added up
    axes = np.sqrt(np.diag(turned @ plan.constants.covariance @ turned.T))
    if plan.continual is None or plan.secure is None:
        raise ValueError("in this plan reports are seen, so there are no shares")
    honest = plan.secure.least_parties - plan.secure.colluding
    scales = stated_deviations(plan.continual, steps) / math.sqrt(honest)
    by_row = np.repeat(np.outer(scales, axes), producers, axis=1)
    buyers = plan.constants.agents
    deviations = np.broadcast_to(by_row, (buyers, *by_row.shape))
    over_time = decoder(plan.continual, steps)
    # w and d have noise of their own.
    weights = np.asarray(np.kron(over_time, np.eye(2)), dtype=np.float64)
    stated = StatedNoise(
        f"{buyers} buyers", "buyer", deviations, partial(_number, producers), weights @ weights.T,
        weights, kinds=2, step=plan.constants.step,
    )  # fmt: skip
    return stated.deployed(small, _HeardShares, secure)


def _stated(plan: PFCBPlan, buyers: int, steps: Ints) -> StatedNoise:
    """Return deviations as they are stated, and the covariance of units bought and good."""
    by_row = np.repeat(planned_deviations(plan, steps), plan.constants.producers, axis=1)
    deviations = np.broadcast_to(by_row, (buyers, *by_row.shape))
    over_time = np.eye(len(steps)) if plan.continual is None else decoder(plan.continual, steps)
    mixing = np.linalg.cholesky(plan.constants.covariance)
    weights = np.asarray(np.kron(over_time, mixing), dtype=np.float64)
    return StatedNoise(
        f"{buyers} buyers", "buyer", deviations, partial(_number, plan.constants.producers),
        weights @ weights.T, weights, kinds=2,
    )  # fmt: skip


def _number(producers: int, place: int) -> str:
    kind, producer = divmod(place, producers)
    return f"units {('bought', 'good')[kind]} of producer {producer}"


def _drawn(plan: PFCBPlan, steps: Ints, run: int) -> tuple[Floats, Floats]:
    """Return the noise of all buyers' reports, in capacities, and the draws that it is made of."""
    constants, producers = plan.constants, plan.constants.producers
    reports = np.zeros((constants.agents, len(steps), 2, producers))
    draws, capacity = np.zeros((plan.slots, 2 * producers)), np.full(producers, UNITS, np.int64)
    key, books = audit_key(_CHECKED + run), empty_books(producers)
    draw_reports(constants, steps, _BOUGHT, key, capacity, books, draws, reports)
    noise: Floats = (reports - _BOUGHT) / UNITS
    names = steps if plan.continual is None else drawn_steps(plan.continual, steps)
    given = [
        [normals(2 * producers, key, buyer, step, Purpose.PRIVACY_NOISE) for step in names.tolist()]
        for buyer in range(constants.agents)
    ]
    return noise.reshape(*noise.shape[:2], -1), np.array(given)


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
            sent: Any = next((m for m in messages if m.sender == buyer.name), None)
            if sent is not None:  # the same is sent to each of the others
                own = buyer.state.books.own.copy()
                exact = own if self._running else own - self._before[index]
                report = np.frombuffer(sent.sums).reshape(2, -1)
                noise = (report - exact) / self._capacity[index]
                found.append((index, sent.release, noise.reshape(-1)))
                self._before[index] = own
        return found


class _HeardShares:
    """Hears the noise in shares, which are masked: it looks into the buyers."""

    def __init__(self, run: PartiesReplicate) -> None:
        plan: Any = run.plan
        self._step, self._buyers = plan.constants.step, run.players
        self._most = np.tile(run.stage.world.capacity.max(axis=0), 2)

    def __call__(self, messages: list[Message]) -> list[tuple[int, int, Floats]]:
        found: list[tuple[int, int, Floats]] = []
        for index, buyer in enumerate(self._buyers):
            sending: Any = buyer.state.sending
            for sent in (m for m in messages if isinstance(m, Increment)):
                if sent.sender == buyer.name:
                    share = sent_share(sending, sent)
                    exact = buyer.state.under_way[sent.release]
                    noise = (self._step * share - exact) / self._most
                    found.append((index, sent.release, noise))
        return found
