"""The door over real HTTP: what is answered, what is refused by which name, what is never read."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import re
import ssl

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits import errors
from fedbandits.client import AsyncClient
from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.door import (
    Door,
    DoorSettings,
    make_token,
    new_loop,
    revoke_token,
    tokens,
)
from fedbandits.deployment.door.connections import PIECE, Connection, most_connections
from fedbandits.deployment.door.metrics import Metrics
from fedbandits.deployment.door.problems import PREFIX, PROBLEMS
from fedbandits.deployment.door.served import Ids
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.store import Store
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import OpenSeals, until
from tests.deployment.certificates import self_signed
from tests.deployment.doors import ACTIONS, SAMBA, Buyer, InMemory, agents, opened

JSON = {"content-type": "application/json"}


def played(scenario, served, folder, **settings):
    """Run a scenario with an open door: given its http client and the door."""

    async def play():
        async with opened(served, folder, **settings) as (door, client):
            return await scenario(client._connections(), door)

    with asyncio.Runner(loop_factory=new_loop) as runner:  # as parties run
        return runner.run(play())


def named(response, problem, status):
    """Check that a refusal has the name and the form of problem details."""
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert (told["type"], response.status_code) == (PREFIX + problem, status)
    assert told["status"] == status
    assert told["title"]


@contextlib.asynccontextmanager
async def raw(door):
    """A connection without a client's manners."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def north(tmp_path):
    """A durable party alone in its federation."""
    seat = HostedSeat.of(agents(noise="secure"), "north")
    store = Store.open(tmp_path / "store.db", "clinics", "north", seat.terms.digest)
    node = Node(seat, store, MemoryHub().transport("north"), OpenSeals(), OpenSeals())
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


# --- decisions and rewards ---


def test_a_durable_party_decides_and_learns(tmp_path):
    """Of a real host; it goes on where it was after a restart, under the same names."""

    async def once(begin, told):
        async with (
            north(tmp_path) as node,
            Door(node, tmp_path, DoorSettings(port=0)) as door,
            AsyncClient(door.url, token) as client,
        ):
            decisions = [await client.decide(actions=ACTIONS) for _ in range(3)]
            digest = node.federation.terms.digest[:8]
            assert [d.id for d in decisions] == [f"north-{digest}-{begin + n}" for n in (1, 2, 3)]
            assert all(d.action in range(3) for d in decisions)
            for decision in (*told, decisions[0]):
                await client.reward(decision, 0.5)
            status = await client.status()
            assert status["open_decisions"] == 2
            privacy = await client.privacy()
            assert privacy["epsilon_spent"] == 0.0
            assert privacy["unit"].startswith("one interaction")
            assert "all messages ever sent" in privacy["from_whom"]
            assert [set(limit) for limit in privacy["not_protected"]] == [{"what", "why"}] * 2
            return decisions[1:]

    async def play():
        left = await once(0, [])
        await once(3, left)

    token = make_token(tmp_path, "tests", member="north")
    asyncio.run(play())


def test_rewards_that_do_not_fit(tmp_path):
    async def scenario(http, door):
        asked = {"actions": ACTIONS}
        decided = (await http.post("/v1/decisions", json=asked)).json()
        told = {"decision_id": decided["decision_id"], "reward": 0.5}
        beyond = told | {"reward": 1.5}
        named(await http.post("/v1/rewards", json=beyond), "out-of-bounds", 422)
        assert (await http.post("/v1/rewards", json=told)).status_code == 204
        named(await http.post("/v1/rewards", json=told), "duplicate", 409)
        for other in ("south-36194887-1", "north-00000000-1", f"{told['decision_id']}1", ""):
            unknown = told | {"decision_id": other}
            named(await http.post("/v1/rewards", json=unknown), "unknown-decision", 404)

    played(scenario, InMemory(agents(), "north"), tmp_path)


NAMES = st.one_of(
    st.text(max_size=40),
    st.from_regex(r"[0-9 +_-]{0,25}", fullmatch=True).map(lambda shown: digits().prefix + shown),
)


@functools.cache
def digits():
    """Names of decisions; a party is made for them, which needs kernels."""
    return Ids(InMemory(agents(), "north"))


@given(NAMES)
def test_a_decision_has_one_name(name):
    prefix = digits().prefix
    try:
        number = digits().number(name)
    except errors.UnknownDecisionError:
        shown = name.removeprefix(prefix)  # numbers begin at 1
        assert not shown.isdecimal() or int(shown) == 0 or name != digits().name(int(shown))
    else:
        assert digits().name(number) == name


@given(st.integers(1, 10**18 - 1))
def test_a_name_finds_its_decision(number):
    assert digits().number(digits().name(number)) == number


# --- what is refused ---

ROWS = "[[0.5,0],[0,0.5],%s]"
BODIES = [
    ("", "malformed", 400),
    ("{", "malformed", 400),
    ("\ufeff{}", "malformed", 400),
    ('{"actions":' + ROWS % "[0.3,NaN]" + "}", "malformed", 400),
    ('{"actions":' + ROWS % "[0.3,Infinity]" + "}", "malformed", 400),
    ('{"actions":' + ROWS % "[0.3,0.3]" + "}x", "malformed", 400),
    ("[" * 100_000, "invalid", 422),
    ('{"actions":' + "[" * 100_000 + "}", "invalid", 422),
    ("null", "invalid", 422),
    ("{}", "invalid", 422),
    ('{"actions":' + ROWS % "[0.3,1e999]" + "}", "out-of-bounds", 422),
    ('{"actions":' + ROWS % '[0.3,"0.3"]' + "}", "invalid", 422),
    ('{"actions":' + ROWS % "[0.3,true]" + "}", "invalid", 422),
    ('{"actions":' + ROWS % "[0.3]" + "}", "invalid", 422),
    ('{"actions":' + ROWS % "[0.3,0.3],[0.3,0.3]" + "}", "invalid", 422),
    ('{"actions":' + ROWS % "[0.3,0.3]" + ',"user":1}', "invalid", 422),
    ('{"actions":' + ROWS % "[0.3,1e300]" + "}", "out-of-bounds", 422),
]


def test_bodies_that_are_none(tmp_path):
    """Each by its name; the party is as it was, and the connection lives on."""

    async def scenario(http, door):
        for body, problem, status in BODIES:
            refused = await http.post("/v1/decisions", content=body.encode(), headers=JSON)
            named(refused, problem, status)
        refused = await http.post("/v1/decisions", content=b'{"\xff":1}', headers=JSON)
        named(refused, "malformed", 400)
        again = '{"actions":1,"actions":' + ROWS % "[0.3,0.3]" + "}"
        twice = await http.post("/v1/decisions", content=again, headers=JSON)
        named(twice, "invalid", 422)
        decided = await http.post("/v1/decisions", json={"actions": ACTIONS})
        assert decided.json()["decision_id"].endswith("-1")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
            other = {"content-type": kind}
            refused = await http.post("/v1/decisions", content=b"{}", headers=other)
            named(refused, "unsupported-media-type", 415)
        kind = {"content-type": "Application/JSON; charset=utf-8"}
        named(await http.post("/v1/decisions", content=b"{}", headers=kind), "invalid", 422)

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_what_a_party_says_of_itself_has_the_name_of_its_organisation(tmp_path):
    """Its system calls it agent-0, which an application has never heard of."""

    async def scenario(http, door):
        long = await http.post("/v1/decisions", json={"actions": [[2.0, 0.0]] * len(ACTIONS)})
        assert long.json()["detail"].startswith("north, a decision that was asked for: ")
        who = await http.post("/v1/decisions", json={"actions": ACTIONS, "person": "4711"})
        assert who.json()["detail"].startswith("north: the terms protect records")

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_one_context_where_actions_have_models_of_their_own(tmp_path):
    async def scenario(http, door):
        assert (await http.post("/v1/decisions", json={"context": [0.1, 0.2]})).status_code == 200
        for wrong in ({"context": [0.1]}, {"context": [[0.1, 0.2]]}, {"actions": ACTIONS}):
            named(await http.post("/v1/decisions", json=wrong), "invalid", 422)

    played(scenario, InMemory(agents(models=3), "north"), tmp_path)


MEANT = [
    (errors.UnknownDecisionError, "unknown-decision", 404),
    (errors.DuplicateRewardError, "duplicate", 409),
    (errors.LateRewardError, "late", 410),
    (errors.BoundExceededError, "out-of-bounds", 422),
    (errors.LocalProtocolError, "refused", 422),
    (errors.NotReadyError, "not-ready", 503),
    (errors.StoreError, "unavailable", 503),
    (errors.StaleStoreError, "unavailable", 503),
    (errors.LedgerBusyError, "unavailable", 503),
    (errors.StoreFullError, "store-full", 507),
]


def test_what_a_party_raises_has_a_name(tmp_path):
    served = InMemory(agents(), "north")
    told = {"decision_id": digits().name(1), "reward": 0.5}

    async def scenario(http, door):
        for kind, problem, status in MEANT:
            served.raises = kind("north: what is wrong")
            for path, body in (("decisions", {"actions": ACTIONS}), ("rewards", told)):
                refused = await http.post(f"/v1/{path}", json=body)
                named(refused, problem, status)
                assert refused.json()["detail"] == "north: what is wrong"
                assert ("retry-after" in refused.headers) == (status == 503)

    played(scenario, served, tmp_path)


@pytest.mark.parametrize("kind", [RuntimeError, errors.NoiseError, errors.ReleaseRefusedError])
def test_a_fault_shows_nothing_of_itself(tmp_path, caplog, kind):
    served = InMemory(agents(), "north")
    served.raises = kind("the context 0.271828")

    async def scenario(http, door):
        refused = await http.post("/v1/decisions", json={"actions": ACTIONS})
        named(refused, "internal", 500)
        assert "0.271828" not in refused.text
        served.raises = None
        assert (await http.post("/v1/decisions", json={"actions": ACTIONS})).is_success

    played(scenario, served, tmp_path)
    (line,) = [r.message for r in caplog.records if r.name == "fedbandits.door"]
    assert json.loads(line)["error"] == kind.__name__
    assert json.loads(line)["place"].startswith("doors.py:")
    assert "0.271828" not in caplog.text


# --- what is never read to its end ---


def head(door, client, *more):
    authorization = client.headers["authorization"]
    lines = (
        "POST /v1/decisions HTTP/1.1", "host: door", f"authorization: {authorization}",
        "content-type: application/json", *more, "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode()


def test_a_body_that_is_too_large_is_refused_before_it_comes(tmp_path):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, "content-length: 100000000", "expect: 100-continue"))
            assert b" 413 " in await reader.readline()
            assert b"too-large" in await reader.read()
        refused = await asyncio.to_thread(
            httpx.post, f"{door.url}/v1/decisions", content=b" " * 100_000_000,
            headers={**http.headers, **JSON}, timeout=60,
        )  # fmt: skip
        named(refused, "too-large", 413)
        assert refused.headers["connection"] == "close"
        just = b'{"actions":' + b" " * (1_000_000 - 13) + b"1}"
        named(await http.post("/v1/decisions", content=just, headers=JSON), "invalid", 422)
        named(await http.post("/v1/decisions", content=just + b" ", headers=JSON), "too-large", 413)

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_a_body_without_a_length_is_read_to_the_limit(tmp_path):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, "transfer-encoding: chunked"))
            answer = asyncio.create_task(reader.readline())
            sent, piece = 0, b"10000\r\n" + b" " * 0x10000 + b"\r\n"
            with contextlib.suppress(ConnectionError):
                while sent < 100_000_000:
                    writer.write(piece)
                    await writer.drain()
                    sent += len(piece)
            assert sent < 20_000_000  # what lies in between, in buffers
            assert b" 413 " in await answer

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_who_is_not_let_in_need_not_send_everything(tmp_path):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(b"POST /v1/decisions HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n")
            assert b" 401 " in await reader.readline()
            await reader.read()  # to the end: the connection is closed

    played(scenario, InMemory(agents(), "north"), tmp_path)


@pytest.mark.usefixtures("lingers_briefly")
@pytest.mark.parametrize(
    "body", ["GET /healthz HTTP/1.1\r\n", "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"]
)
def test_a_request_that_does_not_end_is_not_waited_for(tmp_path, body):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(body.encode())
            answer = await reader.read()
            assert b" 408 " in answer or b" 404 " in answer
        async with raw(door) as (reader, writer):  # nor is who says nothing
            assert await reader.read() == b""

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=0.2)


@pytest.mark.usefixtures("lingers_briefly")
def test_a_slow_body_has_a_name(tmp_path):
    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, "content-length: 20") + b"{")
            answer = await reader.read()
            assert b" 408 " in answer
            assert b"problem:slow" in answer

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=0.2)


@pytest.mark.usefixtures("lingers_briefly")
def test_headers_without_end_are_refused(tmp_path):
    async def scenario(http, door):
        for piece in (b"x: " + b"y" * 60_000, b"x: y\r\n" * 10_000, b"\r\n"):
            async with raw(door) as (reader, writer):
                writer.write(b"GET /healthz HTTP/1.1\r\n" + piece)
                answer = await reader.read(5000) if piece != b"\r\n" else await reader.readline()
                assert answer[9:12] == (b"200" if piece == b"\r\n" else b"431")
        async with raw(door) as (reader, writer):
            writer.write(b"GET /" + b"y" * 60_000)
            assert b" 431 " in await reader.readline()
        async with raw(door) as (reader, writer):
            writer.write(b"\x16\x03\x01\x02\x00 is TLS, not HTTP\r\n\r\n")
            answer = await reader.read()
            assert answer[9:12] == b"400"
            assert b"problem:no-http" in answer

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_requests_may_follow_each_other_on_a_connection(tmp_path):
    """Also before the first one was answered."""

    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: door\r\n\r\n" * 3)
            for _ in range(3):
                assert b" 200 " in await reader.readline()
                while await reader.readline() != b"\r\n":
                    pass
                assert await reader.readexactly(14) == b'{"alive":true}'

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_a_head_that_is_too_large_is_refused_though_it_comes_in_one_piece(tmp_path):
    async def scenario(http, door):
        for size, status in ((2_900, b"200"), (3_100, b"431")):
            async with raw(door) as (reader, writer):
                writer.write(b"GET /healthz HTTP/1.1\r\nx: " + b"y" * size + b"\r\n\r\n")
                assert (await reader.readline())[9:12] == status

    played(scenario, InMemory(agents(), "north"), tmp_path, most_head=3_000)


@pytest.fixture
def pieces(monkeypatch):
    """Sizes of what is read at a time, and how many requests wait on a connection then."""
    seen, read = [], Connection.data_received

    def noting(self, data):
        read(self, data)
        seen.append((len(data), len(self.pipeline)))

    monkeypatch.setattr(Connection, "data_received", noting)
    return seen


def test_thousands_of_requests_at_once_are_read_a_piece_at_a_time(tmp_path, pieces):
    """So others have their turn in between; all are answered, in their order."""
    request = b"GET /healthz HTTP/1.1\r\nhost: door\r\n\r\n"

    async def scenario(http, door):
        async with raw(door) as (reader, writer):
            writer.write(request * 3_000)
            for _ in range(3_000):
                assert b" 200 " in await reader.readline()
                while await reader.readline() != b"\r\n":
                    pass
                assert await reader.readexactly(14) == b'{"alive":true}'

    played(scenario, InMemory(agents(), "north"), tmp_path)
    sizes, waiting = zip(*pieces, strict=True)
    assert sum(sizes) == 3_000 * len(request)
    assert max(sizes) <= PIECE
    assert max(waiting) <= 1 + PIECE // len(request) + 1


def test_chunks_of_a_byte_are_read_a_piece_at_a_time(tmp_path, pieces, monkeypatch):
    """And other connections have their turn between two pieces."""
    turns, seen, received = [0], [], Connection.data_received

    async def count():
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    def noting(self, data):
        seen.append((turns[0], len(data)))
        received(self, data)

    monkeypatch.setattr(Connection, "data_received", noting)
    body = b'{"actions":' + b" " * 50_000 + b"[[0.1,0.2,0.3,0.4]]}"

    async def scenario(http, door):
        counting = asyncio.create_task(count())
        async with raw(door) as (reader, writer):
            writer.write(head(door, http, "transfer-encoding: chunked"))
            writer.write(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
            assert (await reader.readline())[9:12] in (b"200", b"201", b"422")
        counting.cancel()

    played(scenario, InMemory(agents(), "north"), tmp_path)
    full = [turn for turn, size in seen if size == PIECE]
    assert len(set(full)) == len(full)
    assert len(pieces) > 30
    assert max(size for size, _ in pieces) <= PIECE


def test_who_does_not_read_is_not_waited_for(tmp_path):
    async def scenario(http, door):
        open_ = door._connections.state.connections
        before = len(open_)
        async with raw(door) as (reader, writer):
            reader._transport.pause_reading()
            with contextlib.suppress(ConnectionError):
                writer.write(b"GET /openapi.json HTTP/1.1\r\nhost: door\r\n\r\n" * 3_000)
                await until(lambda: len(open_) == before + 1)
                await until(lambda: len(open_) == before)

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=0.2)


def test_more_connections_than_there_may_be_are_refused_and_told_of(tmp_path, caplog):
    async def scenario(http, door):
        async with raw(door), raw(door), raw(door) as (reader, _):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        open_ = door._connections.state.connections
        await until(lambda: not open_)
        async with raw(door) as (reader, writer):
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: door\r\n\r\n")
            assert b" 200 " in await reader.readline()

    played(scenario, InMemory(agents(), "north"), tmp_path, most_connections=2)
    assert "2 connections are open, and no more are taken: raise door.most_connections" in (
        caplog.text
    )


@pytest.mark.parametrize(
    "sends", [b"", b"GET /v1/status HTTP/1.1\r\nx: ", b"GET /healthz HTTP/1.1\r\n\r\n"]
)
def test_whoever_shows_no_token_keeps_nobody_out(tmp_path, monkeypatch, caplog, sends):
    """Half-open connections leave room for whoever comes; those that were let in keep theirs."""
    monkeypatch.setattr("fedbandits.deployment.door.connections.GRACE", 0.1)

    async def scenario(http, door):
        url, headers = f"{http.base_url}/v1/status", dict(http.headers)
        kept = httpx.AsyncClient(headers=headers, trust_env=False)
        assert (await kept.get(url)).status_code == 200
        (own,) = door._connections.state.connections
        async with contextlib.AsyncExitStack() as held:
            for _ in range(3):
                for _ in range(20):
                    _, writer = await held.enter_async_context(raw(door))
                    writer.write(sends)
                await asyncio.sleep(0.3)
                assert (await http.get("/v1/status")).status_code == 200
                fresh = httpx.AsyncClient(headers=headers, trust_env=False)
                assert (await fresh.get(url)).status_code == 200
                await fresh.aclose()
            assert own in door._connections.state.connections
            assert (await kept.get(url)).status_code == 200
        await kept.aclose()

    played(scenario, InMemory(agents(), "north"), tmp_path, most_connections=20)
    assert "127.0.0.1 shows no token" in caplog.text


def test_a_stranger_has_a_time(tmp_path):
    """However busy it is with what needs no token."""
    ask = b"GET /healthz HTTP/1.1\r\nhost: door\r\n\r\n"

    async def scenario(http, door):
        headers = dict(http.headers)
        kept = httpx.AsyncClient(headers=headers, trust_env=False)
        await kept.get(f"{http.base_url}/v1/status")
        async with raw(door) as (reader, writer):
            began = asyncio.get_running_loop().time()
            with contextlib.suppress(ConnectionError):
                while not reader.at_eof():
                    writer.write(ask)
                    await reader.read(1000)
                    await asyncio.sleep(0.02)
            assert asyncio.get_running_loop().time() - began < 30.0
        assert len(door._connections.state.connections) == 1
        await kept.aclose()

    played(scenario, InMemory(agents(), "north"), tmp_path, request_time=0.5)


def test_connections_leave_half_of_all_files_to_others(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    assert most_connections(1_000) == (128, "this process may open 256 files: raise ulimit -n")
    assert most_connections(100) == (100, "raise door.most_connections")


# --- tokens ---


def test_only_tokens_of_this_party_pass(tmp_path):
    (tmp_path / "south").mkdir()
    theirs = make_token(tmp_path / "south", "tests")
    reader = make_token(tmp_path, "dashboard", ["read"], member="north")

    async def scenario(http, door):
        for path, method in (("/v1/decisions", "POST"), ("/v1/status", "GET"), ("/metrics", "GET")):
            for shown in (
                "",
                "Bearer",
                "Basic abc",
                "Bearer nonsense",
                f"Bearer {reader}x",
                "Bearer fb_north_abc",
            ):
                refused = await http.request(method, path, headers={"authorization": shown})
                named(refused, "unauthorised", 401)
                assert refused.headers["www-authenticate"] == 'Bearer realm="north"'
            other = {"authorization": f"Bearer {theirs}"}
            named(await http.request(method, path, headers=other), "other-party", 403)
        mine = {"authorization": f"bearer  {reader}"}
        assert (await http.get("/v1/status", headers=mine)).is_success
        named(await http.post("/v1/decisions", headers=mine, json={}), "forbidden", 403)
        for path in ("/healthz", "/readyz", "/connectedz", "/openapi.json"):
            assert (await http.get(path, headers={"authorization": ""})).is_success

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_a_token_is_kept_as_a_digest_and_can_be_revoked(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "_LOOK_AGAIN", 0.1)
    token = make_token(tmp_path, "shop", member="north")
    file = tmp_path / "tokens.json"
    assert token.startswith("fb_north_")
    assert token.split("_", 2)[2] not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(errors.DeploymentError, match="'shop' is in use"):
        make_token(tmp_path, "shop")
    with pytest.raises(errors.DeploymentError, match="'shop'"):
        revoke_token(tmp_path, "other")
    with pytest.raises(errors.DeploymentError, match="decide, read"):
        make_token(tmp_path, "all", ["admin"])

    async def scenario(http, door):
        async def status(shown):
            answer = await http.get("/v1/status", headers={"authorization": f"Bearer {shown}"})
            return answer.status_code

        assert await status(token) == 200
        revoke_token(tmp_path, "shop")
        async with asyncio.timeout(30):
            while await status(token) == 200:  # it is noticed at the next look
                await asyncio.sleep(0.05)
        new = make_token(tmp_path, "shop", member="north")
        async with asyncio.timeout(30):
            while await status(new) != 200:
                await asyncio.sleep(0.05)
        assert await status(token) == 401

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_tokens_that_cannot_be_read(tmp_path):
    (tmp_path / "tokens.json").write_text('{"tokens": [{"name": "x"}]}')
    for use in (
        lambda: Door(InMemory(agents(), "north"), tmp_path),
        lambda: make_token(tmp_path, "y"),
    ):
        with pytest.raises(errors.IdentityError, match=r"tokens\.json"):
            use()


# --- routes ---


def test_paths_and_methods_that_are_none(tmp_path):
    async def scenario(http, door):
        for path in (
            "/",
            "/v1",
            "/v1/decisions/",
            "/v1/decisions/1",
            "/V1/decisions",
            "//v1/decisions",
        ):
            named(await http.get(door.url + path), "not-found", 404)
        for method in ("GET", "PUT", "DELETE", "OPTIONS", "TRACE"):
            refused = await http.request(method, "/v1/decisions")
            named(refused, "method-not-allowed", 405)
            assert refused.headers["allow"] == "POST"
        looked = await http.head("/healthz")
        assert (looked.status_code, looked.content) == (200, b"")
        assert (await http.post("/healthz")).headers["allow"] == "GET, HEAD"
        for path in ("/v1/pulls/next", "/v1/orders"):
            named(await http.post(path), "not-offered", 404)

    played(scenario, InMemory(agents(), "north"), tmp_path)


def test_a_party_that_does_not_decide_says_so(tmp_path):
    async def scenario(http, door):
        refused = await http.post("/v1/decisions", json={"actions": ACTIONS})
        named(refused, "not-offered", 404)
        assert "hub does not make decisions" in refused.json()["detail"]
        assert (await http.get("/v1/status")).is_success
        assert "/v1/decisions" not in (await http.get("/openapi.json")).json()["paths"]

    played(scenario, InMemory(agents(), "hub"), tmp_path)


def test_owners_wait_for_pulls_and_tell_of_them(tmp_path):
    served = InMemory(read_federation(SAMBA), "left")

    async def scenario(http, door):
        assert (await http.get("/v1/pulls/next")).status_code == 204
        waiting = asyncio.create_task(http.get("/v1/pulls/next?wait=30"))
        served.pulls.put_nowait(7)
        due = (await waiting).json()["pull_id"]
        assert due == Ids(served).name(7)
        assert (await http.post(f"/v1/pulls/{due}", json={"reward": 1})).status_code == 204
        assert served.told == [(7, 1)]
        for reward in (2, -1, 0.5, True, "1"):
            refused = await http.post(f"/v1/pulls/{due}", json={"reward": reward})
            named(refused, "invalid", 422)
        named(await http.post("/v1/pulls/7", json={"reward": 1}), "unknown-decision", 404)
        for wait in ("x", "-1", "61", "nan", "inf", ""):
            named(await http.get(f"/v1/pulls/next?wait={wait}&"), "invalid", 422)
        named(await http.post("/v1/decisions", json={}), "not-offered", 404)

    played(scenario, served, tmp_path)


def test_nobody_is_kept_waiting_by_a_door_that_closes(tmp_path):
    served = InMemory(read_federation(SAMBA), "left")

    async def scenario(http, door):
        waiting = asyncio.create_task(http.get("/v1/pulls/next?wait=60"))
        await until(lambda: served.pulls._getters)
        await door.stop()
        assert (await waiting).status_code == 204

    played(scenario, served, tmp_path)


def test_a_customer_orders(tmp_path):
    served = Buyer(read_federation(SAMBA), "buyer")

    async def scenario(http, door):
        ordered = await http.post("/v1/orders")
        assert (ordered.status_code, ordered.json()["stage"]) == (202, "ready")
        named(await http.post("/v1/orders"), "not-now", 409)

    played(scenario, served, tmp_path)


# --- opening and closing ---


def test_open_requests_are_answered_when_the_door_closes(tmp_path):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        served.may_answer.clear()
        waiting = [
            asyncio.create_task(http.post("/v1/decisions", json={"actions": ACTIONS}))
            for _ in range(5)
        ]
        await until(lambda: len(served.may_answer._waiters) == 5)
        stopping = asyncio.create_task(door.stop())
        await until(lambda: door._app.endpoints.closing.is_set())
        served.may_answer.set()
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [200] * 5
        await stopping
        with pytest.raises(httpx.ConnectError):
            await http.get("/healthz")
        await door.stop()  # it is closed
        await door.start()  # and may be opened again
        async with httpx.AsyncClient() as other:
            assert (await other.get(f"{door.url}/healthz")).is_success

    played(scenario, served, tmp_path)


def test_an_address_in_use_is_named(tmp_path):
    async def scenario(http, door):
        with pytest.raises(errors.DeploymentError, match=rf"door\.port {door.port}"):
            await Door(InMemory(agents(), "south"), tmp_path, DoorSettings(port=door.port)).start()
        with pytest.raises(errors.DeploymentError, match="it is open"):
            await door.start()
        with pytest.raises(errors.DeploymentError, match=r"192\.0\.2\.1"):
            await Door(
                InMemory(agents(), "south"), tmp_path, DoorSettings(host="192.0.2.1", port=0)
            ).start()

    played(scenario, InMemory(agents(), "north"), tmp_path)


@pytest.mark.parametrize(("days", "told"), [(-1.0, True), (1.0, False)])
def test_a_certificate_that_has_expired_is_told_of(days, told, tmp_path, caplog):
    certificate, key = self_signed(tmp_path, days)
    settings = DoorSettings(port=0, certificate=certificate, key=key)

    async def play():
        async with Door(InMemory(agents(), "north"), tmp_path, settings):
            pass

    asyncio.run(play())
    assert any("door.certificate expired on 2" in said for said in caplog.messages) is told


def test_tls(tmp_path):
    certificate, key = self_signed(tmp_path)
    token = make_token(tmp_path, "tests", member="north")
    settings = DoorSettings(port=0, certificate=certificate, key=key)
    trusted = ssl.create_default_context(cafile=str(tmp_path / certificate))

    async def play():
        served = InMemory(agents(), "north")
        async with Door(served, tmp_path, settings) as door:
            assert door.url.startswith("https://127.0.0.1:")
            async with AsyncClient(door.url, token, verify=trusted) as client:
                assert (await client.decide(actions=ACTIONS)).action in range(3)
            async with httpx.AsyncClient() as stranger:
                with pytest.raises(httpx.ConnectError):
                    await stranger.get(f"{door.url}/healthz")

    asyncio.run(play())
    for wrong in (
        {"certificate": None},
        {"key": None},
        {"certificate": "no.pem"},
        {"key": certificate},
    ):
        files = {"certificate": certificate, "key": key} | wrong
        with pytest.raises(errors.DeploymentError, match=r"door\.certificate"):
            Door(InMemory(agents(), "north"), tmp_path, DoorSettings(**files))


def test_who_listens_to_others_in_clear_is_warned(tmp_path, caplog):
    async def play(host):
        async with Door(InMemory(agents(), "north"), tmp_path, DoorSettings(host=host, port=0)):
            return [r.levelname for r in caplog.records if r.name == "fedbandits.door"]

    assert asyncio.run(play("127.0.0.1")) == []
    assert asyncio.run(play("0.0.0.0")) == ["WARNING"]  # noqa: S104


# --- what is told of it ---


def test_readiness_follows_the_party(tmp_path):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        assert (await http.get("/readyz")).json() == {"ready": True}
        served.ready = False
        named(await http.get("/readyz"), "not-ready", 503)
        assert (await http.get("/connectedz")).json() == {"connected": True}
        served.connected, served.ready = False, True
        named(await http.get("/connectedz"), "not-ready", 503)
        assert (await http.get("/readyz")).json() == {"ready": True}
        assert (await http.get("/healthz")).json() == {"alive": True}

    played(scenario, served, tmp_path)


def test_numbers_for_prometheus(tmp_path):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        for _ in range(3):
            await http.post("/v1/decisions", json={"actions": ACTIONS})
        await http.post("/v1/decisions", json={})
        page = (await http.get("/metrics")).text
        served.raises = errors.StoreError("north: the disk fails")
        failing = (await http.get("/metrics")).text
        return page, failing

    page, failing = played(scenario, served, tmp_path)
    for line in (
        "fedbandits_decisions_total 3.0",
        'fedbandits_requests_refused_total{reason="invalid"} 1.0',
        'fedbandits_request_seconds_count{route="/v1/decisions"} 4.0',
        "fedbandits_outbox 1.0",
        "fedbandits_connected 1.0",
        "fedbandits_exhausted 0.0",
        "fedbandits_epsilon_left 0.75",
        'fedbandits_messages_total{outcome="taken"} 5.0',
        'fedbandits_messages_refused_total{reason="ImplausibleError"} 1.0',
    ):
        assert f"\n{line}\n" in page
    assert "epsilon" not in failing
    assert "fedbandits_outbox 1.0" in failing
    helped = {line.split()[2] for line in page.splitlines() if line.startswith("# HELP")}
    assert helped == {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}


def test_problems_and_peers_are_numbers(tmp_path):
    """And what is planned, and when something was released last."""

    async def play():
        async with north(tmp_path) as node:
            page = Metrics(node).page(
                node.status() | {"problems": {"clock": "it has jumped"}}, await node.privacy()
            )
        return page.decode()

    page = asyncio.run(play())
    assert 'fedbandits_problems{about="clock"} 1.0' in page
    assert "fedbandits_greeted_peers 0.0" in page
    assert re.search(r"fedbandits_releases_planned [1-9]", page)
    assert "fedbandits_last_release" not in page.replace("# ", "")
    assert "fedbandits_silent_peers 0.0" in page
    assert re.search(r"fedbandits_message_time_seconds [1-9]", page)
    assert 'fedbandits_messages_total{outcome="refused"} 0.0' in page
    assert 'fedbandits_requests_refused_total{reason="internal"} 0.0' in page


def test_logs_say_what_happened_and_to_nobody_what_was_asked(tmp_path, caplog):
    served = InMemory(agents(), "north")

    async def scenario(http, door):
        odd = {"actions": [[0.271828, 0.1], [0.1, 0.1], [0.1, 0.1]]}
        decided = (await http.post("/v1/decisions", json=odd)).json()
        told = {"decision_id": decided["decision_id"], "reward": 0.314159}
        await http.post("/v1/rewards", json=told)
        await http.get("/secret-path?q=0.314159")
        await http.request("PURGE", "/v1/decisions")
        return http.headers["authorization"]

    with caplog.at_level(logging.DEBUG):
        authorization = played(scenario, served, tmp_path)
    lines = [json.loads(r.message) for r in caplog.records if r.name == "fedbandits.door"]
    assert [(x["method"], x["route"], x["status"]) for x in lines] == [
        ("POST", "/v1/decisions", 200), ("POST", "/v1/rewards", 204), ("GET", "other", 404),
        ("other", "/v1/decisions", 405),
    ]  # fmt: skip
    assert all(line["ms"] > 0 for line in lines)
    assert [line["token"] for line in lines] == ["tests", "tests", "", ""]
    assert {line["from"] for line in lines} == {"127.0.0.1"}
    own = "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("http"))
    for data in ("0.271828", "0.314159", "secret", "SECRET", authorization[-20:]):
        assert data not in own


def test_problems_have_names_of_their_own():
    assert len({problem.name for problem in PROBLEMS}) == len(PROBLEMS)
