"""Shares of one noise, which parties add up where nobody sees more than the sum.

One mechanism B with deviation s would protect a running sum. Each of the parties adds a share: the
same mechanism with deviation s/√h, by draws of its own. h is the number of parties in a sum whose
noise an attacker does not know. So a sum has at least the noise of one mechanism, and the price of
that mechanism. The proof is in docs/secure-sums.md.

*Whole numbers.* Sums of records are whole multiples of a step q (:mod:`.rounding`), so a share is a
whole number of steps: R + N. A party draws w_k for release k, a discrete Gaussian of deviation s
|B_kk| / (q√h), rounded up to a whole number. Its noise is

    N_k = w_k + ⌊Σ_{j<k} (B_kj / B_jj) w_j⌉.

The map from w to N is invertible, so a step in R is a step in w, and both worlds have the same
outcomes. Real multiples added to whole sums would have different outcomes in either world.

*Rounding.* A record of reach x moves h shares by whole numbers near x/h. They differ from x/h by at
most one step, and the rounded part of N by two. Mapped back to w, and divided by its deviation, the
move is at most 3 h q ‖B⁻¹‖ √(n size) / (s ρ), where n releases have ``size`` numbers each, and ρ is
the least entry of the pattern. :func:`plan_grid` compares this move, and the effects in
:mod:`.rounding`, with the margin of calibrated noise.

*Whole draws, charged as real draws.* Let γ be the sum of 1/(49 σ²) over all draws of h shares, of σ
steps each. Two arguments bound the additional cost of whole draws:

* Total variation: whole draws and real draws differ by at most γ, so (1 + e^ε) γ is added to δ. A
  plan has γ ≤ 10⁻⁶ δ. So δ grows by less than 10⁻⁵ of itself up to ε = 2.1, by 1% at ε = 9.2, and
  is twice as large at ε = 13.8. Beyond, this argument fails: at ε = 100 it shows nothing for any γ
  of a plan.
* Cell by cell, for every ε: a whole number has at most 1/(1 - 1/(24 σ²)) times the probability
  that a real draw is within half a step of it. Within that cell the privacy loss is linear. It
  differs from the loss at the whole number by at most c/(2 σ²), where a record moves the draw by c
  steps. All draws together: δ at ε is at most (1 + 3 γ) times that of real draws at ε - 3.5 √γ μ.
  Where μ grows by a share r, ε at one δ grows by 0.79 r μ or more. So the shift is smaller than the
  effect of a record's reach that grew by a share of 4.5 √γ. The move by a record may depend on
  earlier draws: each factor holds for all earlier draws.

Noise must always have room for the second bound. Where one record costs little, the first bound is
sharper. But the price of several records, and the view of a party with a single share, are at a
larger ε.

*Range.* R and N of a share stay below 2⁵² steps, so float64 holds R + N. Noise of a share has a
deviation of at most 2⁴⁶ steps. The sum of all R stays below 2⁶¹, so a total mod 2⁶⁴ is the total.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Floats
from fedbandits.errors import ConfigError, ReleaseRefusedError
from fedbandits.privacy.continual import ContinualPlan, differences
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.kernels import (
    CAST_ROOM,
    draw_slot,
    mixed_draws,
    share_deviation,
    simulate_share,
)
from fedbandits.privacy.rounding import grid_step, rounding_constant
from fedbandits.privacy.running_sum import ContinualState, SimulatedNoise, checked_noise

#: Bits of a share's noise (its deviation), and of the sum of all parties' records.
_NOISE_BITS, _TOTAL_BITS = 46, 61
#: Largest distance between discrete and continuous noise, as a share of δ.
_OF_DELTA = 1e-6
#: Factor of √γ: the additional cost of whole draws, as a share of a record's reach.
_CELLS = 4.5


class WholeNoise(Protocol):
    """A source that adds whole noise to whole numbers; see :class:`.secure_noise.SecureNoise`."""

    def cover_whole(self, step: int, values: Floats, deviations: Floats) -> Floats:
        """Return ``values`` plus discrete Gaussians of ``deviations``, drawn only for ``step``."""


#: The source of a share's noise.
ShareSource = SimulatedNoise | WholeNoise


class ShareNeeds(NamedTuple):
    """The numbers that determine the grid of shares.

    Parameters
    ----------
    total
        The mechanism for the noise of the sum, with deviation s.
    honest
        h, the number of shares whose noise an attacker does not know.
    parties, records
        Number of parties in a sum, and of records of each party.
    largest
        Bound on a number that a record adds to a sum.
    reach
        The move of a sum by a record, in the norm of the noise.
    unrounded
        The move of a sum by rounding a record's numbers, in steps of the grid and in the norm of
        the
        noise.
    pattern : (size,) float64
        Deviations of the noise relative to s.
    delta
        δ of the claim.
    """

    total: ContinualPlan
    honest: int
    parties: int
    records: int
    largest: float
    reach: float
    unrounded: float
    pattern: Floats
    delta: float


def share_plan(total: ContinualPlan, honest: int) -> ContinualPlan:
    """Return the mechanism of one share: that of the total with deviation s/√h, rounded up."""
    scale = math.nextafter(total.scale / math.sqrt(honest), math.inf)
    return ContinualPlan(total.mechanism, total.releases, scale, total.decay)


class Grid(NamedTuple):
    """A grid of shares, and the effect of rounding to it.

    Parameters
    ----------
    step
        q, the finest power of two that the range allows.
    moved
        Addition to a record's reach by rounding and by whole draws, as a share of the reach.
    distance
        Distance between discrete and continuous noise, as a share of δ.
    """

    step: float
    moved: float
    distance: float

    def require(self, room: float, needs: ShareNeeds) -> None:
        """Refuse a grid on which rounding adds more than ``room`` to a record's reach.

        Raises
        ------
        ConfigError
            If no grid is fine enough for ``room``, and coarse enough for the range.
        """
        if not (self.moved <= room and self.distance <= _OF_DELTA):
            raise ConfigError(
                f"rounds: {needs.records:,} records of each of {needs.parties:,} parties can be in "
                "one secure sum; rounding to 64-bit whole numbers may move such a sum by more than "
                "the calibrated noise has room for. Use fewer rounds, or fewer parties"
            )


def plan_grid(needs: ShareNeeds) -> float:
    """Return the constant that rounds records to the grid of shares; see :mod:`.rounding`.

    Raises
    ------
    ConfigError
        If rounding needs more than the margin of calibrated noise.
    """
    grid = finest_grid(needs)
    grid.require(ROUNDING_MARGIN, needs)
    return 1.5 * 2.0**52 * grid.step


def finest_grid(needs: ShareNeeds) -> Grid:
    """Return the finest grid on which shares and their sums stay within the range."""
    total = needs.parties * needs.records * needs.largest * (1.0 + 4.0 * CAST_ROOM)
    noise = share_plan(needs.total, needs.honest).largest_deviation() * float(needs.pattern.max())
    step = max(
        grid_step(rounding_constant(2 * needs.records, needs.largest)),  # R stays below 2⁵²
        total / 2.0**_TOTAL_BITS,
        noise / 2.0**_NOISE_BITS,
    )
    step = 2.0 ** math.ceil(math.log2(step))
    distance = _distance(needs, step)
    by_cells = _CELLS * math.sqrt(distance * needs.delta)
    return Grid(step, _moved(needs, step) + by_cells, distance)


def _moved(needs: ShareNeeds, step: float) -> float:
    """Return the addition to a record's reach by rounding, as a share of the reach."""
    total, size = needs.total, needs.pattern.size
    rounded = needs.unrounded * step / needs.reach
    norm = inverse_norm(total) * math.sqrt(max(total.releases, 1) * size)
    shares = 3.0 * needs.honest * step * norm / (total.scale * float(needs.pattern.min()))
    mu = total.mu(needs.reach)
    return 2.0 * CAST_ROOM + rounded + (shares / mu if mu > 0.0 else 0.0)


def _distance(needs: ShareNeeds, step: float) -> float:
    """Return the distance between discrete and continuous noise of h shares, as a share of δ.

    A discrete Gaussian of σ steps differs from a continuous one by less than 1/(49 σ²) in total
    variation.
    """
    share, n = share_plan(needs.total, needs.honest), needs.total.releases
    if n == 0:
        return 0.0
    every = range(1, n + 1) if share.mechanism == "optimal" else (1,)
    largest = max(
        float(np.sum(1.0 / (49.0 * deviations_of(share, step, needs.pattern, k) ** 2)))
        for k in every
    )
    return n * needs.honest * largest / needs.delta


def inverse_norm(plan: ContinualPlan) -> float:
    """Return a bound on ‖B⁻¹‖, the largest stretch from noise to draws.

    Toeplitz: B⁻¹ is (1 - x)^½ as a series, whose coefficients have the sum 2. Tree: B⁻¹ has at most
    two entries ±1 in a row, and 1 + log₂ n in a column.
    """
    if plan.mechanism == "optimal" and plan.releases:
        return float(np.linalg.norm(differences(plan.releases, plan.decay), 2))
    if plan.mechanism == "tree":
        return math.sqrt(2.0 * (1 + max(plan.releases, 1).bit_length()))
    return 2.0


def release_share(
    plan: ContinualPlan,
    step: float,
    state: ContinualState,
    running_sum: Floats,
    pattern: Floats,
    noise: ShareSource,
) -> tuple[ContinualState, Floats]:
    """Make the next share of a running sum.

    Parameters
    ----------
    plan, state
        The mechanism of a share, and its state, which is not changed. Draws in the state are whole.
    step : float
        q, the step of the grid.
    running_sum : (size,) float64
        The exact sum, a whole multiple of q.
    pattern : (size,) float64
        Relative deviation of the noise in each entry.
    noise
        The source of noise. It is used once, for this release.

    Returns
    -------
    state, share
        The state to save, and R + N in steps: whole numbers below 2⁵³, (size,) float64.

    Raises
    ------
    ReleaseRefusedError
        If all planned releases have been made.
    NoiseError
        If the source did not return the right number of finite values.
    """
    k = state.made + 1
    if k > plan.releases:
        raise ReleaseRefusedError(f"share {k} refused: {plan.releases} releases were planned")
    draws, slot, coefficients = state.draws.copy(), draw_slot(plan.code, k), plan.coefficients()
    share = np.array(running_sum, dtype=np.float64)
    if hasattr(noise, "cover_whole"):
        deviations = deviations_of(plan, step, pattern, k)
        mixed = [mixed_draws(plan.code, coefficients, draws, k, i) for i in range(share.size)]
        values = share / step + np.array(mixed)
        share = checked_noise(noise.cover_whole(k, values, deviations), share.size)
        draws[slot] = share - values
    else:
        draws[slot] = checked_noise(noise(k), share.size)
        simulate_share(plan.code, plan.scale, step, coefficients, pattern, draws, k, share)
    return ContinualState(k, draws, state.sums), share


def deviations_of(plan: ContinualPlan, step: float, pattern: Floats, k: int) -> Floats:
    """Return the whole deviations of release k's draw, (size,), for a draw in advance."""
    coefficients, relative = plan.coefficients(), set(pattern.tolist())
    by_relative = {
        r: share_deviation(plan.code, plan.scale, step, coefficients, r, k) for r in relative
    }
    return np.array([by_relative[r] for r in pattern.tolist()])
