"""How far others' records count for an agent: the number, and that loop and parties agree on it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.learners.kernels.ridge import add_record, packed_size
from fedbandits.systems.agents.counting import (
    OTHERS_COUNT_AS,
    others_count_as,
    squared_norms,
)
from fedbandits.testing.replicates import federate, simulate

LINEAR = Linear(agents=4, dim=3, arms=4)
ROUNDS = 60
HYBRIDS = {
    "a controller": {"preset": "feducb-hybrid"},
    "secure sums": {"preset": "feducb-secure-hybrid"},
    "draws": {"preset": "lints-hybrid"},
    "peers": {"preset": "feducb-p2p-hybrid"},
    "peers on a line": {"preset": "feducb-p2p-hybrid", "graph": "line", "gamma": 2},
    "persons": {"preset": "feducb-hybrid", "unit": "person", "records_per_person": 2},
}  # fmt: skip


def config_of(**settings):
    return fb.system(settings.pop("preset"), epsilon=20.0, **settings).config


def statistics_of(contexts, models):
    packed = np.zeros((models, packed_size(contexts.shape[1])))
    for number, context in enumerate(contexts):
        add_record(packed, number % models, context, 0.5, 0.0)
    return packed


def residuals_of(records, precision, models):
    residuals = np.ones((models, 4))
    residuals[:, 0] = [len(range(m, records, models)) for m in range(models)]
    residuals[:, 3] = precision
    return residuals


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 4), st.integers(0, 10**6))
def test_it_is_others_precision_over_the_mean_squared_norm(records, dimension, models, seed):
    draws = np.random.Generator(np.random.PCG64(seed))
    contexts, precision = draws.normal(size=(records, dimension)), draws.random(models)
    squares = squared_norms(statistics_of(contexts, models))
    np.testing.assert_allclose(squares.sum(), (contexts**2).sum())
    found = others_count_as(residuals_of(records, precision, models), squares)
    np.testing.assert_allclose(found, precision.sum() / (contexts**2).sum(axis=1).mean())


def test_records_in_clear_of_an_agent_that_is_alike_count_as_many():
    """Others' records as precise as they are: as many own ones tell as much, whatever the unit."""
    draws = np.random.Generator(np.random.PCG64(1))
    contexts = draws.normal(size=(30, 5))
    contexts /= np.linalg.norm(contexts, axis=1)[:, None]
    for unit in (1.0, 7.0):
        own, others = unit * contexts[:10], unit * contexts[10:]
        residuals = residuals_of(10, squared_norms(statistics_of(others, 1)), 1)
        count = others_count_as(residuals, squared_norms(statistics_of(own, 1)))
        assert count == pytest.approx(20.0)


def test_records_that_count_for_no_release_or_wait_change_nothing():
    draws = np.random.Generator(np.random.PCG64(2))
    contexts = draws.choice([-1.0, 1.0], size=(12, 3))  # all of the same length
    whole = squared_norms(statistics_of(contexts, 2))
    residuals = residuals_of(12, 3.0, 2)
    expected = others_count_as(residuals, whole)
    apart = squared_norms(statistics_of(contexts[:8], 2), statistics_of(contexts[8:], 2))
    np.testing.assert_allclose(others_count_as(residuals, apart), expected)
    nothing = squared_norms(statistics_of(contexts, 2), np.zeros((2, 0)))
    np.testing.assert_array_equal(nothing, whole)
    counted = squared_norms(statistics_of(contexts[:8], 2))
    np.testing.assert_allclose(others_count_as(residuals, counted, waiting=4), expected)


def test_nothing_is_known_without_records_of_ones_own():
    residuals = np.array([residuals_of(0, 3.0, 2), residuals_of(4, 3.0, 2), residuals_of(4, 0, 2)])
    squares = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(others_count_as(residuals, squares), [np.nan, np.nan, 0.0])


@pytest.mark.parametrize("name", HYBRIDS)
def test_parties_are_told_what_the_loop_measures(name):
    config = config_of(**HYBRIDS[name])
    world = LINEAR
    if "unit" in HYBRIDS[name]:
        world = fb.environments.Classification(agents=4, dataset="wine", components=2)
    loop = simulate(config, world, ROUNDS, 5, 0)
    parties = federate(config, world, ROUNDS, 5, 0)
    before = [player.others_count_as for player in parties.players]
    assert before == [None] * 4
    assert np.isnan(loop.metrics[OTHERS_COUNT_AS]).all()
    loop.advance(ROUNDS)
    parties.advance(ROUNDS)
    told = [player.others_count_as for player in parties.players]
    assert all(number > 0.0 for number in told)
    np.testing.assert_allclose(told, loop.metrics[OTHERS_COUNT_AS], rtol=1e-9)


def mean_count(environment=LINEAR, **changed):
    run = simulate(fb.system("feducb-hybrid", **changed).config, environment, 400, 5, 0)
    run.advance(400)
    return run.metrics[OTHERS_COUNT_AS].mean(), 3 * max(run.sync_rounds())


def test_less_noise_makes_others_count_for_more_and_none_for_as_many_as_they_are():
    """Where all are alike a part of the doubt stays: no evidence rules out that they differ."""
    (much, _), (little, _), (none, released) = (
        mean_count(epsilon=0.1), mean_count(epsilon=3.0), mean_count(privatizer="none")
    )  # fmt: skip
    assert 0.0 <= much < little < none
    assert 0.3 * released < none <= released


def test_agents_that_differ_count_for_little():
    """In clear: what agents with parameters of their own have released tells little of another."""
    apart = msgspec.structs.replace(LINEAR, spread=0.5)
    further = msgspec.structs.replace(LINEAR, spread=1.0)
    alike, some, most = (
        mean_count(world, privatizer="none")[0] for world in (LINEAR, apart, further)
    )
    assert alike > 5.0 * some > 5.0 * 3.0 * most


@pytest.mark.parametrize("preset", ["linucb-alone", "linucb-pooled", "feducb", "feducb-p2p"])
def test_systems_without_own_views_tell_none(preset):
    config = fb.system(preset).config
    assert OTHERS_COUNT_AS not in simulate(config, LINEAR, 20, 5, 0).metrics
    parties = federate(config, LINEAR, 20, 5, 0)
    parties.advance(20)
    assert {getattr(player, OTHERS_COUNT_AS) for player in parties.players} == {None}
