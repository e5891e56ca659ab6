"""Exploration by standard deviations: nothing is proved, so an oracle and its limits hold it."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.errors import ConfigError
from fedbandits.testing.replicates import plan_of, simulate
from tests.systems.deviations_reference import DeviationsReference

LINEAR = Linear(agents=3, dim=3, arms=4)
CLASSES = Classification(agents=3, dataset="wine", components=2)
VARIANTS = {
    "alone": {"preset": "linucb-alone"},
    "pooled": {"preset": "linucb-pooled"},
    "released": {"preset": "feducb", "epsilon": 30.0},
    "hybrid": {"preset": "feducb-hybrid", "epsilon": 30.0},
    "hybrid, much noise": {"preset": "feducb-hybrid", "epsilon": 0.5},
    "hybrid in clear": {"preset": "feducb-hybrid", "privatizer": "none"},
    "raw, by a tree": {
        "preset": "feducb", "local_view": "raw", "privatizer": "tree", "schedule": "every(7)",
        "exploration_scale": 0.3,
    },
}  # fmt: skip


def variant(name, **changed):
    settings = {"confidence": "deviations", **VARIANTS[name], **changed}
    return fb.system(settings.pop("preset"), **settings).config


@pytest.mark.parametrize("environment", [LINEAR, CLASSES], ids=["linear", "classification"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_loop_agrees_with_the_reference_round_by_round(name, environment):
    config, rounds = variant(name), 40
    run = simulate(config, environment, rounds, 3, 1)
    expected = DeviationsReference(config, environment, rounds, 3, 1).run(run.sync_rounds())
    for t in range(1, rounds + 1):
        run.advance(t)
        np.testing.assert_array_equal(run.reward, expected.reward[t - 1])
        np.testing.assert_allclose(run.regret, expected.regret[t - 1], atol=1e-5)


def regrets(environment, rounds, *entries):
    played = []
    for config in entries:
        run = simulate(config, environment, rounds, 0, 0)
        run.advance(rounds)
        played.append(run.regret)
    return played


def test_hybrid_is_alone_where_noise_drowns_what_others_release():
    alone, hybrid = regrets(LINEAR, 200, variant("alone"), variant("hybrid", epsilon=1e-4))
    np.testing.assert_allclose(hybrid, alone, atol=0.5)


def test_hybrid_is_pooled_where_there_is_no_noise():
    """All records after every round; rewards are as noisy as can be, so σ̂ is the bound."""
    pooled, hybrid = regrets(
        LINEAR, 100, variant("pooled"), variant("hybrid in clear", schedule="every(1)")
    )
    assert hybrid.mean() < 1.3 * pooled.mean() + 1.0


@pytest.mark.parametrize("preset", ["feducb", "feducb-hybrid", "feducb-p2p", "feducb-p2p-hybrid"])
def test_a_claim_does_not_depend_on_exploration(preset):
    graph = {"graph": "ring", "gamma": 1} if "p2p" in preset else {}
    stated = {}
    for confidence in ("adaptive", "deviations"):
        entry = fb.system(preset, confidence=confidence, **graph)
        plan = plan_of(entry.config, LINEAR, 100)
        stated[confidence] = fb.systems.find_system(entry.system).claim(plan)
    assert stated["adaptive"] == stated["deviations"]
    assert stated["deviations"].holds_for != "nothing"


def test_a_determinant_schedule_is_refused():
    with pytest.raises(ConfigError, match="determinant"):
        fb.system("feducb-published", confidence="deviations")
