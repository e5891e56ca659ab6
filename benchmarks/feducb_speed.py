"""Agent-steps a second of the central FedUCB presets, and how cost grows.

All processors are used, as ``fedbandits run`` does: replicates, or the agents of one replicate,
are played side by side. Compilation is left out. Medians over repetitions are printed. With a path
as argument the growth of cost is drawn there too.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

from matplotlib.figure import Figure

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.replicates import simulate

PRESETS = (
    "feducb", "feducb-hybrid", "feducb-published", "feducb-nonprivate", "linucb-alone",
    "linucb-pooled",
)  # fmt: skip
THREADS = os.cpu_count() or 1
REPETITIONS = 5


def speed(preset: str, environment: Linear, rounds: int, threads: int = THREADS) -> float:
    """Median agent-steps a second over repetitions, in millions."""
    config = system(preset, delta=0.1).config
    speeds = []
    for repetition in range(REPETITIONS + 1):
        simulation = simulate(config, environment, rounds, 0, repetition, threads)
        # One thread's processor time is what it costs; other work on the machine disturbs it less.
        clock = time.thread_time if threads == 1 else time.perf_counter
        began = clock()
        simulation.advance(rounds)
        speeds.append(environment.agents * rounds / (clock() - began) / 1e6)
    return statistics.median(speeds[1:])  # the first one may compile


def main() -> None:
    base = Linear(agents=100, dim=10, arms=100)
    print(f"M=100, d=10, K=100, T=10,000, {THREADS} threads: M agent-steps/s (one thread)")
    for preset in PRESETS:
        both = (speed(preset, base, 10_000), speed(preset, base, 10_000, threads=1))
        print(f"  {preset:20s} {both[0]:6.2f} ({both[1]:.2f})", flush=True)
    print("feducb, one thread, µs an agent-step as one quantity grows:")
    costs = {
        "agents": {m: _cost(agents=m) for m in (25, 50, 100, 200)},
        "arms": {k: _cost(arms=k) for k in (25, 50, 100, 200)},
        "dim": {d: _cost(dim=d) for d in (5, 10, 20, 40)},
        "rounds": {t: _cost(rounds=t) for t in (1000, 4000, 16_000)},
    }
    for name, line in costs.items():
        print(f"  {name:8s}", "   ".join(f"{value:,}: {cost:.2f}" for value, cost in line.items()))
    if len(sys.argv) > 1:
        draw(costs, sys.argv[1])


def _cost(rounds: int = 2000, **world: int) -> float:
    environment = Linear(**{"agents": 100, "dim": 10, "arms": 100} | world)
    return 1.0 / speed("feducb", environment, rounds, 1)


def draw(costs: dict[str, dict[int, float]], path: str) -> None:
    """µs an agent-step over each quantity, as a multiple of its smallest value."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, line in costs.items():
        smallest = min(line)
        axes.plot([value / smallest for value in line], list(line.values()), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="multiple of the smallest value tried")
    axes.set_ylabel("µs an agent-step, one thread")
    for axis, ticks in ((axes.xaxis, (1, 2, 4, 8, 16)), (axes.yaxis, (0.5, 1, 2, 4))):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
