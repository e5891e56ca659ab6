"""Knowledge of a parameter from a noisy sum of records, direction by direction.

A released sum is (Ṽ, ũ) = (V + N, u + n). V = Σ x xᵀ, and u = Vθ + the noise of rewards. N is
symmetric with variance ν² off its diagonal and 2ν² on it, n has variance τ² an entry. The sum is
read in three steps.

*V.* The directions are the eigenvectors of Ṽ, whose eigenvalues are s. Noise drives the eigenvalues
of a bulk apart, and moves an eigenvalue far from all others little. So each is corrected by itself:
r = s - 2ν² Σ 1 / (s - s′), summed over the other eigenvalues s′, is the best guess with the
eigenvectors of Ṽ (Bun, Allez, Bouchaud & Potters 2016, "Rotational invariant estimator for general
noisy matrices"). The sum is smoothed over ν. Then the guesses are put in order, made positive with
the same trace, and drawn to their mean until they vary no more than V: as much as Σ (s - s̄)²
exceeds the (d² + d - 2) ν² of noise alone. Noise alone can make an eigenvalue of 2ν√d. So the
guesses for eigenvalues below that edge are replaced by their mean. R is a guess of V from Ṽ, not
the other way round. So a regression on R is not drawn towards zero, as a regression on Ṽ would be
(Berkson 1950, "Are there two regressions?").

*Noise.* Along a direction with the guess r, ũ is rθ and noise: of rewards, of n, and of the error
of the guess of V. Its variance is σ² (r + κ) with κ = (τ² + m² ‖θ‖²) / σ². The error of an entry of
V between two directions has a variance of ν² (r - r′) / (s - s′), and of an entry on the diagonal
2ν² dr/ds (Tweedie's formula; Efron 2011). m² is their mean along the direction. Below the edge all
of V may be missed: m² = ν² (1 + 1/d) + r² / d.

*Precision.* So the sum informs about θ along the direction as much as g = r² / (r + κ) records in
clear, whose sum of x y is z = rũ / (r + κ). Where r is far below κ, g is close to 0. Without noise,
g = s and z = ũ: the information of the records themselves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma
from fedbandits._typing import Floats
from fedbandits.learners.kernels.eigenvectors import eigenvectors
from fedbandits.learners.kernels.ridge import unpack


class Reading(NamedTuple):
    """Variances for reading a released sum."""

    gram: float  # ν²: of an entry of N, off the diagonal; 0 in clear
    moment: float  # τ²: of an entry of n; 0 in clear
    reward: float  # σ²: of a reward around its mean, or a bound on it
    parameter_bound: float  # S, a bound on ‖θ‖


@compiled
def learn_from_sum(statistic: Floats, reading: Reading, gram: Floats, moment: Floats) -> None:
    """Write a released sum's information as that of records in clear: ``gram`` and ``moment``.

    ``statistic`` begins with the packed sum; see the module.
    """
    if reading.moment <= 0.0:
        unpack(statistic, gram, moment)
        return
    dimension = moment.size
    values, directions = np.empty((1, dimension)), np.empty((1, dimension, dimension))
    find_directions(statistic.reshape((1, statistic.size)), values, directions)
    precisions, moments = np.empty(dimension), np.empty(dimension)
    read_sum(statistic, reading, values[0], directions[0], precisions, moments)
    for i in range(dimension):
        moment[i] = 0.0
        for j in range(i, dimension):
            entry = 0.0
            for a in range(dimension):
                entry = fma(precisions[a] * directions[0, a, i], directions[0, a, j], entry)
            gram[i, j] = entry
            gram[j, i] = entry
    for a in range(dimension):
        for i in range(dimension):
            moment[i] = fma(directions[0, a, i], moments[a], moment[i])


@compiled
def find_directions(statistics: Floats, values: Floats, directions: Floats) -> None:
    """Find the eigenvalues and eigenvectors of noisy Gram matrices, many at a time.

    The result for one sum does not depend on the other sums.

    Parameters
    ----------
    statistics : (n, ≥ d (d + 1) / 2) float64
        Sums; each row begins with a packed Gram matrix.
    values : (n, d) float64
        Receives the eigenvalues, ascending.
    directions : (n, d, d) float64
        Receives the eigenvectors, one in each row.
    """
    d = values.shape[1]
    grams = np.empty(directions.shape)
    for m in range(len(statistics)):
        place = 0
        for i in range(d):
            for j in range(i, d):
                grams[m, j, i] = statistics[m, place]  # the lower triangle
                place += 1
    eigenvectors(grams, directions, values)
    for m in range(len(statistics)):
        _sort(values[m], directions[m])


@allocation_free
def _sort(values: Floats, directions: Floats) -> None:
    """Sort eigenvalues, and the rows of their eigenvectors, in ascending order."""
    for i in range(1, values.size):
        for k in range(i, 0, -1):
            if not values[k] < values[k - 1]:
                break
            values[k], values[k - 1] = values[k - 1], values[k]
            for j in range(values.size):
                held = directions[k, j]
                directions[k, j] = directions[k - 1, j]
                directions[k - 1, j] = held


@compiled
def read_sum(
    statistic: Floats, reading: Reading, values: Floats, directions: Floats, precisions: Floats,
    moments: Floats,
) -> None:  # fmt: skip
    """Read a released sum direction by direction.

    Parameters
    ----------
    statistic
        Array that begins with the packed sum.
    reading
        Variances of its noise, and of rewards.
    values, directions
        Eigenvalues (d,), ascending, and eigenvectors (d, d), one in each row, of its Gram matrix;
        see
        :func:`find_directions`.
    precisions, moments : (d,) float64
        Receive g and z of each direction; see the module.
    """
    dimension = moments.size
    first, missed = dimension * (dimension + 1) // 2, np.zeros(dimension)
    if reading.moment > 0.0:
        guess_spectrum(values, reading.gram, precisions, missed)
    else:
        for a in range(dimension):
            precisions[a] = max(values[a], 0.0)
    for a in range(dimension):
        guess, moments[a] = precisions[a], 0.0
        if guess > 0.0:
            noise = reading.moment + missed[a] * reading.parameter_bound**2
            share = guess / (guess + noise / reading.reward)
            precisions[a] = share * guess
            for i in range(dimension):
                moments[a] = fma(share * directions[a, i], statistic[first + i], moments[a])


@compiled
def guess_spectrum(values: Floats, noise: float, guesses: Floats, missed: Floats) -> None:
    """Write a guess of the eigenvalues of V, and the variance m² of each guess's error.

    Parameters
    ----------
    values : (d,) float64
        Eigenvalues of Ṽ, ascending.
    noise
        ν², above 0.
    guesses, missed : (d,) float64
        Receive r, ascending, and m². All guesses are 0 if the trace of Ṽ is not a
        positive number.
    """
    d, total = values.size, values.sum()
    guesses[:] = 0.0
    missed[:] = 0.0
    if not 0.0 < total < np.inf:
        return
    for i in range(d):
        repulsion = 0.0  # repulsion by noise
        for j in range(d):
            gap = values[i] - values[j]
            if gap != 0.0:
                repulsion += gap / (gap * gap + noise)
        guesses[i] = values[i] - 2.0 * noise * repulsion
    _put_in_order(guesses)
    _make_positive(guesses, total)
    _limit_spread(values, noise, guesses)
    for i in range(d):
        share = 0.0
        for j in range(d):
            if j != i:
                share += _slope(values, guesses, i, j)
        missed[i] = noise * (share + 2.0 * _derivative(values, guesses, i)) / d
    _merge_hidden(values, noise, guesses, missed)


@allocation_free
def _merge_hidden(values: Floats, noise: float, guesses: Floats, missed: Floats) -> None:
    """Replace guesses for eigenvalues that may be noise alone by their mean."""
    d, hidden, total = values.size, 0, 0.0
    edge = 2.0 * math.sqrt(noise * d)
    for i in range(d):
        if values[i] <= edge:
            hidden += 1
            total += guesses[i]
    for i in range(hidden):
        guesses[i] = total / hidden
        missed[i] = noise * (1.0 + 1.0 / d) + guesses[i] ** 2 / d


@allocation_free
def _limit_spread(values: Floats, noise: float, guesses: Floats) -> None:
    """Draw guesses towards their mean until they vary no more than V."""
    d = values.size
    mean, spread, guessed = 0.0, 0.0, 0.0
    for i in range(d):
        mean += values[i] / d
    for i in range(d):
        spread += (values[i] - mean) ** 2
        guessed += (guesses[i] - mean) ** 2
    if d < 2 or guessed <= 0.0 or not max(spread, guessed) < np.inf:
        return
    allowed = max(spread - (d * (d + 1) - 2.0) * noise, 0.0)  # without the variation of noise alone
    share = min(math.sqrt(allowed / guessed), 1.0)
    for i in range(d):
        guesses[i] = mean + share * (guesses[i] - mean)


@allocation_free
def _slope(values: Floats, guesses: Floats, i: int, j: int) -> float:
    """Return the difference of two guesses over that of their eigenvalues, from 0 to 1."""
    gap = values[i] - values[j]
    if abs(gap) <= _SAME * (abs(values[i]) + abs(values[j])):
        return 0.0
    return float(min(max((guesses[i] - guesses[j]) / gap, 0.0), 1.0))


@allocation_free
def _derivative(values: Floats, guesses: Floats, i: int) -> float:
    """Return dr/ds: the mean slope towards both neighbours, or towards the only neighbour."""
    last = values.size - 1
    if last == 0:
        return 1.0
    below, above = max(i - 1, 0), min(i + 1, last)
    if below == i:
        below = above
    elif above == i:
        above = below
    return 0.5 * (_slope(values, guesses, i, below) + _slope(values, guesses, i, above))


@compiled
def _put_in_order(numbers: Floats) -> None:
    """Make numbers ascend: runs that descend are replaced by their mean.

    The result is the closest ascending sequence (pool adjacent violators; Ayer et al. 1955).
    """
    d = numbers.size
    means, counts, blocks = np.zeros(d), np.zeros(d, np.int64), 0
    for i in range(d):
        means[blocks], counts[blocks] = numbers[i], 1
        blocks += 1
        while blocks > 1 and means[blocks - 2] > means[blocks - 1]:
            one, two = counts[blocks - 2], counts[blocks - 1]
            both = means[blocks - 2] * one + means[blocks - 1] * two
            means[blocks - 2] = both / (one + two)
            counts[blocks - 2] = one + two
            blocks -= 1
    place = 0
    for block in range(blocks):
        for _ in range(counts[block]):
            numbers[place] = means[block]
            place += 1


@allocation_free
def _make_positive(numbers: Floats, total: float) -> None:
    """Lower ascending numbers by a constant, to 0 at least, so that their sum is ``total``.

    The result is the closest point of a simplex (Held, Wolfe & Crowder 1974).
    """
    d, above, cut = numbers.size, 0.0, 0.0
    for k in range(1, d + 1):
        above += numbers[d - k]
        level = (above - total) / k
        if numbers[d - k] - level > 0.0:
            cut = level
    for i in range(d):
        numbers[i] = max(numbers[i] - cut, 0.0)


#: Relative difference below which eigenvalues count as equal.
_SAME = 1e-9
#: Number of records after which an estimate of the variance counts as much as the bound.
_PRIOR_RECORDS = 10.0
#: The least variance of rewards, as a share of the bound on it.
_LEAST_SHARE = 0.01


@allocation_free
def posterior_variance(residuals: Floats, m: int, bound: float) -> float:
    """Estimate the variance of rewards around their means, from an agent's own records.

    ``residuals`` (models, 4) begin with the number of each model's records, and the sum of their
    squared residuals, each with one degree of freedom; ``m`` is the model. ``bound`` is a bound on
    the variance, σ². It counts as much as ``_PRIOR_RECORDS`` records, and is never exceeded.
    """
    total = max(residuals[m, 1], 0.0) + _PRIOR_RECORDS * bound
    estimate = total / (residuals[m, 0] + _PRIOR_RECORDS)
    return float(min(max(estimate, _LEAST_SHARE * bound), bound))
