"""How much of the owners' statistics Comp recovers from its own transcript."""

from __future__ import annotations

import statistics

from fedbandits import system
from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.systems.samba.audit import success_rate
from fedbandits.systems.samba.federate import FederatedRun

BUDGET, SEEDS = 1000, 5


def main() -> None:
    key = paillier.generate(2048)
    print(f"N = {BUDGET:,}: share of comparisons before which Comp knows every (s, n), over seeds")
    for preset in ("samba-ucb", "samba-softmax", "samba-egreedy"):
        config = system(preset, paillier_bits=2048).config
        for arms in (5, 10, 50):
            rates = []
            for seed in range(SEEDS):
                run = FederatedRun(config, Bernoulli(arms=arms), BUDGET, seed, 0, key)
                run.advance(BUDGET)
                rates.append(success_rate(run))
            mean = statistics.mean(rates)
            print(f"  {preset:14s} K = {arms:2d}: least {min(rates):.4f}, mean {mean:.4f}")


if __name__ == "__main__":
    main()
