"""Attacks: rules that guess from a transcript which of two worlds was played.

They are chosen on training runs of both worlds. What they show is counted on other runs, in
:mod:`fedbandits.privacy.auditing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._typing import Bools, Floats, Ints
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound

#: Most numbers of a transcript from which an attack is learned.
MOST_LEARNED = 2000


class Transcripts(NamedTuple):
    """Numbers that an attacker sees in some runs."""

    scores: Floats  # (runs, m): likelihood ratios of contents
    values: Floats  # (runs, f): contents; as many numbers every run, 0 where nothing was sent
    patterns: Ints  # (runs,): a number for which messages there were, when, from whom, how long
    others: Floats  # (runs, c): statistics that are Gaussian in no case, such as counts


class Directions(NamedTuple):
    """Directions in which training runs of the two worlds lie apart, (f, 1) or (f, 0) each."""

    values: Floats
    others: Floats


class Attack(NamedTuple):
    """A rule that guesses world 1; ``column`` picks a statistic, or the pattern where it is -1."""

    name: str
    column: int
    threshold: float
    sign: float
    suspects: frozenset[int]  # patterns that are taken for world 1
    gaussian: bool


def choose(
    zero: Transcripts, one: Transcripts, may_be_gaussian: bool, delta: float
) -> tuple[list[Attack], Directions, frozenset[int]]:
    """Choose attacks on training runs of both worlds; with what was learned, and patterns.

    ``may_be_gaussian``: scores and values are Gaussian in every run with the same messages.
    ``delta`` is the δ at which ε is bounded.
    """
    learned = Directions(_learn(zero.values, one.values), _learn(zero.others, one.others))
    usual = frozenset(np.concatenate([zero.patterns, one.patterns]).tolist())
    suspects = _suspects(zero.patterns, one.patterns)
    attacks = []
    if suspects:
        attacks.append(Attack("which messages there are, and when", -1, 0.0, 1.0, suspects, False))
    scores = [with_learned(side, learned) for side in (zero, one)]
    # Without a δ a Gaussian price is infinite, whatever was found.
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
    """Compute Fisher's direction between two samples of transcripts; none if it is empty.

    Numbers that hardly vary get a large weight: that is where noise is missing.
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
    """Return scores, and what learned directions make of them, (runs, m + at most 2)."""
    made = transcripts.values @ learned.values, transcripts.others @ learned.others
    return np.concatenate([transcripts.scores, *made], axis=1)


def _best_threshold(sides: tuple[Floats, Floats], is_gaussian: bool, delta: float) -> float:
    """Return the threshold that tells training runs apart best; world 1 lies higher.

    Candidates lie half way between neighbouring scores, so that discrete ones are cut cleanly.
    """
    both = np.unique(np.concatenate(sides))
    if len(both) == 1:
        return float(both[0])
    if is_gaussian:  # every threshold shows the same μ; the middle one is the surest
        return float(0.5 * (np.median(sides[0]) + np.median(sides[1])))
    middles = 0.5 * (both[1:] + both[:-1])
    candidates = middles[np.unique(np.linspace(0, len(middles) - 1, 400).astype(np.int64))]
    best, found = -1.0, float(candidates[0])
    runs = len(sides[0])
    for threshold in candidates:
        positive, negative = int((sides[0] > threshold).sum()), int((sides[1] <= threshold).sum())
        rates = rate_bound(positive, runs, 0.01), rate_bound(negative, runs, 0.01)
        bound = direct_bound(rates, delta)
        if bound > best:
            best, found = bound, float(threshold)
    return found


def _suspects(zero: Ints, one: Ints) -> frozenset[int]:
    """Find patterns that training runs show more often in world 1; none if there is one only."""
    patterns = np.unique(np.concatenate([zero, one]))
    if len(patterns) == 1:
        return frozenset()
    return frozenset(int(p) for p in patterns if (one == p).sum() > (zero == p).sum())


def guess(attack: Attack, scores: Floats, patterns: Ints) -> Bools:
    """Tell of each run whether it is taken for world 1."""
    if attack.column < 0:
        return np.isin(patterns, list(attack.suspects))
    return np.asarray(attack.sign * scores[:, attack.column] > attack.threshold, dtype=np.bool_)
