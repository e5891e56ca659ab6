"""What every preset of every system promises."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Bernoulli, Clustered, Linear, Procurement
from fedbandits.experiments.checkpoint import CheckpointFolder, Progressed
from fedbandits.experiments.result import ReplicateTrace
from fedbandits.systems import FAMILIES, find_preset, preset_names

#: A small world for every system.
_LINEAR = Linear(agents=3, dim=3, arms=4)
ENVIRONMENTS = {
    **dict.fromkeys(["feducb", "feducb_p2p", "fedlinucb_async"], _LINEAR),
    "samba": Bernoulli(arms=4),
    # Regret and reward can only grow where the benchmark is exact and units earn what they cost.
    "pfcb": Procurement(agents=3, producers=5, revenue=4.0, benchmark="exact"),
    **dict.fromkeys(
        ["fclub", "fclub_mixture"], Clustered(users=7, clusters=2, servers=3, dim=3, items=4)
    ),
}
ROUNDS = 60


def setting(name):
    family_name, family = find_preset(name)
    return family, ENVIRONMENTS[family_name]


def simulation(name, replicate=0, threads=1):
    family, environment = setting(name)
    return family.simulate(fb.system(name).config, environment, ROUNDS, 1, replicate, threads)


def claim(name):
    family, environment = setting(name)
    return family.claim(fb.system(name).config, environment, ROUNDS)


def standing(run):
    return (
        run.done, run.regret.tolist(), run.reward.tolist(), run.syncs, run.messages, run.bytes,
        run.epsilon,
    )  # fmt: skip


def test_preset_names_are_unique():
    assert len(preset_names()) == len(set(preset_names())) > 0


def test_every_family_names_its_paper():
    assert all(family.paper for family in FAMILIES.values())


#: Presets of one system share their kernels.
PRESETS = [
    pytest.param(name, marks=pytest.mark.xdist_group(find_preset(name)[0].removesuffix("_mixture")))
    for name in preset_names()
]


@pytest.mark.parametrize("name", PRESETS)
class TestPreset:
    def test_it_says_what_it_is(self, name):
        _, family = find_preset(name)
        assert len(family.presets[name].description) > 20

    def test_it_claims_something_definite(self, name):
        stated = claim(name)
        assert stated.unit
        assert stated.from_whom
        assert stated.not_protected
        assert stated.epsilon >= stated.epsilon_contents
        assert (stated.holds_for == "nothing") == (not stated.is_private)
        assert stated.headline

    def test_it_is_determined_by_seed_and_replicate(self, name):
        one, two, other = simulation(name), simulation(name), simulation(name, replicate=1)
        for run in (one, two, other):
            run.advance(ROUNDS)
        assert standing(one) == standing(two)
        assert standing(one) != standing(other)

    def test_everything_it_reports_is_cumulative(self, name):
        run, last = simulation(name), None
        for stop in (1, 7, 8, 30, ROUNDS, ROUNDS + 9):
            run.advance(stop)
            assert run.done == min(stop, ROUNDS)
            now = (run.regret.sum(), run.reward.sum(), run.syncs, run.messages, run.epsilon)
            if last is not None:
                assert all(a >= b for a, b in zip(now, last, strict=True))
            last = now

    def test_spending_stays_within_the_claim(self, name):
        run = simulation(name)
        run.advance(ROUNDS)
        assert run.epsilon <= claim(name).epsilon_contents * (1 + 1e-12)

    def test_its_state_survives_save_and_load(self, name, tmp_path):
        experiment = fb.Experiment(
            rounds=ROUNDS, environment=setting(name)[1], systems=(fb.system(name),)
        )
        folder = CheckpointFolder(tmp_path / "out", experiment)
        folder.begin(resume=False)
        run, resumed = simulation(name), simulation(name)
        trace = ReplicateTrace.empty(0, 0, np.array([ROUNDS]), len(run.regret))
        run.advance(23)
        folder.save(trace, run, Progressed(0, ((1.0, 2.5),)))
        assert folder.load(trace, resumed) == Progressed(0, ((1.0, 2.5),))
        assert standing(run) == standing(resumed)
        run.advance(ROUNDS)
        resumed.advance(ROUNDS)
        assert standing(run) == standing(resumed)
