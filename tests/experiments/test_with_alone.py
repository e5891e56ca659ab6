"""Adding a system whose parties learn alone: when, which, and with which settings."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.errors import ConfigError
from fedbandits.experiments import best_alone
from fedbandits.experiments.baselines import Claimed, differing_keys
from fedbandits.experiments.run import play_trial
from fedbandits.systems import find_system, registry, systems
from tests.systems.private_learners import PrivateMeans

PRIVATE = {
    "feducb": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-secure": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-secure-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "lints-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "ldp-silo": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-p2p": fb.environments.Linear(agents=3, dim=2, arms=3),
    "feducb-p2p-hybrid": fb.environments.Linear(agents=3, dim=2, arms=3),
    "fclub": fb.environments.Clustered(users=6, servers=2, clusters=2, dim=2),
    "fclub-released": fb.environments.Clustered(users=6, servers=2, clusters=2, dim=2),
    "pfcb": fb.environments.Procurement(agents=2, producers=3, max_capacity=4),
    "pfcb-secure": fb.environments.Procurement(agents=3, producers=3, max_capacity=4),
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


def with_alone(given):
    """One process: every experiment here is small."""
    return fb.with_alone(given, jobs=1)


def best(found):
    return next(entry for entry in found.systems if entry.label == found.best_alone)


def but_tried(entry, ridge="auto"):
    """All settings but those that are tried."""
    config = msgspec.structs.replace(entry.config, exploration_scale=1.0, regularization=ridge)
    return msgspec.structs.replace(entry, config=config)


@pytest.mark.parametrize("preset", PRIVATE)
def test_every_private_preset_gets_one_that_sends_nothing(preset):
    found = with_alone(experiment(preset, environment=PRIVATE[preset]))
    judged, alone = found.systems[0], best(found)
    assert alone.label == found.systems[-1].label
    assert alone.preset == ALONE[judged.system]
    assert found.claims()[alone.label].epsilon == 0.0
    assert differing_keys(judged, alone, best=True) == ()
    assert 1.0 / 32.0 <= alone.config.exploration_scale <= 8.0
    found.check()


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
    alone = with_alone(experiment(judged)).systems[-1]
    assert but_tried(alone, 3.0) == fb.system(
        "linucb-alone", label="alone", reward_bound=2.0, regularization=3.0, out_of_bounds="clip",
    )  # fmt: skip


def test_how_buyers_purchase_is_not_about_sharing():
    world = PRIVATE["pfcb"]
    judged = fb.system("pfcb", quality_margin=0.1, zeta=2.0, window=[5, 50])
    alone = with_alone(experiment(judged, environment=world)).systems[-1]
    assert alone.config.purchases == "cautious"  # the preset itself is optimistic
    assert alone.config.quality_margin == 0.1
    assert alone.config.zeta == 2.0
    assert alone.config.window == "auto"


def test_the_added_system_is_judged_by_the_same_draws_and_changes_no_other():
    one = experiment("feducb", replicates=2)
    both = with_alone(one)
    added = fb.run(both, jobs=1)
    np.testing.assert_array_equal(added.regret[:1], fb.run(one, jobs=1).regret)
    config = best(both).config
    named = fb.system(
        "linucb-alone", label="alone", exploration_scale=config.exploration_scale,
        regularization=config.regularization,
    )  # fmt: skip
    played = fb.run(experiment("feducb", named, replicates=2), jobs=1)
    np.testing.assert_array_equal(added.regret, played.regret)


def test_what_is_best_is_chosen_on_replicates_that_are_not_those_of_the_run(monkeypatch):
    played = []

    def play(given, *options, **more):
        result = play_trial(given, *options, **more)
        played.append((given, result.regret.isel(round=-1).mean("party")))
        return result

    monkeypatch.setattr(best_alone, "play_trial", play)
    one = experiment("feducb", replicates=9, seed=5)
    found = with_alone(one)
    losses = {}
    for given, regret in played:
        assert given.seed != one.seed
        for entry in given.systems:
            key = entry.config.exploration_scale, entry.config.regularization
            losses.setdefault(key, []).extend(regret.sel(system=entry.label).values)
    assert sum(given.replicates * len(given.systems) for given, _ in played) <= 80
    counts = {len(values) for values in losses.values()}
    assert {4} <= counts <= {2, 4, 8, 12, 16}
    config = best(found).config
    most = {key: np.mean(v) for key, v in losses.items() if len(v) == max(counts)}
    key = config.exploration_scale, config.regularization
    assert most[key] == min(most.values())


def test_both_alpha_and_lambda_are_searched():
    """Rewards are nearly certain here, and the default ridge is far too large for their noise."""
    world = fb.environments.Linear(agents=20, dim=2, arms=3)
    given = experiment("feducb", environment=world, replicates=4)
    given = msgspec.structs.replace(given, rounds=40)
    found = best(with_alone(given)).config
    default = fb.system("linucb-alone")
    chosen = msgspec.structs.replace(default, config=found)
    other = msgspec.structs.replace(given, seed=11, replicates=8)
    systems = (default, msgspec.structs.replace(chosen, label="chosen"))
    played = fb.run(msgspec.structs.replace(other, systems=systems), jobs=1)
    regret = played.regret.isel(round=-1).mean(["replicate", "party"])
    assert found.regularization != "auto" or found.exploration_scale != 1.0
    assert float(regret.sel(system="chosen")) <= float(regret.sel(system="linucb-alone"))


def test_an_alone_that_is_there_may_be_the_best_of_all():
    there = fb.system("linucb-alone", exploration_scale=0.1, regularization=0.77)
    found = with_alone(experiment("feducb", there, replicates=2))
    assert found.systems[1] == there
    assert len(found.systems) == (2 if best(found) is found.systems[1] else 3)


def test_one_that_is_there_is_named_where_the_search_finds_its_settings():
    one = experiment("feducb", replicates=2)
    config = best(with_alone(one)).config
    there = msgspec.structs.replace(fb.system("linucb-alone", label="mine"), config=config)
    found = with_alone(experiment("feducb", there, replicates=2))
    assert found.best_alone == "mine"
    assert found.systems[1:] == (there,)


def test_beside_a_radius_that_is_proved_those_with_that_radius_are_added_too():
    found = with_alone(experiment(fb.system("feducb", confidence="adaptive")))
    assert [entry.label for entry in found.systems] == ["feducb", "alone", "alone at its best"]
    assert [e.config.confidence for e in found.systems] == ["adaptive", "adaptive", "deviations"]
    assert found.best_alone == "alone at its best"


@pytest.mark.parametrize(
    "given",
    [
        ("feducb-nonprivate", "linucb-pooled"),
        ("feducb-published",),  # no finite ε: nothing to judge
    ],
)
def test_nothing_is_added_where_nothing_is_judged(given):
    one = experiment(*given)
    assert with_alone(one) == one


def test_where_regret_is_not_known_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(fb.environments.Linear, "regret_is_known", property(lambda _: False))
    found = with_alone(experiment("feducb"))
    assert [entry.label for entry in found.systems] == ["feducb", "alone"]
    assert found.best_alone == ""


def test_the_best_one_must_be_a_system_of_the_experiment():
    with pytest.raises(ConfigError, match="best_alone: given 'nobody'"):
        experiment("feducb", best_alone="nobody")


def test_nothing_is_added_where_encryption_protects():
    one = experiment("samba-ucb", environment=fb.environments.Bernoulli(means=(0.1, 0.9), arms=2))
    assert with_alone(one) == one


def test_nothing_is_added_twice():
    both = with_alone(experiment("feducb"))
    assert with_alone(both) == both
    again = fb.Experiment.from_table(both.to_table())
    assert with_alone(again) == again == both


def test_a_preset_that_was_told_to_share_does_not_count():
    sharing = fb.system("linucb-alone", label="alone", schedule="every(5)", local_view="released")
    found = with_alone(experiment("feducb", sharing))
    added = found.systems[-1]
    assert added.label == found.best_alone == "alone 2"
    assert added.config.schedule == find_system("feducb").config_type(schedule="never").schedule


def test_a_file_may_be_named(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(experiment("feducb").to_toml())
    assert [s.label for s in with_alone(path).systems] == ["feducb", "alone"]


def test_a_private_learner_of_ones_own_is_compared_with_another_algorithm(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(PrivateMeans)
    judged, alone = with_alone(experiment("private-means")).systems
    assert but_tried(alone) == fb.system("linucb-alone", label="alone")
    assert differing_keys(judged, alone) == ("algorithm",)


def test_replacing_systems_keeps_everything_else():
    one = experiment("feducb", replicates=3, seed=7, name="n", checkpoints=9)
    both = with_alone(one)
    assert msgspec.structs.replace(both, systems=one.systems, best_alone="") == one
