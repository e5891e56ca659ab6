"""The releases of linear agents as configured, with one record replaced, for an audit.

Each run attacks one agent and one model, both drawn. The attacker sees the releases that say all
there is to say of the record, and one more, drawn from all: noise may be missing in any.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.learners.ridge import Record
from fedbandits.privacy.auditing import Game
from fedbandits.privacy.kernels import TREE, draw_slot
from fedbandits.privacy.likelihood import Attacker, attacker, telling_releases
from fedbandits.random import Key, Purpose, fill_normal
from fedbandits.systems.agents.noise import budgets, gram_noise, release_plan
from fedbandits.systems.agents.plan import AgentsPlan, Constants
from fedbandits.systems.agents.play import simulate_release
from fedbandits.systems.games import (
    ContentsGame,
    Look,
    audit_key,
    different_records,
    drawn_targets,
    opposite_records,
    packed_record,
)

_NOISE = int(Purpose.PRIVACY_NOISE)
#: Releases up to which one more can be afforded: it takes the draws of all before it.
_MOST_DRAWN = 1024


def stated_scales(plan: AgentsPlan) -> Floats:
    """The deviation s that every agent's own budget asks for, (agents,), worked out anew."""
    config, releases = plan.config, plan.release.releases
    given = budgets(config, plan.facts.parties)
    plans = {e: release_plan(config, releases, plan.record_norm, e) for e in set(given)}
    return np.array([plans[epsilon].scale for epsilon in given])


def contents_games(plan: AgentsPlan) -> list[Game]:
    """Releases of the agents with the largest ε, which the claim goes by; then of all others.

    First a record of the first batch, which is in all releases; then one of a batch that is drawn
    for every run: that noise is the same in two releases shows in their difference alone.
    """
    config = plan.config
    if not config.is_private or plan.release.releases == 0:
        return []
    bounds = plan.constants.dimension, config.context_bound, config.reward_bound
    unequal = gram_noise(config)
    scales = stated_scales(plan)
    least = scales == scales.min()
    first, late = opposite_records(*bounds, unequal), different_records(*bounds)
    found: list[Game] = [_game(plan, np.flatnonzero(least), first, False)]
    if not least.all():
        found.append(_game(plan, np.flatnonzero(~least), first, False))
    if plan.release.releases > 1:
        found.append(_game(plan, np.flatnonzero(least), late, True))
    return found


class _Setting(NamedTuple):
    """What is attacked, and by whom."""

    constants: Constants
    agents: Ints  # from whom the attacked one is drawn
    scales: Floats  # of every agent, relative to the attacker's
    steps: Ints  # releases that all runs look at
    drawn: int  # one more of so many is drawn, or 0
    late: bool
    at_once: int  # records that are replaced: 1, or k of a person
    pair: tuple[Floats, Floats]
    attacker: Attacker
    slots: int


def _game(plan: AgentsPlan, agents: Ints, pair: tuple[Record, Record], late: bool) -> ContentsGame:
    release, constants, scales = plan.release, plan.constants, stated_scales(plan)
    steps = telling_releases(release)
    moved = packed_record(pair[0]), packed_record(pair[1])
    drawn = 0 if len(steps) == release.releases else min(release.releases, _MOST_DRAWN)
    if release.mechanism == "tree" and drawn:
        drawn = release.releases
    setting = _Setting(
        constants, agents, scales / release.scale, steps, drawn, late,
        plan.config.records_at_once, moved,
        attacker(release, moved, steps, gram_noise(plan.config)), release.slots,
    )  # fmt: skip
    count, size = len(steps), len(moved[0])
    seen = f"{count} of {release.releases}" if drawn else f"{release.releases}"
    more = " and a drawn one" if drawn else ""
    which = ", a record of a drawn batch" if late else ""
    if plan.config.protects_persons:
        of_each = " one by one from a drawn batch on" if late else ""
        which = f", {plan.config.records_at_once} records of a person{of_each}"
    of = "one drawn agent" if constants.models == 1 else "a drawn agent and model"
    whose = "" if scales[agents[0]] == scales.min() else " of smaller budgets"
    looks_at = f"contents of {seen} releases{more} of {size} numbers, {of}{whose}{which}"
    made = (count + 1) * constants.release_size
    return ContentsGame(looks_at, count * size, partial(_look, setting), made, late)


def _look(setting: _Setting, world: int, first: int, count: int) -> Look:
    steps, n = setting.steps, int(setting.steps[-1])
    bounds = len(setting.agents), setting.constants.models, max(1, n - 1), max(1, setting.drawn)
    place, model, batch, drawn = drawn_targets(first, count, *bounds)
    agent = setting.agents[place]
    batch = batch + 2 if setting.late else np.ones_like(batch)
    at = np.tile(steps, (count, 1))
    entered = _entered(setting, at, batch)
    record = setting.pair[world]
    targets = np.stack([agent, model], axis=1)
    values = _released(setting, at, entered, record, targets, audit_key(0), first)
    scores = setting.attacker.scores(values, entered, setting.scales[agent])
    others = setting.attacker.bare(values, entered)
    if setting.drawn:
        at = drawn[:, None] + 1
        entered = _entered(setting, at, batch)
        more = _released(setting, at, entered, record, targets, audit_key(1), first)
        others += setting.attacker.bare(more, entered)
    return Look(values.reshape(count, -1), scores, others)


def _entered(setting: _Setting, at: Ints, batch: Ints) -> Floats:
    """How many replaced records are in each release, (runs, n).

    Parameters
    ----------
    setting
        What is attacked.
    at : (runs, n) int64
        Numbers of the releases.
    batch : (runs,) int64
        Batches of the first replaced record. Of a late person each later batch has one more; of
        others the first one has them all, which costs most.
    """
    since = at - batch[:, None] + 1
    entered: Floats = (since > 0).astype(np.float64) * setting.at_once
    return np.minimum(entered, np.maximum(since, 0)) if setting.late else entered


def _released(
    setting: _Setting, at: Ints, entered: Floats, record: Floats, targets: Ints, key: Key,
    first: int,
) -> Floats:  # fmt: skip
    (count, places), constants = at.shape, setting.constants
    values = np.zeros((count, places, len(record)))
    draws = np.zeros((min(setting.slots, int(at.max())), constants.release_size))
    sums = np.zeros((places, *constants.statistic_shape))
    noisy = np.zeros((places, constants.release_size))
    play_releases(constants, at, entered, record, targets, sums, draws, key, first, noisy, values)
    return values


@compiled
def release_some(
    constants: Constants,
    agent: int,
    steps: Ints,
    sums: Floats,
    draws: Floats,
    key: Key,
    run: int,
    noisy: Floats,
) -> None:
    """Some releases of one agent, by the code of the simulation, into ``noisy`` (steps, size).

    Draws that only releases in between would have made are made too.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
    agent : int
        Whose releases they are.
    steps : (steps,) int64
        Their numbers, from 1, in order.
    sums : (steps, models, d (d + 3) / 2) float64
        The exact running sums.
    draws : (slots, size) float64
        Scratch for draws in use.
    key, run
        They name the random draws.
    """
    draws[:] = 0.0
    done = 0
    for place in range(steps.size):
        k = steps[place]
        before = k & (k - 1) if constants.mechanism == TREE else k - 1
        while before > done:
            # Of nobody's name in the simulation.
            party, name = constants.agents + before, run * constants.agents + agent
            fill_normal(draws[draw_slot(constants.mechanism, before)], key, party, name, _NOISE)
            before = before & (before - 1) if constants.mechanism == TREE else before - 1
        name = run * steps.size + place
        simulate_release(constants, sums[place], draws, k, key, agent, name, noisy[place])
        done = k


@compiled
def play_releases(
    constants: Constants,
    steps: Ints,
    entered: Floats,
    record: Floats,
    targets: Ints,
    sums: Floats,
    draws: Floats,
    key: Key,
    first: int,
    noisy: Floats,
    values: Floats,
) -> None:
    """Run after run the releases ``steps`` (runs, n) of one model, into ``values`` (runs, n, p).

    What other records add is known to the attacker and left out; the replaced one is in the
    releases that ``entered`` (runs, n) says, of the agent and model in ``targets`` (runs, 2).
    """
    runs, places, size = values.shape
    for run in range(runs):
        agent, model = targets[run, 0], targets[run, 1]
        for place in range(places):
            for i in range(size):
                sums[place, model, i] = entered[run, place] * record[i]
        release_some(constants, agent, steps[run], sums, draws, key, first + run, noisy)
        for place in range(places):
            for i in range(size):
                values[run, place, i] = noisy[place, model * size + i]
                sums[place, model, i] = 0.0
