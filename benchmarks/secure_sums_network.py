"""A secure sum of many agents over NATS with TLS: how long it takes, and what it costs.

    python benchmarks/secure_sums_network.py [--agents 20 100 300 1000] [--helpers 2] [--sums 3]

Real hosts: every agent, the controller and each helper has its store, its keys and a connection of
its own to the broker. All share one process, and one machine with the broker. A release is 130
numbers (d = 10, two models of 65), sealed. The clock is read from the end of a round, when all
agents release at once, until every agent has the total.
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from fedbandits.deployment.delivery.nats_transport import NatsTransport
from fedbandits.testing.deployed import DeployedFederation

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.deployment.brokered import Brokered

#: So many agents are started at a time.
_AT_ONCE = 4
_PATIENCE = 1500.0


def table(agents: int, helpers: int, sums: int) -> dict[str, Any]:
    """The federation's file."""
    return {
        "name": "many", "rounds": sums + 1, "noise": "secure",
        "system": {
            "preset": "feducb-secure", "schedule": "every(1)", "epsilon": 1.0, "delta": 1e-5,
            "aggregation": {"kind": "secure-sum", "helpers": helpers},
        },
        "facts": {"parties": agents, "dimension": 10, "arms": 2, "models": 2},
        "members": {
            "agent": [f"agent-{i}" for i in range(agents)],
            "controller": ["controller"], "helper": [f"helper-{i}" for i in range(helpers)],
        },
        "clock": {"kind": "rounds"},
    }  # fmt: skip


async def play(here: Brokered, sums: int) -> tuple[float, list[tuple[float, float]]]:
    """Start everybody, and make sums; seconds until all know each other, and of each sum."""
    began, federation = time.perf_counter(), here.federation
    deployed = DeployedFederation(
        federation, here.folder,
        lambda member: NatsTransport(here.identity(member), federation.transport.servers),
        here.seals,
    )  # fmt: skip
    agents = federation.members["agent"]
    for first in range(0, len(agents), _AT_ONCE):
        await asyncio.gather(*(deployed.start(m) for m in agents[first : first + _AT_ONCE]))
    await deployed.start(*(m for m in federation.everybody if m not in agents))
    await _until(
        lambda: all(
            node.ready
            and node.connected
            and set(node.delivery.greeted) >= set(node.delivery.exchanges)
            for node in deployed.nodes.values()
        )
    )
    ready, took = time.perf_counter() - began, []
    nodes = [deployed.nodes[agent] for agent in agents]
    for number in range(1, sums + 1):
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(node.end_round(number) for node in nodes))
        await _until(lambda k=number: all(node.host.view.report["sums"] >= k for node in nodes))
        took.append((time.perf_counter() - began, time.process_time() - worked))
    report = deployed.nodes["controller"].status()["sums"]
    assert report["members_of_last_sum"] == len(agents), report
    await deployed.stop()
    return ready, took


async def _until(holds: Callable[[], bool]) -> None:
    """Look now and then, as looking at a thousand parties takes time, too."""
    async with asyncio.timeout(_PATIENCE):
        while not holds():
            await asyncio.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, nargs="+", default=[20, 100, 300, 1000])
    parser.add_argument("--helpers", type=int, default=2)
    parser.add_argument("--sums", type=int, default=3)
    given = parser.parse_args()
    for agents in given.agents:
        what = table(agents, given.helpers, given.sums)
        with tempfile.TemporaryDirectory() as folder, Brokered(what, pathlib.Path(folder)) as here:
            ready, took = asyncio.run(play(here, given.sums))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for number, (seconds, worked) in enumerate(took, 1):
            print(
                f"{agents:,} agents, {given.helpers} helpers, sum {number}: {seconds:.1f} s, "
                f"{1e3 * worked / agents:.1f} ms of processor time an agent",
                flush=True,
            )
        print(f"{agents:,} agents: {ready:.0f} s until all are ready, {memory:.0f} MiB in all")


if __name__ == "__main__":
    main()
