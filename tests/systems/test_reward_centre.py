"""What is taken from every reward: when, how much, and what it does to noise and bounds."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.errors import BoundExceededError, ConfigError
from fedbandits.facts import ContextualFacts
from fedbandits.systems.agents import audit
from fedbandits.systems.agents.plan import with_centre
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate, plan_of, simulate, system_of

CLASSES = Classification(agents=3, dataset="wine", components=2)
HYBRID = fb.system("feducb-hybrid").config
FACTS = ContextualFacts(parties=3, dimension=3, arms=4, models=4, constant=True)


def settled(low=0.0, high=1.0, config=HYBRID, **facts):
    facts = msgspec.structs.replace(FACTS, reward_range=(low, high), **facts)
    return with_centre(config, facts)


def test_rewards_between_0_and_1_are_halved_in_size():
    found = settled()
    assert (found.reward_centre, found.reward_bound, found.parameter_bound) == (0.5, 0.5, 0.5)
    assert found.centre == 0.5
    assert with_centre(found, FACTS) == found  # it is settled once


@pytest.mark.parametrize(
    "config",
    [
        fb.system("feducb-hybrid", privatizer="none").config,
        fb.system("linucb-pooled").config,
        fb.system("feducb", confidence="adaptive").config,
        fb.system("feducb-published").config,
        fb.system("feducb-hybrid", reward_centre=0.25, reward_bound=0.75).config,
        fb.system("feducb-hybrid", reward_centre=0.0).config,
        fb.system("feducb-hybrid", reward_bound=0.75, out_of_bounds="clip").config,
    ],
)
def test_elsewhere_nothing_changes(config):
    assert settled(config=config) is config


def test_nothing_changes_without_a_constant_or_where_rewards_are_around_0():
    assert settled(constant=False) is HYBRID
    assert settled(-1.0, 1.0) is HYBRID
    assert settled(1.0, 1.0) is HYBRID


def test_rewards_far_from_0_are_much_smaller():
    found = settled(2.0, 3.0, fb.system("feducb", reward_bound=3.0).config)
    assert (found.reward_centre, found.reward_bound) == (2.5, 0.5)
    assert found.parameter_bound == pytest.approx(1.0 / 6.0)


@given(st.floats(-0.9, 1.0), st.floats(0.001, 1.0))
def test_both_ends_of_a_range_are_within_however_they_are_rounded(low, size):
    high = min(low + size, 1.0)
    plan = plan_of_facts(HYBRID, low, high)
    if plan.constants.centre == 0.0:
        return
    for reward in (low, high):
        assert abs(reward - plan.constants.centre) <= plan.constants.reward_bound
        assert plan.record_bounds.lowest <= reward <= plan.record_bounds.highest
    assert plan.constants.reward_bound <= 0.5 * (high - low) + 1e-15


def plan_of_facts(config, low, high):
    facts = msgspec.structs.replace(FACTS, reward_range=(low, high))
    return system_of(config).plan(config, facts, 30)


def moved(one, other, ratio):
    """How far a record moves a sum that another one stands in, in deviations of Σ x y."""
    (x, y), (z, w) = one, other
    gram = np.outer(x, x) - np.outer(z, z)
    return math.sqrt((gram**2).sum() / (2.0 * ratio**2) + ((x * y - z * w) ** 2).sum())


@pytest.mark.parametrize(("centred", "norm"), [(False, 2.121), (True, 1.061)])
def test_no_two_records_are_further_apart_than_noise_covers(centred, norm):
    plan = plan_of(HYBRID, CLASSES, 30) if centred else plan_of(HYBRID, Linear(agents=3), 30)
    constants, rng, most = plan.constants, np.random.default_rng(2), 0.0
    assert plan.record_norm == pytest.approx(norm, abs=1e-3)
    lowest, highest = (edge - constants.centre for edge in plan.facts.reward_range)
    assert max(abs(lowest), highest) <= constants.reward_bound
    bound = constants.reward_bound
    angles = np.linspace(0.0, np.pi, 721)  # corners: contexts of length 1
    for angle, y, w in itertools.product(angles, (-bound, bound), (-bound, bound)):
        pair = (np.array([1.0, 0.0]), y), (np.array([np.cos(angle), np.sin(angle)]), w)
        most = max(most, moved(*pair, constants.gram_noise))
    for _ in range(3000):
        contexts = rng.normal(size=(2, 3))
        contexts *= rng.uniform(size=(2, 1)) ** 0.3 / np.linalg.norm(contexts, axis=1)[:, None]
        pair = zip(contexts, rng.uniform(-bound, bound, 2), strict=True)
        most = max(most, moved(*pair, constants.gram_noise))
    assert 0.999 * plan.record_norm < most <= plan.record_norm * (1.0 + 1e-12)


def test_a_claim_and_its_audit_are_of_centred_rewards():
    plan = plan_of(HYBRID, CLASSES, 30)
    claim = system_of(HYBRID).claim(plan)
    (event,) = claim.events
    assert event.record_norm == plan.record_norm
    assert claim.epsilon == pytest.approx(1.0, rel=1e-3)
    assert plan.config.reward_centre == 0.5
    for game in audit.games(system_of(HYBRID), plan):
        small = getattr(game, "small", None)
        if small is not None:
            assert small.plan.constants.centre == 0.5
            assert small.plan.record_norm == plan.record_norm


@pytest.mark.parametrize("preset", ["feducb-hybrid", "feducb-secure-hybrid", "feducb-p2p-hybrid"])
def test_parties_learn_what_the_loop_learns(preset):
    config = fb.system(preset).config
    compiled = simulate(config, CLASSES, 40, 5, 0)
    parties = federate(config, CLASSES, 40, 5, 0)
    assert compiled.plan.constants.centre == 0.5
    compiled.advance(40)
    parties.advance(40)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
    np.testing.assert_array_equal(compiled.reward, parties.reward)
    assert set(np.unique(parties.reward % 1.0)) == {0.0}  # rewards are counted as they come


def test_a_reward_is_learned_less_the_centre():
    run = federate(HYBRID, CLASSES, 40, 5, 0)
    agent, d = run.players[0], CLASSES.dimension
    decision = agent.decide(np.full((d, 1), 0.5, np.float32))
    agent.observe(decision, 1.0)
    told = agent.state.statistic[int(decision.action), -d:]
    np.testing.assert_allclose(told, 0.25, atol=1e-6)
    decision = agent.decide(np.full((d, 1), 0.5, np.float32))
    for reward in (1.01, -0.01, math.nan):
        with pytest.raises(BoundExceededError):
            agent.observe(decision, reward)


def test_a_reward_beyond_its_range_is_cut_around_the_centre():
    config = fb.system("feducb-hybrid", out_of_bounds="clip").config
    run = federate(config, CLASSES, 40, 5, 0)
    agent, d = run.players[0], CLASSES.dimension
    decision = agent.decide(np.full((d, 1), 0.5, np.float32))
    agent.observe(decision, 7.0)
    told = agent.state.statistic[int(decision.action), -d:]
    np.testing.assert_allclose(told, 0.25, atol=1e-6)


def test_a_door_takes_rewards_as_they_are():
    plan = plan_of_facts(HYBRID, 0.0, 1.0)
    assert (plan.record_bounds.lowest, plan.record_bounds.highest) == (0.0, 1.0)
    reward = system_of(HYBRID).application(plan).bounds()["reward"]
    for given_ in (0.0, 0.3, 1.0):
        assert msgspec.convert(given_, reward) == given_
    for given_ in (-0.01, 1.01):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(given_, reward)


def test_a_number_of_ones_own_is_held_to_the_range():
    config = fb.system("feducb", reward_centre=0.5, reward_bound=0.4).config
    with pytest.raises(ConfigError, match=r"around reward_centre = 0.5 of size up to 0.5"):
        plan_of(config, Linear(agents=3), 30)
    config = fb.system("feducb", reward_centre=0.25, reward_bound=0.75).config
    assert plan_of(config, Linear(agents=3), 30).constants.centre == 0.25


def test_terms_state_a_centre_only_where_there_is_one():
    system = system_of(HYBRID)
    plain = terms_of(system, plan_of(HYBRID, Linear(agents=3), 30), "simulated")
    centred = terms_of(system, plan_of(HYBRID, CLASSES, 30), "simulated")
    assert "reward_centre" not in plain.settings
    assert "constant" not in plain.facts
    assert centred.settings["reward_centre"] == 0.5
    assert centred.settings["reward_bound"] == 0.5
    assert centred.facts["constant"] is True
