"""Agent-steps a second peer to peer: 100 agents on an Erdős–Rényi graph, d = 10, K = 100.

With all processors wall time counts; with one thread its processor time, which other work on the
machine disturbs less. Compilation is left out; medians are printed.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.replicates import federate, simulate

THREADS = os.cpu_count() or 1
GRAPHS = (("erdos-renyi(0.05)", 1), ("erdos-renyi(0.05)", 3), ("complete", 1), ("ring", 10))


def speed(preset: str, graph: str, gamma: int, threads: int, repetitions: int) -> float:
    """Median agent-steps a second, in millions."""
    environment = Linear(agents=100, dim=10, arms=100)
    config = system(preset, graph=graph, gamma=gamma, delta=0.1).config
    speeds = []
    for repetition in range(repetitions + 1):
        simulation = simulate(config, environment, 5_000, 0, repetition, threads)
        clock = time.perf_counter if threads > 1 else time.process_time
        began = clock()
        simulation.advance(5_000)
        speeds.append(environment.agents * 5_000 / (clock() - began) / 1e6)
    return statistics.median(speeds[1:])  # the first one may compile


def parties() -> float:
    """Agent-steps a second of the party driver at M = 10, d = 10, K = 20."""
    environment = Linear(agents=10, dim=10, arms=20)
    config = system("feducb-p2p", graph="ring", gamma=3, delta=0.1).config
    speeds = []
    for replicate in range(4):
        run = federate(config, environment, 1000, 0, replicate)
        began = time.process_time()
        run.advance(1000)
        speeds.append(10_000 / (time.process_time() - began))
    return statistics.median(speeds[1:])


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"M=100, d=10, K=100, T=5,000, {THREADS} threads: M agent-steps/s (one thread)")
    for preset in ("feducb-p2p", "feducb-p2p-published"):
        for graph, gamma in GRAPHS:
            both = [speed(preset, graph, gamma, t, repetitions) for t in (THREADS, 1)]
            name = f"{preset}, {graph}, γ = {gamma}"
            print(f"  {name:45s} {both[0]:6.2f} ({both[1]:.2f})", flush=True)
    print(f"parties, M=10, K=20, ring, γ = 3: {parties():,.0f} agent-steps/s, one thread")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
