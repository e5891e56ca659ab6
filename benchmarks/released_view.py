"""What a sharper mechanism saves an agent that acts on releases alone: paired differences.

Every row is a world in which ``feducb`` plays with four mechanisms of the same ε and δ. All see the
same contexts and rewards. A difference is relative to the first, with a 95% interval.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import fedbandits as fb
from fedbandits._typing import Floats
from fedbandits.environments import Classification, Linear
from fedbandits.experiments.intervals import paired
from fedbandits.reproduce.feducb import proved

#: As it was, then with less noise for the Gram matrix, the optimal factorisation, and both.
MECHANISMS: dict[str, dict[str, Any]] = {
    "equal, Toeplitz": {"gram_noise": 1.0, "privatizer": "toeplitz"},
    "unequal": {"privatizer": "toeplitz"},
    "optimal": {"gram_noise": 1.0},
    "both": {},
}


def worlds() -> dict[str, tuple[Linear | Classification, int, float]]:
    """Environments, rounds and δ."""
    found: dict[str, tuple[Linear | Classification, int, float]] = {
        f"linear, M={agents}, T=10,000": (Linear(agents=agents, dim=10, arms=20), 10_000, 1e-5)
        for agents in (5, 20, 80)
    }
    found["linear, M=10, T=10,000, δ=0.1"] = (Linear(agents=10, dim=10, arms=20), 10_000, 0.1)
    for agents, rounds in ((10, 2000), (100, 150), (300, 150), (300, 500)):
        data = Classification(agents=agents, components=10, shards="shared")
        found[f"breast cancer, M={agents}, T={rounds:,}"] = (data, rounds, 1e-5)
    return found


def regrets(
    environment: Linear | Classification, rounds: int, delta: float, scale: float, replicates: int
) -> Floats:
    """Regret an agent, (mechanisms, replicates)."""
    experiment = fb.Experiment(
        rounds=rounds,
        replicates=replicates,
        environment=environment,
        systems=tuple(
            proved("feducb", label=label, exploration_scale=scale, delta=delta, **parts)
            for label, parts in MECHANISMS.items()
        ),
    )
    found = fb.run(experiment).regret.isel(round=-1).mean("party")
    return np.array([found.sel(system=label).values for label in MECHANISMS])


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    print(f"{'regret an agent':34s} scale" + "".join(f"{name:>19s}" for name in MECHANISMS))
    for scale in (1.0, 0.1):
        for name, (environment, rounds, delta) in worlds().items():
            found = regrets(environment, rounds, delta, scale, replicates)
            before = float(found[0].mean())
            cells = []
            for row in found[1:]:
                difference = paired(row - found[0])
                half = 100.0 * (difference.half_width or 0.0) / before
                cells.append(f"{100.0 * difference.mean / before:+7.1f}% ± {half:4.1f}%")
            print(f"{name:34s} {scale:5g}{before:19.1f}" + "".join(f"{c:>19s}" for c in cells),
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
