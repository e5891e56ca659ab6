"""Exact sums of records in float64, and a proof of the remaining effects of rounding.

Float64 rounds a sum at every addition. One different record can then move all later roundings, and
with N records the two worlds drift apart like N² (Casacuberta et al. 2022): at 20 million records
by 5·10⁻³ of a record's reach.

Here a record's products are rounded once, to whole steps of a grid that is fixed before the first
record. The grid is so coarse that a sum of all planned records stays below 2⁵³ steps. Such sums are
exact, in any order. So two worlds differ at every time by the same two rounded records.

These effects remain, as shares of a record's reach Δ, with u = 2⁻⁵³, N records, dimension d, n
releases:

* products are rounded to a grid of q ≤ 2 N b u, where b = max(L², L B) ≤ Δ. Each of two records has
  d (d + 1) / 2 + d products, each off by at most q/2. In the norm of the calibration (the diagonal
  counts half) they move by q √(d (d + 2) / 2) < q (d + 1) / √2 together: √2 N u (d + 1). Where the
  noise of Σ x xᵀ is ρ < 1 times that of Σ x y, they move by at most 1/ρ times as much;
* a context may be longer than L by :data:`CAST_ROOM`, in two factors of Δ: 2⁻¹⁹;
* the covered value, a sum below N Δ in that norm, is rounded three times a release (encoding,
  dividing, the grid's float64) in either world: 6 N u √n;
* the grid of covered values, of 2⁻⁴⁰ deviations: within 2⁻²⁵ of the reach for
  √(n d (d + 3) / 2) / μ up to 2¹⁵, far beyond all plans.

:func:`most_records` is the largest N for which the sum of these effects is within
:data:`~fedbandits.privacy.gaussian.ROUNDING_MARGIN`.
"""

from __future__ import annotations

import math

from fedbandits.errors import ConfigError
from fedbandits.privacy.gaussian import ROUNDING_MARGIN
from fedbandits.privacy.kernels import CAST_ROOM

#: Whole numbers up to this bound are exact in float64.
_EXACT = 2.0**53
#: Effects that do not depend on the number of records: float32, twice, and the grid of covered
#: values.
_FIXED = 2.0 * CAST_ROOM + 2.0**-25


def rounding_constant(records: int, largest: float) -> float:
    """Return the constant c with which (p + c) - c rounds a record's product p to the grid.

    Between 2⁵² and 2⁵³ steps a float64 is a whole number of steps; c is 1.5 · 2⁵² steps. The
    product and c must be added in one operation (``fma``), which rounds once.

    A sum holds at most N ``records``, and |p| is at most ``largest``. The constant is 1.5 · 2⁵² q,
    where q is the power of two with N (largest + q/2) ≤ 2⁵³ q.
    """
    if records < 1 or not (largest > 0.0 and math.isfinite(largest)):
        raise ValueError(f"a grid for {records} records of size {largest} cannot be")
    # At least eight, so that a single product is far from the ends of c's binade.
    total = max(records, 8) * largest * (1.0 + CAST_ROOM) ** 2 * (1.0 + 2.0**-20)
    step = 2.0 ** math.ceil(math.log2(total / _EXACT))
    return 1.5 * 2.0**52 * step


def grid_step(constant: float) -> float:
    """Return the step q of the grid for a constant of :func:`rounding_constant`."""
    return constant / (1.5 * 2.0**52)


def most_vectors(size: int, releases: int, mu: float) -> int:
    """Return the largest number of records that are any vectors of a bounded norm b.

    Two records of ``size`` numbers move by q √size together, as a share of Δ = 2 b: N u √size. The
    grid of covered values moves a record of n ``releases`` by 2⁻⁴⁰ √(n size) deviations. A record
    is worth μ deviations, the price of all releases together. The other effects are those of the
    module's list.
    """
    most = max(releases, 1)
    for_each_record = (math.sqrt(size) + 6.0 * math.sqrt(most)) * 2.0**-53
    grid = 2.0**-40 * math.sqrt(most * size) / mu
    return max(0, int((ROUNDING_MARGIN - 2.0 * CAST_ROOM - grid) / for_each_record))


def most_records(dimension: int, releases: int, coarseness: float = 1.0) -> int:
    """Return the largest number of records in a sum for which rounding stays within its margin.

    ``dimension`` is d, ``releases`` is n, and ``coarseness`` the result of :func:`coarseness`.
    """
    for_each_record = math.sqrt(2.0) * (dimension + 1) * coarseness + 6.0 * math.sqrt(
        max(releases, 1)
    )
    return int((ROUNDING_MARGIN - _FIXED) / (for_each_record * 2.0**-53))


def coarseness(largest: float, record_norm: float, gram_noise: float) -> float:
    """Return the factor by which rounded products move a sum more than the module states, ≥ 1.

    ``largest`` is the bound b on a product, ``record_norm`` a record's reach Δ, and ``gram_noise``
    ρ, the deviation of the noise of Σ x xᵀ relative to that of Σ x y.
    """
    return max(1.0, largest / (min(gram_noise, 1.0) * record_norm))


def require_room(records: int, dimension: int, releases: int, coarseness: float = 1.0) -> None:
    """Refuse, by ConfigError, a plan whose sums can hold more records than :func:`most_records`."""
    most = most_records(dimension, releases, coarseness)
    if records > most:
        raise ConfigError(
            f"rounds: {records:,} records can be in one released sum, allowed: {most:,} in "
            f"dimension {dimension} with {releases:,} releases; beyond that rounding may move a "
            "sum by more than the calibrated noise has room for"
        )


def require_room_for_vectors(records: int, size: int, releases: int, mu: float) -> None:
    """Refuse, by ConfigError, a plan whose sums can hold more than :func:`most_vectors`."""
    most = most_vectors(size, releases, mu)
    if records > most:
        raise ConfigError(
            f"rounds: {records:,} records of {size:,} numbers can be in one released sum, allowed: "
            f"{most:,} with {releases:,} releases and μ = {mu:.3g}; beyond that rounding may move "
            "a sum by more than the calibrated noise has room for"
        )
