"""Replicates in threads of this process: the compiled loops hold no interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from fedbandits.experiments.replicate import Shared, Task, compile_kernels, play_replicate
from fedbandits.experiments.trace import ReplicateTrace


class LocalBackend:
    """Threads of this process."""

    def play(
        self, shared: Shared, tasks: list[Task], jobs: int | None
    ) -> Generator[ReplicateTrace, None, None]:
        """See :class:`fedbandits.experiments.backends.Backend`."""
        jobs = jobs or os.cpu_count() or 1
        shared = shared._replace(threads=max(1, jobs // max(1, len(tasks))))
        if tasks:
            compile_kernels(shared)
        return _play(shared, tasks, min(jobs, len(tasks)))


@contextmanager
def open_local() -> Iterator[LocalBackend]:
    """There is nothing to connect to."""
    yield LocalBackend()


def _play(shared: Shared, tasks: list[Task], workers: int) -> Generator[ReplicateTrace, None, None]:
    if not tasks:
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="fedbandits")
    try:
        for task in tasks:
            pool.submit(_work, shared, task).add_done_callback(shared.stream.put)
        for played in shared.stream.items(Future, len(tasks)):
            trace = played.result()
            if trace is not None:
                yield trace
    finally:
        # Whatever ends the loop early, workers leave at their next look; they may be saving.
        shared.stop.set()
        shared.stream.close()
        pool.shutdown(wait=True, cancel_futures=True)


def _work(shared: Shared, task: Task) -> ReplicateTrace | None:
    """Play one replicate, or return None if told to stop."""
    return None if shared.stop else play_replicate(shared, task)
