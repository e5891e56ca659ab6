"""Error rates of tests on a private release: lower bounds on ε, and the most power."""

from __future__ import annotations

import math

from scipy.special import betaincinv, ndtr, ndtri

from fedbandits.privacy import gaussian


def rate_bound(errors: int, runs: int, failure: float) -> float:
    """Bound a probability from above, from a count; that fails with probability ``failure``."""
    if errors >= runs:
        return 1.0
    return float(betaincinv(errors + 1.0, float(runs - errors), 1.0 - failure))


def direct_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from upper bounds of FPR and FNR, whatever the mechanism."""
    false_positive, false_negative = positives
    best = 0.0
    for one, other in ((false_positive, false_negative), (false_negative, false_positive)):
        hit = 1.0 - other - delta
        if hit > one > 0.0:
            best = max(best, math.log(hit / one))
    return best


def gaussian_bound(positives: tuple[float, float], delta: float) -> float:
    """Return ε from bounds on both error rates of a mechanism that is priced as Gaussian."""
    false_positive, false_negative = positives
    # Φ⁻¹(1 - FPR), which rounding would spoil where FPR is small.
    mu = -(float(ndtri(false_positive)) + float(ndtri(false_negative)))
    return gaussian.epsilon_of(mu, delta) if mu > 0.0 and math.isfinite(mu) else 0.0


def most_power(false_alarms: float, epsilon: float, delta: float) -> float:
    """Return the most power that any test has against an (ε, δ)-private release.

    A test decides from what was released which of two neighbouring data sets it came from. With α
    for its false alarms, its power is at most min(e^ε α + δ, 1 - e^(-ε) (1 - α - δ)) (Kairouz, Oh
    & Viswanath 2015). It is α if ε = δ = 0: the release then tells nothing. ε may be infinite.

    >>> round(most_power(0.05, epsilon=1.0, delta=1e-5), 3)
    0.136
    """
    other = 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - false_alarms - delta)
    if false_alarms == 0.0:
        return min(1.0, delta, other)
    # e^ε alone overflows from ε ≈ 710 on; above 1 the other bound is the smaller one.
    scaled = math.exp(min(0.0, epsilon + math.log(false_alarms)))
    return min(1.0, scaled + delta, other)


def gaussian_power(false_alarms: float, mu: float) -> float:
    """Return the most power that any test has against a release that is μ-Gaussian private.

    It is Φ(Φ⁻¹(α) + μ), where α is ``false_alarms`` (Dong, Roth & Su 2022). With the same ε and δ
    it is less than :func:`most_power` allows, because more is known about the release.

    >>> round(gaussian_power(0.05, mu=0.268), 3)
    0.084
    """
    return float(ndtr(ndtri(false_alarms) + mu))
