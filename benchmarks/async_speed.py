"""µs an agent-step of ``fedlinucb-async``, by how often agents exchange, beside learning alone.

Processor time of one thread, medians over repetitions; compilation is left out.
"""

from __future__ import annotations

import statistics
import time

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.replicates import simulate

REPETITIONS = 3
#: Agents, dimension, arms, rounds: the fewer rounds, the larger the share that ends in an exchange.
SHAPES = ((100, 10, 100, 1000), (20, 10, 50, 4000), (10, 5, 10, 10_000))


def cost(preset: str, world: Linear, rounds: int) -> tuple[float, float]:
    """Microseconds an agent-step, and exchanges an agent-step."""
    config, steps, seconds = system(preset).config, world.agents * rounds, []
    for replicate in range(REPETITIONS + 1):
        run = simulate(config, world, rounds, 0, replicate, 1)
        began = time.thread_time()
        run.advance(rounds)
        seconds.append(time.thread_time() - began)
    return 1e6 * statistics.median(seconds[1:]) / steps, run.syncs / steps  # the first may compile


def main() -> None:
    print("| agents | d | arms | rounds | exchanges a step | µs a step | `linucb-alone` |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for agents, dim, arms, rounds in SHAPES:
        world = Linear(agents=agents, dim=dim, arms=arms)
        own, exchanges = cost("fedlinucb-async", world, rounds)
        alone, _ = cost("linucb-alone", world, rounds)
        cells = (
            f"{agents} | {dim} | {arms} | {rounds:,} | {exchanges:.2f} | {own:.2f} | {alone:.2f}"
        )
        print(f"| {cells} |", flush=True)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
