"""From the errors of an attack to lower bounds on ε."""

from __future__ import annotations

import math

from scipy.special import betaincinv, ndtri

from fedbandits.privacy import gaussian


def rate_bound(errors: int, runs: int, failure: float) -> float:
    """An upper bound on a probability that fails with probability ``failure``, from a count."""
    if errors >= runs:
        return 1.0
    return float(betaincinv(errors + 1.0, float(runs - errors), 1.0 - failure))


def direct_bound(positives: tuple[float, float], delta: float) -> float:
    """ε from bounds on both error rates, whatever the mechanism.

    Parameters
    ----------
    positives : (float, float)
        Upper bounds of FPR and FNR.
    """
    false_positive, false_negative = positives
    best = 0.0
    for one, other in ((false_positive, false_negative), (false_negative, false_positive)):
        hit = 1.0 - other - delta
        if hit > one > 0.0:
            best = max(best, math.log(hit / one))
    return best


def gaussian_bound(positives: tuple[float, float], delta: float) -> float:
    """ε from bounds on both error rates of a mechanism that is priced as Gaussian."""
    false_positive, false_negative = positives
    # Φ⁻¹(1 - FPR), which rounding would spoil where FPR is small.
    mu = -(float(ndtri(false_positive)) + float(ndtri(false_negative)))
    return gaussian.epsilon_of(mu, delta) if mu > 0.0 and math.isfinite(mu) else 0.0
