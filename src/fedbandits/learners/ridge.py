"""Ridge-regression statistics, kept packed, and the estimates made from them.

The statistic of a set of records (x, y) is Σ x xᵀ and Σ x y. It is held as one vector of
``d (d + 3) / 2`` numbers: the upper triangle of the Gram matrix row by row, then Σ x y. That
vector is what accumulates, what receives noise and what travels.
"""

from __future__ import annotations

import math

from fedbandits._compile import compiled


@compiled
def packed_size(dimension):  # type: ignore[no-untyped-def]
    """Length of the packed statistic of ``dimension``-vectors."""
    return dimension * (dimension + 3) // 2


@compiled
def add_record(statistic, context, reward):  # type: ignore[no-untyped-def]
    """Add one record to a packed statistic, in place.

    Parameters
    ----------
    statistic : (d (d + 3) / 2,) float64
    context : (d,) float64
    reward : float
    """
    position = 0
    for i in range(context.size):
        xi = context[i]
        for j in range(i, context.size):
            statistic[position] += xi * context[j]
            position += 1
    for i in range(context.size):
        statistic[position + i] += reward * context[i]


@compiled
def unpack(statistic, gram, moment):  # type: ignore[no-untyped-def]
    """Write a packed statistic as a symmetric (d, d) Gram matrix and a (d,) moment Σ x y."""
    dimension = moment.size
    position = 0
    for i in range(dimension):
        for j in range(i, dimension):
            gram[i, j] = statistic[position]
            gram[j, i] = statistic[position]
            position += 1
    for i in range(dimension):
        moment[i] = statistic[position + i]


@compiled
def add_rank_one(inverse, context, work):  # type: ignore[no-untyped-def]
    """Turn V⁻¹ into (V + x xᵀ)⁻¹ in place (Sherman & Morrison 1950).

    Returns
    -------
    float
        ln det(V + x xᵀ) - ln det V.
    """
    dimension = context.size
    quadratic = 0.0
    for i in range(dimension):
        total = 0.0
        for j in range(dimension):
            total += inverse[i, j] * context[j]
        work[i] = total
        quadratic += total * context[i]
    shrink = 1.0 / (1.0 + quadratic)
    for i in range(dimension):
        factor = shrink * work[i]
        for j in range(dimension):
            inverse[i, j] -= factor * work[j]
    return math.log1p(quadratic)


@compiled
def invert_spectrum(values, vectors, inverse):  # type: ignore[no-untyped-def]
    """Write Q diag(1/values) Qᵀ into ``inverse``, exactly symmetric."""
    dimension = values.size
    for i in range(dimension):
        for j in range(i, dimension):
            total = 0.0
            for r in range(dimension):
                total += vectors[i, r] * vectors[j, r] / values[r]
            inverse[i, j] = total
            inverse[j, i] = total


@compiled
def apply_matrix(matrix, vector, out):  # type: ignore[no-untyped-def]
    """Write ``matrix @ vector`` into ``out``: a plain loop, the same bits in every caller."""
    for i in range(out.size):
        total = 0.0
        for j in range(vector.size):
            total += matrix[i, j] * vector[j]
        out[i] = total


@compiled
def log_determinant(values, shift):  # type: ignore[no-untyped-def]
    """Σ ln(values + shift): ln det(V + shift·I) from the eigenvalues of V."""
    total = 0.0
    for i in range(values.size):
        total += math.log(values[i] + shift)
    return total
