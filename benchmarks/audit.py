"""Audit private presets: ε claimed, ε that attacks show, what a record's farthest move costs.

Asked: no sound preset shows more ε than it claims; at least 0.8 of it for the Toeplitz privatizer
at 100,000 runs a side, n = 32, d = 5, in under a minute; no record moves releases of a sound preset
further than is charged; FedUCB and FCLUB as published broken by what raw data decide.

    python benchmarks/audit.py [RUNS] [--jobs JOBS] [--only PRESET …]

About 10 minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
import time

from fedbandits.environments import Clustered, Linear, Procurement
from fedbandits.environments.base import Environment
from fedbandits.experiments.audits.audit import audit
from fedbandits.experiments.audits.verdict import Verdict
from fedbandits.privacy.auditing import audit as attack
from fedbandits.settings.experiment import Experiment, system
from fedbandits.systems.agents.audit_releases import contents_games
from fedbandits.testing.replicates import plan_of

EPSILON, DELTA = 1.0, 1e-5
WORLDS: list[tuple[Environment, int, tuple[str, ...]]] = [
    (
        Linear(agents=10, dim=10, arms=20),
        60_000,
        (
            "feducb",
            "feducb-hybrid",
            "feducb-secure",
            "ldp-silo",
            "feducb-p2p",
            "feducb-published",
            "feducb-p2p-published",
        ),
    ),
    (Procurement(), 60_000, ("pfcb", "pfcb-interactive", "pfcb-secure", "pfcb-published")),
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


def presets(runs: int, jobs: int, only: list[str]) -> None:
    """Print a table of private presets, with processor and clock time of each."""
    print(
        "| preset | claimed by | ε | shown | tightness | farthest move, of charged | "
        "noise × needed | measured | verdict |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for environment, rounds, names in WORLDS:
        for name in names:
            if only and name not in only:
                continue
            chosen = system(name, epsilon=EPSILON, delta=DELTA)
            experiment = Experiment(
                name="audit", rounds=rounds, replicates=1, environment=environment,
                systems=(chosen,),
            )  # fmt: skip
            start = time.perf_counter()
            (verdict,) = audit(experiment, runs, jobs=jobs).verdicts
            print(f"{row(verdict)}", flush=True)
            seconds = time.perf_counter() - start
            print(f"{name}: {seconds:.0f} s; {verdict.left_out_line}", file=sys.stderr, flush=True)


def row(verdict: Verdict) -> str:
    """Return a line of the table."""
    farthest = max(verdict.moved, key=lambda moved: moved.epsilon / moved.charged, default=None)
    moved = "" if farthest is None else f"{farthest.epsilon:.3g} of {farthest.charged:.3g}"
    return (
        f"| `{verdict.system}` | {verdict.claimed_by} | {verdict.epsilon:.3g} | "
        f"{verdict.epsilon_low:.3g} | {verdict.tightness:.2f} | {moved} | "
        f"{verdict.noise_factor:.1f} | {verdict.noise_measured:.1f} | {verdict.outcome} |"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="?", type=int, default=100_000, help="runs a side (100000)")
    parser.add_argument("--jobs", type=int, default=1, help="parts side by side (1)")
    parser.add_argument("--only", nargs="*", default=[], help="presets")
    given = parser.parse_args()
    if not given.only:
        toeplitz(given.runs)
    presets(given.runs, given.jobs, given.only)
