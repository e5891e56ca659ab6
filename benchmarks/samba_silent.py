"""What it costs that no server learns anything: time, rounds and bytes of silent SAMBA.

    python benchmarks/samba_silent.py [N]      times at K = 100, scaled to 10⁵ steps (N = 20,000)

Times are processor time of one thread. Variants take turns, some steps each, and ratios are those
of medians, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import NamedTuple

from fedbandits.environments import Bernoulli
from fedbandits.systems.samba import Samba
from fedbandits.systems.samba.loop import Replicate
from fedbandits.systems.samba.theory import Counts
from fedbandits.testing.replicates import plan_of
from usage import explain

explain(__doc__)
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
ARMS, PARTS = 100, 20
ARITIES = (2, 4, 8, 16)
#: In fewer steps a part may have no share in what is made for 256 at once.
LEAST = 260 * PARTS


class Spent(NamedTuple):
    """Microseconds a step."""

    others: float
    dealer: float


def silent(**parts) -> Samba:
    return Samba(comparison="silent", total="shares", **parts)


def spent(configs: dict[str, Samba], arms: int, steps: int) -> dict[str, Spent]:
    """Medians over parts of a run, which all variants play in turn."""
    runs, times = {}, {name: [] for name in configs}
    for name, config in configs.items():
        world = Bernoulli(arms=arms)
        plan = plan_of(config, world, arms + 2 * steps)
        runs[name] = Replicate(plan, world, 0, 0, clock=time.thread_time)
        runs[name].advance(arms + steps // PARTS)
    for _ in range(PARTS):
        for name, run in runs.items():
            dealt, began = run.seconds.get("dealer", 0.0), time.thread_time()
            run.advance(run.done + steps // PARTS)
            whole = time.thread_time() - began
            dealer = run.seconds.get("dealer", 0.0) - dealt
            times[name].append((whole - dealer, dealer))
    scale = 1e6 / (steps // PARTS)
    return {
        name: Spent(*(scale * statistics.median(part) for part in zip(*each, strict=True)))
        for name, each in times.items()
    }


def speed() -> None:
    print(f"UCB, K = {ARMS}; µs a step, which is a tenth of the seconds that N = 10⁵ takes")
    stream = {
        "plain": Samba(execution="plain"),
        "plain, silent's scores": silent(execution="plain"),
        "published, stream": Samba(cipher="stream"),
        **{f"silent, stream, arity {a}": silent(cipher="stream", arity=a) for a in ARITIES},
    }
    gcm = {
        "published, AES-GCM": Samba(),
        **{f"silent, AES-GCM, arity {a}": silent(arity=a) for a in ARITIES},
    }
    for configs, steps, base in (
        (stream, max(LEAST, STEPS), "published, stream"),
        (gcm, max(LEAST, STEPS // 3), ""),
    ):
        found = spent(configs, ARMS, steps)
        unit = found[base or "published, AES-GCM"].others
        for name, each in found.items():
            whole = sum(each)
            print(
                f"  {name:26s} {each.others:7.1f}, with dealing {whole:7.1f}   "
                f"({each.others / unit:5.2f} and {whole / unit:5.2f} × published)", flush=True,
            )  # fmt: skip


def linear() -> None:
    arity = silent().arity
    print(f"µs a step, silent, stream sealing, without and with dealing, arity {arity}")
    for arms in (10, 30, 100, 300, 1000):
        cells = []
        for steps in (LEAST, 4 * LEAST):
            (each,) = spent({"": silent(cipher="stream")}, arms, steps).values()
            cells.append(f"{steps:6,d} steps: {each.others:6.1f} {sum(each):6.1f}")
        print(f"  K = {arms:4d}   {'   '.join(cells)}   {sum(each) / arms:.3f} an arm", flush=True)


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
