from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.learners.kernels import linucb
from tests.strategies import positive_definite


def direct_scores(contexts, estimates, inverses, radius):
    """The textbook formula, in float64, an arm a row."""
    widths = np.sqrt(np.einsum("ki,kij,kj->k", contexts, inverses, contexts))
    return np.einsum("ki,ki->k", contexts, estimates) + radius * widths


@given(st.data(), st.integers(1, 12), st.integers(2, 40), st.floats(0.0, 10.0))
def test_shared_scores_are_estimate_plus_width(data, dimension, arms, radius):
    inverse = np.linalg.inv(data.draw(positive_definite(dimension)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    features = rng.normal(size=(dimension, arms)).astype(np.float32) / dimension
    theta = rng.normal(size=(1, dimension)).astype(np.float32)
    width = np.zeros((1, dimension, dimension), np.float32)
    linucb.set_width(inverse[None], 0, radius, width)
    scores, buffers = np.empty(arms, np.float32), linucb.new_score_buffers(dimension)
    linucb.score_arms(features, theta, width, scores, buffers)
    expected = direct_scores(
        features.T, np.repeat(theta, arms, 0), np.repeat(inverse[None], arms, 0), radius
    )
    np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=2e-4)


@given(st.data(), st.integers(1, 12), st.integers(2, 40), st.floats(0.0, 10.0))
def test_squared_scores_leave_out_the_root(data, dimension, arms, radius):
    inverse = np.linalg.inv(data.draw(positive_definite(dimension)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    features = rng.normal(size=(dimension, arms)).astype(np.float32) / dimension
    theta = rng.normal(size=(1, dimension)).astype(np.float32)
    width = np.zeros((1, dimension, dimension), np.float32)
    linucb.set_width(inverse[None], 0, np.sqrt(radius), width)
    scores, buffers = np.empty(arms, np.float32), linucb.new_score_buffers(dimension)
    linucb.score_arms_squared(features, theta, width, scores, buffers)
    squared = np.einsum("ik,ij,jk->k", features, inverse, features)
    np.testing.assert_allclose(scores, theta[0] @ features + radius * squared, rtol=2e-4, atol=2e-4)


@given(st.data(), st.integers(1, 8), st.integers(2, 6))
def test_disjoint_scores_use_each_arms_own_model(data, dimension, arms):
    inverses = np.array(
        [np.linalg.inv(data.draw(positive_definite(dimension))) for _ in range(arms)]
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    features = rng.normal(size=(dimension, 1)).astype(np.float32) / dimension
    theta = rng.normal(size=(arms, dimension)).astype(np.float32)
    width = np.zeros((arms, dimension, dimension), np.float32)
    for arm in range(arms):
        linucb.set_width(inverses, arm, 1.5, width)
    scores, buffers = np.empty(arms, np.float32), linucb.new_score_buffers(dimension)
    linucb.score_arms(features, theta, width, scores, buffers)
    expected = direct_scores(np.repeat(features.T, arms, 0), theta, inverses, 1.5)
    np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=2e-4)


@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=53),
    st.integers(0, 52),
)
def test_the_best_arm_is_the_first_maximum_from_a_start(values, start):
    scores = np.array(values, np.float32)
    first = start % len(values)
    order = [(first + step) % len(values) for step in range(len(values))]
    expected = next(arm for arm in order if values[arm] == max(values))
    assert linucb.best_arm(scores, first) == expected


@pytest.mark.parametrize("arms", [2, 3, 5, 13, 15, 16, 17, 33])
def test_every_arm_can_win(arms):
    for arm in range(arms):
        scores = np.zeros(arms, np.float32)
        scores[arm] = 1.0
        assert linucb.best_arm(scores, 0) == arm


def test_scores_that_are_no_numbers_have_no_best_arm():
    assert linucb.best_arm(np.full(5, np.nan, np.float32), 2) == -1
