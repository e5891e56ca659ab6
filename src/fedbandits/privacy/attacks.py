"""Attacks: rules that guess from a transcript which of two worlds was played.

Attacks are chosen on training runs of both worlds. Their errors are counted on other runs, in
:mod:`fedbandits.privacy.auditing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound

#: Largest number of numbers in a transcript from which an attack is learned.
MOST_LEARNED = 2000


class Transcripts(NamedTuple):
    """Numbers that an attacker sees in some runs."""

    scores: Floats  # (runs, m): likelihood ratios of contents
    values: Floats  # (runs, f): contents, of the same length in every run; 0 for a missing message
    patterns: Ints  # (runs,): code of the set of messages, with times, senders and lengths
    others: Floats  # (runs, c): statistics that are never Gaussian, such as counts


class Directions(NamedTuple):
    """Directions in which training runs of the two worlds differ, (f, 1) or (f, 0) each."""

    values: Floats
    others: Floats


class Attack(NamedTuple):
    """A rule that guesses world 1; ``column`` is a statistic's column, or -1 for the pattern."""

    name: str
    column: int
    threshold: float
    sign: float
    suspects: frozenset[int]  # patterns for which the rule guesses world 1
    gaussian: bool


def choose(
    zero: Transcripts, one: Transcripts, may_be_gaussian: bool, delta: float
) -> tuple[list[Attack], Directions, frozenset[int]]:
    """Return attacks chosen on training runs, the learned directions, and all seen patterns.

    ``zero`` and ``one`` are the training runs of the two worlds. ``may_be_gaussian``: scores and
    values are Gaussian in every run with the same messages. ``delta`` is the δ at which ε is
    bounded.
    """
    learned = Directions(_learn(zero.values, one.values), _learn(zero.others, one.others))
    usual = frozenset(np.concatenate([zero.patterns, one.patterns]).tolist())
    suspects = _suspects(zero.patterns, one.patterns)
    attacks = []
    if suspects:
        attacks.append(Attack("which messages there are, and when", -1, 0.0, 1.0, suspects, False))
    scores = [with_learned(side, learned) for side in (zero, one)]
    # At δ = 0 a Gaussian price is infinite, so the Gaussian rule shows nothing.
    gaussian = may_be_gaussian and len(usual) == 1 and delta > 0.0
    names = [("likelihood ratio", gaussian)] * zero.scores.shape[1]
    names += [("learned", gaussian)] * learned.values.shape[1]
    names += [("counted", False)] * learned.others.shape[1]
    for column, (name, is_gaussian) in enumerate(names):
        sides = scores[0][:, column], scores[1][:, column]
        sign = 1.0 if np.mean(sides[1]) >= np.mean(sides[0]) else -1.0
        ordered = sign * sides[0], sign * sides[1]
        for rule in (gaussian_bound, direct_bound) if is_gaussian else (direct_bound,):
            threshold = _best_threshold(ordered, rule is gaussian_bound, delta)
            kind = "Gaussian" if rule is gaussian_bound else "direct"
            attacks.append(
                Attack(f"{name} ({kind})", column, threshold, sign, frozenset(), kind == "Gaussian")
            )
    return attacks, learned, usual


def _learn(zero: Floats, one: Floats) -> Floats:
    """Compute Fisher's direction between two samples of transcripts; (f, 0) without features.

    Numbers that hardly vary get a large weight: they show missing noise.
    """
    features = zero.shape[1]
    if not 0 < features <= MOST_LEARNED:
        return np.zeros((features, 0))
    gap = one.mean(axis=0) - zero.mean(axis=0)
    spread = np.sqrt(0.5 * (zero.var(axis=0) + one.var(axis=0)))
    floor = 1e-9 * (1.0 + np.abs(zero).max(axis=0))
    scale = np.maximum(spread, floor)
    both = np.concatenate([zero - zero.mean(axis=0), one - one.mean(axis=0)]) / scale
    covariance = both.T @ both / len(both)
    covariance[np.diag_indices(features)] += 1e-10
    direction = np.linalg.solve(covariance, gap / scale) / scale
    return np.asarray(direction, dtype=np.float64)[:, None]


def with_learned(transcripts: Transcripts, learned: Directions) -> Floats:
    """Return scores and projections on the learned directions, (runs, m + at most 2)."""
    projected = transcripts.values @ learned.values, transcripts.others @ learned.others
    return np.concatenate([transcripts.scores, *projected], axis=1)


def _best_threshold(sides: tuple[Floats, Floats], is_gaussian: bool, delta: float) -> float:
    """Return the threshold that separates training runs best; world 1 lies above.

    Candidates lie half way between neighbouring scores, so discrete scores are separated cleanly.
    """
    both = np.unique(np.concatenate(sides))
    if len(both) == 1:
        return float(both[0])
    if is_gaussian:  # every threshold shows the same μ; the middle has the least variance
        return float(0.5 * (np.median(sides[0]) + np.median(sides[1])))
    middles = 0.5 * (both[1:] + both[:-1])
    candidates = middles[np.unique(np.linspace(0, len(middles) - 1, 400).astype(np.int64))]
    best, chosen = -1.0, float(candidates[0])
    runs = len(sides[0])
    for threshold in candidates:
        positive, negative = int((sides[0] > threshold).sum()), int((sides[1] <= threshold).sum())
        rates = rate_bound(positive, runs, 0.01), rate_bound(negative, runs, 0.01)
        bound = direct_bound(rates, delta)
        if bound > best:
            best, chosen = bound, float(threshold)
    return chosen


def _suspects(zero: Ints, one: Ints) -> frozenset[int]:
    """Return patterns that are more frequent in training runs of world 1."""
    patterns = np.unique(np.concatenate([zero, one]))
    if len(patterns) == 1:
        return frozenset()
    return frozenset(int(p) for p in patterns if (one == p).sum() > (zero == p).sum())


def guess(attack: Attack, scores: Floats, patterns: Ints) -> Bools:
    """Return, for each run, whether the attack guesses world 1."""
    if attack.column < 0:
        return np.isin(patterns, list(attack.suspects))
    return np.asarray(attack.sign * scores[:, attack.column] > attack.threshold, dtype=np.bool_)
