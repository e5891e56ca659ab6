"""How much of the owners' statistics Comp recovers from its own transcript of a UCB run."""

from __future__ import annotations

import statistics

from fedbandits import system
from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.systems.samba.attack import success_rate
from fedbandits.systems.samba.federate import FederatedRun

BUDGET, SEEDS = 1000, 5


def main() -> None:
    config = system("samba-ucb", paillier_bits=2048).config
    key = paillier.generate(2048)
    print(f"UCB, N = {BUDGET:,}: share of steps before which Comp knows every (s, n), over seeds")
    for arms in (5, 10, 50):
        rates = []
        for seed in range(SEEDS):
            run = FederatedRun(config, Bernoulli(arms=arms), BUDGET, seed, 0, key)
            run.advance(BUDGET)
            rates.append(success_rate(run))
        print(f"  K = {arms:2d}: least {min(rates):.4f}, mean {statistics.mean(rates):.4f}")


if __name__ == "__main__":
    main()
