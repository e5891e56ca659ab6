"""Agents of a private learner in two neighbouring worlds, for an audit.

First the releases as configured, on one log with one record replaced by the furthest one. Then
whole agents, a few of them, with decisions of the learner itself and made-up contexts and rewards.
And all released numbers, whose noise is held against what is planned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.base import ContextualEnvironment, Environment
from fedbandits.privacy import running_sum
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.privacy.likelihood import (
    attacker_of,
    covariance_of,
    decoder,
    drawn_steps,
    stated_deviations,
)
from fedbandits.privacy.noise_check import KeptSimulated, NoisyNumbers
from fedbandits.privacy.protocol_check import ProtocolCheck
from fedbandits.privacy.shares import release_share
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.agents.audit_releases import listen_to_shares
from fedbandits.systems.agents.config import Every
from fedbandits.systems.aggregation import of_few
from fedbandits.systems.base import System
from fedbandits.systems.games import (
    AUDIT_SEED,
    ContentsGame,
    Look,
    ReplacedRecord,
    audit_key,
    drawn_targets,
    look_of,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases, sums_listener
from fedbandits.systems.party_games import SmallWorld
from fedbandits.systems.python_learners.audit.agents import PERIOD, RELEASES, moves_games
from fedbandits.systems.python_learners.audit.agents import messages_games as _messages_games
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.sums_audit import sums_checks
from fedbandits.systems.sums_audit.run import MEMBERS, SUMS, SumsAudited

#: Agents, where whole ones play, and releases that they make where they make all, at most.
_AGENTS, _MOST_PLAYED = 4, 24
#: Releases that a contents game looks at: their cost grows with the square of their number, what
#: they say of a record with its logarithm.
_MOST_RELEASES = 64
#: Numbers that are made in the time of one in compiled code, which makes them run by run.
_AT_ONCE = 8
#: What a release stands for in a check of noise; it is taken off again.
_SUM = 3.0


def games(system: System[Any], plan: LearnerPlan, environment: Environment) -> Sequence[Game]:
    """Return what an audit plays: the configured releases, then agents and their controller.

    Nothing where no noise protects anything.
    """
    if not plan.release.slots:
        return ()
    times = (False, True) if plan.release.releases > 1 else (False,)
    return [
        *(_contents_game(plan, late) for late in times),
        *_messages_games(_small(system, plan, environment)),
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
    if plan.secure is not None:
        listen = listen_to_shares
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
    short = msgspec.structs.replace(release, releases=count)
    longest = np.full(size, plan.record_bound / np.sqrt(size))
    # The two are as far apart as any, and no number is alike.
    pair, steps = (longest, -longest), np.arange(1, count + 1)
    record = ReplacedRecord(pair, attacker_of(release, pair, steps, np.ones(size)), late)

    def look(world: int, first: int, runs: int) -> Look:
        (drawn,) = drawn_targets(first, runs, max(1, count - 1))
        entered = record.entered(steps, record.batches(drawn))
        sums = entered[:, :, None] * pair[world]
        values = _released(short, sums, first) if honest == 1 else _summed(plan, count, sums, first)
        return look_of(record.attacker, values, entered)

    seen = f"{count} of {release.releases}" if count < release.releases else f"{count}"
    what, each = "releases", ""
    if plan.secure is not None:
        what, each = "secure sums", f", over what {honest} honest agents release"
    looks_at = f"contents of {seen} {what}, {size} numbers each{each}{record.words()}"
    # All runs are made at once, so a number takes a fraction of the time of one in a kernel.
    made = count * size * max(1, count // _AT_ONCE) * honest
    return ContentsGame(looks_at, count * size, look, made, late)


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


def _summed(plan: LearnerPlan, count: int, sums: Floats, first: int) -> Floats:
    """Return secure sums of honest agents, one of which has the sums, (runs, n, size)."""
    secure, step = plan.secure, plan.constants.step
    short = msgspec.structs.replace(plan.release, releases=count)
    total = np.zeros_like(sums)
    for agent in range(1 if secure is None else secure.honest):
        key, state = audit_key(first), running_sum.init(short, sums[:, 0].size)
        draw = partial(_drawn_by, key, agent, sums[:, 0].size)
        for k in range(count):
            own = sums[:, k].reshape(-1) if agent == 0 else np.zeros(sums[:, k].size)
            state, share = release_share(short, step, state, own, np.ones(own.size), draw)
            total[:, k] += step * share.reshape(sums[:, k].shape)
    return total


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
    agents, relative, secure = (
        plan.facts.parties,
        stated_deviations(plan.priced, steps),
        plan.secure,
    )
    if secure is not None:
        relative = relative / math.sqrt(secure.least_parties - secure.colluding)
    deviations = np.tile(relative[None, :, None], (agents, 1, plan.size))
    return StatedNoise(
        f"{agents} agents", "agent", deviations, covariance=covariance_of(plan.release, steps),
        weights=decoder(plan.release, steps),
        step=plan.constants.step if plan.secure is not None else 0.0,
    )  # fmt: skip


def _drawn(system: System[Any], plan: LearnerPlan, steps: Ints, run: int) -> tuple[Floats, Floats]:
    """Return the noise of releases of all agents, and the draws that they were given."""
    agents, size, last = plan.facts.parties, plan.size, int(steps[-1])
    supply = system.simulated_supplies(plan, None, AUDIT_SEED, run)
    sources = [KeptSimulated(supply("agent", place).noise) for place in range(agents)]
    short = msgspec.structs.replace(plan.release, releases=last)
    sums, pattern = np.full(agents * size, _SUM), np.ones(agents * size)
    state, noise = running_sum.init(short, sums.size), np.empty((len(steps), sums.size))
    unit = plan.constants.step if plan.secure is not None else 0.0

    def draw(step: int) -> Floats:
        return np.concatenate([own(step) for own in sources])

    for k in range(1, last + 1):
        if unit:
            state, share = release_share(short, unit, state, sums, pattern, draw)
            released = unit * share
        else:
            state, released = running_sum.release(short, state, sums, pattern, draw)
        noise[steps == k] = released - _SUM
    names = drawn_steps(plan.release, steps)
    given = np.stack([source.draws(size)[names - 1] for source in sources])
    return noise.reshape(len(steps), agents, size).swapaxes(0, 1), given
