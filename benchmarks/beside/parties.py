"""Rounds of parties in one process: each agent decides, learns, and releases; all get the sum.

    python -m beside.parties CLIENTS DIMENSION TURNS ROUNDS

Every line of input has so many rounds played, and one line of JSON comes out with the seconds of
each. The first round, in which code is loaded, is not among them. Every message is encoded,
delivered, checked and decoded.
"""

from __future__ import annotations

import json
import sys
import time

import fedbandits as fb


def main(clients: int, dimension: int, turns: int, rounds: int) -> None:
    world = fb.environments.Linear(agents=clients, dim=dimension, arms=20)
    config = fb.system("linucb-pooled").config
    last = turns * rounds + 2  # nothing is released after the last one
    run = fb.parties.federate(config, world, last, 0, 0)
    run.advance(1)
    for _ in range(turns):
        sys.stdin.readline()
        seconds = []
        for _ in range(rounds):
            began = time.perf_counter()
            run.advance(run.done + 1)
            seconds.append(time.perf_counter() - began)
        sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
