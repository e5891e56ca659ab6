"""Gaussian differential privacy: exact calibration, on the safe side.

A Gaussian release with L2 sensitivity Δ and deviation σ is μ-GDP with μ = Δ/σ (Dong, Roth & Su
2022) and, exactly, (ε, δ(ε))-DP with δ(ε) = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) (Balle & Wang
2018). Independent releases compose as μ = √Σ μᵢ².
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from scipy.special import log_ndtr, ndtr

_ITERATIONS = 200
#: Share by which calibrated noise is larger than it must be in exact arithmetic. It covers the
#: grid, encoding, and what float64 loses where a million records are added up (measured: 1.1e-5 of
#: a record's reach, where every record is the largest there is).
ROUNDING_MARGIN = 2.0**-16


def delta_of(epsilon: float, mu: float) -> float:
    """δ at which a μ-GDP mechanism is (ε, δ)-DP.

    Parameters
    ----------
    epsilon : float
        The ε ≥ 0 of the guarantee.
    mu : float
        The mechanism's μ ≥ 0, possibly infinite.

    Returns
    -------
    float
        δ in [0, 1].
    """
    if mu == 0.0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    # e^ε Φ(·) in logarithms: e^ε alone overflows from ε ≈ 710 on.
    second = math.exp(min(0.0, epsilon + float(log_ndtr(-epsilon / mu - mu / 2.0))))
    return max(0.0, float(ndtr(-epsilon / mu + mu / 2.0)) - second)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ whose μ-GDP implies (ε, δ)-DP, rounded down.

    Parameters
    ----------
    epsilon : float
        The budget's ε > 0.
    delta : float
        The budget's δ, 0 < δ < 1.
    """
    _require(epsilon > 0.0 and math.isfinite(epsilon), f"epsilon must be positive, got {epsilon}")
    _require(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1, got {delta}")
    low, high = 0.0, 1.0
    while delta_of(epsilon, high) <= delta:
        low, high = high, 2.0 * high
    for _ in range(_ITERATIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if delta_of(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest ε such that μ-GDP implies (ε, δ)-DP, rounded up; infinite for infinite μ."""
    _require(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1, got {delta}")
    _require(mu >= 0.0, f"mu must not be negative, got {mu}")
    if math.isinf(mu):
        return math.inf
    if delta_of(0.0, mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(high, mu) > delta:
        low, high = high, 2.0 * high
    for _ in range(_ITERATIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if delta_of(middle, mu) > delta:
            low = middle
        else:
            high = middle
    return high


def compose(mus: Iterable[float]) -> float:
    """μ of several independent (or adaptively chosen) Gaussian releases on the same data."""
    return math.hypot(*mus)


def least_deviation(sensitivity: float, mu: float) -> float:
    """The least deviation of noise that is within a budget of μ, rounded up.

    A little more than Δ/μ: room for what rounding adds to a sensitivity where noise leaves a real
    party (:mod:`fedbandits.privacy.running_sum`).
    """
    return math.nextafter(sensitivity * (1.0 + ROUNDING_MARGIN) / mu, math.inf)


def record_sensitivity(context_bound: float, reward_bound: float) -> float:
    """L² + B²: the Frobenius norm that one record [x; y][x; y]ᵀ can have.

    Replacing a record moves a sum of such matrices by at most √2 times this, and symmetrised
    noise (A + Aᵀ)/√2 of entry deviation s has Frobenius deviation √2·s a direction, so a single
    release under replace-one is μ = (L² + B²)/s.
    """
    return context_bound**2 + reward_bound**2


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
