"""Parties that pay for their noise: charged before it leaves, kept, and never more than claimed."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.errors import BudgetExceededError
from fedbandits.privacy.ledger import Ledger, LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.experiment import system
from fedbandits.testing.plays import federate

LINEAR = Linear(agents=2, dim=2, arms=3)
CLUSTERED = Clustered(users=4, clusters=2, servers=2, dim=3, items=3)
BUYERS = Procurement(agents=2, producers=2, max_capacity=5, instance=1)
ROUNDS = 60
#: Presets whose noise is charged, and environments.
PARTIES = [
    ("feducb", LINEAR),
    ("ldp-silo", LINEAR),
    ("feducb-p2p", LINEAR),
    ("pfcb", BUYERS),
    ("pfcb-interactive", BUYERS),
    ("fclub", CLUSTERED),
    ("fclub-released", CLUSTERED),
    ("fclub-clusters", CLUSTERED),
]


@pytest.mark.parametrize(("preset", "environment"), PARTIES)
def test_a_party_pays_for_every_release_and_ends_at_its_claim(preset, environment, tmp_path):
    run = federate(system(preset, epsilon=1.0, delta=1e-3).config, environment, ROUNDS, 0, 0)
    claim = run.system.claim(run.plan)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        for party in run.players:
            with ledger.begin() as connection:
                ledger.open_account(connection, party.name, claim, 1.0, 1e-3)
            party._noise = LedgeredNoise(
                ledger, party.name, "releases", run.plan.event, SecureNoise()
            )
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
    run = federate(system("feducb", epsilon=1.0, delta=1e-3).config, LINEAR, ROUNDS, 0, 0)
    claim = run.system.claim(run.plan)
    agent = run.of("agent")[0]
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        with ledger.begin() as connection:
            ledger.open_account(connection, agent.name, claim, 0.6, 1e-3)
        agent._noise = LedgeredNoise(ledger, agent.name, "releases", run.plan.event, SecureNoise())
        with pytest.raises(BudgetExceededError):
            run.advance(ROUNDS)
        with ledger.read() as connection:
            charged = ledger.statement(connection, agent.name).charges
    sent = [m for _, m in run.network.transcript.deliveries if m.sender == agent.name]
    assert len(sent) <= charged == agent.released.made
