"""How a party releases its running sum again and again, with simulated noise or with secure noise.

*Simulated* noise is added to the sum: release k is x_k + Σ_j w_kj ξ_j, as the compiled loops do.

*Secure* noise covers the sum before anything is computed from it. With A = B·E, where A makes
running sums of batches, the mechanism is B (E q + ξ): at step k the party encodes its batches,
(E q)_k, has the noise source put that on a grid and cover it, and releases Σ_j w_kj y_j of the
covered values y. In exact arithmetic that is the same release; in floating point all of it is
post-processing of values that are private as they stand. Sums are exact; encoding and the grid
round, for which calibrated noise has room (:mod:`fedbandits.privacy.rounding`). Noise of a paper's
constant has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fedbandits._compile import compiled, fma
from fedbandits._typing import Floats
from fedbandits.errors import NoiseError, ReleaseRefusedError
from fedbandits.privacy.continual import ContinualPlan, add_release_noise, draw_slot


@runtime_checkable
class CoveringNoise(Protocol):
    """A source of noise that covers values; see :class:`.secure_noise.SecureNoise`."""

    def cover(self, step: int, values: Floats) -> Floats:
        """The values under noise of deviation 1, drawn for step ``step`` alone."""


@runtime_checkable
class DrawsAhead(Protocol):
    """A source that can draw before it is asked to cover."""

    def draw_ahead(self, count: int) -> None:
        """See to it that noise for so many numbers is drawn."""


#: Supplies the standard normals of step k (from 1), from a seed: it protects nobody.
SimulatedNoise = Callable[[int], Floats]
NoiseSource = SimulatedNoise | CoveringNoise


class ContinualState(NamedTuple):
    """What must be saved before a release leaves."""

    made: int
    draws: Floats  # (slots, size): noise in use, or covered values
    sums: Floats  # (slots, size): earlier running sums, which encoding needs


def init(plan: ContinualPlan, size: int) -> ContinualState:
    """The state before the first release of a ``size``-vector."""
    return ContinualState(0, np.zeros((plan.slots, size)), np.zeros((plan.slots, size)))


def resume(plan: ContinualPlan, draws: Sequence[Floats], sums: Sequence[Floats]) -> ContinualState:
    """The state after some releases, from what the source gave for each and the exact sums then.

    Parameters
    ----------
    draws : sequence of (size,) float64
        As a ledger keeps them, in order of steps.
    sums : sequence of (size,) float64
        Running sums at those releases, from the party's own records.
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
        The mechanism, and where it stands; ``state`` is left as it is.
    running_sum : (size,) float64
        Q₁ + … + Q_k, exact.
    pattern : (size,) float64
        Relative deviation of the noise in each entry, see :func:`.continual.noise_pattern`.
    noise
        Asked once, for step k.

    Returns
    -------
    state, released
        The state to save, then the noisy sum to send.

    Raises
    ------
    ReleaseRefusedError
        If n releases were made already.
    NoiseError
        If the source did not give as many finite numbers.
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
    if isinstance(noise, CoveringNoise):
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
    """Release values under one Gaussian draw; their records are in no other release.

    Parameters
    ----------
    deviation : float
        Deviation of the noise where the pattern is 1.
    values : (size,) float64
    pattern : (size,) float64
        Deviations relative to ``deviation``.
    step : int
        Number of this release, from 1.
    noise
        Asked once, for this step. Simulated noise may be more than is needed: how many rows there
        are need not be known beforehand.
    """
    scales = deviation * pattern
    if isinstance(noise, CoveringNoise):
        covered: Floats = scales * cover(noise, step, values / scales)
        return covered
    noisy: Floats = values + scales * checked_noise(
        noise(step).reshape(-1)[: pattern.size], pattern.size
    )
    return noisy


def draw_ahead(noise: object, count: int) -> None:
    """Have a source draw noise for so many numbers, before anybody waits for them.

    How long it takes to draw tells of what was drawn. A party calls this when it is made and when
    its last release has left; the next release then draws nothing.

    Parameters
    ----------
    noise
        A source that cannot draw ahead, such as simulated noise, is left alone.
    count : int
        How many numbers the next release covers, at most.
    """
    if isinstance(noise, DrawsAhead):
        noise.draw_ahead(count)


def cover(noise: CoveringNoise, step: int, values: Floats) -> Floats:
    """What a source makes of values, (size,).

    If it fails, noise is drawn ahead anew: whoever asks again need not wait for a draw.

    Raises
    ------
    NoiseError
        If it did not give as many finite numbers.
    """
    try:
        return checked_noise(noise.cover(step, values), values.size)
    except Exception:
        draw_ahead(noise, values.size)
        raise


def renamed(noise: NoiseSource, name: Callable[[int], int]) -> NoiseSource:
    """The source, asked for step ``name(k)`` where a mechanism asks for step k."""
    return _Renamed(noise, name) if isinstance(noise, CoveringNoise) else lambda k: noise(name(k))


class _Renamed(NamedTuple):
    noise: CoveringNoise
    name: Callable[[int], int]

    def cover(self, step: int, values: Floats) -> Floats:
        return self.noise.cover(self.name(step), values)

    def draw_ahead(self, count: int) -> None:
        draw_ahead(self.noise, count)


def checked_noise(drawn: Floats, size: int) -> Floats:
    """What a source gave, (size,): noise that could be none is refused before anything is booked.

    Raises
    ------
    NoiseError
        If it is not so many finite numbers.
    """
    if np.size(drawn) != size or not np.isfinite(drawn).all():
        raise NoiseError(f"release refused: its noise must be {size} finite numbers")
    return np.reshape(drawn, size)


def encode(plan: ContinualPlan, sums: Floats, k: int) -> Floats:
    """(E q)_k, what is covered at step k, (size,).

    Toeplitz: E = C, the square root of A, so that C q = C⁻¹ (A q) is a sum over running sums with
    the coefficients of C⁻¹, a₀ = 1, a_j = a_{j-1} (1 - 3/(2j)). Tree: the sum of the block that
    ends at k.

    Parameters
    ----------
    sums : (slots, size) float64
        Running sums in their slots, that of step k included.
    """
    if plan.mechanism == "tree":
        before = k & (k - 1)
        own: Floats = sums[draw_slot(plan.code, k)]
        return own - sums[draw_slot(plan.code, before)] if before else own.copy()
    inverse = np.concatenate([[1.0], np.cumprod(1.0 - 1.5 / np.arange(1, k))])
    encoded = np.empty(sums.shape[1])
    _accurate_sum(np.ascontiguousarray(inverse[::-1]), sums, encoded)
    return encoded


@compiled
def _accurate_sum(weights: Floats, rows: Floats, out: Floats) -> None:
    """Σ_j weights_j rows_j as if in twice the precision (Ogita, Rump & Oishi 2005, Dot2).

    Running sums are large and what is covered may be small: what rounding adds to a record must
    stay within its margin. Extended precision would do, but not every machine has it.
    """
    for i in range(out.size):
        total = carried = 0.0
        for j in range(weights.size):
            product = weights[j] * rows[j, i]
            lost = fma(weights[j], rows[j, i], -product)
            added = total + product
            part = added - total
            lost += (total - (added - part)) + (product - part)
            carried += lost
            total = added
        out[i] = total + carried
