"""Peak memory of a process that plays feducb at M = 100; it should not depend on the horizon."""

from __future__ import annotations

import resource
import sys

from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.replicates import simulate


def main() -> None:
    rounds = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    environment = Linear(agents=100, dim=10, arms=100)
    simulation = simulate(system("feducb").config, environment, rounds, 0, 0, threads=2)
    simulation.advance(rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"M=100, T={rounds:,}: peak {peak:,.0f} MiB, regret an agent {simulation.regret.mean():.1f}"
    )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
