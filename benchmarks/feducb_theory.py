"""FedUCB's theorems beside runs: M=20, d=10, K=20, T=20,000, ε=1, δ=0.1; and at the paper's scale.

The largest of all replicates is held against each bound. θ* is drawn in the ball.
"""

from __future__ import annotations

import sys

import numpy as np

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.experiments.plots.bounds import compare
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import Variant

LEVELS = ("theory", "M^1.5", "M log T", "MT")
BUDGET = {"epsilon": 1.0, "delta": 0.1}
PAPER = Linear(agents=100, dim=10, arms=100, parameter="ball")


def systems() -> list[Variant]:
    """Everything that a theorem is about."""
    published = [
        proved(
            "feducb-published",
            label=f"published, {level}",
            schedule=f"determinant({level})",
            **BUDGET,
        )
        for level in LEVELS
    ]
    peers = [
        proved("feducb-p2p-published", label=f"peers, {graph}, γ = {gamma}", graph=graph,
                  gamma=gamma, schedule="determinant(theory)", **BUDGET)
        for graph, gamma in (("complete", 1), ("ring", 3))
    ]  # fmt: skip
    clear = [proved(name) for name in ("dislinucb", "feducb-nonprivate", "linucb-pooled")]
    return [*published, *peers, *clear]


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    world = Linear(agents=20, dim=10, arms=20, parameter="ball")
    experiment = fb.Experiment(
        rounds=20_000, replicates=replicates, environment=world, systems=tuple(systems())
    )
    print(f"{'system':24s} {'theorem':22s} {'measured':>10s} {'bound':>11s} {'share':>9s} verdict")
    for found in compare(fb.run(experiment), experiment.bounds()):
        name, share = found.bound.theorem.rpartition(", ")[2], found.measured / found.limit
        print(
            f"{found.label:24s} {name:22s} {found.measured:10,.0f} {found.limit:11.4g} "
            f"{share:9.2g} {found.verdict}{', departs' if found.bound.departs else ''}"
        )
    print("the paper's scale, M = 100, d = 10, T = 10⁷: bound, and in units of what is vacuous")
    paper = fb.Experiment(rounds=10**7, environment=PAPER, systems=tuple(systems()))
    for label, bounds in paper.bounds().items():
        for bound in bounds:
            limit = float(bound.at(np.array([1e7]))[0])
            name = bound.theorem.rpartition(", ")[2]
            print(f"{label:24s} {name:22s} {limit:11.4g} {limit / (bound.largest * 1e7):9.2g}")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
