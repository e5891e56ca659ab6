"""The books that a buyer keeps, and what a unit that somebody else reports counts for in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints


class Books(NamedTuple):
    """What a buyer knows; with a first axis of buyers, what all of them do."""

    combined: Floats  # (2, m): W and Y of Algorithm 2, all that it acts on, others' units weighed
    own: Floats  # (2, m): all own purchases
    fresh: Floats  # (2, m): those since the last report, w and y


def empty_books(agents: int, producers: int) -> Books:
    """Books of buyers that have bought nothing."""
    return Books(*(np.zeros((agents, 2, producers)) for _ in Books._fields))


@compiled
def one_book(books: Books, agent: int) -> Books:
    """The books of one buyer."""
    return Books(books.combined[agent], books.own[agent], books.fresh[agent])


@compiled
def note_purchase(raw_view: bool, purchase: Ints, good: Ints, books: Books) -> None:
    """Enter a round's purchase (equation 9)."""
    for i in range(purchase.size):
        if purchase[i] > 0:
            bought, fine = float(purchase[i]), float(good[i])
            books.own[0, i] += bought
            books.own[1, i] += fine
            books.fresh[0, i] += bought
            books.fresh[1, i] += fine
            if raw_view:
                books.combined[0, i] += bought
                books.combined[1, i] += fine


@compiled
def error_variance(covariance: Floats, noise: float, quality: float) -> float:
    """Variance of y - q w by the noise of (w, y) alone.

    Parameters
    ----------
    covariance : (2, 2) float64
        The noise's covariance, for a scale of one unit.
    noise : float
        The noise's scale, in units.
    quality : float
        The quality q.
    """
    mixed = covariance[1, 1] - 2.0 * quality * covariance[0, 1]
    return float(noise * noise * (mixed + quality * quality * covariance[0, 0]))


@compiled
def decorrelated_units(
    covariance: Floats, noise: float, quality: float, error: float, units: float, good: float
) -> float:
    """Reported units, less what the error in ỹ - q w̃ lets one foresee of their own noise.

    What is left is uncorrelated with that error, so a weight that is made of it does not favour
    errors of one sign.

    Parameters
    ----------
    covariance, noise, quality
        They are those that :func:`error_variance` was given.
    error : float
        The variance that :func:`error_variance` returns.
    units, good : float
        The reported w̃ and ỹ, in units.
    """
    variance = error + 0.25 * max(units, 0.0)
    if variance == 0.0:
        return units
    shared = noise * noise * (covariance[0, 1] - quality * covariance[0, 0])
    return float(units - shared / variance * (good - quality * units))


@compiled
def worth(units: float, error: float) -> float:
    """What a reported unit counts for, where all ``units`` reported have an error in y - q w.

    Sampling adds a variance of at most w/4, the noise ``error``. Weighed by w / (w + 4 error),
    combined sums have Var(Y/W) ≤ 1/(4W), as if W were units bought by oneself: these are the
    weights by inverse variance. That is exact for a weight that is fixed beforehand, and
    approximate for one made of what was reported.
    """
    return units / (units + 4.0 * error)
