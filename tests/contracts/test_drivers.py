"""The simulation and the parties are one system: same actions, rewards and releases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbandits.environments import Classification, Linear
from fedbandits.settings.experiment import system
from fedbandits.systems.aggregation import SecureSum
from fedbandits.systems.feducb import PRESETS
from fedbandits.testing.replicates import federate, simulate

environments = st.one_of(
    st.builds(
        Linear, agents=st.integers(1, 4), dim=st.integers(1, 5), arms=st.integers(2, 9),
        gap=st.sampled_from([0.0, 0.1, 0.3]),
    ),
    st.builds(
        Linear, agents=st.integers(1, 4), dim=st.integers(2, 5), arms=st.integers(2, 9),
        spread=st.sampled_from([0.5, 2.0]),
    ),
    st.builds(
        Classification, agents=st.integers(1, 4), dataset=st.sampled_from(["wine", "digits"]),
        components=st.integers(1, 4), shards=st.sampled_from(["shared", "disjoint", "skewed(0.3)"]),
    ),
)  # fmt: skip

budgets = st.fixed_dictionaries(
    {"epsilon": st.sampled_from([0.5, 1.0, 30.0]), "delta": st.sampled_from([0.1, 1e-5])}
)
variants = st.one_of(
    st.builds(
        lambda schedule, privatizer, acts, helpers, budget: (
            "feducb-secure",
            {"schedule": schedule, "privatizer": privatizer, "local_view": acts[0],
             "confidence": acts[1], "aggregation": f"secure-sum({helpers})",
             **budget},
        ),
        st.sampled_from(["growing(1.3, 1)", "every(3)", "every(7)"]),
        st.sampled_from(["optimal", "toeplitz", "tree"]),
        st.sampled_from([
            *itertools.product(["raw", "released"], ["adaptive", "deviations"]),
            ("joint", "deviations"),
        ]),
        st.integers(1, 3), budgets,
    ),
    st.builds(lambda name, budget: (name, budget), st.sampled_from(sorted(PRESETS)), budgets),
    st.builds(
        lambda schedule, privatizer, acts, scale, budget: (
            "feducb",
            {"schedule": schedule, "privatizer": privatizer, "local_view": acts[0],
             "confidence": acts[1], "exploration": acts[2], "exploration_scale": scale,
             **budget},
        ),
        st.sampled_from(["growing(1.3, 1)", "growing(2)", "every(3)", "never"]),
        st.sampled_from(["optimal", "toeplitz", "tree", "tree(published)", "none"]),
        st.sampled_from([
            *itertools.product(["raw", "released"], ["adaptive"], ["widths"]),
            *itertools.product(
                ["raw", "released", "joint"], ["deviations"], ["widths", "draws"]
            ),
        ]),
        st.sampled_from([0.1, 1.0]), budgets,
    ),
    st.builds(
        lambda threshold, privatizer, budget: (
            "feducb-published",
            {"schedule": f"determinant({threshold})", "privatizer": privatizer, **budget},
        ),
        st.sampled_from([0.5, 3.0, 40.0]), st.sampled_from(["tree", "tree(published)", "none"]),
        budgets,
    ),
)  # fmt: skip


def adds_up_secretly(config):
    """Whether nobody sees more than sums: a sum of one agent's releases would be that agent's."""
    return isinstance(config.aggregation, SecureSum)


def read_of(name, values):
    """What is read of an array of a view: widths below the diagonal are not."""
    return np.triu(values) if name == "width" else values


@settings(max_examples=60)
@given(environments, variants, st.integers(1, 40), st.integers(0, 2**63 - 1), st.integers(0, 9))
def test_both_drivers_agree_round_by_round(environment, variant, rounds, seed, replicate):
    name, parts = variant
    config = system(name, **parts).config
    assume(environment.agents > 1 or not adds_up_secretly(config))
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate)
    for stop in range(1, rounds + 1):
        before = compiled.state.statistic.copy()
        compiled.advance(stop)
        parties.advance(stop)
        # The record that an agent adds tells which arm it played.
        added = compiled.state.statistic - before
        mine = np.array([agent.state.statistic for agent in parties.of("agent")])
        np.testing.assert_array_equal(compiled.state.statistic, mine)
        if environment.models > 1:
            played = np.abs(added).sum(axis=2).argmax(axis=1)
            np.testing.assert_array_equal(played, parties.decisions)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        assert compiled.syncs == parties.syncs
        assert compiled.messages == parties.messages
        assert compiled.bytes == parties.bytes
        assert compiled.epsilon == parties.epsilon
    if adds_up_secretly(config):
        total = parties.one("controller").state.total.view(np.int64)
        np.testing.assert_array_equal(compiled.state.total, total)
        assert not any(agent.state.sending.retired for agent in parties.of("agent"))
    for index, agent in enumerate(parties.of("agent")):
        np.testing.assert_array_equal(compiled.state.pool.gram, agent.state.pool.gram)
        np.testing.assert_array_equal(compiled.state.pool.moment, agent.state.pool.moment)
        if len(agent.state.released.draws):
            np.testing.assert_array_equal(compiled.state.draws[index], agent.state.released.draws)
        if compiled.plan.constants.own_view:
            np.testing.assert_array_equal(compiled.state.residuals[index], agent.state.residuals)
            for name in ("inverse", "estimate", "theta", "width"):  # nothing reads the others
                mine, theirs = getattr(compiled.state.views, name)[index], agent.state.view
                mine, theirs = read_of(name, mine), read_of(name, getattr(theirs, name))
                np.testing.assert_array_equal(mine, theirs, name)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_agrees(name):
    environment = Linear(agents=3, dim=3, arms=5)
    config = system(name).config
    compiled = simulate(config, environment, 80, 2, 0)
    parties = federate(config, environment, 80, 2, 0)
    compiled.advance(80)
    parties.advance(80)
    last = parties.of("agent")[2]
    np.testing.assert_array_equal(compiled.state.statistic[2], last.state.statistic)
    np.testing.assert_array_equal(compiled.regret, parties.regret)
