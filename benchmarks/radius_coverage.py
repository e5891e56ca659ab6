"""How often ‖θ* - θ̃‖_V ever exceeds the adaptive radius, looking whenever anybody pools anew."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.testing.plays import simulate

ENVIRONMENT = Linear(agents=10, dim=10, arms=20)
ROUNDS = 2000


def worst_ratio(simulation: BatchedReplicate[Any], news: list[int]) -> float:
    """The largest ‖θ* - θ̃‖_V / β of one replicate."""
    truth = ENVIRONMENT.true_parameters(simulation.world)
    ratios = []
    for round_ in [*news, ROUNDS]:
        simulation.advance(round_)
        ratios.append(simulation.confidence_ratio(truth))
    return max(ratios)


def controlled(replicate: int, **parts: float) -> float:
    config = system("feducb", delta=0.1, **parts).config
    simulation = simulate(config, ENVIRONMENT, ROUNDS, 0, replicate)
    return worst_ratio(simulation, simulation.sync_rounds())


def among_peers(replicate: int, graph: str, gamma: int, **parts: float) -> float:
    config = system("feducb-p2p", delta=0.1, graph=graph, gamma=gamma, **parts).config
    simulation = simulate(config, ENVIRONMENT, ROUNDS, 0, replicate)
    return worst_ratio(simulation, simulation.arrivals())


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("variant             alpha  epsilon  failed  median and largest of max ‖θ* - θ̃‖_V / β")
    for alpha, epsilon in ((0.01, 1.0), (0.1, 1.0), (0.1, 20.0)):
        parts = {"alpha": alpha, "epsilon": epsilon}
        for graph, gamma in (("", 0), ("line", 3), ("star", 2)):
            worst = np.array(
                [
                    among_peers(r, graph, gamma, **parts) if graph else controlled(r, **parts)
                    for r in range(replicates)
                ]
            )
            name = f"p2p {graph}, γ = {gamma}" if graph else "controller"
            print(
                f"{name:18s}  {alpha:5g}  {epsilon:7g}  {np.mean(worst > 1.0):6.3f}  "
                f"{np.median(worst):.2f} {max(worst):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
