"""Exact samples of the discrete Gaussian, from the operating system's secure randomness.

Algorithms 1 to 3 of Canonne, Kamath & Steinke, "The discrete Gaussian for differential privacy"
(2020), in whole numbers throughout: no rounding, so nothing in a sample's last bits tells of what
it was added to.
"""

from __future__ import annotations

import secrets


def discrete_gaussian(deviation: int) -> int:
    """A whole number z with probability proportional to exp(-z² / 2σ²) (Algorithm 3).

    Parameters
    ----------
    deviation : int
        The parameter σ ≥ 1.

    Returns
    -------
    int
        Its variance is σ², but for a relative error of order exp(-2π²σ²).
    """
    if deviation < 1:
        raise ValueError(f"deviation must be at least 1, got {deviation}")
    scale, variance = deviation + 1, deviation * deviation
    while True:
        candidate = _discrete_laplace(scale)
        distance = abs(candidate) * scale - variance
        if _happens_exp(distance * distance, 2 * variance * scale * scale):
            return candidate


def _discrete_laplace(scale: int) -> int:
    """A whole number z with probability proportional to exp(-|z|/t) (Algorithm 2)."""
    while True:
        rest = secrets.randbelow(scale)
        if not _happens_exp(rest, scale):
            continue
        times = 0
        while _happens_exp(1, 1):
            times += 1
        size = rest + scale * times
        negative = secrets.randbits(1)
        if not (negative and size == 0):  # or zero would come twice as often
            return -size if negative else size


def _happens_exp(numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator) (Algorithm 1)."""
    whole, rest = divmod(numerator, denominator)
    return all(_happens_exp_at_most_one(1, 1) for _ in range(whole)) and _happens_exp_at_most_one(
        rest, denominator
    )


def _happens_exp_at_most_one(numerator: int, denominator: int) -> bool:
    """The same for 0 ≤ numerator ≤ denominator."""
    trials = 1
    while secrets.randbelow(denominator * trials) < numerator:
        trials += 1
    return trials % 2 == 1
