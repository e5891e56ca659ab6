"""A reward model for doubly robust estimates: ridge regression for each action.

The model of an event is fitted on earlier events alone. So the estimate stays unbiased, however bad
the model is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints

#: A block of events is predicted by a model of all blocks before it.
_FIRST_BLOCK, _GROWTH = 16, 1.25


def blocks(count: int) -> Iterator[slice]:
    """Return consecutive blocks of 0 … ``count`` - 1, each a quarter of what was before it."""
    start, stop = 0, _FIRST_BLOCK
    while start < count:
        yield slice(start, min(stop, count))
        start, stop = stop, max(stop + 1, int(stop * _GROWTH))


class RewardModel:
    """The mean reward of each action, as a linear function of the context and a constant.

    ``ridge`` is added to the diagonal of a Gram matrix: larger values keep predictions nearer to 0.
    """

    def __init__(self, arms: int, dimension: int, ridge: float = 1.0) -> None:
        size = dimension + 1
        self._gram = np.tile(ridge * np.eye(size), (arms, 1, 1))
        self._moment = np.zeros((arms, size))
        self._theta = np.zeros((arms, size))

    def predict(self, contexts: Floats, arms: Ints) -> Floats:
        """Predict the rewards of ``arms`` in (events, d) ``contexts``, (events,)."""
        theta = self._theta[arms]
        found: Floats = np.einsum("ij,ij->i", contexts, theta[:, :-1]) + theta[:, -1]
        return found

    def expect(self, contexts: Floats, shares: Floats) -> Floats:
        """Predict the mean reward of arms that are chosen with these ``shares``, (events, arms)."""
        each = contexts @ self._theta[:, :-1].T + self._theta[:, -1]
        found: Floats = np.einsum("ij,ij->i", each, shares)
        return found

    def fit(self, contexts: Floats, arms: Ints, rewards: Floats) -> None:
        """Learn from more events: (events, d) ``contexts``, the ``arms`` and their ``rewards``."""
        rows = np.hstack([contexts, np.ones((len(contexts), 1))])
        for arm in np.unique(arms):
            own = rows[arms == arm]
            self._gram[arm] += own.T @ own
            self._moment[arm] += own.T @ rewards[arms == arm]
            self._theta[arm] = np.linalg.solve(self._gram[arm], self._moment[arm])


def predictions(
    contexts: Floats | Floats32,
    actions: Ints,
    rewards: Floats,
    chosen: Ints | Floats,
    arms: int,
    ridge: float = 1.0,
) -> tuple[Floats, Floats]:
    """Predict rewards of logged ``actions`` and of ``chosen`` ones, by models of earlier events.

    ``contexts`` are (events, d), the rest (events,), as is what is returned for either. ``chosen``
    may be the probabilities of all actions, (events, arms).
    """
    model = RewardModel(arms, contexts.shape[1], ridge)
    shares = chosen.astype(np.float64) if chosen.ndim > 1 else None
    taken = chosen.astype(np.int64)
    logged, of_chosen = np.zeros(len(actions)), np.zeros(len(actions))
    for block in blocks(len(actions)):
        # Rows as float64: sums of many float32 are not exact.
        rows = np.asarray(contexts[block], np.float64)
        logged[block] = model.predict(rows, actions[block])
        if shares is None:
            of_chosen[block] = model.predict(rows, taken[block])
        else:
            of_chosen[block] = model.expect(rows, shares[block])
        model.fit(rows, actions[block], rewards[block])
    return logged, of_chosen
