"""Regret of the central presets in the paper's world: M=10, d=10, K=20, T=60,000, ε=1, δ=0.1."""

from __future__ import annotations

import sys

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.reproduce.feducb import proved

PRESETS = ("feducb", "feducb-published", "feducb-nonprivate", "linucb-alone", "linucb-pooled")


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print("regret an agent, mean ± standard error over", replicates, "replicates")
    for scale in (1.0, 0.1):
        experiment = fb.Experiment(
            rounds=60_000,
            replicates=replicates,
            environment=Linear(agents=10, dim=10, arms=20),
            systems=tuple(
                proved(name, epsilon=1.0, delta=0.1, exploration_scale=scale) for name in PRESETS
            ),
        )
        runs = fb.run(experiment).regret.isel(round=-1).mean("party")
        mean, error = runs.mean("replicate"), runs.std("replicate", ddof=1) / replicates**0.5
        regret = {name: float(mean.sel(system=name)) for name in PRESETS}
        print(f"exploration scale {scale:g}:")
        for name in PRESETS:
            print(f"  {name:20s} {regret[name]:9.1f} ± {float(error.sel(system=name)):.1f}")
        print(f"  published / feducb   {regret['feducb-published'] / regret['feducb']:9.1f}")
        print(f"  feducb / non-private {regret['feducb'] / regret['feducb-nonprivate']:9.1f}")
        print(f"  alone / non-private  {regret['linucb-alone'] / regret['feducb-nonprivate']:9.1f}")
        print(
            f"  alone / feducb       {regret['linucb-alone'] / regret['feducb']:9.1f}", flush=True
        )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
