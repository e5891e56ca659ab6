"""What one agent does between two changes of what it knows, compiled: play, observe, remember."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import borrowing, inlined
from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.base import draw_reward, fill_decision_set
from fedbandits.environments.choices import note_choice
from fedbandits.environments.joining import turn_from
from fedbandits.learners.assign import flatten
from fedbandits.learners.joint import Joint
from fedbandits.learners.joint_or_none import acted_on, best_cut, best_where_cut, learn_jointly
from fedbandits.learners.linucb import Narrow, best_arm, new_narrow, score_arms
from fedbandits.learners.ridge import add_record
from fedbandits.privacy.bounds import NO_FAULT, NOT_A_NUMBER
from fedbandits.privacy.kernels import (
    NONE,
    add_release_noise,
    draw_slot,
    hold_contexts,
    record_fault,
)
from fedbandits.random import Key, Purpose, fill_normal, integer
from fedbandits.systems.agents.persons import Persons, note_beyond, visit_counts
from fedbandits.systems.agents.plan import TRIGGERED, AgentsPlan, Constants
from fedbandits.systems.agents.views import (
    Views,
    observe_growth,
    observe_raw,
    refresh_view,
    view_radius,
)
from fedbandits.systems.replicate import Tally

_TIE, _NOISE = int(Purpose.TIE), int(Purpose.PRIVACY_NOISE)


class Scratch(NamedTuple):
    """Buffers of the loop; nothing in them outlives a round."""

    features: Floats32
    expected: Floats32
    scores: Floats32
    narrow: Narrow
    context: Floats
    gain: Floats
    moved: Floats
    released: Floats
    noisy: Floats


def new_scratch(plan: AgentsPlan) -> Scratch:
    """Buffers for one thread."""
    constants = plan.constants
    arms = plan.facts.arms
    return Scratch(
        features=np.zeros(plan.facts.features_shape, np.float32),
        expected=np.zeros(arms, np.float32),
        scores=np.zeros(arms, np.float32),
        narrow=new_narrow(constants.dimension),
        context=np.zeros(constants.dimension),
        gain=np.zeros(constants.dimension),
        moved=np.zeros(constants.dimension),
        released=np.zeros(constants.release_size),
        noisy=np.zeros(constants.release_size),
    )


@inlined
def choose_arm(
    features: Floats32, theta: Floats32, width: Floats32, tie: int, most: float, scores: Floats32,
    narrow: Narrow,
) -> int:  # fmt: skip
    """The arm of the greatest score; features are held to L only if scores are no numbers.

    Parameters
    ----------
    features : (d, arms) float32, or (d, 1) with a model an arm
        The decision set; contexts beyond L are cut down in place where a score needs it.
    theta, width : float32
        Of a view, see :func:`.views.refresh_view`. Not the view itself: to hand over that many
        arrays costs more than a decision.
    tie : int
        The first of equals.
    most : float
        L, or infinity where contexts must not be clipped.
    scores : (arms,) float32
        Receives the scores.
    narrow : Narrow
        Buffers that are overwritten.

    Returns
    -------
    int
        The arm; -1 if scores are not numbers.
    """
    score_arms(features, theta, width, scores, narrow)
    arm = best_arm(scores, tie)
    if arm < 0 and most < math.inf:
        hold_contexts(features, most)
        score_arms(features, theta, width, scores, narrow)
        arm = best_arm(scores, tie)
    return arm


@inlined
def choose_jointly(
    features: Floats32, theta: Floats32, width: Floats32, cuts: Bools, pooled: Floats32,
    pooled_width: Floats32, tie: int, most: float, scores: Floats32, narrow: Narrow,
) -> int:  # fmt: skip
    """The arm of the greatest upper bound, of two bounds the smaller one: for a party.

    Parameters
    ----------
    features, tie, most, scores, narrow
        See :func:`choose_arm`.
    theta, width : float32
        Of a joint estimate.
    cuts : (models,) bool
        Whether the second bound counts.
    pooled, pooled_width : float32
        Of the view of what was released, which has the second bound.

    Returns
    -------
    int
        The arm; -1 if scores are not numbers.
    """
    arm = choose_arm(features, theta, width, tie, most, scores, narrow)
    if arm >= 0:
        arm = best_where_cut(cuts, pooled, pooled_width, features, tie, arm, scores)
    return arm


@inlined
def _learn(
    constants: Constants, log_term: float, terms: Floats, view: Views, scratch: Scratch,
    model: int, context: Floats, reward: float, triggering: bool,
) -> None:  # fmt: skip
    """A view takes up a record; ``triggering`` says whether a trigger does too."""
    if constants.raw_view:
        observe_raw(view, model, context, reward, triggering, scratch.gain)
        beta = view_radius(terms, view.log_det, model, constants.reward_noise, log_term)
        refresh_view(view, model, constants.exploration_scale * beta)
    elif triggering:
        observe_growth(view, model, context, scratch.gain)


@borrowing
def play(
    world: Any,
    workspace: Any,
    constants: Constants,
    log_term: float,
    terms: Floats,
    view: Views,
    joint: Joint | None,
    statistic: Floats,
    persons: Persons | None,
    tally: Tally,
    faults: Ints,
    scratch: Scratch,
    key: Key,
    agent: int,
    first: int,
    end: int,
    step: int,
) -> None:
    """One agent, every ``step``-th round from ``first`` to ``end``: see, act, observe, remember.

    A reward that is NaN was not observed: nothing is remembered, and nothing learned.

    Parameters
    ----------
    world, workspace : named tuple
        The replicate's arrays, and what decision sets are made in.
    constants : Constants
        What is constant in the run.
    log_term : float
        What the radius has beside the determinant.
    terms : (models, 4) float64
        Terms of the pool that the view was made from.
    view : Views
        The agent's own; a raw one takes up every record at once.
    joint : Joint or None
        What the agent makes of its own records and others' releases; None without a joint view.
    statistic : (models, d (d + 3) / 2) float64
        Packed statistics of the agent's records; new records are added.
    persons : Persons or None
        What the agent keeps of persons; None where records are protected.
    tally : Tally
        Receives the agent's regret and reward.
    faults : (agents, 2) int64
        Receives what stopped the agent, and the round, if something did.
    scratch : Scratch
        Buffers; nothing in them outlives a round.
    key, agent
        They name the random draws, together with the round.
    first, end, step : int
        The first round, the last one at most, and the distance between two that are played.
    """
    features, expected = scratch.features, scratch.expected
    scores, narrow = scratch.scores, scratch.narrow
    context, shared = scratch.context, constants.models == 1
    triggered = constants.schedule == TRIGGERED
    longest = constants.context_bound if constants.clip else math.inf
    theta, width = acted_on(joint, view.theta, view.width)
    regret, earned = 0.0, 0.0
    for round_ in range(turn_from(world, agent, first, step), end + 1, step):
        best = fill_decision_set(world, workspace, key, agent, round_, features, expected)
        tie = integer(scores.size, key, agent, round_, _TIE, 0)
        arm = choose_arm(features, theta, width, tie, longest, scores, narrow)
        if arm < 0:
            note_fault(faults, agent, NOT_A_NUMBER, round_)
            break
        arm = best_cut(joint, view.theta, view.width, features, tie, arm, scores)
        note_choice(world, agent, round_, arm)
        counts = visit_counts(persons, world, key, agent, round_, constants.records_per_person)
        reward = draw_reward(world, expected[arm], key, agent, round_)
        gap = expected[best] - expected[arm]
        if math.isnan(reward):  # not observed: there is no record
            if not math.isnan(gap):
                regret += gap
            continue
        column, model = (arm, 0) if shared else (0, arm)
        for i in range(context.size):
            context[i] = features[i, column]
        fault, recorded = record_fault(
            context,
            reward,
            constants.context_bound,
            -constants.reward_bound,
            constants.reward_bound,
            constants.clip,
        )
        if fault != NO_FAULT:
            note_fault(faults, agent, fault, round_)
            break
        regret += gap
        earned += reward
        if counts:
            add_record(statistic, model, context, recorded, constants.rounding)
        else:
            note_beyond(persons, constants.raw_view, model, context, recorded, constants.rounding)
        learn_jointly(
            joint, constants.joint, model, context, recorded, constants.rounding,
            scratch.gain, scratch.moved,
        )  # fmt: skip
        _learn(
            constants, log_term, terms, view, scratch, model, context, recorded,
            triggered and counts,
        )  # fmt: skip
    tally.regret[agent] += regret
    tally.reward[agent] += earned


@borrowing
def note_fault(faults: Ints, agent: int, fault: int, round_: int) -> None:
    """Note what stops an agent, and in which round, if anything does."""
    if fault != NO_FAULT:
        faults[agent, 0], faults[agent, 1] = fault, round_


@borrowing
def simulate_release(
    constants: Constants,
    statistic: Floats,
    draws: Floats,
    k: int,
    key: Key,
    agent: int,
    name: int,
    noisy: Floats,
) -> None:
    """Write one agent's k-th release into ``noisy``; the noise is the seed's and protects nobody.

    Parameters
    ----------
    constants : Constants
        What is constant in the run.
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
    if constants.mechanism != NONE:
        fill_normal(draws[draw_slot(constants.mechanism, k)], key, agent, name, _NOISE)
        add_release_noise(
            constants.mechanism,
            constants.noise_deviation[agent],
            constants.coefficients,
            constants.entry_scale,
            draws,
            k,
            noisy,
        )
