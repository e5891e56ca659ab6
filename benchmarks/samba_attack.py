"""How much of the owners' statistics Comp recovers from its own transcript."""

from __future__ import annotations

import statistics

from fedbandits import system
from fedbandits.crypto import paillier
from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import SYSTEM
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.audit.attack import count_recovered
from fedbandits.testing.replicates import federate, plan_of

BUDGET, SEEDS = 1000, 5


def with_key(key, simulated):
    """One key for all runs: making one takes a while."""
    return lambda role, place: (
        Supply(private_key=key) if role == "customer" else simulated(role, place)
    )


def main() -> None:
    key = paillier.generate(2048)
    print(f"N = {BUDGET:,}: share of comparisons before which Comp knows every (s, n), over seeds")
    for algorithm in ("ucb", "ucb-tuned", "kl-ucb", "softmax", "egreedy"):
        preset = f"samba-{algorithm}"
        config = system(preset, paillier_bits=2048).config
        for arms in (5, 10, 50):
            rates = []
            for seed in range(SEEDS):
                world = Bernoulli(arms=arms)
                plan = plan_of(config, world, BUDGET)
                supplies = with_key(key, SYSTEM.simulated_supplies(plan, None, seed, 0))
                run = federate(config, world, BUDGET, seed, 0, supplies=supplies)
                run.advance(BUDGET)
                found = count_recovered(run)
                rates.append(found.statistics / found.of)
            mean = statistics.mean(rates)
            print(f"  {preset:15s} K = {arms:2d}: least {min(rates):.4f}, mean {mean:.4f}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
