"""Exploration by standard deviations: nothing is proved, so an oracle and its limits hold it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.errors import ConfigError
from fedbandits.learners.kernels.released_sum import posterior_variance
from fedbandits.learners.kernels.ridge import add_to_diagonal
from fedbandits.systems.agents.kernels.constants import learning_of
from fedbandits.systems.agents.kernels.own_views import load_own_view, take_up_own
from fedbandits.systems.agents.kernels.pools import NOT_POSITIVE
from fedbandits.systems.agents.kernels.views import first_view
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
    "draws, alone": {"preset": "lints-alone"},
    "draws, pooled": {"preset": "lints-pooled", "exploration_scale": 0.7},
    "draws, hybrid": {"preset": "lints-hybrid", "epsilon": 30.0},
    "draws, hybrid, much noise": {"preset": "lints-hybrid", "epsilon": 0.5},
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


def regrets(environment, rounds, *entries, replicate=0):
    played = []
    for config in entries:
        run = simulate(config, environment, rounds, 0, replicate)
        run.advance(rounds)
        played.append(run.regret)
    return played


def test_hybrid_is_alone_where_noise_drowns_what_others_release():
    entries = variant("alone"), variant("hybrid", epsilon=1e-4)
    played = np.array([regrets(LINEAR, 200, *entries, replicate=r) for r in range(40)])
    alone, hybrid = played.mean(axis=(0, 2))
    assert hybrid < 1.15 * alone  # to average over hypotheses costs a little


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
    ways = {"adaptive": "widths", "deviations": "widths", "drawn": "draws"}
    for name, exploration in ways.items():
        parts = {"confidence": "adaptive" if name == "adaptive" else "deviations", **graph}
        if name == "adaptive" and "hybrid" in preset:  # no radius of theirs is proved
            parts["local_view"] = "raw"
        entry = fb.system(preset, exploration=exploration, **parts)
        plan = plan_of(entry.config, LINEAR, 100)
        stated[name] = fb.systems.find_system(entry.system).claim(plan)
    assert stated["adaptive"] == stated["deviations"] == stated["drawn"]
    assert stated["deviations"].holds_for != "nothing"


def own_view(**settings):
    """What takes up records, what is known before any, and the constants of a run."""
    config = fb.system("linucb-alone", **settings).config
    constants = plan_of(config, LINEAR, 1000).constants
    _, view = first_view(constants, constants.base, constants.log_term)
    return constants, learning_of(constants), view, np.zeros((1, 4))


def width(view, x):
    return np.sqrt(x @ np.triu(view.width[0].astype(np.float64)) @ x)


@pytest.mark.parametrize(("size", "noise"), [(1.0, 0.5), (3.0, 0.5), (1.0, 0.1), (100.0, 20.0)])
def test_of_what_nothing_is_known_two_deviations_are_the_bound(size, noise):
    """In whatever unit rewards are."""
    _, _, view, _ = own_view(parameter_bound=size, noise_scale=noise, exploration_scale=0.5)
    assert width(view, np.array([0.6, 0.0, 0.8])) == pytest.approx(0.5 * size)


def test_rewards_without_noise_leave_wide_what_nothing_is_known_of():
    """An arm that appears late is worth a look, however well all others are known."""
    _, learning, view, residuals = own_view()
    known, new, gain = np.array([0.8, 0.6, 0.0]), np.array([0.0, 0.0, 1.0]), np.empty(3)
    widths = []
    for _ in range(2000):
        take_up_own(learning, residuals, view, 0, known, 0.4, gain)
        widths.append(width(view, new))
    assert posterior_variance(residuals, 0, 0.25) < 0.01 * 0.25 * 1.01
    assert 0.7 < min(widths) < max(widths) < 1.5
    assert width(view, known) < 0.01
    assert view.estimate[0] @ known == pytest.approx(0.4, abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.floats(-0.9, 10.0))
def test_a_changed_diagonal_is_that_of_solving_anew(seed, d, change):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d + 2, d))
    gram, moment = root.T @ root + np.eye(d), rng.normal(size=d)
    inverse, theta = np.linalg.inv(gram)[None].copy(), np.linalg.solve(gram, moment)
    add_to_diagonal(inverse, 0, change, theta, np.empty(d))
    changed = gram + change * np.eye(d)
    np.testing.assert_allclose(inverse[0], np.linalg.inv(changed), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(theta, np.linalg.solve(changed, moment), rtol=1e-6, atol=1e-8)


def test_contexts_beside_which_the_ridge_is_nothing_are_a_fault():
    constants, _, view, residuals = own_view()
    own = np.array([[1e20, 1e20, 0.0, 1e20, 0.0, 0.0, 1.0, 1.0, 0.0]])
    fault = load_own_view(constants, own, residuals, np.zeros_like(own), 0.0, view)
    assert fault == NOT_POSITIVE


@pytest.mark.parametrize("name", ["alone", "pooled", "hybrid"])
def test_draws_learn_as_widths_do(name):
    """Half of what is lost in 400 rounds is lost in the first 150 at least."""
    run = simulate(variant(f"draws, {name}"), LINEAR, 400, 0, 0)
    run.advance(150)
    early = run.regret.mean()
    run.advance(400)
    assert early > 0.5 * run.regret.mean()


def test_draws_need_deviations():
    with pytest.raises(ConfigError, match="parameters are drawn by standard deviations"):
        fb.system("lints-alone", confidence="adaptive")
    with pytest.raises(ConfigError, match="parameters are drawn by standard deviations"):
        fb.system("feducb-published", exploration="draws")


def test_a_determinant_schedule_is_refused():
    with pytest.raises(ConfigError, match="determinant"):
        fb.system("feducb-published", confidence="deviations")
