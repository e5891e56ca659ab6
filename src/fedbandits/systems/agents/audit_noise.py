"""Whether all that linear agents release has its planned noise, for an audit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.environments import Classification, Linear
from fedbandits.environments.base import Environment
from fedbandits.federation.messages import Message, unpack
from fedbandits.privacy.likelihood import stated_deviations, stated_pattern
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Key
from fedbandits.systems.agents.audit_contents import release_some, stated_scales
from fedbandits.systems.agents.audit_persons import facts_for
from fedbandits.systems.agents.config import AgentsConfig
from fedbandits.systems.agents.kernels.constants import Constants
from fedbandits.systems.agents.noise import gram_noise
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.base import PartiesReplicate, System
from fedbandits.systems.games import audit_key
from fedbandits.systems.noisy_releases import (
    CompiledNoise,
    Listener,
    PartiesNoise,
    compiled_numbers,
    parties_numbers,
    some_releases,
)

#: What a release stands for: it is taken off again.
_SUM = 3.0


def simulated_numbers(plan: AgentsPlan) -> NoisyNumbers:
    """All agents' releases as configured, by the code of the simulation."""
    constants, release = plan.constants, plan.release
    agents, size = plan.facts.parties, constants.release_size
    steps = some_releases(release.releases, agents * size, release)
    relative = stated_deviations(release, steps) / release.scale
    deviations = planned(plan, stated_scales(plan), relative)
    drawn = CompiledNoise(steps, release.releases, deviations, partial(_drawn, plan, steps))
    return compiled_numbers(drawn, f"{agents} agents", "agent", partial(_number, plan))


def planned(plan: AgentsPlan, scales: Floats, relative: Floats) -> Floats:
    """Deviations of all numbers, (agents, releases, size), as they are stated."""
    pattern = stated_pattern(plan.facts.models, plan.facts.dimension, gram_noise(plan.config))
    return scales[:, None, None] * relative[:, None] * pattern


def _number(plan: AgentsPlan, place: int) -> str:
    p = plan.constants.release_size // plan.facts.models
    model = "" if plan.facts.models == 1 else f" of model {place // p}"
    return f"number {place % p}{model}"


def _drawn(plan: AgentsPlan, steps: Ints, first: int, count: int) -> Floats:
    constants, agents = plan.constants, plan.facts.parties
    noise = np.zeros((count, agents, len(steps), constants.release_size))
    sums = np.full((len(steps), *constants.statistic_shape), _SUM)
    draws = np.zeros((min(plan.release.slots, int(steps[-1])), constants.release_size))
    draw_all(constants, steps, sums, draws, audit_key(2), first, noise)
    return noise - _SUM


@compiled
def draw_all(
    constants: Constants,
    steps: Ints,
    sums: Floats,
    draws: Floats,
    key: Key,
    first: int,
    released: Floats,
) -> None:
    """Run after run the releases of all agents, into ``released`` (runs, agents, steps, size)."""
    for run in range(released.shape[0]):
        for agent in range(released.shape[1]):
            noisy = released[run, agent]
            release_some(constants, agent, steps, sums, draws, key, first + run, noisy)


def small_world(plan: AgentsPlan) -> Environment:
    """Two agents, with a model an arm where the configured ones have that."""
    if plan.facts.models == 1:
        return Linear(agents=2, dim=2, arms=2)
    return Classification(agents=2, dataset="wine", components=2)


def secure_numbers(
    system: System[Any], config: AgentsConfig, world: Environment, rounds: int
) -> NoisyNumbers:
    """All that two agents release with the noise of a deployment.

    Parameters
    ----------
    system
        The system whose parties play.
    config
        The variant as two agents play it.
    world
        Where they play, see :func:`small_world`.
    rounds
        For how many rounds; by a schedule that is fixed in advance.
    """
    plan = system.plan(config, facts_for(config, world), rounds)
    steps = np.arange(1, plan.release.releases + 1)
    relative = stated_deviations(plan.release, steps) / plan.release.scale
    deviations = planned(plan, stated_scales(plan), relative)
    played = PartiesNoise(system, plan, world, deviations, _listener)
    return parties_numbers(played, "2 agents", "agent", partial(_number, plan))


def _listener(run: PartiesReplicate) -> Listener:
    return partial(_noise_of, run.players)


def _noise_of(players: list[Any], messages: list[Message]) -> list[tuple[int, int, Floats]]:
    """What agents released in this round, less the sums that they have by now."""
    found, names = [], [player.name for player in players]
    for message in messages:
        sent: Any = message
        # What is passed on was somebody else's release.
        if not hasattr(sent, "statistic") or getattr(sent, "origin", sent.sender) != sent.sender:
            continue
        if sent.sender in names:
            agent, size = names.index(sent.sender), len(sent.statistic) // 8
            # Peers keep a sum an estimator.
            exact = players[agent].state.statistic.reshape(-1, size)[getattr(sent, "estimator", 0)]
            found.append((agent, sent.release, unpack(sent.statistic, size) - exact))
    return found
