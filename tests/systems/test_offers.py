"""Parties that learn at once: fewer arms than the terms have, and contexts out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Classification, Linear
from fedbandits.errors import BoundExceededError
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.linear_agent import Offer
from fedbandits.testing.replicates import federate

PRESETS = ["linucb-alone", "feducb-hybrid", "feducb-p2p-hybrid"]


def view_of(agent):
    return getattr(agent.state, "estimators", (agent.state,))[0].view


def score(view, model, context):
    """The upper bound of one arm, in float64."""
    width = np.triu(view.width[model].astype(float))
    return view.theta[model] @ context + np.sqrt(context @ width @ context)


@pytest.mark.parametrize("preset", PRESETS)
def test_of_the_arms_on_offer_the_one_with_the_highest_bound_is_chosen(preset):
    """Each arm with its own model."""
    world = Classification(agents=3, dataset="wine", components=2)
    run = federate(system(preset).config, world, 60, 1, 0)
    run.advance(50)
    agent = run.of("agent")[0]
    context = np.array([[0.6], [-0.3], [0.5]], np.float32)
    for some in ([2], [1, 0], [2, 1], [0, 2], [2, 0, 1]):
        decision = agent.decide(Offer(context, some))
        bounds = {arm: score(view_of(agent), arm, context[:, 0].astype(float)) for arm in some}
        assert decision.action in some
        assert bounds[decision.action] == pytest.approx(max(bounds.values()), rel=1e-5)


@pytest.mark.parametrize("preset", PRESETS)
def test_contexts_that_are_no_numbers_are_refused_or_cut_down(preset):
    world, wrong = Linear(agents=3, dim=3, arms=2), np.full((3, 2), 0.2, np.float32)
    wrong[0, 0] = np.nan
    agent = federate(system(preset, out_of_bounds="clip").config, world, 60, 1, 0).of("agent")[0]
    agent.observe(agent.decide(wrong), 0.5)
    assert np.isfinite(agent.state.statistic).all()
    for name in ("estimate", "inverse", "width"):
        assert np.isfinite(getattr(view_of(agent), name)).all()
    strict = federate(system(preset).config, world, 60, 1, 0).of("agent")[0]
    decision = strict.decide(np.full((3, 2), 0.9, np.float32))
    before = strict.dump()
    with pytest.raises(BoundExceededError):
        strict.observe(decision, 0.5)
    assert strict.dump() == before
