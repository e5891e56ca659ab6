"""What it costs that no server learns anything: time, rounds and bytes of silent SAMBA.

    python benchmarks/samba_silent.py [STEPS]      times of so many steps (400)

A simulation of a silent run compares scores in clear, so what the servers exchange is timed where
parties exchange it. Times are processor time of one thread. Variants take turns, some steps each,
and ratios are those of medians, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import NamedTuple

from fedbandits.environments import Bernoulli
from fedbandits.reproduce.samba import parties
from fedbandits.systems.samba import Samba
from fedbandits.systems.samba.theory import Counts
from fedbandits.testing.replicates import plan_of, simulate
from usage import explain

explain(__doc__)
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 400
ARMS, PARTS = 100, 20
ARITIES = (2, 4, 8, 16)
#: A simulation's steps to one of the parties'.
SIMULATED = 100


class Timed(NamedTuple):
    """A variant, and whether parties play it."""

    config: Samba
    by_parties: bool = True


def silent(**parts) -> Samba:
    return Samba(comparison="silent", total="shares", **parts)


def spent(variants: dict[str, Timed], arms: int) -> dict[str, float]:
    """Microseconds a step: medians over parts of a run, which all variants play in turn."""
    world, runs, times = Bernoulli(arms=arms), {}, {name: [] for name in variants}
    for name, (config, by_parties) in variants.items():
        steps = max(1, STEPS // PARTS) * (1 if by_parties else SIMULATED)
        rounds = arms + (PARTS + 2) * steps
        make = parties if by_parties else lambda *made: simulate(*made, 0, 0)
        runs[name] = make(config, world, rounds), steps
        runs[name][0].advance(arms + steps)
    for _ in range(PARTS):
        for name, (run, steps) in runs.items():
            began = time.thread_time()
            run.advance(run.done + steps)
            times[name].append((time.thread_time() - began) / steps)
    return {name: 1e6 * statistics.median(each) for name, each in times.items()}


def speed() -> None:
    print(f"UCB, K = {ARMS}; µs a step, which is a tenth of the seconds that N = 10⁵ takes")
    found = spent(
        {
            "simulated, published, plain": Timed(Samba(execution="plain"), False),
            "simulated, silent": Timed(silent(), False),
            "parties, published": Timed(Samba(paillier_bits=2048)),
            **{f"parties, silent, arity {a}": Timed(silent(arity=a)) for a in ARITIES},
        },
        ARMS,
    )
    for name, each in found.items():
        unit = found["parties, published"] if name.startswith("parties") else 0.0
        beside = f"   ({each / unit:5.2f} × published)" if unit else ""
        print(f"  {name:28s} {each:8.1f}{beside}", flush=True)


def linear() -> None:
    print(f"µs a step of parties, silent, arity {silent().arity}")
    for arms in (10, 30, 100, 300):
        (each,) = spent({"": Timed(silent())}, arms).values()
        print(f"  K = {arms:4d}   {each:8.0f}   {each / arms:5.1f} an arm", flush=True)


def traffic() -> None:
    print("a step: rounds between servers; bytes between servers, of owners, dealt; not sealed")
    for arms in (10, 100, 1000):
        for arity in ARITIES:
            world = Bernoulli(arms=arms)
            counts = Counts(plan_of(silent(arity=arity), world, 10 * arms))
            print(
                f"  K = {arms:4d}, arity {arity:2d}: {counts.rounds:3d} rounds, "
                f"{counts.server_bytes:9,d}   {16 * arms:7,d}   {counts.dealt_bytes:9,d}"
            )


if __name__ == "__main__":
    traffic()
    speed()
    linear()
