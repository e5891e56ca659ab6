"""Confidence radii for ridge estimates whose statistics carry noise and a shift.

Notation: G is the true Gram sum, N the noise of the release, V = G + N + λI the resulting matrix,
θ̃ = V⁻¹ũ with ũ = Σ x y + h. A radius β bounds ‖θ* - θ̃‖_V. Every radius here has the form

    β = inflation · σ √(log_term + ln det(V + cI)) + bias

with the four numbers settled when statistics arrive. So playing needs one line,
:func:`.kernels.confidence.radius`. The derivations are in docs/confidence.md.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple


class SpectralBounds(NamedTuple):
    """Bounds on one agent's shifted noise H (Dubey & Pentland 2020, Definition 2)."""

    rho_min: float  # H ⪰ ρ_min I
    rho_max: float  # ‖H‖ ≤ ρ_max
    kappa: float  # ‖h‖ in the norm of H⁻¹


def operator_norm_factor(dimension: int, alpha: float) -> float:
    """Return a factor with ‖N‖ ≤ factor · τ with probability 1 - α.

    N is symmetrised Gaussian noise of off-diagonal deviation τ. 2τ√d bounds the expected largest
    eigenvalue, which is a √2 τ-Lipschitz function of standard normals; each end of the spectrum
    gets α/2.
    """
    return 2.0 * math.sqrt(dimension) + 2.0 * math.sqrt(math.log(2.0 / alpha))


def least_eigenvalue_factor(dimension: int, alpha: float) -> float:
    """Return a factor with N ⪰ -factor · τ with probability 1 - α: one end of the norm's bound."""
    return 2.0 * math.sqrt(dimension) + 2.0 * math.sqrt(math.log(1.0 / alpha))


def vector_norm_factor(dimension: int, alpha: float) -> float:
    """Return a factor with ‖h‖ ≤ factor · τ with probability 1 - α, for d entries N(0, τ²)."""
    return math.sqrt(dimension) + math.sqrt(2.0 * math.log(1.0 / alpha))


@functools.lru_cache(maxsize=256)
def bias_norm_factor(
    dimension: int, parameter_bound: float, alpha: float, gram_noise: float = 1.0
) -> float:
    """Return a factor with ‖Nθ* - h‖ ≤ factor · τ with probability 1 - α, for ‖θ*‖ ≤ S.

    h has deviation τ, and N has ρ τ off the diagonal, where ρ is ``gram_noise``. N and h are
    independent of θ* and of one another, so Nθ* - h is Gaussian with covariance
    τ² ((1 + ρ²‖θ*‖²) I + ρ² θ*θ*ᵀ). Its squared norm is (1 + ρ²S²) χ²(d-1) + (1 + 2ρ²S²) χ²(1) at
    worst, and the factor is the root of that variable's exact quantile. ‖N‖·S + ‖h‖ would cost
    about twice as much.
    """
    from scipy import optimize, special  # systems that explore without a bound do not need this

    reach = (gram_noise * parameter_bound) ** 2
    common, along = 1.0 + reach, 1.0 + 2.0 * reach
    # (1 + 2ρ²S²) χ²(d) dominates the sum, so its quantile lies above the root.
    high = 1.01 * along * float(special.chdtri(dimension, alpha))
    root = optimize.brentq(
        lambda value: _sum_tail(value, common, along, dimension) - alpha,
        1e-12 * high,
        high,
        rtol=1e-9,
    )
    return math.sqrt(root) * (1.0 + 1e-6)


def _sum_tail(value: float, common: float, along: float, dimension: int) -> float:
    """Compute P(common χ²(d-1) + along χ²(1) > value), with the χ²(1) part integrated out.

    χ²(1) is z² with z normal; z = edge · sin φ removes the root singularity of the integrand.
    """
    from scipy import integrate, special

    edge = math.sqrt(value / along)
    if dimension == 1:
        return float(2.0 * special.ndtr(-edge))

    def integrand(phi: float) -> float:
        z, slope = edge * math.sin(phi), edge * math.cos(phi)
        rest = value * math.cos(phi) ** 2 / common
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        return density * slope * float(special.chdtrc(dimension - 1, rest))

    inner, _ = integrate.quad(integrand, 0.0, 0.5 * math.pi, epsabs=0.0, epsrel=1e-9, limit=200)
    return float(2.0 * (inner + special.ndtr(-edge)))


def published_bounds(
    levels: int, releases: int, agents: int, dimension: int, context_bound: float,
    epsilon: float, delta: float, alpha: float,
) -> SpectralBounds:  # fmt: skip
    """Compute ρ_min, ρ_max, κ of the paper (section 4.3, Proposition 4), for noise shifted by 2Λ.

    The binary tree has m levels, for n releases. ``alpha`` is the failure probability, which is
    split over n releases and M agents.
    """
    spread = math.log(2.0 * releases * agents / alpha)
    size = levels * (context_bound**2 + 1.0)
    root = math.sqrt(dimension)
    bound = math.sqrt(32.0) * size * math.log(4.0 / delta) * (4.0 * root + 2.0 * spread) / epsilon
    kappa = math.sqrt(size * (root + 2.0 * spread) / (math.sqrt(2.0) * epsilon))
    return SpectralBounds(bound, 3.0 * bound, kappa)
