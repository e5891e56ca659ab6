"""A log as a world: a round shows one logged event, and pays only if the choice agrees with it.

This is replay by rejection sampling (Li, Chu, Langford & Wang 2011). A reward is observed if the
system chooses the logged action, and if the event was accepted: with probability smallest
propensity / its propensity. So every action is observed equally often, whatever the logging policy
preferred. In all other rounds nothing is observed, and nothing learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled, implements
from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.base import decision_set_workspace, draw_reward, fill_decision_set
from fedbandits.environments.choices import note_choice
from fedbandits.environments.persons import NOBODY, person_of
from fedbandits.offline.estimates import METHODS, PARTS, sums_of
from fedbandits.offline.methods import Logged, dr_terms, ips_terms, replay_terms, snips_terms
from fedbandits.random import Key, Purpose, uniform

_REWARD = int(Purpose.REWARD)
#: In place of a choice that was not made yet.
NOT_MET = 65_535


class Log(NamedTuple):
    """The events of a log, in the order of its rows.

    Parameters
    ----------
    rows : (events, dim) float32
        Contexts, in the unit ball.
    actions : (events,) int64
        The logged actions, from 0.
    rewards, propensities : (events,) float64
        Their rewards, and the probabilities with which they were taken.
    smallest
        Smallest probability with which the logging policy takes any action, a public fact.
    arms
        Number of actions.
    """

    rows: Floats32
    actions: Ints
    rewards: Floats
    propensities: Floats
    smallest: float
    arms: int


class Noted(NamedTuple):
    """What a run leaves in a log's world."""

    chosen: NDArray[np.uint16]  # (events,), by place: what the party chose there


class LoggedWorld(NamedTuple):
    """One replicate of a log: each event is met once at most.

    Places are positions in ``order``.
    """

    rows: Floats32  # (events, dim)
    actions: Ints  # (events,)
    rewards: Floats  # (events,)
    propensities: Floats  # (events,)
    order: Ints  # (events,): numbers of the events, grouped by party
    starts: Ints  # (parties + 1,): party i owns order[starts[i]:starts[i + 1]]
    shown: Bools  # (events,), by place: whether rejection sampling accepts the event
    arms: int
    persons: Ints  # (events,): whose event each is
    noted: Noted  # what changes in a run


def logged_world(log: Log, key: Key, order: Ints, starts: Ints, persons: Ints) -> LoggedWorld:
    """A replicate in which parties meet the events of a log.

    Parameters
    ----------
    log
        The events.
    key
        Key of the random draws of this replicate.
    order : (events,) int64
        Numbers of the events, grouped by party; each party meets its own in this order.
    starts : (parties + 1,) int64
        Where those of each party start in ``order``.
    persons : (events,) int64
        Number of the person of each event.
    """
    shown = np.zeros(len(order), np.bool_)
    _draw_shown(log.smallest / log.propensities[order], starts, key, shown)
    chosen = np.full(len(order), NOT_MET, np.uint16)
    return LoggedWorld(
        log.rows, log.actions, log.rewards, log.propensities, order, starts, shown, log.arms,
        persons, Noted(chosen),
    )  # fmt: skip


@compiled
def _draw_shown(probabilities: Floats, starts: Ints, key: Key, shown: Bools) -> None:
    """Draw which events rejection sampling accepts, by place."""
    for agent in range(starts.size - 1):
        for place in range(starts[agent], starts[agent + 1]):
            round_ = place - starts[agent] + 1
            shown[place] = uniform(key, agent, round_, _REWARD, 0) < probabilities[place]


@implements(decision_set_workspace, LoggedWorld)
def _workspace(world: Any) -> Any:
    return ()


@implements(fill_decision_set, LoggedWorld)
def _fill(
    world: Any, workspace: Any, key: Any, agent: Any, round_: Any, features: Any, expected: Any
) -> Any:
    """What an arm is expected to pay is known of the logged one alone, if it is accepted."""
    place, best = world.starts[agent] + round_ - 1, 0
    expected[:] = np.float32(math.nan)
    if place >= world.starts[agent + 1]:  # the party's log is over
        features[:] = np.float32(0.0)
        return best
    event = world.order[place]
    for i in range(features.shape[0]):
        features[i, 0] = world.rows[event, i]
    best = world.actions[event]
    if world.shown[place]:
        expected[best] = np.float32(world.rewards[event])
    return best


@implements(person_of, LoggedWorld)
def _person(world: Any, key: Any, agent: Any, round_: Any) -> Any:
    place = world.starts[agent] + round_ - 1
    if place >= world.starts[agent + 1]:  # the party's log is over: nobody comes
        return NOBODY
    return world.persons[world.order[place]]


@implements(note_choice, LoggedWorld)
def _note(world: Any, agent: Any, round_: Any, arm: Any) -> Any:
    place = world.starts[agent] + round_ - 1
    if place < world.starts[agent + 1]:
        world.noted.chosen[place] = arm


@implements(draw_reward, LoggedWorld)
def _reward(world: Any, expected: Any, key: Any, agent: Any, round_: Any) -> Any:
    """The logged reward: ``expected`` is that of the chosen arm, and NaN if it is not observed."""
    if math.isnan(expected):
        return math.nan
    return world.rewards[world.order[world.starts[agent] + round_ - 1]]


def log_sums(world: LoggedWorld, rounds: int) -> Floats:
    """The sums that estimates are made from, after so many rounds: (parties, methods, parts).

    Parameters
    ----------
    world
        The world after the run.
    rounds
        How many rounds were played.
    """
    parties = len(world.starts) - 1
    met, sites = _places_met(world, rounds)
    if not len(met):
        return np.zeros((parties, len(METHODS), len(PARTS)))
    events = world.order[met]
    log = Logged(
        world.actions[events],
        world.rewards[events],
        world.propensities[events],
        world.noted.chosen[met].astype(np.int64),
    )
    terms = (
        replay_terms(log, world.shown[met]),
        ips_terms(log),
        snips_terms(log),
        dr_terms(log, world.rows[events], world.arms),
    )
    # What replay passes over is no event for it that matches, but it was met.
    return np.stack([sums_of(*each, sites, parties) for each in terms], axis=1)


def _places_met(world: LoggedWorld, rounds: int) -> tuple[Ints, Ints]:
    """The places met in so many rounds, round by round, and the party of each."""
    counts = np.minimum(np.diff(world.starts), rounds)
    sites = np.repeat(np.arange(len(counts)), counts)
    turns = np.arange(len(sites)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_time = np.lexsort((sites, turns))
    met: Ints = (world.starts[:-1][sites] + turns)[in_time]
    return met, sites[in_time]


def measures(world: LoggedWorld, rounds: int) -> Mapping[str, Floats]:
    """The same sums by name, (parties,) each, as a run notes them at every checkpoint."""
    sums = log_sums(world, rounds)
    return {
        f"{NOTED}{method}.{part}": sums[:, i, j]
        for i, method in enumerate(METHODS)
        for j, part in enumerate(PARTS)
    }


#: What the names of these sums begin with.
NOTED = "log."
