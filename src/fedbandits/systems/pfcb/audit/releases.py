"""Reports as configured, for an audit: the attackers of reports, attacks, and the noise.

One purchase is replaced, of a drawn buyer and producer. Or a purchase moves from one report to
another, because its outcome comes late in one world. Then the purchase counts in one batch in world
0 and in another in world 1; both are corners of possible purchases. The two batches are the batches
whose reports show the most. For running sums these follow here from the stated mechanism, not from
its price. All numbers are in capacities.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import (
    NO_NOISE,
    Attacker,
    covariance_of,
    decoder,
    drawn_steps,
    stated_deviations,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, normals
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    ReplacedRecord,
    audit_key,
    drawn_targets,
    look_of,
)
from fedbandits.systems.noisy_releases import (
    ReportsListener,
    StatedNoise,
    some_releases,
    sums_listener,
)
from fedbandits.systems.party_games import SmallWorld
from fedbandits.systems.pfcb.kernels import RUNNING, empty_books
from fedbandits.systems.pfcb.kernels.rounds import draw_reports, play_reports, play_sums
from fedbandits.systems.pfcb.plan import PFCBPlan

#: The most units of a purchase.
UNITS = 10


# ---------------------------------------------------------------- attackers of reports


def record_pair(amounts: bool) -> tuple[Floats, Floats]:
    """Return units bought and good of the replaced purchase, as shares of the capacity, by world.

    ``amounts``: whether amounts bought are covered, beside the amounts found good.
    """
    return np.array([0.0, 0.0] if amounts else [1.0, 0.0]), np.array([1.0, 1.0])


def planned_deviations(plan: PFCBPlan, steps: Ints) -> Floats:
    """Return deviations of (w̃, ỹ) in some reports, (reports, 2)."""
    return np.outer(_scales(plan, steps), np.sqrt(np.diag(plan.constants.covariance)))


def _scales(plan: PFCBPlan, steps: Ints) -> Floats:
    if plan.continual is not None:
        return stated_deviations(plan.continual, steps)
    return np.array([plan.deviation(int(step)) for step in steps])


def draw_covariance(plan: PFCBPlan, release: int) -> Floats:
    """Return the covariance of one draw of noise for (w̃, ỹ), (2, 2); of a batch, in its report."""
    scale = plan.deviation(release) if plan.continual is None else plan.continual.scale
    found: Floats = plan.constants.covariance * scale**2
    return found


def covariance_over_time(plan: PFCBPlan) -> Floats:
    """Return the covariance of a number in all reports, in the variance of a draw, (n, n)."""
    if plan.continual is None:
        return np.eye(plan.constants.releases)
    return covariance_of(plan.continual)


def attacker(plan: PFCBPlan, amounts: bool, steps: Ints) -> Attacker:
    """Return the attacker of some reports on a producer that knows all other purchases."""
    zero, one = record_pair(amounts)
    change, covariance = one - zero, plan.constants.covariance
    if plan.continual is not None:
        mixing = decoder(plan.continual, steps)
        least, over_time = plan.continual.scale, np.linalg.inv(mixing @ mixing.T)
    else:
        scales = _scales(plan, steps)
        least = float(scales.min())
        over_time = np.diag((least / scales) ** 2)
    weights = np.asarray(np.linalg.solve(covariance * least**2, change), dtype=np.float64)
    deviation = least * np.sqrt(np.diag(covariance))
    return Attacker(zero, change, weights, deviation, np.asarray(over_time, dtype=np.float64))


# ---------------------------------------------------------------- a purchase that moves


class Moved(NamedTuple):
    """An attacker of reports on a producer that knows all but the batch of a purchase."""

    means: Floats  # (2, n, 2): the purchase's part of each report in either world
    precision: Floats  # (2 n, 2 n): inverse covariance of the reports' noise
    deviation: Floats  # (n, 2): deviations of the noise

    def look(self, values: Floats) -> Look:
        """Return the likelihood ratio of reports (runs, n, 2), and numbers without noise."""
        change = (self.means[1] - self.means[0]).reshape(-1)
        middle = 0.5 * (self.means[1] + self.means[0]).reshape(-1)
        rows = values.reshape(len(values), -1)
        scores: Floats = (rows - middle) @ (self.precision @ change)
        apart, near = self.means[1] != self.means[0], NO_NOISE * self.deviation
        hits = [(np.abs(values - mean) < near) & apart for mean in self.means]
        bare: Floats = hits[1].sum((1, 2)).astype(np.float64) - hits[0].sum((1, 2))
        return Look(rows, scores[:, None], bare[:, None])


def corners(plan: PFCBPlan) -> Floats:
    """Return the purchase in either world, (2, 2): units bought and good.

    The corners (1, 0) and (1, 1) are at an angle in the noise's measure: so their running sums have
    least in common. Where each is in a single report, the longest corner will do.
    """
    running = plan.constants.reports == RUNNING
    return np.array([[1.0, 0.0 if running else 1.0], [1.0, 1.0]])


def moved(plan: PFCBPlan, steps: Ints, batches: tuple[int, int]) -> Moved:
    """Return the attacker of the reports ``steps``, some of which hold the moved purchase."""
    running = plan.constants.reports == RUNNING
    entered = [steps >= batch if running else steps == batch for batch in batches]
    means = np.array([np.outer(e, v) for e, v in zip(entered, corners(plan), strict=True)])
    if plan.continual is not None:
        mixing = plan.continual.scale * decoder(plan.continual, steps)
        over_time = mixing @ mixing.T
    else:
        over_time = np.diag(_scales(plan, steps) ** 2)
    covariance = np.kron(over_time, plan.constants.covariance)
    deviation = np.sqrt(np.diag(covariance)).reshape(-1, 2)
    return Moved(means, np.asarray(np.linalg.inv(covariance)), deviation)


def farthest_batches(plan: PFCBPlan, steps: Ints) -> tuple[int, int]:
    """Return the first batch, and the batch farthest from the first, of running sums."""
    if plan.continual is None:
        return 1, 2
    encoder = np.linalg.solve(decoder(plan.continual, steps), np.tri(len(steps)))
    together = encoder.T @ encoder
    return 1, int(np.argmax(np.diag(together) - together[0])) + 1


# ---------------------------------------------------------------- contents


class _Attacked(NamedTuple):
    """The reports that are attacked, and the purchase that is replaced in them."""

    plan: PFCBPlan
    steps: Ints  # running sums in all runs; else the least noisy report, if any is
    record: ReplacedRecord


def contents_games(plan: PFCBPlan) -> list[Game]:
    """Attack reports about one drawn producer: all running sums, or the record's batch and another.

    The first record is in all running sums: only a later record shows noise in common.
    """
    running = plan.continual is not None and plan.constants.releases > 1
    return [_contents_game(plan, late) for late in ((False, True) if running else (False,))]


def _contents_game(plan: PFCBPlan, late: bool) -> ContentsGame:
    amounts, releases = plan.config.local_view == "raw", plan.constants.releases
    if plan.continual is not None:
        steps = telling_releases(plan.continual)
        seen, places = f"{len(steps)} of {releases} {_seen(plan)}", len(steps)
        made = 1 + len(steps) // 8  # a report takes the noise of all before it
        made *= 1 if plan.secure is None else plan.secure.honest
    else:
        alike = plan.deviation(1) == plan.deviation(releases)
        least = min((1, releases), key=plan.deviation)
        steps = np.array([] if alike else [least], np.int64)
        seen = f"{'a drawn one' if alike else f'report {least}'} of {releases} reports and another"
        made, places = 1, min(2, releases)
    # Where batches are reported the record is in one report alone.
    known = steps if len(steps) else np.array([1], np.int64)
    record = ReplacedRecord(record_pair(amounts), attacker(plan, amounts, known), late)
    which = ", a purchase of a drawn batch" if late else ""
    looks_at = f"contents of {seen}; a drawn buyer has the record, of a drawn producer{which}"
    made *= 2 * places * plan.constants.producers
    look = partial(_look, _Attacked(plan, steps, record))
    return ContentsGame(looks_at, 2 * places, look, made, late)


def _seen(plan: PFCBPlan) -> str:
    """Name the numbers that an attacker sees."""
    return (
        "reports"
        if plan.secure is None
        else f"sums over what {plan.secure.honest} honest buyers report"
    )


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
    if plan.secure is not None:  # ``at`` are the first ones of all
        most = np.full(producers, float(UNITS))
        play_sums(
            plan.constants, plan.secure.honest, entered, record * UNITS, targets, keys, most, draws,
            values,
        )  # fmt: skip
        return values / UNITS
    play_reports(
        plan.constants, at, entered, record * UNITS, targets, keys,
        np.full(producers, UNITS, np.int64), empty_books(producers), draws, values,
    )  # fmt: skip
    return values / UNITS


def moved_game(plan: PFCBPlan) -> ContentsGame:
    """Attack reports about a drawn producer of a drawn buyer, with one purchase moved."""
    running, releases = plan.continual is not None, plan.constants.releases
    steps = telling_releases(plan.continual) if plan.continual is not None else np.array([1, 2])
    batches = farthest_batches(plan, steps)
    made = 1 + len(steps) // 8 if running else 1
    return ContentsGame(
        f"contents of {len(steps)} of {releases} {_seen(plan)}, one drawn buyer and producer, a "
        f"purchase of batch {batches[0]} or, late, of batch {batches[1]}",
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


#: Units in each report of a check of noise; the check takes the units off again.
_BOUGHT = 3.0
#: Keys of the draws of noise checks.
_CHECKED = 2**21


def simulated_numbers(plan: PFCBPlan) -> NoisyNumbers:
    """Return all buyers' reports as configured, by the code of the simulation."""
    constants = plan.constants
    buyers, size = constants.agents, 2 * constants.producers
    steps = some_releases(constants.releases, buyers * size, plan.continual)
    stated = _stated(plan, buyers, steps)
    return stated.simulated(steps, constants.releases, partial(_drawn, plan, steps))


def secure_numbers(small: SmallWorld) -> NoisyNumbers:
    """Return all reports of a few buyers with the noise of a deployment."""
    plan: PFCBPlan = small.plan
    steps = np.arange(1, plan.constants.releases + 1)
    return _stated(plan, plan.constants.agents, steps).deployed(small, _reports)


def share_numbers(small: SmallWorld, secure: bool) -> NoisyNumbers:
    """Return all noise in a few buyers' shares, with the noise of a deployment, or a simulation."""
    plan: PFCBPlan = small.plan
    steps, producers = np.arange(1, plan.constants.releases + 1), plan.constants.producers
    turned = np.array([[1.0, 0.0], [-1.0, 2.0]])  # from (w, y) to the summed numbers
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
    return stated.deployed(small, sums_listener(_under_way, _most), secure)


def _under_way(buyer: Any, sent: Any) -> Floats:
    """Return the exact sum of the share in a message."""
    exact: Floats = buyer.state.under_way[sent.release]
    return exact


def _most(run: PartiesReplicate) -> Floats:
    """Return the largest capacity of each number of a share."""
    return np.tile(run.stage.world.capacity.max(axis=0), 2).astype(np.float64)


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
    """Return the noise of all buyers' reports, in capacities, and the draws in that noise."""
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


def _reports(run: PartiesReplicate) -> ReportsListener:
    """Listen to reports of buyers, in capacities."""
    plan: Any = run.plan
    capacity = run.stage.world.capacity

    def exact(buyer: Any) -> Floats:
        purchases: Floats = buyer.state.books.own
        return purchases.reshape(1, -1)

    running = plan.constants.reports == RUNNING
    return ReportsListener(run, exact, running, unit=lambda place: np.tile(capacity[place], 2))
