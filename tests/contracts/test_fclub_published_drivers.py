"""Published FCLUB's simulation and parties agree: same items, clusters, sums and messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub_published import PRESETS
from fedbandits.systems.fclub_published.kernels.servers import ALWAYS, DELAYED, EDGES, PHASED, SETS
from fedbandits.testing.replicates import federate, simulate

environments = st.builds(
    Clustered, users=st.integers(4, 9), clusters=st.integers(1, 3), servers=st.integers(1, 4),
    dim=st.integers(2, 5), items=st.integers(2, 6),
    placement=st.sampled_from(["together", "spread"]), arrivals=st.sampled_from(["equal", "zipf"]),
).filter(lambda e: e.dim > 2 or e.clusters < 3)  # fmt: skip
common = {
    "bonus": st.sampled_from(["root", "square"]),
    "alpha1": st.sampled_from([0.15, 0.5, 1.5]),
    "regularization": st.sampled_from([0.3, 2.0]),
}
shares = ["delayed", "delayed(1.3, 1.1)", "delayed(1, 1)", "always", "never"]
published = {
    "privatizer": st.sampled_from(["published", "published(2)"]),
    "alpha1": st.sampled_from([0.15, 1.0]),
    "alpha2": st.sampled_from([0.3, 2.0]),
    "epsilon": st.sampled_from([1.0, 500.0]),
    "acts_on": st.sampled_from(["buffered", "synchronized"]),
    "sharing": st.sampled_from(["delayed", "delayed(1.4, 2)"]),
}
variants = st.one_of(
    st.tuples(
        st.sampled_from(["fclub-dc", "homo-dc"]),
        st.fixed_dictionaries(
            {
                **common,
                "sharing": st.sampled_from(shares),
                "alpha2": st.sampled_from([0.0, 0.3, 2.0]),
                "confidence": st.sampled_from(["practical", "lemma"]),
            }
        ),
    ),
    st.tuples(
        st.just("fclub-dc"),
        st.fixed_dictionaries(
            {**common, "sharing": st.sampled_from(shares[:3]), "acts_on": st.just("synchronized")}
        ),
    ),
    st.tuples(
        st.just("fclub-authors"),
        st.fixed_dictionaries(
            {
                "alpha1": st.sampled_from([0.15, 0.5, 1.5]),
                "alpha2": st.sampled_from([0.3, 0.6, 2.0]),
                "sharing": st.sampled_from(shares[:3]),
                "acts_on": st.sampled_from(["buffered", "synchronized"]),
            }
        ),
    ),
    st.tuples(st.sampled_from(["club", "sclub"]), st.fixed_dictionaries(common)),
    st.tuples(st.just("fclub-published"), st.fixed_dictionaries(published)),
)


def same_clusters(compiled, parties):
    """Everything that local servers hold, row by row."""
    constants, local = compiled.plan.constants, compiled.state.local
    for server in parties.of("server"):
        users, mine = server.users, server.state.local
        np.testing.assert_array_equal(local.sums[users], mine.sums)
        np.testing.assert_array_equal(local.cluster_of[users], users[mine.cluster_of])
        rows = local.model_of[users]
        for ours, theirs in zip(local.models, mine.models, strict=True):
            np.testing.assert_array_equal(ours[rows], theirs[mine.model_of])
        np.testing.assert_array_equal(local.partners[rows], mine.partners[mine.model_of])
        named = np.unique(mine.cluster_of)
        if constants.sharing == DELAYED:
            for name in ("shared", "buffer", "base_log_det", "stale"):
                ours, theirs = getattr(local, name)[users[named]], getattr(mine, name)[named]
                np.testing.assert_array_equal(ours, theirs, err_msg=name)
            np.testing.assert_array_equal(local.twice, mine.twice)
        if constants.private:
            for ours, theirs in zip(local.trees, mine.trees, strict=True):
                np.testing.assert_array_equal(ours[users[named]], theirs[named])
        if constants.clustering in (PHASED, EDGES):
            np.testing.assert_array_equal(local.edges[np.ix_(users, users)], mine.edges)
        if constants.clustering == SETS:
            np.testing.assert_array_equal(local.sets.checked[users], mine.sets.checked)
            np.testing.assert_array_equal(
                local.sets.pending[users[named]], mine.sets.pending[named]
            )


def same_hub(compiled, parties):
    ours, theirs = compiled.state.hub, parties.one("global").state.hub
    names = ours._fields if compiled.plan.constants.sharing == DELAYED else ("group_of", "audience")
    if compiled.plan.constants.sharing in (ALWAYS, DELAYED):
        for name in names:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)


def compare(config, environment, rounds, seed, replicate, route=None):
    compiled = simulate(config, environment, rounds, seed, replicate)
    parties = federate(config, environment, rounds, seed, replicate, route)
    for stop in range(1, rounds + 1):
        compiled.advance(stop)
        parties.advance(stop)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        np.testing.assert_array_equal(compiled.reward, parties.reward)
        for count in ("done", "syncs", "messages", "bytes", "epsilon"):
            assert getattr(compiled, count) == getattr(parties, count), (stop, count)
        same_clusters(compiled, parties)
        same_hub(compiled, parties)


@settings(max_examples=60)
@given(environments, variants, st.integers(10, 50), st.integers(0, 2**63 - 1), st.integers(0, 9))
def test_both_drivers_agree_round_by_round(environment, variant, rounds, seed, replicate):
    name, own = variant
    compare(system(name, **own).config, environment, rounds, seed, replicate)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_agrees(name):
    environment = Clustered(users=11, clusters=3, servers=3, dim=4, items=6, gap=0.3)
    compare(system(name).config, environment, 180, 2, 0)


def test_reports_that_overtake_one_another_change_nothing():
    delays = iter(range(10**6))

    def route(_):
        return (7 * next(delays)) % 5

    environment = Clustered(users=8, clusters=2, servers=4, dim=3, items=4)
    config = system("fclub-published", epsilon=50.0, sharing="delayed(3, 9)", alpha1=0.3).config
    # Only reports are in flight together; what one server sends arrives in the order of sending.
    compiled = simulate(config, environment, 2, 1, 0)
    parties = federate(config, environment, 2, 1, 0, route)
    same_clusters(compiled, parties)
    same_hub(compiled, parties)
