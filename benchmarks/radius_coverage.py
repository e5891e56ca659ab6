"""How often an error ever exceeds its bound, looking whenever anybody pools anew."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from fedbandits.environments import Linear
from fedbandits.reproduce.feducb import proved
from fedbandits.systems.agents.batches import BatchedReplicate
from fedbandits.testing.replicates import simulate

ENVIRONMENT = Linear(agents=10, dim=10, arms=20)
ROUNDS = 2000
#: Preset, graph and γ; no graph where there is a controller.
VARIANTS = {
    "controller": ("feducb", "", 0),
    "p2p line, γ = 3": ("feducb-p2p", "line", 3),
    "p2p star, γ = 2": ("feducb-p2p", "star", 2),
    "alone": ("linucb-alone", "", 0),
}


def worst_ratio(simulation: BatchedReplicate[Any], news: list[int]) -> float:
    """The largest ‖θ* - θ̃‖_V / β of one replicate."""
    truth = ENVIRONMENT.true_parameters(simulation.world)
    ratios = []
    for round_ in [*news, ROUNDS]:
        simulation.advance(round_)
        ratios.append(simulation.confidence_ratio(truth))
    return max(ratios)


def controlled(replicate: int, preset: str, **parts: float) -> float:
    config = proved(preset, delta=0.1, **parts).config
    simulation = simulate(config, ENVIRONMENT, ROUNDS, 0, replicate)
    return worst_ratio(simulation, simulation.sync_rounds())


def among_peers(replicate: int, preset: str, graph: str, gamma: int, **parts: float) -> float:
    config = proved(preset, delta=0.1, graph=graph, gamma=gamma, **parts).config
    simulation = simulate(config, ENVIRONMENT, ROUNDS, 0, replicate)
    return worst_ratio(simulation, simulation.arrivals())


def worst_of(name: str, replicate: int, **parts: float) -> float:
    preset, graph, gamma = VARIANTS[name]
    if graph:
        return among_peers(replicate, preset, graph, gamma, **parts)
    return controlled(replicate, preset, **parts)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    names = sys.argv[2:] or list(VARIANTS)
    print("variant             alpha  epsilon  failed  median and largest of max error / bound")
    for alpha, epsilon in ((0.01, 1.0), (0.1, 1.0), (0.1, 20.0)):
        for name in names:
            found = [worst_of(name, r, alpha=alpha, epsilon=epsilon) for r in range(replicates)]
            worst = np.array(found)
            print(
                f"{name:18s}  {alpha:5g}  {epsilon:7g}  {np.mean(worst > 1.0):6.3f}  "
                f"{np.median(worst):.2f} {max(worst):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
