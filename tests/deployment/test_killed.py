"""Processes and a broker that are killed lose nothing and repeat nothing; in full: benchmarks."""

from __future__ import annotations

import asyncio
import sys

import pytest

from fedbandits.environments.linear import Linear
from fedbandits.federation import snapshots
from tests.deployment.brokered import Brokered
from tests.deployment.federations import undisturbed
from tests.deployment.killed import Killed, killing, settled, states

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks members")

WORLD, ROUNDS = Linear(agents=2, dim=4, arms=5), 24
TABLE = {
    "name": "clinics", "rounds": 40, "noise": "simulated",
    "system": {"preset": "feducb", "schedule": "every(10)", "epsilon": 1.0, "delta": 1e-5},
    "facts": {"parties": 2, "dimension": 4, "arms": 5},
    "members": {"agent": ["north", "south"], "controller": ["hub"]},
    "clock": {"kind": "rounds"},
}  # fmt: skip


SECURE = TABLE | {
    "system": TABLE["system"] | {"preset": "feducb-secure"},
    "members": TABLE["members"] | {"helper": ["lab", "office"]},
}


@pytest.mark.parametrize(
    ("table", "victims"),
    [(TABLE, ["north", "hub", "broker"]), (SECURE, ["lab", "north", "hub"])],
    ids=["clear", "secure sums"],
)
def test_whoever_is_killed_goes_on_where_it_was(table, victims, tmp_path):
    with Brokered(table, tmp_path) as here:

        async def play():
            with Killed(here, WORLD, ROUNDS) as killed:
                killed.start()
                made = await killing(killed, victims, 6, True, 1, 2 * ROUNDS)
                await settled(killed)
                again = await killed.told_again()
                await killed.stop()
                return made, again, await states(killed)

        made, again, found = asyncio.run(play())
        federation = here.federation
    assert made >= 5
    assert again == 2 * ROUNDS
    for member, state in undisturbed(federation, WORLD, 0, ROUNDS).items():
        assert snapshots.plain(found[member]) == state, member
