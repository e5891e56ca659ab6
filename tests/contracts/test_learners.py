"""What every learner promises: functions of their arguments, in the shapes they state."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.learners.kernels import linucb, ridge

DIMENSION, ARMS = 4, 6


def linucb_scores(models: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(DIMENSION, ARMS if models == 1 else 1)).astype(np.float32)
    theta = rng.normal(size=(models, DIMENSION)).astype(np.float32)
    widths = np.zeros((models, DIMENSION, DIMENSION), np.float32)
    inverses = np.tile(np.eye(DIMENSION), (models, 1, 1))
    for model in range(models):
        linucb.set_width(inverses, model, 0.7, widths)
    scores = np.full(ARMS, np.nan, np.float32)
    before = [array.copy() for array in (features, theta, widths)]
    linucb.score_arms(features, theta, widths, scores, linucb.new_score_buffers(len(features)))
    for old, new in zip(before, (features, theta, widths), strict=True):
        np.testing.assert_array_equal(old, new)  # arguments are only read
    return scores


@pytest.mark.parametrize("models", [1, ARMS])
def test_scores_are_finite_and_determined(models):
    scores = linucb_scores(models)
    assert scores.shape == (ARMS,)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, linucb_scores(models))
    assert 0 <= linucb.best_arm(scores, 2) < ARMS


def test_statistics_survive_save_and_load():
    rng = np.random.default_rng(4)
    records = [(rng.normal(size=DIMENSION), float(rng.random())) for _ in range(20)]
    whole = np.zeros((1, ridge.packed_size(DIMENSION)))
    parts = whole.copy()
    for number, (context, reward) in enumerate(records):
        ridge.add_record(whole, 0, context, reward, 0.0)
        ridge.add_record(parts, 0, context, reward, 0.0)
        if number == 9:
            parts = np.frombuffer(parts.tobytes()).reshape(parts.shape).copy()
    np.testing.assert_array_equal(whole, parts)
