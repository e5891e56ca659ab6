"""P-FCB at the paper's scale: regret after exploration, and who misses the constraint how often.

n = 10, m = 30, T = 100,000, α = 0.4, ε = 1, δ = 0.01, window [200, 40,000], where buyers act on
reports alone [10, 40,000]. By accounting published noise costs ε = 0.136. Arguments: ζ (default
0.6: 5 rounds of exploration; 0.1: 207), instances (5), runs of each (4), cases (uniform normal).
"""

from __future__ import annotations

import sys

import numpy as np

import fedbandits as fb
from fedbandits.environments import Procurement
from fedbandits.reproduce.pfcb import ACCOUNTED
from fedbandits.settings.experiment import system
from usage import explain

WINDOW = (200, 40_000)
EARLY = (10, 40_000)
#: Without Procedure 1.
ALL_TAKEN = {"acceptance": "always", "weighting": "constant(1)"}
explain(__doc__)
ZETA = float(sys.argv[1]) if len(sys.argv) > 1 else 0.6


def variant(preset, **settings):
    return system(preset, zeta=ZETA, **settings)


SYSTEMS = (
    variant("cucb-alone"),
    variant("pfcb-published", window=WINDOW),
    variant("pfcb-published", label="published, powers", window=WINDOW, schedule="powers"),
    variant("pfcb-published", label="published, ω swapped", window=WINDOW,
           acceptance="within-radius(10)", weighting="constant(0.1)"),
    variant("pfcb", window=WINDOW),
    variant("pfcb", label="pfcb, ε = 0.136", window=WINDOW, epsilon=ACCOUNTED),
    variant("pfcb", label="pfcb, no noise", window=WINDOW, privatizer="none"),
    variant("pfcb", label="pfcb, independent noise", window=WINDOW, privatizer="independent"),
    variant("pfcb", label="pfcb, optimistic", window=WINDOW, purchases="optimistic"),
    variant("pfcb-interactive", window=EARLY),
    variant("pfcb-interactive", label="interactive, continual", window=EARLY,
           privatizer="continual", schedule="growing(1.1)"),
    variant("fcb", window=WINDOW),
    variant("fcb", label="fcb, powers", window=WINDOW, schedule="powers"),
    variant("fcb", label="fcb, all taken", window=WINDOW, **ALL_TAKEN),
    variant("fcb-every-round"),
)  # fmt: skip


def main() -> None:
    instances = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    for case in sys.argv[4:] or ("uniform", "normal"):
        results = [
            fb.run(
                fb.Experiment(
                    rounds=100_000,
                    replicates=runs,
                    environment=Procurement(case=case, instance=i),
                    systems=SYSTEMS,
                    checkpoints=2,
                )
            ).isel(round=-1)
            for i in range(instances)
        ]
        show(case, results, runs)


def show(case, results, runs) -> None:
    print(
        f"{case}, ζ = {ZETA:g}, {len(results)} instances × {runs} runs, T = 100,000; regret a buyer"
    )
    print(
        "                          after exploration: mean  ± s.e.  median   in all  missed: worst"
    )
    late = {}
    for entry in SYSTEMS:
        mine = [result.sel(system=entry.label) for result in results]
        each = np.array([r.regret_after_exploration.mean() for r in mine])  # an instance
        late[entry.label] = each.mean()
        error = each.std(ddof=1) / len(each) ** 0.5 if len(each) > 1 else float("nan")
        overall = np.mean([r.regret.mean() for r in mine])
        worst = max(float(r.violation_share.max()) for r in mine)
        print(
            f"{entry.label:24s} {each.mean():23,.0f} {error:7,.0f} {np.median(each):8,.0f} "
            f"{overall:8,.0f}  {worst:12.4%}"
        )
    for published, clear in (
        ("pfcb-published", "fcb"),
        ("published, powers", "fcb, powers"),
        ("pfcb-published", "fcb, all taken"),
    ):
        share = (late["pfcb"] - late[clear]) / (late[published] - late[clear])
        print(f"(pfcb - {clear}) / ({published} - {clear}) = {share:.3f}", flush=True)


if __name__ == "__main__":
    main()
