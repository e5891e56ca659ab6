"""Plan of a learner's agents: rounds, sizes and noise of releases; their claim and their guide."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import LearnerError
from fedbandits.facts import ContextualFacts
from fedbandits.federation.terms import Schedule
from fedbandits.learners.held import Guard
from fedbandits.learners.learner import Learner
from fedbandits.learners.private_learner import PrivateLearner
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import Clear, ContinualSum, Event, total_mu
from fedbandits.privacy.claims import Limit, PrivacyClaim
from fedbandits.privacy.continual import ContinualPlan, calibrated
from fedbandits.privacy.kernels import CAST_ROOM
from fedbandits.privacy.rounding import grid_step, require_room_for_vectors, rounding_constant
from fedbandits.privacy.shares import ShareNeeds, plan_grid, share_plan
from fedbandits.privacy.statements import (
    AGENT_INTERACTION,
    IN_CLEAR,
    NEVER_BACK,
    ON_A_CLOCK,
    OWN_RECORDS,
    SECURE_NOISE,
    a_person,
    at_several_agents,
    exact_sums,
)
from fedbandits.systems.agents.claim import ACTS, per_person, protections, sums_in
from fedbandits.systems.agents.noise import require_few
from fedbandits.systems.agents.plan import RecordBounds
from fedbandits.systems.agents.schedule import settled, sync_rounds
from fedbandits.systems.aggregation import SecureTotals, secure_totals
from fedbandits.systems.base import Plan
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.guide_of_sums import MEMBER, PSEUDOCODE, passages
from fedbandits.systems.secure_claim import claim_sums
from fedbandits.systems.weakened import without_supplies

#: Larger releases are a mistake: 512 MiB.
_LARGEST = 1 << 26
#: Share by which a record may be longer than its bound: contexts are float32, and a record is a
#: product of two of their numbers at most. Prices have room for it (fedbandits.privacy.rounding).
RECORD_ROOM = 2.0 * CAST_ROOM
#: A first release may wait for so large a share of the horizon.
_LATEST_FIRST = 0.05


class SumsNumbers(NamedTuple):
    """Numbers of a plan that secure sums depend on."""

    agents: int
    releases: int  # of an agent
    release_size: int  # numbers in a release
    step: float  # q, of the whole numbers that are added up


class LearnerPlan(Plan, frozen=True, kw_only=True):
    """Plan that all parties go by."""

    learner: type[Learner]  # the class of every agent's learner
    ends: Sequence[int] = ()  # the rounds, from 1, at whose end agents release
    size: int = 0  # numbers in a release; 0 where nothing is shared
    #: How often agents release, and under which noise: none for a learner that shares in clear.
    release: ContinualPlan = ContinualPlan("none", 0, 0.0)
    #: The mechanism that a record's price follows from: ``release``, or that of a secure sum.
    priced: ContinualPlan = ContinualPlan("none", 0, 0.0)
    secure: SecureTotals | None = None  # the numbers of secure sums; None where releases are seen
    #: The constant that rounds private records to a grid, on which sums of them are exact.
    rounding: float = 0.0
    record_bound: float = math.inf  # the largest norm of a private learner's record
    #: How many records a private release can be about that none before it was about; 0 for other
    #: learners.
    most_records: int = 0

    @property
    def schedule(self) -> Schedule:
        if not len(self.ends):
            return Schedule(rounds=self.rounds)
        return Schedule(
            rounds=self.rounds, releases=len(self.ends), ends=tuple(int(end) for end in self.ends),
            most_records=self.most_records,
        )  # fmt: skip

    @property
    def record_bounds(self) -> RecordBounds:
        """Bounds that contexts and rewards are held to."""
        low, high = self.facts.reward_range
        return RecordBounds(self.facts.context_norm, low, high, clips=False)

    @property
    def record_norm(self) -> float:
        """Distance by which one replaced record can move a sum of private records."""
        return 2.0 * self.record_bound

    @property
    def constants(self) -> SumsNumbers:
        """The numbers that secure sums depend on."""
        agents, releases = self.facts.parties, self.release.releases
        return SumsNumbers(agents, releases, self.size, grid_step(self.rounding))

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Names of the agents, in order."""
        return tuple(f"agent-{i}" for i in range(self.facts.parties))

    @property
    def most_sums(self) -> int:
        """Largest number of sums that a controller can send: each has somebody's new release."""
        return len(self.ends) * int(self.facts.parties)

    def event(self, releases: int | None = None) -> Event:
        """Return the event that prices a record after so many releases, by default all of them."""
        if self.priced.mechanism == "none":
            return Clear()
        return ContinualSum(self.priced, self.record_norm, releases)

    def epsilon_spent(self, releases: int) -> float:
        """Return ε that an agent's first ``releases`` releases cost, at the δ of all."""
        if not releases:
            return 0.0
        if self.priced.mechanism == "none":
            return math.inf
        return gaussian.epsilon_of(self.priced.mu(self.record_norm, releases), self.config.delta)

    def records_in(self, release: int) -> int:
        """Return how many records of one agent a release can be about."""
        return min(release * self.most_records, self.rounds) if self.most_records else self.rounds

    def deviation(self, newest: Sequence[int]) -> float:
        """Return the deviation of a sum's noise, given each release's number; 0 for none.

        Every number of the sum has it.
        """
        return math.hypot(*(_deviation(self.release, k) for k in newest if k))

    def make(self, agent: int) -> Learner:
        """Make the learner of an agent, before its first decision."""
        settings = {
            name: getattr(self.config, name)
            for name in self.config.__struct_fields__
            if name not in ("schedule", "aggregation")
        }
        return self.learner(self.facts, self.rounds, agent, **settings)


@functools.lru_cache(maxsize=1 << 15)
def _deviation(release: ContinualPlan, k: int) -> float:
    return release.deviation(k)


def make_plan(
    learner: type[Learner], config: Any, facts: ContextualFacts, rounds: int
) -> LearnerPlan:
    """Work out when agents release, how much, and under which noise.

    The release of a fresh learner must be an array of numbers; and there must not be more
    releases, or more records in one, than the noise can be calibrated for.
    """
    plan = LearnerPlan(config=config, facts=facts, rounds=rounds, learner=learner)
    if not learner.shares():
        return plan
    fresh = plan.make(0)
    if isinstance(fresh, PrivateLearner):
        return _private(plan, fresh)
    ends = sync_rounds(settled(config.schedule, rounds, facts.parties), rounds) or ()
    release = ContinualPlan("none", len(ends), 0.0)
    return msgspec.structs.replace(
        plan, ends=ends, size=released(fresh).size, release=release, priced=release
    )


def _private(plan: LearnerPlan, fresh: PrivateLearner) -> LearnerPlan:
    config, facts = plan.config, plan.facts
    bound, size = float(fresh.record_bound), _record_size(fresh)
    if not 0.0 < bound < math.inf:
        raise LearnerError(
            f"{type(fresh).__name__}.record_bound: given {bound}, allowed: a finite number above 0"
        )
    schedule = settled(config.schedule, plan.rounds, facts.parties)
    mu = gaussian.mu_of(config.epsilon, config.delta)
    secure = secure_totals(config.aggregation, facts.parties)
    eager = sync_rounds(schedule, plan.rounds) or ()
    most_noise = _own_part(_calibrated(len(eager), mu, bound), secure).largest_deviation()
    first = _first_useful_round(plan, size, bound, most_noise)
    ends = sync_rounds(schedule, plan.rounds, first) or ()
    total = _calibrated(len(ends), mu, bound)
    if secure is None:
        require_room_for_vectors(plan.rounds, size, len(ends), mu)
        grid = rounding_constant(plan.rounds, bound)
    else:
        # Each number of either of two records is off by half a step.
        needs = ShareNeeds(
            total, secure.honest, facts.parties, plan.rounds, bound, 2.0 * bound, math.sqrt(size),
            np.ones(size), config.delta,
        )  # fmt: skip
        grid = plan_grid(needs)
    return msgspec.structs.replace(
        plan, ends=ends, size=size, record_bound=bound, release=_own_part(total, secure),
        priced=total, secure=secure, rounding=grid,
        most_records=max(np.diff((0, *ends)).tolist(), default=plan.rounds),
    )  # fmt: skip


def _own_part(total: ContinualPlan, secure: SecureTotals | None) -> ContinualPlan:
    """Return how one agent releases: with all of the noise, or with a share of it."""
    return total if secure is None else share_plan(total, secure.honest)


def _calibrated(releases: int, mu: float, record_bound: float) -> ContinualPlan:
    require_few(releases, "release less often")
    return calibrated("toeplitz", releases, mu, 2.0 * record_bound)


def _first_useful_round(plan: LearnerPlan, size: int, bound: float, deviation: float) -> int:
    """Return the round by which a sum can stand out from its noise, from public facts alone.

    By round t M agents have told of M t records. If these lie evenly in all directions, their sum
    moves M t b/√size in each; its noise has deviation τ√M there.
    """
    meets = math.sqrt(size) * deviation / (math.sqrt(plan.facts.parties) * bound)
    return max(1, min(math.ceil(meets), int(_LATEST_FIRST * plan.rounds)))


def _record_size(fresh: PrivateLearner) -> int:
    """Count the numbers of a record: one is made of a context that is as long as any."""
    context = np.zeros(fresh.facts.dimension)
    context[0] = fresh.facts.context_norm
    return record_of(fresh, Guard(type(fresh)), context, 0, fresh.facts.reward_range[0]).size


def record_of(
    recorder: PrivateLearner, guard: Guard, context: Floats, arm: int, reward: float
) -> Floats:
    """Return the record of an interaction, (size,); refuse a method that leaves anything behind."""
    name, before = f"{type(recorder).__name__}.record", guard.held(recorder)
    values = as_numbers(recorder.record(context, arm, reward), name)
    if guard.held(recorder) != before:
        raise LearnerError(
            f"{name}: has changed the learner, its class or its module; a record must follow from "
            "its arguments alone, or the guarantee does not hold"
        )
    return values


def released(learner: Learner) -> Floats:
    """Return a learner's present release, (size,), if it is an array of finite numbers."""
    name = f"{type(learner).__name__}.release"
    values = as_numbers(learner.release(), name)
    if not np.isfinite(values).all():
        raise LearnerError(f"{name}: returned entries that are no numbers")
    return values


def as_numbers(returned: Any, name: str) -> Floats:
    """Check the numbers that a method of that name has returned; copy them as (size,) float64."""
    try:
        given = np.asarray(returned)
    except ValueError as error:
        raise LearnerError(f"{name}: must return an array of numbers: {error}") from None
    if given.dtype.kind not in "biuf":
        raise LearnerError(
            f"{name}: must return an array of real numbers, returned entries of the type "
            f"{given.dtype}"
        )
    values = np.array(given, np.float64).reshape(-1)
    if not 0 < values.size <= _LARGEST:
        raise LearnerError(f"{name}: returned {values.size:,} numbers, allowed: 1 to 2^26")
    return values


_PUBLIC = (
    "These are public: who takes part, how many rounds each plays, and record_bound.",
    "The rounds at whose end agents release are fixed in advance and public.",
)
_RECORD = (
    "The learner's record follows from its arguments alone, on a learner that has learned nothing. "
    "It may not change the learner, its class or its module. What its code keeps elsewhere, nobody "
    "can check."
)
_DECIDE = (
    "The learner's decide follows from its arguments and from what it has received. It may not "
    "change the learner, its class or its module. What its code keeps elsewhere, nobody can check."
)
_REFUSAL = "Every record of both neighbours keeps record_bound. If one does not, the run stops."
_LATER = Limit(
    "the effect of a record on later decisions of its own agent",
    "The agent learns from its own records at once. The guarantee is for a fixed log, whose other "
    "records stay as they are.",
)


def claim(plan: LearnerPlan) -> PrivacyClaim:
    """Return the claim of one agent for a whole run."""
    shares, in_clear = plan.release.releases > 0, plan.release.mechanism == "none"
    private = shares and not in_clear
    raw = private and plan.learner.sees_own_records()
    events = (plan.event(),) if shares else ()
    mu, delta = total_mu(events), plan.config.delta if private else 0.0
    epsilon = gaussian.epsilon_of(mu, delta) if private else mu
    one_noise = plan.secure is not None
    person = per_person(plan.facts, plan.rounds, mu, delta, one_noise) if private else None
    claimed = PrivacyClaim(
        unit=AGENT_INTERACTION,
        from_whom="everybody but the agent itself",
        relation="replace-one",
        holds_for="nothing" if math.isinf(mu) else "fixed log" if raw else "interactive",
        epsilon=epsilon,
        epsilon_contents=epsilon,
        delta=delta,
        mu=mu,
        conditional_on=_conditions(plan, raw) if private else plan.facts.public,
        not_protected=(
            OWN_RECORDS,
            *((IN_CLEAR,) if shares and in_clear else ()),
            *((_LATER,) if raw else ()),
            *((_several(one_noise) if person is None else a_person(one_noise),) if private else ()),
        ),
        events=events,
        person=person,
        one_noise=one_noise,
    )
    if plan.secure is None:
        return claimed
    return claim_sums(claimed, plan.secure, plan.facts.parties, "agents")


def _several(one_noise: bool) -> Limit:
    return Limit(
        "a person with several interactions",
        f"The guarantee is for one interaction. {at_several_agents(one_noise)}",
    )


def _conditions(plan: LearnerPlan, raw: bool) -> tuple[str, ...]:
    decide = () if raw else (_DECIDE,)
    refusal = (_REFUSAL,) if plan.config.out_of_bounds == "refuse" else ()
    return (
        *_PUBLIC, *plan.facts.public, _RECORD, *decide, *refusal, SECURE_NOISE, NEVER_BACK,
        exact_sums(plan.rounds), ON_A_CLOCK,
    )  # fmt: skip


_EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  learner.decide: choose an arm", "ready Decide"),
    line("  learner.observe: learn from the reward; add its record to the own sums",
         "ready Observe"),
    line("  (a reward that will never come: close the decision)", "ready LetGo"),
)  # fmt: skip
_AGENT = (
    *_EVERY_ROUND,
    line("  when a round of release ends: send what the learner shares", "ready EndRound"),
    line("  learner.receive: go on from the sum of all", "ready Total"),
)
_CONTROLLER = (
    line("collect the release of each agent", "serving AgentRelease"),
    line("when all have come: send their sum to all agents", "serving AgentRelease",
         sends="Total"),
    line("if some are late: send the sum of the newest ones", "serving Deadline"),
)  # fmt: skip


def guide(plan: LearnerPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    release = Passage("a release", sums_in(plan, off, "What {} shares"), releases=True)
    total = Passage("the sum of all", sums_in(plan, off, "What all share"), releases=True)
    clear = Guide(
        pseudocode={"agent": _AGENT, "controller": _CONTROLLER},
        passages={"AgentRelease": release, "Total": total},
        acts=ACTS,
        protections=protections(plan),
        without=without_supplies,
    )
    if plan.secure is None:
        return clear
    return clear._replace(
        pseudocode={"agent": (*_EVERY_ROUND, *MEMBER), **PSEUDOCODE},
        passages=passages(off, plan.constants.step, plan.size),
    )
