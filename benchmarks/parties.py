"""Parties in one process: how fast they are, and what they send.

    python benchmarks/parties.py

Every message is encoded, delivered, checked and decoded. Steps are decisions: of an agent, a buyer,
a server for one user, an owner that pulls. ``digest`` is what the digest of the terms adds to the
bytes on the wire.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from fedbandits import system
from fedbandits.environments import Bernoulli, Clustered, Linear, Procurement
from fedbandits.testing.replicates import federate

LINEAR = Linear(agents=10, dim=10, arms=20)
CLUSTERED = Clustered(users=60, clusters=4, servers=4, dim=8, items=12)
BUYERS = Procurement(agents=6, producers=8, max_capacity=10)
ARMS = Bernoulli(arms=5, means=(0.2, 0.35, 0.5, 0.6, 0.75))
#: Preset, settings, world, rounds, and how many act in a round.
PLAYED: tuple[tuple[str, dict[str, Any], Any, int, int], ...] = (
    ("feducb", {"delta": 0.1}, LINEAR, 1000, 10),
    ("feducb-published", {"delta": 0.1}, LINEAR, 1000, 10),
    ("linucb-pooled", {}, LINEAR, 500, 10),
    ("fedlinucb-async", {}, LINEAR, 1000, 10),
    ("feducb-p2p", {"delta": 0.1, "graph": "ring"}, LINEAR, 500, 10),
    ("feducb-p2p-published", {"delta": 0.1, "graph": "ring"}, LINEAR, 200, 10),
    ("fclub", {}, CLUSTERED, 5000, 1),
    ("fclub-published", {}, CLUSTERED, 3000, 1),
    ("fclub-dc", {}, CLUSTERED, 3000, 1),
    ("pfcb", {}, BUYERS, 600, 6),
    ("fcb-every-round", {}, BUYERS, 200, 6),
    ("samba-ucb", {}, ARMS, 300, 1),
    ("samba-egreedy-printed", {}, ARMS, 300, 1),
)
RUNS = 5


def play(preset: str, parts: dict[str, Any], world: Any, rounds: int, acting: int) -> None:
    best, run = float("inf"), None
    for replicate in range(RUNS):
        run = federate(system(preset, **parts).config, world, rounds, 0, replicate)
        began = time.perf_counter()
        run.advance(rounds)
        best = min(best, time.perf_counter() - began)
    assert run is not None
    transcript, codec = run.network.transcript, run.network._codec
    digest = sum(
        len(codec.encode(m)) - len(codec.encode(msgspec.structs.replace(m, terms="")))
        for _, m in transcript.deliveries
        if hasattr(m, "terms")
    )
    share = digest / max(1, transcript.wire_bytes)
    print(
        f"{preset:24s} {rounds * acting / best:10,.0f} {run.messages:9,d} {run.bytes:12,d}"
        f" {transcript.wire_bytes:12,d} {digest:10,d} {share:6.1%}",
        flush=True,
    )


def main() -> None:
    print(
        f"{'preset':24s} {'steps/s':>10s} {'messages':>9s} {'payload':>12s} {'wire':>12s}"
        f" {'digest':>10s} {'share':>6s}"
    )
    for played in PLAYED:
        play(*played)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
