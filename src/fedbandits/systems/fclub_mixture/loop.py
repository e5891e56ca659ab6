"""The rounds of a phase, compiled. What happens between phases is in ``phases.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Floats32
from fedbandits.environments.clustered import (
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
from fedbandits.learners.linucb import best_arm, score_arms, set_width
from fedbandits.learners.ridge import add_record
from fedbandits.privacy.bounds import NO_FAULT, record_fault
from fedbandits.random import Key
from fedbandits.systems.fclub.models import update
from fedbandits.systems.fclub.state import Models
from fedbandits.systems.fclub_mixture.plan import BOUND, Rules
from fedbandits.systems.fclub_mixture.state import Scratch, State


@compiled
def recommend(rules: Rules, models: Models, user: int, items: Floats32, scratch: Scratch) -> int:
    """The item with the largest mean reward plus its exploration bonus.

    Parameters
    ----------
    items : (d, K) float32
    """
    for i in range(rules.dimension):
        scratch.theta[0, i] = np.float32(models.theta[user, i])
    set_width(models.inverse[user : user + 1], 0, rules.width, scratch.width)
    score_arms(items, scratch.theta, scratch.width, scratch.scores, scratch.work)
    return best_arm(scratch.scores, 0)


@compiled
def observe(
    rules: Rules, models: Models, sums: Floats, user: int, context: Floats, reward: float,
    gain: Floats,
) -> None:  # fmt: skip
    """Enter one record; a server that acts on raw data learns from it at once.

    Parameters
    ----------
    sums : (users, p + 2) float64
        Packed statistics, numbers of records, and sums of squared rewards.
    context : (d,) float64
    gain : (d,) float64
        Scratch.
    """
    centred = reward - rules.offset
    add_record(sums, user, context, centred)
    size = sums.shape[1]
    sums[user, size - 2] += 1.0
    sums[user, size - 1] += centred * centred
    if rules.raw_view:
        update(models, user, context, centred, gain)


@compiled
def run_until(
    world: Any, rules: Rules, state: State, scratch: Scratch, key: Key, stop: int
) -> None:
    """Play on until ``stop`` rounds are done, or a record is out of bounds; phases end outside."""
    workspace = items_workspace(world)
    tally = state.tally
    for round_ in range(state.clock.round_[0] + 1, stop + 1):
        user = draw_arrival(world, key, round_)
        fill_items(world, workspace, key, round_, scratch.items)
        chosen = recommend(rules, state.models, user, scratch.items, scratch)
        best = fill_expected(world, user, scratch.items, scratch.expected)
        reward = draw_item_reward(scratch.expected[chosen], key, round_)
        tally.regret[user] += scratch.expected[best] - scratch.expected[chosen]
        tally.reward[user] += reward
        for i in range(rules.dimension):
            scratch.context[i] = float(scratch.items[i, chosen])
        fault, reward = record_fault(scratch.context, reward, BOUND, 0.0, 1.0, False)
        if fault != NO_FAULT:
            state.clock.fault[0] = fault
            return
        observe(rules, state.models, state.sums, user, scratch.context, reward, scratch.gain)
    state.clock.round_[0] = max(stop, state.clock.round_[0])
