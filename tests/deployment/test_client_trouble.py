"""The client when something stands between it and the door: odd tokens, proxies, forks, loops."""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import socket
import threading

import pytest

from fedbandits import client as room
from fedbandits.client import AsyncClient, Client
from fedbandits.client.calls import KEY
from fedbandits.deployment.door import Door, DoorSettings, make_token
from fedbandits.errors import ConfigError, DuplicateRewardError
from tests.deployment.doors import ACTIONS, InMemory, agents, durable, opened

TOKEN = "fb_north_c2VjcmV0"  # noqa: S105 - nobody's
URL = "http://127.0.0.1:8420"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
class TestMade:
    """What can be no token, no address and no time is refused before anything is sent."""

    @pytest.mark.parametrize(
        "token",
        [
            f"{TOKEN}\n", f"{TOKEN}\r\n", f"{TOKEN} ", f" {TOKEN}", f'"{TOKEN}"', f"Bearer {TOKEN}",
            f"\ufeff{TOKEN}", f"{TOKEN}\u200b", "tökén", "", None, TOKEN.encode(),
        ],
    )  # fmt: skip
    def test_a_token(self, kind, token):
        with pytest.raises(ConfigError, match="token: letters") as found:
            kind(URL, token)
        assert TOKEN not in str(found.value)

    @pytest.mark.parametrize(
        "url",
        [
            "127.0.0.1:8420", "localhost:8420", "nonsense", "", f" {URL}", f"{URL}\n", "ftp://north",
            "http://", "http://127.0.0.1:99999", f"http://me:{TOKEN}@127.0.0.1:8420", f"{URL}?x=1",
            f"{URL}#x", "http://[::1", None, URL.encode(),
        ],
    )  # fmt: skip
    def test_an_address(self, kind, url):
        with pytest.raises(ConfigError, match="url: http") as found:
            kind(url, TOKEN)
        assert TOKEN not in str(found.value)

    @pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
    def test_a_time(self, kind, timeout):
        with pytest.raises(ConfigError, match="timeout"):
            kind(URL, TOKEN, timeout=timeout)

    @pytest.mark.parametrize("retries", [-1, 21, 0.5, None])
    def test_a_number_of_tries(self, kind, retries):
        with pytest.raises(ConfigError, match="retries: a whole number from 0 to 20"):
            kind(URL, TOKEN, retries=retries)

    @pytest.mark.parametrize(
        "url", [URL, f"{URL}/", "HTTP://north", "https://a.b/x", "http://[::1]"]
    )
    def test_others_are_taken(self, kind, url):
        kind(url, TOKEN)


class Between:
    """A server that gives answers in turn, the last one again and again, and remembers keys.

    Where an answer has KEY in it, this becomes that of the request.
    """

    def __init__(self, *answers) -> None:
        self._answers, self.keys = [*answers], []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                head = connection.recv(65_536).decode("latin-1").lower()
                while "\r\n\r\n" not in head:
                    head += connection.recv(65_536).decode("latin-1").lower()
                self.keys.append(head.partition(f"{KEY}: ")[2].partition("\r\n")[0])
                now = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                connection.sendall(now.replace(b"KEY", self.keys[-1].encode()))


def answer(status, body=b"", *more):
    head = f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
    return "".join([head, *(f"{line}\r\n" for line in more), "\r\n"]).encode() + body


PAGE = b"<html><h1>Bad Gateway</h1></html>"
DECIDED = b'{"decision_id":"north-1","action":0}'
OTHERS = {
    "502": (502, answer(502, PAGE)),
    "502, JSON": (502, answer(502, b'{"message":"upstream"}')),
    "503": (503, answer(503, PAGE, "retry-after: 5")),
    "504": (504, answer(504, PAGE)),
    "301": (301, answer(301, b"", "location: https://127.0.0.1:9/")),
    "307": (307, answer(307, b"", "location: /x")),
    "401": (401, answer(401, PAGE, "www-authenticate: Basic")),
    "404": (404, answer(404, PAGE)),
    "429": (429, answer(429, b"slow down")),
    "login": (200, answer(200, PAGE)),
    "empty": (200, answer(200)),
    "204": (204, answer(204)),
    "another's": (200, answer(200, DECIDED, f"{KEY}: 1234")),
    "another's refusal": (
        409, answer(409, b'{"type":"urn:fedbandits:problem:duplicate"}', f"{KEY}: 1234"),
    ),
    "without a key": (200, answer(200, DECIDED)),
    "no utf-8": (200, answer(200, b"\xff\xfe")),
    "bad gzip": (0, answer(200, b"no gzip", "content-encoding: gzip")),
    "cut": (0, b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    "no HTTP": (0, b"SSH-2.0-x\r\n"),
    "nothing": (0, b""),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_the_doors_answer_says_so(name):
    """Nobody knows what became of the request: it can be asked again with the same key."""
    status, sent = OTHERS[name]
    with Between(sent) as between, Client(between.url, TOKEN, retries=0) as client:
        for ask in (
            lambda: client.decide(actions=ACTIONS, key="one"),
            lambda: client.reward("north-1", 0.5),
            client.status,
        ):
            with pytest.raises(room.UnreachableError) as found:
                ask()
            assert (found.value.status, found.value.key) == (status, between.keys[-1])
            assert TOKEN not in str(found.value)
    assert between.keys[0] == "one"
    assert len(set(between.keys)) == 3


def asked(kind, between, ask, **settings):
    """Ask by a client of some kind; return its answer, or its error, and how long it waited."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    async def play():
        async with AsyncClient(between.url, TOKEN, sleep=sleep, **settings) as client:
            return await ask(client)

    try:
        if kind is AsyncClient:
            return asyncio.run(play()), waited
        with Client(between.url, TOKEN, sleep=waited.append, **settings) as client:
            return ask(client), waited
    except room.DoorError as error:
        return error, waited


def problem(status, name):
    return answer(status, f'{{"type":"urn:fedbandits:problem:{name}"}}'.encode(), f"{KEY}: KEY")


GOOD, TAKEN = answer(200, DECIDED, f"{KEY}: KEY"), answer(204, b"", f"{KEY}: KEY")
NOT_READY, DUPLICATE, LATE = (
    problem(503, "not-ready"), problem(409, "duplicate"), problem(410, "late")
)  # fmt: skip
PASSING = ("502", "502, JSON", "503", "504", "cut", "no HTTP", "nothing", "bad gzip")
TROUBLE = {name: OTHERS[name][1] for name in PASSING} | {"not ready": NOT_READY}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
class TestTries:
    """What had no answer is sent again, with the same key and a wait between."""

    @pytest.mark.parametrize("name", TROUBLE)
    @pytest.mark.parametrize("key", ["one", None])
    def test_trouble_that_passes(self, kind, name, key):
        with Between(TROUBLE[name], TROUBLE[name], GOOD) as between:
            found, waited = asked(kind, between, lambda c: c.decide(actions=ACTIONS, key=key))
        assert found.id == "north-1"
        assert waited == [0.5, 1.0]
        assert len(between.keys) == 3
        assert len(set(between.keys)) == 1
        assert between.keys[0] == (key or between.keys[0]) != ""

    @pytest.mark.parametrize("name", TROUBLE)
    def test_trouble_that_stays(self, kind, name):
        with Between(TROUBLE[name]) as between:
            found, waited = asked(kind, between, lambda c: c.decide(actions=ACTIONS))
        assert isinstance(found, room.UnreachableError | room.UnavailableError)
        assert waited == [0.5, 1.0, 2.0]
        assert len(between.keys) == 4
        assert len(set(between.keys)) == 1
        assert getattr(found, "key", between.keys[0]) == between.keys[0]

    def test_waits_are_bounded(self, kind):
        with Between(TROUBLE["502"]) as between:
            _, waited = asked(kind, between, lambda c: c.status(), retries=9)
        assert waited == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]

    @pytest.mark.parametrize("name", [*sorted({*OTHERS} - {*TROUBLE}), "refused", "broken", "full"])
    def test_other_answers_are_final(self, kind, name):
        more = {
            "refused": problem(422, "refused"), "broken": problem(500, "internal"),
            "full": problem(507, "store-full"),
        }  # fmt: skip
        with Between(more[name] if name in more else OTHERS[name][1], GOOD) as between:
            found, waited = asked(kind, between, lambda c: c.decide(actions=ACTIONS))
        assert isinstance(found, room.DoorError)
        assert (len(between.keys), waited) == (1, [])

    def test_an_order_is_sent_once(self, kind):
        with Between(TROUBLE["nothing"], GOOD) as between:
            found, waited = asked(kind, between, lambda c: c.order())
        assert isinstance(found, room.UnreachableError)
        assert (len(between.keys), waited) == (1, [])

    @pytest.mark.parametrize(
        ("ask", "before"),
        [
            (lambda c: c.reward("north-1", 0.5), DUPLICATE),
            (lambda c: c.pull("left-1", 1), DUPLICATE),
            (lambda c: c.pull("left-1", 1), LATE),
        ],
    )  # fmt: skip
    def test_an_outcome_that_had_arrived_counts(self, kind, ask, before):
        """Only after a try that may have arrived: otherwise it tells of another one."""
        with Between(TROUBLE["nothing"], NOT_READY, before) as between:
            assert asked(kind, between, ask) == (None, [0.5, 1.0])
        for answers in ([before], [NOT_READY, before]):
            with Between(*answers) as between:
                found, _ = asked(kind, between, ask)
            assert isinstance(found, room.DuplicateError | room.LateError)

    def test_a_reward_that_is_late_is_told(self, kind):
        with Between(TROUBLE["nothing"], LATE) as between:
            found, _ = asked(kind, between, lambda c: c.reward("north-1", 0.5))
        assert isinstance(found, room.LateError)

    def test_two_requests_have_two_keys(self, kind):
        with Between(TROUBLE["nothing"], TAKEN, TROUBLE["nothing"], TAKEN) as between:
            for _ in range(2):
                assert asked(kind, between, lambda c: c.reward("north-1", 0.5))[0] is None
        first, again, second, third = between.keys
        assert (first, second) == (again, third)
        assert first != second


def test_a_refusal_of_a_head_that_was_not_read_is_the_doors():
    body = b'{"type":"urn:fedbandits:problem:head-too-large","title":"too large"}'
    with (
        Between(answer(431, body)) as between,
        Client(between.url, TOKEN) as client,
        pytest.raises(room.InvalidRequestError, match="too large"),
    ):
        client.status()


@pytest.mark.parametrize(
    "error",
    [room.UnreachableError(502, "no door", "one"), room.LateError(410, "urn:x", "Late", "nothing")],
)
def test_an_error_passes_from_process_to_process(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 101, "a\n"])
def test_what_can_be_no_key_is_refused(key):
    with Client(URL, TOKEN) as client, pytest.raises(ConfigError, match="key"):
        client.decide(actions=ACTIONS, key=key)


def test_the_door_says_whose_answer_it_is(tmp_path):
    served = InMemory(agents(), "north")

    async def play():
        async with opened(served, tmp_path) as (_, client):
            await client.decide(actions=ACTIONS, key="mine")
            await client.decide(actions=ACTIONS)
            plain = client._connections()
            assert KEY not in (await plain.get("/healthz")).headers
            for path in ("/healthz", "/v1/status", "/nowhere"):
                found = await plain.get(path, headers={KEY: "abc"})
                assert found.headers[KEY] == "abc"
            long = {KEY: "x" * 101}
            found = await plain.post("/v1/decisions", json={"actions": ACTIONS}, headers=long)
            assert found.status_code == 422
            assert "Idempotency-Key" in found.json()["detail"]

    asyncio.run(play())
    assert served.keys[0] == "mine"
    assert len(served.keys[1]) == 32


def _in_a_child(client, answers):
    try:
        answers.put(client.decide(actions=[[0.5, 0.0]]).action)
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_of_a_fork_have_connections_of_their_own(tmp_path):
    """A client that was used before: answers of one process never reach another."""
    served = InMemory(agents(), "north")
    token = make_token(tmp_path, "tests", member="north")

    def use(url):
        context = multiprocessing.get_context("fork")
        answers = context.SimpleQueue()
        with Client(url, token) as client:
            client.decide(actions=ACTIONS)
            before = client._connections()
            children = [
                context.Process(target=_in_a_child, args=(client, answers)) for _ in range(4)
            ]
            for child in children:
                child.start()
            found = [answers.get() for _ in children]
            for child in children:
                child.join()
            client.decide(actions=ACTIONS)
            assert client._connections() is before
        return found

    async def play():
        async with Door(served, tmp_path, DoorSettings(port=0)) as door:
            return await asyncio.to_thread(use, door.url)

    assert asyncio.run(play()) == [0, 0, 0, 0]
    assert len(set(served.keys)) == 6


def test_one_client_in_two_event_loops(tmp_path):
    """Connections are one loop's: closed with it, and made anew in the next."""
    served = InMemory(agents(), "north")
    token = make_token(tmp_path, "tests", member="north")

    async def ask(client):
        await client.decide(actions=ACTIONS)
        await client.close()

    def use(url):
        client = AsyncClient(url, token)
        for _ in range(2):
            asyncio.run(ask(client))

    async def play():
        async with Door(served, tmp_path, DoorSettings(port=0)) as door:
            await asyncio.to_thread(use, door.url)

    asyncio.run(play())
    assert len(set(served.keys)) == 2


def test_a_request_that_comes_again_has_its_decision(tmp_path):
    """With its key a decision is made once: together, later, and after a restart."""

    def asked(node, number):
        facts = node.federation.plan.facts
        return node.application.ASKED(actions=[[number] * facts.dimension] * facts.arms)

    async def play():
        async with durable("feducb", tmp_path) as node:
            one = asked(node, 0.1)
            together = await asyncio.gather(*(node.decide(one, "one") for _ in range(5)))
            later = await node.decide(one, "one")
            assert set(together) == {later}
            # Another key, no key, or other contexts: another decision.
            others = [
                await node.decide(*other)
                for other in ((one, "two"), (one,), (asked(node, 0.2), "one"))
            ]
            assert len({later.number, *(other.number for other in others)}) == 4
            assert node.status()["decisions"] == 4
        async with durable("feducb", tmp_path) as node:
            assert await node.decide(one, "one") == later
            told = node.application.stand_in(0.5)
            await node.reward(later.number, told)
            with pytest.raises(DuplicateRewardError):
                await node.reward(later.number, told)
            assert node.status()["open_decisions"] == 3

    asyncio.run(play())
