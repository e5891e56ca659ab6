"""Agent-steps a second of the party driver: every message is encoded, delivered and checked."""

from __future__ import annotations

import statistics
import time

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.plays import federate


def main() -> None:
    environment = Linear(agents=10, dim=10, arms=20)
    for preset in ("feducb", "feducb-published", "linucb-pooled"):
        speeds = []
        for replicate in range(6):
            run = federate(system(preset, delta=0.1).config, environment, 1000, 0, replicate)
            began = time.perf_counter()
            run.advance(1000)
            speeds.append(10_000 / (time.perf_counter() - began))
        print(f"{preset:20s} {statistics.median(speeds[1:]):9,.0f} agent-steps/s, one thread")


if __name__ == "__main__":
    main()
