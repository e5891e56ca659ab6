"""Confidence radii as loops and parties compute them; see :mod:`fedbandits.learners.confidence`."""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.ridge import log_determinant

_SHIFT_STEPS = 32


@compiled
def radius(
    inflation: float, noise_scale: float, log_term: float, log_det: float, bias: float
) -> float:
    """Compute β; the sum of the logarithms is never negative where the bound applies."""
    return inflation * noise_scale * math.sqrt(max(log_term + log_det, 0.0)) + bias


@compiled
def adaptive_terms(
    values: Floats, shift: float, base: float, norm_bound: float, bias_bound: float,
    parameter_bound: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Compute the numbers of the adaptive radius for a chosen λ.

    ``values`` (d,) are the eigenvalues of the released G + N, before the ``shift`` λ; every values
    + λ must be positive. ``base`` is λ₁, fixed in advance: the martingale bound needs V + cI ⪰ G +
    λ₁I. N ⪰ -norm_bound · I; ``bias_bound`` bounds ‖Nθ* - h‖, and ``parameter_bound`` S bounds
    ‖θ*‖.

    Returns inflation √(1 + c/λ_min(V)), correction c = max(λ₁ + norm_bound - λ, 0), and bias (Sλ +
    ‖Nθ* - h‖)/√λ_min(V).
    """
    smallest = values[0] + shift
    correction = max(base + norm_bound - shift, 0.0)
    inflation = math.sqrt(1.0 + correction / smallest)
    bias = (parameter_bound * shift + bias_bound) / math.sqrt(smallest)
    return inflation, correction, bias


@compiled
def choose_shift(
    values: Floats, base: float, norm_bound: float, bias_bound: float, parameter_bound: float,
    noise_scale: float, log_term: float,
) -> float:  # fmt: skip
    """Choose the shift λ that makes β² tr V⁻¹, the mean squared width, smallest.

    Every λ gives a valid radius on the same event, so choosing after looking at the release costs
    neither privacy nor confidence. Without noise λ is λ₁, ordinary ridge regression.

    Parameters as in :func:`adaptive_terms`; ``noise_scale`` is σ, ``log_term`` is
    2 ln(1/α) - d ln λ₁.
    """
    if norm_bound == 0.0:
        return base
    lowest = max(0.0, base - values[0])
    highest = 2.0 * max(base + norm_bound, lowest)
    best, best_width = lowest, np.inf
    for step in range(_SHIFT_STEPS + 1):
        shift = lowest + (highest - lowest) * (step / _SHIFT_STEPS) ** 2
        inflation, correction, bias = adaptive_terms(
            values, shift, base, norm_bound, bias_bound, parameter_bound
        )
        log_det = log_determinant(values, shift + correction)
        beta = radius(inflation, noise_scale, log_term, log_det, bias)
        trace = 0.0
        for i in range(values.size):
            trace += 1.0 / (values[i] + shift)
        if beta * beta * trace < best_width:
            best, best_width = shift, beta * beta * trace
    return float(best)
