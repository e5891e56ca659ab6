"""FCLUB's compiled loop against a plain derivation, and what clustering must achieve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Clustered
from fedbandits.environments.kernels.arrivals import draw_items
from fedbandits.errors import ConfigError
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub_published import PRESETS
from fedbandits.systems.fclub_published.declare import phase_ends
from fedbandits.systems.fclub_published.plan import claim
from fedbandits.systems.fclub_published.state import NotARecordsSumError
from fedbandits.testing.replicates import plan_of, simulate
from tests.systems.fclub_published_reference import Reference

WORLD = Clustered(users=9, clusters=3, servers=3, dim=4, items=5, gap=0.3)
SPREAD = Clustered(users=9, clusters=3, servers=3, dim=4, items=5, gap=0.3, placement="spread")


def partition(sim):
    found = sim.clusters
    return {frozenset(np.flatnonzero(found == c).tolist()) for c in np.unique(found)}


def played(sim, user, before, round_):
    """Which item the user was shown, from what its sums gained."""
    items = np.zeros((sim.plan.constants.dimension, sim.plan.constants.items), np.float32)
    draw_items(sim.world, sim.key, round_, items)
    x = items.astype(np.float64)
    upper = np.triu_indices(len(x))
    gained = (sim.state.local.sums[user] - before)[: len(upper[0])]
    errors = [np.abs(gained - np.outer(x[:, k], x[:, k])[upper]).max() for k in range(x.shape[1])]
    assert min(errors) < 1e-6
    return int(np.argmin(errors))


def compare(config, environment, rounds, seed=0, replicate=0):
    """Round by round: an optimal item, the same clusters, messages and regret."""
    sim = simulate(config, environment, rounds, seed, replicate)
    ref = Reference(config, environment, rounds, seed, replicate)
    for t in range(1, rounds + 1):
        user, items = ref.arrive()
        before = sim.state.local.sums[user].copy()
        sim.advance(t)
        ref.play(user, items, played(sim, user, before, t))
        assert sim.regret.sum() == pytest.approx(ref.regret, abs=1e-6), t
        assert partition(sim) == ref.partition, t
        assert sim.syncs == ref.syncs, t
        assert sim.messages == ref.syncs + ref.downloads, t
    return sim, ref


@pytest.mark.parametrize("environment", [WORLD, SPREAD], ids=["together", "spread"])
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_plays_as_derived(name, environment):
    compare(system(name).config, environment, 150, 3)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fclub-dc", {"sharing": "never", "alpha1": 0.3}),
        ("fclub-dc", {"sharing": "always", "alpha1": 0.3, "alpha2": 0.5}),
        ("fclub-dc", {"sharing": "delayed(1.05, 1.3)", "alpha1": 0.3, "alpha2": 0.5}),
        ("fclub-dc", {"acts_on": "synchronized", "alpha1": 0.3, "alpha2": 0.5}),
        ("fclub-published", {"alpha1": 0.3, "alpha2": 0.0, "epsilon": 300.0}),
        ("fclub-authors", {"alpha1": 0.3, "alpha2": 0.6}),
        ("fclub-authors", {"alpha1": 0.3, "alpha2": 0.6, "acts_on": "synchronized"}),
        ("club", {"alpha1": 0.4}),
        ("sclub", {"alpha1": 0.4, "alpha2": 0.4}),
        ("sclub", {"alpha1": 2.0, "alpha2": 2.0, "alpha_p": 0.1}),
    ],
)
def test_clusters_that_split_and_merge_often_play_as_derived(name, own):
    sim, _ = compare(system(name, **own).config, WORLD, 260, 5)
    assert len(partition(sim)) > 1


settings_of = {
    "fclub-dc": st.fixed_dictionaries(
        {
            "sharing": st.sampled_from(
                ["delayed(1.01, 1.01)", "delayed(1.3, 1.05)", "delayed(1, 2)", "always", "never"]
            ),
            "confidence": st.sampled_from(["practical(1.5)", "lemma"]),
            "bonus": st.sampled_from(["root", "square"]),
            "alpha1": st.sampled_from([0.2, 0.6, 1.5]),
            "alpha2": st.sampled_from([0.0, 0.4, 2.0]),
        }
    ),
    "fclub-published": st.fixed_dictionaries(
        {
            "privatizer": st.sampled_from(["published", "published(3)"]),
            "epsilon": st.sampled_from([1.0, 300.0]),
            "alpha1": st.sampled_from([0.3, 0.8]),
            "acts_on": st.sampled_from(["buffered", "synchronized"]),
            "sharing": st.sampled_from(["delayed(1.01, 1.01)", "delayed(1.5, 3)"]),
            "exploration_scale": st.sampled_from([0.005, 1.0]),
        }
    ),
    "club": st.fixed_dictionaries(
        {"alpha1": st.sampled_from([0.1, 0.5]), "edge_regularization": st.sampled_from([0.5, 3.0])}
    ),
    "sclub": st.fixed_dictionaries(
        {
            "alpha1": st.sampled_from([0.2, 0.5]), "alpha2": st.sampled_from([0.1, 0.5, 2.0]),
            "alpha_p": st.sampled_from([0.05, 0.3, 1.0]),
        }
    ),
    "homo-dc": st.fixed_dictionaries(
        {"sharing": st.sampled_from(["delayed(1.2, 1.5)", "never", "always"])}
    ),
}  # fmt: skip
variants = st.sampled_from(sorted(settings_of)).flatmap(
    lambda name: st.tuples(st.just(name), settings_of[name])
)
environments = st.builds(
    Clustered, users=st.integers(4, 8), clusters=st.integers(1, 3), servers=st.integers(1, 4),
    dim=st.integers(3, 5), items=st.integers(2, 5), gap=st.sampled_from([0.0, 0.4]),
    placement=st.sampled_from(["together", "spread"]), arrivals=st.sampled_from(["equal", "zipf"]),
)  # fmt: skip


@settings(max_examples=40)
@given(environments, variants, st.integers(20, 70), st.integers(0, 2**63 - 1))
def test_any_variant_plays_as_derived(environment, variant, rounds, seed):
    name, own = variant
    compare(system(name, **own).config, environment, rounds, seed)


def test_synchronized_servers_ignore_their_buffers():
    """Algorithm 1, line 12: between two exchanges nothing that is recommended by changes."""
    config = system("fclub-dc", acts_on="synchronized", sharing="delayed(1e9, 1e9)").config
    sim, _ = compare(config, WORLD, 60)
    own = np.array([sim.state.local.acting.records[row] for row in sim.state.local.model_of])
    assert own.max() < sim.done


@pytest.mark.parametrize("rounds", [1, 2, 3, 6, 7, 14, 15, 100_000])
def test_phases_double_and_end_before_the_horizon(rounds):
    ends = phase_ends(rounds)
    assert ends == [e for e in (2 ** (s + 1) - 2 for s in range(1, 40)) if e < rounds]
    assert np.diff([0, *ends]).tolist() == [2**s for s in range(1, len(ends) + 1)]


def test_delayed_communication_that_never_delays_is_instant():
    """With U = D = 1 every observation travels at once, and the regret is that of sharing all."""
    delayed = simulate(system("fclub-dc", sharing="delayed(1, 1)").config, SPREAD, 400, 2, 0)
    always = simulate(system("fclub-sync").config, SPREAD, 400, 2, 0)
    delayed.advance(400)
    always.advance(400)
    assert delayed.regret.sum() == pytest.approx(always.regret.sum(), rel=0.02)
    assert delayed.syncs == always.syncs


def test_clusters_are_found_where_they_are_far_apart():
    world = Clustered(users=12, clusters=3, servers=3, dim=5, gap=0.9, placement="spread")
    sim = simulate(system("fclub-dc").config, world, 20_000, 1, 0)
    assert sim.metrics["adjusted_rand_index"][0] == 0.0
    sim.advance(20_000)
    assert sim.metrics["adjusted_rand_index"].min() == 1.0
    assert set(sim.metrics["cluster_size"]) == {4.0}


def test_learning_together_pays_and_mixing_clusters_does_not():
    world = Clustered(users=40, clusters=4, dim=10, gap=0.8)
    regret = {}
    for name in ("linucb-per-user", "fclub-dc", "homo", "fclub-sync"):
        sim = simulate(system(name).config, world, 30_000, 1, 0)
        sim.advance(30_000)
        regret[name] = sim.regret.sum()
    assert regret["fclub-dc"] < 0.8 * regret["linucb-per-user"] < 0.5 * regret["homo"]
    assert abs(regret["fclub-sync"] - regret["fclub-dc"]) < 0.2 * regret["fclub-dc"]


def test_communication_keeps_the_papers_bound():
    """O(dmL log T) uploads and downloads (Theorem 2), with the constant of its Definition 2."""
    world = Clustered(users=12, clusters=3, servers=3, dim=4, gap=0.5, placement="spread")
    sim = simulate(system("fclub-dc", sharing="delayed(1.2, 1.2)").config, world, 30_000, 0, 0)
    sim.advance(30_000)
    each = 4 * np.log(30_000) / np.log(1.2)
    assert 0 < sim.syncs < 9 * each


def test_the_horizon_changes_noise_and_nothing_else():
    one = simulate(system("fclub-dc").config, WORLD, 500, 0, 0)
    two = simulate(system("fclub-dc").config, WORLD, 5000, 0, 0)
    one.advance(400)
    two.advance(400)
    np.testing.assert_array_equal(one.regret, two.regret)


def test_noise_that_leaves_nothing_to_plan_is_refused():
    config = system("fclub-published", sharing="delayed(1.0000000000001, 2)").config
    with pytest.raises(ConfigError, match="privatizer"):
        simulate(config, WORLD, 1000, 0, 0)


def test_more_users_than_a_graph_has_room_for_are_refused():
    crowd = Clustered(users=20_001)
    with pytest.raises(ConfigError, match="a graph of 20,001 users needs too much memory"):
        plan_of(system("club").config, crowd, 1000)
    assert claim(plan_of(system("linucb-per-user").config, crowd, 1000)).epsilon == 0.0


@pytest.mark.parametrize("acts_on", ["buffered", "synchronized"])
def test_what_is_no_sum_of_records_stops_the_run(acts_on):
    sim = simulate(system("fclub-dc", acts_on=acts_on).config, WORLD, 100, 0, 0)
    sim.advance(10)
    sim.state.local.shared[:, 0] = -1e6
    sim.state.local.stale[:] = 1
    with pytest.raises(NotARecordsSumError, match="round 11"):
        sim.advance(20)
    assert sim.done == 10


@pytest.mark.parametrize(
    ("preset", "parts", "key"),
    [
        ("club", {"sharing": "always"}, "sharing"),
        ("linucb-per-user", {"sharing": "delayed"}, "sharing"),
        ("fclub-published", {"sharing": "always"}, "privatizer"),
        ("fclub-published", {"clustering": "together"}, "privatizer"),
        ("fclub-published", {"confidence": "practical"}, "confidence"),
        ("fclub-published", {"sharing": "delayed(1, 2)"}, "larger than 1"),
        ("fclub-sync", {"acts_on": "synchronized"}, "acts_on"),
        ("fclub-dc", {"sharing": "delayed(0.9)"}, "≥ 1"),
        ("fclub-dc", {"alpha1": -1.0}, "alpha1"),
        ("fclub-dc", {"regularization": 0.0}, "regularization"),
        ("fclub-dc", {"unheard": 1}, "unheard"),
    ],
)
def test_impossible_variants_are_refused(preset, parts, key):
    with pytest.raises(ConfigError, match=key):
        system(preset, **parts)
