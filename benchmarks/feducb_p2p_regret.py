"""Regret over a graph: against the controller at M = 20, and against learning alone as M grows.

The paper's world with d = 10, K = 20, T = 10,000, at ε = 1, δ = 0.1.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.errors import ConfigWarning
from fedbandits.federation.topology import topology
from fedbandits.reproduce.feducb import proved

#: Published variants are slow to simulate and learn little here: at M = 20 they tell enough.
GRAPHS_AT_20 = (
    ("complete", 1), ("ring", 1), ("ring", 3), ("ring", 10), ("line", 1), ("line", 3), ("line", 19),
    ("star", 1), ("star", 2), ("grid", 3), ("grid", 7), ("erdos-renyi(0.2)", 3),
    ("barabasi-albert(2)", 3),
)  # fmt: skip
PUBLISHED_AT_20 = (("complete", 1), ("ring", 3), ("line", 3))
#: γ = 0 stands for the diameter: everybody is heard in the end.
GRAPHS = (
    ("complete", 1), ("ring", 3), ("ring", 0), ("line", 3), ("line", 0), ("star", 2), ("grid", 0),
    ("barabasi-albert(2)", 0),
)  # fmt: skip
SIZES = (5, 10, 20, 50, 100)


def diameter(graph: str, agents: int) -> int:
    """γ with which everybody is heard in the end."""
    return topology(proved("feducb-p2p", graph=graph).config.graph, agents).diameter


def play(agents: int, systems: list[fb.System], replicates: int) -> dict[str, np.ndarray]:
    """Regret an agent in every replicate, by label."""
    experiment = fb.Experiment(
        rounds=10_000,
        replicates=replicates,
        environment=Linear(agents=agents, dim=10, arms=20),
        systems=tuple(systems),
    )
    runs = fb.run(experiment).regret.isel(round=-1).mean("party")
    return {s.label: runs.sel(system=s.label).values for s in systems}


def error(values: np.ndarray) -> float:
    """Standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def peers(graph: str, gamma: int, scale: float, preset: str = "feducb-p2p") -> fb.System:
    return proved(
        preset,
        label=f"{preset} {graph} γ={gamma}",
        graph=graph,
        gamma=gamma,
        delta=0.1,
        exploration_scale=scale,
    )


def at_twenty(scale: float, replicates: int) -> None:
    others = [
        proved(name, delta=0.1, exploration_scale=scale)
        for name in ("feducb", "linucb-alone", "feducb-published")
    ]
    systems = others + [peers(graph, gamma, scale) for graph, gamma in GRAPHS_AT_20]
    systems += [peers(g, gamma, scale, "feducb-p2p-published") for g, gamma in PUBLISHED_AT_20]
    print(f"M = 20, exploration scale {scale:g}: regret an agent ± standard error")
    for label, regret in play(20, systems, replicates).items():
        print(f"  {label:45s} {regret.mean():9.1f} ± {error(regret):.1f}", flush=True)


def as_agents_grow(scale: float, replicates: int) -> None:
    print(
        f"exploration scale {scale:g}: regret an agent; * where it is less than alone by more than "
        "two standard errors of the difference, replicate by replicate"
    )
    print(f"  {'':34s}" + "".join(f"{f'M={agents}':>9s}" for agents in SIZES))
    rows: dict[str, list[str]] = {}
    for agents in SIZES:
        alone = proved("linucb-alone", delta=0.1, exploration_scale=scale)
        named = {"alone": alone}
        for graph, gamma in GRAPHS:
            title = f"{graph}, γ = {gamma or 'diameter'}"
            named[title] = peers(graph, gamma or diameter(graph, agents), scale)
        distinct = list({system.label: system for system in named.values()}.values())
        regret = play(agents, distinct, replicates)
        for title, system in named.items():
            mine, gain = regret[system.label], regret[alone.label] - regret[system.label]
            mark = "*" if gain.mean() > 2.0 * error(gain) else " "
            rows.setdefault(title, []).append(f"{mine.mean():8.1f}{mark}")
    for title, cells in rows.items():
        print(f"  {title:34s}" + "".join(cells), flush=True)


def main() -> None:
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    warnings.simplefilter("ignore", ConfigWarning)  # γ = 3 is more than a ring of 5 needs
    for scale in (1.0, 0.1):
        at_twenty(scale, replicates)
        as_agents_grow(scale, replicates)


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
