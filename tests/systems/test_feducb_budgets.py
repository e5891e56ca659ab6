"""A budget of its own for every agent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.errors import ConfigError
from fedbandits.privacy import gaussian
from fedbandits.reproduce.feducb import proved
from fedbandits.systems.agents.kernels import pools
from fedbandits.systems.feducb.config import PRESETS
from fedbandits.systems.feducb.plan import claim, make_plan
from fedbandits.systems.feducb_p2p.plan import claim as peer_claim
from fedbandits.testing.replicates import federate, plan_of, simulate

ENVIRONMENT = Linear(agents=3, dim=3, arms=4)
BUDGETS = [0.5, 8.0, 2.0]
#: Draws and hybrids have no bound that is proved; in a secure sum all agents share one noise.
BY_WIDTHS = [
    name
    for name, preset in PRESETS.items()
    if not {"exploration", "aggregation"} & set(preset.settings)
    and preset.settings.get("local_view") != "joint"
]
PRIVATE = {
    "feducb": {},
    "feducb-published": {},
    "a tree": {"privatizer": "tree", "schedule": "every(7)"},
    "published noise, adaptive radius": {"privatizer": "tree(published)", "schedule": "every(7)"},
    "calibrated noise, published radius": {"confidence": "published"},
}  # fmt: skip


def config(name, epsilon, **parts):
    preset = name if name in PRESETS else "feducb"
    return proved(preset, epsilon=epsilon, delta=0.1, **(PRIVATE.get(name, {}) | parts)).config


def played(system, rounds=150):
    run = simulate(system, ENVIRONMENT, rounds, 4, 2)
    run.advance(rounds)
    return run


@pytest.mark.parametrize("name", [*BY_WIDTHS, "a tree", "calibrated noise, published radius"])
def test_a_list_of_equal_budgets_is_one_budget_for_all(name):
    one, many = played(config(name, 0.7)), played(config(name, [0.7] * 3))
    np.testing.assert_array_equal(one.regret, many.regret)
    np.testing.assert_array_equal(one.state.draws, many.state.draws)
    np.testing.assert_array_equal(one.state.views.inverse, many.state.views.inverse)
    np.testing.assert_array_equal(one.state.pool.terms, many.state.pool.terms)
    assert (one.epsilon, one.sync_rounds()) == (many.epsilon, many.sync_rounds())


@pytest.mark.parametrize("name", PRIVATE)
def test_every_agent_s_noise_is_that_of_its_own_budget(name):
    plan = make_plan(config(name, BUDGETS, schedule=schedule(name)), ENVIRONMENT.facts, 200)
    for agent, epsilon in enumerate(BUDGETS):
        alone = make_plan(config(name, epsilon, schedule=schedule(name)), ENVIRONMENT.facts, 200)
        assert plan.constants.noise_deviation[agent] == alone.release.scale
        assert plan.of_agent(agent).release == alone.release


def schedule(name):
    return "determinant(2.0)" if name == "feducb-published" else "growing(1.4, 3)"


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_noise_of_the_sum_is_the_root_of_the_sum_of_squares(name, k):
    plan = make_plan(config(name, BUDGETS, schedule=schedule(name)), ENVIRONMENT.facts, 200)
    each = [plan.of_agent(i).release.deviation(k) for i in range(3)]
    pooled = pools.basis_of_all(plan.constants, k).deviation
    assert pooled == pytest.approx(math.hypot(*each), rel=1e-12)
    assert pooled < math.sqrt(3) * max(each)


def test_bounds_as_published_follow_the_smallest_budget():
    many = make_plan(config("feducb-published", BUDGETS), ENVIRONMENT.facts, 200)
    least = make_plan(config("feducb-published", min(BUDGETS)), ENVIRONMENT.facts, 200)
    assert many.bounds == least.bounds
    assert (many.constants.shift, many.constants.base) == (
        least.constants.shift,
        least.constants.base,
    )
    assert many.constants.published_bias == least.constants.published_bias


def test_the_first_sync_waits_for_the_noise_that_there_is():
    environment = Linear(agents=20, dim=6, arms=5)
    first = {
        name: simulate(
            proved("feducb", epsilon=epsilon).config, environment, 50_000, 0, 0
        ).sync_rounds()[0]
        for name, epsilon in (("small", 0.5), ("both", [0.5, 8.0] * 10), ("large", 8.0))
    }
    assert first["large"] < first["both"] < first["small"]


budgets = st.lists(st.sampled_from([0.3, 1.0, 25.0]), min_size=3, max_size=3)


@settings(max_examples=20)
@given(budgets, st.sampled_from(sorted(PRIVATE)), st.integers(1, 40), st.integers(0, 2**63 - 1))
def test_both_drivers_agree(epsilons, name, rounds, seed):
    system = config(name, epsilons)
    compiled = simulate(system, ENVIRONMENT, rounds, seed, 0)
    parties = federate(system, ENVIRONMENT, rounds, seed, 0)
    compiled.advance(rounds)
    parties.advance(rounds)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
    np.testing.assert_array_equal(compiled.state.pool.gram, parties.of("agent")[1].state.pool.gram)
    np.testing.assert_array_equal(
        compiled.state.pool.terms, parties.of("agent")[2].state.pool.terms
    )
    assert compiled.epsilon == parties.epsilon


def test_the_radius_still_holds():
    environment = Linear(agents=4, dim=3, arms=5)
    system = proved("feducb", epsilon=[0.3, 30.0, 30.0, 2.0], delta=0.1).config
    for replicate in range(20):
        run = simulate(system, environment, 300, 9, replicate)
        for stop in (50, 100, 300):
            run.advance(stop)
            assert run.confidence_ratio(environment.true_parameters(run.world)) < 1.0


class TestClaim:
    def test_it_states_the_largest_budget_and_every_one(self):
        stated = claim(plan_of(config("feducb", BUDGETS), ENVIRONMENT, 1000))
        assert stated.epsilon == stated.epsilon_contents == pytest.approx(8.0, rel=5e-5)
        assert stated.epsilon_each == pytest.approx(BUDGETS, rel=5e-5)
        assert all(e <= b * (1 + 1e-12) for e, b in zip(stated.epsilon_each, BUDGETS, strict=True))
        lines = dict(stated.rows())["contents, by party"]
        assert lines == [
            "ε = 8: 1", "ε = 2: 2", "ε = 0.5: 0",
        ]  # fmt: skip

    def test_budgets_are_public(self):
        stated = claim(plan_of(config("feducb", BUDGETS), ENVIRONMENT, 1000))
        assert any("Every agent's ε is public" in c for c in stated.conditional_on)

    def test_one_budget_for_all_is_not_repeated(self):
        stated = claim(plan_of(config("feducb", 2.0), ENVIRONMENT, 1000))
        assert stated.epsilon_each == ()
        assert "contents, by party" not in dict(stated.rows())

    def test_what_the_paper_claims_is_the_largest_too(self):
        stated = claim(plan_of(config("feducb-published", BUDGETS), ENVIRONMENT, 1000))
        assert stated.paper_claims == (8.0, 0.1)
        assert stated.epsilon == math.inf
        assert stated.epsilon_contents == max(stated.epsilon_each)

    def test_statistics_in_clear_protect_nobody_whatever_the_budgets(self):
        stated = claim(plan_of(config("feducb-nonprivate", BUDGETS), ENVIRONMENT, 1000))
        assert set(stated.epsilon_each) == {math.inf}

    def test_what_is_spent_is_that_of_the_least_protected(self):
        run = played(config("feducb", BUDGETS))
        largest = make_plan(config("feducb", 8.0), ENVIRONMENT.facts, 150)
        spent = gaussian.epsilon_of(largest.release.mu(largest.record_norm, run.syncs), 0.1)
        assert run.epsilon == pytest.approx(spent, rel=1e-9)


@pytest.mark.parametrize("epsilon", [[], [1.0], [1.0] * 4])
def test_as_many_budgets_as_agents_are_asked_for(epsilon):
    systems = (proved("feducb", epsilon=epsilon),)
    experiment = fb.Experiment(rounds=50, environment=ENVIRONMENT, systems=systems)
    with pytest.raises(ConfigError, match=rf"systems\[0\]\.epsilon: given {len(epsilon)} budgets"):
        experiment.check()


@pytest.mark.parametrize("epsilon", [[1.0, -1.0, 1.0], [1.0, 0.0, 2.0], [1.0, float("nan"), 1.0]])
def test_every_budget_must_be_possible(epsilon):
    with pytest.raises(
        ConfigError, match=r"system\.epsilon\[1\]: given .*, allowed: a (finite )?number"
    ):
        proved("feducb", epsilon=epsilon)


def test_budgets_survive_the_resolved_configuration():
    systems = (proved("feducb", epsilon=BUDGETS), proved("linucb-alone", epsilon=BUDGETS))
    experiment = fb.Experiment(rounds=50, environment=ENVIRONMENT, systems=systems)
    again = fb.Experiment.from_table(experiment.to_table())
    assert again.systems == experiment.systems
    assert again.systems[0].config.epsilon == tuple(BUDGETS)


GRAPHS = [
    ("feducb-p2p", {"graph": "line", "gamma": 2}),
    ("feducb-p2p", {"graph": "ring", "privatizer": "tree", "schedule": "every(5)"}),
    ("feducb-p2p-published", {"graph": "line", "gamma": 2, "schedule": "determinant(2.0)"}),
]


@pytest.mark.parametrize(("name", "parts"), GRAPHS)
class TestPeers:
    def test_a_list_of_equal_budgets_is_one_budget_for_all(self, name, parts):
        one, many = (
            simulate(proved(name, epsilon=epsilon, **parts).config, ENVIRONMENT, 80, 4, 2)
            for epsilon in (0.7, [0.7] * 3)
        )
        one.advance(80)
        many.advance(80)
        np.testing.assert_array_equal(one.regret, many.regret)
        np.testing.assert_array_equal(one.state.pools.terms, many.state.pools.terms)
        np.testing.assert_array_equal(one.state.views.inverse, many.state.views.inverse)

    def test_both_drivers_agree(self, name, parts):
        system = proved(name, epsilon=BUDGETS, delta=0.1, **parts).config
        compiled = simulate(system, ENVIRONMENT, 80, 4, 2)
        parties = federate(system, ENVIRONMENT, 80, 4, 2)
        compiled.advance(80)
        parties.advance(80)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        assert compiled.messages == parties.messages
        mine = np.concatenate([agent.state.statistic for agent in parties.of("agent")])
        np.testing.assert_array_equal(compiled.state.statistic, mine)
        noise = [agent._plan.release.scale for agent in parties.of("agent")]
        np.testing.assert_array_equal(noise, compiled.plan.constants.noise_deviation)

    def test_the_noise_of_what_was_heard_is_added_up_agent_by_agent(self, name, parts):
        system = proved(name, epsilon=BUDGETS, delta=0.1, **parts).config
        run = simulate(system, ENVIRONMENT, 80, 4, 2)
        run.advance(80)
        releases, count = run.state.releases, run.plan.peers.estimators
        assert releases.made.min() > 0
        for cell, made in enumerate(releases.made):
            slot = (made - 1) % releases.round_.shape[1]
            expected = run.plan.of_agent(cell // count).release.deviation(int(made)) ** 2
            assert releases.variance[cell, slot] == pytest.approx(expected)

    def test_the_claim_states_every_budget(self, name, parts):
        config = proved(name, epsilon=BUDGETS, **parts).config
        stated = peer_claim(plan_of(config, ENVIRONMENT, 80))
        assert len(stated.epsilon_each) == 3
        assert stated.epsilon_contents == max(stated.epsilon_each)


def test_peers_fix_the_ridge_parameter_by_the_noise_they_can_hear():
    parts = {"graph": "line", "gamma": 1, "delta": 0.1}
    own = proved("feducb-p2p", epsilon=BUDGETS, **parts).config
    plan = plan_of(own, ENVIRONMENT, 80)
    each = [plan.of_agent(i).release.largest_deviation() for i in range(3)]
    heard = np.hypot.reduce(each[:2]), np.hypot.reduce(each), np.hypot.reduce(each[1:])
    expected = plan.constants.norm_factor / plan.constants.gram_noise * np.array(heard)
    np.testing.assert_allclose(plan.peers.base, np.maximum(expected, 1.0), rtol=1e-12)
