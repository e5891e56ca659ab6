"""How far others' records count for one agent, against densities and solving anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.learners.kernels.partial_pooling import (
    HYPOTHESES,
    average,
    common_ridge,
    log_priors,
    normalised,
    posterior_under,
    precision_beyond,
    prior_of,
    turn,
)
from tests.systems.deviations_reference import shared_ridge

seeds = st.integers(0, 2**32 - 1)
VARIANCE, ALONE = 0.3, 2.0


def own_records(rng, d, count):
    contexts = rng.normal(size=(count, d)) / math.sqrt(d)
    return contexts, contexts @ rng.normal(size=d) + 0.5 * rng.normal(size=count)


def posterior(prior, mean, gram, moment, variance=VARIANCE):
    d = len(prior)
    factor, estimate = np.zeros((d, d)), np.empty(d)
    lower = np.full((d, d), np.nan)
    log = posterior_under(prior, mean, gram, moment, variance, lower, factor, estimate)
    return log, factor, estimate


def said(hypothesis, precisions, moments, common):
    prior, mean = np.empty(len(common)), np.empty(len(common))
    prior_of(hypothesis, precisions, moments, common, ALONE, prior, mean)
    return prior, mean


def others(rng, d):
    precisions = np.sort(10.0 ** rng.uniform(-4, 4, d))
    moments = precisions * rng.normal(size=d)
    return precisions, moments, ALONE * 10.0 ** rng.uniform(0, 2, d)


@given(seeds, st.integers(1, 8), st.integers(1, 20))
def test_the_evidence_is_the_density_of_own_rewards(seed, d, count):
    """ln N(y; Xμ, v (I + X P⁻¹ Xᵀ)), up to what is the same for all priors."""
    rng = np.random.default_rng(seed)
    contexts, rewards = own_records(rng, d, count)
    gram, moment = contexts.T @ contexts, contexts.T @ rewards
    apart = []
    for _ in range(3):
        prior, mean = 10.0 ** rng.uniform(-1, 3, d), rng.normal(size=d)
        log, factor, estimate = posterior(prior, mean, gram, moment)
        covariance = VARIANCE * (np.eye(count) + contexts / prior @ contexts.T)
        apart.append(log - stats.multivariate_normal.logpdf(rewards, contexts @ mean, covariance))
        precision = np.diag(prior) + gram
        np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(precision), atol=1e-8)
        expected = np.linalg.solve(precision, prior * mean + moment)
        np.testing.assert_allclose(estimate, expected, atol=1e-8)
        assert not np.tril(factor, -1).any()
    assert np.ptp(apart) < 1e-8 * (1.0 + abs(apart[0]))


def test_the_evidence_is_that_of_agents_that_differ():
    """Records of others, θ + δ, and own ones, with the θ that all share integrated out."""
    rng, d, ridge, spread = np.random.default_rng(3), 3, 2.5, 0.3
    theirs, their_rewards = own_records(rng, d, 40)
    mine, my_rewards = own_records(rng, d, 15)
    values, basis = np.linalg.eigh(theirs.T @ theirs)
    moments, common = basis.T @ theirs.T @ their_rewards, np.full(d, ridge)
    shared = VARIANCE / ridge * np.eye(d)
    differs = spread**2 * VARIANCE / ALONE * np.eye(d)
    both = np.concatenate([theirs, mine])
    covariance = VARIANCE * np.eye(len(both)) + both @ shared @ both.T
    covariance[40:, 40:] += mine @ differs @ mine.T
    joint = stats.multivariate_normal.logpdf(
        np.concatenate([their_rewards, my_rewards]), np.zeros(len(both)), covariance
    )
    same = covariance.copy()
    same[40:, 40:] -= mine @ differs @ mine.T
    pooled = stats.multivariate_normal.logpdf(
        np.concatenate([their_rewards, my_rewards]), np.zeros(len(both)), same
    )
    turned = mine @ basis
    gram, moment = turned.T @ turned, turned.T @ my_rewards
    found = [
        posterior(*said(k, values, moments, common), gram, moment)[0] for k in (0, 2)
    ]  # fmt: skip
    assert found[1] - found[0] == pytest.approx(joint - pooled, abs=1e-8)


@given(seeds, st.integers(1, 9))
def test_the_first_hypothesis_pools_and_the_last_is_alone(seed, d):
    rng = np.random.default_rng(seed)
    contexts, rewards = own_records(rng, d, 12)
    gram, moment = contexts.T @ contexts, contexts.T @ rewards
    precisions, moments, common = others(rng, d)
    _, factor, estimate = posterior(*said(0, precisions, moments, common), gram, moment)
    whole = np.diag(common + precisions) + gram
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(whole), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimate, np.linalg.solve(whole, moments + moment), atol=1e-7)
    prior, mean = said(HYPOTHESES - 1, precisions, moments, common)
    np.testing.assert_array_equal(prior, ALONE)
    np.testing.assert_array_equal(mean, 0.0)
    _, factor, estimate = posterior(prior, mean, gram, moment)
    alone = ALONE * np.eye(d) + gram
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(alone), atol=1e-9)
    np.testing.assert_allclose(estimate, np.linalg.solve(alone, moment), atol=1e-9)


@given(seeds, st.integers(1, 9))
def test_the_more_agents_differ_the_less_others_count_and_never_less_than_nothing(seed, d):
    precisions, moments, common = others(np.random.default_rng(seed), d)
    each = [said(k, precisions, moments, common) for k in range(HYPOTHESES)]
    priors = np.array([prior for prior, _ in each])
    assert (priors >= ALONE).all()
    assert (np.diff(priors, axis=0) <= 0.0).all()
    for _, mean in each[:-1]:
        np.testing.assert_array_equal(mean, moments / (common + precisions))


@given(seeds, st.integers(1, 9))
def test_an_averaged_view_is_no_wider_than_the_mean_of_deviations(seed, d):
    rng = np.random.default_rng(seed)
    contexts, rewards = own_records(rng, d, int(rng.integers(1, 40)))
    gram, moment = contexts.T @ contexts, contexts.T @ rewards
    precisions, moments, common = others(rng, d)
    weights, basis = rng.dirichlet(np.ones(HYPOTHESES)), np.linalg.qr(rng.normal(size=(d, d)))[0]
    each = [
        posterior(*said(k, precisions, moments, common), gram, moment) for k in range(HYPOTHESES)
    ]  # fmt: skip
    factors = np.array([factor for _, factor, _ in each])
    estimates = np.array([estimate for _, _, estimate in each])
    inverse, estimate = np.empty((d, d)), np.empty(d)
    average(weights, factors, estimates, basis, inverse, estimate)
    np.testing.assert_allclose(estimate, basis.T @ (weights @ estimates), atol=1e-9)
    np.testing.assert_array_equal(inverse, inverse.T)
    for x in rng.normal(size=(20, d)):
        deviations = np.array([np.linalg.norm(factor.T @ (basis @ x)) for factor in factors])
        found = math.sqrt(x @ inverse @ x)
        assert found <= weights @ deviations * (1.0 + 1e-9)
        assert found >= 0.5 * deviations.min()
    for k in range(HYPOTHESES):  # where one hypothesis is sure, nothing is averaged
        average(np.eye(HYPOTHESES)[k], factors, estimates, basis, inverse, estimate)
        sure = basis.T @ factors[k] @ factors[k].T @ basis
        np.testing.assert_allclose(inverse, sure, rtol=1e-9, atol=1e-12)


@given(seeds, st.integers(1, 9))
def test_what_others_add_lies_between_nothing_and_all(seed, d):
    rng = np.random.default_rng(seed)
    precisions, moments, common = others(rng, d)
    priors = np.array([said(k, precisions, moments, common)[0] for k in range(HYPOTHESES)])
    weights = rng.dirichlet(np.ones(HYPOTHESES))
    most = (priors[0] - ALONE).sum()
    assert -1e-9 <= precision_beyond(weights, priors, ALONE) <= most * (1.0 + 1e-9)
    pooled, alone = np.eye(HYPOTHESES)[[0, -1]]
    assert precision_beyond(pooled, priors, ALONE) == pytest.approx(most)
    assert precision_beyond(alone, priors, ALONE) == pytest.approx(0.0, abs=1e-9)


@given(seeds, st.integers(2, 9))
def test_the_ridge_of_a_shared_parameter_follows_the_evidence(seed, d):
    precisions, moments, _ = others(np.random.default_rng(seed), d)
    found = np.empty(d)
    common_ridge(precisions, moments, ALONE, VARIANCE, True, found)
    expected = shared_ridge(precisions, moments, ALONE, VARIANCE)
    np.testing.assert_allclose(found[:-1], expected, rtol=1e-9)
    assert found[-1] == ALONE
    common_ridge(precisions, moments, ALONE, VARIANCE, False, found)
    np.testing.assert_array_equal(found, ALONE)


def test_the_ridge_of_a_small_parameter_is_large_and_none_without_evidence():
    rng, d, found = np.random.default_rng(1), 30, np.empty(30)
    precisions = np.full(d, 500.0)
    for ridge, low, high in ((ALONE, ALONE, 2.0 * ALONE), (100.0 * ALONE, 50.0, 600.0)):
        theta = math.sqrt(VARIANCE / ridge) * rng.normal(size=d)
        moments = precisions * theta + np.sqrt(VARIANCE * precisions) * rng.normal(size=d)
        common_ridge(precisions, moments, ALONE, VARIANCE, True, found)
        assert low <= found[0] <= high
    common_ridge(np.zeros(d), np.zeros(d), ALONE, VARIANCE, True, found)
    assert found[0] == ALONE


@given(seeds, st.integers(1, 9))
def test_statistics_are_turned_to_a_basis(seed, d):
    rng = np.random.default_rng(seed)
    root, moment = rng.normal(size=(d, d)), rng.normal(size=d)
    gram, rows = root @ root.T, np.linalg.qr(rng.normal(size=(d, d)))[0]
    found = np.empty((d, d)), np.empty(d)
    turn(np.concatenate([gram[np.triu_indices(d)], moment]), rows, *found)
    np.testing.assert_allclose(found[0], rows @ gram @ rows.T, atol=1e-12 * d * abs(gram).max())
    np.testing.assert_allclose(found[1], rows @ moment, atol=1e-12)
    np.testing.assert_array_equal(found[0], found[0].T)


def test_weights_are_those_of_logarithms_and_equal_where_all_are_impossible():
    np.testing.assert_allclose(
        normalised(np.log([1.0, 2.0, 5.0]) + 900.0), [0.125, 0.25, 0.625]
    )  # fmt: skip
    np.testing.assert_array_equal(normalised(np.array([-np.inf, 3.0])), [0.0, 1.0])
    np.testing.assert_array_equal(normalised(np.full(4, -np.inf)), [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(normalised(log_priors(1))[:-1], 2 * normalised(log_priors(1))[1:])
    np.testing.assert_array_equal(log_priors(2), 0.0)


def test_numbers_without_bounds_are_no_evidence_and_no_crash():
    one = np.eye(2)
    log, _, estimate = posterior(np.ones(2), np.zeros(2), one, np.array([1e200, 1.0]))
    assert log == -math.inf
    assert np.isfinite(estimate).all()
    assert math.isnan(posterior(np.ones(2), np.zeros(2), np.full((2, 2), np.nan), np.ones(2))[0])
    assert math.isnan(posterior(np.ones(2), np.zeros(2), -2.0 * one, np.ones(2))[0])
    log, factor, _ = posterior(np.array([1e-3, 1e250]), np.ones(2), one, np.ones(2))
    assert not math.isnan(log)
    assert np.isfinite(factor).all()
