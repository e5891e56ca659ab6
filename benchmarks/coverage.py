"""How often ‖θ* - θ̃‖_V ever exceeds the adaptive radius, looking after every sync."""

from __future__ import annotations

import sys

import numpy as np

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.systems.feducb import Simulation


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    environment = Linear(agents=10, dim=10, arms=20)
    print("alpha  epsilon  replicates  failed  median and largest of max ‖θ* - θ̃‖_V / β")
    for alpha, epsilon in ((0.01, 1.0), (0.1, 1.0), (0.1, 20.0)):
        config = system("feducb", delta=0.1, alpha=alpha, epsilon=epsilon).config
        worst = []
        for replicate in range(replicates):
            simulation = Simulation(config, environment, 2000, 0, replicate)
            truth = environment.true_parameters(simulation.world)
            ratios = []
            for sync in [*simulation.sync_rounds(), 2000]:
                simulation.advance(sync)
                ratios.append(simulation.confidence_ratio(truth))
            worst.append(max(ratios))
        failed = np.mean(np.array(worst) > 1.0)
        middle, top = np.median(worst), max(worst)
        print(f"{alpha:5g}  {epsilon:7g}  {replicates:10d}  {failed:6.3f}  {middle:.2f} {top:.2f}")


if __name__ == "__main__":
    main()
