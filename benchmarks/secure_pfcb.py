"""P-FCB by secure sums: what one noise for all is worth, and how many buyers there can be.

Regret: the uniform case of the paper, n = 10, m = 30, T = 100,000, α = 0.4, ε = 1, δ = 0.01, window
[200, 40,000]. Asked: of today's gap to buyers in clear 1/√10 is left, within 20%. In clear is P-FCB
without noise; the published FCB is shown too. Its Procedure 1 loses more than noise does.

Buyers: so many of them play a few hundred rounds, in a process of their own.

Arguments: instances (5), runs of each (4), buyers (10000), rounds of those (300); 0 leaves out.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system
from fedbandits.testing.replicates import simulate

WINDOW = (200, 40_000)
ROUNDS = 100_000
#: Without Procedure 1.
ALL_TAKEN = {"acceptance": "always", "weighting": "constant(1)"}
SYSTEMS = {
    "pfcb": ("pfcb", {}),
    "pfcb-secure": ("pfcb-secure", {}),
    "pfcb, no noise": ("pfcb", {"privatizer": "none"}),
    "fcb": ("fcb", {}),
    "fcb, all taken": ("fcb", ALL_TAKEN),
}


def regret(instances: int, runs: int) -> dict[str, np.ndarray]:
    """Return regret a buyer after the exploration, (instances, runs), of every system."""
    found = {name: np.zeros((instances, runs)) for name in SYSTEMS}
    missed = dict.fromkeys(SYSTEMS, 0.0)
    for instance in range(instances):
        for run in range(runs):
            for name, (preset, settings) in SYSTEMS.items():
                config = system(preset, window=WINDOW, **settings).config
                played = simulate(config, Procurement(instance=instance), ROUNDS, 0, run)
                played.advance(ROUNDS)
                metrics = played.metrics
                found[name][instance, run] = metrics["regret_after_exploration"].mean()
                missed[name] = max(missed[name], metrics["violation_share"].max())
        print(f"instance {instance} is done", flush=True)
    for name, each in found.items():
        by_instance = each.mean(axis=1)
        error = by_instance.std(ddof=1) / len(by_instance) ** 0.5 if len(by_instance) > 1 else 0.0
        print(
            f"{name:16s} {each.mean():8,.0f} ± {error:4,.0f}  median {np.median(by_instance):7,.0f}"
            f"  constraint missed by the worst buyer in {missed[name]:.3%} of rounds"
        )
    return found


def show_gaps(found: dict[str, np.ndarray]) -> None:
    """Hold the gap of secure sums to a tenth of the noise's variance."""
    for clear in ("pfcb, no noise", "fcb, all taken", "fcb"):
        before = found["pfcb"] - found[clear]
        now = found["pfcb-secure"] - found[clear]
        asked = before.mean() / 10**0.5
        print(
            f"gap to {clear}: pfcb {before.mean():6.1f}, asked {asked:6.1f} ± 20%, pfcb-secure "
            f"{now.mean():6.1f} = {now.mean() / before.mean():.3f} of it; median of runs "
            f"{np.median(before):.1f}, {np.median(now):.1f}"
        )


def many(buyers: int, rounds: int) -> None:
    """Time a run of many buyers."""
    world, config = Procurement(agents=buyers, instance=0), system("pfcb-secure").config
    few = simulate(config, Procurement(agents=3, instance=0), rounds, 0, 0)
    few.advance(rounds)  # compiled
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    run = simulate(config, world, rounds, 0, 0)
    run.advance(rounds)
    seconds = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{buyers:,} buyers, {rounds:,} rounds, {run.syncs} sums: {seconds:.1f} s, "
        f"{seconds / buyers / rounds * 1e6:.2f} µs a buyer and round, {grown:,.0f} MiB more, "
        f"{run.messages:,} messages; noise for rounding {run.plan.sensitivity - 1.0:.2%}, "
        f"step 2^{np.log2(run.plan.constants.step):.0f}"
    )


def main() -> None:
    given = [int(each) for each in sys.argv[1:]]
    instances, runs, buyers, rounds = [*given, *(5, 4, 10_000, 300)[len(given) :]]
    if instances:
        show_gaps(regret(instances, runs))
    if buyers:
        many(buyers, rounds)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
