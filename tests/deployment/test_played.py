"""A federation of durable members does what the parties of a simulation do, bit for bit."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.environments.linear import Linear
from fedbandits.federation import snapshots
from fedbandits.testing.deployed import DeployedFederation, simulated
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.federations import clinics, undisturbed, with_helpers


@pytest.mark.parametrize("make", [clinics, with_helpers])
def test_agents_and_their_controller(make, tmp_path):
    federation = make()
    environment = Linear(agents=3, dim=4, arms=5)

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, environment, 7)
        )
        await deployed.start()
        await deployed.greeted()
        game = WorldDriver(deployed, environment, 7)
        await game.advance(25)
        found = {m: snapshots.plain(deployed.state(m)) for m in federation.everybody}
        await deployed.stop()
        return found

    assert asyncio.run(play()) == undisturbed(federation, environment, 7, 25)
