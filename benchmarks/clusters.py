"""A sweep of 1,000 runs on a Dask cluster of this machine: overhead, a lost worker, equal results.

    python benchmarks/clusters.py [--runs 1000]

The sweep is ten values of ε, a hundred replicates each. It is played by one thread of this process,
and by two and by four worker processes of one thread each, as ``fedbandits run --backend dask``
does. It is played twice: with one round, so that nearly all is overhead, and with 2,000. Then
it is played once more by two workers, one of which is killed half-way and started again by Dask.

Times are seconds on the clock, for several processes work. Every result must equal the first one's
bit for bit.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import xarray as xr
from distributed import Client, LocalCluster

import fedbandits as fb
from fedbandits.environments import Linear

EPSILONS = [0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0]
SHORT, LONG = 1, 2000
WORKERS = (2, 4)
LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}


@contextmanager
def cluster(workers: int) -> Iterator[LocalCluster]:
    """So many worker processes on the loopback interface, each of one thread."""
    with LocalCluster(n_workers=workers, threads_per_worker=1, **LOOPBACK) as started:
        yield started


def sweep(runs: int, rounds: int, **where: Any) -> tuple[xr.Dataset, float]:
    """The result without times, and the seconds on the clock."""
    experiment = fb.Experiment(
        name="many",
        rounds=rounds,
        replicates=runs // len(EPSILONS),
        checkpoints=10,
        environment=Linear(agents=10, dim=5, arms=10),
        systems=(fb.system("feducb"),),
    )
    began = time.perf_counter()
    result = fb.sweep(experiment, {"systems.*.epsilon": EPSILONS}, **where)
    return result.drop_vars("seconds"), time.perf_counter() - began


class KillOne:
    """Kills one worker when half of the replicates have come back; notes when."""

    def __init__(self, processes: list[int], half: int) -> None:
        self._processes, self._half, self._seen = processes, half, 0
        self.killed = False

    def __call__(self, event: Any) -> None:
        self._seen += type(event).__name__ == "SweepAdvanced"
        if self._seen >= self._half and not self.killed:
            self.killed = True
            os.kill(self._processes[0], signal.SIGKILL)


def processes_of(started: LocalCluster) -> list[int]:
    """The process numbers of the workers."""
    with Client(started, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


def on(started: LocalCluster, runs: int, rounds: int, **more: Any) -> tuple[xr.Dataset, float]:
    address = {"backend": "dask", "scheduler": started.scheduler_address}
    return sweep(runs, rounds, **address, **more)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000, help="a multiple of ten")
    runs: int = parser.parse_args().runs
    print(f"{runs} runs in a sweep of {len(EPSILONS)} values; {os.cpu_count()} cores\n")
    print("| who plays | seconds, 1 round | overhead, ms a run | seconds, 2,000 rounds | results |")
    print("| --- | ---: | ---: | ---: | --- |")
    sweep(len(EPSILONS), LONG, jobs=1)  # compiles
    home: dict[int, xr.Dataset] = {}
    spent: dict[int, float] = {}
    for rounds in (SHORT, LONG):
        home[rounds], spent[rounds] = sweep(runs, rounds, jobs=1)
    _row("this process, one thread", runs, spent, same=True)
    both, same = {}, True
    for rounds in (SHORT, LONG):
        found, both[rounds] = sweep(runs, rounds)
        same &= found.equals(home[rounds])
    _row(f"this process, {os.cpu_count()} threads", runs, both, same)
    for workers in WORKERS:
        with cluster(workers) as started:
            on(started, len(EPSILONS) * workers, LONG)  # workers import and compile
            far, same = {}, True
            for rounds in (SHORT, LONG):
                found, far[rounds] = on(started, runs, rounds)
                same &= found.equals(home[rounds])
            _row(f"Dask, {workers} workers", runs, far, same)
            if workers == WORKERS[0]:
                lost = KillOne(processes_of(started), runs // 2)
                found, seconds = on(started, runs, LONG, on_event=lost)
                if not lost.killed:
                    raise AssertionError("no worker was killed")
                same = found.equals(home[LONG])
                name = f"Dask, {workers} workers, one killed half-way"
                print(f"| {name} | – | – | {seconds:.1f} | {_said(same)} |", flush=True)


def _row(name: str, runs: int, spent: dict[int, float], same: bool) -> None:
    overhead = 1000.0 * spent[SHORT] / runs
    cells = f"{spent[SHORT]:.2f} | {overhead:.2f} | {spent[LONG]:.1f} | {_said(same)}"
    print(f"| {name} | {cells} |", flush=True)


def _said(same: bool) -> str:
    return "equal, bit for bit" if same else "DIFFERENT"


if __name__ == "__main__":
    main()
