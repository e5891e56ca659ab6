"""Packed ridge-regression statistics, and the estimates made from them.

The statistic of a set of records (x, y) is Σ x xᵀ and Σ x y. It is one vector of ``d (d + 3) / 2``
numbers: the upper triangle of the Gram matrix row by row, then Σ x y. This vector accumulates,
receives noise and travels.

Assignments to arrays are plain loops here, such as :func:`fill`. In compiled code ``a[i] = b[i]``
on rows, or ``a += b``, brings in checks of shapes and the texts of their errors, which take seconds
to compile. These loops take hundredths, and run as fast.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled, fma, light
from fedbandits._typing import Floats, Ints


@light
@compiled
def packed_size(dimension: int) -> int:
    """Return the length of the packed statistic of ``dimension``-vectors."""
    return dimension * (dimension + 3) // 2


@compiled
def packed_dimension(size: int) -> int:
    """Return the dimension of a packed statistic of so many numbers."""
    return int((math.sqrt(8.0 * size + 9.0) - 3.0) / 2.0 + 0.5)


@allocation_free
def add_record(
    statistic: Floats, model: int, context: Floats, reward: float, rounding: float
) -> None:
    """Add one record to a model's packed statistic, (models, d (d + 3) / 2), in place.

    Every product is rounded to a grid first, so that sums are exact. ``rounding`` is the grid's
    constant, see :func:`fedbandits.privacy.rounding.rounding_constant`; with 0 the grid is that of
    float64.
    """
    position = 0
    for i in range(context.size):
        xi = context[i]
        for j in range(i, context.size):
            statistic[model, position] += fma(xi, context[j], rounding) - rounding
            position += 1
    for i in range(context.size):
        statistic[model, position + i] += fma(reward, context[i], rounding) - rounding


class Record(NamedTuple):
    """One interaction."""

    context: Floats  # (d,): x
    reward: float  # y
    model: int = 0  # the parameter vector of the chosen arm, where arms have one each


@allocation_free
def unpack(statistic: Floats, gram: Floats, moment: Floats) -> None:
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


@allocation_free
def apply_symmetric(matrices: Floats, model: int, vector: Floats, out: Floats) -> None:
    """Write ``matrices[model] @ vector`` into ``out`` for symmetric matrices, row by row.

    Adding up rows instead of taking dot products leaves no sum along the inner loop, so the loop
    vectorises without reordering additions. With four rows at a time, ``out`` is read and written a
    quarter as often.
    """
    dimension = vector.size
    fours = dimension - dimension % 4
    for i in range(dimension):
        out[i] = 0.0
    for j in range(0, fours, 4):
        a, b, c, d = vector[j], vector[j + 1], vector[j + 2], vector[j + 3]
        for i in range(dimension):
            first = fma(b, matrices[model, j + 1, i], fma(a, matrices[model, j, i], out[i]))
            last = fma(c, matrices[model, j + 2, i], first)
            out[i] = fma(d, matrices[model, j + 3, i], last)
    for j in range(fours, dimension):
        weight = vector[j]
        for i in range(dimension):
            out[i] = fma(weight, matrices[model, j, i], out[i])


@allocation_free
def add_rank_one(inverses: Floats, model: int, context: Floats, gain: Floats) -> float:
    """Turn one V⁻¹ into (V + x xᵀ)⁻¹ in place (Sherman & Morrison 1950).

    ``inverses`` are (models, d, d), and ``context`` (d,) is x. ``gain`` (d,) receives
    (V + x xᵀ)⁻¹ x, by which an estimate moves per unit of residual.
    Returns ln det(V + x xᵀ) - ln det V.
    """
    dimension = context.size
    apply_symmetric(inverses, model, context, gain)
    quadratic = 0.0
    for i in range(dimension):
        quadratic = fma(gain[i], context[i], quadratic)
    shrink = 1.0 / (1.0 + quadratic)
    for i in range(dimension):
        factor = -shrink * gain[i]
        for j in range(dimension):
            inverses[model, i, j] = fma(factor, gain[j], inverses[model, i, j])
    for i in range(dimension):
        gain[i] *= shrink
    return math.log1p(quadratic)


@allocation_free
def add_to_diagonal(
    inverses: Floats, model: int, change: float, theta: Floats, column: Floats
) -> None:
    """Turn one V⁻¹ into (V + cI)⁻¹ in place, and θ̂ = V⁻¹ u into (V + cI)⁻¹ u.

    The ``change`` c may be below 0, as long as V + cI stays positive definite. ``inverses`` are
    (models, d, d), and ``theta`` (d,) is θ̂. ``column`` (d,) is a buffer.
    """
    dimension = theta.size
    for k in range(dimension):
        for i in range(dimension):
            column[i] = inverses[model, k, i]
        shrink = change / (1.0 + change * column[k])
        step = shrink * theta[k]
        for i in range(dimension):
            theta[i] = fma(-step, column[i], theta[i])
            factor = -shrink * column[i]
            for j in range(dimension):
                inverses[model, i, j] = fma(factor, column[j], inverses[model, i, j])


@allocation_free
def factorise(statistic: Floats, shift: float, factor: Floats) -> float:
    """Compute D Lᵀ of shift·I + G into the upper triangle of ``factor``, (d, d).

    Rows are subtracted from rows below them, so the inner loop has no sum along it. ``statistic``
    begins with the packed G; further entries are not read. Returns ln det(shift·I + G), or NaN if
    the matrix is not positive definite.
    """
    dimension, log_det, place = factor.shape[0], 0.0, 0
    for i in range(dimension):
        for j in range(i, dimension):
            factor[i, j] = statistic[place]
            place += 1
        factor[i, i] += shift
    for k in range(dimension):
        pivot = factor[k, k]
        if not pivot > 0.0:
            return np.nan
        log_det += math.log(pivot)
        scale = 1.0 / pivot
        for i in range(k + 1, dimension):
            weight = -scale * factor[k, i]
            for j in range(i, dimension):
                factor[i, j] = fma(weight, factor[k, j], factor[i, j])
    return log_det


@compiled
def are_records(sums: Floats, shift: float, dimension: int) -> bool:
    """Tell whether sums can be of records: their Gram matrices are positive, up to a shift.

    ``sums`` are (models, d (d + 3) / 2), noise included. ``shift`` is the largest distance below 0
    to which noise and rounding can move an eigenvalue.
    """
    factor, positive = np.empty((dimension, dimension)), True
    for m in range(sums.shape[0]):
        positive &= not math.isnan(factorise(sums[m], shift, factor))
    return positive


@allocation_free
def invert_statistic(
    statistic: Floats, shift: float, work: Floats, inverse: Floats, theta: Floats
) -> float:
    """Compute (λI + G)⁻¹ and the ridge estimate, from a packed statistic and a ``shift`` λ.

    ``statistic`` begins with the packed G, then Σ x y; further entries are not read. ``work`` (≥ 1,
    d) is overwritten. ``inverse`` (d, d) and ``theta`` (d,) receive the result. Returns ln det(λI +
    G), or NaN, with undefined results, if λI + G is not positive definite.
    """
    dimension, first = theta.size, 0
    for i in range(dimension):
        for j in range(i, dimension):
            inverse[i, j] = statistic[first]
            inverse[j, i] = statistic[first]
            first += 1
        inverse[i, i] += shift
    log_det = invert_in_place(inverse, work[0])
    if math.isnan(log_det):
        return log_det
    for i in range(dimension):
        theta[i] = 0.0
    for j in range(dimension):
        for i in range(dimension):
            theta[i] = fma(inverse[j, i], statistic[first + j], theta[i])
    return log_det


@allocation_free
def invert_in_place(matrix: Floats, row: Floats) -> float:
    """Turn a symmetric matrix into its inverse, exactly symmetric.

    ``row`` (d,) is a buffer. Returns ln det of the matrix, or NaN, with an undefined result, if the
    matrix is not positive definite.
    """
    dimension, log_det = row.size, 0.0
    for k in range(dimension):
        pivot = matrix[k, k]
        if not pivot > 0.0:
            return np.nan
        log_det += math.log(pivot)
        _sweep(matrix, k, row)
    for i in range(dimension):
        for j in range(i, dimension):
            entry = -matrix[i, j]
            matrix[i, j] = entry
            matrix[j, i] = entry
    return log_det


@allocation_free
def _sweep(matrix: Floats, k: int, row: Floats) -> None:
    """Sweep a symmetric matrix on its k-th pivot; sweeps on all pivots give minus its inverse.

    See Goodnight 1979, *A tutorial on the SWEEP operator*. ``row`` (d,) is overwritten.
    """
    dimension, scale = row.size, 1.0 / matrix[k, k]
    for j in range(dimension):
        row[j] = matrix[k, j]
    for i in range(dimension):
        weight = scale * row[i]
        for j in range(dimension):
            matrix[i, j] = fma(-weight, row[j], matrix[i, j])
        matrix[i, k] = weight
    for j in range(dimension):
        matrix[k, j] = scale * row[j]
    matrix[k, k] = -scale


@allocation_free
def invert_spectrum(values: Floats, vectors: Floats, inverse: Floats) -> None:
    """Write Q diag(1/values) Qᵀ into ``inverse``, exactly symmetric."""
    dimension = values.size
    for i in range(dimension):
        for j in range(i, dimension):
            total = 0.0
            for r in range(dimension):
                total += vectors[i, r] * vectors[j, r] / values[r]
            inverse[i, j] = total
            inverse[j, i] = total


@allocation_free
def log_determinant(values: Floats, shift: float) -> float:
    """Compute Σ ln(values + shift): ln det(V + shift·I) from the eigenvalues of V."""
    total = 0.0
    for i in range(values.size):
        total += math.log(values[i] + shift)
    return total


@allocation_free
def fill(values: Floats, value: float) -> None:
    """Set all entries of a vector."""
    for i in range(values.size):
        values[i] = value


@allocation_free
def add_to(total: Floats, values: Floats) -> None:
    """Add a vector to another vector of its length."""
    for i in range(total.size):
        total[i] += values[i]


@allocation_free
def is_zero(values: Floats) -> bool:
    """Tell whether all entries of a vector are zero."""
    zero = True
    for i in range(values.size):
        zero &= values[i] == 0.0
    return zero


@allocation_free
def flatten(rows: Floats, out: Floats) -> None:
    """Write the rows of a matrix, one after the other, into a vector."""
    place = 0
    for row in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            out[place] = rows[row, i]
            place += 1


@allocation_free
def copy_square(squares: Floats, m: int, out: Floats) -> None:
    """Copy the ``m``-th matrix of (models, d, d) into the same place of ``out``."""
    for i in range(squares.shape[1]):
        for j in range(squares.shape[2]):
            out[m, i, j] = squares[m, i, j]


@allocation_free
def put_square(square: Floats, squares: Floats, m: int) -> None:
    """Make the ``m``-th matrix of (models, d, d) a copy of another matrix."""
    for i in range(square.shape[0]):
        for j in range(square.shape[1]):
            squares[m, i, j] = square[i, j]


@allocation_free
def fill_diagonal(squares: Floats, m: int, value: float) -> None:
    """Make the ``m``-th matrix of (models, d, d) ``value`` times the identity."""
    for i in range(squares.shape[1]):
        for j in range(squares.shape[2]):
            squares[m, i, j] = value if i == j else 0.0


@allocation_free
def any_fault(faults: Ints) -> bool:
    """Tell whether any row of (parties, 2) begins with a number other than zero."""
    faulty = False
    for row in range(faults.shape[0]):
        faulty |= faults[row, 0] != 0
    return faulty
