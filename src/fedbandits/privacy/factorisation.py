"""The factorisation of running sums with the least noise, for releases whose number is known.

The matrix A of ones on and below the diagonal turns n batches into n running sums. A matrix
mechanism writes it as A = B·C. It adds noise to the encoded batches C q, and releases B (C q + ξ).
A record is in one batch, so its sensitivity is the largest column norm of C. The deviation of
release k is the norm of row k of B, times that of ξ.

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

import numpy as np

from fedbandits._typing import Floats

#: For more releases the problem takes longer than a plan should.
MOST_RELEASES = 40
#: Entries of C are whole numbers of it. So they do not depend on how a machine rounds, and their
#: differences are exact.
_GRID = 2.0**-40
_STEPS = 200
#: Least weight that the last release may have: beyond, too few digits are left.
LEAST_WEIGHT = 1e-9
#: Relative change of a multiplier at which the search ends. Noise is at its least there, so it is
#: off by the square of this only.
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
    found: Floats = np.rint(upper / _GRID) * _GRID
    if found.min() < 0.0:  # late records are priced for columns without negative numbers
        raise ValueError(f"no encoder for {releases} releases and decay {decay}")
    found.flags.writeable = False
    return found


def _least(weighted: Floats) -> Floats:
    """Return X with ones on the diagonal and the least tr(S X⁻¹), S = KᵀK, ``weighted`` K."""
    multipliers = np.linalg.norm(weighted, axis=0)
    for _ in range(_STEPS):
        root, scales = _scaled_root(weighted, multipliers)
        found = np.diag(root).copy()
        settled = np.max(np.abs(found / multipliers - 1.0)) < _SETTLED
        multipliers = found
        if settled:
            break
    root, scales = _scaled_root(weighted, multipliers)
    gram = root / np.outer(scales, scales)
    lengths = np.sqrt(np.diag(gram))
    normalised: Floats = gram / np.outer(lengths, lengths)
    return normalised


def _scaled_root(weighted: Floats, multipliers: Floats) -> tuple[Floats, Floats]:
    """Return (diag(v)^½ S diag(v)^½)^½ and v^½, from K: squaring would lose half the digits."""
    scales = np.sqrt(multipliers)
    _, values, vectors = np.linalg.svd(weighted * scales)
    return (vectors.T * values) @ vectors, scales


@functools.lru_cache(maxsize=64)
def differences(releases: int, decay: float) -> Floats:
    """Return B⁻¹ = C A⁻¹, (n, n), exact: running sums times it are encoded batches."""
    matrix = encoder(releases, decay)
    found = matrix.copy()
    found[:, :-1] -= matrix[:, 1:]
    found.flags.writeable = False
    return found


@functools.lru_cache(maxsize=64)
def packed_decoder(releases: int, decay: float) -> Floats:
    """Return B, its rows on and below the diagonal one after the other, (n (n + 1) / 2,).

    It is the inverse of :func:`differences`, by forward substitution with exact sums.
    """
    inverse = differences(releases, decay).tolist() if releases else []
    rows: list[list[float]] = []
    for k in range(releases):
        given = inverse[k]
        row = [-math.fsum(given[i] * rows[i][j] for i in range(j, k)) / given[k] for j in range(k)]
        rows.append([*row, 1.0 / given[k]])
    found = np.array([entry for row in rows for entry in row])
    found.flags.writeable = False
    return found


@functools.lru_cache(maxsize=64)
def sensitivities(releases: int, decay: float) -> Floats:
    """Return the largest norm of a column of C over its first k rows, k = 1 … n, (n,)."""
    found: Floats = np.sqrt(np.cumsum(encoder(releases, decay) ** 2, axis=0)).max(axis=1)
    return found
