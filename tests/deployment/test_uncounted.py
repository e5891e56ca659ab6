"""Records that wait for a later release, and those that never count."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.deployment.hosting.cautions import counted_in_words
from fedbandits.deployment.process.examples import example
from fedbandits.environments.linear import Linear
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import DeployedFederation, simulated
from tests.deployment.federations import clinics, with_helpers

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5


@pytest.mark.parametrize("make", [clinics, with_helpers])
def test_what_waits_and_what_never_counts_is_told(make, tmp_path):
    """Three releases of ten decisions each: five of 35 are in none."""
    federation = make()
    assert federation.plan.schedule.last_counted == 30

    async def work():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, ENVIRONMENT, 7)
        )
        await deployed.start()
        await deployed.greeted()
        node, seen = deployed.nodes["clinic-0"], []

        async def decide(times):
            for _ in range(times):
                decided = await node.decide(node.application.ASKED(actions=ACTIONS))
                await node.reward(decided.number, node.application.TOLD(reward=1.0))
            status = node.status()
            told = status["records_waiting"], status["records_never"]
            seen.append((*told, status["problems"].get("records", "")))

        for times in (10, 10, 15):
            await decide(times)
        for tick in (1, 2, 3):
            await node.tick(tick)
        await decide(0)
        await deployed.stop()
        return seen

    (first, second, third, last) = asyncio.run(work())
    assert first == (0, 0, "")
    assert second == (10, 0, "")
    assert third[:2] == (20, 5)
    assert third[2].startswith(
        "20 records wait for a later release, and 5 decisions never count: all releases together "
        "are about the first 30."
    )
    assert last[:2] == (0, 5)


def test_how_many_decisions_count_is_said_before_a_federation_is_made():
    assert counted_in_words(clinics()) == (
        "Each release adds up to 10 decisions of a member, until 30 are counted. Later ones never "
        "count: if you expect more, choose a larger schedule, or more rounds"
    )
    settings = 'schedule = "every(1)"\nepsilon = 1.0\ndelta = 1e-5'
    assert "adds up to 1 decision of a member, until 4 are" in counted_in_words(
        clinics(settings=settings, rounds=5)
    )
    assert counted_in_words(read_federation(example("distributed-ucb"))) == ""
