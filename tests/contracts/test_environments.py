"""What every environment promises."""

from __future__ import annotations

import atexit
import pathlib
import shutil
import tempfile

import numpy as np
import pytest

from fedbandits.environments import (
    Classification,
    ContextualEnvironment,
    Linear,
    RatingData,
    environments,
)
from fedbandits.random import replicate_key
from tests.worlds import decision_set

_FOLDER = tempfile.mkdtemp(prefix="fedbandits-")
_RATINGS = pathlib.Path(_FOLDER) / "pairs.tsv"
_RATINGS.write_text(
    "\n".join(f"{u}\t{i}\t{(u * u + 3 * i) % 7}" for u in range(20) for i in range(15)),
    encoding="utf-8",
)
atexit.register(shutil.rmtree, _FOLDER)

EXAMPLES = {
    "linear": Linear(agents=3, dim=4, arms=5),
    "classification": Classification(agents=3, dataset="wine", components=4),
    "ratings": RatingData(agents=3, path=str(_RATINGS), dim=4, arms=5),
}
KEY = replicate_key(11, 2)


CONTEXTUAL = {k for k, e in environments().items() if issubclass(e, ContextualEnvironment)}


def test_every_environment_has_an_example_here():
    assert set(EXAMPLES) == CONTEXTUAL


@pytest.mark.parametrize("kind", EXAMPLES)
class TestEnvironment:
    def test_draws_depend_on_their_name_alone(self, kind):
        environment = EXAMPLES[kind]
        forward = [
            decision_set(environment, environment.world(KEY), KEY, a, t)
            for a in range(3)
            for t in range(1, 6)
        ]
        backward = [
            decision_set(environment, environment.world(KEY), KEY, a, t)
            for a in reversed(range(3))
            for t in reversed(range(1, 6))
        ]
        for one, two in zip(forward, reversed(backward), strict=True):
            np.testing.assert_array_equal(one[0], two[0])
            np.testing.assert_array_equal(one[1], two[1])
            assert one[2] == two[2]

    def test_agents_and_replicates_see_different_things(self, kind):
        environment = EXAMPLES[kind]

        def seen(agent, replicate):
            key = replicate_key(11, replicate)
            world = environment.world(key)
            return np.concatenate(
                [decision_set(environment, world, key, agent, t)[0].ravel() for t in range(1, 30)]
            )

        base = seen(0, 0)
        assert not np.array_equal(base, seen(1, 0))
        assert not np.array_equal(base, seen(0, 1))

    def test_contexts_and_rewards_keep_their_bounds(self, kind):
        environment = EXAMPLES[kind]
        world = environment.world(KEY)
        low, high = environment.facts.reward_range
        for t in range(1, 100):
            features, expected, best = decision_set(environment, world, KEY, t % 3, t)
            assert np.isfinite(features).all()
            norms = np.linalg.norm(features.astype(np.float64), axis=0)
            assert norms.max() <= environment.facts.context_norm
            assert low <= expected.min()
            assert expected.max() <= high
            assert expected[best] == expected.max()

    def test_true_parameters_explain_the_expected_rewards(self, kind):
        environment = EXAMPLES[kind]
        world = environment.world(KEY)
        truth = environment.true_parameters(world)
        if truth is None:
            pytest.skip("the truth of this environment is not linear")
        assert truth.shape == (environment.models, environment.dimension)
        features, expected, _ = decision_set(environment, world, KEY, 0, 1)
        np.testing.assert_allclose(truth[0] @ features, expected, atol=3e-6)
