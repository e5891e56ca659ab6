"""The releases of linear agents as configured, for an audit: attacks, and the noise.

Each run attacks one agent and one model, both drawn. The attacker sees the releases that say all
there is to say of the record, and one more, drawn from all: noise may be missing in any.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.learners.kernels.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.likelihood import (
    attacker,
    drawn_steps,
    stated_pattern,
    telling_releases,
)
from fedbandits.privacy.noise_check import NoisyNumbers
from fedbandits.random import Key
from fedbandits.systems.agents.kernels.audit import draws_of_some, release_some, sum_some
from fedbandits.systems.agents.noise import budgets, gram_noise, release_plan
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    ReplacedRecord,
    audit_key,
    different_records,
    drawn_targets,
    look_of,
    opposite_records,
    packed_pair,
)
from fedbandits.systems.noisy_releases import StatedNoise, some_releases, stated_sums, sums_listener
from fedbandits.systems.party_games import SmallWorld

#: Releases up to which one more can be afforded: it takes the draws of all before it.
_MOST_DRAWN = 1024
#: The exact sum behind a release in a check of noise; the check takes it off again.
_SUM = 3.0


def stated_scales(plan: AgentsPlan) -> Floats:
    """Return the deviation s that every agent's own budget asks for, (agents,), worked out anew."""
    config, releases = plan.config, plan.release.releases
    given = budgets(config, plan.facts.parties)
    plans = {e: release_plan(config, releases, plan.record_norm, e) for e in set(given)}
    secure = plan.secure
    shares = 1 if secure is None else secure.least_parties - secure.colluding
    return np.array([plans[epsilon].scale for epsilon in given]) / math.sqrt(shares)


# ---------------------------------------------------------------- contents


def contents_games(plan: AgentsPlan) -> list[Game]:
    """Attack releases of the agents with the largest ε, which the claim goes by; then all others.

    First a record of the first batch, which is in all releases; then one of a batch that is drawn
    for every run: that noise is the same in two releases shows in their difference alone.
    """
    config = plan.config
    if not config.is_private or plan.release.releases == 0:
        return []
    bounds = plan.constants.dimension, config.context_bound, config.reward_bound
    scales = stated_scales(plan)
    least = scales == scales.min()
    first, late = opposite_records(*bounds, gram_noise(config)), different_records(*bounds)
    found: list[Game] = [_game(plan, np.flatnonzero(least), first, False)]
    if not least.all():
        found.append(_game(plan, np.flatnonzero(~least), first, False))
    if plan.release.releases > 1:
        found.append(_game(plan, np.flatnonzero(least), late, True))
    return found


class _Attacked(NamedTuple):
    """The releases that are attacked, and the agents that make them."""

    plan: AgentsPlan
    agents: Ints  # the attacked agent is drawn from these
    scales: Floats  # of every agent, relative to the attacker's
    steps: Ints  # releases that all runs look at
    drawn: int  # one more of so many is drawn, or 0
    record: ReplacedRecord


def _game(plan: AgentsPlan, agents: Ints, pair: tuple[Record, Record], late: bool) -> ContentsGame:
    release, config, scales = plan.priced, plan.config, stated_scales(plan)
    honest = 1 if plan.secure is None else plan.secure.honest
    steps, moved = telling_releases(release), packed_pair(pair)
    drawn = 0 if len(steps) == release.releases else min(release.releases, _MOST_DRAWN)
    if release.mechanism == "tree" and drawn:
        drawn = release.releases
    sees = attacker(release, moved, steps, gram_noise(config))
    record = ReplacedRecord(moved, sees, late, config.records_at_once)
    relative = scales * math.sqrt(honest) / release.scale
    attacked = _Attacked(plan, agents, relative, steps, drawn, record)
    count, size = len(steps), len(moved[0])
    seen = f"{count} of {release.releases}" if drawn else f"{release.releases}"
    more = " and a drawn one" if drawn else ""
    persons = f"{config.records_at_once} records of a person" if config.protects_persons else ""
    of = "" if plan.constants.models == 1 else ", in a drawn model"
    whose = "" if scales[agents[0]] == scales.min() else " of smaller budgets"
    what, each = "releases", ""
    if plan.secure is not None:
        what, each = "secure sums", f", over what {honest} honest agents release"
    looks_at = (
        f"contents of {seen} {what}{more}, {size} numbers each{each}; a drawn agent{whose} has the "
        f"record that differs{of}{record.words(persons)}"
    )
    made = (count + 1) * plan.constants.release_size * honest
    return ContentsGame(looks_at, count * size, partial(_look, attacked), made, late)


def _look(attacked: _Attacked, world: int, first: int, count: int) -> Look:
    steps, record = attacked.steps, attacked.record
    bounds = len(attacked.agents), attacked.plan.constants.models
    place, model, batch, drawn = drawn_targets(
        first, count, *bounds, max(1, int(steps[-1]) - 1), max(1, attacked.drawn)
    )
    agent, batch = attacked.agents[place], record.batches(batch)
    targets = np.stack([agent, model], axis=1)

    def released(at: Ints, key: Key) -> tuple[Floats, Floats]:
        entered = record.entered(at, batch)
        return _released(attacked.plan, at, entered, record.pair[world], targets, key, first)

    look = look_of(
        record.attacker, *released(np.tile(steps, (count, 1)), audit_key(0)), attacked.scales[agent]
    )
    if attacked.drawn:
        more = record.attacker.bare(*released(drawn[:, None] + 1, audit_key(1)))
        look = look._replace(others=look.others + more)
    return look


def _released(
    plan: AgentsPlan, at: Ints, entered: Floats, record: Floats, targets: Ints, key: Key,
    first: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the releases ``at`` (runs, n) of the targets, (runs, n, size), and ``entered``."""
    (count, places), constants = at.shape, plan.constants
    values = np.zeros((count, places, len(record)))
    draws = np.zeros((min(plan.release.slots, int(at.max())), constants.release_size))
    sums = np.zeros((places, *constants.statistic_shape))
    noisy = np.zeros((places, constants.release_size))
    for run, (agent, model) in enumerate(targets.tolist()):
        # The attacker knows the other records: their part is left out.
        sums[:, model] = entered[run, :, None] * record
        release_some(constants, agent, at[run], sums, draws, key, first + run, noisy)
        sums[:, model] = 0.0
        if plan.secure is not None:
            honest = plan.secure.honest
            sum_some(constants, agent, honest, at[run], sums, draws, key, first + run, noisy)
        values[run] = noisy.reshape(sums.shape)[:, model]
    return values, entered


# ---------------------------------------------------------------- noise


def simulated_numbers(plan: AgentsPlan) -> NoisyNumbers:
    """Return all agents' releases as configured, by the code of the simulation."""
    agents, release = plan.facts.parties, plan.release
    steps = some_releases(release.releases, agents * plan.constants.release_size, release)
    stated = _stated_noise(plan, steps, f"{agents} agents")
    return stated.simulated(steps, release.releases, partial(_drawn, plan, steps))


def played_numbers(small: SmallWorld, planned: int) -> list[NoisyNumbers]:
    """Return all that a few agents release: with the noise of a deployment, and with simulated.

    Their schedule must be fixed in advance. So many releases are ``planned`` of the variant.
    """
    steps = np.arange(1, small.plan.release.releases + 1)
    stated = _stated_noise(small.plan, steps, f"{small.plan.facts.parties} agents")
    listen = sums_listener(_exact)
    return [stated.deployed(small, listen, secure, planned) for secure in (True, False)]


def _stated_noise(plan: AgentsPlan, steps: Ints, who: str) -> StatedNoise:
    pattern = stated_pattern(plan.facts.models, plan.facts.dimension, gram_noise(plan.config))
    return stated_sums(
        who, "agent", plan.release, steps, stated_scales(plan), pattern, partial(_number, plan),
        plan.constants.step,
    )  # fmt: skip


def _number(plan: AgentsPlan, place: int) -> str:
    model, number = divmod(place, plan.constants.release_size // plan.facts.models)
    return f"number {number}{'' if plan.facts.models == 1 else f' of model {model}'}"


def _drawn(plan: AgentsPlan, steps: Ints, run: int) -> tuple[Floats, Floats]:
    """Return the noise of releases of all agents, and the draws in that noise."""
    constants, agents, names = plan.constants, plan.facts.parties, drawn_steps(plan.release, steps)
    noise = np.zeros((agents, len(steps), constants.release_size))
    given = np.zeros((agents, len(names), constants.release_size))
    sums = np.full((len(steps), *constants.statistic_shape), _SUM)
    slots = np.zeros((min(plan.release.slots, int(steps[-1])), constants.release_size))
    for agent in range(agents):
        release_some(constants, agent, steps, sums, slots, audit_key(2), run, noise[agent])
        draws_of_some(constants, agent, steps, names, audit_key(2), run, given[agent])
    return noise - _SUM, given


def _exact(agent: Any, sent: Any) -> Floats:
    """Return the sum that a release stands for; peers keep one an estimator."""
    sums = agent.state.statistic.reshape(-1, len(sent.statistic) // 8)
    exact: Floats = sums[getattr(sent, "estimator", 0)]
    return exact
