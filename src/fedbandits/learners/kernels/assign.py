"""Assignments to arrays as plain loops.

In compiled code ``a[i] = b[i]`` on rows, or ``a += b``, brings in checks of shapes and the texts of
their errors, which take seconds to compile. These loops take hundredths, and run as fast.
"""

from __future__ import annotations

from fedbandits._compile import allocation_free
from fedbandits._typing import Floats, Ints


@allocation_free
def fill(values: Floats, value: float) -> None:
    """Set all entries of a vector."""
    for i in range(values.size):
        values[i] = value


@allocation_free
def add_to(total: Floats, values: Floats) -> None:
    """Add a vector to another one of its length."""
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
    """Make the ``m``-th matrix of (models, d, d) a copy of another one."""
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
    """Tell whether any row of (parties, 2) begins with anything but zero."""
    found = False
    for row in range(faults.shape[0]):
        found |= faults[row, 0] != 0
    return found
