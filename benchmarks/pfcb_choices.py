"""P-FCB's own advice, measured: ω₁ω₂ kept (section 6.2), the window's start, noise every round.

n = 10, m = 30, T = 100,000, ε = 1, δ = 0.01, window [200, 40,000]. Section 6.2 advises to keep
ω₁ω₂ = 1, and to begin near round 200, where noise is a tenth of what a report holds. Section 5.1
argues against a report after every round. Prints regret a buyer in all. Arguments: instances (3),
runs of each (2).
"""

from __future__ import annotations

import sys

import numpy as np

import fedbandits as fb
from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system

OMEGAS = ((0.1, 10.0), (1.0, 1.0), (10.0, 0.1), (0.1, 1.0), (1.0, 0.1), (1.0, 10.0), (10.0, 1.0))
STARTS = (25, 50, 100, 200, 400, 800, 3200)
LAST = 40_000


def judged(first: float, second: float) -> dict[str, str]:
    """ω₁ and ω₂ as settings."""
    return {
        "acceptance": f"within-radius({first:g}, pooled, shared)",
        "weighting": f"constant({second:g})",
    }


SYSTEMS = (
    system("cucb-alone"),
    *(
        system("pfcb-published", label=f"ω₁ = {a:g}, ω₂ = {b:g}", window=(200, LAST),
               **judged(a, b))
        for a, b in OMEGAS
    ),
    *(
        system("pfcb-published", label=f"from round {start}", window=(start, LAST))
        for start in STARTS
        if start != 200
    ),
    system("pfcb-published", label="noise every round, Procedure 1", schedule="every",
           privatizer="independent"),
    system("pfcb", label="noise every round, weighed", schedule="every"),
    system("pfcb", label="pfcb", window=(200, LAST)),
)  # fmt: skip


def main() -> None:
    instances = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    print("| regret a buyer | uniform | normal |\n| --- | ---: | ---: |")
    columns = [regrets(case, instances, runs) for case in ("uniform", "normal")]
    for entry in SYSTEMS:
        cells = (f"{column[entry.label]:,.0f}" for column in columns)
        print(f"| {entry.label} | {' | '.join(cells)} |", flush=True)


def regrets(case: str, instances: int, runs: int) -> dict[str, float]:
    """The mean regret a buyer of each system, over instances and runs."""
    found = [
        fb.run(
            fb.Experiment(
                rounds=100_000, replicates=runs, systems=SYSTEMS, checkpoints=2,
                environment=Procurement(case=case, instance=i),
            )
        ).isel(round=-1)
        for i in range(instances)
    ]  # fmt: skip
    return {
        entry.label: float(np.mean([one.regret.sel(system=entry.label).mean() for one in found]))
        for entry in SYSTEMS
    }


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
