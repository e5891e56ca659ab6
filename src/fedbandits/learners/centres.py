"""What clusters know of their centres, and what one user's statistic changes of that.

A cluster knows of its centre c that it is N(P⁻¹ s, P⁻¹). A user with evidence (g, z) in its basis Q
and spread v around the centre says of it, in that basis, a precision t = g/(1 + g v) and a score
p = z/(1 + g v). In the user's basis all of it is diagonal but M = Q P⁻¹ Qᵀ. So what changes if a
user comes or goes costs the triangular factor of I ± √t M √t, and no inverse.

All hypotheses about a cluster are computed side by side: theirs is the last axis of every array, so
the innermost loops run across them. It is padded to whole vectors; what is added says nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import borrowing, compiled, fma
from fedbandits._typing import Floats
from fedbandits.learners.evidence import Evidence
from fedbandits.learners.ridge import invert_in_place

#: The last axis of arrays is a multiple of this.
_LANES = 8


class Said(NamedTuple):
    """What statistics say of a centre, for each spread, without its prior."""

    precision: Floats  # (s, d · d)
    score: Floats  # (s, d)
    outer: Floats  # (d · d,): a buffer


class User(NamedTuple):
    """One user in its own basis, and buffers."""

    basis: Floats  # (d, d): Q
    precision: Floats  # (d,): g
    score: Floats  # (d,): z
    root: Floats  # (d, h): √t
    pull: Floats  # (d, h): p
    half: Floats  # (d, d · h)
    factor: Floats  # (d, d, h)
    left: Floats  # (d, h)


@compiled
def padded(hypotheses: int) -> int:
    """Length of the axis that so many hypotheses lie along."""
    return -(-hypotheses // _LANES) * _LANES


@compiled
def nothing_said(spreads: int, dimension: int) -> Said:
    """Zeros."""
    square = dimension * dimension
    return Said(np.zeros((spreads, square)), np.zeros((spreads, dimension)), np.zeros(square))


@borrowing
def add_statistic(evidence: Evidence, j: int, weight: float, spreads: Floats, said: Said) -> None:
    """Add what one statistic says of the centre, if it is around it by each of the spreads.

    Parameters
    ----------
    evidence, j
        The ``j``-th statistic.
    weight : float
        How often it counts.
    spreads : (s,) float64
    said : Said
        Changed in place.
    """
    d, outer = evidence.score.shape[1], said.outer
    for a in range(d):
        for i in range(d):
            for k in range(d):
                outer[i * d + k] = evidence.basis[j, a, i] * evidence.basis[j, a, k]
        for s in range(spreads.size):
            widened = 1.0 + evidence.precision[j, a] * spreads[s]
            told = weight * evidence.precision[j, a] / widened
            pull = weight * evidence.score[j, a] / widened
            for place in range(outer.size):
                said.precision[s, place] = fma(told, outer[place], said.precision[s, place])
            for i in range(d):
                said.score[s, i] = fma(pull, evidence.basis[j, a, i], said.score[s, i])


@compiled
def find_centre(
    precision: Floats, score: Floats, prior: float, h: int, uncertain: Floats, centre: Floats
) -> float:
    """Where a centre is by what was said, and how uncertain that is.

    Parameters
    ----------
    precision, score : (d · d,) and (d,) float64
        What was said.
    prior : float
        Precision of every coordinate before that.
    h : int
        Number of the hypothesis.
    uncertain, centre : (d, d, h) and (d, h) float64
        Receive P⁻¹ and P⁻¹ s at its place.

    Returns
    -------
    float
        ln ∫ exp(s·c - ½ cᵀPc) dc, up to a constant.
    """
    d = score.size
    matrix = precision.copy().reshape(d, d)
    for i in range(d):
        matrix[i, i] += prior
    fit = -0.5 * invert_in_place(matrix, np.empty(d))
    for i in range(d):
        found = 0.0
        for k in range(d):
            found = fma(matrix[i, k], score[k], found)
            uncertain[i, k, h] = matrix[i, k]
        centre[i, h] = found
        fit += 0.5 * score[i] * found
    return fit


@compiled
def new_user(dimension: int, lanes: int) -> User:
    """Zeros; ``lanes`` is the length of the hypotheses' axis."""
    d, h = dimension, lanes
    return User(
        np.zeros((d, d)), np.zeros(d), np.zeros(d), np.zeros((d, h)), np.zeros((d, h)),
        np.zeros((d, d * h)), np.zeros((d, d, h)), np.zeros((d, h)),
    )  # fmt: skip


@borrowing
def look_at(evidence: Evidence, j: int, spreads: Floats, user: User) -> None:
    """Turn to the ``j``-th user, and to what it says of a centre by all hypotheses.

    ``spreads`` (s,) are those of the hypotheses, again and again.
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


@borrowing
def _apply(basis: Floats, rows: Floats, out: Floats) -> None:
    """Q times a matrix whose rows are long."""
    d = basis.shape[0]
    for a in range(d):
        row = out[a]
        for place in range(row.size):
            row[place] = 0.0
        for i in range(d):
            weight, term = basis[a, i], rows[i]
            for place in range(row.size):
                row[place] = fma(weight, term[place], row[place])


@borrowing
def turn(user: User, uncertain: Floats, centre: Floats, turned: Floats, middle: Floats) -> None:
    """Centres and their covariances in the user's basis: Q c and M = Q P⁻¹ Qᵀ.

    Parameters
    ----------
    user : User
    uncertain, centre : (d, d, h) and (d, h) float64
        What a cluster knows.
    turned, middle : (d, d, h) and (d, h) float64
        Receive M and Q c.
    """
    d, h = middle.shape
    _apply(user.basis, uncertain.reshape(d, d * h), user.half)
    for a in range(d):
        for b in range(d):
            for place in range(h):
                user.factor[b, a, place] = user.half[a, b * h + place]
    _apply(user.basis, user.factor.reshape(d, d * h), turned.reshape(d, d * h))
    _apply(user.basis, centre, middle)


@borrowing
def change_of_fit(user: User, turned: Floats, middle: Floats, sign: float, change: Floats) -> None:
    """What a cluster's fit gains if the user comes, or if it goes.

    With S = I ± √t M √t, the precision's determinant changes by det S, and its inverse changes by
    ∓M √t S⁻¹ √t M.

    Parameters
    ----------
    user : User
    turned, middle
        See :func:`turn`.
    sign : float
        1: the user comes. -1: it goes; it was counted in.
    change : (h,) float64
        Receives the gain.
    """
    for h in range(change.size):
        change[h] = 0.0
    _set_out(user, turned, middle, sign, change)
    _eliminate(user, sign, change)


@borrowing
def _set_out(user: User, turned: Floats, middle: Floats, sign: float, change: Floats) -> None:
    """S into ``factor``, √t M(s ± p) into ``left``; adds what the fit gains beside S."""
    (d, lanes), factor, left = middle.shape, user.factor, user.left
    for a in range(d):
        for h in range(lanes):
            left[a, h] = 0.0
        for b in range(d):
            for h in range(lanes):
                left[a, h] = fma(turned[a, b, h], user.pull[b, h], left[a, h])
        for b in range(a, d):  # the upper triangle
            for h in range(lanes):
                factor[a, b, h] = sign * user.root[a, h] * turned[a, b, h] * user.root[b, h]
        for h in range(lanes):
            factor[a, a, h] += 1.0
            change[h] += user.pull[a, h] * (sign * middle[a, h] + 0.5 * left[a, h])
            left[a, h] = user.root[a, h] * (middle[a, h] + sign * left[a, h])


@borrowing
def _eliminate(user: User, sign: float, change: Floats) -> None:
    """Take off what S costs: half of ln det S, and half of ± leftᵀ S⁻¹ left."""
    (d, lanes), factor, left = user.left.shape, user.factor, user.left
    for k in range(d):
        pivot, above = factor[k, k], left[k]
        for h in range(lanes):
            change[h] -= 0.5 * (math.log(pivot[h]) + sign * above[h] * above[h] / pivot[h])
        for i in range(k + 1, d):
            weight = user.half[0]
            for h in range(lanes):
                weight[h] = factor[k, i, h] / pivot[h]
                left[i, h] -= weight[h] * above[h]
            for b in range(i, d):
                for h in range(lanes):
                    factor[i, b, h] = fma(-weight[h], factor[k, b, h], factor[i, b, h])


@compiled
def take_in(user: User, h: int, turned: Floats, middle: Floats) -> None:
    """Count a user in that the cluster did not have, by one hypothesis.

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
        found = 0.0
        for b in range(d):
            turned[a, b, h] = matrix[a, b]
            found = fma(matrix[a, b], score[b], found)
        middle[a, h] = found


@borrowing
def move_to_user(user: User, spreads: Floats, turned: Floats, middle: Floats) -> None:
    """From centres to the user's own θ, in its basis: means, and covariances, in place.

    A mean is the best linear unbiased predictor, given the centre. The covariance counts what is
    not known of the centre.
    """
    (d, lanes), shrunk = middle.shape, user.left
    hypotheses = lanes // spreads.size * spreads.size
    for a in range(d):
        for h in range(hypotheses):
            spread = spreads[h % spreads.size]
            shrunk[a, h] = 1.0 / (1.0 + user.precision[a] * spread)
            middle[a, h] = shrunk[a, h] * (middle[a, h] + spread * user.score[a])
    for a in range(d):
        for b in range(d):
            for h in range(hypotheses):
                turned[a, b, h] *= shrunk[a, h] * shrunk[b, h]
        for h in range(hypotheses):
            turned[a, a, h] += spreads[h % spreads.size] * shrunk[a, h]


@compiled
def turn_back(user: User, middle: Floats, turned: Floats, mean: Floats, covariance: Floats) -> None:
    """From the user's basis to that of contexts: (d,) and (d, d) float64."""
    mean[:] = middle @ user.basis
    covariance[:] = user.basis.T @ (turned @ user.basis)
