"""LinUCB by brute force: the matrix of every model is inverted anew after every record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from beside.streams import Stream

#: Scores that differ by less count as equal: some contenders compute in 32 bits.
EQUAL = 1e-4


class BruteForce:
    """Ridge regression with λ = 1, and the upper bound ⟨x, θ⟩ + α √(xᵀ V⁻¹ x)."""

    def __init__(self, stream: Stream, alpha: float = 1.0) -> None:
        self._stream, self._alpha = stream, alpha
        models, dimension = 1 if stream.shared_model else stream.arms, stream.contexts.shape[1]
        self._gram = np.tile(np.eye(dimension), (models, 1, 1))
        self._inverse = self._gram.copy()
        self._sums = np.zeros((models, dimension))

    def scores(self, t: int) -> Any:
        """The score of every arm in round ``t``, (arms,)."""
        seen = self._stream.contexts[t].astype(np.float64).T  # a row for each arm, or one for all
        theta = np.einsum("mij,mj->mi", self._inverse, self._sums)
        square = ((seen @ self._inverse) * seen).sum(axis=2)  # (models, arms or 1)
        return (theta @ seen.T + self._alpha * np.sqrt(square)).reshape(-1)

    def decide(self, t: int) -> int:
        """The arm of the largest score; the first one of equals."""
        return int(np.argmax(self.scores(t)))

    def learn(self, t: int, arm: int, reward: float) -> None:
        """Take up the record of round ``t``."""
        shared = self._stream.shared_model
        model = 0 if shared else arm
        context = self._stream.contexts[t][:, arm if shared else 0].astype(np.float64)
        self._gram[model] += np.outer(context, context)
        self._sums[model] += reward * context
        self._inverse[model] = np.linalg.inv(self._gram[model])


class Agreement(NamedTuple):
    """How often somebody chose as LinUCB chooses, given the same history."""

    steps: int
    largest: int  # an arm whose score is the largest, or equal to it
    ties: int  # rounds in which several arms have the largest score


def agreement(stream: Stream, arms: Sequence[int]) -> Agreement:
    """Hold every choice to the scores that follow from the choices before it."""
    oracle, largest, ties = BruteForce(stream), 0, 0
    for t, arm in enumerate(arms):
        scores = oracle.scores(t)
        equal = scores >= scores.max() - EQUAL
        largest += bool(equal[arm])
        ties += bool(equal.sum() > 1)
        oracle.learn(t, arm, stream.rewards[t, arm])
    return Agreement(len(arms), largest, ties)
