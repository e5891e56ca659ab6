"""Asynchronous FedLinUCB: the simulation and the parties are one system."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Classification, Linear
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import federate, simulate

environments = st.one_of(
    st.builds(
        Linear, agents=st.integers(1, 5), dim=st.integers(1, 5), arms=st.integers(2, 9),
        gap=st.sampled_from([0.0, 0.1, 0.3]),
    ),
    st.builds(
        Classification, agents=st.integers(1, 4), dataset=st.sampled_from(["wine", "digits"]),
        components=st.integers(1, 4), shards=st.sampled_from(["shared", "disjoint"]),
    ),
)  # fmt: skip
variants = st.fixed_dictionaries(
    {
        "growth": st.sampled_from(["auto", 0.01, 0.5, 4.0, 1e6]),
        "confidence": st.sampled_from(["published", "adaptive"]),
        "exploration_scale": st.sampled_from([0.0, 0.1, 1.0]),
        "regularization": st.sampled_from(["auto", 0.1, 7.0]),
    }
)


@settings(max_examples=60)
@given(environments, variants, st.integers(1, 40), st.integers(0, 2**63 - 1), st.integers(0, 9))
def test_both_drivers_agree_round_by_round(environment, parts, rounds, seed, replicate):
    config = system("fedlinucb-async", **parts).config
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate)
    for stop in range(1, rounds + 1):
        compiled.advance(stop)
        parties.advance(stop)
        local = np.array([agent.state.statistic for agent in parties.of("agent")])
        np.testing.assert_array_equal(compiled.state.statistic, local)
        total = parties.one("server").state.total
        np.testing.assert_array_equal(compiled.state.total.reshape(-1), total)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        assert compiled.syncs == parties.syncs
        assert compiled.messages == parties.messages
        assert compiled.bytes == parties.bytes
        assert compiled.epsilon == parties.epsilon
    for i, agent in enumerate(parties.of("agent")):
        np.testing.assert_array_equal(compiled.state.terms[i], agent.state.pool.terms)
        for ours, theirs in zip(compiled.state.views, agent.state.view, strict=True):
            np.testing.assert_array_equal(ours[i], theirs)
