"""Adding a system whose parties learn alone: when, which, and with which settings."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.experiments.baselines import Claimed, differing_keys
from fedbandits.systems import find_system, registry, systems
from tests.systems.private_learners import PrivateMeans

PRIVATE = {
    "feducb": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "ldp-silo": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-p2p": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-p2p-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "fclub": fb.environments.Clustered(users=6, servers=2, clusters=2, dim=2),
    "fclub-released": fb.environments.Clustered(users=6, servers=2, clusters=2, dim=2),
    "pfcb": fb.environments.Procurement(agents=2, producers=3, max_capacity=4),
    "pfcb-published": fb.environments.Procurement(agents=2, producers=3, max_capacity=4),
    "pfcb-interactive": fb.environments.Procurement(agents=2, producers=3, max_capacity=4),
}
ALONE = {"fclub": "fclub-local", "pfcb": "cucb-alone", "feducb": "linucb-alone",
         "feducb_p2p": "linucb-alone"}  # fmt: skip


def experiment(*given, environment=None, **changes):
    return fb.Experiment(
        rounds=300,
        environment=environment or fb.environments.Linear(agents=3, dim=2, arms=3),
        systems=[fb.system(one) if isinstance(one, str) else one for one in given],
        **changes,
    )


@pytest.mark.parametrize("preset", PRIVATE)
def test_every_private_preset_gets_one_that_sends_nothing(preset):
    both = fb.with_alone(experiment(preset, environment=PRIVATE[preset]))
    judged, alone = both.systems
    assert alone.label == "alone"
    assert alone.preset == ALONE[judged.system]
    assert both.claims()["alone"].epsilon == 0.0
    assert differing_keys(judged, alone) == ()
    both.check()


def test_all_presets_of_one_budget_are_tried_above():
    """A new private preset must be tried too."""
    known = {
        name
        for system in systems()
        for name in system.presets
        if system.name in ("feducb", "feducb_p2p", "fclub", "pfcb")
        and _claim(system.name, name).is_private
    }
    assert known == set(PRIVATE)


def _claim(system, preset):
    worlds = {"fclub": PRIVATE["fclub"], "pfcb": PRIVATE["pfcb"]}
    one = experiment(preset, environment=worlds.get(system, PRIVATE["feducb"]))
    return Claimed.of(one.claims()[preset])


def test_settings_that_are_not_about_sharing_are_those_of_the_judged():
    judged = fb.system(
        "feducb-p2p", graph="ring", epsilon=[1.0, 2.0, 3.0], delta=0.01, schedule="every(7)",
        exploration_scale=0.25, reward_bound=2.0, regularization=3.0, out_of_bounds="clip",
    )  # fmt: skip
    alone = fb.with_alone(experiment(judged)).systems[-1]
    assert alone == fb.system(
        "linucb-alone", label="alone", exploration_scale=0.25, reward_bound=2.0,
        regularization=3.0, out_of_bounds="clip",
    )  # fmt: skip


def test_how_buyers_purchase_is_not_about_sharing():
    world = PRIVATE["pfcb"]
    judged = fb.system("pfcb", quality_margin=0.1, zeta=2.0, window=[5, 50])
    alone = fb.with_alone(experiment(judged, environment=world)).systems[-1]
    assert alone.config.purchases == "cautious"  # the preset itself is optimistic
    assert alone.config.quality_margin == 0.1
    assert alone.config.zeta == 2.0
    assert alone.config.window == "auto"


def test_the_added_system_is_judged_by_the_same_draws_and_changes_no_other():
    one = experiment("feducb", replicates=2)
    both = fb.with_alone(one)
    added = fb.run(both)
    np.testing.assert_array_equal(added.regret[:1], fb.run(one).regret)
    named = experiment("feducb", fb.system("linucb-alone", label="alone"), replicates=2)
    np.testing.assert_array_equal(added.regret, fb.run(named).regret)


@pytest.mark.parametrize(
    "given",
    [
        ("feducb", "linucb-alone"),
        ("feducb-nonprivate", "linucb-pooled"),
        ("feducb-published",),  # no finite ε: nothing to judge
    ],
)
def test_nothing_is_added_where_it_is_there_or_nothing_is_judged(given):
    one = experiment(*given)
    assert fb.with_alone(one) == one


def test_nothing_is_added_where_encryption_protects():
    one = experiment("samba-ucb", environment=fb.environments.Bernoulli(means=(0.1, 0.9), arms=2))
    assert fb.with_alone(one) == one


def test_nothing_is_added_twice():
    both = fb.with_alone(experiment("feducb"))
    assert fb.with_alone(both) == both
    again = fb.Experiment.from_table(both.to_table())
    assert fb.with_alone(again) == again == both


def test_a_preset_that_was_told_to_share_does_not_count():
    sharing = fb.system("linucb-alone", label="alone", schedule="every(5)", local_view="released")
    added = fb.with_alone(experiment("feducb", sharing)).systems[-1]
    assert added.label == "alone 2"
    assert added.config.schedule == find_system("feducb").config_type(schedule="never").schedule


def test_a_file_may_be_named(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(experiment("feducb").to_toml())
    assert [s.label for s in fb.with_alone(path).systems] == ["feducb", "alone"]


def test_a_private_learner_of_ones_own_is_compared_with_another_algorithm(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(PrivateMeans)
    judged, alone = fb.with_alone(experiment("private-means")).systems
    assert alone == fb.system("linucb-alone", label="alone")
    assert differing_keys(judged, alone) == ("algorithm",)


def test_replacing_systems_keeps_everything_else():
    one = experiment("feducb", replicates=3, seed=7, name="n", checkpoints=9)
    both = fb.with_alone(one)
    assert msgspec.structs.replace(both, systems=one.systems) == one
