"""Gaussian differential privacy: exact calibration, rounded to the safe side.

A Gaussian release with L2 sensitivity Δ and standard deviation σ is μ-GDP with μ = Δ/σ (Dong, Roth
& Su 2022). It is exactly (ε, δ(ε))-DP with δ(ε) = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2) (Balle & Wang
2018). Independent releases compose as μ = √Σ μᵢ².
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

_ITERATIONS = 200
#: Share by which calibrated noise exceeds its value in exact arithmetic: room for the effect of
#: rounding on a record's reach, which is proved in :mod:`fedbandits.privacy.rounding`.
ROUNDING_MARGIN = 2.0**-16


def delta_of(epsilon: float, mu: float) -> float:
    """Return the smallest δ at which every μ-GDP mechanism is (ε, δ)-DP, in [0, 1].

    ``epsilon`` is ε ≥ 0, and ``mu`` is μ ≥ 0, which may be infinite.
    """
    from scipy.special import log_ndtr, ndtr  # it takes a while, and 27 MB

    if mu == 0.0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    # e^ε Φ(·) in logarithms: e^ε overflows from ε ≈ 710 on.
    second = math.exp(min(0.0, epsilon + float(log_ndtr(-epsilon / mu - mu / 2.0))))
    return max(0.0, float(ndtr(-epsilon / mu + mu / 2.0)) - second)


@functools.lru_cache(maxsize=256)  # parties and audits ask for the same budgets again
def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest μ such that μ-GDP implies (ε, δ)-DP, rounded down.

    ``epsilon`` is ε > 0, and ``delta`` is δ with 0 < δ < 1; a ValueError refuses other values.
    """
    _require(epsilon > 0.0 and math.isfinite(epsilon), f"epsilon must be positive, got {epsilon}")
    _require(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1, got {delta}")
    low, _ = _turning_point(lambda mu: delta_of(epsilon, mu) <= delta)
    return low


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest ε such that μ-GDP implies (ε, δ)-DP, rounded up; infinite if μ is.

    μ is ``mu``, and δ is ``delta``.
    """
    _require(0.0 < delta < 1.0, f"delta must lie strictly between 0 and 1, got {delta}")
    _require(mu >= 0.0, f"mu must not be negative, got {mu}")
    if math.isinf(mu):
        return math.inf
    if delta_of(0.0, mu) <= delta:
        return 0.0
    _, high = _turning_point(lambda epsilon: delta_of(epsilon, mu) > delta)
    return high


def _turning_point(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Return neighbouring floats: the largest at which a condition holds, and its successor.

    The condition must hold for all smaller numbers, and for no larger number.
    """
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2.0 * high
    for _ in range(_ITERATIONS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def compose(mus: Iterable[float]) -> float:
    """Return μ of several Gaussian releases of the same data, with the values ``mus``.

    The releases are independent or chosen adaptively.
    """
    return math.hypot(*mus)


def several(mus: Iterable[float], *, one_noise: bool) -> float:
    """Return μ of a change that is in the releases of several parties, at prices ``mus``.

    Parties with noise of their own make independent releases: √Σ μᵢ². Where ``one_noise`` covers
    the sum of all parties, the sum moves by all changes at once: Σ μᵢ. That price is an upper
    bound, and exact where all changes have one direction and come at one time.
    """
    return math.fsum(mus) if one_noise else compose(mus)


def least_deviation(sensitivity: float, mu: float) -> float:
    """Return the smallest standard deviation of noise for a budget of ``mu``, rounded up.

    It is slightly larger than Δ/μ, where Δ is ``sensitivity``. At a real party rounding increases
    the sensitivity, and the margin covers this (:mod:`fedbandits.privacy.rounding`).
    """
    return math.nextafter(sensitivity * (1.0 + ROUNDING_MARGIN) / mu, math.inf)


def record_sensitivity(context_bound: float, reward_bound: float, gram_noise: float = 1.0) -> float:
    """Return the sensitivity of Σ x xᵀ and Σ x y together, if one record (x, y) is replaced.

    Records have ‖x‖ ≤ L (``context_bound``) and |y| ≤ B (``reward_bound``). The norm belongs to
    symmetrised noise (A + Aᵀ)/√2 with standard deviation s off the diagonal and √2·s on it: ‖(G,
    h)‖² = ‖G‖²/2 + ‖h‖². A single release under replace-one has μ = (this sensitivity)/s.

    For contexts of norms a ≥ b at an angle of cosine c, and rewards of opposite signs,

        ‖(G, h) - (G', h')‖² ≤ (a⁴ + b⁴)/2 - a² b² c² + B² (a² + b² + 2 a b |c|).

    * B ≤ L: at most (L² + B²)², since [x; y][x; y]ᵀ has Frobenius norm ≤ L² + B². Equality holds
      for a = b = L and |c| = B²/L².
    * B > L: the right-hand side grows with |c|, since B² ≥ a b. At |c| = 1 it is
      (a² - b²)²/2 + B² (a + b)², which grows with a, and with b since B² ≥ b (a - b): at most
      4 L² B², equal for x' = x, y' = -y.

    A smaller range of rewards, such as [0, B], does not help: (-x, y) moves the sums as (x, -y).

    *Unequal noise.* Let the noise of Σ x xᵀ have ρ times the deviation of that of Σ x y. Then the
    norm is ‖G‖²/(2 ρ²) + ‖h‖². This is the norm above for x/√ρ and √ρ·y, so L/√ρ and √ρ·B stand in
    for L and B.

    Parameters
    ----------
    context_bound, reward_bound : float
        L and B.
    gram_noise : float
        ρ, the deviation of the noise of Σ x xᵀ relative to that of Σ x y.

    Returns
    -------
    float
        L²/ρ + ρ B² if ρ B ≤ L, else 2 L B. In dimension 1, and for ρ B < L, a smaller value would
        be enough.
    """
    context_bound /= math.sqrt(gram_noise)
    reward_bound *= math.sqrt(gram_noise)
    if reward_bound <= context_bound:
        return context_bound**2 + reward_bound**2
    return 2.0 * context_bound * reward_bound


def best_gram_noise(context_bound: float, reward_bound: float, parameter_bound: float) -> float:
    """Return ρ with the least noise in the error N θ* - h of a linear estimate.

    N is the noise of Σ x xᵀ, and h that of Σ x y. ``context_bound``, ``reward_bound`` and
    ``parameter_bound`` are L, B and S. Across θ* the variance is (L²/ρ + ρ B²)² (1 + ρ² S²), for ρ
    B ≤ L. In r = ρ² its derivative has the sign of 2 B² S² r² + B² r - L².
    """
    reward, parameter = reward_bound / context_bound, parameter_bound
    # The positive root, without a difference of close numbers.
    root = math.sqrt(1.0 + 8.0 * (parameter / reward) ** 2)
    return math.sqrt(2.0 / (1.0 + root)) / reward


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
