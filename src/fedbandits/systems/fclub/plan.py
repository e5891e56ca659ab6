"""Plan of a variant, from a configuration and facts; the claim, and a guide to the parties.

The lines of the guide are this package's own; :mod:`..fclub_published.guide` has the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError
from fedbandits.facts import ClusteredFacts
from fedbandits.federation.terms import Schedule
from fedbandits.learners.kernels.ridge import packed_size
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import (
    Clear,
    ContinualSum,
    Event,
    GaussianRelease,
    Parallel,
    total_mu,
)
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.person import person_cost
from fedbandits.privacy.rounding import require_room, rounding_constant
from fedbandits.privacy.statements import (
    IN_CLEAR,
    ITEMS_BOUNDED,
    NEVER_BACK,
    ON_A_CLOCK,
    OUTSIDE_THE_SERVER,
    SAME_ARRIVALS,
    SECURE_NOISE,
    USER_INTERACTION,
    USER_PERSON,
    WHO_COMES,
    exact_sums,
    first_records,
)
from fedbandits.systems.fclub.declare import FCLUB, Growing
from fedbandits.systems.fclub.kernels import Constants
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.servers.application import guide_of, sums_reader
from fedbandits.systems.servers.system import LATER, ServersPlan, check_homes

#: Kinds of a server's releases.
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
    #: The most that a protected record, L² + B² as B ≤ L here, or k records of a person move a sum.
    record_norm: float
    reach: float  # the variance of an entry of n - Nθ, as a multiple of an off-diagonal entry's
    most_clusters: int  # of a server
    prior_variance: float  # of every coordinate of θ before anything is known

    @property
    def schedule(self) -> Schedule:
        """Rounds of releases, and the most records in a release."""
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
        """Return the event that a record is charged for after some releases, by default all."""
        if self.sums is not None:
            return ContinualSum(self.sums, self.record_norm, releases)
        if self.deviation > 0.0:
            # A record is in one phase's sum alone. Records of a person in several phases move
            # their sums less than the same records in one phase.
            return Parallel((GaussianRelease(self.record_norm, self.deviation),))
        return Clear()

    def epsilon_spent(self, releases: int) -> float:
        """Return ε that the contents of a server's first releases cost, at the given δ."""
        return gaussian.epsilon_of(self.mu(releases), self.config.delta)


def make_plan(config: FCLUB, facts: ClusteredFacts, rounds: int) -> FCLUBPlan:
    """Make the plan; refuse more releases than noise is kept for."""
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


_COUNTS = f"The rounds of releases are public and depend on no data. {SAME_ARRIVALS}"
_COUNTS_OF_A_PERSON = (
    "The rounds of releases are public and depend on no data. Neighbours differ only in one user's "
    "recommended items and their rewards: the same users arrive, and rewards come, at the same "
    "times."
)
_APART = "A record is only in its own user's sums, so users' releases do not add up."
_SUMMED = "A user is in one server's sums alone, so servers' releases do not add up."
_ONCE = "A record is only in one phase's sum of one cluster, so releases do not add up."
_PARTITION = "For the contents alone: clusters stay as they are when the record changes."
_SELF = Limit(
    "a user's interactions, from that user's own server and from its other users",
    "The server sees them in clear. Its other users see them as far as they show in what that "
    "server recommends.",
)
_LATER = Limit(
    "the effect of a record on later recommendations on its server",
    "The server acts on its own raw records. The guarantee is for a fixed log, whose other records "
    "stay as they are.",
)
_MEMBERSHIP = Limit(
    "how many clusters a server has, and whose records are in which",
    "Clusters are found in the raw data of earlier phases, and one record can move a user.",
)
_WHOLE_CLUSTERS = (
    "For the contents alone: clusters stay as they are when the records of a user change."
)
_MANY = Limit(
    "all of a user's records together",
    "The guarantee is for one interaction: k records in one phase cost k times μ. Servers draw "
    "their noise independently: a person with n records at each of several costs √(Σ n²) times μ.",
)


def claim(plan: FCLUBPlan) -> PrivacyClaim:
    """Return the claim of a server's users towards all other parties, for a whole run."""
    delta, events = plan.config.delta, (plan.event(),) if plan.release_count else ()
    persons, mu = plan.constants.records_per_person > 0, total_mu(events)
    contents = gaussian.epsilon_of(mu, delta)
    exposed = math.isinf(mu) or (plan.releases == CLUSTERS and bool(events))
    interactive = plan.config.local_view == "released" or not events
    person = None
    if not persons and 0.0 < mu < math.inf:  # a user is a person, and comes again and again
        person = person_cost(plan.rounds / plan.facts.parties, mu, delta)
    same = _COUNTS_OF_A_PERSON if persons else _COUNTS
    return PrivacyClaim(
        unit=USER_PERSON if persons else USER_INTERACTION,
        from_whom=OUTSIDE_THE_SERVER,
        relation="replace-person" if persons else "replace-one",
        holds_for="nothing" if exposed else "interactive" if interactive else "fixed log",
        epsilon=math.inf if exposed else contents,
        epsilon_contents=contents,
        delta=delta if events else 0.0,
        mu=mu,
        conditional_on=(same, *plan.facts.public, *_conditions(plan, persons)),
        not_protected=_not_protected(plan, persons),
        events=events,
        person=person,
    )


def _conditions(plan: FCLUBPlan, persons: bool) -> tuple[str, ...]:
    if not plan.private:
        return ()
    by_cluster = plan.releases == CLUSTERS
    whose: tuple[str, ...] = (_ONCE, _PARTITION) if by_cluster else (_APART,)
    if persons:
        also = (_WHOLE_CLUSTERS,) if by_cluster else ()
        whose = (first_records(plan.constants.records_per_person), _SUMMED, *also)
    return (ITEMS_BOUNDED, *whose, SECURE_NOISE, NEVER_BACK, ON_A_CLOCK, exact_sums(plan.rounds))


def _not_protected(plan: FCLUBPlan, persons: bool) -> tuple[Limit, ...]:
    limits = [_SELF]
    if plan.release_count and not plan.private:
        limits.append(IN_CLEAR)
    if plan.release_count and plan.releases == CLUSTERS:
        limits.append(_MEMBERSHIP)
    if plan.private:
        limits += [_LATER] if plan.config.local_view == "raw" else []
        limits.append(WHO_COMES if persons else _MANY)
    return tuple(limits)


# ---------------------------------------------------------------- guide

_SERVER = (
    line("for each own user that comes:"),
    line("  recommend the item with the greatest score in the user's model", "* Decide"),
    line("  observe the reward; add the record to the user's sums", "* Observe"),
    line("  (a reward that will never come: close the decision)", "* LetGo"),
    line("when a phase ends:", "* EndRound"),
    line("  send the sums of users, or of clusters, under noise", "* EndRound", sends="Release"),
    line("  find clusters in own sums and in what all others have released", "* Others"),
    line("  if nothing is handed out: go on with what is known", "waiting Deadline"),
)
_GLOBAL = (
    line("collect what each server releases", "serving Release"),
    line("when all have come: hand each what the others have released", "serving Release",
         sends="Others"),
    line("if some are late: hand out the newest of each", "serving Deadline"),
)  # fmt: skip


def guide(plan: FCLUBPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    sums = sums_reader(plan, plan.size, off)
    return guide_of(
        plan, _SERVER, _GLOBAL,
        {
            "Release": Passage("a release", sums, releases=True),
            "Others": Passage("what others released", sums, releases=True),
        },
    )  # fmt: skip
