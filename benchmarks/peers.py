"""Fedbandits beside others that do parts of the same: time, memory, regret and ε, as ratios.

    pip install '.[bench]'
    python benchmarks/peers.py [--quick] [--only PART]

It prints the tables of docs/peers.md. Contenders take turns in one run, and what is printed is the
median of five turns. Compare ratios: seconds are of this machine and this hour.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from beside import accountants, ciphers, contest, rounds, samplers
from beside.turns import ONE_THREAD
from beside.worlds import WORLDS

os.environ.update(ONE_THREAD)
PACKAGES = (
    "mabwiser", "contextualbandits", "river", "coba", "vowpalwabbit", "flwr", "ray",
    "dp-accounting", "phe", "opendp", "scikit-learn", "numpy", "numba",
)  # fmt: skip
#: Steps of a stream, and turns.
STEPS, TURNS = 2000, 5
QUICK_STEPS, QUICK_TURNS = 300, 3
QUICK_WORLDS = ("wine",)


def versions() -> str:
    """What is installed of the peers, in one line."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} is not installed")
    return ", ".join(found)


def bandits(quick: bool) -> None:
    """A table for each world."""
    steps, turns = (QUICK_STEPS, QUICK_TURNS) if quick else (STEPS, TURNS)
    with tempfile.TemporaryDirectory() as folder:
        for world in QUICK_WORLDS if quick else WORLDS:
            print(f"## {world}: {steps:,} steps, {turns} turns\n", flush=True)
            print(contest.compete(world, steps, turns, Path(folder)), flush=True)


def _part(title: str, compare: Callable[[bool], str]) -> Callable[[bool], None]:
    def part(quick: bool) -> None:
        print(f"## {title}\n", flush=True)
        print(compare(quick), flush=True)

    return part


PARTS: dict[str, Callable[[bool], None]] = {
    "bandits": bandits,
    "rounds": _part("rounds of a federation", rounds.compare),
    "accountants": _part("accountants", accountants.compare),
    "paillier": _part("Paillier, 2,048 bits", ciphers.compare),
    "samplers": _part("the discrete Gaussian, σ = 2⁴⁰", samplers.compare),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about a minute: less of everything")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    given = parser.parse_args()
    print(versions() + "\n", flush=True)
    for name, part in PARTS.items():
        if given.only in (None, name):
            part(given.quick)


if __name__ == "__main__":
    main()
