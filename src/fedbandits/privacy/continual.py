"""Private running sums: release Q₁ + … + Q_k at every k ≤ n, where each record is in one Q.

All mechanisms are matrix mechanisms with one new Gaussian draw ξ_k for each release. Release k
combines the draws made so far with weights that depend only on k.

* ``tree`` (Chan, Shi & Song 2011): ξ_k belongs to the dyadic block that ends at k; its length is
  the lowest set bit of k. Release k adds the draws of the blocks in the binary expansion of k.
* ``toeplitz`` (Fichtenberger, Henzinger & Upadhyay 2023): the all-ones lower-triangular matrix is
  C·C with C Toeplitz, c₀ = 1, c_k = c_{k-1} (1 - 1/(2k)); release k adds Σ_{j≤k} c_{k-j} ξ_j.
* ``optimal``: the factorisation with the least noise for n releases, see below.

A draw is stored and used again, because a new draw for the same step would spend the budget twice.
``n`` is fixed in advance, and a release beyond it is refused. :mod:`fedbandits.privacy.running_sum`
has the code that a party uses for its releases.

**The optimal factorisation.** The matrix A of ones on and below the diagonal turns n batches into n
running sums. A matrix mechanism writes it as A = B·C. It adds noise to the encoded batches C q, and
releases B (C q + ξ). A record is in one batch, so its sensitivity is the largest column norm of C.
The deviation of release k is the norm of row k of B, times that of ξ.

The factorisation here has the smallest Σ_k w_k ‖row k of B‖², with w_k = decay^(k-1), among all
whose columns of C have norm 1 (Denisov et al. 2022; McKenna et al. 2018). In X = CᵀC, a matrix
with ones on the diagonal, it is the convex problem

    minimise tr(S X⁻¹)    with    S = Aᵀ diag(w) A.

At the minimum X diag(v) X = S for some multipliers v > 0. Hence v is a fixed point of
v = diag((diag(v)^½ S diag(v)^½)^½), to which repeating it leads.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import msgspec
import numpy as np

from fedbandits._typing import Floats
from fedbandits.privacy.gaussian import least_deviation
from fedbandits.privacy.kernels import NONE, OPTIMAL, TOEPLITZ, TREE, release_deviation

#: Names for users of the package; all other names are internal.
__all__ = ["ContinualPlan", "calibrated", "noise_pattern", "toeplitz_coefficients"]

Mechanism = Literal["none", "tree", "toeplitz", "optimal"]

#: Largest number of releases for which Toeplitz norms are summed (32 MB); beyond, a formula is
#: used.
SUMMED = 1 << 22
CODES: dict[Mechanism, int] = {
    "none": NONE,
    "tree": TREE,
    "toeplitz": TOEPLITZ,
    "optimal": OPTIMAL,
}


class ContinualPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mechanism for a stream of running sums.

    Parameters
    ----------
    mechanism
        ``tree``, ``toeplitz``, ``optimal``, or ``none``, which adds no noise and protects nothing.
    releases
        The number n of releases, fixed in advance.
    scale
        The standard deviation s of the entries of one draw where the pattern of a release is 1; see
        :func:`noise_pattern`.
    decay
        For ``optimal``: the weight of a release's noise, relative to the release before.
    """

    mechanism: Mechanism
    releases: int
    scale: float
    decay: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must be positive and at most 1, got {self.decay}")
        if self.mechanism == "optimal":
            if self.releases > MOST_RELEASES:
                raise ValueError(
                    f"optimal makes at most {MOST_RELEASES} releases, got {self.releases}"
                )
            if self.decay**self.releases < LEAST_WEIGHT:
                raise ValueError(f"decay is too small for so many releases, got {self.decay}")
        if self.releases < 0:
            raise ValueError(f"releases must not be negative, got {self.releases}")
        if not (self.scale >= 0.0 and math.isfinite(self.scale)):
            raise ValueError(f"scale must be a number ≥ 0, got {self.scale}")

    @property
    def code(self) -> int:
        """The mechanism's integer code."""
        return CODES[self.mechanism]

    @property
    def slots(self) -> int:
        """Number of draws that must be stored at the same time."""
        if self.mechanism == "tree":
            return self.releases.bit_length()
        return self.releases if self.mechanism in ("toeplitz", "optimal") else 0

    def coefficients(self) -> Floats:
        """Return the numbers that :func:`.draw_weight` reads: c₀ … c_{n-1}, or the packed decoder.

        The array is empty for other mechanisms, and read-only for every mechanism. Kernels would
        otherwise be compiled twice: for writable and for read-only arrays.
        """
        if self.mechanism == "optimal":
            return packed_decoder(self.releases, self.decay)
        return _kept_coefficients(self.releases if self.mechanism == "toeplitz" else 0)

    def sensitivity(self, releases: int | None = None) -> float:
        """Return the sensitivity of the draws' inputs to one record, as a multiple of its norm.

        The result is the largest column norm of the encoder over the first ``releases`` releases
        (all n by default): √(1 + ⌊log₂ k⌋) for the tree, ‖c₀ … c_{k-1}‖₂ for Toeplitz, 1 for all
        releases of the optimal mechanism.
        """
        k = self.releases if releases is None else releases
        if k <= 0:
            return 0.0
        if self.mechanism == "tree":
            return math.sqrt(k.bit_length())
        if self.mechanism == "toeplitz":
            return _toeplitz_norm(k)
        if self.mechanism == "optimal":
            return float(sensitivities(self.releases, self.decay)[k - 1])
        return math.inf

    def mu(self, record_norm: float, releases: int | None = None) -> float:
        """Return μ of the first ``releases`` releases (by default all), for replace-one neighbours.

        ``record_norm`` is the result of :func:`fedbandits.privacy.gaussian.record_sensitivity`.
        """
        sensitivity = self.sensitivity(releases)
        if sensitivity == 0.0:
            return 0.0
        return sensitivity * record_norm / self.scale if self.scale > 0.0 else math.inf

    def largest_deviation(self) -> float:
        """Return the deviation of the release with the most noise, where the pattern is 1."""
        n = self.releases
        if self.mechanism == "tree":  # the number up to n with the most bits set
            return (
                self.deviation(max(n, (1 << (n.bit_length() - 1)) - 1, key=int.bit_count))
                if n
                else 0.0
            )
        if self.mechanism == "optimal":
            return max((self.deviation(k) for k in range(1, n + 1)), default=0.0)
        return self.deviation(n) if n else 0.0

    def deviation(self, k: int) -> float:
        """Return the deviation of the noise in release ``k``, where the pattern is 1."""
        if self.mechanism != "toeplitz":
            return float(release_deviation(self.code, self.scale, self.coefficients(), k))
        return self.scale * _toeplitz_norm(k) if k > SUMMED else _toeplitz_deviation(self.scale, k)


def calibrated(
    mechanism: Mechanism, releases: int, mu: float, record_norm: float, decay: float = 1.0
) -> ContinualPlan:
    """Return the plan with the least noise whose releases are together μ-GDP.

    Parameters
    ----------
    mechanism
        See :class:`ContinualPlan`.
    releases
        The number n of releases.
    mu
        The budget μ.
    record_norm
        See :func:`fedbandits.privacy.gaussian.record_sensitivity`.
    decay
        See :class:`ContinualPlan`.
    """
    if mechanism == "none":
        return ContinualPlan(mechanism, releases, 0.0)
    if not mu > 0.0:
        raise ValueError(f"mu must be positive, got {mu}")
    unit = ContinualPlan(mechanism, max(releases, 1), 1.0, decay).mu(record_norm)
    return ContinualPlan(mechanism, releases, least_deviation(unit, mu), decay)


def toeplitz_coefficients(count: int) -> Floats:
    """Return ``count`` coefficients of the square root of the lower triangular ones matrix."""
    k = np.arange(1, max(count, 1), dtype=np.float64)
    return np.concatenate([[1.0], np.cumprod(1.0 - 0.5 / k)])[:count]


@functools.lru_cache(maxsize=2)  # the coefficients of 10⁷ releases take 80 MB
def _kept_coefficients(count: int) -> Floats:
    """Return read-only coefficients, kept because a party needs them at every release."""
    coefficients = toeplitz_coefficients(count)
    coefficients.flags.writeable = False
    return coefficients


@functools.lru_cache(maxsize=1024)  # every receiver of a release needs its deviation
def _toeplitz_deviation(scale: float, k: int) -> float:
    """Return the deviation of release k, which combines the first k coefficients."""
    return float(release_deviation(TOEPLITZ, scale, toeplitz_coefficients(k), k))


def _toeplitz_norm(count: int) -> float:
    """Return ‖c₀ … c_{count-1}‖₂, in bounded time and memory.

    The squared norm is Landau's constant G_{count-1}. Above :data:`SUMMED` it is computed from the
    expansion (ln m + γ + 4 ln 2)/π + 11/(192 π m²), m = count - 1/4 (Watson 1930), and rounded up
    by far more than the missing terms, O(m⁻⁴).
    """
    if count <= SUMMED:
        return float(_toeplitz_norms(1 << (count - 1).bit_length())[count - 1])
    m = count - 0.25
    landau = math.log(m) + np.euler_gamma + 4.0 * math.log(2.0) + 11.0 / (192.0 * m * m)
    return math.sqrt(landau / math.pi) * (1.0 + 1e-12)


@functools.lru_cache(maxsize=32)  # lengths are powers of two, so 32 are enough
def _toeplitz_norms(count: int) -> Floats:
    """Return ‖c₀ … c_{k-1}‖₂ for k = 1 … count: a ledger needs a norm for every charge."""
    norms: Floats = np.sqrt(np.cumsum(toeplitz_coefficients(count) ** 2))
    return norms


def noise_pattern(models: int, dimension: int, gram_noise: float = 1.0) -> Floats:
    """Return relative standard deviations of the entries of a packed statistic.

    The shape is (models · d (d + 3) / 2,), where d is ``dimension``. Entries of the moment Σ x y
    have deviation 1. The noise of the Gram matrix is ρ (A + Aᵀ)/√2, with ρ = ``gram_noise``: its
    entries have ρ off the diagonal, and √2 ρ on it.
    """
    rows, columns = np.triu_indices(dimension)
    gram = gram_noise * np.where(rows == columns, math.sqrt(2.0), 1.0)
    return np.tile(np.concatenate([gram, np.ones(dimension)]), models)


# ---------------------------------------------------------------- the optimal factorisation


#: Largest number of releases: for more, the optimisation takes too long.
MOST_RELEASES = 40
#: Unit of the entries of C, which are whole multiples. So the entries do not depend on a machine's
#: rounding, and their differences are exact.
_GRID = 2.0**-40
_STEPS = 200
#: Least weight of the last release: below, too few digits are left.
LEAST_WEIGHT = 1e-9
#: Relative change of a multiplier at which the search ends. Noise is at its minimum there, so noise
#: is larger than the minimum only by the square of this change.
_SETTLED = 1e-4


@functools.lru_cache(maxsize=64)
def encoder(releases: int, decay: float) -> Floats:
    """Return C, (n, n) lower triangular, with columns of norm 1 up to 2⁻³⁸; not to be changed.

    There are n ``releases``; each weighs ``decay`` times as much as the one before it.
    """
    ones = np.tril(np.ones((releases, releases)))
    gram = _least(decay ** (0.5 * np.arange(releases)[:, None]) * ones)
    # X = CᵀC with C lower triangular is a Cholesky factorisation read from the end.
    upper = np.linalg.cholesky(gram[::-1, ::-1]).T[::-1, ::-1]
    encoded: Floats = np.rint(upper / _GRID) * _GRID
    if encoded.min() < 0.0:  # late records are priced for columns without negative numbers
        raise ValueError(f"no encoder for {releases} releases and decay {decay}")
    encoded.flags.writeable = False
    return encoded


def _least(weighted: Floats) -> Floats:
    """Return X with ones on the diagonal and the least tr(S X⁻¹), S = KᵀK, ``weighted`` K."""
    multipliers = np.linalg.norm(weighted, axis=0)
    for _ in range(_STEPS):
        root, scales = _scaled_root(weighted, multipliers)
        updated = np.diag(root).copy()
        settled = np.max(np.abs(updated / multipliers - 1.0)) < _SETTLED
        multipliers = updated
        if settled:
            break
    root, scales = _scaled_root(weighted, multipliers)
    gram = root / np.outer(scales, scales)
    lengths = np.sqrt(np.diag(gram))
    normalised: Floats = gram / np.outer(lengths, lengths)
    return normalised


def _scaled_root(weighted: Floats, multipliers: Floats) -> tuple[Floats, Floats]:
    """Return (diag(v)^½ S diag(v)^½)^½ and v^½, from K: squaring K would lose half the digits."""
    scales = np.sqrt(multipliers)
    _, values, vectors = np.linalg.svd(weighted * scales)
    return (vectors.T * values) @ vectors, scales


@functools.lru_cache(maxsize=64)
def differences(releases: int, decay: float) -> Floats:
    """Return B⁻¹ = C A⁻¹, (n, n), exact: this matrix turns running sums into encoded batches."""
    matrix = encoder(releases, decay)
    differenced = matrix.copy()
    differenced[:, :-1] -= matrix[:, 1:]
    differenced.flags.writeable = False
    return differenced


@functools.lru_cache(maxsize=64)
def packed_decoder(releases: int, decay: float) -> Floats:
    """Return B, its rows on and below the diagonal one after the other, (n (n + 1) / 2,).

    B is the inverse of :func:`differences`, by forward substitution with exact sums.
    """
    inverse = differences(releases, decay).tolist() if releases else []
    rows: list[list[float]] = []
    for k in range(releases):
        given = inverse[k]
        row = [-math.fsum(given[i] * rows[i][j] for i in range(j, k)) / given[k] for j in range(k)]
        rows.append([*row, 1.0 / given[k]])
    packed = np.array([entry for row in rows for entry in row])
    packed.flags.writeable = False
    return packed


@functools.lru_cache(maxsize=64)
def sensitivities(releases: int, decay: float) -> Floats:
    """Return the largest norm of a column of C over its first k rows, k = 1 … n, (n,)."""
    norms: Floats = np.sqrt(np.cumsum(encoder(releases, decay) ** 2, axis=0)).max(axis=1)
    return norms
