"""FedUCB's figures near the paper's scale: T = 10⁷, δ = 0.1, one replicate a value.

    python benchmarks/feducb_scale.py [panels] [agents]

The paper has M = 10 in figure 2, and here in all panels; K = 20, θ* in the ball, exploration scale
1. A run holds 10⁸ agent-steps, one to three minutes of one core. Prints a row a run: regret an
agent, the share of what play at random would lose, and that after the last tenth of the rounds.
Arguments: panels (1a 2 1c 1b), agents (10).
"""

from __future__ import annotations

import sys
import time

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.reproduce.feducb import DELTA, PUBLISHED, proved

ROUNDS = 10_000_000
#: What is varied in a panel: ε, d, the gap, and syncs that are evenly spread.
PANELS = {
    "1a": [{"epsilon": e} for e in (0.1, 1.0, 10.0)],
    "2": [{"gap": gap} for gap in (0.05, 0.15, 0.25)],
    "1c": [{"dim": d} for d in (5, 10, 20)],
    "1b": [{"syncs": n} for n in (4, 24, 9_999)],
}


def main() -> None:
    chosen = sys.argv[1].split(",") if len(sys.argv) > 1 else list(PANELS)
    agents = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    print("| panel | value | regret an agent | of play at random | late | syncs | seconds |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for panel in chosen:
        for varied in PANELS[panel]:
            print(row(panel, agents, **varied), flush=True)


def row(
    panel: str, agents: int, epsilon: float = 1.0, dim: int = 10, gap: float = 0.1, syncs: int = 0
) -> str:
    """Play one value, and write its row."""
    parts = {"schedule": f"evenly({syncs})"} if syncs else {}
    world = Linear(agents=agents, dim=dim, arms=min(20, dim * dim), gap=gap, parameter="ball")
    entry = proved(PUBLISHED, epsilon=epsilon, delta=DELTA, **parts)
    began = time.monotonic()
    result = fb.run(
        fb.Experiment(rounds=ROUNDS, environment=world, systems=(entry,), replicates=1)
    ).isel(replicate=0, system=0)
    regret = result.regret.mean("party")
    # An ordinary arm has a mean of 0.55, the best one 0.65 + gap: one of K is the best.
    random = (gap + 0.1) * (1.0 - 1.0 / world.arms)
    late = float(regret.isel(round=-1) - regret.interp(round=0.9 * ROUNDS)) / (0.1 * ROUNDS)
    value = {"1a": f"ε = {epsilon:g}", "2": f"Δ = {gap:g}", "1c": f"d = {dim}", "1b": f"{syncs:,}"}
    return (
        f"| {panel} | {value[panel]} | {float(regret.isel(round=-1)):,.0f} | "
        f"{float(regret.isel(round=-1)) / (random * ROUNDS):.2f} | {late / random:.2f} | "
        f"{float(result.syncs.isel(round=-1)):,.0f} | {time.monotonic() - began:.0f} |"
    )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
