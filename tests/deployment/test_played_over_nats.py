"""Members that meet at a real broker do what the parties of a simulation do, bit for bit."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.environments.linear import Linear
from fedbandits.federation import snapshots
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.applications import Setting
from fedbandits.testing.deployed import DeployedFederation, simulated, table_from
from fedbandits.testing.deployed_systems import does_as_simulated
from tests.deployment.brokered import Brokered, InOrder, drive_by_themselves

WORLD, ROUNDS, SEED = Linear(agents=5, dim=4, arms=5), 25, 7
FIVE = {
    "name": "clinics", "rounds": 40, "noise": "simulated",
    "system": {"preset": "feducb", "schedule": "every(10)", "epsilon": 1.0, "delta": 1e-5},
    "facts": {"parties": 5, "dimension": 4, "arms": 5},
    "members": {"agent": [f"clinic-{i}" for i in range(5)], "controller": ["hub"]},
    "clock": {"kind": "rounds"},
}  # fmt: skip


@pytest.mark.parametrize(
    "preset",
    ["feducb", "feducb-secure", "fclub", "pfcb", "pfcb-secure", "samba-ucb", "samba-silent-ucb"],
)
def test_members_do_as_simulated(preset, tmp_path):
    with Brokered(table_from(Setting(preset)), tmp_path) as here:

        def make(federation, folder, supplies, held):
            assert held
            order = InOrder(here.transport)
            return DeployedFederation(
                federation, folder, seals=here.seals, supplies=supplies, order=order
            )

        does_as_simulated(preset, tmp_path, make=make)


def test_agents_who_drive_by_themselves(tmp_path):
    """Nobody keeps frames in order, and nobody waits for others but for the sums."""
    with Brokered(FIVE, tmp_path) as here:
        federation = here.federation

        async def play():
            deployed = DeployedFederation(
                federation, tmp_path, here.transport, here.seals, simulated(federation, WORLD, SEED)
            )
            await deployed.start()
            await deployed.greeted()
            actions = await drive_by_themselves(deployed, WORLD, SEED, ROUNDS)
            await deployed.settle()
            found = {m: snapshots.plain(deployed.state(m)) for m in federation.everybody}
            await deployed.stop()
            return actions, found

        actions, found = asyncio.run(play())
    run = PartiesReplicate(federation.system, federation.plan, WORLD, SEED, 0)
    run.advance(ROUNDS)
    states = {federation.member_of[p.name]: snapshots.plain(p.state) for p in run.parties}
    assert found == states
    assert sorted(actions) == decisions_of(federation)


def decisions_of(federation):
    """All decisions of the parties in one process: (round, place, action)."""
    found = []

    class Noting:
        def __init__(self, party, place):
            self.party, self._place = party, place

        def __getattr__(self, name):
            return getattr(self.party, name)

        def decide(self, situation):
            decision = self.party.decide(situation)
            found.append((decision.number, self._place, int(decision.action)))
            return decision

    places = iter(range(5))

    def embody(make):
        party = make()
        return Noting(party, next(places)) if party.role == "agent" else party

    run = PartiesReplicate(federation.system, federation.plan, WORLD, SEED, 0, embody=embody)
    run.advance(ROUNDS)
    return sorted(found)
