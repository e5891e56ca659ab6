"""Members of one name under other terms: told by the first key that differs, and left out."""

from __future__ import annotations

import asyncio

from fedbandits.environments.linear import Linear
from fedbandits.testing.deployed import DeployedFederation, simulated, until
from tests.deployment.federations import clinics

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)


def test_both_sides_name_the_key_and_both_values(tmp_path):
    ours = clinics()
    theirs = clinics(settings='schedule = "every(10)"\nepsilon = 1000.0\ndelta = 1e-5')
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()

    async def play():
        here = DeployedFederation(ours, tmp_path / "ours", supplies=simulated(ours, ENVIRONMENT, 7))
        there = DeployedFederation(
            theirs, tmp_path / "theirs", supplies=simulated(theirs, ENVIRONMENT, 7)
        )
        there.hub = here.hub
        await here.start("hub", "clinic-0", "clinic-1")
        await there.start("clinic-2")
        hub, stranger = here.nodes["hub"], there.nodes["clinic-2"]
        await until(lambda: {"clinic-0", "clinic-1"} <= set(hub.delivery.greeted))
        await until(lambda: "epsilon" in str(hub.status()["problems"].get("clinic-2")))
        await until(lambda: "epsilon" in str(stranger.status()["problems"].get("hub")))
        found = hub.status()["problems"]["clinic-2"], stranger.status()["problems"]["hub"]
        assert "clinic-2" not in hub.delivery.greeted
        assert not stranger.delivery.greeted
        assert set(hub.status()["problems"]) == {"clinic-2"}
        await there.stop()
        await here.stop()
        return found

    hub, stranger = asyncio.run(play())
    assert hub == (
        "OtherTermsError: clinic-2 has other terms: system.epsilon is 1000.0 there and 1.0 here"
    )
    assert "system.epsilon is 1.0 there and 1000.0 here" in stranger
