"""Logistic regression in the world of a replicate: alone, and pooled in clear.

It is what many would use for rewards of 0 and 1. Where it is far better than a linear model, a
linear model is the wrong one. It is greedy: it plays the arm that is most likely right. An arm that
was not tried yet is right with probability ½, and so it is soon tried. It is played outside the
compiled loops, on the contexts and rewards that all systems of a replicate meet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Floats32, Ints
from fedbandits.environments.base import ContextualEnvironment
from fedbandits.learners.logistic import fit_logistic
from fedbandits.random import Key, Purpose, uniforms

#: A model is fitted anew when its records have grown by these factors: alone, and pooled.
_GROWTH_ALONE, _GROWTH_POOLED = 1.2, 1.25
#: Numbers of rows that are copied for one fit of many models; 32 MB.
_MOST_AT_ONCE = 2**22


class Shown(NamedTuple):
    """The contexts and expected rewards that some parties of a replicate meet."""

    contexts: Floats32  # (rounds, parties, d), each coordinate about 1 in size
    expected: Floats32  # (rounds, parties, arms): 0 or 1
    draws: Floats  # (rounds, parties): uniform, which of equally good arms is played


def shown_to(
    environment: ContextualEnvironment, key: Key, rounds: int, parties: Sequence[int]
) -> Shown:
    """Ask the world of a replicate for all that ``parties`` meet in ``rounds`` rounds."""
    world, facts = environment.open(key), environment.facts
    size = rounds, len(parties)
    contexts = np.empty((*size, facts.dimension), np.float32)
    expected = np.empty((*size, facts.arms), np.float32)
    draws = np.empty(size)
    features, paid = world.features, world.expected
    for place, party in enumerate(parties):
        draws[:, place] = uniforms(rounds, key, party, 0, Purpose.LEARNER)
        for round_ in range(rounds):
            world.fill(party, round_ + 1)
            contexts[round_, place] = features[:, 0]
            expected[round_, place] = paid
    world.check()
    contexts *= np.float32(math.sqrt(facts.dimension))
    return Shown(contexts, expected, draws)


def play_alone(shown: Shown) -> Floats:
    """Play parties that learn alone; return how much each loses, (parties,).

    Each arm of each party has a model of its own, of the records in which the party chose the arm.
    """
    rounds, parties, arms = shown.expected.shape
    models = np.zeros((parties, arms, shown.contexts.shape[2]))
    rewards = np.zeros((rounds, parties))
    records = np.zeros((parties, arms, rounds), np.int32)  # rounds in which the arm was chosen
    counts, fitted = np.zeros((2, parties, arms), np.int64)
    lost, every = np.zeros(parties), np.arange(parties)
    for round_ in range(rounds):
        contexts, expected = shown.contexts[round_], shown.expected[round_]
        scores = np.einsum("pkd,pd->pk", models, contexts)
        chosen = _chosen(scores, shown.draws[round_])
        rewards[round_] = earned = expected[every, chosen]
        lost += expected.max(axis=1) - earned
        records[every, chosen, counts[every, chosen]] = round_
        counts[every, chosen] += 1
        now = counts[every, chosen]
        due = np.flatnonzero(_is_due(now, fitted[every, chosen], _GROWTH_ALONE))
        for some in _at_once(due, now[due], shown.contexts.shape[2]):
            which = some, chosen[some]
            fitted[which] = many = counts[which]
            there = records[which][:, : many.max()]
            weights = (np.arange(there.shape[1]) < many[:, None]).astype(np.float64)
            rows = shown.contexts[there, some[:, None]].astype(np.float64)
            paid = rewards[there, some[:, None]]
            models[which] = fit_logistic(rows, paid, weights, models[which])
    return lost


def play_pooled(shown: Shown) -> Floats:
    """Play parties that share all records in clear; return how much each loses, (parties,)."""
    rounds, parties, arms = shown.expected.shape
    models = np.zeros((arms, shown.contexts.shape[2]))
    rewards, choices = np.zeros((rounds, parties)), np.zeros((rounds, parties), np.int64)
    lost, every = np.zeros(parties), np.arange(parties)
    fitted = 0
    for round_ in range(rounds):
        contexts, expected = shown.contexts[round_], shown.expected[round_]
        choices[round_] = chosen = _chosen(contexts @ models.T, shown.draws[round_])
        rewards[round_] = earned = expected[every, chosen]
        lost += expected.max(axis=1) - earned
        total = (round_ + 1) * parties
        if total >= fitted * _GROWTH_POOLED:
            fitted = total
            for arm in range(arms):
                own = choices[: round_ + 1] == arm
                rows = shown.contexts[: round_ + 1][own].astype(np.float64)
                paid = rewards[: round_ + 1][own]
                start = models[arm : arm + 1]
                weights = np.ones((1, len(paid)))
                models[arm] = fit_logistic(rows[None], paid[None], weights, start)[0]
    return lost


def _chosen(scores: Floats, draws: Floats) -> Ints:
    """Choose the best arm of each party; of equals a random one."""
    arms = scores.shape[1]
    turns = (np.arange(arms) + (draws[:, None] * arms).astype(np.int64)) % arms
    best = np.take_along_axis(scores, turns, axis=1).argmax(axis=1)
    return np.asarray(np.take_along_axis(turns, best[:, None], axis=1)[:, 0])


def _is_due(counts: Ints, fitted: Ints, growth: float) -> Bools:
    return np.asarray(counts >= np.maximum(fitted + 1, np.ceil(fitted * growth)))


def _at_once(due: Ints, counts: Ints, dimension: int) -> Iterator[Ints]:
    """Group parties whose models are due, so that copies of their records stay small."""
    order = due[np.argsort(counts, kind="stable")]
    most = max(1, int(counts.max(initial=1)) * dimension)
    size = max(1, _MOST_AT_ONCE // most)
    for first in range(0, len(order), size):
        yield order[first : first + size]
