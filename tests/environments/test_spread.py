"""Agents with parameters of their own: the ``spread`` of the linear world."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.environments.drift import Change, Walk
from fedbandits.errors import ConfigError
from fedbandits.random import replicate_key
from fedbandits.systems import find_preset, registry
from fedbandits.testing.replicates import federate, simulate
from tests.worlds import decision_set, decision_sets, opened

KEY = replicate_key(5, 0)
SPHERE = Linear(agents=4, dim=6, arms=7, spread=0.8)
BALL = Linear(agents=4, dim=3, arms=5, gap=0.2, parameter="ball", spread=1.5)


class Stubborn(fb.Learner):
    """Plays the first arm for ever."""

    def decide(self, contexts, draws):
        return 0


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(Stubborn)


def digest_of(environment, rounds=40):
    """A digest of all that is shown and paid; parameters are given, so no logarithm is in it."""
    found, world = hashlib.sha256(), environment.world(KEY)
    for round_ in range(1, rounds + 1):
        for agent in range(environment.agents):
            features, expected, best = decision_set(environment, world, KEY, agent, round_)
            reward = np.float64(opened(environment, world, KEY).reward(best, agent, round_))
            found.update(features.tobytes() + expected.tobytes() + bytes([best]))
            found.update(reward.tobytes())
    return found.hexdigest()[:32]


@pytest.mark.parametrize(
    ("keys", "before"),
    [
        ({"agents": 3, "dim": 2, "theta": (0.6, 0.8)}, "f95d4af8f5590d5d85df36dd00b2512a"),
        (
            {"agents": 3, "dim": 3, "arms": 20, "parameter": "ball", "theta": (0.9, 0.0, 0.1)},
            "c9e3fed2d204a8cf9b7a882e6eb603e7",
        ),
    ],
    ids=["sphere", "ball"],
)
def test_without_spread_nothing_has_changed_since_0_3(keys, before):
    assert digest_of(Linear(**({"arms": 5} | keys))) == before
    assert digest_of(Linear(**({"arms": 5} | keys), spread=0.0)) == before


def test_without_spread_all_agents_have_one_parameter():
    environment = Linear(agents=9, dim=4)
    world = environment.world(KEY)
    assert environment.alike
    assert world.theta.shape == world.reflection.shape == (1, 4)
    np.testing.assert_array_equal(environment.true_parameters(world), world.theta)


@pytest.mark.parametrize("environment", [SPHERE, BALL], ids=["sphere", "ball"])
def test_each_agent_has_the_bands_of_its_own_parameter(environment):
    world, gap = environment.world(KEY), environment.gap
    assert world.theta.shape == (environment.agents, environment.dim)
    for round_, (features, expected, best) in enumerate(
        decision_sets(environment, world, KEY, rounds=200), start=1
    ):
        own = world.theta[round_ % environment.agents]
        means = own @ features
        np.testing.assert_allclose(means, expected, atol=3e-6)
        others = np.delete(means, best)
        assert 0.5 - 1e-5 <= others.min() <= others.max() <= 0.6 + 1e-5
        assert 0.6 + gap - 1e-5 <= means[best] <= 0.7 + gap + 1e-5
        assert means[best] - means.min() <= environment.largest_gap + 1e-5
        assert np.linalg.norm(features.astype(np.float64), axis=0).max() <= 1.0


def test_parameters_are_as_long_as_the_common_one():
    for environment in (SPHERE, BALL):
        common = Linear(
            agents=1, dim=environment.dim, gap=environment.gap, parameter=environment.parameter
        )
        length = np.linalg.norm(common.world(KEY).theta)
        lengths = np.linalg.norm(environment.world(KEY).theta, axis=1)
        np.testing.assert_allclose(lengths, length, rtol=1e-12)


@pytest.mark.parametrize("spread", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("parameter", ["sphere", "ball"])
def test_parameters_are_apart_as_said(spread, parameter):
    """θ_i lies along θ* + δ_i: of the part across θ*, beside the part along it, all is known."""
    dim, agents = 8, 20_000
    theta = np.zeros(dim)
    theta[2] = 1.0 if parameter == "sphere" else 0.9
    environment = Linear(
        agents=agents, dim=dim, parameter=parameter, theta=tuple(theta), spread=spread
    )
    own = environment.world(KEY).theta / theta[2]
    # Drawn without the world: its own draws are made by another generator.
    rng = np.random.default_rng(3)
    drawn = theta / theta[2] + rng.normal(size=(agents, dim)) * spread / np.sqrt(dim)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    for statistic in (np.mean, np.std):
        np.testing.assert_allclose(statistic(own, axis=0), statistic(drawn, axis=0), atol=0.02)
    if spread == 0.1:  # hardly turned: δ_i is what lies across
        lengths = np.linalg.norm(own - theta / theta[2], axis=1)
        assert np.sqrt(np.mean(lengths**2)) == pytest.approx(0.1 * np.sqrt(7 / 8), rel=0.02)


def test_agents_are_independent_and_stay_when_others_come():
    few, many = (Linear(agents=m, dim=5, spread=1.0).world(KEY).theta for m in (3, 2000))
    np.testing.assert_array_equal(few, many[:3])
    apart = many - many.mean(axis=0)
    together = np.abs((apart[:-1] * apart[1:]).sum(axis=1).mean()) / (apart**2).sum(axis=1).mean()
    assert together < 0.05
    again = Linear(agents=3, dim=5, spread=1.0).world(replicate_key(5, 1)).theta
    assert not np.allclose(few, again)


@settings(max_examples=30, deadline=None)
@given(
    spread=st.floats(1e-9, 1e6), dim=st.integers(2, 12), seed=st.integers(0, 99),
    parameter=st.sampled_from(["sphere", "ball"]),
)  # fmt: skip
def test_any_spread_can_be_played(spread, dim, seed, parameter):
    environment = Linear(agents=3, dim=dim, arms=4, spread=spread, parameter=parameter)
    key = replicate_key(seed, 0)
    world = environment.world(key)
    for agent in range(3):
        features, expected, best = decision_set(environment, world, key, agent, 1)
        np.testing.assert_allclose(world.theta[agent] @ features, expected, atol=3e-6)
        assert np.linalg.norm(features.astype(np.float64), axis=0).max() <= 1.0
        assert best == expected.argmax()


@pytest.mark.parametrize("environment", [SPHERE, BALL], ids=["sphere", "ball"])
def test_regret_is_to_the_best_arm_of_the_own_parameter(environment):
    """A brute-force count, in numpy, of what an agent loses that plays its first arm."""
    rounds = 60
    run = federate(fb.system("stubborn").config, environment, rounds, 4, 0)
    run.advance(rounds)
    key = replicate_key(4, 0)
    world, lost = environment.world(key), np.zeros(environment.agents)
    for agent in range(environment.agents):
        for round_ in range(1, rounds + 1):
            features, _, _ = decision_set(environment, world, key, agent, round_)
            means = world.theta[agent] @ features
            lost[agent] += means.max() - means[0]
    np.testing.assert_allclose(run.regret, lost, atol=1e-4)
    with pytest.raises(AssertionError):  # another's parameter gives another regret
        np.testing.assert_allclose(run.regret, np.roll(lost, 1), atol=1e-4)


@pytest.mark.parametrize("preset", ["linucb-alone", "feducb-hybrid"])
def test_loop_and_parties_play_the_same(preset):
    config = fb.system(preset).config
    loop, parties = (make(config, SPHERE, 120, 4, 0) for make in (simulate, federate))
    loop.advance(120)
    parties.advance(120)
    np.testing.assert_array_equal(loop.regret, parties.regret)


@pytest.mark.parametrize("environment", [SPHERE, BALL], ids=["sphere", "ball"])
def test_under_drift_each_parameter_is_turned(environment):
    keys = {name: getattr(environment, name) for name in environment.__struct_fields__}
    change, walk = (Linear(**(keys | {"drift": d})) for d in (Change(1), Walk(step=0.3, every=1)))
    world = change.world(KEY)
    first, second = world.before.theta, world.other.theta
    np.testing.assert_allclose(np.linalg.norm(second, axis=1), np.linalg.norm(first, axis=1))
    cosines = (first * second).sum(axis=1) / (first**2).sum(axis=1)
    np.testing.assert_allclose(np.degrees(np.arccos(cosines)), 30.0, atol=1e-6)
    for agent in range(environment.agents):
        features, expected, best = decision_set(change, world, KEY, agent, 3)
        np.testing.assert_allclose(second[agent] @ features, expected, atol=3e-6)
        assert expected.min() > 0.0
        assert best == expected.argmax()
    assert walk.true_parameters(walk.world(KEY)) is None


def test_no_single_parameter_is_claimed_where_there_are_several():
    assert not SPHERE.alike
    assert SPHERE.true_parameters(SPHERE.world(KEY)) is None
    system, config = find_preset("feducb-published"), fb.system("feducb-published").config
    for world, said in ((SPHERE, True), (Linear(agents=4, dim=6, arms=7), False)):
        bounds = system.bounds(system.plan(config, world.facts, 500), world)
        regret = [bound for bound in bounds if bound.quantity == "regret"]
        assert regret
        for bound in regret:
            assert ("parameters of their own" in " ".join(bound.departs)) == said


def test_memory_of_own_parameters_is_counted():
    alike, apart = (Linear(agents=1000, dim=50, spread=s).needs(10) for s in (0.0, 1.0))
    world = Linear(agents=1000, dim=50, spread=1.0).world(KEY)
    assert apart.bytes - alike.bytes == world.theta.nbytes + world.reflection.nbytes
    drifting = Linear(agents=1000, dim=50, spread=1.0, drift="change(5)")
    assert drifting.needs(10).bytes - apart.bytes == drifting.world(KEY).other.theta.nbytes


def test_what_cannot_be_turned_does_not_differ():
    with pytest.raises(ConfigError, match=r"spread: given 0\.5, allowed: 0 where dim is 1"):
        Linear(dim=1, spread=0.5)
    with pytest.raises(ConfigError, match=r"Linear\.spread: given -1"):
        Linear(spread=-1)


def test_a_configuration_without_spread_is_written_as_before():
    def table(**keys):
        world = Linear(agents=2, **keys)
        made = fb.Experiment(rounds=5, environment=world, systems=[fb.system("linucb-alone")])
        assert fb.Experiment.from_table(made.to_table()) == made
        return made.to_table()["environment"]

    assert set(table()) == {
        "kind", "agents", "first_round", "dim", "arms", "gap", "parameter",
    }  # fmt: skip
    assert table(spread=0.0) == table()
    assert table(spread=0.5) == table() | {"spread": 0.5}
