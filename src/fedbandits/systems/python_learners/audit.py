"""Agents of a private learner in two neighbouring worlds, for an audit.

First the releases as configured, on one log with one record replaced by the furthest one. Then
whole agents, two of them, with decisions of the learner itself and made-up contexts and rewards.
And all released numbers, whose noise is held against what is planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.federation.messages import Message, unpack
from fedbandits.privacy import running_sum
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import Attacker, attacker_of, stated_deviations
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Purpose, normals
from fedbandits.systems.agents.config import Every
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import AUDIT_SEED, ContentsGame, Look, audit_key, drawn_targets
from fedbandits.systems.noisy_releases import (
    CompiledNoise,
    Listener,
    PartiesNoise,
    compiled_numbers,
    parties_numbers,
    some_releases,
)
from fedbandits.systems.paired_parties import covariance_of
from fedbandits.systems.party_games import (
    PARTY_RUNS,
    SECURE_RUNS,
    MessagesGame,
    play_parties,
)
from fedbandits.systems.python_learners.audit_run import (
    LearnersRun,
    Setting,
    furthest_pair,
    tells_of_arms,
)
from fedbandits.systems.python_learners.plan import LearnerPlan

#: Agents, releases, and rounds from release to release, where whole agents play.
_AGENTS, _RELEASES, _PERIOD = 2, 3, 4
#: Releases that a contents game looks at: their cost grows with the square of their number, what
#: they say of a record with its logarithm.
_MOST_RELEASES = 64
#: What a release stands for in a check of noise; it is taken off again.
_SUM = 3.0


def games(system: System[Any], plan: LearnerPlan, environment: Environment) -> Sequence[Game]:
    """What an audit plays: the configured releases, then two agents and their controller.

    Nothing where no noise protects anything.
    """
    if not plan.release.slots:
        return ()
    first = _contents_game(plan, late=False)
    late = [_contents_game(plan, late=True)] if plan.release.releases > 1 else []
    return [first, *late, *_messages_games(system, plan, environment)]


def noise_checks(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> Sequence[NoisyNumbers]:
    """All that agents release: as configured, and as two of them with the noise of a deployment."""
    if not plan.release.slots:
        return ()
    small, world = _small(system, plan, environment)
    return [_simulated_numbers(system, plan), _secure_numbers(system, small, world)]


def _small(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> tuple[LearnerPlan, Environment]:
    """The same learner in the same world, for two agents that release a few times."""
    world: Any = environment
    if isinstance(environment, ContextualEnvironment):
        world = msgspec.structs.replace(world, agents=_AGENTS)
    # A record that is too long stops a run; an audit goes on to the others.
    config = msgspec.structs.replace(plan.config, schedule=Every(_PERIOD), out_of_bounds="clip")
    small: LearnerPlan = system.plan(config, world.facts, _PERIOD * _RELEASES + 1)
    return small, world


# ---------------------------------------------------------------- contents


class _Contents(NamedTuple):
    """Releases as configured, and who looks at them."""

    plan: LearnerPlan
    steps: Ints  # releases, from 1
    pair: tuple[Floats, Floats]  # a record, and the one furthest from it; no number is alike
    attacker: Attacker
    late: bool


def _contents_game(plan: LearnerPlan, late: bool) -> ContentsGame:
    """The first releases: a longer mechanism's first ones are those of a shorter one."""
    release, size = plan.release, plan.size
    count = min(release.releases, _MOST_RELEASES)
    short = msgspec.structs.replace(release, releases=count)
    longest = np.full(size, plan.record_bound / np.sqrt(size))
    pair, steps = (longest, -longest), np.arange(1, count + 1)
    sees = attacker_of(release, pair, steps, np.ones(size))
    contents = _Contents(msgspec.structs.replace(plan, release=short), steps, pair, sees, late)
    which = ", a record of a drawn batch" if late else ""
    seen = f"{count} of {release.releases}" if count < release.releases else f"{count}"
    looks_at = f"contents of {seen} releases of {size} numbers{which}"
    return ContentsGame(looks_at, count * size, partial(_look, contents), count**2 * size, late)


def _look(contents: _Contents, world: int, first: int, count: int) -> Look:
    n, record = len(contents.steps), contents.pair[world]
    batch = np.ones(count, np.int64)
    if contents.late:
        batch = drawn_targets(first, count, n - 1)[0] + 2
    entered = (contents.steps >= batch[:, None]).astype(np.float64)
    values = _released(contents.plan, entered[:, :, None] * record, first)
    scores = contents.attacker.scores(values, entered, np.ones(count))
    return Look(values.reshape(count, -1), scores, contents.attacker.bare(values, entered))


def _released(plan: LearnerPlan, sums: Floats, first: int) -> Floats:
    """What is released of sums, (runs, n, size): all runs at once, as one long vector."""
    count, n, size = sums.shape
    key, state = audit_key(first), running_sum.init(plan.release, count * size)
    noisy = np.empty((n, count, size))
    for k in range(n):
        state, released = running_sum.release(
            plan.release, state, sums[:, k].reshape(-1), np.ones(count * size),
            lambda step: normals(count * size, key, 0, step, Purpose.PRIVACY_NOISE),
        )  # fmt: skip
        noisy[k] = released.reshape(count, size)
    return np.ascontiguousarray(noisy.transpose(1, 0, 2))


# ---------------------------------------------------------------- whole agents


def _messages_games(
    system: System[Any], plan: LearnerPlan, environment: Environment
) -> list[MessagesGame]:
    """On a fixed log, and reacting; then a record of any time, with the noise of a deployment."""
    small, world = _small(system, plan, environment)
    pairs = [furthest_pair(small, agent) for agent in range(small.facts.parties)]
    setting = Setting(small, world, pairs, first=1, last=_PERIOD)
    later = setting._replace(last=_PERIOD * _RELEASES)
    return [
        _messages_game(system, setting, "fixed log", "messages"),
        _messages_game(system, setting, "interactive", "messages"),
        _messages_game(system, later, "fixed log", "messages with secure noise", secure=True),
    ]


def _messages_game(
    system: System[Any], setting: Setting, neighbours: Any, looks_at: str, secure: bool = False
) -> MessagesGame:
    plan, world = setting.plan, setting.world
    fixed = neighbours == "fixed log"
    learner: Any = plan.learner
    # Whoever acts on releases alone has records that follow from them and from public facts.
    informed = fixed or not learner.sees_own_records()
    agents = plan.facts.parties
    known = not secure and not (fixed and tells_of_arms(plan))

    def begin(run: int) -> LearnersRun:
        agent, after = drawn_targets(run, 1, agents, setting.last - setting.first + 1)
        played = play_parties(system, plan, world, run, secure)
        target = int(agent[0]), setting.first + int(after[0])
        return LearnersRun(played, setting, target, fixed, informed, run)

    return MessagesGame(
        neighbours, f"{looks_at} of one drawn of {agents} agents in {plan.rounds} rounds",
        plan.rounds, begin, gaussian=informed, runs=SECURE_RUNS if secure else PARTY_RUNS,
        covariance=covariance_of(plan.release) if known else None,
    )  # fmt: skip


# ---------------------------------------------------------------- noise


def _simulated_numbers(system: System[Any], plan: LearnerPlan) -> NoisyNumbers:
    """All agents' releases as configured, with the noise that they bring to a simulation."""
    agents, size = plan.facts.parties, plan.size
    steps = some_releases(plan.release.releases, agents * size, plan.release)
    deviations = np.tile(stated_deviations(plan.release, steps)[None, :, None], (agents, 1, size))
    drawn = CompiledNoise(
        steps, plan.release.releases, deviations, partial(_drawn, system, plan, steps)
    )
    who = f"{agents} agents"
    return compiled_numbers(drawn, who, "agent", _number, "as simulated")


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


def _number(place: int) -> str:
    return f"number {place}"


def _secure_numbers(system: System[Any], plan: LearnerPlan, world: Environment) -> NoisyNumbers:
    steps, agents = np.arange(1, plan.release.releases + 1), plan.facts.parties
    deviations = np.tile(
        stated_deviations(plan.release, steps)[None, :, None], (agents, 1, plan.size)
    )
    played = PartiesNoise(system, plan, world, deviations, _listener)
    return parties_numbers(played, f"{agents} agents", "agent", _number)


def _listener(run: PartiesReplicate) -> Listener:
    return partial(_noise_of, run.players)


def _noise_of(players: list[Any], messages: list[Message]) -> list[tuple[int, int, Floats]]:
    """What agents released in this round, less the sums that they have by now."""
    names, found = [player.name for player in players], []
    for message in messages:
        sent: Any = message
        if message.sender in names:
            agent = names.index(message.sender)
            exact = players[agent].state.statistic
            found.append((agent, sent.release, unpack(sent.statistic, exact.size) - exact))
    return found
