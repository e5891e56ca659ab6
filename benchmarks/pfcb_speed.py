"""CPU seconds of 10 buyers × 100,000 rounds with 30 producers, every preset; and of the parties."""

from __future__ import annotations

import statistics
import time

from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb import PRESETS
from fedbandits.testing.replicates import federate, simulate

ROUNDS, REPETITIONS = 100_000, 3


def main() -> None:
    environment = Procurement()
    for name in PRESETS:
        config, seconds = system(name).config, []
        simulate(config, environment, 300, 0, 0).advance(300)  # compiles
        for replicate in range(REPETITIONS):
            run = simulate(config, environment, ROUNDS, 0, replicate)
            began = time.thread_time()
            run.advance(ROUNDS)
            seconds.append(time.thread_time() - began)
        median = statistics.median(seconds)
        print(
            f"{name:18s} {median:6.2f} s   {1e6 * median / (10 * ROUNDS):.2f} µs a buyer and round"
        )
    rounds = 3000
    parties = federate(system("pfcb").config, environment, rounds, 0, 0)
    began = time.thread_time()
    parties.advance(rounds)
    each = 1e6 * (time.thread_time() - began) / (10 * rounds)
    print(f"pfcb as parties with messages: {each:.0f} µs a buyer and round")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
