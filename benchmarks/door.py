"""Durable decisions a second through a party's door, beside endpoints that a user would write.

    python benchmarks/door.py [FOLDER] [--seconds 1] [--repetitions 9] [--connections 1 8 32]
                              [--rate 800] [--minutes 0]

The store lies in FOLDER, by default the temporary one: a commit is as fast as that folder's disk.
One process serves four endpoints: *empty* does nothing, on uvicorn and Starlette; *usual* is what a
user would write on uvicorn, SQLite and NumPy, a LinUCB whose every decision and reward is a durable
commit; *door* has no party: the door checks the token, reads the request and answers a constant;
*decisions* and *with rewards* are the door of a durable FedUCB agent (K = 20, d = 10). Another
process sends the same requests to each, in turn, over connections that are kept open. Shares are
medians over turns, since other programs take their part of a machine. Then ``--rate`` exchanges a
second are sent by the clock, whether answers have come or not, and latencies are counted from the
time at which a request was due. ``--minutes`` goes on with a quarter of the agent's speed, each
decision followed by its reward, and reports how memory and files grow.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import json
import multiprocessing
import os
import pathlib
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.door import Door, DoorSettings, make_token, new_loop
from fedbandits.deployment.hosting.events import Decided
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.process.party_process import look_at_what_is_new
from fedbandits.deployment.storage.store import Store
from fedbandits.settings.federation import read_federation
from fedbandits.testing.deployed import OpenSeals

ARMS, DIMENSION, BODIES = 20, 10, 64
#: Ports of the four endpoints, and the token of the last two.
Ports = tuple[int, int, int, int, str]
TERMS = f"""
name = "load"
rounds = 1_000_000
message_time = "30 s"
[system]
preset = "feducb"
schedule = "every(500000)"
epsilon = 1.0
delta = 1e-5
[facts]
parties = 2
dimension = {DIMENSION}
arms = {ARMS}
[clock]
kind = "live"
start = 2999-01-01T00:00:00Z
every = "1 h"
[members]
agent = ["north", "south"]
controller = ["hub"]
"""


async def empty(request: Request) -> Response:
    """An endpoint that does nothing: it does not even look at what is asked."""
    return Response(status_code=204)


class UsualService:
    """LinUCB behind SQLite, as a user would write it: one durable commit a request."""

    def __init__(self, path: str, token: str) -> None:
        self._digest = hashlib.sha256(token.encode()).hexdigest()
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(
            "CREATE TABLE decision (id INTEGER PRIMARY KEY, asked BLOB, action INT, reward REAL)"
        )
        self._inverse, self._sums = np.eye(DIMENSION), np.zeros(DIMENSION)
        self._waiting: dict[int, Any] = {}
        self._made = 0

    def routes(self) -> list[Route]:
        return [
            Route("/v1/decisions", self.decide, methods=["POST"]),
            Route("/v1/rewards", self.reward, methods=["POST"]),
        ]

    def _admits(self, request: Request) -> bool:
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(hashlib.sha256(shown.encode()).hexdigest(), self._digest)

    async def decide(self, request: Request) -> Response:
        if not self._admits(request):
            return Response(status_code=401)
        body = await request.body()
        actions = np.asarray(json.loads(body)["actions"])
        width = np.sqrt(np.einsum("ij,jk,ik->i", actions, self._inverse, actions))
        chosen = int(np.argmax(actions @ (self._inverse @ self._sums) + 0.5 * width))
        self._made += 1
        self._waiting[self._made] = actions[chosen]
        row = (self._made, body, chosen)
        self._database.execute("INSERT INTO decision VALUES (?, ?, ?, NULL)", row)
        return JSONResponse({"decision_id": f"usual-{self._made}", "action": chosen})

    async def reward(self, request: Request) -> Response:
        if not self._admits(request):
            return Response(status_code=401)
        told = json.loads(await request.body())
        number = int(told["decision_id"].removeprefix("usual-"))
        action = self._waiting.pop(number)
        moved = self._inverse @ action
        self._inverse -= np.outer(moved, moved) / (1.0 + action @ moved)
        self._sums += told["reward"] * action
        row = (told["reward"], number)
        self._database.execute("UPDATE decision SET reward = ? WHERE id = ?", row)
        return Response(status_code=204)


async def framework(routes: list[Route]) -> uvicorn.Server:
    """Some endpoints, served as frameworks are."""
    app = Starlette(routes=routes)
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="off")
    )
    server.serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    return server


def port_of(server: uvicorn.Server) -> int:
    """The port that it was given."""
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port


class Nobody:
    """A party that answers without having thought."""

    ready = True

    def __init__(self, seat: HostedSeat) -> None:
        self.member, self.federation, self.application = (
            seat.member, seat.federation, seat.application,
        )  # fmt: skip

    async def decide(self, asked: Any, key: str = "") -> Decided:
        return Decided(1, 0)

    async def reward(self, number: int, told: Any) -> None:
        """Hear, and forget."""


def serve(folder: str, told: Any) -> None:
    """Serve until told to stop; every other word asks for memory and files."""

    async def run() -> None:
        federation = read_federation(TERMS)
        seat = HostedSeat.of(federation, "north")
        store = Store.open(f"{folder}/store.db", "load", "north", seat.terms.digest)
        node = Node(seat, store, MemoryHub().transport("north"), OpenSeals(), OpenSeals())
        await node.start()
        settings = DoorSettings(port=0)
        token = make_token(folder, "load", member="north")
        nothing = await framework([Route("/", empty, methods=["POST"])])
        usual = await framework(UsualService(f"{folder}/usual.db", token).routes())
        alone = Door(Nobody(seat), folder, settings)  # type: ignore[arg-type]
        async with alone, Door(node, folder, settings) as door:
            told.send((port_of(nothing), port_of(usual), alone.port, door.port, token))
            look_at_what_is_new()
            loop = asyncio.get_running_loop()
            while await loop.run_in_executor(None, told.recv) != "stop":
                told.send(sizes(folder))
        nothing.should_exit = usual.should_exit = True
        await node.stop()
        told.send("stopped")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run())


def sizes(folder: str) -> dict[str, float]:
    """Memory and files, in MB, and processor seconds, of this process."""
    status = pathlib.Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    files = sum(path.stat().st_size for path in pathlib.Path(folder).glob("store.db*"))
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "memory": int(resident.split()[1]) / 1024,
        "files": files / 1e6,
        "processor": used.ru_utime + used.ru_stime,
    }


class Connection(asyncio.Protocol):
    """Sends one request after the other, and reads just enough of the answers."""

    def __init__(self) -> None:
        self._data = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found or self._answer is None:
            return
        _, named, after = head.lower().partition(b"content-length:")
        length = int(after.partition(b"\r\n")[0]) if named else 0
        if len(rest) >= length:
            self._data = b""
            answer, self._answer = self._answer, None
            answer.set_result((int(head[9:12]), rest))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None:
            self._answer.set_exception(exc or ConnectionError("closed"))

    async def ask(self, request: bytes) -> bytes:
        """Send a request, and wait for its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        status, body = await self._answer
        if status >= 300:
            raise ValueError(f"{status}: {body!r}")
        return body

    def close(self) -> None:
        self._transport.close()


class Load:
    """Requests to one of the endpoints.

    Parameters
    ----------
    port
        Where it is.
    requests
        What is asked, over and over.
    token
        For the door.
    rewarded
        Whether each decision is followed by its reward.
    """

    def __init__(
        self, port: int, requests: list[bytes], token: str, rewarded: bool = False
    ) -> None:
        self._port, self._requests, self._rewarded = port, requests, rewarded
        self._head = post("/v1/rewards", token, "").replace(b"length: 0", b"length: %d") + b"%b"
        self._sent, self._open = 0, []

    @contextlib.asynccontextmanager
    async def connected(self, count: int):
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_connection(Connection, "127.0.0.1", self._port) for _ in range(count)
        ]
        yield [connection for _, connection in made]
        for _, connection in made:
            connection.close()

    async def ask(self, connection: Connection) -> int:
        """One exchange; returns how many requests it took."""
        self._sent += 1
        body = await connection.ask(self._requests[self._sent % len(self._requests)])
        if not self._rewarded:
            self._open.append(body)
            return 1
        await self._tell(connection, body)
        return 2

    async def _tell(self, connection: Connection, body: bytes) -> None:
        told = b'{"decision_id":"%b","reward":0.5}' % body.split(b'"', 4)[3]
        await connection.ask(self._head % (len(told), told))

    async def close_all(self, connections: int) -> None:
        """Tell what all decisions have earned that were not told of."""
        async with self.connected(connections) as all_:

            async def go_on(connection: Connection) -> None:
                while self._open:
                    await self._tell(connection, self._open.pop())

            await asyncio.gather(*map(go_on, all_))

    async def most(self, connections: int, seconds: float) -> float:
        """Requests a second, each connection with one after the other."""
        done = 0
        async with self.connected(connections) as all_:
            end = time.perf_counter() + seconds

            async def go_on(connection: Connection) -> None:
                nonlocal done
                while time.perf_counter() < end:
                    asked = await self.ask(connection)
                    done += asked

            began = time.perf_counter()
            await asyncio.gather(*map(go_on, all_))
        return done / (time.perf_counter() - began)

    async def paced(self, connections: int, rate: float, seconds: float) -> list[float]:
        """Seconds from when each exchange was due to its last answer, at so many a second."""
        took: list[float] = []
        async with self.connected(connections) as all_:
            free: asyncio.Queue[Connection] = asyncio.Queue()
            for connection in all_:
                free.put_nowait(connection)
            began = time.perf_counter()

            async def one(due: float, connection: Connection) -> None:
                await self.ask(connection)
                took.append(time.perf_counter() - due)
                free.put_nowait(connection)

            tasks: set[asyncio.Task[None]] = set()
            for number in range(int(rate * seconds)):
                due = began + number / rate
                while (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                task = asyncio.create_task(one(due, await free.get()))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.gather(*tasks)
        return took


def post(path: str, token: str, body: str) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: door\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    ).encode()


def decisions(token: str) -> list[bytes]:
    """Requests of different contexts, within the unit ball."""
    draws = np.random.default_rng(0).normal(size=(BODIES, ARMS, DIMENSION))
    rows = draws / np.linalg.norm(draws, axis=-1, keepdims=True) * 0.99
    return [post("/v1/decisions", token, json.dumps({"actions": r.tolist()})) for r in rows]


@contextlib.contextmanager
def served(folder: str) -> Iterator[tuple[Any, Ports]]:
    """The other process, and where it listens."""
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=serve, args=(folder, there))
    process.start()
    there.close()  # so that the end of the other one is noticed
    try:
        yield here, here.recv()
        here.send("stop")
        here.recv()
    finally:
        process.join(10)
        process.kill()


async def measure(asked: argparse.Namespace, here: Any, where: Ports) -> None:
    *ports, token = where
    nothing, usual, alone, door = ports
    requests = decisions(token)
    loads = {
        "empty": Load(nothing, [r.replace(b"/v1/decisions", b"/", 1) for r in requests], token),
        "usual": Load(usual, requests, token, rewarded=True),
        "door": Load(alone, requests, token),
        "decisions": Load(door, requests, token),
        "with rewards": Load(door, requests, token, rewarded=True),
    }
    for load in loads.values():
        await load.most(2, 0.1)  # compiles
    for each in asked.connections:
        speed = await measure_most(asked, here, loads, each)
    for name in ("usual", "decisions", "with rewards"):
        took = await loads[name].paced(64, asked.rate, 4.0 * asked.seconds)
        tell(f"{name}, {asked.rate:g} exchanges a second", took)
        if name == "decisions":
            await loads[name].close_all(64)
    if asked.minutes:
        await endure(loads["with rewards"], speed / 4, asked, here)


async def measure_most(
    asked: argparse.Namespace, here: Any, loads: dict[str, Load], connections: int
) -> float:
    """Print what each endpoint takes at most; return the agent's speed with rewards."""
    speeds: dict[str, list[float]] = {name: [] for name in loads}
    costs: dict[str, list[float]] = {name: [] for name in loads}
    for _ in range(asked.repetitions):
        for name, load in loads.items():
            before = processor(here)
            speed = await load.most(connections, asked.seconds)
            speeds[name].append(speed)
            costs[name].append((processor(here) - before) / speed / asked.seconds)
            if name == "decisions":
                await load.close_all(connections)
    print(f"{connections} connections:")
    for name, values in speeds.items():
        shares = ", ".join(
            f"{share(speeds, name, other):.2f} of {other} "
            f"({share(costs, name, other):.1f} times its processor time)"
            for other in ("empty", "usual", "door")
            if other != name
        )
        print(
            f"{name:>13}: {statistics.median(values):8,.0f} requests a second, {shares}, "
            f"{statistics.median(costs[name]) * 1e6:.0f} µs of processor each"
        )
    return statistics.median(speeds["with rewards"])


def share(found: dict[str, list[float]], name: str, other: str) -> float:
    """The median of what one turn after the other says of two endpoints."""
    return statistics.median(a / b for a, b in zip(found[name], found[other], strict=True))


def processor(here: Any) -> float:
    """Processor seconds of the server so far."""
    here.send("sizes")
    used: float = here.recv()["processor"]
    return used


def tell(name: str, took: list[float]) -> None:
    p50, p99 = np.percentile(np.array(took) * 1000, [50, 99])
    print(f"{name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {max(took) * 1000:.1f} ms")


async def endure(load: Load, rate: float, asked: argparse.Namespace, here: Any) -> None:
    """Half the load for minutes: what grows."""
    print("minute  memory MB  files MB  processor s")
    for minute in range(int(asked.minutes) + 1):
        here.send("sizes")
        now = here.recv()
        print(
            f"{minute:6} {now['memory']:10.1f} {now['files']:9.1f} {now['processor']:12.1f}",
            flush=True,
        )
        if minute < asked.minutes:
            tell("        ", await load.paced(64, rate, 60.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=None)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--rate", type=float, default=800.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--minutes", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        os.chmod(folder, 0o700)
        with served(folder) as (here, where), asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(measure(asked, here, where))


if __name__ == "__main__":
    main()
