from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fedbandits.environments import Linear
from fedbandits.random import Purpose, normals, replicate_key
from tests.worlds import decision_sets, draw_rewards

KEY = replicate_key(5, 0)


@pytest.mark.parametrize("dim", [1, 2, 5, 10])
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.3])
def test_one_arm_is_better_by_the_gap(dim, gap):
    environment = Linear(agents=2, dim=dim, arms=7, gap=gap)
    world = environment.world(KEY)
    for features, expected, best in decision_sets(environment, world, KEY, rounds=200):
        means = world.theta[0] @ features
        np.testing.assert_allclose(means, expected, atol=3e-6)
        others = np.delete(means, best)
        assert others.min() >= 0.5 - 1e-5
        assert others.max() <= 0.6 + 1e-5
        assert 0.6 + gap - 1e-5 <= means[best] <= 0.7 + gap + 1e-5


@pytest.mark.parametrize("dim", [1, 3, 10, 30])
def test_contexts_stay_in_the_unit_ball(dim):
    environment = Linear(agents=3, dim=dim, arms=5, gap=0.3)
    for features, _, _ in decision_sets(environment, environment.world(KEY), KEY, rounds=5000):
        assert np.linalg.norm(features.astype(np.float64), axis=0).max() <= 1.0


def test_the_rest_of_a_context_is_uniform_in_the_remaining_ball():
    environment = Linear(agents=1, dim=5, arms=20)
    world = environment.world(KEY)
    parts = []
    for features, expected, _ in decision_sets(environment, world, KEY, rounds=1500):
        across = features - np.outer(world.theta[0], expected)
        parts.append((across / np.sqrt(1 - expected.astype(np.float64) ** 2)).T)
    points = np.concatenate(parts)
    radii = np.linalg.norm(points, axis=1)
    # In a 4-ball the fourth power of the radius is uniform.
    assert stats.kstest(radii**4, "uniform").statistic < 0.02
    directions = points / radii[:, None]
    rng = np.random.default_rng(0)
    for _ in range(5):  # any direction across θ* sees the same second and fourth moments
        axis = rng.normal(size=5)
        axis -= (axis @ world.theta[0]) * world.theta[0]
        projections = directions @ (axis / np.linalg.norm(axis))
        assert np.mean(projections**2) == pytest.approx(1 / 4, rel=0.03)
        assert np.mean(projections**4) == pytest.approx(3 / 24, rel=0.06)


def test_the_best_arm_stands_anywhere():
    environment = Linear(agents=1, dim=3, arms=5)
    places = [b for _, _, b in decision_sets(environment, environment.world(KEY), KEY, 4000)]
    assert stats.chisquare(np.bincount(places, minlength=5)).pvalue > 1e-3


def test_parameters_are_uniform_on_the_sphere_and_new_each_replicate():
    thetas = np.array([Linear(dim=3).world(replicate_key(2, r)).theta[0] for r in range(4000)])
    np.testing.assert_allclose(np.linalg.norm(thetas, axis=1), 1.0, rtol=1e-12)
    # Archimedes: each coordinate of a uniform point on the 2-sphere is uniform on [-1, 1].
    for coordinate in thetas.T:
        assert stats.kstest(coordinate, stats.uniform(-1, 2).cdf).pvalue > 1e-3


@pytest.mark.parametrize("theta", [(0.6, 0.8), (0.0, 1.0), (-1.0, 0.0)])
def test_a_given_parameter_is_used(theta):
    environment = Linear(dim=2, theta=theta)
    world = environment.world(KEY)
    np.testing.assert_allclose(world.theta, [theta])
    for features, expected, _ in decision_sets(environment, world, KEY, rounds=20):
        np.testing.assert_allclose(np.array(theta) @ features, expected, atol=3e-6)


@pytest.mark.parametrize("theta", [(1.0,), (1.0, 1.0)])
def test_an_impossible_parameter_is_refused(theta):
    with pytest.raises(ValueError, match="theta"):
        Linear(dim=2, theta=theta)


def test_rewards_have_the_expected_mean():
    rewards = draw_rewards(Linear(), 0.7, KEY, rounds=20_000)
    assert set(rewards) == {0.0, 1.0}
    assert np.mean(rewards) == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 20_000))


@pytest.mark.parametrize("dim", [1, 3, 10])
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.29])
def test_bands_are_met_and_contexts_fit_with_a_parameter_in_the_ball(dim, gap):
    environment = Linear(agents=2, dim=dim, arms=7, gap=gap, parameter="ball")
    for replicate in range(5):
        key = replicate_key(6, replicate)
        world = environment.world(key)
        assert max(0.8, 0.7 + gap) <= np.linalg.norm(world.theta[0]) <= 1.0
        for features, expected, best in decision_sets(environment, world, key, rounds=60):
            means = world.theta[0] @ features
            np.testing.assert_allclose(means, expected, atol=3e-6)
            others = np.delete(means, best)
            assert others.min() >= 0.5 - 1e-5
            assert others.max() <= 0.6 + 1e-5
            assert 0.6 + gap - 1e-5 <= means[best] <= 0.7 + gap + 1e-5
            assert np.linalg.norm(features.astype(np.float64), axis=0).max() <= 1.0
            assert (means[best] - means).max() <= environment.largest_gap + 1e-5


def test_the_shortest_parameter_still_reaches_the_best_band():
    """All of ‖θ*‖ is needed: contexts of the best arm lie along θ* where its mean is highest."""
    for gap in (0.1, 0.25):
        shortest = Linear(gap=gap).shortest_parameter
        assert shortest == pytest.approx(0.7 + gap, abs=1e-5)
        environment = Linear(
            agents=1, dim=2, arms=4, gap=gap, parameter="ball", theta=(0.0, shortest)
        )
        world = environment.world(KEY)
        highest = 0.0
        for features, expected, best in decision_sets(environment, world, KEY, rounds=4000):
            length = np.linalg.norm(features.astype(np.float64), axis=0)
            assert length.max() <= 1.0
            highest = max(highest, expected[best])
            along = abs(features[1, best])
            assert along == pytest.approx(expected[best] / shortest, abs=1e-5)
        assert highest > 0.7 + gap - 1e-4


@pytest.mark.parametrize(("dim", "gap"), [(2, 0.1), (3, 0.2), (10, 0.1)])
def test_parameters_are_uniform_in_what_is_left_of_the_ball(dim, gap):
    environment = Linear(dim=dim, gap=gap, parameter="ball")
    thetas = np.array([environment.world(replicate_key(2, r)).theta[0] for r in range(3000)])
    lengths, least = np.linalg.norm(thetas, axis=1), environment.shortest_parameter**dim
    # In a d-ball the d-th power of the length is uniform; given that it is long enough, above.
    assert stats.kstest(lengths**dim, stats.uniform(least, 1.0 - least).cdf).pvalue > 1e-3
    directions = thetas / lengths[:, None]
    np.testing.assert_allclose(directions.mean(axis=0), 0.0, atol=4.5 / np.sqrt(3000 * dim))
    np.testing.assert_allclose((directions**2).mean(axis=0), 1 / dim, rtol=0.2)


def test_a_parameter_in_the_ball_is_the_first_draw_that_is_long_enough():
    environment = Linear(dim=2, parameter="ball")
    redrawn = 0
    for replicate in range(40):
        key = replicate_key(3, replicate)
        draws = [normals(4, key, 0, draw, Purpose.WORLD) for draw in range(30)]
        points = [draw[:2] / np.linalg.norm(draw) for draw in draws]
        fitting = [np.linalg.norm(point) >= environment.shortest_parameter for point in points]
        first = fitting.index(True)
        np.testing.assert_array_equal(environment.world(key).theta[0], points[first])
        redrawn += first > 0
    assert 10 < redrawn < 40  # with probability 0.64 each


def test_the_ball_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"gap: given 0\.3"):
        Linear(gap=0.3, parameter="ball")
    for theta in ((0.5, 0.5), (0.9, 0.9)):
        with pytest.raises(ValueError, match=r"between 0\.8"):
            Linear(dim=2, parameter="ball", theta=theta)
    given = Linear(dim=2, parameter="ball", theta=(0.0, 0.9)).world(KEY).theta[0]
    np.testing.assert_array_equal(given, (0.0, 0.9))


def test_the_default_is_the_sphere_as_it_was():
    """θ* is the first draw, and means are stretched by exactly 1, which changes no bit."""
    assert Linear().parameter == "sphere"
    for replicate in range(5):
        key = replicate_key(7, replicate)
        world, draw = Linear(dim=5).world(key), normals(5, key, 0, 0, Purpose.WORLD)
        np.testing.assert_array_equal(world.theta[0], draw / np.linalg.norm(draw))
        assert world.stretch == 1.0
