"""LinUCB on batches of rows: one call decides a batch, one call learns from a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Number of updates after which an inverse is computed anew, to stop the growth of rounding errors.
_RENEWED = 100


class BatchLinUCB:
    """LinUCB (Li et al. 2010) with a model for each arm, which decides and learns from batches.

    All decisions of a batch use the knowledge from before the batch. The score of an arm is the
    estimate plus α · 2σ standard deviations of the estimate, as with ``confidence = "deviations"``.

    Parameters
    ----------
    arms, dimension
        Number of arms, and length d of a context.
    exploration_scale
        α, the number of standard deviations.
    noise_scale
        σ, the standard deviation of a reward around its mean.
    regularization
        λ, the ridge parameter.

    Examples
    --------
    >>> learner = BatchLinUCB(arms=2, dimension=2)
    >>> contexts = [[1.0, 0.0], [0.0, 1.0]]
    >>> learner.learn(contexts * 50, actions=[0, 1] * 50, rewards=[0.5, 0.5] * 50)
    >>> learner.decide(contexts).tolist()
    [1, 0]
    >>> learner.exploration_scale = 0.0
    >>> learner.decide(contexts).tolist()
    [0, 1]
    """

    def __init__(
        self, arms: int, dimension: int, *, exploration_scale: float = 1.0,
        noise_scale: float = 0.5, regularization: float = 1.0,
    ) -> None:  # fmt: skip
        if arms < 1 or dimension < 1 or not regularization > 0.0:
            raise DataError("arms and dimension: allowed from 1, and a regularization above 0")
        self.exploration_scale, self.noise_scale = exploration_scale, noise_scale
        self._ties = 0  # number of rows so far with several best arms
        self._gram = regularization * np.tile(np.eye(dimension), (arms, 1, 1))
        self._inverse = np.linalg.inv(self._gram)
        self._moment = np.zeros((arms, dimension))
        self.estimate = np.zeros((arms, dimension))
        self._updates = np.zeros(arms, np.int64)

    @classmethod
    def from_prior(
        cls, gram: Floats, estimate: Floats, *, exploration_scale: float = 1.0,
        noise_scale: float = 0.5,
    ) -> Self:  # fmt: skip
        """Make a learner that begins with the knowledge of an exported model.

        Parameters
        ----------
        gram : (arms, d, d) float64
            Gram matrices, with the ridge parameter.
        estimate : (arms, d) float64
            Estimates of the parameters.
        exploration_scale, noise_scale
            See :class:`BatchLinUCB`.

        Raises
        ------
        DataError
            If their shapes do not fit together, or a Gram matrix has no inverse.
        """
        if estimate.ndim != 2 or gram.shape != (*estimate.shape, estimate.shape[1]):
            raise DataError("gram and estimate: allowed are (arms, d, d) and (arms, d)")
        arms, dimension = estimate.shape
        learner = cls(arms, dimension, exploration_scale=exploration_scale, noise_scale=noise_scale)
        try:
            learner._inverse = np.linalg.inv(gram)
        except np.linalg.LinAlgError:
            raise DataError("gram: a matrix has no inverse") from None
        learner._gram, learner.estimate = gram.copy(), estimate.copy()
        learner._moment = np.einsum("mij,mj->mi", gram, estimate)
        return learner

    def decide(self, contexts: ArrayLike) -> Ints:
        """Choose an arm for every row of ``contexts`` (n, d); returns (n,) int64.

        Equally good arms are chosen in turn.
        """
        rows = self._rows(contexts)
        scores = rows @ self.estimate.T
        width = 2.0 * self.exploration_scale * self.noise_scale
        if width > 0.0:
            for m, inverse in enumerate(self._inverse):
                squares = np.einsum("nd,nd->n", rows @ inverse, rows)
                scores[:, m] += width * np.sqrt(np.maximum(squares, 0.0))
        best: Ints = scores.argmax(axis=1)
        tied = (scores == scores[np.arange(len(rows)), best, None]).sum(axis=1) > 1
        if tied.any():
            among = scores[tied] == scores[tied].max(axis=1, keepdims=True)
            turn = (self._ties + np.arange(len(among))) % among.sum(axis=1)
            best[tied] = (among & (among.cumsum(axis=1) == turn[:, None] + 1)).argmax(axis=1)
            self._ties += len(among)
        return best

    def learn(self, contexts: ArrayLike, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from the rewards (n,) of the ``actions`` (n,) on rows (n, d).

        Raises
        ------
        DataError
            If the arrays do not fit together, or hold values that are no numbers; nothing is
            learned then.
        """
        rows, chosen = self._rows(contexts), np.asarray(actions)
        gained = np.asarray(rewards, np.float64)
        if chosen.shape != (len(rows),) or gained.shape != chosen.shape:
            raise DataError(f"an action and a reward a row are needed, of {len(rows)} rows")
        if not np.isfinite(gained).all() or not np.isin(chosen, np.arange(len(self._gram))).all():
            raise DataError(f"actions are 0 to {len(self._gram) - 1}, rewards are finite numbers")
        for m in np.unique(chosen):
            self._take_up(m, rows[chosen == m], gained[chosen == m])

    def _take_up(self, m: int, rows: Floats, rewards: Floats) -> None:
        self._gram[m] += rows.T @ rows
        self._moment[m] += rewards @ rows
        self._updates[m] += 1
        if 2 * len(rows) < rows.shape[1] and self._updates[m] % _RENEWED:
            gain = rows @ self._inverse[m]  # Woodbury: cheaper for few rows
            inner = np.eye(len(rows)) + gain @ rows.T
            self._inverse[m] -= gain.T @ np.linalg.solve(inner, gain)
        else:
            self._inverse[m] = np.linalg.inv(self._gram[m])
        self.estimate[m] = self._inverse[m] @ self._moment[m]

    def _rows(self, contexts: ArrayLike) -> Floats:
        rows = np.asarray(contexts, np.float64)
        d = self._gram.shape[1]
        if rows.ndim != 2 or rows.shape[1] != d or not np.isfinite(rows).all():
            raise DataError(f"contexts: allowed are rows of {d} finite numbers")
        return rows
