"""Logistic regression of rewards that are 0 or 1, many models at once.

The fits equal those of ``LogisticRegression(C=1, fit_intercept=False)`` of scikit-learn, by
Newton's method. A fit of few records takes scikit-learn about a millisecond; here a fit takes
microseconds, since many models are fitted side by side.
"""

from __future__ import annotations

import numpy as np

from fedbandits._typing import Floats

#: Largest number of Newton's steps; from the last fit a few are enough.
_MOST_STEPS = 25
#: Largest number of halvings of a step that does not reduce the loss.
_MOST_HALVINGS = 12
_TOLERANCE = 1e-7


def probability(scores: Floats) -> Floats:
    """Return the logistic function of ``scores``, without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)))


def fit_logistic(rows: Floats, rewards: Floats, weights: Floats, start: Floats) -> Floats:
    """Fit models to records: each minimises ½‖w‖² + Σ log-loss of its own.

    Parameters
    ----------
    rows : (models, n, d)
        Contexts of the records of each model.
    rewards : (models, n)
        Rewards, 0 or 1.
    weights : (models, n)
        1 for a record, 0 for an empty place, so that models may have different counts.
    start : (models, d)
        Parameters to start from, such as those of the last fit.

    Returns
    -------
    (models, d) float64
        The parameters of each model. They are exact to 1e-7, for every start.
    """
    fitted = np.array(start, np.float64)
    left = np.arange(len(fitted))
    for _ in range(_MOST_STEPS):
        part = rows[left], rewards[left], weights[left]
        step = _newton_step(*part, fitted[left])
        fitted[left] += _shortened(*part, fitted[left], step)
        left = left[np.abs(step).max(axis=1) > _TOLERANCE]
        if not len(left):
            break
    return fitted


def _newton_step(rows: Floats, rewards: Floats, weights: Floats, fitted: Floats) -> Floats:
    chances = probability(np.einsum("mnd,md->mn", rows, fitted))
    gradient = np.einsum("mnd,mn->md", rows, weights * (rewards - chances)) - fitted
    curvature = (weights * chances * (1.0 - chances))[:, :, None] * rows
    hessian = np.matmul(rows.transpose(0, 2, 1), curvature) + np.eye(rows.shape[2])
    return np.asarray(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0])


def _shortened(
    rows: Floats, rewards: Floats, weights: Floats, fitted: Floats, step: Floats
) -> Floats:
    """Return steps, halved for models whose loss the whole step would not reduce."""
    before = _losses(rows, rewards, weights, fitted)
    shortened = step.copy()
    for _ in range(_MOST_HALVINGS):
        worse = _losses(rows, rewards, weights, fitted + shortened) > before + 1e-12
        if not worse.any():
            break
        shortened[worse] *= 0.5
    return shortened


def _losses(rows: Floats, rewards: Floats, weights: Floats, fitted: Floats) -> Floats:
    scores = np.einsum("mnd,md->mn", rows, fitted)
    missed = weights * (np.logaddexp(0.0, scores) - rewards * scores)
    return np.asarray(0.5 * (fitted**2).sum(axis=1) + missed.sum(axis=1))
