"""Pools of linear agents: estimates and their radius from a sum of releases, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbandits._compile import allocation_free, compiled
from fedbandits._typing import Floats
from fedbandits.learners.kernels.confidence import adaptive_terms, choose_shift
from fedbandits.learners.kernels.released_sum import Reading, learn_from_sum
from fedbandits.learners.kernels.ridge import (
    are_records,
    fill,
    fill_diagonal,
    invert_spectrum,
    log_determinant,
    unpack,
)
from fedbandits.privacy.kernels import NO_FAULT, any_implausible, release_deviation
from fedbandits.systems.agents.kernels.constants import TRIGGERED, Constants

#: Fault of a run, beside faults of records.
NOT_POSITIVE = 4


class Basis(NamedTuple):
    """Numbers that turn a sum of releases into estimates and their radius."""

    base: float  # λ₁, or Mρ_min
    log_term: float
    shift: float  # added to the Gram matrix; adaptive confidence chooses its own
    deviation: float  # of the sum's noise, off the diagonal


class Pool(NamedTuple):
    """An agent's knowledge after a sync, made from a sum of releases."""

    inverse: Floats  # (models, d, d): V⁻¹
    gram: Floats  # (models, d, d): V
    moment: Floats  # (models, d): ũ
    terms: Floats  # (models, 4): inflation, ln det(V + cI), bias, ln det S of line 12
    trigger_inverse: Floats  # (models, d, d): (S + M(ρ_max - ρ_min)I)⁻¹
    trigger_log_det: Floats  # (models,)
    trigger_smallest: Floats  # (models,): smallest eigenvalue of S + M(ρ_max - ρ_min)I


def empty_pool(models: int, dimension: int) -> Pool:
    """Make arrays for a :class:`Pool`."""
    square = (models, dimension, dimension)
    return Pool(
        np.zeros(square),
        np.zeros(square),
        np.zeros((models, dimension)),
        np.zeros((models, 4)),
        np.zeros(square),
        np.zeros(models),
        np.zeros(models),
    )


@compiled
def initial_pool(constants: Constants, base: float, pool: Pool) -> None:
    """Set a pool before any release: V = λ₁I, or S = Mρ_min I as published."""
    terms = pool.terms
    for m in range(constants.models):
        fill(pool.moment[m], 0.0)
        fill_diagonal(pool.gram, m, base)
        fill_diagonal(pool.inverse, m, 1.0 / base)
        terms[m, 1] = constants.dimension * math.log(base)
        terms[m, 3] = terms[m, 1]
        if constants.published_confidence:
            terms[m, 0], terms[m, 2] = 1.0, constants.published_bias
        else:
            terms[m, 0] = 1.0
            terms[m, 2] = constants.parameter_bound * math.sqrt(base)
        shifted = base + constants.trigger_shift
        fill_diagonal(pool.trigger_inverse, m, 1.0 / shifted)
        pool.trigger_log_det[m] = constants.dimension * math.log(shifted)
        pool.trigger_smallest[m] = shifted


@compiled
def noise_variance(constants: Constants, agent: int, k: int) -> float:
    """Return the off-diagonal variance of the noise in an agent's k-th release."""
    scale = constants.noise_deviation[agent]
    deviation = release_deviation(constants.mechanism, scale, constants.coefficients, k)
    return float(deviation * deviation)


@compiled
def basis_of_all(constants: Constants, k: int) -> Basis:
    """Return the basis of the sum of all agents' k-th releases."""
    variance = 0.0
    for agent in range(constants.agents):
        variance += noise_variance(constants, agent, k)
    return Basis(constants.base, constants.log_term, constants.shift, math.sqrt(variance))


@allocation_free
def reading_of(constants: Constants, deviation: float) -> Reading:
    """Return how a sum of releases is read, from the deviation of its moments' noise."""
    return Reading(
        (constants.gram_noise * deviation) ** 2, deviation**2, constants.reward_noise**2,
        constants.parameter_bound,
    )  # fmt: skip


@compiled
def pool_release(constants: Constants, basis: Basis, released: Floats, pool: Pool) -> int:
    """Turn a sum of releases into estimates and their radius.

    Parameters
    ----------
    released : (models, d (d + 3) / 2) float64
        The sum of released statistics, unshifted.
    pool : Pool
        Receives the estimates and the terms of the radius.

    Returns
    -------
    int
        ``NO_FAULT``, or ``NOT_POSITIVE`` if the shifted Gram matrix is not positive definite.
    """
    norm_bound = basis.deviation * constants.norm_factor
    bias_bound = basis.deviation * constants.bias_factor
    for m in range(constants.models):
        if constants.deviations:
            reading = reading_of(constants, basis.deviation)
            learn_from_sum(released[m], reading, pool.gram[m], pool.moment[m])
            shift, correction = basis.base, 0.0
            pool.terms[m, 0], pool.terms[m, 2] = 1.0, 0.0
        else:
            unpack(released[m], pool.gram[m], pool.moment[m])
        values, vectors = np.linalg.eigh(pool.gram[m])
        if constants.published_confidence:
            shift = basis.shift
            pool.terms[m, 0], pool.terms[m, 2] = 1.0, constants.published_bias
            correction = 0.0
        elif not constants.deviations:
            shift = choose_shift(
                values, basis.base, norm_bound, bias_bound, constants.parameter_bound,
                constants.reward_noise, basis.log_term,
            )  # fmt: skip
            inflation, correction, bias = adaptive_terms(
                values, shift, basis.base, norm_bound, bias_bound, constants.parameter_bound
            )
            pool.terms[m, 0], pool.terms[m, 2] = inflation, bias
        if not values[0] + shift > 0.0:
            return NOT_POSITIVE
        for i in range(constants.dimension):
            pool.gram[m, i, i] += shift
            values[i] += shift
        invert_spectrum(values, vectors, pool.inverse[m])
        pool.terms[m, 1] = log_determinant(values, correction)
        pool.terms[m, 3] = log_determinant(values, 0.0)
        if constants.schedule == TRIGGERED:
            for i in range(constants.dimension):
                values[i] += constants.trigger_shift
            invert_spectrum(values, vectors, pool.trigger_inverse[m])
            pool.trigger_log_det[m] = log_determinant(values, 0.0)
            pool.trigger_smallest[m] = values[0]
    return NO_FAULT


#: Faults of a sum of releases.
TOO_LARGE, NO_SUM = 1, 2


@compiled
def release_fault(
    values: Floats, record: Floats, records: float, scales: Floats, deviation: float, below: float,
    models: int, dimension: int,
) -> int:  # fmt: skip
    """Return the fault of a sum of releases; every received sum is checked so.

    Parameters
    ----------
    values : (size,) float64
        The sum.
    record, records, scales, deviation
        See :func:`.privacy.bounds.any_implausible`.
    below, dimension
        See :func:`.learners.kernels.ridge.are_records`.

    Returns
    -------
    int
        ``NO_FAULT``, ``TOO_LARGE`` or ``NO_SUM``.
    """
    if any_implausible(values, record, records, scales, deviation):
        return TOO_LARGE
    sums = values.reshape((models, values.size // models))
    return NO_FAULT if are_records(sums, below, dimension) else NO_SUM
