"""Parties that pay for their noise: charged before it leaves, kept, and never more than claimed."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.errors import BudgetExceededError
from fedbandits.privacy.ledger import Ledger, LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.settings.experiment import system
from fedbandits.systems import FAMILIES
from fedbandits.systems.fclub.federate import FederatedRun as ServersRun
from fedbandits.systems.feducb.federate import FederatedRun as AgentsRun
from fedbandits.systems.feducb_p2p.federate import PeerRun
from fedbandits.testing.plays import federate

LINEAR = Linear(agents=2, dim=2, arms=3)
CLUSTERED = Clustered(users=4, clusters=2, servers=2, dim=3, items=3)
BUYERS = Procurement(agents=2, producers=2, max_capacity=5, instance=1)
ROUNDS = 60
#: Preset, environment, what plays it, and where its parties are.
PARTIES = [
    ("feducb", LINEAR, AgentsRun, "agents"),
    ("ldp-silo", LINEAR, AgentsRun, "agents"),
    ("feducb-p2p", LINEAR, PeerRun, "agents"),
    ("pfcb", BUYERS, federate, "buyer"),
    ("pfcb-interactive", BUYERS, federate, "buyer"),
    ("fclub", CLUSTERED, ServersRun, "servers"),
    ("fclub-released", CLUSTERED, ServersRun, "servers"),
    ("fclub-clusters", CLUSTERED, ServersRun, "servers"),
]


@pytest.mark.parametrize(("preset", "environment", "runs", "where"), PARTIES)
def test_a_party_pays_for_every_release_and_ends_at_its_claim(
    preset, environment, runs, where, tmp_path
):
    entry = system(preset, epsilon=1.0, delta=1e-3)
    config = entry.config
    claim = FAMILIES[entry.family].claim(config, environment, ROUNDS)
    run = runs(config, environment, ROUNDS, 0, 0)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        for party in getattr(run, where):
            with ledger.begin() as connection:
                ledger.open_account(connection, party.name, claim, 1.0, 1e-3)
            party._noise = LedgeredNoise(
                ledger, party.name, "releases", run.plan.event, SecureNoise()
            )
        run.advance(ROUNDS)
        assert run.syncs > 0
        with ledger.read() as connection:
            ledger.verify(connection)
            for party in getattr(run, where):
                statement = ledger.statement(connection, party.name)
                assert statement.spent_mu == pytest.approx(claim.mu, rel=1e-12)
                assert statement.spent_epsilon <= 1.0
                kept = ledger.draws(connection, party.name, "releases")
                assert statement.charges == len(kept) >= 1
                assert all(np.isfinite(draw).all() for draw in kept)


def test_a_release_beyond_the_budget_does_not_leave(tmp_path):
    run = AgentsRun(system("feducb", epsilon=1.0, delta=1e-3).config, LINEAR, ROUNDS, 0, 0)
    claim = FAMILIES["feducb"].claim(run.config, LINEAR, ROUNDS)
    agent = run.agents[0]
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
