"""Repeated releases of a running sum by a party, with simulated or with secure noise.

*Simulated* noise is added to the sum: release k is x_k + Σ_j w_kj ξ_j, as in the compiled loops.

*Secure* noise is added before any other computation. A = B·E is the matrix that makes running sums
of batches, and the mechanism is B (E q + ξ). At step k the party encodes its batches as (E q)_k.
The noise source rounds this value to a grid and adds noise; the result y is called covered. The
party releases Σ_j w_kj y_j. In exact arithmetic this release equals the simulated release. In
floating point, everything after the covered values is post-processing of private values. Sums are
exact. Encoding and the grid round values, and calibrated noise has a margin for this
(:mod:`fedbandits.privacy.rounding`). Noise with a paper's constant has no such margin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import NoiseError, ReleaseRefusedError
from fedbandits.privacy.continual import ContinualPlan, differences
from fedbandits.privacy.kernels import accurate_sum, add_release_noise, draw_slot


@runtime_checkable
class CoveringNoise(Protocol):
    """A source that adds noise to values; see :class:`.secure_noise.SecureNoise`.

    Code of every release looks for the attribute ``cover``: ``isinstance`` with a protocol takes 6
    µs.
    """

    def cover(self, step: int, values: Floats) -> Floats:
        """Return ``values`` plus noise of standard deviation 1, drawn only for ``step``."""


#: A seeded source of the standard normals of step k (from 1), which protects nobody.
SimulatedNoise = Callable[[int], Floats]
NoiseSource = SimulatedNoise | CoveringNoise


class ContinualState(NamedTuple):
    """The state to save before a release is sent."""

    made: int
    draws: Floats  # (slots, size): noise in use, or covered values
    sums: Floats  # (slots, size): earlier running sums, for encoding


def init(plan: ContinualPlan, size: int) -> ContinualState:
    """Return the state of ``plan`` before the first release of vectors of length ``size``."""
    return ContinualState(0, np.zeros((plan.slots, size)), np.zeros((plan.slots, size)))


def resume(plan: ContinualPlan, draws: Sequence[Floats], sums: Sequence[Floats]) -> ContinualState:
    """Return the state of ``plan`` after some releases, from their noise and their exact sums.

    ``draws`` are the draws in a ledger, in order of steps, (size,) each. ``sums`` are the running
    sums at these releases, (size,) each, from the party's own records.
    """
    if len(draws) != len(sums) or not len(draws) <= plan.releases:
        raise ValueError(f"{len(draws)} draws, {len(sums)} sums, {plan.releases} releases planned")
    state = init(plan, draws[0].size if draws else 0)
    for k, (draw, running_sum) in enumerate(zip(draws, sums, strict=True), 1):
        slot = draw_slot(plan.code, k)
        state.draws[slot], state.sums[slot] = draw, running_sum
    return state._replace(made=len(draws))


def release(
    plan: ContinualPlan,
    state: ContinualState,
    running_sum: Floats,
    pattern: Floats,
    noise: NoiseSource,
) -> tuple[ContinualState, Floats]:
    """Release a running sum.

    Parameters
    ----------
    plan, state
        The mechanism, and its current state, which is not changed.
    running_sum : (size,) float64
        Q₁ + … + Q_k, exact.
    pattern : (size,) float64
        Relative deviation of the noise in each entry, see :func:`.continual.noise_pattern`.
    noise
        The source of noise. It is used once, for step k.

    Returns
    -------
    state, released
        The state to save, then the noisy sum to send.

    Raises
    ------
    ReleaseRefusedError
        If n releases have been made.
    NoiseError
        If the source did not return the right number of finite values.
    """
    k = state.made + 1
    if k > plan.releases:
        raise ReleaseRefusedError(
            f"release {k} refused: the noise was calibrated for {plan.releases} releases; "
            "plan for more before the first one"
        )
    released = np.array(running_sum, dtype=np.float64)
    if not plan.slots:
        return state._replace(made=k), released
    draws, sums, slot = state.draws.copy(), state.sums.copy(), draw_slot(plan.code, k)
    sums[slot] = running_sum
    if hasattr(noise, "cover"):
        values = encode(plan, sums, k) / (plan.scale * pattern)
        draws[slot] = cover(noise, k, values)
        released[:] = 0.0
    else:
        draws[slot] = checked_noise(noise(k), pattern.size)
    add_release_noise(plan.code, plan.scale, plan.coefficients(), pattern, draws, k, released)
    return ContinualState(k, draws, sums), released


def release_once(
    deviation: float, values: Floats, pattern: Floats, step: int, noise: NoiseSource
) -> Floats:
    """Release values with one Gaussian draw; their records must be in no other release.

    Parameters
    ----------
    deviation : float
        Standard deviation of the noise where ``pattern`` is 1.
    values : (size,) float64
    pattern : (size,) float64
        Standard deviations relative to ``deviation``.
    step : int
        Number of this release, from 1.
    noise
        The source of noise, used once, for this step. Simulated noise may have more rows than
        needed.
    """
    scales = deviation * pattern
    if hasattr(noise, "cover"):
        covered: Floats = scales * cover(noise, step, values / scales)
        return covered
    noisy: Floats = values + scales * checked_noise(
        noise(step).reshape(-1)[: pattern.size], pattern.size
    )
    return noisy


def draw_ahead(noise: object, count: int) -> None:
    """Let a source draw noise in advance, before a release needs the noise.

    The time of a draw reveals something about the drawn numbers. So a party calls this function
    when the party is made, and after each release. The next release then draws nothing.

    ``count`` is the largest number of values in the next release. If ``noise`` cannot draw in
    advance, as simulated noise, nothing happens.
    """
    if hasattr(noise, "draw_ahead"):
        noise.draw_ahead(count)


def cover(noise: CoveringNoise, step: int, values: Floats) -> Floats:
    """Add the noise of the source ``noise`` to ``values``, (size,), for ``step``.

    After a failure, noise is drawn in advance again. So a second attempt does not wait for a draw.

    Raises
    ------
    NoiseError
        If the source did not return the right number of finite values.
    """
    try:
        return checked_noise(noise.cover(step, values), values.size)
    except Exception:
        draw_ahead(noise, values.size)
        raise


def renamed(noise: NoiseSource, name: Callable[[int], int]) -> NoiseSource:
    """Return a source that calls ``noise`` with step ``name(k)`` instead of step k."""
    return _Renamed(noise, name) if hasattr(noise, "cover") else lambda k: noise(name(k))


class _Renamed(NamedTuple):
    noise: CoveringNoise
    name: Callable[[int], int]

    def cover(self, step: int, values: Floats) -> Floats:
        return self.noise.cover(self.name(step), values)

    def draw_ahead(self, count: int) -> None:
        draw_ahead(self.noise, count)


def checked_noise(drawn: Floats, size: int) -> Floats:
    """Check ``drawn``, the values from a source, (size,), before they are recorded.

    Raises
    ------
    NoiseError
        If they are not ``size`` finite numbers.
    """
    if np.size(drawn) != size or not np.isfinite(drawn).all():
        raise NoiseError(f"release refused: its noise must be {size} finite numbers")
    return np.reshape(drawn, size)


def encode(plan: ContinualPlan, sums: Floats, k: int) -> Floats:
    """Return (E q)_k of ``plan``: the values to which noise is added at step ``k``, (size,).

    Toeplitz: E = C, the square root of A, so that C q = C⁻¹ (A q) is a sum over running sums with
    the coefficients of C⁻¹, a₀ = 1, a_j = a_{j-1} (1 - 3/(2j)). Optimal: C q = B⁻¹ (A q). Tree: the
    sum of the block that ends at k. ``sums`` (slots, size) are running sums in their slots,
    including that of step k.
    """
    if plan.mechanism == "tree":
        before = k & (k - 1)
        block_end: Floats = sums[draw_slot(plan.code, k)]
        return block_end - sums[draw_slot(plan.code, before)] if before else block_end.copy()
    if plan.mechanism == "optimal":
        weights = differences(plan.releases, plan.decay)[k - 1, :k].copy()
    else:
        inverse = np.concatenate([[1.0], np.cumprod(1.0 - 1.5 / np.arange(1, k))])
        weights = np.ascontiguousarray(inverse[::-1])
    encoded = np.empty(sums.shape[1])
    accurate_sum(weights, sums, encoded)
    return encoded
