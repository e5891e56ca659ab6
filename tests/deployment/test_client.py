"""The client over real HTTP: typed answers, typed errors, numpy arrays, both flavours alike."""

from __future__ import annotations

import asyncio
import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import fedbandits as fb
from fedbandits import client as room
from fedbandits import errors
from fedbandits.client import AsyncClient, Client, Decision, calls
from fedbandits.client.calls import ERRORS
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.deployment.door.served import Ids
from fedbandits.settings.federation import read_federation
from fedbandits.systems.agents.application import ActionsAsked, ContextAsked
from fedbandits.systems.pfcb.application import PurchaseAsked
from fedbandits.systems.servers.application import ItemsAsked
from tests.deployment.doors import ACTIONS, SAMBA, Buyer, InMemory, agents


def used(use, served, folder):
    """What a plain function makes of a client, in a thread beside the door."""
    token = make_token(folder, "tests", member=served.member)

    async def play():
        async with Door(served, folder, DoorSettings(port=0)) as door:
            return await asyncio.to_thread(use, door.url, token)

    return asyncio.run(play())


def test_decisions_and_rewards(tmp_path):
    served = InMemory(agents(), "north")

    def use(url, token):
        with Client(url, token) as client:
            plain = client.decide(actions=ACTIONS)
            array = client.decide(actions=np.array(ACTIONS, np.float32))
            rows = client.decide(actions=[np.array(row) for row in ACTIONS])
            for decision, reward in ((plain, 0.5), (array.id, np.float64(0.25)), (rows, 1)):
                client.reward(decision, reward)
            assert client.status()["stage"] == "ready"
            assert client.privacy()["epsilon_left"] == 0.75
            with pytest.raises(room.DuplicateError) as found:
                client.reward(plain, 0.5)
            return plain, found.value

    plain, error = used(use, served, tmp_path)
    assert isinstance(plain, Decision)
    assert isinstance(plain.action, int)
    assert [told.reward for _, told in served.told] == [0.5, 0.25, 1.0]
    assert (error.status, error.type) == (409, "urn:fedbandits:problem:duplicate")
    assert "has its reward" in str(error)


def test_a_context(tmp_path):
    def use(url, token):
        with Client(url, token) as client:
            return client.decide(context=np.array([0.1, 0.2])).action

    assert used(use, InMemory(agents(models=3), "north"), tmp_path) in range(3)


def test_actions_that_can_be_chosen_now(tmp_path):
    def use(url, token):
        with Client(url, token) as client:
            some = [client.decide(context=[0.1, 0.2], available=[last]).action for last in range(3)]
            array = client.decide(context=[0.1, 0.2], available=np.array([1])).action
            with pytest.raises(room.OutOfBoundsError, match="available"):
                client.decide(context=[0.1, 0.2], available=[3])
            return [*some, array]

    assert used(use, InMemory(agents(models=3), "north"), tmp_path) == [0, 1, 2, 1]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_decision_can_be_asked_for_in_every_systems_words(kind):
    """What a door takes has a parameter of its own in both clients."""
    shapes = (ActionsAsked, ContextAsked, ItemsAsked, PurchaseAsked)
    asked = {field for shape in shapes for field in shape.__struct_fields__}
    assert {"actions", "available", "user"} <= asked
    assert asked <= set(inspect.signature(kind.decide).parameters)


def test_fields_of_a_system_of_ones_own():
    call = calls.decide(None, context=None, weather="rain")
    assert call.body == {"weather": "rain"}


def test_asyncio(tmp_path):
    token = make_token(tmp_path, "tests", member="north")

    async def play():
        async with (
            Door(InMemory(agents(), "north"), tmp_path, DoorSettings(port=0)) as door,
            AsyncClient(door.url, token) as client,
        ):
            decisions = await asyncio.gather(*(client.decide(actions=ACTIONS) for _ in range(20)))
            assert len({decision.id for decision in decisions}) == 20
            await asyncio.gather(*(client.reward(decision, 0.5) for decision in decisions))
            assert (await client.status())["connected"]
            assert (await client.privacy())["epsilon_spent"] == 0.25
            with pytest.raises(room.NotOfferedError):
                await client.next_pull()

    asyncio.run(play())


def test_pulls_and_orders(tmp_path):
    federation = read_federation(SAMBA)
    (tmp_path / "buyer").mkdir()
    owner = InMemory(federation, "left")
    owner.patience = 0.05

    def pull(url, token):
        with Client(url, token) as client:
            assert client.next_pull(wait=0) is None
            owner.pulls.put_nowait(3)
            due = client.next_pull(wait=1)
            client.pull(due, 1)
            with pytest.raises(room.InvalidRequestError):
                client.next_pull(wait=61)
            with pytest.raises(room.InvalidRequestError):
                client.pull(due, 2)
            with pytest.raises(room.DecisionUnknownError):
                client.pull("left", 1)
            with pytest.raises(room.InvalidRequestError):
                client.pull("../orders", 1)
            return due

    assert used(pull, owner, tmp_path) == Ids(owner).name(3)
    assert owner.told == [(3, 1)]

    def order(url, token):
        with Client(url, token) as client:
            client.order()
            with pytest.raises(room.RefusedError, match="is ordered"):
                client.order()

    used(order, Buyer(federation, "buyer"), tmp_path / "buyer")


RAISED = [
    (errors.LateRewardError, room.LateError),
    (errors.BoundExceededError, room.OutOfBoundsError),
    (errors.LocalProtocolError, room.RefusedError),
    (errors.UnknownDecisionError, room.DecisionUnknownError),
    (errors.NotReadyError, room.UnavailableError),
    (errors.StoreFullError, room.UnavailableError),
    (RuntimeError, room.UnavailableError),
]


def test_errors_are_what_the_party_said(tmp_path):
    served = InMemory(agents(), "north")

    def use(url, token):
        with Client(url, token, retries=0) as client:
            for raised, expected in RAISED:
                served.raises = raised("what is wrong")
                with pytest.raises(expected) as found:
                    client.decide(actions=ACTIONS)
                assert ("what is wrong" in str(found.value)) == (raised is not RuntimeError)
            served.raises = None
            with pytest.raises(room.InvalidRequestError, match="actions"):
                client.decide(context=[0.1])
            with pytest.raises(room.InvalidRequestError):
                client.decide(actions=[[float("nan"), 0.0]] * 3)
            with pytest.raises(TypeError, match="object cannot be sent"):
                client.decide(actions=object())
        with Client(url, "nonsense") as client, pytest.raises(room.TokenError):
            client.status()

    used(use, served, tmp_path)


def test_no_door(tmp_path):
    """A connection that is refused is tried again, and then named; so is another server."""
    waited = []
    with Client("http://127.0.0.1:9", "token", sleep=waited.append) as client:
        with pytest.raises(room.UnreachableError) as found:
            client.status()
        assert found.value.status == 0
    assert waited == [0.5, 1.0, 2.0]

    async def other(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    def ask(port):
        url = f"http://127.0.0.1:{port}"
        with Client(url, "token") as client, pytest.raises(room.DoorError, match="no door"):
            client.status()

    async def play():
        async with await asyncio.start_server(other, "127.0.0.1", 0) as server:
            await asyncio.to_thread(ask, server.sockets[0].getsockname()[1])

    asyncio.run(play())


def test_without_retries_a_request_is_sent_once(tmp_path):
    """Not even a connection that was closed is opened again for it."""
    seen = []

    async def drops(reader, writer):
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()
        await writer.wait_closed()

    def ask(port):
        url = f"http://127.0.0.1:{port}"
        with Client(url, "token", retries=0) as client, pytest.raises(room.UnreachableError):
            client.decide(actions=ACTIONS)

    async def play():
        async with await asyncio.start_server(drops, "127.0.0.1", 0) as server:
            await asyncio.to_thread(ask, server.sockets[0].getsockname()[1])

    asyncio.run(play())
    assert len(seen) == 1


def test_both_clients_are_alike():
    def methods(kind):
        return {
            name: [str(p) for p in inspect.signature(method).parameters.values()]
            for name, method in vars(kind).items()
            if not name.startswith("_") or name == "__init__"
        }

    assert methods(Client) == methods(AsyncClient)
    for name in ("decide", "reward", "next_pull", "pull", "order", "privacy", "status", "close"):
        assert inspect.iscoroutinefunction(getattr(AsyncClient, name))


def test_every_error_stands_for_some_problem():
    assert set(ERRORS.values()) == set(room.DoorError.__subclasses__()) - {room.UnreachableError}
    assert fb.Client is Client
    assert fb.AsyncClient is AsyncClient


WITHOUT = """
import sys
sys.modules["httpx"] = None
import fedbandits as fb
try:
    fb.Client
except fb.errors.MissingExtraError as error:
    assert "the extra 'federation'" in str(error)
    print("named")
"""


def test_without_its_libraries_it_says_what_to_install():
    src = pathlib.Path(fb.__file__).parents[1]
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(src)},
    )  # fmt: skip
    assert found.stdout == "named\n"
