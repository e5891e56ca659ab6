"""Replicates in threads of this process: the compiled loops hold no interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from fedbandits.experiments.replicate import (
    Job,
    Shared,
    Task,
    compile_kernels,
    play_replicate,
    several,
)
from fedbandits.experiments.stop import Leaving
from fedbandits.experiments.stream import Stream
from fedbandits.experiments.trace import ReplicateTrace


class LocalBackend:
    """Threads of this process."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """See :class:`fedbandits.experiments.backends.Backend`."""
        workers = workers or os.cpu_count() or 1
        threads = max(1, workers // max(1, len(jobs)))
        jobs = [Job(job.shared._replace(threads=threads), job.task) for job in jobs]
        for shared in _one_of_each_kind(several(jobs)):
            compile_kernels(shared)
        return _play(jobs, stream, stop, min(workers, len(jobs)))


@contextmanager
def open_local() -> Iterator[LocalBackend]:
    """There is nothing to connect to."""
    yield LocalBackend()


def _one_of_each_kind(experiments: list[Shared]) -> list[Shared]:
    """Experiments that have all presets and kinds of environments, for all that share kernels.

    A sweep has hundreds that need the same ones. What one more kind of part needs beside them is
    compiled when it is played.
    """
    found: dict[tuple[str, type], Shared] = {}
    for shared in experiments:
        for entry in shared.experiment.systems:
            found.setdefault((entry.preset, type(shared.experiment.environment)), shared)
    return list({id(shared): shared for shared in found.values()}.values())


def _play(
    jobs: list[Job], stream: Stream, stop: Leaving, workers: int
) -> Generator[tuple[Job, ReplicateTrace], None, None]:
    if not jobs:
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="fedbandits")
    try:
        playing = {}
        for job in jobs:
            future = pool.submit(_work, job.shared, job.task)
            playing[future] = job
            future.add_done_callback(stream.put)
        for played in stream.items(Future, len(jobs)):
            trace = played.result()
            if trace is not None:
                yield playing[played], trace
    finally:
        # Whatever ends the loop early, workers leave at their next look; they may be saving.
        stop.set()
        stream.close()
        pool.shutdown(wait=True, cancel_futures=True)


def _work(shared: Shared, task: Task) -> ReplicateTrace | None:
    """Play one replicate, or return None if told to stop."""
    return None if shared.stop else play_replicate(shared, task)
