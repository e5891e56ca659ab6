"""Parties that pay for their noise: charged before it leaves, kept, and never more than claimed."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.errors import BudgetExceededError
from fedbandits.privacy.ledger import Ledger, LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import federate, plan_of, system_of

LINEAR = Linear(agents=2, dim=2, arms=3)
CLUSTERED = Clustered(users=4, clusters=2, servers=2, dim=3, items=3)
BUYERS = Procurement(agents=2, producers=2, max_capacity=5, instance=1)
ROUNDS = 60
#: Presets whose noise is charged, and environments.
PARTIES = [
    ("feducb", LINEAR),
    ("feducb-secure", LINEAR),
    ("ldp-silo", LINEAR),
    ("feducb-p2p", LINEAR),
    ("pfcb", BUYERS),
    ("pfcb-interactive", BUYERS),
    ("fclub", CLUSTERED),
    ("fclub-released", CLUSTERED),
    ("fclub-clusters", CLUSTERED),
]


def federate_ledgered(preset, environment, ledger):
    """Parties whose noise is charged and kept: it reaches them through their constructors."""
    config = system(preset, epsilon=1.0, delta=1e-3).config
    found, plan = system_of(config), plan_of(config, environment, ROUNDS)
    world = environment.stage(replicate_key(0, 0)).world
    simulated = found.simulated_supplies(plan, world, 0, 0)

    def supply(role, place):
        brought = simulated(role, place)
        if not hasattr(brought, "noise"):
            return brought
        name = found.roles(plan).parties[role][place]
        noise = LedgeredNoise(ledger, name, "releases", plan.event, SecureNoise())
        return brought._replace(noise=noise)

    return federate(config, environment, ROUNDS, 0, 0, supplies=supply)


@pytest.mark.parametrize(("preset", "environment"), PARTIES)
def test_a_party_pays_for_every_release_and_ends_at_its_claim(preset, environment, tmp_path):
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        run = federate_ledgered(preset, environment, ledger)
        claim = run.system.claim(run.plan)
        for party in run.players:
            with ledger.begin() as connection:
                ledger.open_account(connection, party.name, claim, 1.0, 1e-3)
        run.advance(ROUNDS)
        assert run.syncs > 0
        with ledger.read() as connection:
            ledger.verify(connection)
            for party in run.players:
                statement = ledger.statement(connection, party.name)
                assert statement.spent_mu == pytest.approx(claim.mu, rel=1e-12)
                assert statement.spent_epsilon <= 1.0
                kept = ledger.draws(connection, party.name, "releases")
                assert statement.charges == len(kept) >= 1
                assert all(np.isfinite(draw).all() for draw in kept)


def test_a_release_beyond_the_budget_does_not_leave(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        run = federate_ledgered("feducb", LINEAR, ledger)
        agent = run.of("agent")[0]
        with ledger.begin() as connection:
            claim = run.system.claim(run.plan)
            for each, budget in zip(run.of("agent"), (0.6, 1.0), strict=True):
                ledger.open_account(connection, each.name, claim, budget, 1e-3)
        with pytest.raises(BudgetExceededError):
            run.advance(ROUNDS)
        with ledger.read() as connection:
            charged = ledger.statement(connection, agent.name).charges
    sent = [m for _, m in run.network.transcript.deliveries if m.sender == agent.name]
    assert len(sent) <= charged == agent.state.released.made
    assert agent.decide(np.full((2, 3), 0.1, np.float32)).number > 0  # it goes on deciding
