"""One estimate from own records and others' releases again, in plain numpy.

Everything is inverted anew, from the formulas in docs/confidence.md and learners/kernels/joint.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits.learners.kernels.joint import JointTerms, ReleasedNoise

#: ω, of which the one that costs least is taken.
WEIGHTS = (0.0, 0.5, 1.0, 2.0)


def packed(gram, moment):
    return np.concatenate([gram[np.triu_indices(len(gram))], moment])


class Case(NamedTuple):
    """An agent's own records, and what others released."""

    contexts: np.ndarray
    rewards: np.ndarray
    released: np.ndarray  # Ṽ
    moment: np.ndarray  # ũ
    noise: ReleasedNoise

    @property
    def sums(self):
        return packed(self.released, self.moment)[None]


class Derived(NamedTuple):
    """The module's formulas, directly."""

    estimate: np.ndarray
    inverse: np.ndarray
    own: np.ndarray
    others: np.ndarray
    shrinkage: np.ndarray
    growth: float
    weights: np.ndarray  # D, as a matrix


def others_radius(terms, values, noise):
    ridge = max(noise.norm_bound, terms.martingale_ridge)
    growth = np.log(1.0 + (np.maximum(values, 0.0) + noise.norm_bound) / ridge).sum()
    return terms.reward_noise * math.sqrt(terms.others_log_term + growth)


def weights_of(terms, case, weight):
    """D of one ω."""
    values, vectors = np.linalg.eigh(case.released)
    kappa = (case.noise.bias_bound / others_radius(terms, values, case.noise)) ** 2
    drowned = 2.0 * math.sqrt(len(values)) * terms.gram_noise * case.noise.deviation
    known = values > drowned
    diagonal = np.where(known, weight * values / np.where(known, values + kappa, 1.0), 0.0)
    return vectors @ np.diag(diagonal) @ vectors.T


def derive(terms, case, weights, upto=None):
    """All that an agent knows for some D, with everything inverted anew.

    K, the matrix of others, is split for a random direction as all records up to ``upto`` say.
    """
    dimension = len(case.moment)
    identity = np.eye(dimension)
    gram = case.contexts.T @ case.contexts
    inverse = np.linalg.inv(gram + terms.ridge * identity + weights @ case.released)
    values, vectors = np.linalg.eigh(case.released)
    lifted = max(case.noise.norm_bound, terms.martingale_ridge) + case.noise.norm_bound
    theirs = vectors @ np.diag(np.maximum(values, 0.0) + lifted) @ vectors.T
    reward = others_radius(terms, values, case.noise)
    rewards = reward**2 * weights @ theirs @ weights
    privacy = case.noise.bias_bound**2 * weights @ weights
    early = case.contexts[:upto]
    then = np.linalg.inv(early.T @ early + terms.ridge * identity + weights @ case.released)
    a, b = (math.sqrt(max(np.trace(then @ k @ then), 0.0)) for k in (rewards, privacy))
    kernel = np.zeros((dimension, dimension))
    if a > 0.0:
        kernel += (1.0 + b / a) * rewards
    if b > 0.0:
        kernel += (1.0 + a / b) * privacy
    larger = gram + terms.martingale_ridge * identity
    return Derived(
        inverse @ (case.contexts.T @ case.rewards + weights @ case.moment),
        inverse,
        inverse @ larger @ inverse,
        inverse @ kernel @ inverse,
        inverse @ inverse,
        np.linalg.slogdet(larger / terms.martingale_ridge)[1],
        weights,
    )


def cost_of(terms, case, one, upto=None):
    """What a choice of weights costs an agent with so many records."""
    early = case._replace(contexts=case.contexts[:upto], rewards=case.rewards[:upto])
    one = derive(terms, early, one.weights)
    dimension, variance = len(case.moment), terms.reward_noise**2
    bias = terms.parameter_bound * terms.ridge
    radius = terms.reward_noise * math.sqrt(terms.own_log_term + one.growth)
    # The root of the trace of others is a + b: (1 + b/a)a² + (1 + a/b)b² = (a + b)².
    width = math.sqrt(max(np.trace(one.others), 0.0)) + bias * math.sqrt(np.trace(one.shrinkage))
    width += radius * math.sqrt(np.trace(one.own))
    values, vectors = np.linalg.eigh(case.released)
    theirs = variance * vectors @ np.diag(np.maximum(values, 0.0)) @ vectors.T
    entry = 1.0 + (terms.parameter_bound * terms.gram_noise) ** 2
    theirs = theirs + entry * case.noise.deviation**2 * np.eye(dimension)
    typical = variance * early.contexts.T @ early.contexts
    typical = typical + bias**2 / dimension * np.eye(dimension)
    typical = typical + one.weights @ theirs @ one.weights
    spread = np.trace(one.inverse @ typical @ one.inverse)
    return terms.scale * width + math.sqrt(spread)


def width_of(terms, one):
    """W: what is scored with, as a matrix."""
    radius = terms.reward_noise * math.sqrt(terms.own_log_term + one.growth)
    parts = (
        radius**2 * one.own,
        one.others,
        (terms.parameter_bound * terms.ridge) ** 2 * one.shrinkage,
    )
    roots = [math.sqrt(max(np.trace(part), 0.0)) for part in parts]
    # (Σ rᵢ)² ≤ (Σ tᵢ) Σ rᵢ²/tᵢ, which is equal where rᵢ = tᵢ.
    shares = [part / root for part, root in zip(parts, roots, strict=True) if root > 0.0]
    return terms.scale**2 * sum(roots) * sum(shares)


class JointView:
    """What one agent makes of one model: its records in order, and the newest sums of others.

    Parameters
    ----------
    terms
        What is constant in the bound.
    dimension
        Length of a context.
    """

    def __init__(self, terms: JointTerms, dimension: int):
        nothing = np.zeros((0, dimension)), np.zeros(0)
        released = np.zeros((dimension, dimension)), np.zeros(dimension)
        self.terms, self.cuts = terms, False
        self.case = Case(*nothing, *released, ReleasedNoise(0.0, 0.0, 0.0))
        self.weights, self.loaded = np.zeros((dimension, dimension)), 0

    def observe(self, context: np.ndarray, reward: float) -> None:
        contexts = np.vstack([self.case.contexts, context])
        self.case = self.case._replace(
            contexts=contexts, rewards=np.append(self.case.rewards, reward)
        )

    def load(self, gram: np.ndarray, moment: np.ndarray, noise: ReleasedNoise) -> None:
        self.case = self.case._replace(released=gram, moment=moment, noise=noise)
        self.loaded = len(self.case.contexts)
        tried = [
            derive(self.terms, self.case, weights_of(self.terms, self.case, w)) for w in WEIGHTS
        ]
        costs = [cost_of(self.terms, self.case, one) for one in tried]
        self.weights = tried[int(np.argmin(costs))].weights

    @property
    def known(self) -> Derived:
        return derive(self.terms, self.case, self.weights, self.loaded)

    @property
    def typical_width(self) -> float:
        """Root mean square of the width over contexts of length 1."""
        return math.sqrt(np.trace(width_of(self.terms, self.known)) / len(self.case.moment))

    def score(self, x: np.ndarray) -> float:
        known = self.known
        return x @ known.estimate + math.sqrt(x @ width_of(self.terms, known) @ x)
