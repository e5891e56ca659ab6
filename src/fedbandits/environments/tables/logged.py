"""A log as a world: a round shows one logged event, and pays only if the choice agrees with it.

This is replay by rejection sampling (Li, Chu, Langford & Wang 2011). A reward is observed if the
system chooses the logged action, and if the event was accepted: with probability smallest
propensity / its propensity. So every action is observed equally often, whatever the logging policy
preferred. In all other rounds nothing is observed, and nothing learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.kernels.log import LoggedWorld, Noted, draw_shown
from fedbandits.offline.estimates import METHODS, PARTS, sums_of
from fedbandits.offline.methods import Logged, dr_terms, ips_terms, replay_terms, snips_terms
from fedbandits.random import Key

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


def logged_world(log: Log, key: Key, order: Ints, starts: Ints, persons: Ints) -> LoggedWorld:
    """Make a replicate in which parties meet the events of a log.

    Parameters
    ----------
    log, key
        The events, and the key of the random draws of this replicate.
    order : (events,) int64
        Numbers of the events, grouped by party; each party meets its own in this order.
    starts : (parties + 1,) int64
        Where those of each party start in ``order``.
    persons : (events,) int64
        Number of the person of each event.
    """
    shown = np.zeros(len(order), np.bool_)
    draw_shown(log.smallest / log.propensities[order], starts, key, shown)
    chosen = np.full(len(order), NOT_MET, np.uint16)
    return LoggedWorld(
        log.rows, log.actions, log.rewards, log.propensities, order, starts, shown, log.arms,
        persons, Noted(chosen),
    )  # fmt: skip


def log_sums(world: LoggedWorld, rounds: int) -> Floats:
    """Compute the sums that estimates are made from: (parties, methods, parts).

    ``world`` is that after a run of so many rounds.
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
    """Find the places met in so many rounds, round by round, and the party of each."""
    counts = np.minimum(np.diff(world.starts), rounds)
    sites = np.repeat(np.arange(len(counts)), counts)
    turns = np.arange(len(sites)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_time = np.lexsort((sites, turns))
    met: Ints = (world.starts[:-1][sites] + turns)[in_time]
    return met, sites[in_time]


def measures(world: LoggedWorld, rounds: int) -> Mapping[str, Floats]:
    """Return the same sums by name, (parties,) each, as a run notes them at every checkpoint."""
    sums = log_sums(world, rounds)
    return {
        f"{NOTED}{method}.{part}": sums[:, i, j]
        for i, method in enumerate(METHODS)
        for j, part in enumerate(PARTS)
    }


#: What the names of these sums begin with.
NOTED = "log."
