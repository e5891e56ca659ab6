"""Agents of a private learner in two neighbouring worlds, for an audit.

First the releases as configured, on one log with one record replaced by the furthest one. Then
whole agents, a few of them, with decisions of the learner itself and made-up contexts and rewards.
And all released numbers, whose noise is held against what is planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.privacy import running_sum
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    Attacker,
    attacker_of,
    covariance_of,
    drawn_steps,
)
from fedbandits.privacy.noise_check import KeptSimulated, NoisyNumbers
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.privacy.running_sum import ContinualState
from fedbandits.privacy.shares import release_share
from fedbandits.random import Key, Purpose, normals, uniforms
from fedbandits.systems.agents.audit_run import AgentsRun, Target
from fedbandits.systems.agents.config import Every
from fedbandits.systems.aggregation import of_few
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    AUDIT_SEED,
    ContentsGame,
    Neighbours,
    ReplacedRecord,
    audit_key,
    contexts,
    look_at_sums,
    stretched_records,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases, stated_sums, sums_listener
from fedbandits.systems.party_games import MessagesGame, SmallWorld, Targets, moves
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.python_learners.roles import RecordSum
from fedbandits.systems.sums_audit import sums_checks
from fedbandits.systems.sums_audit.run import MEMBERS, SUMS, SumsAudited

#: Releases, and rounds from release to release, where whole agents are attacked.
RELEASES, PERIOD = 3, 4
#: Contexts that are tried, to find two interactions with records far apart.
_TRIED = 32
#: Lengths of others' contexts, relative to the bound: so a longer one shows where they are scaled.
_OTHERS = 0.5
#: Agents, where whole ones play, and releases that they make where they make all, at most.
_AGENTS, _MOST_PLAYED = 4, 24
#: Releases that a contents game looks at: their cost grows with the square of their number, what
#: they say of a record with its logarithm.
_MOST_RELEASES = 64
#: Numbers that are made in the time of one in compiled code, which makes them run by run.
_AT_ONCE = 8
#: The exact sum behind a release in a check of noise; the check takes it off again.
_SUM = 3.0


def games(system: System[Any], plan: LearnerPlan, environment: Environment) -> Sequence[Game]:
    """Return the games of an audit: the configured releases, then agents and their controller.

    Nothing where no noise protects anything.
    """
    if not plan.release.slots:
        return ()
    times = (False, True) if plan.release.releases > 1 else (False,)
    return [
        *(_contents_game(plan, late) for late in times),
        *messages_games(_small(system, plan, environment)),
        *moves_games(_making_all(system, plan, environment)),
    ]


def noise_checks(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> Sequence[NoisyNumbers]:
    """Return all that agents release: as configured, and as a few of them play."""
    if not plan.release.slots:
        return ()
    small, planned = _making_all(system, plan, environment), plan.release.releases
    stated = _stated(small.plan, np.arange(1, small.plan.release.releases + 1))
    listen = sums_listener(lambda agent, sent: agent.state.statistic)
    return [
        _simulated_numbers(system, plan),
        *(stated.deployed(small, listen, secure, planned) for secure in (True, False)),
    ]


def protocol_checks(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> Sequence[ProtocolCheck]:
    """Return checks of secure sums beside their noise; none where releases are seen."""
    if plan.secure is None or not plan.release.slots:
        return ()
    small = _small(system, plan, environment, 1, SUMS, MEMBERS)
    return sums_checks(SumsAudited(system, plan, small, "agent", covariance_of(small.plan.priced)))


def _making_all(system: System[Any], plan: LearnerPlan, environment: Environment) -> SmallWorld:
    """Return agents that make all releases of a plan, if not too many, one a round."""
    return _small(system, plan, environment, 1, min(plan.release.releases, _MOST_PLAYED))


def _small(
    system: System[Any], plan: LearnerPlan, environment: Environment, period: int = PERIOD,
    releases: int = RELEASES, agents: int = _AGENTS,
) -> SmallWorld:  # fmt: skip
    """Return the same learner in the same world, for agents that release after every period."""
    world: Any = environment
    if isinstance(environment, ContextualEnvironment):
        world = msgspec.structs.replace(world, agents=agents)
    # A record that is too long stops a run; an audit goes on to the others.
    config = msgspec.structs.replace(
        plan.config, schedule=Every(period), out_of_bounds="clip",
        aggregation=of_few(plan.config.aggregation, plan.facts.parties, world.facts.parties),
    )  # fmt: skip
    return SmallWorld(system, system.plan(config, world.facts, period * releases + 1), world)


# ---------------------------------------------------------------- contents


def _contents_game(plan: LearnerPlan, late: bool) -> ContentsGame:
    """Attack the first releases: a longer mechanism's first ones are those of a shorter one."""
    release, size = plan.priced, plan.size
    honest = 1 if plan.secure is None else plan.secure.honest
    count = min(release.releases, _MOST_RELEASES)
    longest = np.full(size, plan.record_bound / np.sqrt(size))
    # The two are as far apart as any, and no number is alike.
    pair, steps = (longest, -longest), np.arange(1, count + 1)
    record = ReplacedRecord(pair, attacker_of(release, pair, steps, np.ones(size)), late)

    seen = f"{count} of {release.releases}" if count < release.releases else f"{count}"
    what, each = "releases", ""
    if plan.secure is not None:
        what, each = "secure sums", f", over what {honest} honest agents release"
    looks_at = f"contents of {seen} {what}, {size} numbers each{each}{record.words()}"
    # All runs are made at once, so a number takes a fraction of the time of one in a kernel.
    made = count * size * max(1, count // _AT_ONCE) * honest
    look = look_at_sums(record, steps, partial(_released, plan, count))
    return ContentsGame(looks_at, count * size, look, made, late)


def _released(plan: LearnerPlan, count: int, sums: Floats, first: int) -> Floats:
    """Return releases, or secure sums of honest agents, of which one has the sums (runs, n, size).

    All runs are made at once, as one long vector.
    """
    honest, key = 1 if plan.secure is None else plan.secure.honest, audit_key(first)
    short, total = msgspec.structs.replace(plan.release, releases=count), np.zeros_like(sums)
    size = sums[:, 0].size
    for agent in range(honest):
        state, draw = running_sum.init(short, size), partial(_drawn_by, key, agent, size)
        for k in range(count):
            own = sums[:, k].reshape(-1) if agent == 0 else np.zeros(size)
            state, values = _release(plan, short, state, own, draw)
            total[:, k] += values.reshape(sums[:, k].shape)
    return total


def _release(
    plan: LearnerPlan, short: ContinualPlan, state: ContinualState, sums: Floats,
    draw: Callable[[int], Floats],
) -> tuple[ContinualState, Floats]:  # fmt: skip
    """Make the next release, or the next share of a secure sum, in the units of records."""
    pattern, step = np.ones(sums.size), plan.constants.step
    if plan.secure is None:
        return running_sum.release(short, state, sums, pattern, draw)
    state, share = release_share(short, step, state, sums, pattern, draw)
    return state, step * share


def _drawn_by(key: Key, agent: int, size: int, step: int) -> Floats:
    """Draw the noise of an agent's release."""
    return normals(size, key, agent, step, Purpose.PRIVACY_NOISE)


# ---------------------------------------------------------------- noise


def _simulated_numbers(system: System[Any], plan: LearnerPlan) -> NoisyNumbers:
    """Return all agents' releases as configured, with the noise that they bring to a simulation."""
    releases = plan.release.releases
    steps = some_releases(releases, plan.facts.parties * plan.size, plan.release)
    draw = partial(_drawn, system, plan, steps)
    return _stated(plan, steps).simulated(steps, releases, draw, "as simulated")


def _stated(plan: LearnerPlan, steps: Ints) -> StatedNoise:
    agents, secure = plan.facts.parties, plan.secure
    honest = 1 if secure is None else secure.least_parties - secure.colluding
    scales = np.full(agents, plan.priced.scale / math.sqrt(honest))
    return stated_sums(
        f"{agents} agents", "agent", plan.priced, steps, scales, np.ones(plan.size),
        step=0.0 if secure is None else plan.constants.step,
    )  # fmt: skip


def _drawn(system: System[Any], plan: LearnerPlan, steps: Ints, run: int) -> tuple[Floats, Floats]:
    """Return the noise of releases of all agents, and the draws that they were given."""
    agents, size, last = plan.facts.parties, plan.size, int(steps[-1])
    supply = system.simulated_supplies(plan, None, AUDIT_SEED, run)
    sources = [KeptSimulated(supply("agent", place).noise) for place in range(agents)]
    short = msgspec.structs.replace(plan.release, releases=last)
    sums = np.full(agents * size, _SUM)
    state, noise = running_sum.init(short, sums.size), np.empty((len(steps), sums.size))

    def draw(step: int) -> Floats:
        return np.concatenate([own(step) for own in sources])

    for k in range(1, last + 1):
        state, released = _release(plan, short, state, sums, draw)
        noise[steps == k] = released - _SUM
    names = drawn_steps(plan.release, steps)
    given = np.stack([source.draws(size)[names - 1] for source in sources])
    return noise.reshape(len(steps), agents, size).swapaxes(0, 1), given


# ---------------------------------------------------------------- whole agents


def messages_games(small: SmallWorld) -> list[MessagesGame]:
    """Attack whole agents, on a fixed log and reacting; then with secure noise and any record."""
    return [
        _messages_game(small, "fixed log", "messages"),
        _messages_game(small, "interactive", "messages"),
        _messages_game(small, "fixed log", "messages with secure noise", secure=True),
    ]


def moves_games(small: SmallWorld) -> list[Game]:
    """Measure how far a record moves all releases, within its bounds and beyond."""
    told, words = _tells_of_arms(small.plan), f"{small.plan.release.releases} releases"
    neighbours: Neighbours = "interactive" if told else "fixed log"
    stretched = f"{words}, a context beyond its bound,"
    return moves(
        _messages_game(small, neighbours, words),
        _messages_game(small, neighbours, stretched, pair_of=_stretched_pair),
    )


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, looks_at: str, secure: bool = False,
    pair_of: Callable[[LearnerPlan, int], tuple[_Interaction, _Interaction]] | None = None,
) -> MessagesGame:  # fmt: skip
    plan: LearnerPlan = small.plan
    learner: Any = plan.learner
    fixed, agents = neighbours == "fixed log", plan.facts.parties
    # Whoever acts on releases alone has records that follow from them and from public facts.
    informed = fixed or not learner.sees_own_records()
    pairs = [(pair_of or _furthest_pair)(plan, agent) for agent in range(agents)]
    early = plan.rounds - 1 if pair_of or secure else PERIOD

    def make(run: PartiesReplicate, number: int, targets: Targets) -> LearnersRun:
        replaced = [Target(agent, 1 + after) for agent, after in targets]
        return LearnersRun(run, pairs, replaced, fixed, informed, audit_key(number))

    known = not (fixed and _tells_of_arms(plan))
    looks_at = looks_at if plan.secure is None else f"sums by {looks_at}"
    return MessagesGame(
        neighbours, f"{looks_at} of one drawn of {agents} agents in {plan.rounds} rounds", small,
        (agents, min(early, plan.rounds - 1)), make, informed, secure,
        covariance_of(plan.priced) if known else None,
    )  # fmt: skip


class _Interaction(NamedTuple):
    """A made-up interaction with the first arm, and the record of that interaction in a sum."""

    context: Floats32  # (d,)
    reward: float
    record: Floats


class LearnersRun(AgentsRun):
    """Agents of a private learner; one interaction of some of them is replaced.

    ``pairs`` are interactions, a pair an agent. The other parameters are those of
    :class:`.AgentsRun`. On a fixed log all arms of a decision set are alike: no decision changes a
    context or a reward.
    """

    def __init__(
        self, run: PartiesReplicate, pairs: Sequence[tuple[_Interaction, _Interaction]],
        targets: Sequence[Target], *others: Any,
    ) -> None:  # fmt: skip
        super().__init__(run, pairs[targets[0].agent], targets, *others)
        plan: Any = self.run.plan
        self._pairs = pairs
        self._plan: LearnerPlan = plan
        self._maker, self._own = RecordSum(plan, self._target.agent), np.zeros(plan.size)

    def _knows_others(self, steps: Ints) -> Attacker:
        """Return the attacker that tells the two records with the first arm apart.

        With another arm the score is a linear statistic all the same: it tells no more of the
        records than is claimed.
        """
        pair, pattern = (self._pair[0].record, self._pair[1].record), np.ones(self._plan.size)
        return attacker_of(self._plan.priced, pair, steps, pattern)

    def _pair_of(self, agent: int) -> tuple[_Interaction, _Interaction]:
        return self._pairs[agent]

    def _contexts(self, agent: int, round_: int) -> Floats:
        facts = self._plan.facts
        columns = int(facts.features_shape[1])
        bound = _OTHERS * facts.context_norm
        return contexts(self._key, agent, round_, facts.dimension, columns, bound)

    def _paid(self, reward: float) -> float:
        return reward

    def _reward(self, agent: int, round_: int, context: Floats32, arm: int) -> float:
        """Return the arm's reward: other choices earn other rewards."""
        low, high = self._plan.facts.reward_range
        drawn = uniforms(self._plan.facts.arms, self._key, agent, round_, Purpose.REWARD)
        return float(low + (high - low) * drawn[0 if self._fixed else arm])

    def _observed(
        self, agent: int, round_: int, context: Floats32, arm: int, reward: float
    ) -> None:
        """Note the replaced record of the first target: the arm may not be the expected one."""
        if agent == self._target.agent and self._replaces(agent, round_):
            self._own = self._maker.record("audit", context.astype(np.float64), arm, reward)

    def _others(self, world: int, round_: int) -> Floats:
        others: Floats = self.target.state.statistic - self._own
        return others

    def _deviations(self, agent: int) -> Floats:
        plan = self._plan
        honest = 1 if plan.secure is None else plan.secure.honest
        return np.full(plan.size, plan.priced.scale / math.sqrt(honest))


def _furthest_pair(plan: LearnerPlan, agent: int) -> tuple[_Interaction, _Interaction]:
    """Return the two of some interactions with the records that are furthest apart.

    Of those that are as far apart as any, their contexts are furthest apart: a learner may act on
    contexts that its records say nothing of.
    """
    tried = list(_some_interactions(plan, agent))
    apart = _distances(np.array([each.record for each in tried]))
    contexts_apart = _distances(np.array([each.context for each in tried]))
    as_far = apart >= apart.max() * (1.0 - 1e-9)
    one, other = np.unravel_index(int(np.where(as_far, contexts_apart, -1.0).argmax()), apart.shape)
    return tried[int(one)], tried[int(other)]


def _distances(points: Floats) -> Floats:
    return np.asarray(np.linalg.norm(points[:, None] - points[None, :], axis=2))


def _stretched_pair(plan: LearnerPlan, agent: int) -> tuple[_Interaction, _Interaction]:
    """Return two interactions, one with a short context, one with a context beyond its bound.

    What they add is for the parties to say: no learner may have seen them before.
    """
    del agent
    facts, unknown = plan.facts, np.zeros(plan.size)
    pair = stretched_records(facts.dimension, facts.context_norm, 1.0)
    short, far = (found.context.astype(np.float32) for found in pair)
    low, high = facts.reward_range
    return _Interaction(short, low, unknown), _Interaction(far, high, unknown)


def _tells_of_arms(plan: LearnerPlan) -> bool:
    """Tell whether some record depends on the arm: then no log is fixed, for agents choose arms."""
    maker = RecordSum(plan, 0)

    def record(one: _Interaction, arm: int) -> Floats:
        return maker.record("audit", one.context.astype(np.float64), arm, one.reward)

    return any(
        not np.array_equal(record(one, arm), one.record)
        for one in _some_interactions(plan, 0)
        for arm in range(1, int(plan.facts.arms))
    )


def _some_interactions(plan: LearnerPlan, agent: int) -> Iterator[_Interaction]:
    maker, facts = RecordSum(plan, agent), plan.facts
    drawn = contexts(audit_key(0), 0, 0, facts.dimension, _TRIED, facts.context_norm)
    for context in drawn.astype(np.float32).T:
        for reward in facts.reward_range:
            record = maker.record("audit", context.astype(np.float64), 0, reward)
            yield _Interaction(context, reward, record)
