"""The memory of a party, stage by stage: the peak of the process, MiB, and whose modules it has.

    python benchmarks/memory.py [PRESET]

Run it twice: the first time kernels may have to be compiled, which takes more.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import fedbandits as fb

ROUNDS = 500


def say(stage: str) -> None:
    """Print the peak so far, and which heavy packages are imported."""
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    heavy = [name for name in ("numba", "scipy", "scipy.stats") if name in sys.modules]
    print(f"{stage:12s} {peak:6.1f}  {', '.join(heavy)}", flush=True)


def main() -> None:
    preset = sys.argv[1] if len(sys.argv) > 1 else "linucb-alone"
    say("imported")
    world = fb.environments.Linear(agents=1, dim=10, arms=20)
    run = fb.parties.federate(fb.system(preset).config, world, ROUNDS, 0, 0)
    say("made")
    party = run.players[0]
    features = np.random.default_rng(0).normal(size=(10, 20)).astype(np.float32)
    features /= 1.001 * np.linalg.norm(features, axis=0)
    for _ in range(ROUNDS - 1):
        decision = party.decide(features)
        party.observe(decision, 0.5)
    say("played")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
