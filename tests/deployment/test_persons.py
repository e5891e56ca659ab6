"""Persons in a federation between machines: counted there as in a simulation, and never shown."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fedbandits.client import DoorError
from fedbandits.errors import ConfigError
from fedbandits.federation import snapshots
from fedbandits.settings.federation import read_federation
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.deployed import DeployedFederation, simulated
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.doors import ACTIONS, AGENTS, InMemory, opened
from tests.deployment.federations import CLINICS
from tests.visited import Visited

WORLD = Visited()
SETTINGS = 'schedule = "every(5)"\nepsilon = 1.0\ndelta = 1e-5\nunit = "person"'


def clinics(persons="persons = 6"):
    table = {
        "clock": 'kind = "live"\nstart = 2999-01-01T00:00:00Z\nevery = "1 h"', "rewards": "",
        "preset": "feducb", "settings": SETTINGS, "agents": 3, "rounds": 40, "noise": "simulated",
        "message_time": "30 s", "others": 'controller = ["hub"]',
        "names": [f"clinic-{i}" for i in range(3)],
    }  # fmt: skip
    return read_federation(CLINICS.format(**table).replace("arms = 5", f"arms = 5\n{persons}"))


@pytest.mark.parametrize("restarts", [False, True])
def test_members_count_as_simulated_parties_do(tmp_path, restarts):
    federation = clinics()

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, WORLD, 7)
        )
        await deployed.start()
        await deployed.greeted()
        game = WorldDriver(deployed, WORLD, 7)
        for stop in (7, 14, 22):
            await game.advance(stop)
            if restarts:  # whoever is counted stays counted
                await deployed.stop("clinic-1")
                await deployed.start("clinic-1")
                await deployed.greeted()
        found = {m: snapshots.plain(deployed.state(m)) for m in federation.everybody}
        await deployed.stop()
        return found

    run = PartiesReplicate(federation.system, federation.plan, WORLD, 7, 0)
    run.advance(22)
    states = {federation.member_of[p.name]: snapshots.plain(p.state) for p in run.parties}
    assert asyncio.run(play()) == states
    assert all(len(agent.state.visits) == 6 for agent in run.players)


def test_terms_that_protect_persons_state_how_many_there_are():
    with pytest.raises(ConfigError, match="A federation states how many persons there are"):
        clinics(persons="")


def with_persons():
    table = AGENTS.format(models=1, noise="simulated")
    table = table.replace('preset = "feducb"', 'preset = "feducb", unit = "person"')
    return read_federation(table.replace("arms = 3", "arms = 3, persons = 100"))


def test_a_door_takes_persons_and_shows_none(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)

    async def ask(http):
        body = {"actions": ACTIONS}
        refused = await http.post("/v1/decisions", json=body)
        assert refused.status_code == 422
        assert "each decision needs the person" in refused.json()["detail"]
        for person in ("", "x" * 201, 4711, ["Ann"]):
            answer = await http.post("/v1/decisions", json={**body, "person": person})
            assert answer.status_code == 422
            assert "x" * 20 not in answer.text
        for _ in range(2):
            made = await http.post("/v1/decisions", json={**body, "person": "Annabel"})
            told = {"decision_id": made.json()["decision_id"], "reward": 1.0}
            assert (await http.post("/v1/rewards", json=told)).status_code == 204
        document = (await http.get("/openapi.json")).json()
        fields = document["components"]["schemas"]["DecisionAsked"]["properties"]
        assert fields["person"]["anyOf"][0]["maxLength"] == 200
        pages = [await http.get(path) for path in ("/v1/status", "/v1/privacy", "/metrics")]
        assert not any("Annabel" in page.text for page in pages)

    async def play():
        async with opened(InMemory(with_persons(), "north"), tmp_path) as (_, client):
            await ask(client._connections())

    asyncio.run(play())
    assert "Annabel" not in caplog.text


def test_the_client_sends_whom_it_is_about(tmp_path):
    async def play():
        async with opened(InMemory(with_persons(), "north"), tmp_path) as (_, client):
            made = await client.decide(actions=ACTIONS, person="Annabel")
            await client.reward(made, 1.0)
            with pytest.raises(DoorError, match="each decision needs the person"):
                await client.decide(actions=ACTIONS)

    asyncio.run(play())
