"""Estimates from logs beside the truth: bias, how wide intervals are, how often they hold it.

    python benchmarks/offline.py [LOGS] [EVENTS]

Each log is drawn anew from a world where the truth is known: once by a policy that takes all arms
equally often, once by one that prefers the best arm. For a fixed policy the truth is what it earns
when it is played for real, over a million visits. For a system that learns it is the mean expected
reward of what it chose. Of 95% intervals about 95% should hold the truth.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import numpy as np

import fedbandits as fb
from fedbandits.environments.tables.forms import log_sums
from fedbandits.offline import Estimate, doubly_robust, ips, replay, snips
from fedbandits.offline.estimates import estimates_of
from fedbandits.testing.replicates import simulate

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.known_logs import fixed_policies, known_log

SYSTEMS = {
    "feducb": {"epsilon": 10.0},
    "linucb-pooled": {},
    "linucb-alone": {},
    "fedlinucb-async": {},
}


def main() -> None:
    logs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 3_000
    print(f"{logs} logs of {events} events each\n")
    print(f"{'':30}{'method':24}{'truth':>8}{'bias':>9}{'± 2 s.e.':>9}{'width':>8}{'holds':>8}")
    for uneven in (False, True):
        print("logged by a policy that", "prefers the best arm" if uneven else "takes any arm")
        for name, found in fixed(logs, events, uneven).items():
            show(name, found)
        for name in SYSTEMS:
            show(name, learning(name, logs, events, uneven))


def fixed(logs: int, events: int, uneven: bool) -> dict[str, list[tuple[float, Estimate]]]:
    """The truth and the estimates of every policy that learns nothing."""
    real = known_log(1_000_000, seed=2**40)
    truths = {name: real.value_of(chosen) for name, chosen in fixed_policies(real).items()}
    found: dict[str, list[tuple[float, Estimate]]] = {name: [] for name in truths}
    for seed in range(logs):
        log = known_log(events, uneven, seed)
        for name, chosen in fixed_policies(log).items():
            made = [method(*log.logged, chosen) for method in (ips, snips)]
            made.append(doubly_robust(*log.logged, chosen, log.contexts))
            made.append(replay(*log.logged, chosen, seed=seed))
            if uneven:  # what happens without acceptance
                wrong = replay(*log.logged, chosen, shown=np.ones(events, bool))
                made.append(wrong._replace(method="not accepted"))
            found[name] += [(truths[name], each) for each in made]
    return found


def learning(name: str, logs: int, events: int, uneven: bool) -> list[tuple[float, Estimate]]:
    """The truth and the estimates of a system that learns on the way, of its whole run."""
    config = fb.system(name, **SYSTEMS[name]).config
    return [pair for seed in range(logs) for pair in _run(config, events, uneven, seed)]


def _run(config: object, events: int, uneven: bool, seed: int) -> Iterator[tuple[float, Estimate]]:
    log = known_log(events, uneven, seed)
    run = simulate(config, log.environment(), events // 3, 0, seed)
    run.advance(events // 3)
    met = run.world.noted.chosen < len(log.expected)
    chosen = run.world.noted.chosen[met].astype(int)
    truth = log.expected[run.world.order[met], chosen].mean()
    for each in estimates_of(log_sums(run.world, run.done).sum(axis=0)):
        yield float(truth), each


def show(name: str, found: list[tuple[float, Estimate]]) -> None:
    for method in dict.fromkeys(each.method for _, each in found):
        own = [(truth, each) for truth, each in found if each.method == method]
        errors = np.array([each.value - truth for truth, each in own])
        errors = errors[np.isfinite(errors)]
        twice = 2.0 * errors.std(ddof=1) / np.sqrt(len(errors))
        holds = np.mean([each.low <= truth <= each.high for truth, each in own])
        width = np.nanmean([each.high - each.low for _, each in own])
        truth = np.mean([truth for truth, _ in own])
        print(
            f"  {name:28}{method:24}{truth:8.4f}{errors.mean():+9.4f}{twice:9.4f}{width:8.3f}"
            f"{holds:8.1%}",
            flush=True,
        )


if __name__ == "__main__":
    from usage import explain

    explain(__doc__)
    main()
