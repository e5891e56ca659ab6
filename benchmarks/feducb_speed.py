"""Agent-steps a second of the central FedUCB presets, and how cost grows.

All processors are used, as ``fedbandits run`` does: replicates, or the agents of one replicate,
are played side by side. Compilation is left out. Medians over repetitions are printed.
"""

from __future__ import annotations

import os
import statistics
import time

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.systems.feducb import Simulation

PRESETS = ("feducb", "feducb-published", "feducb-nonprivate", "linucb-alone", "linucb-pooled")
THREADS = os.cpu_count() or 1
REPETITIONS = 5


def speed(preset: str, environment: Linear, rounds: int, threads: int = THREADS) -> float:
    """Median agent-steps a second over repetitions, in millions."""
    config = system(preset, delta=0.1).config
    speeds = []
    for repetition in range(REPETITIONS + 1):
        simulation = Simulation(config, environment, rounds, 0, repetition, threads)
        began = time.perf_counter()
        simulation.advance(rounds)
        speeds.append(environment.agents * rounds / (time.perf_counter() - began) / 1e6)
    return statistics.median(speeds[1:])  # the first one may compile


def main() -> None:
    base = Linear(agents=100, dim=10, arms=100)
    print(f"M=100, d=10, K=100, T=10,000, {THREADS} threads: M agent-steps/s (one thread)")
    for preset in PRESETS:
        both = (speed(preset, base, 10_000), speed(preset, base, 10_000, threads=1))
        print(f"  {preset:20s} {both[0]:6.2f} ({both[1]:.2f})", flush=True)
    print("feducb, one thread, µs an agent-step as one quantity grows:")
    for name, values in {
        "agents": (25, 50, 100, 200),
        "arms": (25, 50, 100, 200),
        "dim": (5, 10, 20, 40),
    }.items():
        cells = []
        for value in values:
            environment = Linear(**{"agents": 100, "dim": 10, "arms": 100} | {name: value})
            cells.append(f"{value}: {1 / speed('feducb', environment, 2000, 1):.2f}")
        print(f"  {name:8s}", "   ".join(cells), flush=True)
    cells = [f"{t:,}: {1 / speed('feducb', base, t, 1):.2f}" for t in (1000, 4000, 16_000)]
    print("  rounds  ", "   ".join(cells))


if __name__ == "__main__":
    main()
