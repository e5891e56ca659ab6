"""Rounds of parties in one process: each agent decides, learns, and releases; all get the sum.

    python -m beside.parties

A line of JSON comes in with clients, dimension and rounds; one goes out with the seconds of each
round but the first. Every message is encoded, delivered, checked and decoded.
"""

from __future__ import annotations

import json
import sys
import time

import fedbandits as fb


def play(clients: int, dimension: int, rounds: int) -> list[float]:
    """Seconds of each round after the first, in which code is loaded."""
    world = fb.environments.Linear(agents=clients, dim=dimension, arms=20)
    config = fb.system("linucb-pooled").config
    run = fb.parties.federate(config, world, rounds + 2, 0, 0)  # none is released in the last one
    run.advance(1)
    seconds = []
    for round_ in range(2, rounds + 2):
        began = time.perf_counter()
        run.advance(round_)
        seconds.append(time.perf_counter() - began)
    return seconds


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"seconds": play(**json.loads(line))}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
