"""What learning together does for agents that join late.

The table has the regret of one agent at the end, of those that were there from the first round on
and of those that joined late: means over replicates with 95% intervals by Student's t. With "saved"
is how much less it is than alone, pair by pair: the same replicate has the same contexts and draws
of rewards.

    .venv/bin/python benchmarks/late_joiners.py [REPLICATES]
"""

from __future__ import annotations

import sys
from typing import Any

import fedbandits as fb
from fedbandits.experiments.intervals import interval
from fedbandits.reproduce.feducb import proved

AGENTS, LATE, ROUNDS, LAST = 40, 30, 1_000, 150
WORLD: dict[str, Any] = {"agents": AGENTS, "dim": 10, "arms": 20}
FIRST = [1] * (AGENTS - LATE) + [ROUNDS - LAST + 1] * LATE
BUDGET: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5}
#: What is compared with the first one: a preset, and what it needs.
SYSTEMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("linucb-alone", {}),
    ("feducb", BUDGET),
    ("linucb-pooled", {}),
)
GROUPS = {"from round 1": slice(0, AGENTS - LATE), "late": slice(AGENTS - LATE, AGENTS)}
SCALES = (1.0, 0.1)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print(f"{WORLD}, {ROUNDS} rounds, {LATE} agents join for the last {LAST}")
    print(f"replicates: {replicates}, seed 0\n")
    print("| exploration_scale | system |", " | ".join(f"{g} | saved" for g in GROUPS), "|")
    print("| ---: | --- |", " | ".join("---: | ---:" for _ in GROUPS), "|")
    for scale in SCALES:
        show(scale, replicates)


def show(scale: float, replicates: int) -> None:
    """The rows of one exploration scale."""
    systems = tuple(proved(name, exploration_scale=scale, **own) for name, own in SYSTEMS)
    world = fb.environments.Linear(**WORLD, first_round=FIRST)
    result = fb.run(
        fb.Experiment(rounds=ROUNDS, replicates=replicates, environment=world, systems=systems)
    )
    last = result.regret.isel(round=-1).transpose("system", "replicate", "party").values
    for own, (name, _) in zip(last, SYSTEMS, strict=True):
        cells = []
        for group in GROUPS.values():
            regret, alone = (values[:, group].mean(axis=1) for values in (own, last[0]))
            cells += [spelled(regret), "" if name == SYSTEMS[0][0] else spelled(alone - regret)]
        print(f"| {scale:g} | `{name}` | {' | '.join(cells)} |", flush=True)


def spelled(values: Any) -> str:
    """A mean and the half-width of its interval."""
    found = interval(values)
    return f"{float(found.mean):.1f} ± {float(found.half):.1f}"


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
