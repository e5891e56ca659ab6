"""The search for the best settings of parties alone, on losses that are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fedbandits.experiments.tuning import (
    LEAST_RIDGE,
    MORE,
    MOST_RIDGE,
    MOST_SCALE,
    MOST_SETTINGS,
    Bounds,
    Place,
    Race,
    climb,
)

SIZES = (2, 2, 4, 4, 4)


class World:
    """Losses of places: a valley around the best place, common chance, and chance of its own."""

    def __init__(self, best=(0.0, 0.0), steep=0.3, common=0.0, own=0.0, seed=0):
        self.best, self.steep = best, steep
        self.common, self.own, self.seed = common, own, seed
        self.plays = 0

    def loss(self, place):
        apart = place.scale - self.best[0], place.ridge - self.best[1]
        return 10.0 * math.exp(self.steep * math.hypot(*apart))

    def __call__(self, candidates, batch):
        self.plays += SIZES[batch] * len(candidates)
        chance = np.random.Generator(np.random.PCG64([self.seed, batch]))
        shared = self.common * chance.normal(size=SIZES[batch])
        rows = []
        for one in candidates:
            words = [self.seed, batch, one.scale + 50, one.ridge + 50]
            own = np.random.Generator(np.random.PCG64(words)).normal(size=SIZES[batch])
            rows.append(self.loss(one) + shared + self.own * own)
        return np.array(rows)


def found(world, ridge=1.0, most=1000):
    race = Race(world, SIZES, 2, most)
    climb(race, Bounds(ridge))
    return race.settle(), race


@pytest.mark.parametrize("best", [(0, 0), (-2, 1), (1, -2), (3, 4), (2, 3), (-3, -2)])
def test_it_finds_the_bottom_of_a_valley_beyond_every_edge(best):
    place, race = found(World(best))
    assert place == Place(*best)
    assert len(race.candidates) <= MOST_SETTINGS


def test_chance_that_all_have_in_common_changes_nothing():
    assert found(World((-1, 1), common=50.0))[0] == Place(-1, 1)


def test_where_differences_are_chance_more_replicates_are_played_and_it_stays_cheap():
    """Places nearly alike cannot be told apart on 4 replicates, and are on 16 mostly."""
    lost, at_once = [], []
    for seed in range(40):
        world = World((1, 0), steep=0.05, own=0.4, seed=seed)
        place, race = found(world)
        lost.append(world.loss(place) - 10.0)
        assert world.plays <= MOST_SETTINGS * 4 + 3 * 4 * (MORE - 1)
        first = {one: losses[:4].mean() for one, losses in played_four(race)}
        at_once.append(world.loss(min(first, key=first.get)) - 10.0)
    assert np.mean(lost) < 0.85 * np.mean(at_once)


def played_four(race):
    """Candidates that were played on all of the first replicates, with their losses."""
    both = zip(race.candidates, race._losses, strict=True)
    return [(one, losses) for one, losses in both if len(losses) >= 4]


@pytest.mark.parametrize("most", [30, 40, 60])
def test_no_more_is_played_than_may_be(most):
    for seed, own in itertools.product(range(5), (0.0, 0.2, 2.0)):
        world = World((5, 5), steep=0.02, own=own, seed=seed)
        place, race = found(world, most=most)
        assert world.plays <= most
        assert place in race.candidates
        assert len(race.candidates) >= 4


def test_what_is_equal_goes_to_the_default():
    place, race = found(World(steep=0.0))
    assert place == Place(0, 0)
    assert World(steep=0.0).loss(Place(1, 0)) == 10.0
    assert all(len(losses) == 4 for losses in race._losses)  # nothing to be found out


def test_what_is_worse_by_far_is_played_no_further():
    world = World((-2, 0), steep=0.5)
    _, race = found(world)
    counts = {one: len(losses) for one, losses in zip(race.candidates, race._losses, strict=True)}
    assert counts[Place(1, 0)] == SIZES[0]
    assert counts[Place(-2, 0)] >= 4


def test_bounds_hold():
    for best, ridge in (((40, 0), 1.0), ((0, 40), 1.0), ((0, -40), 2.25), ((-40, 0), 1.0)):
        _, race = found(World(best), ridge)
        for place in race.candidates:
            assert 1.0 / 32.0 <= place.alpha <= MOST_SCALE
            assert place.ridge == 0 or LEAST_RIDGE <= ridge * place.ridge_factor <= MOST_RIDGE


def test_without_a_ridge_only_alpha_is_tried():
    _, race = found(World((2, 5)), None)
    assert {place.ridge for place in race.candidates} == {0}
    race = Race(World(), SIZES, 2, 1000)
    climb(race, Bounds(1.0), has_scale=False)
    assert race.candidates == ()


def test_steps_of_the_ridge_are_written_in_one_digit():
    factors = [Place(0, i).ridge_factor for i in range(-4, 6)]
    assert factors == [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]
