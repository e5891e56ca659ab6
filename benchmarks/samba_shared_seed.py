"""Thompson sampling whose arms share the draws of a step, as in SAMBA's authors' code.

    python benchmarks/samba_shared_seed.py MEANS.txt [runs]

Their arms draw from generators of one seed a step. So a Beta draw of every arm is made of the same
two normals, and only the arms' own records tell them apart. Here a Beta draw is that of two gamma
draws, each a cubed normal (Wilson & Hilferty 1931). N = 100,000 on the largest 10 and 100 means of
a file (how many, then one a line). Prints mean and deviation of a run. Argument: runs (4).
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

from fedbandits._typing import Floats

BUDGET, ARMS = 100_000, (10, 100)


def main() -> None:
    words = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").split()
    means = np.sort(np.array(words[1:], dtype=np.float64))[::-1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    print("| K | independent | shared |\n| ---: | ---: | ---: |")
    for arms in ARMS:
        cells = []
        for shared in (False, True):
            found = [
                play(means[:arms], shared, np.random.default_rng(seed)) for seed in range(runs)
            ]
            cells.append(f"{np.mean(found):,.0f} ± {np.std(found, ddof=1):,.0f}")
        print(f"| {arms} | {' | '.join(cells)} |", flush=True)


def play(means: Floats, shared: bool, rng: np.random.Generator) -> int:
    """Play a run, and return its reward."""
    good, bad, total = np.ones(len(means)), np.ones(len(means)), 0
    chances, size = rng.random(BUDGET), (2, 1) if shared else (2, len(means))
    for step in range(BUDGET):
        first, second = rng.standard_normal(size)
        x, y = gamma(good, first), gamma(bad, second)
        arm = int(np.argmax(x / (x + y)))
        if chances[step] < means[arm]:
            total += 1
            good[arm] += 1
        else:
            bad[arm] += 1
    return total


def gamma(shape: Floats, normals: Floats) -> Floats:
    """Draw gamma variables of these shapes from normals."""
    cubed: Floats = np.maximum(1 - 1 / (9 * shape) + normals / (3 * np.sqrt(shape)), 1e-9) ** 3
    return shape * cubed


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
