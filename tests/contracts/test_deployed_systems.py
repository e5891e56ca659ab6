"""Every system between machines does what it does in a simulation."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.errors import StaleStoreError
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, federation_from, until
from fedbandits.testing.deployed_systems import does_as_simulated

#: One of every kind of parties; ``benchmarks/deployed.py`` plays all presets.
PRESETS = [
    "feducb", "feducb-secure", "feducb-published", "feducb-p2p", "fedlinucb-async", "fclub",
    "fclub-published", "pfcb", "samba-ucb", "samba-silent-ucb",
]  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
def test_members_do_as_simulated(preset, tmp_path):
    does_as_simulated(preset, tmp_path, restarts=True)


def test_a_run_ends_where_a_machine_was_restarted_in_mid_run(tmp_path, monkeypatch):
    """Its newest commits may be lost, and nothing is ever sealed twice with other contents."""
    setting = Setting("samba-ucb")
    supplies = setting.system.simulated_supplies(setting.plan, setting.stated, 1, 0)
    federation = federation_from(setting)

    async def play():
        deployed = DeployedFederation(federation, tmp_path, supplies=supplies)
        await deployed.start()
        await deployed.greeted()
        await until(lambda: deployed.nodes["owner-0"].host.view.round_to_act is not None)
        await deployed.stop("owner-0")
        await deployed.start("owner-0")
        await deployed.stop("owner-0")
        monkeypatch.setattr("fedbandits.deployment.hosting.batch.machine_boot", lambda: 7)
        node = deployed.make("owner-0")
        with pytest.raises(StaleStoreError, match="restarted in mid-run"):
            await node.start()
        await node.stop()
        await deployed.stop()

    asyncio.run(play())
