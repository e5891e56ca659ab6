"""Regret and messages of FedUCB beside its baselines: M=10, d=10, K=20, T=60,000, ε=1, δ=0.1."""

from __future__ import annotations

import sys

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.reproduce.feducb import proved

PRIVATE = {"epsilon": 1.0, "delta": 0.1}
#: Label, preset, settings.
SYSTEMS = (
    ("feducb", "feducb", PRIVATE),
    ("ldp-silo", "ldp-silo", PRIVATE),
    ("feducb-nonprivate", "feducb-nonprivate", {}),
    ("dislinucb", "dislinucb", {}),
    ("fedlinucb-async", "fedlinucb-async", {}),
    ("fedlinucb-async, adaptive", "fedlinucb-async", {"confidence": "adaptive"}),
    ("linucb-pooled", "linucb-pooled", {}),
    ("linucb-alone", "linucb-alone", {}),
)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    print(f"mean ± standard error over {replicates} replicates")
    for scale in (1.0, 0.1):
        experiment = fb.Experiment(
            rounds=60_000,
            replicates=replicates,
            environment=Linear(agents=10, dim=10, arms=20),
            systems=tuple(
                proved(preset, label=label, exploration_scale=scale, **settings)
                for label, preset, settings in SYSTEMS
            ),
        )
        last = fb.run(experiment).isel(round=-1)
        print(f"exploration scale {scale:g}: {'regret an agent':>31s}{'messages':>14s}{'MB':>9s}")
        for label, _, _ in SYSTEMS:
            row = last.sel(system=label)
            regret = row.regret.mean("party")
            error = float(regret.std("replicate", ddof=1)) / replicates**0.5
            messages, size = float(row.messages.mean()), float(row.bytes.mean()) / 1e6
            mean = float(regret.mean())
            print(
                f"  {label:28s}{mean:12.1f} ± {error:5.1f}{messages:16,.0f}{size:9.1f}", flush=True
            )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
