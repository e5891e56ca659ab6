"""The plan of a P-FCB variant, from its configuration and facts, and its guide."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import msgspec
import numpy as np
from scipy.special import ndtri

from fedbandits.errors import ConfigError
from fedbandits.facts import ProcurementFacts
from fedbandits.federation.messages import unpack
from fedbandits.federation.terms import Schedule
from fedbandits.federation.watching import Happened
from fedbandits.learners.kernels.purchasing import EXACT, GREEDY
from fedbandits.privacy import accounting, gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event, GaussianRelease, Parallel
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.systems.aggregation import SecureTotals, secure_totals
from fedbandits.systems.base import Plan
from fedbandits.systems.guide import Acts, Guide, Passage, line, numbers
from fedbandits.systems.guide_of_sums import MASKS, MEMBER, PSEUDOCODE, passages
from fedbandits.systems.pfcb.config import (
    PFCB,
    Constant,
    NoNoise,
    Published,
    RunningSums,
    WithinDeviations,
    WithinRadius,
)
from fedbandits.systems.pfcb.kernels import (
    ALWAYS,
    BATCHES,
    CLEAR,
    RUNNING,
    WITHIN_DEVIATIONS,
    WITHIN_RADIUS,
    Constants,
    draw_deviation,
)
from fedbandits.systems.pfcb.noise import (
    Noise,
    further_in_batches,
    further_when_moved,
    in_two_batches,
    noise_of_reports,
    noise_of_shares,
)
from fedbandits.systems.pfcb.timing import Timing, timing_of
from fedbandits.systems.weakened import without_supplies

#: Later than any round.
_NEVER = 2**62

#: Later published budgets are the same in float64: ε/2^(z+1) is nothing beside ε/(2 log₂ T).
_DIFFERENT = 64

#: Beyond it the exact oracle may take minutes for a purchase.
_MOST_EXACT_CAPACITY = 1000


class PFCBPlan(Plan, frozen=True, kw_only=True):
    """Plan that the buyers of a variant go by."""

    config: PFCB
    facts: ProcurementFacts
    constants: Constants
    #: How running sums are released; None where batches are reported, or nothing is noisy. Of a
    #: secure sum: the mechanism that all honest shares come to.
    continual: ContinualPlan | None
    #: How far one purchase can move (w, y) of a batch, in capacities and in the noise's measure.
    sensitivity: float
    #: The numbers of secure sums; None where reports are seen.
    secure: SecureTotals | None = None

    @property
    def slots(self) -> int:
        """Number of draws of noise that a buyer keeps, each of 2 m numbers."""
        if self.continual is not None:
            return self.continual.slots
        return int(self.constants.reports != CLEAR)

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Names of all buyers, in order."""
        return tuple(f"buyer-{j}" for j in range(self.constants.agents))

    @property
    def share(self) -> ContinualPlan:
        """The mechanism of a buyer's share of a secure sum; of other variants that of a report."""
        found = self.continual or NO_SUMS
        if self.secure is None:
            return found
        return msgspec.structs.replace(found, scale=self.constants.share)

    def deviation(self, release: int) -> float:
        """Return the deviation of the noise that a report draws, in capacities."""
        return draw_deviation(self.constants, release)

    @property
    def schedule(self) -> Schedule:
        """Rounds in which buyers report, and how many purchases at once."""
        constants, ends = self.constants, "every 1"
        if constants.every_round:
            return Schedule(
                rounds=self.rounds, releases=constants.releases, ends=ends, most_records=1
            )
        times = tuple(constants.exchange_times[:-1].tolist())
        most = max(np.diff((0, *times)).tolist(), default=self.rounds)
        return Schedule(
            rounds=self.rounds, releases=constants.releases, ends=times, most_records=most
        )

    @property
    def late(self) -> bool:
        """True if an outcome that comes after a report counts in a later one."""
        return self.config.outcomes == "late"

    def exchange_round(self, release: int) -> int:
        """Return the round at whose end a report is due, by its number, from 1."""
        constants = self.constants
        return release if constants.every_round else int(constants.exchange_times[release - 1])

    def batches(self, release: int) -> int:
        """Count the batches of purchases that a report can be about."""
        return release if self.late or self.constants.reports == RUNNING else 1

    def mu(self, releases: int) -> float:
        """Return μ of the first so many reports of a buyer, for one of its purchases.

        A purchase is in one batch alone, or in one of two where outcomes are late: not the sum of
        all reports is charged.
        """
        return accounting.mu(self.event(releases)) if releases else 0.0

    def event(self, releases: int | None = None) -> Event:
        """Return the event that prices a purchase after so many reports; lengths are in capacities.

        Without a number, after all of them.
        """
        if self.constants.reports == CLEAR:
            return Clear()
        releases = self.constants.releases if releases is None else releases
        if self.continual is not None:
            return ContinualSum(
                self.continual, self.sensitivity * self._further(releases), releases
            )
        # Reports alike in noise cost the same, however many there are.
        reports = range(1, min(releases, _DIFFERENT) + 1)
        deviations = sorted(self.deviation(z) for z in reports)
        if self.late and deviations:
            return in_two_batches(self.sensitivity, deviations)
        return Parallel(tuple(GaussianRelease(self.sensitivity, d) for d in sorted({*deviations})))

    def _further(self, releases: int) -> float:
        """Return how many times as far a late outcome can move running sums."""
        if not self.late or self.continual is None:
            return 1.0
        if self.secure is not None:
            return further_in_batches(self.continual.releases)
        return further_when_moved(self.continual, releases)

    def epsilon_spent(self, releases: int) -> float:
        """Return ε that the contents of a buyer's first reports cost, at the configured δ."""
        return gaussian.epsilon_of(self.mu(releases), self.config.delta)


def make_plan(config: PFCB, facts: ProcurementFacts, rounds: int) -> PFCBPlan:
    """Work out the plan of all buyers.

    Raises
    ------
    ConfigError
        If the window does not lie within the horizon, or parts do not fit each other or the facts.
    """
    _check_target_and_oracle(config, facts)
    _check_capacities(facts)
    exchanges = timing_of(config, facts.parties, rounds)
    secure = secure_totals(config.aggregation, facts.parties)
    if secure is None:
        noise = noise_of_reports(config, exchanges.number)
    else:
        noise = noise_of_shares(config, facts, rounds, exchanges.number, secure)
    return PFCBPlan(
        config=config, facts=facts, rounds=rounds,
        constants=_constants(config, facts, rounds, exchanges, noise),
        continual=noise.continual, sensitivity=noise.sensitivity, secure=secure,
    )  # fmt: skip


def _check_target_and_oracle(config: PFCB, facts: ProcurementFacts) -> None:
    target = facts.quality_threshold + config.quality_margin
    if target >= 1.0:
        raise ConfigError(
            f"quality_margin: given {config.quality_margin:g}, which makes α + γ = {target:g}; "
            "allowed: less than 1 - α"
        )
    if config.oracle == "exact" and facts.largest_capacity > _MOST_EXACT_CAPACITY:
        raise ConfigError(
            f'oracle: given "exact", but capacities go up to {facts.largest_capacity:,}; it '
            f'is for capacities up to {_MOST_EXACT_CAPACITY:,}; set "greedy", or '
            "environment.max_capacity"
        )


def _check_capacities(facts: ProcurementFacts) -> None:
    """Refuse capacities that are stated, and are none."""
    shape = {len(row) for row in facts.capacities}
    largest = max((max(row, default=0) for row in facts.capacities), default=facts.largest_capacity)
    if facts.capacities and (
        len(facts.capacities) != facts.parties
        or shape != {facts.producers}
        or any(units < 0 for row in facts.capacities for units in row)
        or largest != facts.largest_capacity
    ):
        raise ConfigError(
            f"capacities: allowed: a row for each of {facts.parties} buyers, with a whole number "
            f"≥ 0 for each of {facts.producers} producers, the largest of which is "
            f"largest_capacity = {facts.largest_capacity}"
        )


#: Stands for running sums where a report has noise of its own.
NO_SUMS = ContinualPlan("none", 0, 0.0)


def _constants(
    config: PFCB, facts: ProcurementFacts, rounds: int, exchanges: Timing, noise: Noise
) -> Constants:
    tolerance, acceptance = _acceptance(config)
    judged = _judged(config)
    optimistic = config.purchases == "optimistic"
    return Constants(
        agents=facts.parties,
        producers=facts.producers,
        exploration=exchanges.exploration,
        explores_whole=config.exploration_units == "capacity",
        every_round=exchanges.every,
        exchange_times=np.array([*exchanges.times, _NEVER], np.int64),
        releases=exchanges.number,
        raw_view=config.local_view == "raw",
        reports=_kind_of_reports(config),
        published_budgets=isinstance(config.privatizer, Published),
        scale=noise.scale,
        budget=0.0
        if config.idle
        else math.sqrt(2.0 * math.log(1.25 / config.delta)) / config.epsilon,
        log_horizon=_log_horizon(config, rounds),
        mechanism=(noise.continual or NO_SUMS).code,
        coefficients=(noise.continual or NO_SUMS).coefficients(),
        share=noise.share,
        step=noise.step,
        mixing=noise.mixing.copy(),
        covariance=noise.mixing @ noise.mixing.T,
        acceptance=acceptance,
        tolerance=tolerance,
        judged_by_own=judged.evidence == "own",
        judging_factor=float(facts.parties if judged.logarithm == "shared" else 1),
        omega2=config.weighting.omega2 if isinstance(config.weighting, Constant) else 0.0,
        caution=-1.0 if optimistic else float(ndtri(config.quality_confidence)),
        oracle=EXACT if config.oracle == "exact" else GREEDY,
        radius_factor=float(1 if config.radius == "own" else facts.parties),
        radius_divisor=float(facts.parties if config.radius == "printed" else 1),
        exploration_scale=config.exploration_scale,
        target=facts.quality_threshold + config.quality_margin,
        revenue=facts.revenue,
    )


def _kind_of_reports(config: PFCB) -> int:
    if isinstance(config.privatizer, RunningSums):
        return RUNNING
    return CLEAR if isinstance(config.privatizer, NoNoise) else BATCHES


def _acceptance(config: PFCB) -> tuple[float, int]:
    match config.acceptance:
        case WithinRadius():
            return config.acceptance.omega1, WITHIN_RADIUS
        case WithinDeviations():
            return config.acceptance.deviations, WITHIN_DEVIATIONS
        case _:
            return 0.0, ALWAYS


def _judged(config: PFCB) -> WithinRadius:
    """Return the constant by which Procedure 1 judges; where it judges no report, as printed."""
    return config.acceptance if isinstance(config.acceptance, WithinRadius) else WithinRadius()


def _log_horizon(config: PFCB, rounds: int) -> float:
    published = config.privatizer
    natural = isinstance(published, Published) and published.logarithm == "natural"
    return max(1.0, math.log(rounds) if natural else math.log2(rounds))


_ACTS = Acts("buys, by producer, {} units", "finds, by producer, {} good ones")
_NOISE = {"noise": "Counts leave a buyer under noise: a single purchase does not show in them."}
_EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  buy what earns most, as qualities are known, with enough good units", "* Decide"),
    line("  inspect: count units bought, and units found good, by producer", "* Observe"),
)
_BUYER = (
    *_EVERY_ROUND,
    line("  when a round of exchange ends: send both counts, under noise, to all", "* EndRound"),
    line("  collect the counts of all others; weigh those that agree with the own", "* Report"),
    line("  if some do not come: go on without them", "exchanging Deadline"),
)


def guide(plan: PFCBPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    private = plan.constants.reports != CLEAR
    noise = "under noise" if private and "noise" not in off else "without noise"
    clear = Guide(
        pseudocode={"buyer": _BUYER},
        passages={"Report": Passage("a report", _counts(plan, noise), releases=True)},
        acts=_ACTS,
        protections=_NOISE if private else {},
        without=without_supplies,
    )
    if plan.secure is None:
        return clear
    constants = plan.constants
    return clear._replace(
        pseudocode={"buyer": (*_EVERY_ROUND, *MEMBER), **PSEUDOCODE},
        passages=passages(off, constants.step, constants.release_size),
        protections={**clear.protections, **MASKS},
    )


def _counts(plan: PFCBPlan, noise: str) -> Callable[[Happened], str]:
    def reads(happened: Happened) -> str:
        message: Any = happened.event
        bought, good = unpack(message.sums, plan.constants.release_size).reshape(2, -1)
        return (
            f"By producer, {noise}: units that {message.sender} has bought, {numbers(bought)}; "
            f"found good, {numbers(good)}."
        )

    return reads
