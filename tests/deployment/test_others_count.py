"""How far others' records count is told to an organisation by its own door, and nowhere else."""

from __future__ import annotations

import asyncio
import io

import msgspec
import pytest
from rich.console import Console

from fedbandits.cli.federation_tables import status_of
from fedbandits.client import AsyncClient
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.process.local_doors import PartyReport
from fedbandits.environments.linear import Linear
from fedbandits.federation.messages import Message
from fedbandits.testing.deployed import DeployedFederation, simulated
from tests.deployment.doors import InMemory, agents
from tests.deployment.federations import clinics, with_helpers

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ACTIONS = [[0.1, 0.2, 0.3, 0.4], [0.3, -0.2, 0.1, 0.1], [0.2, 0.2, -0.4, 0.1]]
CLINICS = "clinic-0", "clinic-1", "clinic-2"
MANY = 'schedule = "every(10)"\nepsilon = 50.0\ndelta = 1e-5'
SECURE = f'{MANY}\n[system.aggregation]\nkind = "secure-sum"\nleast_parties = 2'
NAME = "others_count_as"


async def learn(deployed):
    for place, clinic in enumerate(CLINICS):
        node = deployed.nodes[clinic]
        for number in range(10):
            decided = await node.decide(node.application.ASKED(actions=ACTIONS))
            reward = 0.1 * ((number + place) % 5)
            await node.reward(decided.number, node.application.TOLD(reward=reward))


async def asked(node, folder, token):
    """What a clinic's door tells who has its token, and its metrics, as text."""
    async with (
        Door(node, folder, DoorSettings(port=0)) as door,
        AsyncClient(door.url, token) as client,
    ):
        page = await client._connections().get("/metrics")
        return await client.status(), page.text


def played(federation, folder):
    """All statuses before and after a sync, and after a restart; those of clinic-0 by its door."""

    token = make_token(folder, "tests", member="clinic-0")

    async def work():
        supplies = simulated(federation, ENVIRONMENT, 7)
        deployed = DeployedFederation(federation, folder, supplies=supplies)
        await deployed.start()
        await deployed.greeted()
        await learn(deployed)
        before, _ = await asked(deployed.nodes["clinic-0"], folder, token)
        for clinic in CLINICS:
            node = deployed.nodes[clinic]
            await node.end_round(node.host.view.next_end)
        await deployed.settle()
        statuses = {member: node.status() for member, node in deployed.nodes.items()}
        statuses["clinic-0"], page = await asked(deployed.nodes["clinic-0"], folder, token)
        await deployed.stop("clinic-0")
        await deployed.start("clinic-0")
        again = deployed.nodes["clinic-0"].status()
        await deployed.stop()
        return before, statuses, page, again

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("make", "preset", "settings"),
    [(clinics, "feducb-hybrid", MANY), (with_helpers, "feducb-secure-hybrid", SECURE)],
)
def test_a_clinic_is_told_after_a_sync_at_its_own_door(make, preset, settings, tmp_path):
    before, statuses, page, again = played(make(preset, settings), tmp_path)
    assert before[NAME] is None
    counts = {member: status[NAME] for member, status in statuses.items()}
    assert all(counts[clinic] > 0.0 for clinic in CLINICS)
    assert len({*counts.values()} - {None}) > 1  # each by its own records
    assert {counts[member] for member in counts if member not in CLINICS} == {None}
    assert again[NAME] == counts["clinic-0"]
    assert "fedbandits_decisions" in page
    assert NAME not in page
    assert "others" not in page


def test_agents_of_released_views_are_told_nothing(tmp_path):
    _, statuses, _, _ = played(clinics(settings=MANY), tmp_path)
    assert {status[NAME] for status in statuses.values()} == {None}


def test_it_changes_no_metric_and_is_in_no_message(tmp_path):
    served = InMemory(agents(), "north")
    told = served.status()
    pages = {Metrics(served).page(told | {NAME: count}, {}) for count in (None, 12.5)}
    assert len(pages) == 1

    def below(kind):
        return [kind, *(inner for each in kind.__subclasses__() for inner in below(each))]

    fields = {field.name for kind in below(Message) for field in msgspec.structs.fields(kind)}
    assert len(fields) > 10
    assert NAME not in fields


@pytest.mark.parametrize(
    ("count", "said"),
    [(None, ""), (0.0, "0"), (1.26, "1.3"), (40.2, "40"), (1234.6, "1,235")],
)
def test_the_command_says_it_in_words(count, said):
    status = {"connected": True, "ready": True, NAME: count}
    report = PartyReport(party="north", role="agent", running=True, status=status)
    shown = io.StringIO()
    Console(file=shown, width=200).print(*status_of(agents(), [report]))
    text = shown.getvalue()
    if said:
        assert f"north: the records of others tell it as much as {said} of its own\n" in text
    else:
        assert "records of others" not in text
