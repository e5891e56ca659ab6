"""What theorems promise beside what runs measure, and what they promise at the papers' own scale.

Bounds at the papers' scale need no run: they are formulas of a plan. Arguments: replicates
(default 4).
"""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np

from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.errors import ConfigWarning
from fedbandits.experiments.plots.bounds import compare
from fedbandits.experiments.run import run
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import Experiment

#: Title: world and rounds as measured, world and rounds of the paper, systems.
CASES: dict[str, tuple[Environment, int, Environment, int, tuple]] = {
    "FedUCB": (
        Linear(agents=10, dim=10, arms=20), 20_000, Linear(agents=100, dim=10, arms=100),
        10_000_000,
        (proved("feducb-published", delta=0.1), proved("feducb-nonprivate"), proved("dislinucb")),
    ),
    "FedUCB, peer to peer": (
        Linear(agents=10, dim=10, arms=20), 20_000, Linear(agents=100, dim=10, arms=100),
        10_000_000,
        (proved("feducb-p2p-published", delta=0.1, graph="ring", gamma=3),),
    ),
    "FCLUB": (
        Clustered(users=40, clusters=5, servers=5), 131_071,
        Clustered(users=40, clusters=5, servers=5), 131_071,
        (proved("fclub-published", delta=0.1), proved("fclub-dc"), proved("fclub-authors")),
    ),
    "P-FCB": (
        Procurement(case="uniform", homogeneous=True, instance=0), 100_000,
        Procurement(case="uniform", homogeneous=True, instance=0), 100_000,
        (proved("homogeneous-fcb"), proved("fcb-every-round")),
    ),
    "SAMBA": (
        Bernoulli(arms=10), 10_000, Bernoulli(arms=100), 100_000,
        (proved("samba-ucb", cipher="stream", paillier_bits=2048),),
    ),
}  # fmt: skip


def number(value: float) -> str:
    """As one reads it: 15, 34,410, 3.4 × 10⁷."""
    if math.isinf(value):
        return "–"
    if 0.01 <= value < 1e6:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    power = math.floor(math.log10(value))
    digits = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10.0**power:.1f} × 10{digits}"


def main() -> None:
    warnings.simplefilter("ignore", ConfigWarning)
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print("| system | proved in | of | T | measured | bound | measured ÷ bound | verdict |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | --- |")
    for world, rounds, _, _, systems in CASES.values():
        experiment = Experiment(
            rounds=rounds, environment=world, systems=systems, replicates=replicates
        )
        for found in compare(run(experiment), experiment.bounds()):
            promised = " (a condition is not met)" if found.bound.departs else ""
            print(
                f"| `{found.label}` | {found.bound.theorem} | {found.bound.quantity} | {rounds:,} "
                f"| {number(found.measured)} | {number(found.limit)} "
                f"| {number(found.measured / found.limit)} | {found.verdict}{promised} |",
                flush=True,
            )
    print("\nAt the paper's scale:\n")
    print("| system | proved in | of | T | bound | the most there is | the bound says |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- |")
    for _, _, world, rounds, systems in CASES.values():
        experiment = Experiment(rounds=rounds, environment=world, systems=systems)
        for label, bounds in experiment.bounds().items():
            for bound in bounds:
                limit = float(bound.at(np.array([float(rounds)]))[0])
                most = bound.largest * rounds
                says = "nothing: vacuous" if limit >= most else "something"
                print(
                    f"| `{label}` | {bound.theorem} | {bound.quantity} | {rounds:,} "
                    f"| {number(limit)} | {number(most)} | {says} |"
                )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
