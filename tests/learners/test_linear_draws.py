"""Draws of parameters against numpy: Cholesky's factor, the law of scores, and what is singular."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.learners.kernels.linucb import (
    draw_buffers,
    draw_parameters,
    draw_scores,
    draw_size,
    set_width,
)
from fedbandits.random import Purpose, normals, replicate_key

KEY = replicate_key(5, 0)


def known(rng, models, d):
    """Estimates, covariances, and both as LinUCB keeps them."""
    roots = rng.normal(size=(models, d + 2, d))
    covariances = np.linalg.inv(np.einsum("mki,mkj->mij", roots, roots) + 0.1 * np.eye(d))
    theta, widths = rng.normal(size=(models, d)), np.zeros((models, d, d), np.float32)
    for m in range(models):
        set_width(covariances, m, 1.0, widths)
    return theta.astype(np.float32), covariances, widths


def scores_of(features, theta, widths, drawn):
    scores = np.empty(features.shape[1] if len(theta) == 1 else len(theta), np.float32)
    draw_scores(features, theta, widths, scores, draw_buffers(drawn, len(features)))
    return scores


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 40))
def test_arms_that_share_a_model_are_scored_with_one_draw(seed, d, arms):
    rng = np.random.default_rng(seed)
    theta, covariances, widths = known(rng, 1, d)
    features, drawn = rng.normal(size=(d, arms)).astype(np.float32), rng.normal(size=d)
    expected = (theta[0] + np.linalg.cholesky(covariances[0]) @ drawn) @ features
    found = scores_of(features, theta, widths, drawn)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(2, 9))
def test_an_arm_with_a_model_draws_its_own_score(seed, d, arms):
    rng = np.random.default_rng(seed)
    theta, covariances, widths = known(rng, arms, d)
    features, drawn = rng.normal(size=(d, 1)).astype(np.float32), rng.normal(size=arms)
    x = features[:, 0].astype(float)
    deviations = np.sqrt(np.einsum("i,mij,j->m", x, covariances, x))
    found = scores_of(features, theta, widths, drawn)
    np.testing.assert_allclose(found, theta @ x + deviations * drawn, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("models", [1, 3])
def test_scores_have_the_law_of_parameters_that_are_drawn(models):
    """A reward that is expected of x is normal, with mean ⟨x, θ⟩ and variance xᵀWx."""
    rng, d = np.random.default_rng(2), 4
    theta, covariances, widths = known(rng, models, d)
    features = rng.normal(size=(d, 3 if models == 1 else 1)).astype(np.float32)
    size = draw_size(models, d)
    draws = [normals(size, KEY, 0, t, Purpose.POSTERIOR) for t in range(4_000)]
    found = np.array([scores_of(features, theta, widths, drawn) for drawn in draws])
    for arm in range(3):
        m, column = (0, arm) if models == 1 else (arm, 0)
        x = features[:, column].astype(float)
        law = stats.norm(x @ theta[m], np.sqrt(x @ covariances[m] @ x))
        assert stats.kstest(found[:, arm], law.cdf).pvalue > 1e-3
    together = np.corrcoef(found.T)
    if models == 1:
        expected = features.T.astype(float) @ covariances[0] @ features
        scale = np.sqrt(np.diag(expected))
        np.testing.assert_allclose(together, expected / np.outer(scale, scale), atol=0.05)
    else:
        np.testing.assert_allclose(together, np.eye(3), atol=0.08)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_what_is_almost_known_is_drawn_with_the_rest(seed, d):
    """A covariance of low rank, which float32 may make indefinite: draws stay near its plane."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(1, d))
    covariance, widths = root.T @ root, np.zeros((1, d, d), np.float32)
    set_width(covariance[None], 0, 1.0, widths)
    draw = draw_buffers(rng.normal(size=d), d)
    draw_parameters(np.zeros((1, d), np.float32), widths, draw)
    assert np.isfinite(draw.drawn).all()
    along = root[0] / np.linalg.norm(root)
    aside = draw.drawn - (draw.drawn @ along) * along
    assert np.linalg.norm(aside) < 0.02 * np.linalg.norm(root)
