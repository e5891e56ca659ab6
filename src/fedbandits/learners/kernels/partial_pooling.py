"""Partial pooling: the weight of others' records for one agent, by its own records.

Agents may differ: the parameter of an agent is θ + δ with δ ~ N(0, τ² I) around the common θ.
Others' records inform about θ. Their sum is read direction by direction, as z and g (see
:mod:`fedbandits.learners.kernels.released_sum`). So before its own records an agent knows its
parameter, along a direction, by a mean of z / (λ + g) and a precision of

    p = 1 / (1 / (λ + g) + τ² / v),

in units of a record, v being the variance of a reward and λ the ridge parameter of θ. τ = 0 pools
all records. The largest τ has p = λ₀, the ridge parameter of an agent alone: the agent knows a
mean, and nothing else. The last hypothesis is LinUCB alone: p = λ₀ around 0.

Own records determine the likelihood of each hypothesis. With the own Gram matrix G and moment u,
the prior precision P and the prior mean μ, the log evidence is, up to a constant,

    ½ [(Pμ + u)ᵀ (P + G)⁻¹ (Pμ + u) - μᵀPμ] / v - ½ [ln det(P + G) - ln det P],

summed over the models of an agent. This is the hierarchical linear model with known variances
(Lindley & Smith 1972). Estimates are averaged by the posterior weights. So are deviations, not
variances: an unlikely τ costs little then. With P + G = LLᵀ the deviation of x is ‖L⁻¹x‖. The
averaged factor W = Σ w L⁻ᵀ gives a matrix WWᵀ, by which x has at most the averaged deviation.

Pooling is post-processing of the released sum by own records, needs no message, and spends no ε.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import unpack

#: τ, over the prior deviation √(v/λ₀) of an agent's parameter. Two hypotheses of precision λ₀
#: follow: around the mean of others, and around 0.
_SPREADS = np.array([0.0, 0.1, 0.3, 0.7])
#: Count of the hypotheses.
HYPOTHESES = _SPREADS.size + 2
#: Ridge parameters of a θ that all arms share, over λ₀.
_RIDGES = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
#: Prior weight of λ₀, relative to each of the other ridge parameters.
_ALONE = 4.0
#: Bound on a product of determinants' factors, each at least 1, far from overflow.
_MUCH = 1e100


@compiled
def log_priors(models: int) -> Floats:
    """Return the logarithm of the prior of each hypothesis, (hypotheses,), up to a constant.

    Where every arm has a model of its own, all hypotheses are equally likely: linear models of
    single arms miss a part of the truth, and that part differs between agents. Where all arms share
    a model, each hypothesis is half as likely as the one before.
    """
    logs = np.zeros(HYPOTHESES)
    if models == 1:
        for k in range(HYPOTHESES):
            logs[k] = -k * math.log(2.0)
    return logs


@allocation_free
def prior_of(
    hypothesis: int, precisions: Floats, moments: Floats, common: Floats, alone: float,
    prior: Floats, mean: Floats,
) -> None:  # fmt: skip
    """Write the prior of an agent's parameter under a hypothesis, before its own records.

    Parameters
    ----------
    hypothesis
        Number of the hypothesis.
    precisions, moments : (d,) float64
        g and z of others' records, by direction.
    common : (d,) float64
        λ, the ridge parameter of the common θ.
    alone
        λ₀, the ridge parameter of an agent alone.
    prior, mean : (d,) float64
        Receive p, at least λ₀, and the mean.
    """
    for a in range(prior.size):
        known = common[a] + precisions[a]
        prior[a], mean[a] = alone, moments[a] / known
        if hypothesis < _SPREADS.size:
            prior[a] = max(1.0 / (1.0 / known + _SPREADS[hypothesis] ** 2 / alone), alone)
        elif hypothesis == HYPOTHESES - 1:
            mean[a] = 0.0


@compiled
def common_ridge(
    precisions: Floats, moments: Floats, alone: float, variance: float, shared: bool, common: Floats
) -> None:
    """Write λ of the common θ by direction, (d,), from the evidence of others' records.

    z has a variance of v (g + g²/λ) where θ has v/λ. λ is the most likely of a few values, with a
    higher prior for λ₀: where noise hides all knowledge of others, an agent must act as it does
    alone. The direction with the most records keeps λ₀: contexts have a mean, and θ along this mean
    is as large as rewards are. Where every arm has a model of its own, all directions keep λ₀,
    because the evidence of one model is weak.

    Parameters
    ----------
    precisions, moments : (d,) float64
        g and z of others' records, by direction, with the direction of most records last.
    alone, variance
        λ₀, and v.
    shared
        Whether all arms share the model.
    common : (d,) float64
        Receives λ.
    """
    common[:] = alone
    last = precisions.size - 1
    if not shared or last == 0:
        return
    best, most = alone, -np.inf
    for k in range(_RIDGES.size):
        ridge, log = _RIDGES[k] * alone, 0.0 if k else math.log(_ALONE)
        for a in range(last):
            if precisions[a] > 0.0:
                spread = 1.0 + precisions[a] / ridge
                square = moments[a] ** 2 / (variance * precisions[a] * spread)
                log -= 0.5 * (math.log(spread) + square)
        if log > most:
            best, most = ridge, log
    for a in range(last):
        common[a] = best


@compiled
def normalised(logs: Floats) -> Floats:
    """Return weights with the sum 1, whose logarithms differ as ``logs`` do.

    If all are -inf, the last weight is 1: own numbers that are too large for evidence count as
    those of an agent alone.
    """
    most = logs.max()
    if most == -np.inf:
        alone = np.zeros(logs.size)
        alone[-1] = 1.0
        return alone
    weights: Floats = np.exp(logs - most)
    weights /= weights.sum()
    return weights


@compiled
def turn(statistic: Floats, directions: Floats, gram: Floats, moment: Floats) -> None:
    """Write a packed statistic in the basis of the rows of ``directions`` (d, d).

    ``gram`` (d, d) and ``moment`` (d,) receive its Gram matrix and its moment.
    """
    d = moment.size
    half, held, sums = np.zeros((d, d)), np.empty((d, d)), np.empty(d)
    unpack(statistic, held, sums)
    for a in range(d):
        for i in range(d):
            for j in range(d):
                half[a, j] = fma(directions[a, i], held[i, j], half[a, j])
    for a in range(d):
        moment[a] = 0.0
        for i in range(d):
            moment[a] = fma(directions[a, i], sums[i], moment[a])
        for b in range(a + 1):
            entry = 0.0
            for i in range(d):
                entry = fma(half[a, i], directions[b, i], entry)
            gram[a, b] = entry
            gram[b, a] = entry


@allocation_free
def posterior_under(
    prior: Floats, mean: Floats, gram: Floats, moment: Floats, variance: float, lower: Floats,
    factor: Floats, estimate: Floats,
) -> float:  # fmt: skip
    """Write the posterior of an agent's parameter by a prior and its own records.

    Parameters
    ----------
    prior, mean : (d,) float64
        Diagonal of P, and μ.
    gram, moment
        G (d, d) and u (d,) of own records, in the same basis.
    variance
        v, the variance of a reward.
    lower : (d, d) float64
        Buffer that is overwritten.
    factor : (d, d) float64
        Receives L⁻ᵀ, an upper triangle, with P + G = LLᵀ. The rest must be 0.
    estimate : (d,) float64
        Receives (P + G)⁻¹ (Pμ + u).

    Returns
    -------
    float
        The log evidence, up to a constant; -inf where numbers are too large for one, and NaN if
        P + G is not positive definite.
    """
    d, surprise, volume, growth = prior.size, 0.0, 0.0, 1.0
    solved = estimate  # a buffer until it receives the estimate
    for i in range(d):
        solved[i] = fma(prior[i], mean[i], moment[i])
        surprise = fma(-prior[i] * mean[i], mean[i], surprise)
        for j in range(i + 1):
            entry = gram[i, j] + (prior[i] if i == j else 0.0)
            for k in range(j):
                entry = fma(-lower[i, k], lower[j, k], entry)
            if j < i:
                lower[i, j] = entry * factor[j, j]
                solved[i] = fma(-lower[i, j], solved[j], solved[i])
            elif not entry > 0.0:
                return np.nan
            else:
                lower[i, i] = math.sqrt(entry)
                factor[i, i] = 1.0 / lower[i, i]
        solved[i] *= factor[i, i]
        surprise = fma(solved[i], solved[i], surprise)
        growth *= lower[i, i] ** 2 / prior[i]
        if growth > _MUCH or i == d - 1:  # one logarithm for many factors
            volume += math.log(growth)
            growth = 1.0
    _invert_lower(lower, factor)
    for i in range(d):  # entries from i on still hold solved numbers
        estimate[i] *= factor[i, i]
        for j in range(i + 1, d):
            estimate[i] = fma(factor[i, j], solved[j], estimate[i])
    log = 0.5 * surprise / variance - 0.5 * volume
    return log if math.isfinite(log) else float(-np.inf)


@allocation_free
def _invert_lower(lower: Floats, factor: Floats) -> None:
    """Write the transposed inverse of a lower triangle (d, d); its diagonal is there already."""
    for j in range(len(lower)):
        for i in range(j + 1, len(lower)):
            entry = 0.0
            for k in range(j, i):
                entry = fma(-lower[i, k], factor[j, k], entry)
            factor[j, i] = entry * factor[i, i]


@compiled
def precision_beyond(weights: Floats, priors: Floats, alone: float) -> float:
    """Return the precision that others' records add to an agent alone, over all directions.

    The averaged precision belongs to the mean deviation over all hypotheses, of ``priors``
    (hypotheses, d). Along a direction it is at least ``alone``.
    """
    total = 0.0
    for a in range(priors.shape[1]):
        deviation = 0.0
        for k in range(weights.size):
            deviation += weights[k] / math.sqrt(priors[k, a])
        total += max(1.0 / deviation**2 - alone, 0.0)
    return total


@compiled
def average(
    weights: Floats, factors: Floats, estimates: Floats, directions: Floats, inverse: Floats,
    estimate: Floats,
) -> None:  # fmt: skip
    """Write the posterior averaged over hypotheses: ``inverse`` (d, d) and ``estimate`` (d,).

    ``factors`` (hypotheses, d, d) and ``estimates`` (hypotheses, d) are in the basis of the rows of
    ``directions`` (d, d).
    """
    d = len(directions)
    factor, averaged = np.zeros((d, d)), np.zeros(d)
    for k in range(weights.size):
        for i in range(d):
            averaged[i] = fma(weights[k], estimates[k, i], averaged[i])
            for j in range(i, d):
                factor[i, j] = fma(weights[k], factors[k, i, j], factor[i, j])
    turned = np.zeros((d, d))  # each row is a column of the factor
    for i in range(d):
        estimate[i] = 0.0
        for j in range(d):
            inverse[i, j] = 0.0
    for a in range(d):
        for i in range(d):
            estimate[i] = fma(directions[a, i], averaged[a], estimate[i])
        for k in range(a, d):
            for i in range(d):
                turned[k, i] = fma(factor[a, k], directions[a, i], turned[k, i])
    for k in range(d):
        for i in range(d):
            for j in range(d):
                inverse[i, j] = fma(turned[k, i], turned[k, j], inverse[i, j])
