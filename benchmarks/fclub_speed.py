"""CPU µs a round by preset, 40 and 1000 users on 5 servers, d = 10, K = 10; phase work included."""

from __future__ import annotations

import statistics
import time

from fedbandits.environments import Clustered
from fedbandits.settings.experiment import system
from fedbandits.systems import find_system
from fedbandits.testing.replicates import federate, simulate

ROUNDS, REPETITIONS = 100_000, 3


def main() -> None:
    for users, clusters in ((40, 5), (1000, 10)):
        environment = Clustered(users=users, clusters=clusters)
        print(f"{users} users, {ROUNDS:,} rounds, median of {REPETITIONS}")
        for name in (p for s in ("fclub_published", "fclub") for p in find_system(s).presets):
            config, seconds = system(name).config, []
            simulate(config, environment, 10_000, 0, 0).advance(10_000)  # compiles
            for replicate in range(REPETITIONS):
                run = simulate(config, environment, ROUNDS, 0, replicate)
                began = time.thread_time()
                run.advance(ROUNDS)
                seconds.append(time.thread_time() - began)
            median = statistics.median(seconds)
            print(f"  {name:18s} {median:6.2f} s   {1e6 * median / ROUNDS:6.2f} µs a round")
    rounds = 2000
    for name in ("fclub-dc", "fclub"):
        seconds = []
        for replicate in range(REPETITIONS + 1):  # the first one compiles
            parties = federate(system(name).config, Clustered(), rounds, 0, replicate)
            began = time.thread_time()
            parties.advance(rounds)
            seconds.append(time.thread_time() - began)
        each = 1e6 * statistics.median(seconds[1:]) / rounds
        print(f"{name} as parties with messages: {each:.0f} µs a round")


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
