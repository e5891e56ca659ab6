"""Audit every private preset: ε claimed, ε that attacks show, tightness, noise wasted, time.

Asked: no sound preset shows more ε than it claims; at least 0.8 of it for the Toeplitz privatizer
at 100,000 runs a side, n = 32, d = 5, in under a minute; FedUCB as published broken by its trigger.

    python benchmarks/audit.py [RUNS]

About 20 minutes on one core.
"""

from __future__ import annotations

import sys
import time

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.environments.base import Environment
from fedbandits.experiments.audits.audit import audit
from fedbandits.privacy.auditing import audit as attack
from fedbandits.settings.experiment import Experiment, system
from fedbandits.systems.agents.audit_releases import contents_games
from fedbandits.testing.replicates import plan_of

EPSILON, DELTA = 1.0, 1e-5
WORLDS: list[tuple[Environment, int, tuple[str, ...]]] = [
    (
        Linear(agents=10, dim=10, arms=20),
        60_000,
        ("feducb", "ldp-silo", "feducb-p2p", "feducb-published", "feducb-p2p-published"),
    ),
    (Procurement(), 60_000, ("pfcb", "pfcb-interactive", "pfcb-published")),
    (
        Clustered(placement="spread"),
        60_000,
        ("fclub", "fclub-released", "fclub-clusters", "fclub-published"),
    ),
]


def toeplitz(runs: int) -> None:
    """The privatizer by itself, n = 32 and d = 5."""
    config = system("feducb", epsilon=EPSILON, delta=DELTA, schedule="every(1)").config
    game = contents_games(plan_of(config, Linear(agents=10, dim=5, arms=10), 33))[0]
    attack(game, 200, DELTA)  # compile
    start = time.perf_counter()
    found = attack(game, runs, DELTA)
    seconds = time.perf_counter() - start
    print(
        f"Toeplitz, {found.looks_at}, {runs:,} runs a side: ε ≥ {found.epsilon_low:.3f} of "
        f"{EPSILON:g}, {seconds:.1f} s\n"
    )


def presets(runs: int) -> None:
    """Every private preset, as a table."""
    print("| preset | claimed by | ε | shown | tightness | noise × needed | measured | verdict |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for environment, rounds, names in WORLDS:
        systems = tuple(system(name, epsilon=EPSILON, delta=DELTA) for name in names)
        experiment = Experiment(
            name="audit", rounds=rounds, replicates=1, environment=environment, systems=systems
        )
        for verdict in audit(experiment, runs).verdicts:
            print(
                f"| `{verdict.system}` | {verdict.claimed_by} | {verdict.epsilon:.3g} | "
                f"{verdict.epsilon_low:.3g} | {verdict.tightness:.2f} | "
                f"{verdict.noise_factor:.1f} | {verdict.noise_measured:.1f} | {verdict.outcome} |",
                flush=True,
            )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    toeplitz(count)
    presets(count)
