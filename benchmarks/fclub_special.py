"""FCLUB's special cases (section 4.4) and users alike within η (footnote 2): regret of all users.

    python benchmarks/fclub_special.py [replicates]

d = 10, T = 131,071, ε = 1, δ = 0.1. The cases: one cluster on one server; five clusters on one
server; one cluster and one user a server. In the paper's third case users come in turn, here at
random. Then 40 users in 5 clusters spread over 5 servers, alike within η, a gap of 0.5 apart.
Prints Markdown: the first column is regret, the others are multiples of it. Argument: replicates
(5).
"""

from __future__ import annotations

import sys

import fedbandits as fb
from fedbandits.environments import Clustered
from fedbandits.settings.experiment import system

ALONE = "linucb-per-user"
BUDGET = {"epsilon": 1.0, "delta": 0.1}
SYSTEMS = (
    system(ALONE),
    system("fclub-published", **BUDGET),
    system("fclub-dc"),
    system("fclub-sync"),
    system("homo-dc"),
    system("fclub", **BUDGET),
    system("fclub-clear"),
)
WORLDS = {
    "m = 1, L = 1": Clustered(users=40, clusters=1, dim=10, servers=1),
    "L = 1": Clustered(users=40, clusters=5, dim=10, servers=1),
    "m = 1, a user a server": Clustered(users=10, clusters=1, dim=10, servers=10),
    **{
        f"η = {within:g}": Clustered(
            users=40, clusters=5, dim=10, servers=5, placement="spread", gap=0.5, within=within
        )
        for within in (0.0, 0.1, 0.2, 0.4)
    },
}


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"| | {' | '.join(f'`{entry.label}`' for entry in SYSTEMS)} |")
    print(f"| --- |{' ---: |' * len(SYSTEMS)}")
    for name, world in WORLDS.items():
        experiment = fb.Experiment(
            rounds=131_071, environment=world, systems=SYSTEMS, replicates=replicates, checkpoints=2
        )
        regret = fb.run(experiment).regret.isel(round=-1).sum("party")
        alone = regret.sel(system=ALONE)
        cells = [f"{float(alone.mean()):,.0f}"]
        cells += [
            f"{float(regret.sel(system=entry.label).mean() / alone.mean()):.2f}"
            for entry in SYSTEMS[1:]
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
