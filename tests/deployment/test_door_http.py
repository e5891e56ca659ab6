"""HTTP as clients of every kind speak it: whatever comes is answered in its order, or refused."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.deployment.door import DoorSettings, app, connections
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import until
from tests.deployment.doors import ACTIONS, SAMBA, InMemory, agents
from tests.deployment.test_door import JSON, head, named, played, raw

BODY = b'{"actions":[[0.5,0.0],[0.0,0.5],[0.3,0.3]]}'
ALIVE = b"GET /healthz HTTP/1.1\r\nhost: door\r\n\r\n"


async def answers(reader):
    """Statuses of all answers, until the connection ends; and what the last one says."""
    found, body = [], b""
    while line := await reader.readline():
        length, _, status = 0, *line.split()[:2]
        while (field := await reader.readline()) != b"\r\n":
            name, _, value = field.lower().partition(b":")
            length = int(value) if name == b"content-length" else length
        body = await reader.readexactly(length)
        found.append(int(status))
    return found, body


@pytest.mark.usefixtures("lingers_briefly")
@pytest.mark.parametrize(
    ("sent", "statuses"),
    [
        (b"GET /healthz HTTP/1.0\r\n\r\n", [200]),
        (b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", [200]),
        (ALIVE + b"GET /healthz HTTP/1.0\r\n\r\n", [200, 200]),
        (ALIVE + b"nonsense\r\n\r\n", [200, 400]),
        (b"GET http://door/healthz?x=1 HTTP/1.0\r\n\r\n", [200]),
        (b"GET /%68ealthz HTTP/1.0\r\n\r\n", [200]),
        (b"GET /healthz\xff HTTP/1.0\r\n\r\n", [400]),
        (b"OPTIONS * HTTP/1.0\r\n\r\n", [404]),
        (b"CONNECT door:80 HTTP/1.1\r\nhost: door\r\n\r\n", [400]),
        (b"GET /healthz HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", [200]),
        (b"POST /healthz HTTP/1.1\r\ncontent-length: x\r\n\r\n", [400]),
        (b"POST /healthz HTTP/1.1\r\ncontent-length:\r\n\r\n", [400]),
        (b"POST /healthz HTTP/1.1\r\ncontent-length: -1\r\n\r\n", [400]),
        (b"POST /healthz HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", [400]),
        (b"POST / HTTP/1.1\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n", [400]),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999999999999999\r\n\r\n", [400]),
        (b"GET /healthz HTTP/1.1\r\nx: \x01\r\n\r\n", [400]),
        (b"GET /healthz HTTP/1.1\r\n x: folded\r\n\r\n", [400]),
    ],
)
def test_what_is_no_plain_request_is_answered_or_named(tmp_path, sent, statuses):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(sent)
            found, body = await answers(reader)
            assert found == statuses
            if statuses[-1] == 400:
                assert b"problem:no-http" in body

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=30, keep_alive=1)


def test_a_path_with_the_name_of_a_value_is_a_value(tmp_path):
    async def scenario(http, door):
        refused = await http.post("/v1/pulls/%7Bpull_id%7D", json={"reward": 1})
        named(refused, "unknown-decision", 404)

    played(scenario, InMemory(read_federation(SAMBA), "left"), tmp_path)


@pytest.mark.usefixtures("lingers_briefly")
def test_what_is_wrong_behind_a_request_is_said_behind_its_answer(tmp_path):
    """An answer that came before would be taken for the first one's, which was carried out."""
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        for wrong in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 2_000 + b"\r\n\r\n"):
            served.may_answer.clear()
            async with raw(door) as (reader, writer):
                writer.write(head(door, http, f"content-length: {len(BODY)}") + BODY + wrong)
                await until(lambda: served.may_answer._waiters)
                served.may_answer.set()
                found, _ = await answers(reader)
                assert found in ([200, 400], [200, 431])

    played(scenario, served, tmp_path, most_head=1_500)


def test_requests_wait_for_those_before_them_and_are_read_no_further(tmp_path):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        served.may_answer.clear()
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, f"content-length: {len(BODY)}") + BODY + ALIVE * 3_000)
            await until(lambda: served.may_answer._waiters)
            (connection,) = (c for c in door._connections.state.connections if c.pipeline)
            await until(lambda: connection.flow.read_paused)
            assert len(connection.pipeline) <= 1 + 8_192 // len(ALIVE) + 1
            served.may_answer.set()
            writer.write_eof()
            assert b" 200 " in await reader.readline()

    played(scenario, served, tmp_path)


def test_a_request_that_comes_behind_another_has_a_time_of_its_own(tmp_path):
    """A connection is not idle then."""
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        served.may_answer.clear()
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, f"content-length: {len(BODY)}") + BODY + ALIVE[:20])
            await until(lambda: served.may_answer._waiters)
            served.may_answer.set()
            assert b" 200 " in await reader.readline()
            (connection,) = (c for c in door._connections.state.connections if c._part)
            connection.timeout_keep_alive_handler()
            writer.write(ALIVE[20:])
            writer.write(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert (await reader.read()).count(b" 200 ") == 2

    played(scenario, served, tmp_path)


def test_an_upgrade_is_answered_as_the_last_request(tmp_path):
    """Bytes behind it are of another protocol; the door speaks none."""
    upgrade = b"GET /healthz HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"

    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(upgrade + ALIVE)
            statuses, _ = await asyncio.wait_for(answers(reader), 20)
            assert statuses == [200]

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=600, keep_alive=600)


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"nonsense\r\n\r\n", b" 400 "), (b"content-length: 100000000", b" 413 ")],
)
def test_a_connection_outlives_its_last_answer_while_its_client_sends(
    tmp_path, monkeypatch, sent, status
):
    """A connection that is closed at once is reset, and the answer is lost on the way."""
    monkeypatch.setattr(connections, "LINGER", 600)
    monkeypatch.setattr(app, "LINGER", 600)

    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(sent if sent.endswith(b"\n") else head(door, http, sent.decode()))
            assert status in await reader.readline()
            await reader.readuntil(b"}")
            connection = next(
                each for each in door._connections.state.connections
                if each.transport.get_extra_info("peername") == writer.get_extra_info("sockname")
            )  # fmt: skip
            assert not connection.transport.is_closing()

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_who_waits_to_be_asked_for_a_body_is_asked_once_it_is_let_in(tmp_path):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, f"content-length: {len(BODY)}", "expect: 100-continue"))
            assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
            assert await reader.readline() == b"\r\n"
            writer.write(BODY)
            assert b" 200 " in await reader.readline()
        refused = await http.post(
            "/v1/decisions",
            content=BODY,
            headers={"expect": "100-continue", **JSON, "authorization": ""},
        )
        named(refused, "unauthorised", 401)

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_a_client_that_has_gone_leaves_nothing_behind(tmp_path):
    """What it asked for is carried out, and told to nobody."""
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        served.may_answer.clear()
        async with raw(door) as (_, writer):
            writer.write(head(door, http, f"content-length: {len(BODY)}") + BODY)
            await until(lambda: served.may_answer._waiters)
        await until(lambda: not door._connections.state.connections)
        served.may_answer.set()
        await until(lambda: not door._connections.state.tasks)
        assert served.keys == [""]

    played(scenario, served, tmp_path)


def test_a_door_that_closes_waits_for_no_request_longer_than_it_may(tmp_path):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        served.may_answer.clear()
        asked = asyncio.create_task(http.post("/v1/decisions", json={"actions": ACTIONS}))
        await until(lambda: served.may_answer._waiters)
        await door.stop()
        await asyncio.wait([asked])
        assert asked.exception() is not None
        await until(lambda: not door._connections.state.tasks)

    played(scenario, served, tmp_path, drain=0.05)


def test_every_limit_of_the_settings_is_one_of_the_door(tmp_path):
    async def scenario(http, door):
        limits, connections = DoorSettings(most_body=2_000, most_head=3_000), door._connections
        assert (connections.settings.most_body, connections.settings.most_head) == (2_000, 3_000)
        assert connections.settings.request_time == limits.request_time
        assert (connections.most, connections.config.timeout_keep_alive) == (7, 9)

    played(
        scenario, InMemory(agents(), "north"), tmp_path,
        most_body=2_000, most_head=3_000, most_connections=7, keep_alive=9,
    )  # fmt: skip
