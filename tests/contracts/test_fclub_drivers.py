"""FCLUB's simulation and its parties are one system: same items, releases and estimates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub import PRESETS
from fedbandits.testing.replicates import federate, simulate

environments = st.builds(
    Clustered, users=st.integers(6, 12), servers=st.integers(1, 4), clusters=st.integers(1, 3),
    dim=st.integers(3, 4), items=st.sampled_from([2, 5]),
    placement=st.sampled_from(["together", "spread"]), arrivals=st.sampled_from(["equal", "zipf"]),
)  # fmt: skip
parts = st.fixed_dictionaries(
    {
        "schedule": st.sampled_from(["growing(1.5)", "growing(2, 10)", "growing(1.2, 20)"]),
        "epsilon": st.sampled_from([1.0, 50.0]),
    },
    optional={
        "center_rewards": st.just(False),
        "unit": st.just("person"),
        "clustering": st.just("population"),
        "strictness": st.sampled_from([0.1, 2.0]),
        "trust": st.sampled_from([0.0, 100.0]),
        "most_clusters": st.sampled_from([2, 3]),
        "exploration_scale": st.sampled_from([0.0, 3.0]),
    },
)


def compare(config, environment, rounds, seed, replicate, route=None):
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate, route)
    homes = [np.flatnonzero(compiled.world.server == s) for s in range(environment.servers)]
    for stop in [*range(1, rounds, 7), rounds]:
        compiled.advance(stop)
        parties.advance(stop)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        for users, server in zip(homes, parties.of("server"), strict=True):
            ours, theirs = compiled.state, server.state
            np.testing.assert_array_equal(ours.sums[users], theirs.sums)
            np.testing.assert_array_equal(ours.models.theta[users], theirs.models.theta)
            np.testing.assert_array_equal(ours.models.inverse[users], theirs.models.inverse)
            np.testing.assert_array_equal(ours.cluster_of[users], theirs.cluster_of)
            kept = compiled.state.releases.draws[users]
            mine = theirs.released.draws.reshape(-1, len(users), kept.shape[-1])
            np.testing.assert_array_equal(kept.swapaxes(0, 1), mine)
        for count in ("syncs", "messages", "bytes", "epsilon"):
            assert getattr(compiled, count) == getattr(parties, count), (stop, count)


@settings(max_examples=30)
@given(
    environments, st.sampled_from(sorted(PRESETS)), parts, st.integers(60, 120),
    st.integers(0, 2**63 - 1), st.integers(0, 9),
)  # fmt: skip
def test_both_drivers_agree(environment, name, own, rounds, seed, replicate):
    compare(system(name, **own).config, environment, rounds, seed, replicate)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_agrees(name):
    world = Clustered(users=10, servers=3, clusters=2, dim=3, items=4, placement="spread")
    compare(system(name, epsilon=20.0).config, world, 300, 2, 0)


def test_releases_that_overtake_one_another_change_nothing():
    delays = iter(range(10**6))
    world = Clustered(users=9, servers=4, clusters=2, dim=3, items=4, placement="spread")
    for name in ("fclub", "fclub-clusters"):
        compare(system(name).config, world, 200, 1, 0, lambda _: (7 * next(delays)) % 5)
