"""Agents of a private learner in two neighbouring worlds, for an audit.

First the releases as configured, on one log with one record replaced by the furthest one. Then
whole agents, two of them, with decisions of the learner itself and made-up contexts and rewards.
And all released numbers, whose noise is held against what is planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.federation.messages import unpack
from fedbandits.privacy import running_sum
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import Attacker, attacker_of, covariance_of, stated_deviations
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, normals, uniforms
from fedbandits.systems.agents.audit_run import AgentsRun, Target
from fedbandits.systems.agents.config import Every
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import (
    AUDIT_SEED,
    ContentsGame,
    Look,
    Neighbours,
    ReplacedRecord,
    audit_key,
    contexts,
    drawn_targets,
    look_of,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases, sums_listener
from fedbandits.systems.party_games import MessagesGame, Released, SmallWorld
from fedbandits.systems.python_learners.contributions import RecordSum
from fedbandits.systems.python_learners.plan import LearnerPlan

#: Agents, releases, and rounds from release to release, where whole agents play.
_AGENTS, _RELEASES, _PERIOD = 2, 3, 4
#: Contexts that are tried, to find two interactions whose records are far apart.
_TRIED = 32
#: Releases that a contents game looks at: their cost grows with the square of their number, what
#: they say of a record with its logarithm.
_MOST_RELEASES = 64
#: What a release stands for in a check of noise; it is taken off again.
_SUM = 3.0


def games(system: System[Any], plan: LearnerPlan, environment: Environment) -> Sequence[Game]:
    """Return what an audit plays: the configured releases, then two agents and their controller.

    Nothing where no noise protects anything.
    """
    if not plan.release.slots:
        return ()
    times = (False, True) if plan.release.releases > 1 else (False,)
    return [
        *(_contents_game(plan, late) for late in times),
        *_messages_games(_small(system, plan, environment)),
    ]


def noise_checks(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> Sequence[NoisyNumbers]:
    """Return all that agents release: as configured, and as two of them with secure noise."""
    if not plan.release.slots:
        return ()
    small = _small(system, plan, environment)
    steps = np.arange(1, small.plan.release.releases + 1)
    listen = sums_listener(lambda agent, sent: agent.state.statistic)
    return [_simulated_numbers(system, plan), _stated(small.plan, steps).deployed(small, listen)]


def _small(system: System[Any], plan: LearnerPlan, environment: Environment) -> SmallWorld:
    """Return the same learner in the same world, for two agents that release a few times."""
    world: Any = environment
    if isinstance(environment, ContextualEnvironment):
        world = msgspec.structs.replace(world, agents=_AGENTS)
    # A record that is too long stops a run; an audit goes on to the others.
    config = msgspec.structs.replace(plan.config, schedule=Every(_PERIOD), out_of_bounds="clip")
    return SmallWorld(system, system.plan(config, world.facts, _PERIOD * _RELEASES + 1), world)


# ---------------------------------------------------------------- contents


def _contents_game(plan: LearnerPlan, late: bool) -> ContentsGame:
    """Attack the first releases: a longer mechanism's first ones are those of a shorter one."""
    release, size = plan.release, plan.size
    count = min(release.releases, _MOST_RELEASES)
    short = msgspec.structs.replace(release, releases=count)
    longest = np.full(size, plan.record_bound / np.sqrt(size))
    # The two are as far apart as any, and no number is alike.
    pair, steps = (longest, -longest), np.arange(1, count + 1)
    record = ReplacedRecord(pair, attacker_of(release, pair, steps, np.ones(size)), late)

    def look(world: int, first: int, runs: int) -> Look:
        (drawn,) = drawn_targets(first, runs, max(1, count - 1))
        entered = record.entered(steps, record.batches(drawn))
        values = _released(short, entered[:, :, None] * pair[world], first)
        return look_of(record.attacker, values, entered)

    seen = f"{count} of {release.releases}" if count < release.releases else f"{count}"
    looks_at = f"contents of {seen} releases of {size} numbers{record.words()}"
    return ContentsGame(looks_at, count * size, look, count**2 * size, late)


def _released(plan: ContinualPlan, sums: Floats, first: int) -> Floats:
    """Release sums, (runs, n, size): all runs at once, as one long vector."""
    count, n, size = sums.shape
    key, state = audit_key(first), running_sum.init(plan, count * size)
    noisy = np.empty((n, count, size))
    for k in range(n):
        state, released = running_sum.release(
            plan, state, sums[:, k].reshape(-1), np.ones(count * size),
            lambda step: normals(count * size, key, 0, step, Purpose.PRIVACY_NOISE),
        )  # fmt: skip
        noisy[k] = released.reshape(count, size)
    return np.ascontiguousarray(noisy.transpose(1, 0, 2))


# ---------------------------------------------------------------- whole agents


def _messages_games(small: SmallWorld) -> list[MessagesGame]:
    """Attack whole agents, on a fixed log and reacting; then with secure noise and any record."""
    return [
        _messages_game(small, "fixed log", "messages"),
        _messages_game(small, "interactive", "messages"),
        _messages_game(small, "fixed log", "messages with secure noise", secure=True),
    ]


def _messages_game(
    small: SmallWorld, neighbours: Neighbours, looks_at: str, secure: bool = False
) -> MessagesGame:
    plan: LearnerPlan = small.plan
    learner: Any = plan.learner
    fixed, agents = neighbours == "fixed log", plan.facts.parties
    # Whoever acts on releases alone has records that follow from them and from public facts.
    informed = fixed or not learner.sees_own_records()
    pairs = [_furthest_pair(plan, agent) for agent in range(agents)]

    def make(run: PartiesReplicate, number: int, agent: int, after: int) -> LearnersRun:
        key, target = audit_key(number), Target(agent, 1 + after)
        return LearnersRun(run, pairs[agent], target, fixed, informed, key)

    known = not (fixed and _tells_of_arms(plan))
    return MessagesGame(
        neighbours, f"{looks_at} of one drawn of {agents} agents in {plan.rounds} rounds", small,
        (agents, _PERIOD * (_RELEASES if secure else 1)), make, informed, secure,
        covariance_of(plan.release) if known else None,
    )  # fmt: skip


class _Interaction(NamedTuple):
    """A made-up interaction with the first arm, and what it adds to a sum."""

    context: Floats32  # (d,)
    reward: float
    record: Floats


class LearnersRun(AgentsRun):
    """Agents of a private learner; one interaction of one of them is replaced.

    The pair are interactions, and the other parameters those of :class:`.AgentsRun`. On a fixed log
    all arms of a decision set are alike: no decision changes a context or a reward.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        plan: Any = self.run.plan
        self._plan: LearnerPlan = plan
        self._maker, self._own = RecordSum(plan, self._target.agent), np.zeros(plan.size)

    def _knows_others(self, steps: Ints) -> Attacker:
        """Return who tells the two records with the first arm apart.

        With another arm the score is a linear statistic all the same: it tells no more of the
        records than is claimed.
        """
        pair, pattern = (self._pair[0].record, self._pair[1].record), np.ones(self._plan.size)
        return attacker_of(self._plan.release, pair, steps, pattern)

    def _contexts(self, agent: int, round_: int) -> Floats:
        facts = self._plan.facts
        columns = int(facts.features_shape[1])
        return contexts(self._key, agent, round_, facts.dimension, columns, facts.context_norm)

    def _reward(self, agent: int, round_: int, context: Floats32, arm: int) -> float:
        """Return the arm's reward: what matters is that other choices earn other rewards."""
        low, high = self._plan.facts.reward_range
        drawn = uniforms(self._plan.facts.arms, self._key, agent, round_, Purpose.REWARD)
        return float(low + (high - low) * drawn[0 if self._fixed else arm])

    def _observed(
        self, agent: int, round_: int, context: Floats32, arm: int, reward: float
    ) -> None:
        """Note the replaced record; the arm may be another one than was thought."""
        if self._replaces(agent, round_):
            self._own = self._maker.record("audit", context.astype(np.float64), arm, reward)

    def _others(self, world: int, round_: int) -> Floats:
        others: Floats = self.target.state.statistic - self._own
        return others

    def released(self, message: Any) -> Released:
        plan = self._plan
        return Released(message.release, unpack(message.statistic, plan.size) / plan.release.scale)


def _furthest_pair(plan: LearnerPlan, agent: int) -> tuple[_Interaction, _Interaction]:
    """Return those two of some interactions whose records are furthest apart."""
    tried = list(_some_interactions(plan, agent))
    records = np.array([each.record for each in tried])
    apart = np.linalg.norm(records[:, None] - records[None, :], axis=2)
    one, other = np.unravel_index(int(apart.argmax()), apart.shape)
    return tried[int(one)], tried[int(other)]


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


# ---------------------------------------------------------------- noise


def _simulated_numbers(system: System[Any], plan: LearnerPlan) -> NoisyNumbers:
    """Return all agents' releases as configured, with the noise that they bring to a simulation."""
    releases = plan.release.releases
    steps = some_releases(releases, plan.facts.parties * plan.size, plan.release)
    draw = partial(_drawn, system, plan, steps)
    return _stated(plan, steps).simulated(steps, releases, draw, "as simulated")


def _stated(plan: LearnerPlan, steps: Ints) -> StatedNoise:
    agents, relative = plan.facts.parties, stated_deviations(plan.release, steps)
    deviations = np.tile(relative[None, :, None], (agents, 1, plan.size))
    return StatedNoise(f"{agents} agents", "agent", deviations)


def _drawn(system: System[Any], plan: LearnerPlan, steps: Ints, first: int, count: int) -> Floats:
    agents, size, last = plan.facts.parties, plan.size, int(steps[-1])
    supplies = [
        system.simulated_supplies(plan, None, AUDIT_SEED, run)
        for run in range(first, first + count)
    ]
    brought = [supply("agent", place).noise for supply in supplies for place in range(agents)]
    short = msgspec.structs.replace(plan.release, releases=last)
    sums, pattern = np.full(len(brought) * size, _SUM), np.ones(len(brought) * size)
    state, noise = running_sum.init(short, sums.size), np.empty((len(steps), sums.size))
    for k in range(1, last + 1):
        state, released = running_sum.release(
            short, state, sums, pattern, lambda step: np.concatenate([own(step) for own in brought])
        )
        noise[steps == k] = released - _SUM
    return noise.reshape(len(steps), count, agents, size).transpose(1, 2, 0, 3)
