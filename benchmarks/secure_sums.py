"""Regret with secure sums, beside alone at its best and all records in clear.

ε = 1 and δ = 1e-5, ``least_parties`` is 80% of all agents and ``colluding`` 10%. Alone, and all in
clear, have the best of four scales of exploration, chosen by the same replicates: they are at their
best. The private systems have α = 1, the default, and beside it their best. Worlds that no choice
was made by come with ``--held-out``. Prints Markdown.
Mistakes or regret an agent. ``--set`` gives the private systems other settings, such as
``regularization=10`` or ``schedule=growing(1.3,10)``.

    python benchmarks/secure_sums.py [--replicates 6] [--held-out] [--only NAME …]
                                     [--set KEY=VALUE …]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from exploration import DELTA, EPSILON, SCALES, World, chosen, regret

PRIVATE = ("feducb-hybrid", "feducb-secure", "feducb-secure-hybrid")
BUDGET = {"epsilon": EPSILON, "delta": DELTA}


def tried(world: World, preset: str, replicates: int, **more: Any) -> dict[float, float]:
    """Return the mean regret by the scale of exploration."""
    return {a: float(np.mean(regret(world, preset, a, replicates, **more))) for a in SCALES}


def number(text: str) -> float | str:
    """Return a number, where a text is one."""
    try:
        return float(text)
    except ValueError:
        return text


def row(name: str, world: World, replicates: int, settings: dict[str, Any]) -> str:
    """Return one line of the table."""
    cells = [name]
    for preset in ("linucb-alone", *PRIVATE, "linucb-pooled"):
        private = preset in PRIVATE
        found = tried(world, preset, replicates, **(BUDGET | settings if private else {}))
        best = min(found.values())
        cells.append(f"{found[1.0]:.3g} ({best:.3g})" if private else f"{best:.3g}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=6)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    settings = {key: number(value) for key, _, value in (s.partition("=") for s in given.set)}
    shown = [f"`{preset}`, α = 1 (best α)" for preset in PRIVATE]
    titles = ["world", "alone at its best", *shown, "pooled in clear at its best"]
    print("| " + " | ".join(titles) + " |")
    print("| --- |" + " ---: |" * (len(titles) - 1))
    for name, world in chosen(given.held_out, given.only).items():
        print(row(name, world, given.replicates, settings), flush=True)


if __name__ == "__main__":
    main()
