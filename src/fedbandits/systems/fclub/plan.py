"""Plan of a variant, from a configuration and facts, for the compiled loop and the parties."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation.terms import Schedule
from fedbandits.learners.kernels.ridge import packed_size
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event, GaussianRelease, Parallel
from fedbandits.privacy.continual import ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.rounding import require_room, rounding_constant
from fedbandits.systems.fclub.config import FCLUB, Growing
from fedbandits.systems.fclub.kernels import Constants
from fedbandits.systems.servers.system import LATER, ServersPlan, check_homes

#: What a server releases.
NEVER, USERS, CLUSTERS = 0, 1, 2
_RELEASES = {"never": NEVER, "users": USERS, "clusters": CLUSTERS}
#: Rewards in [0, 1] have at most this variance.
REWARD_VARIANCE = 0.25
#: The longest item: 1, and room for rounding to float32.
_BOUND = 1.0 + 1e-5
_MOST_RELEASES = 2**12
#: 4 GB of noise.
_MOST_NUMBERS = 2**29


class FCLUBPlan(ServersPlan, frozen=True, kw_only=True):
    """Plan that the parties of a variant go by."""

    constants: Constants
    releases: int  # NEVER, USERS or CLUSTERS
    release_count: int
    sums: ContinualPlan | None  # how a user's running sums are released; None if they are not
    deviation: float  # of the noise in a cluster's sum; 0 where there is none
    #: (p,) the deviation of the noise in each entry of a packed statistic, relative to that in an
    #: off-diagonal one.
    entry_scale: Floats
    #: How far what is protected can move a sum: one replaced record, L² + B² as B ≤ L here, or k
    #: of a person.
    record_norm: float
    reach: float  # the variance of an entry of n - Nθ, as a multiple of an off-diagonal entry's
    most_clusters: int  # of a server
    prior_variance: float  # of every coordinate of θ before anything is known

    @property
    def schedule(self) -> Schedule:
        """Rounds in which servers release, and how much at once."""
        ends = self.constants.phase_ends
        return Schedule(
            rounds=self.rounds, releases=self.release_count,
            ends=tuple(ends[: self.release_count].tolist()),
            most_records=max(map(self.records_of, range(len(ends)))),
        )  # fmt: skip

    def records_of(self, phase: int) -> int:
        """Return the most records that count in a phase (from 0): one a round."""
        ends = self.constants.phase_ends
        return min(int(ends[phase]), self.rounds) - (int(ends[phase - 1]) if phase else 0)

    @property
    def slots(self) -> int:
        """Draws of a running sum's noise that are kept at a time."""
        return 0 if self.sums is None else self.sums.slots

    @property
    def private(self) -> bool:
        """True if there is noise."""
        return self.sums is not None or self.deviation > 0.0

    def noise_variance(self, release: int) -> float:
        """Return the variance of an off-diagonal entry of the noise in a release (from 1)."""
        if self.sums is not None:
            return self.sums.deviation(release) ** 2
        return self.deviation**2

    def mu(self, releases: int) -> float:
        """Return μ of the first so many releases."""
        if releases == 0:
            return 0.0
        if self.sums is not None:
            return self.sums.mu(self.record_norm, releases)
        return self.record_norm / self.deviation if self.deviation > 0.0 else math.inf

    def event(self, releases: int | None = None) -> Event:
        """Return what a record is charged for after so many releases, by default all of them."""
        if self.sums is not None:
            return ContinualSum(self.sums, self.record_norm, releases)
        if self.deviation > 0.0:
            # A record is in one phase's sum alone. Records of a person may be in several, where
            # they move less than all of them in one.
            return Parallel((GaussianRelease(self.record_norm, self.deviation),))
        return Clear()

    def epsilon_spent(self, releases: int) -> float:
        """Return ε that the contents of a server's first releases cost, at the given δ."""
        return gaussian.epsilon_of(self.mu(releases), self.config.delta)


def make_plan(config: FCLUB, facts: ClusteredFacts, rounds: int) -> FCLUBPlan:
    """Work out what all parties go by; refuse more releases than noise is kept for."""
    check_homes(facts)
    d, servers = facts.dimension, facts.servers
    ends = phase_ends(config.schedule, facts.parties, rounds)
    offset = 0.5 if config.center_rewards else 0.0
    bound = 1.0 - offset  # |y - offset|
    record_norm = gaussian.record_sensitivity(_BOUND, bound) * config.records_at_once
    kind = _RELEASES[config.releases] if servers > 1 else NEVER
    sums, deviation = None, 0.0
    if kind != NEVER and config.noise == "calibrated" and ends:
        mu = gaussian.mu_of(config.epsilon, config.delta)
        require_room(rounds, d, len(ends))
        if kind == USERS:
            _check_count(len(ends), facts.parties * int(packed_size(d)))
            sums = calibrated("toeplitz", len(ends), mu, record_norm)
        else:
            deviation = gaussian.least_deviation(record_norm, mu)
    # ‖θ‖² ≤ 1, and ½ without the constant, as long as all means lie in [0, 1].
    length = 0.5 if config.center_rewards else 1.0
    constants = Constants(
        users=facts.parties,
        servers=servers,
        dimension=d,
        items=facts.items,
        context_bound=_BOUND,
        raw_view=config.local_view == "raw",
        offset=offset,
        width=config.exploration_scale * math.sqrt(REWARD_VARIANCE),
        rounding=rounding_constant(rounds, _BOUND * max(_BOUND, bound)),
        records_per_person=(
            config.records_per_person if kind != NEVER and config.protects_persons else 0
        ),
        phase_ends=np.array([*ends, LATER], np.int64),
    )
    return FCLUBPlan(
        config=config, facts=facts, rounds=rounds, constants=constants,
        releases=kind, release_count=len(ends) if kind != NEVER else 0,
        sums=sums, deviation=deviation,
        entry_scale=noise_pattern(1, d), record_norm=record_norm,
        reach=1.0 + length * (1.0 + 1.0 / d),
        most_clusters=1 if config.clustering == "population" else config.most_clusters,
        prior_variance=length / d,
    )  # fmt: skip


def phase_ends(schedule: Growing, users: int, rounds: int) -> list[int]:
    """Return the last rounds of all phases that end before the horizon."""
    first = 5 * users if schedule.first == "auto" else schedule.first
    ends: list[int] = []
    end = float(first)
    while round(end) < rounds:
        if not ends or round(end) > ends[-1]:
            ends.append(round(end))
        end *= schedule.factor
    return ends


def _check_count(releases: int, numbers: int) -> None:
    """Refuse more noise than is kept: every release has so many numbers."""
    if releases > _MOST_RELEASES or releases * numbers > _MOST_NUMBERS:
        raise ConfigError(
            f"schedule: the noise of {releases:,} phases, {numbers:,} numbers each, is more than "
            f"is kept ({_MOST_RELEASES:,} phases, {_MOST_NUMBERS:,} numbers); let phases grow "
            "faster, or have fewer users or dimensions"
        )
