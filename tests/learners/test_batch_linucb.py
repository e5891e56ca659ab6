"""LinUCB on many rows at once."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Classification
from fedbandits.errors import DataError
from fedbandits.learners import BatchLinUCB
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import federate


def test_it_decides_as_ridge_regressions_solved_anew_say():
    rng = np.random.default_rng(3)
    learner = BatchLinUCB(3, 5, exploration_scale=0.7, regularization=2.0)
    seen = [[] for _ in range(3)]
    for _ in range(150):
        rows = rng.normal(size=(4, 5))
        scores = np.empty((4, 3))
        for m in range(3):
            x = np.array([x for x, _ in seen[m]]).reshape(-1, 5)
            gram = 2.0 * np.eye(5) + x.T @ x
            theta = np.linalg.solve(gram, x.T @ np.array([y for _, y in seen[m]]))
            widths = np.sqrt(np.einsum("nd,nd->n", rows, np.linalg.solve(gram, rows.T).T))
            scores[:, m] = rows @ theta + 0.7 * widths
        actions = learner.decide(rows)
        chosen = scores[np.arange(4), actions]
        np.testing.assert_allclose(chosen, scores.max(axis=1), rtol=1e-9)
        rewards = rng.normal(size=4)
        learner.learn(rows, actions, rewards)
        for x, m, y in zip(rows, actions, rewards, strict=True):
            seen[m].append((x, y))


def test_equally_good_arms_are_chosen_in_turn():
    learner = BatchLinUCB(4, 2)
    chosen = np.concatenate([learner.decide(np.ones((6, 2))) for _ in range(2)])
    np.testing.assert_array_equal(chosen, np.arange(12) % 4)


def test_it_goes_on_from_a_model():
    world = Classification(agents=2, dataset="wine", components=3)
    run = federate(system("linucb-alone").config, world, 40, 0, 0)
    run.advance(30)
    model = run.system.export(run.plan, run.players[0])
    learner = BatchLinUCB.from_prior(model.learned.gram, model.learned.estimate)
    np.testing.assert_array_equal(learner.estimate, model.learned.estimate)
    context, reward = np.full(learner.estimate.shape[1], 0.2), 0.7
    learner.learn([context], [1], [reward])
    gram = model.learned.gram[1]
    moment = gram @ model.learned.estimate[1] + reward * context
    expected = np.linalg.solve(gram + np.outer(context, context), moment)
    np.testing.assert_allclose(learner.estimate[1], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("gram", "estimate"),
    [(np.zeros((2, 3, 3)), np.zeros((2, 3))), (np.eye(3)[None], np.zeros((2, 3)))],
)
def test_a_prior_that_is_none_is_refused(gram, estimate):
    with pytest.raises(DataError):
        BatchLinUCB.from_prior(gram, estimate)


@pytest.mark.parametrize(
    ("contexts", "actions", "rewards"),
    [
        ([[1.0, 2.0, 3.0]], [0], [1.0]),
        ([1.0, 2.0], [0], [1.0]),
        ([[1.0, np.nan]], [0], [1.0]),
        ([[1.0, 2.0]], [2], [1.0]),
        ([[1.0, 2.0]], [-1], [1.0]),
        ([[1.0, 2.0]], [0], [np.inf]),
        ([[1.0, 2.0]], [0, 1], [1.0]),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_learned(contexts, actions, rewards):
    learner = BatchLinUCB(2, 2)
    with pytest.raises(DataError):
        learner.learn(contexts, actions, rewards)
    assert not learner.estimate.any()
