"""Eigenvectors of many small symmetric matrices at once, one matrix in each lane.

Jacobi's method: every rotation sets one entry off the diagonal to 0, and a sweep goes through all
entries (Golub & Van Loan 2013, "Matrix computations", section 8.5). The method has no branches, so
matrices go side by side; for d = 10 this takes a quarter of the time of LAPACK, one matrix after
another. A matrix that is diagonal up to rounding is not rotated any more. So its result does not
depend on its neighbours.
"""

from __future__ import annotations

import math

import numpy as np

from fedbandits._compile import LANES, allocation_free, compiled, fma, lanes, load, store
from fedbandits._typing import Floats

#: Squares off the diagonal, relative to all squares, below which a matrix counts as diagonal.
_DIAGONAL = 1e-32
#: Convergence is quadratic: some six sweeps are enough at d = 10.
_MOST_SWEEPS = 40
#: Keeps 0/0 away, and changes no other quotient.
_TINY = 1e-300


@compiled
def eigenvectors(matrices: Floats, basis: Floats, values: Floats) -> None:
    """Compute eigenvectors and eigenvalues of symmetric matrices, in no order.

    Only the lower triangles of ``matrices`` (n, d, d) are read. ``basis`` (n, d, d) receives an
    eigenvector in each row, and ``values`` (n, d) the eigenvalues.
    """
    n, d = values.shape
    turned, vectors = np.zeros((d, d, LANES)), np.zeros((d, d, LANES))
    active, share = np.zeros(LANES), np.zeros(LANES)
    for first in range(0, n, LANES):
        count = min(LANES, n - first)
        for i in range(d):
            for k in range(d):
                for h in range(LANES):
                    turned[i, k, h] = (
                        matrices[first + h, max(i, k), min(i, k)] if h < count else 0.0
                    )
                    vectors[i, k, h] = 1.0 if i == k else 0.0
        _make_diagonal(turned, vectors, active, share)
        for h in range(count):
            for i in range(d):
                values[first + h, i] = turned[i, i, h]
                for k in range(d):
                    basis[first + h, i, k] = vectors[i, k, h]


@allocation_free
def _make_diagonal(turned: Floats, vectors: Floats, active: Floats, share: Floats) -> None:
    """Sweep until matrices are diagonal; of ``turned`` (d, d, lanes) the upper triangle counts."""
    d = len(turned)
    for h in range(LANES):
        active[h] = 1.0
    for _ in range(_MOST_SWEEPS):
        beside, whole = lanes(0.0), lanes(_TINY)
        for i in range(d):
            whole = fma(load(turned, (i, i, 0)), load(turned, (i, i, 0)), whole)
            for k in range(i + 1, d):
                beside = fma(load(turned, (i, k, 0)), load(turned, (i, k, 0)), beside)
        store(share, 0, beside / (whole + beside), LANES)
        left = 0.0
        for h in range(LANES):
            active[h] = active[h] if share[h] > _DIAGONAL else 0.0
            left += active[h]
        if left == 0.0:
            return
        for p in range(d - 1):
            for q in range(p + 1, d):
                _turn(turned, vectors, active, p, q)


@allocation_free
def _turn(turned: Floats, vectors: Floats, active: Floats, p: int, q: int) -> None:
    """Rotate the plane of coordinates p < q so that the entry (p, q) becomes 0."""
    d, entry = len(turned), load(turned, (p, q, 0))
    first, second = load(turned, (p, p, 0)), load(turned, (q, q, 0))
    apart, double = second - first, entry + entry
    root = math.sqrt(fma(double, double, apart * apart))
    tangent = load(active, 0) * (double / (apart + math.copysign(root, apart) + _TINY))
    cosine = 1.0 / math.sqrt(fma(tangent, tangent, lanes(1.0)))
    sine = tangent * cosine
    store(turned, (p, p, 0), first - tangent * entry, LANES)
    store(turned, (q, q, 0), second + tangent * entry, LANES)
    store(turned, (p, q, 0), (1.0 - load(active, 0)) * entry, LANES)
    for i in range(d):
        a, b = load(vectors, (p, i, 0)), load(vectors, (q, i, 0))
        store(vectors, (p, i, 0), cosine * a - sine * b, LANES)
        store(vectors, (q, i, 0), fma(sine, a, cosine * b), LANES)
        if i not in (p, q):
            with_p, with_q = (min(i, p), max(i, p), 0), (min(i, q), max(i, q), 0)
            a, b = load(turned, with_p), load(turned, with_q)
            store(turned, with_p, cosine * a - sine * b, LANES)
            store(turned, with_q, fma(sine, a, cosine * b), LANES)
