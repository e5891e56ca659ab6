"""Clusters' knowledge of their centres, and its change by one user's statistic.

A cluster knows its centre c as N(P⁻¹ s, P⁻¹). A user with evidence (g, z) in its basis Q and spread
v around the centre adds, in that basis, a precision t = g/(1 + g v) and a score p = z/(1 + g v). In
the user's basis everything is diagonal except M = Q P⁻¹ Qᵀ. So the change by a joining or leaving
user costs the triangular factor of I ± √t M √t, and no inverse.

All hypotheses about a cluster are computed side by side: hypotheses are the last axis of every
array, and the innermost steps work on whole lanes. The axis is padded to whole lanes; padding adds
no evidence.

Statistics of a centre (:class:`CentreSums`) are kept for several spreads of users around it at
once. Their precisions are symmetric, so a triangle is kept, row by row and in whole lanes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fedbandits._compile import (
    LANES,
    allocation_free,
    compiled,
    fma,
    inlined,
    lanes,
    load,
    spread,
    store,
)
from fedbandits._typing import Floats
from fedbandits.learners.kernels.evidence import Evidence
from fedbandits.learners.kernels.ridge import invert_in_place

#: Number of pivots that are multiplied before a logarithm is taken.
_FACTORS = 16


class User(NamedTuple):
    """One user in its own basis, and buffers."""

    basis: Floats  # (d, ·): Q, its rows in whole lanes
    precision: Floats  # (d,): g
    score: Floats  # (d,): z
    root: Floats  # (d, h): √t
    pull: Floats  # (d, h): p
    half: Floats  # (d, d · h), with two rows at least
    factor: Floats  # (d, d, h)
    left: Floats  # (d, h)


@compiled
def new_user(dimension: int, lanes: int) -> User:
    """Return a user with zeros; ``lanes`` is the length of the hypotheses' axis."""
    d, h = dimension, lanes
    return User(
        np.zeros((d, padded(d))), np.zeros(d), np.zeros(d), np.zeros((d, h)), np.zeros((d, h)),
        np.zeros((max(d, 2), d * h)), np.zeros((d, d, h)), np.zeros((d, h)),
    )  # fmt: skip


@allocation_free
def look_at(evidence: Evidence, j: int, spreads: Floats, user: User) -> None:
    """Load the ``j``-th user, and its statistic of a centre under all hypotheses.

    ``spreads`` (s,) are the hypotheses' spreads, repeated along the axis.
    """
    hypotheses = user.left.shape[1] // spreads.size * spreads.size
    for a in range(user.score.size):
        g, z = evidence.precision[j, a], evidence.score[j, a]
        user.precision[a], user.score[a] = g, z
        for i in range(user.score.size):
            user.basis[a, i] = evidence.basis[j, a, i]
        for h in range(hypotheses):
            widened = 1.0 + g * spreads[h % spreads.size]
            user.root[a, h] = math.sqrt(g / widened)
            user.pull[a, h] = z / widened


@allocation_free
def _apply(basis: Floats, rows: Floats, out: Floats) -> None:
    """Compute Q times a matrix whose rows are whole lanes."""
    d, whole = rows.shape
    for a in range(d):
        for at in range(0, whole, LANES):
            total = spread(basis, (a, 0)) * load(rows, (0, at))
            for i in range(1, d):
                total = fma(spread(basis, (a, i)), load(rows, (i, at)), total)
            store(out, (a, at), total, LANES)


@allocation_free
def turn(user: User, uncertain: Floats, centre: Floats, turned: Floats, middle: Floats) -> None:
    """Turn centres and their covariances into the user's basis: Q c and M = Q P⁻¹ Qᵀ.

    A cluster's knowledge is ``uncertain`` (d, d, h) and ``centre`` (d, h). ``turned`` and
    ``middle``, of the same shapes, receive M and Q c.
    """
    d, h = middle.shape
    _apply(user.basis, uncertain.reshape(d, d * h), user.half)
    for a in range(d):
        for b in range(d):
            for at in range(0, h, LANES):
                store(user.factor, (b, a, at), load(user.half, (a, b * h + at)), LANES)
    _apply(user.basis, user.factor.reshape(d, d * h), turned.reshape(d, d * h))
    _apply(user.basis, centre, middle)


@allocation_free
def change_of_fit(user: User, turned: Floats, middle: Floats, sign: float, change: Floats) -> None:
    """Compute the gain of a cluster's fit by a joining or leaving user.

    With S = I ± √t M √t, the precision's determinant changes by det S, and its inverse changes by
    ∓M √t S⁻¹ √t M. ``sign`` is 1 for a joining user, and -1 for a leaving user, who is counted in.
    ``turned`` and ``middle`` are those of :func:`turn`; ``change`` (h,) receives the gain.
    """
    for at in range(0, change.size, LANES):
        store(
            change, at, _eliminate(user, sign, at, _set_out(user, turned, middle, sign, at)), LANES
        )


@inlined
def _set_out(user: User, turned: Floats, middle: Floats, sign: float, at: int) -> Any:
    """Set S into ``factor``, √t M(s ± p) into ``left``; return the other part of the gain."""
    d, factor, left, gain = len(middle), user.factor, user.left, lanes(0.0)
    for a in range(d):
        root, known, pulled = load(user.root, (a, at)), load(middle, (a, at)), lanes(0.0)
        for b in range(d):
            pulled = fma(load(turned, (a, b, at)), load(user.pull, (b, at)), pulled)
        for b in range(a, d):  # the upper triangle
            scaled = sign * root * load(turned, (a, b, at)) * load(user.root, (b, at))
            store(factor, (a, b, at), scaled, LANES)
        store(factor, (a, a, at), load(factor, (a, a, at)) + 1.0, LANES)
        gain = gain + load(user.pull, (a, at)) * (sign * known + 0.5 * pulled)
        store(left, (a, at), root * (known + sign * pulled), LANES)
    return gain


@inlined
def _eliminate(user: User, sign: float, at: int, gain: Any) -> Any:
    """Return ``gain`` less the cost of S: half of ln det S, and half of ± leftᵀ S⁻¹ left."""
    d, factor, left, half = len(user.left), user.factor, user.left, user.half
    determinant, logarithm = lanes(1.0), half[0]
    for h in range(LANES):
        logarithm[h] = 0.0
    for k in range(d):
        pivot, above = load(factor, (k, k, at)), load(left, (k, at))
        determinant = determinant * pivot
        gain = gain - (0.5 * sign) * above * above / pivot
        if (
            k % _FACTORS == _FACTORS - 1 or k == d - 1
        ):  # before a product leaves the range of floats
            store(half, (1, 0), determinant, LANES)
            for h in range(LANES):
                logarithm[h] += math.log(half[1, h])
            determinant = lanes(1.0)
        for i in range(k + 1, d):
            weight = load(factor, (k, i, at)) / pivot
            store(left, (i, at), load(left, (i, at)) - weight * above, LANES)
            for b in range(i, d):
                rest = fma(-weight, load(factor, (k, b, at)), load(factor, (i, b, at)))
                store(factor, (i, b, at), rest, LANES)
    return gain - 0.5 * load(half, (0, 0))


@compiled
def take_in(user: User, h: int, turned: Floats, middle: Floats) -> None:
    """Add a new user to the cluster, under one hypothesis.

    ``turned`` and ``middle`` are those of :func:`turn`, and change.
    """
    d = middle.shape[0]
    matrix, score, row = np.empty((d, d)), np.empty(d), np.empty(d)
    for a in range(d):
        for b in range(d):
            matrix[a, b] = turned[a, b, h]
    invert_in_place(matrix, row)
    for a in range(d):
        score[a] = user.pull[a, h]
        for b in range(d):
            score[a] = fma(matrix[a, b], middle[b, h], score[a])
    for a in range(d):
        matrix[a, a] += user.root[a, h] * user.root[a, h]
    invert_in_place(matrix, row)
    for a in range(d):
        entry = 0.0
        for b in range(d):
            turned[a, b, h] = matrix[a, b]
            entry = fma(matrix[a, b], score[b], entry)
        middle[a, h] = entry


@allocation_free
def move_to_user(user: User, spreads: Floats, turned: Floats, middle: Floats) -> None:
    """Move from centres to the user's own θ, in its basis: means, and covariances, in place.

    A mean is the best linear unbiased predictor, given the centre. The covariance includes the
    uncertainty of the centre.
    """
    (d, whole), shrunk, spread_of = middle.shape, user.left, user.half
    for h in range(whole):
        spread_of[0, h] = spreads[h % spreads.size]
    for at in range(0, whole, LANES):
        spread_at = load(spread_of, (0, at))
        for a in range(d):
            less = 1.0 / (lanes(1.0) + user.precision[a] * spread_at)
            store(shrunk, (a, at), less, LANES)
            moved = less * (load(middle, (a, at)) + spread_at * user.score[a])
            store(middle, (a, at), moved, LANES)
        for a in range(d):
            less = load(shrunk, (a, at))
            for b in range(d):
                scaled = load(turned, (a, b, at)) * (less * load(shrunk, (b, at)))
                store(turned, (a, b, at), scaled, LANES)
            store(turned, (a, a, at), load(turned, (a, a, at)) + spread_at * less, LANES)


@allocation_free
def turn_back(user: User, middle: Floats, turned: Floats, mean: Floats, covariance: Floats) -> None:
    """Turn from the user's basis to the basis of contexts: (d,) and (d, d) float64."""
    d, basis, half = middle.size, user.basis, user.half
    for at in range(0, basis.shape[1], LANES):
        turned_mean = lanes(0.0)
        for a in range(d):
            turned_mean = fma(spread(middle, a), load(basis, (a, at)), turned_mean)
            row = lanes(0.0)
            for b in range(d):
                row = fma(spread(turned, (a, b)), load(basis, (b, at)), row)
            store(half, (a, at), row, LANES)
        store(mean, at, turned_mean, d - at)
        for i in range(d):
            row = lanes(0.0)
            for a in range(d):
                row = fma(spread(basis, (a, i)), load(half, (a, at)), row)
            store(covariance, (i, at), row, d - at)


class CentreSums(NamedTuple):
    """Sums that locate a centre, for each spread, without its prior."""

    precision: Floats  # (s, ·): the lower triangle row by row, in whole lanes
    score: Floats  # (s, ·): in whole lanes
    outer: Floats  # a buffer, of a triangle
    row: Floats  # a buffer, of a direction


@compiled
def padded(hypotheses: int) -> int:
    """Return the axis length for so many ``hypotheses``."""
    return -(-hypotheses // LANES) * LANES


@compiled
def no_evidence(spreads: int, dimension: int) -> CentreSums:
    """Return zeros: the sums before any statistic."""
    triangle, row = padded(dimension * (dimension + 1) // 2), padded(dimension)
    return CentreSums(
        np.zeros((spreads, triangle)), np.zeros((spreads, row)), np.zeros(triangle), np.zeros(row)
    )


@allocation_free
def add_statistic(
    evidence: Evidence, j: int, weight: float, spreads: Floats, sums: CentreSums
) -> None:
    """Add the ``j``-th statistic's evidence about the centre, for each spread around it.

    It counts ``weight`` times. ``spreads`` are (s,) float64; ``said`` is changed in place.
    """
    for a in range(evidence.score.shape[1]):
        g, z = evidence.precision[j, a], evidence.score[j, a]
        if g == 0.0 and z == 0.0:
            continue
        _set_outer(evidence.basis[j, a], sums)
        for s in range(spreads.size):
            share = weight / (1.0 + g * spreads[s])
            _add_times(share * g, sums.outer, sums.precision, s)
            _add_times(share * z, sums.row, sums.score, s)


@allocation_free
def _set_outer(direction: Floats, sums: CentreSums) -> None:
    """Set the products of a direction's coordinates, and the direction."""
    place = 0
    for i in range(direction.size):
        sums.row[i] = direction[i]
        for k in range(i + 1):
            sums.outer[place] = direction[i] * direction[k]
            place += 1


@inlined
def _add_times(weight: float, row: Floats, totals: Floats, s: int) -> None:
    for at in range(0, row.size, LANES):
        store(totals, (s, at), fma(lanes(weight), load(row, at), load(totals, (s, at))), LANES)


@compiled
def find_centre(
    precision: Floats, score: Floats, prior: float, h: int, uncertain: Floats, centre: Floats
) -> float:
    """Compute a centre and its uncertainty from sums.

    ``precision`` and ``score`` are rows of :class:`CentreSums`; ``prior`` is every coordinate's
    prior precision. At the place of hypothesis ``h``, ``uncertain`` (d, d, h) and ``centre`` (d, h)
    receive P⁻¹ and P⁻¹ s. Returns ln ∫ exp(s·c - ½ cᵀPc) dc, up to a constant.
    """
    d, place = len(centre), 0
    matrix = np.empty((d, d))
    for i in range(d):
        for k in range(i + 1):
            matrix[i, k] = matrix[k, i] = precision[place]
            place += 1
        matrix[i, i] += prior
    fit = -0.5 * invert_in_place(matrix, np.empty(d))
    for i in range(d):
        entry = 0.0
        for k in range(d):
            entry = fma(matrix[i, k], score[k], entry)
            uncertain[i, k, h] = matrix[i, k]
        centre[i, h] = entry
        fit += 0.5 * score[i] * entry
    return fit
