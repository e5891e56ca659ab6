"""What an agent makes of others' records changes its decisions, and nothing that it sends."""

from __future__ import annotations

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.testing.replicates import federate

WORLD = Linear(agents=3, dim=3, arms=2)
ROUNDS = 60


def sent(preset, spoil):
    """All messages of a run, before each round of which every agent's view may be spoilt.

    Decision sets have one context: whatever an agent knows, its records are the same.
    """
    graph = {"graph": "ring", "gamma": 1} if "p2p" in preset else {}
    run = federate(fb.system(preset, **graph).config, WORLD, ROUNDS, 3, 0)
    rng = np.random.default_rng(1)
    for round_ in range(1, ROUNDS + 1):
        for agent in run.of("agent"):
            context = rng.normal(size=(3, 1))
            context /= 1.01 * np.linalg.norm(context)
            decision = agent.decide(context.astype(np.float32))
            run.network.send(agent.observe(decision, float(rng.uniform())))
        run.end_round(round_, lambda player, messages: None)
        for agent in run.of("agent"):
            spoil(agent.state)
    return [(place, message) for place, message in run.network.transcript.deliveries]


def not_at_all(state):
    del state


def thoroughly(state):
    """Views and variances say anything, as no record could make them."""
    for known in (state,) if hasattr(state, "view") else state.estimators:
        known.residuals[:] = 7.0
        for name in ("inverse", "estimate", "theta", "width"):
            values = getattr(known.view, name)
            values[...] = 9.0 + np.arange(values.size).reshape(values.shape)


@pytest.mark.parametrize("preset", ["feducb-hybrid", "feducb-secure-hybrid", "feducb-p2p-hybrid"])
def test_when_and_what_is_sent_does_not_depend_on_views(preset):
    ours, theirs = sent(preset, not_at_all), sent(preset, thoroughly)
    assert len(ours) == len(theirs) > ROUNDS // 10
    assert ours == theirs
