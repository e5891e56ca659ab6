"""Rounds of one agent between two changes of its knowledge: see, decide, observe, remember."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, inlined
from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.kernels.worlds import (
    Handle,
    draw_reward,
    fill_decision_set,
    first_turn,
)
from fedbandits.learners.kernels.linucb import (
    DrawBuffers,
    ScoreBuffers,
    draw_buffers,
    draw_size,
    new_score_buffers,
)
from fedbandits.learners.kernels.ridge import flatten
from fedbandits.privacy.kernels import (
    NO_FAULT,
    NONE,
    NOT_A_NUMBER,
    add_release_noise,
    draw_slot,
    record_fault,
    simulate_share,
)
from fedbandits.random import Key, Purpose, fill_normal, integer
from fedbandits.systems.agents.kernels.choices import choose_arm, choose_by_draw
from fedbandits.systems.agents.kernels.constants import Constants, learning_of
from fedbandits.systems.agents.kernels.own_views import take_up_own
from fedbandits.systems.agents.kernels.views import Views, take_up
from fedbandits.systems.kernels import Tally

_TIE, _NOISE = int(Purpose.TIE), int(Purpose.PRIVACY_NOISE)
_POSTERIOR = int(Purpose.POSTERIOR)
#: Why a run cannot go on, beside what is wrong with a record: the world in plain Python has failed.
WORLD_FAILED = 5


_learning_of = inlined(learning_of)


class Scratch(NamedTuple):
    """Buffers of the loop; nothing in them outlives a round."""

    scores: Floats32
    buffers: ScoreBuffers
    draw: DrawBuffers
    context: Floats
    gain: Floats
    residuals: Floats
    released: Floats
    noisy: Floats


def new_scratch(constants: Constants, arms: int) -> Scratch:
    """Return buffers for one thread, where decision sets have so many arms."""
    normals = np.zeros(draw_size(constants.models, constants.dimension))
    return Scratch(
        scores=np.zeros(arms, np.float32),
        buffers=new_score_buffers(constants.dimension),
        draw=draw_buffers(normals, constants.dimension),
        context=np.zeros(constants.dimension),
        gain=np.zeros(constants.dimension),
        residuals=np.zeros((constants.models, 4)),
        released=np.zeros(constants.release_size),
        noisy=np.zeros(constants.release_size),
    )


@inlined
def _choose(
    constants: Constants, features: Floats32, theta: Floats32, width: Floats32, most: float,
    scratch: Scratch, key: Key, agent: int, round_: int, tie: int,
) -> int:  # fmt: skip
    """Choose the arm of the greatest score, -1 if scores are not numbers: by draws or by widths."""
    if constants.draws:
        fill_normal(scratch.draw.normals, key, agent, round_, _POSTERIOR)
        return choose_by_draw(features, theta, width, tie, most, scratch.scores, scratch.draw)
    return choose_arm(features, theta, width, tie, most, scratch.scores, scratch.buffers)


@allocation_free
def play_rounds(
    world: Handle, constants: Constants, log_term: float, terms: Floats, view: Views,
    statistic: Floats, residuals: Floats, visits: Ints, uncounted: Floats, tally: Tally,
    faults: Ints, scratch: Scratch, key: Key, agent: int, first: int, end: int, step: int,
) -> None:  # fmt: skip
    """Let one agent see, decide and observe, in every ``step``-th round from ``first`` to ``end``.

    A reward that is NaN was not observed: nothing is remembered, and nothing learned.

    Parameters
    ----------
    log_term : float
        The part of the radius beside the determinant.
    terms : (models, 4) float64
        Terms of the pool that the view was made from.
    view : Views
        The agent's own; a raw one takes up every record at once.
    statistic : (models, d (d + 3) / 2) float64
        Packed statistics of the agent's records that count for releases; new records are added.
    residuals : (models, 4) float64
        See :func:`.own_views.take_up_own`; only where own records count beside others' releases.
    visits : (persons,) int64
        How many visits of each person to the agent count; nothing where records are protected.
    uncounted : (models, d (d + 3) / 2) float64
        Packed statistics of records that count for no release; nothing where all count.
    tally : Tally
        Receives the agent's regret and reward.
    faults : (agents, 2) int64
        Receives the fault that stopped the agent, and its round, if there is a fault.
    key, agent
        They name the random draws, together with the round.
    first, end, step : int
        The first round, the last one at most, and the distance between two that are played.
    """
    features, expected = world.features, world.expected
    scores = scratch.scores
    context, shared = scratch.context, constants.models == 1
    learning, most = _learning_of(constants), constants.records_per_person
    longest = constants.context_bound if constants.clip else math.inf
    theta, width = view.theta, view.width
    regret, earned = 0.0, 0.0
    for round_ in range(first_turn(world.joins, agent, first, step), end + 1, step):
        best = fill_decision_set(world, agent, round_)
        if best < 0:
            note_fault(faults, agent, WORLD_FAILED, round_)
            break
        tie = integer(scores.size, key, agent, round_, _TIE, 0)
        arm = _choose(constants, features, theta, width, longest, scratch, key, agent, round_, tie)
        if arm < 0:
            note_fault(faults, agent, NOT_A_NUMBER, round_)
            break
        counts = most == 0 or counts_visit(visits, world.who[0], most)
        reward = draw_reward(world, arm, agent, round_)
        gap = expected[best] - expected[arm]
        if math.isnan(reward):  # not observed: there is no record
            if not math.isnan(gap):
                regret += gap
            continue
        column, model = (arm, 0) if shared else (0, arm)
        for i in range(context.size):
            context[i] = features[i, column]
        fault, recorded = record_fault(
            context, reward - constants.centre, constants.context_bound,
            -constants.reward_bound, constants.reward_bound, constants.clip,
        )  # fmt: skip
        if fault != NO_FAULT:
            note_fault(faults, agent, fault, round_)
            break
        regret += gap
        earned += reward
        take_up(
            learning, log_term, terms, view, statistic, uncounted, counts, model, context, recorded,
            scratch.gain,
        )  # fmt: skip
        if constants.own_view:
            take_up_own(learning, residuals, view, model, context, recorded, scratch.gain)
    tally.regret[agent] += regret
    tally.reward[agent] += earned


@allocation_free
def counts_visit(visits: Ints, person: int, most: int) -> bool:
    """Note a visit to an agent, and return whether its record counts for releases.

    Parameters
    ----------
    visits : (persons,) int64
        How often each person has come to that agent.
    person : int
        Number of the visitor. A visitor who is not among the persons does not count.
    most : int
        Records of one person that count, k.
    """
    if not 0 <= person < visits.size or visits[person] >= most:
        return False
    visits[person] += 1
    return True


@allocation_free
def note_fault(faults: Ints, agent: int, fault: int, round_: int) -> None:
    """Note the fault that stops an agent, and its round, if there is a fault."""
    if fault != NO_FAULT:
        faults[agent, 0], faults[agent, 1] = fault, round_


@allocation_free
def simulate_release(
    constants: Constants, statistic: Floats, draws: Floats, k: int, key: Key, agent: int, name: int,
    noisy: Floats,
) -> None:  # fmt: skip
    """Write one agent's k-th release into ``noisy``; the noise is the seed's and protects nobody.

    For a secure sum it is a share, in whole steps.

    Parameters
    ----------
    statistic : (models, d (d + 3) / 2) float64
        The exact running sum.
    draws : (slots, models · d (d + 3) / 2) float64
        Noise draws in use; that of step k is added.
    k : int
        Which release it is, from 1.
    key, agent, name
        They name the random draw of step k.
    noisy : (models · d (d + 3) / 2,) float64
        Receives the noisy running sum.
    """
    flatten(statistic, noisy)
    if constants.mechanism == NONE:
        return
    fill_normal(draws[draw_slot(constants.mechanism, k)], key, agent, name, _NOISE)
    if constants.step > 0.0:
        simulate_share(
            constants.mechanism, constants.noise_deviation[agent], constants.step,
            constants.coefficients, constants.entry_scale, draws, k, noisy,
        )  # fmt: skip
    else:
        add_release_noise(
            constants.mechanism, constants.noise_deviation[agent], constants.coefficients,
            constants.entry_scale, draws, k, noisy,
        )  # fmt: skip
