"""Parties that die at any event and are restored, with the noise of a deployment and a ledger.

What a party has released is committed in its ledger. Restored from a state that is older than its
newest release, and given the same events again, it releases the same numbers: nothing is drawn or
charged twice. With simulated noise every preset is held to it by :mod:`fedbandits.testing.systems`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest

from fedbandits.errors import NoiseReuseError
from fedbandits.privacy.ledger import Ledger, LedgeredNoise
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.replicates import plan_of, system_of
from fedbandits.testing.restored import MortalParty
from tests.contracts.test_deployed_noise import VARIANTS, contents, sent

ROUNDS = 40


def ledgered(ledger, system, plan, world):
    """Simulated supplies, with noise that is drawn securely, charged and kept."""
    simulated = system.simulated_supplies(plan, world, 0, 0)

    def supply(role, place):
        brought = simulated(role, place)
        if not hasattr(brought, "noise"):
            return brought
        name = system.roles(plan).parties[role][place]
        noise = LedgeredNoise(ledger, name, "releases", plan.event, SecureNoise(), replays=True)
        return brought._replace(noise=noise)

    return supply


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_restored_party_releases_what_it_had_committed(name, tmp_path):
    variant = VARIANTS[name]
    config = variant.config()
    system, plan = system_of(config), plan_of(config, variant.environment, ROUNDS)
    run, events = None, Counter()
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        claim = system.claim(plan)
        simulated = PartiesReplicate(system, plan, variant.environment, 0, 0)
        for party in simulated.players:
            with ledger.begin() as connection:
                ledger.open_account(
                    connection, party.name, claim, claim.epsilon_contents, config.delta
                )
        supplies = ledgered(ledger, system, plan, simulated.stage.world)
        run = PartiesReplicate(
            system, plan, variant.environment, 0, 0, supplies=supplies,
            embody=lambda make: MortalParty(make, events),
        )  # fmt: skip
        run.advance(ROUNDS)
        assert run.syncs > 0
        with ledger.read() as connection:
            ledger.verify(connection)
            for party in run.players:
                statement = ledger.statement(connection, party.name)
                assert statement.charges >= 1
                assert statement.spent_mu <= claim.mu * (1 + 1e-12)
    assert sum(contents(message).size for message in sent(run)) > 0
    assert events.total() > ROUNDS


def test_a_step_is_given_back_once_and_only_to_who_replays(tmp_path):
    variant = VARIANTS["agents"]
    config = variant.config()
    claim = variant.claim()
    event = plan_of(config, variant.environment, 60).event
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        with ledger.begin() as connection:
            ledger.open_account(connection, "A", claim, 1.0, config.delta)
        noise = partial(LedgeredNoise, ledger, "A", "releases", event, SecureNoise())
        first = noise().cover(1, np.zeros(3))
        with pytest.raises(NoiseReuseError):
            noise().cover(1, np.zeros(3))
        again = noise(replays=True)
        # Other values: what was released stays what it was, and says nothing of them.
        np.testing.assert_array_equal(again.cover(1, np.ones(3)), first)
        with pytest.raises(NoiseReuseError):
            again.cover(1, np.zeros(3))
        second = again.cover(2, np.zeros(3))
        assert (second != first).all()
        with ledger.read() as connection:
            assert ledger.statement(connection, "A").charges == 2
