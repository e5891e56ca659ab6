"""From how many agents on private collaboration beats learning alone, at ε = 1, δ = 1e-5."""

from __future__ import annotations

import fedbandits as fb
from fedbandits.environments import Classification, Linear

SYSTEMS = ("linucb-alone", "linucb-pooled", "feducb", "feducb-published")


def regret(environment: Linear | Classification, rounds: int, scale: float) -> dict[str, float]:
    experiment = fb.Experiment(
        rounds=rounds,
        replicates=4,
        environment=environment,
        systems=tuple(fb.system(name, exploration_scale=scale) for name in SYSTEMS),
    )
    runs = fb.run(experiment).regret.isel(round=-1).mean(("party", "replicate"))
    return {name: float(runs.sel(system=name)) for name in SYSTEMS}


def main() -> None:
    print(f"{'regret an agent':44s}" + "".join(f"{name:>18s}" for name in SYSTEMS))
    for scale in (1.0, 0.1):
        for agents in (5, 20, 80):
            row = regret(Linear(agents=agents, dim=10, arms=20), 10_000, scale)
            show(f"linear, M={agents}, T=10,000, scale {scale:g}", row)
        for agents, rounds in ((10, 2000), (100, 150), (300, 150), (300, 500)):
            data = Classification(agents=agents, components=10, shards="shared")
            show(
                f"breast cancer, M={agents}, T={rounds}, scale {scale:g}",
                regret(data, rounds, scale),
            )


def show(name: str, row: dict[str, float]) -> None:
    print(f"{name:44s}" + "".join(f"{row[key]:18.1f}" for key in SYSTEMS), flush=True)


if __name__ == "__main__":
    main()
