"""How right the estimates before a run are: memory against the measured peak, work against time.

Each case is played in a process of its own; what the process takes for a tiny experiment of the
same system is taken off, for that is the interpreter and the compiled code.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

CASES = {
    "feducb": {"kind": "linear", "agents": 3000, "dim": 30, "arms": 10},
    "linucb-alone": {"kind": "linear", "agents": 4000, "dim": 60, "arms": 5},
    "dislinucb": {"kind": "linear", "agents": 100, "dim": 100, "arms": 500},
    "fedlinucb-async": {"kind": "linear", "agents": 1000, "dim": 30, "arms": 10},
    "feducb-p2p": {"kind": "linear", "agents": 300, "dim": 40, "arms": 10},
    "fclub": {"kind": "clustered", "users": 3000, "dim": 40, "items": 20},
    "fclub-dc": {"kind": "clustered", "users": 4000, "dim": 40, "items": 20},
    "pfcb": {"kind": "procurement", "agents": 200, "producers": 5000},
    "distributed-ucb": {"kind": "bernoulli", "arms": 150},
    "linucb-pooled": {"kind": "linear", "agents": 100_000, "dim": 2, "arms": 2},
}
TINY = {
    "linear": {"kind": "linear", "agents": 3, "dim": 3, "arms": 3},
    "clustered": {"kind": "clustered", "users": 6, "dim": 3, "items": 3, "clusters": 2},
    "procurement": {"kind": "procurement", "agents": 3, "producers": 3},
    "bernoulli": {"kind": "bernoulli", "arms": 3},
}
ROUNDS = 200


def play(preset: str, world: dict[str, object], rounds: int) -> None:
    """In a process of its own: print what was estimated and what was measured."""
    from fedbandits import run
    from fedbandits.experiments.estimate import estimate
    from fedbandits.settings.experiment import Experiment

    table = {"rounds": rounds, "environment": world, "systems": [{"preset": preset}]}
    experiment = Experiment.from_table(table)
    expected = estimate(experiment, experiment.check(), 1)
    result = run(experiment, jobs=1)
    found = {
        "bytes": expected.bytes,
        "seconds": sum(expected.seconds),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "played": float(result.seconds.sum()),
        "at": time.time(),
    }
    print(json.dumps(found))


def measured(preset: str, world: dict[str, object], rounds: int) -> dict[str, float]:
    arguments = [sys.executable, __file__, preset, json.dumps(world), str(rounds)]
    output = subprocess.run(arguments, check=True, capture_output=True, text=True, env=os.environ)  # noqa: S603
    found: dict[str, float] = json.loads(output.stdout.splitlines()[-1])
    return found


def main() -> None:
    if len(sys.argv) == 4:
        play(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))
        return
    wanted = sys.argv[1:] or list(CASES)
    print("system            estimated   measured  ratio   estimated   measured  ratio")
    for preset in wanted:
        world = CASES[preset]
        measured(preset, TINY[str(world["kind"])], ROUNDS)  # compiles, where that is to do
        base = measured(preset, TINY[str(world["kind"])], ROUNDS)
        found = measured(preset, world, ROUNDS)
        peak = found["peak"] - base["peak"]
        print(
            f"{preset:16} {found['bytes'] / 2**20:8.0f} MB {peak / 2**20:7.0f} MB "
            f"{peak / found['bytes']:6.2f} {found['seconds']:9.2f} s {found['played']:8.2f} s "
            f"{found['played'] / found['seconds']:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
