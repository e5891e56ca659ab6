"""What a noisy sum of records tells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.learners.kernels.released_sum import (
    Reading,
    learn_from_sum,
    posterior_variance,
)
from tests.systems.deviations_reference import told_by


def symmetric_noise(rng, d):
    noise = rng.normal(size=(d, d))
    return (noise + noise.T) / np.sqrt(2.0)  # 1 off the diagonal, 2 on it


def records(rng, d, count=50):
    contexts = rng.normal(size=(count, d)) / np.sqrt(d)
    theta = rng.normal(size=d) / np.sqrt(d)
    rewards = contexts @ theta + 0.5 * rng.normal(size=count)
    return contexts.T @ contexts, contexts.T @ rewards, theta


def told(gram, moment, reading):
    """What is told, from a Gram matrix and a moment instead of a packed sum."""
    d = len(moment)
    packed = np.concatenate([gram[np.triu_indices(d)], moment])
    found = np.empty((d, d)), np.empty(d)
    learn_from_sum(packed, reading, *found)
    return found


seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 12), st.floats(0.01, 100.0))
def test_it_is_the_matrix_formula(seed, d, deviation):
    rng = np.random.default_rng(seed)
    gram, moment, _ = records(rng, d)
    gram += deviation * symmetric_noise(rng, d)
    moment += deviation * rng.normal(size=d)
    reading = Reading(deviation**2, deviation**2, 0.2, 1.3)
    expected = told_by(gram, moment, *reading)
    found = told(gram, moment, reading)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(found[0], found[0].T)
    assert np.linalg.eigvalsh(found[0])[0] >= -1e-12 * np.linalg.norm(found[0])


@given(seeds, st.integers(1, 12))
def test_in_clear_nothing_changes(seed, d):
    gram, moment, _ = records(np.random.default_rng(seed), d)
    found = told(gram, moment, Reading(0.0, 0.0, 0.25, 1.0))
    np.testing.assert_array_equal(found[0], np.triu(gram) + np.triu(gram, 1).T)
    np.testing.assert_array_equal(found[1], moment)


@given(seeds, st.integers(1, 12))
def test_noise_that_drowns_all_leaves_a_few_records_at_most(seed, d):
    """Noise alone has a trace of some size, which counts σ² records or so however large it is."""
    rng = np.random.default_rng(seed)
    gram, moment, _ = records(rng, d)
    gram += 1e5 * symmetric_noise(rng, d)
    moment += 1e5 * rng.normal(size=d)
    found, _ = told(gram, moment, Reading(1e10, 1e10, 0.25, 1.0))
    assert np.linalg.norm(found) < 12.0


def test_a_sum_without_a_trace_tells_nothing():
    gram, moment = told(-np.eye(3), np.ones(3), Reading(1.0, 1.0, 0.25, 1.0))
    assert not gram.any()
    assert not moment.any()


@given(seeds, st.integers(2, 8), st.floats(0.1, 30.0))
def test_less_noise_never_tells_less_of_the_same_sum(seed, d, deviation):
    gram, moment, _ = records(np.random.default_rng(seed), d)
    less, more = (
        np.trace(told(gram, moment, Reading(0.0, noise**2, 0.25, 1.0))[0])
        for noise in (deviation, 2.0 * deviation)
    )
    assert less > more


@pytest.mark.parametrize("deviation", [1.0, 5.0, 20.0])
def test_errors_are_as_large_as_precisions_say(deviation):
    """An estimate from such a sum alone misses θ by σ² P⁻¹ on average, never by much more."""
    rng, d, ratios = np.random.default_rng(7), 5, []
    for _ in range(400):
        gram, moment, theta = records(rng, d, 400)
        gram += deviation * symmetric_noise(rng, d)
        moment += deviation * rng.normal(size=d)
        gram, moment = told(gram, moment, Reading(deviation**2, deviation**2, 0.25, 1.0))
        precision = gram + 0.25 * d * np.eye(d)  # θ is drawn with variance 1/d an entry
        error = theta - np.linalg.solve(precision, moment)
        ratios.append(error @ precision @ error / (0.25 * d))
    assert 0.6 < np.mean(ratios) < 1.25


def test_the_variance_goes_from_the_bound_to_that_of_residuals():
    residuals = np.array(
        [[0.0, 0.0, 0.0], [1e6, 0.09e6, 0.0], [10.0, 0.0, 0.0], [1e6, 1e6, 0.0], [1e9, 0.0, 0.0]]
    )
    found = [posterior_variance(residuals, m, 0.25) for m in range(5)]
    assert found == pytest.approx([0.25, 0.09, 0.125, 0.25, 0.0025], rel=1e-4)
