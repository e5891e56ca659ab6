"""Speed of one version of the compiled loop against another, over dimensions and arms.

    python benchmarks/paired_shapes.py OLD NEW [PRESET [PAIRS]]      two checkouts

Two processes play the same rounds in turn, on one thread. For every shape the medians of OLD's and
NEW's µs an agent-step are printed, and the median of the ratios NEW / OLD: below 1, NEW is faster.
Last is the processor time that each spent on compiling the first run, with a cache of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

SHAPES = (
    (2, 2), (2, 20), (3, 5), (5, 10), (5, 20), (5, 100), (10, 10), (10, 20), (10, 100), (10, 1000),
    (20, 50), (50, 20), (50, 100),
)  # fmt: skip
AGENTS, ROUNDS = 20, 2000

PLAYER = f"""
import sys, time
from fedbandits import system
from fedbandits.environments import Linear
from fedbandits.testing.replicates import simulate
config, repetition = system(sys.argv[1]).config, 0
for line in sys.stdin:
    dim, arms, rounds = map(int, line.split())
    environment = Linear(agents={AGENTS}, dim=dim, arms=arms)
    began = time.thread_time()
    play = simulate(config, environment, rounds, 0, repetition, 1)
    if rounds > 1:
        began = time.thread_time()
    play.advance(rounds)
    print(time.thread_time() - began, flush=True)
    repetition += 1
"""


class Player:
    """A process that plays with one checkout's code."""

    def __init__(self, root: str, preset: str, cache: str) -> None:
        settings = os.environ | {"PYTHONPATH": f"{root}/src", "XDG_CACHE_HOME": cache}
        command = [sys.executable, "-c", PLAYER, preset]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, dim: int, arms: int, rounds: int) -> float:
        """Processor time of so many rounds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(dim, arms, rounds, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def main() -> None:
    roots, rest = sys.argv[1:3], sys.argv[3:]
    preset, pairs = rest[0] if rest else "feducb", int(rest[1]) if len(rest) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        players = [Player(root, preset, f"{folder}/{i}") for i, root in enumerate(roots)]
        compiling = [player.seconds(2, 2, 1) for player in players]
        print(f"{preset}: d, K, µs an agent-step OLD and NEW, NEW / OLD (lowest to highest)")
        for dim, arms in SHAPES:
            times = [
                [player.seconds(dim, arms, ROUNDS) / (AGENTS * ROUNDS) * 1e6 for player in players]
                for _ in range(pairs)
            ]
            ratios = sorted(new / old for old, new in times)
            old, new = (statistics.median(column) for column in zip(*times, strict=True))
            print(
                f"{dim:3d} {arms:5d}  {old:7.2f} {new:7.2f}  {statistics.median(ratios):.2f} "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f})",
                flush=True,
            )
        print(f"first run, with compilation: {compiling[0]:.1f} s and {compiling[1]:.1f} s")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
