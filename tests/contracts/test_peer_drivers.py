"""The peer-to-peer simulation and its parties are one system: actions, rewards, releases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Classification, Linear
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.kernels import pools
from fedbandits.systems.agents.kernels.constants import TRIGGERED
from fedbandits.systems.feducb_p2p import PRESETS
from fedbandits.testing.replicates import federate, simulate

environments = st.one_of(
    st.builds(
        Linear, agents=st.integers(3, 7), dim=st.integers(1, 4), arms=st.integers(2, 6),
        gap=st.sampled_from([0.0, 0.1, 0.3]),
    ),
    st.builds(
        Classification, agents=st.integers(3, 5), dataset=st.just("wine"),
        components=st.integers(1, 3), shards=st.sampled_from(["shared", "disjoint"]),
    ),
)  # fmt: skip
graphs = {
    "graph": st.sampled_from(
        ["complete", "ring", "line", "star", "grid", "erdos-renyi(0.5)", "barabasi-albert(2)"]
    ),
    "gamma": st.integers(1, 6),
    "delta": st.sampled_from([0.1, 1e-5]),
}
variants = st.one_of(
    st.tuples(
        st.just("feducb-p2p"),
        st.fixed_dictionaries(
            graphs
            | {
                "schedule": st.sampled_from(
                    ["growing(1.3, 1)", "growing(2)", "every(1)", "every(3)", "never"]
                ),
                "privatizer": st.sampled_from(
                    ["optimal", "toeplitz", "tree", "tree(published)", "none"]
                ),
                "local_view": st.sampled_from(["raw", "released", "joint"]),
                "confidence": st.sampled_from(["adaptive", "published", "deviations"]),
                "exploration": st.sampled_from(["widths", "draws"]),
                "epsilon": st.sampled_from([0.5, 30.0]),
            }
        )
        .filter(lambda v: v["local_view"] != "joint" or v["confidence"] == "deviations")
        .filter(lambda v: v["exploration"] == "widths" or v["confidence"] == "deviations"),
    ),
    st.tuples(
        st.just("feducb-p2p-published"),
        st.fixed_dictionaries(
            graphs
            | {
                "schedule": st.sampled_from([0.5, 4.0, 40.0]).map(lambda d: f"determinant({d})"),
                "privatizer": st.sampled_from(["tree", "tree(published)", "none"]),
                "confidence": st.sampled_from(["adaptive", "published"]),
                "epsilon": st.sampled_from([1.0, 1e4]),
            }
        ),
    ),
)


def assert_same(compiled, parties):
    mine = np.array([agent.state.statistic for agent in parties.of("agent")])
    np.testing.assert_array_equal(compiled.state.statistic.reshape(mine.shape), mine)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
    np.testing.assert_array_equal(compiled.reward, parties.reward)
    assert compiled.syncs == parties.syncs
    assert compiled.messages == parties.messages
    assert compiled.bytes == parties.bytes
    assert compiled.epsilon == parties.epsilon


def assert_same_knowledge(compiled, parties):
    compiled.refresh()
    count = compiled.plan.peers.estimators
    # What serves the trigger is not made where there is none.
    made = (
        pools.Pool._fields
        if compiled.plan.constants.schedule == TRIGGERED
        else pools.Pool._fields[:4]
    )
    for cell in range(len(parties.of("agent")) * count):
        agent, g = parties.of("agent")[cell // count], cell % count
        for name in made:
            mine = getattr(compiled.state.pools, name)[cell]
            np.testing.assert_array_equal(mine, getattr(agent.pool(g), name), name)
        released = agent.state.estimators[g].released
        if len(released.draws):
            np.testing.assert_array_equal(compiled.state.draws[cell], released.draws)


@settings(max_examples=60)
@given(environments, variants, st.integers(1, 30), st.integers(0, 2**63 - 1), st.integers(0, 9))
def test_both_drivers_agree_round_by_round(environment, variant, rounds, seed, replicate):
    name, parts = variant
    config = system(name, **parts).config
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate)
    for stop in range(1, rounds + 1):
        compiled.advance(stop)
        parties.advance(stop)
        assert_same(compiled, parties)
    assert_same_knowledge(compiled, parties)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("graph", ["complete", "line", "erdos-renyi(0.4)"])
def test_every_preset_agrees(name, graph):
    environment = Linear(agents=6, dim=3, arms=5)
    config = system(name, graph=graph, gamma=2).config
    compiled = simulate(config, environment, 80, 2, 0)
    parties = federate(config, environment, 80, 2, 0)
    compiled.advance(80)
    parties.advance(80)
    assert_same(compiled, parties)
    assert_same_knowledge(compiled, parties)
