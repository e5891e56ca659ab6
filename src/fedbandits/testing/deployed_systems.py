"""The contract suite for deployments: between machines parties do what a simulation does."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable
from typing import Any

from fedbandits.federation import snapshots
from fedbandits.federation.roles import Supplies
from fedbandits.testing.applications import ROUNDS, AskedParty, Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from
from fedbandits.testing.driving import WorldDriver

_SEED = 1


def does_as_simulated(
    preset: str,
    folder: pathlib.Path,
    restarts: bool = False,
    make: Callable[..., DeployedFederation] = DeployedFederation,
    **parts: Any,
) -> None:
    """Check that durable members do what parties in one process do, bit for bit.

    Parameters
    ----------
    preset
        What they play.
    folder
        Where their stores are to be.
    restarts
        Whether one member after the other is stopped and started on the way.
    make
        Makes the members, given federation, folder and supplies.
    **parts
        Settings that differ from the preset's.
    """
    setting = Setting(preset, **parts)
    if setting.roles is None:
        return
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, _SEED, 0)
    expected = _simulated(setting, supplies)
    found = asyncio.run(_deployed(setting, supplies, folder, restarts, make))
    for party, state in expected.items():
        assert found[party] == state, f"{preset}: {party} is elsewhere than in a simulation"


def _simulated(setting: Setting, supplies: Supplies) -> dict[str, bytes]:
    application = setting.application
    run = setting.begin(lambda party: AskedParty(party, application), supplies)
    run.advance(ROUNDS)
    return {party.name: snapshots.plain(party.state) for party in run.parties}


async def _deployed(
    setting: Setting,
    supplies: Supplies,
    folder: pathlib.Path,
    restarts: bool,
    make: Callable[..., DeployedFederation],
) -> dict[str, bytes]:
    federation = federation_from(setting)
    deployed = make(federation, folder, supplies=supplies, held=True)
    await deployed.start()
    await deployed.greeted()
    driver = WorldDriver(deployed, setting.world, _SEED)
    everybody = federation.everybody
    for stop in range(10, ROUNDS + 1, 10):
        await driver.advance(stop)
        if restarts and not federation.roles.messages_set_pace:
            member = everybody[(stop // 10) % len(everybody)]
            await deployed.stop(member)
            await deployed.start(member)
            await deployed.greeted()
    found = {
        federation.party_of[member]: snapshots.plain(deployed.state(member)) for member in everybody
    }
    await deployed.stop()
    return found
