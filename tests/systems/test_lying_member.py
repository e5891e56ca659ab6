"""One member that lies: what it costs the others, and how own records keep a false sum in check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.privacy.kernels import NO_FAULT
from fedbandits.systems.agents.kernels.own_views import load_own_view
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE
from fedbandits.systems.agents.kernels.views import empty_view
from fedbandits.testing.lying import (
    LyingReplicate,
    Seen,
    other_units,
    reversed_rewards,
    unexplored_direction,
)
from fedbandits.testing.replicates import federate, plan_of, simulate

MANY, ROUNDS = Linear(agents=60, dim=5, arms=10), 500
FEW = Linear(agents=5, dim=3, arms=4)


def config_of(preset):
    return fb.system(preset).config


def lied(preset, lie, world=MANY, rounds=ROUNDS):
    run = LyingReplicate(plan_of(config_of(preset), world, rounds), world, 3, 0, lie)
    run.advance(rounds)
    return run


@pytest.fixture(scope="module")
def alone():
    run = simulate(config_of("linucb-alone"), MANY, ROUNDS, 3, 0)
    run.advance(ROUNDS)
    return run.regret[1:].mean()


LIES = {
    "reversed": reversed_rewards(60),
    "reversed, 30": reversed_rewards(30),
    "units": other_units(60),
    "made up": unexplored_direction(60),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("preset", ["feducb-secure-hybrid", "feducb-hybrid"])
def test_hybrids_lose_to_one_that_lies_little_more_than_alone(preset, lie, alone):
    """Nothing notices such a lie but own records: its sums are within all limits."""
    run = lied(preset, LIES[lie])
    assert run.refused == 0
    assert run.regret_of_others.mean() < 1.8 * alone


def test_without_own_records_one_that_lies_ruins_all(alone):
    """``feducb-secure`` acts on totals alone, as its claim says."""
    run = lied("feducb-secure", LIES["reversed"])
    assert run.refused == 0
    assert run.regret_of_others.mean() > 3.0 * alone


@pytest.mark.parametrize("preset", ["feducb-secure", "feducb-secure-hybrid", "feducb-hybrid"])
def test_who_sends_the_truth_plays_the_run_itself(preset):
    honest = simulate(config_of(preset), FEW, 40, 3, 0)
    honest.advance(40)
    run = lied(preset, lambda seen, constants: seen.own, FEW, 40)
    for one, other in zip(honest.state, run.state, strict=True):
        np.testing.assert_equal(one, other)
    np.testing.assert_equal(lied(preset, other_units(1), FEW, 40).regret, honest.regret)


@pytest.mark.parametrize("preset", ["feducb-secure", "feducb-secure-hybrid"])
def test_a_party_that_lies_does_to_parties_what_it_does_in_the_loop(preset):
    config, lie = config_of(preset), reversed_rewards(3)
    loop = lied(preset, lie, FEW, 40)
    parties = federate(config, FEW, 40, 3, 0)
    liar, constants = parties.of("agent")[0], parties.plan.constants
    send = liar._outlet.send

    def send_lie(state, exact, keep, noise):
        own = exact.reshape(constants.statistic_shape)
        return send(state, lie(Seen(own, own, 0), constants).reshape(-1), keep, noise)

    liar._outlet.send = send_lie
    parties.advance(40)
    np.testing.assert_array_equal(parties.regret, loop.regret)
    thetas = np.broadcast_to(loop.state.views.theta, (5, 1, 3))
    for agent, theta in zip(parties.players, thetas, strict=True):
        np.testing.assert_array_equal(agent.state.view.theta, theta)


PLAN = plan_of(config_of("feducb-secure-hybrid"), FEW, 1000).constants


def view_of(own, others):
    """Return the view of an agent with these records, after a sum; None where there is a fault."""
    view, residuals = empty_view(PLAN), np.array([[60.0, 15.0, 0.0, 0.0]])
    fault = load_own_view(PLAN, own, residuals, others, 3.0, view)
    assert fault in (NO_FAULT, NOT_POSITIVE)
    return None if fault else (view, residuals[0, 3])


def sums_of(rng, theta, records):
    contexts = rng.normal(size=(records, 3)) / 2.0
    rewards = contexts @ theta + 0.3 * rng.normal(size=records)
    gram = (contexts.T @ contexts)[np.triu_indices(3)]
    return np.concatenate([gram, contexts.T @ rewards])[None]


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 304.0), st.booleans())
@example(0, 304.0, True)
def test_no_sum_is_too_large_to_act_on(seed, size, only_moments):
    """What a party holds sums to is not needed: a sum may be anything finite."""
    rng = np.random.default_rng(seed)
    own, others = sums_of(rng, np.ones(3), 60), sums_of(rng, -np.ones(3), 5000)
    others[:, 6 * only_moments :] *= 10.0**size
    found = view_of(own, others)
    assert found is not None or not only_moments
    if found is not None:
        view, beyond = found
        for each in (view.inverse, view.estimate, view.theta, view.width):
            assert np.isfinite(each).all()
        assert beyond >= 0.0


@given(st.integers(0, 2**32 - 1))
def test_against_a_false_sum_own_records_decide(seed):
    """The longer it goes on, the nearer to an agent alone; a true sum counts for much."""
    rng = np.random.default_rng(seed)
    theta = np.array([0.5, -0.4, 0.3])
    own, others = sums_of(rng, theta, 200), sums_of(rng, theta, 9000)
    alone, _ = view_of(own, np.zeros_like(others))
    true, counts = view_of(own, others)
    others[:, 6:] *= -1.0
    false, little = view_of(own, others)
    assert little < 0.02 * counts
    np.testing.assert_allclose(false.estimate, alone.estimate, atol=0.1)
    np.testing.assert_allclose(true.estimate[0], theta, atol=0.1)
