"""Minutes of load on one agent's host: memory, and the size of its files.

    python benchmarks/soak.py [--minutes 10] [--at-once 16]

One agent of FedUCB with a store of its own (d = 10, K = 20, secure noise, releases charged) decides
and learns as fast as it can, with so many decisions open at once. What is stated: the journal is
saved as a state every 4,096 events at the latest, and deleted; the log of SQLite is brought into
the database at about 4 MB; of headers the newest 10,000 stay. So files may grow at first, to the
size of the longest journal, and not with time. The table is by tenths of the run.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

from fedbandits.deployment.delivery.transport import MemoryHub
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.store import Store
from fedbandits.random import Key, uniform
from fedbandits.settings.federation import federation_of
from fedbandits.testing.deployed import OpenSeals

DIMENSION, ARMS = 10, 20
#: By how much memory may be larger at the end than in the middle; MB of files, at any time.
MEMORY, FILES = 1.05, 16.0

TABLE: dict[str, Any] = {
    "name": "soak", "rounds": 100_000_000, "noise": "secure",
    "system": {"preset": "feducb", "schedule": "every(1000000)", "epsilon": 1.0, "delta": 1e-5},
    "facts": {"parties": 2, "dimension": DIMENSION, "arms": ARMS},
    "members": {"agent": ["north", "south"], "controller": ["hub"]},
    "clock": {"kind": "live", "start": "2999-01-01T00:00:00Z", "every": "1 h"},
}  # fmt: skip


def resident() -> float:
    """MB of this process in memory."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS: this needs Linux")


def on_disk(folder: pathlib.Path) -> float:
    """MB of the store's files."""
    return sum(path.stat().st_size for path in folder.iterdir()) / 2**20


async def load(node: Node, until: float, worker: int, counted: list[int]) -> None:
    """Decide and learn, one after the other."""
    key, application = Key(worker, 0), node.application
    assert application is not None
    draws = np.array([uniform(key, 0, 0, i, 0) for i in range(DIMENSION * ARMS)])
    rows = (draws.reshape(ARMS, DIMENSION) / DIMENSION**0.5).tolist()
    while time.monotonic() < until:
        rows.append(rows.pop(0))
        decided = await node.decide(application.ASKED(actions=rows))
        await node.reward(decided.number, application.TOLD(reward=float(decided.number % 2)))
        counted[0] += 1


async def soak(minutes: float, at_once: int, folder: pathlib.Path) -> list[tuple[float, float]]:
    """Load for so many minutes; memory and files after each tenth."""
    federation = federation_of(TABLE)
    seat = HostedSeat.of(federation, "north")
    store = Store.open(folder / "north.db", federation.name, "north", seat.terms.digest)
    node = Node(seat, store, MemoryHub().transport("north"), OpenSeals(), OpenSeals())
    await node.start()
    counted, found = [0], []
    tenth = 6.0 * minutes
    began = time.monotonic()
    for part in range(1, 11):
        until = began + part * tenth
        await asyncio.gather(*(load(node, until, worker, counted) for worker in range(at_once)))
        gc.collect()
        found.append((resident(), on_disk(folder)))
        print(
            f"{part * tenth:7.0f} s {counted[0]:10,d} decisions {found[-1][0]:9.1f} MB in memory "
            f"{found[-1][1]:8.2f} MB in files",
            flush=True,
        )
    await node.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--at-once", type=int, default=16)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = asyncio.run(soak(given.minutes, given.at_once, pathlib.Path(name)))
    (middle, last), files = (max(row[0] for row in r) for r in (found[3:6], found[8:])), found
    print(f"memory: {last / middle:.3f} of what it was in the middle, asked: <= {MEMORY}")
    print(f"files: {max(row[1] for row in files):.2f} MB at most, asked: <= {FILES:g} MB")


if __name__ == "__main__":
    main()
