"""Replicates in threads of this process: the compiled loops hold no interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import joblib

from fedbandits.experiments.replicate import Shared, Task, compile_kernels, play_replicate
from fedbandits.experiments.result import ReplicateTrace


class LocalBackend:
    """Threads of this process."""

    def play(
        self, shared: Shared, tasks: list[Task], jobs: int | None
    ) -> Generator[ReplicateTrace, None, None]:
        """See :class:`fedbandits.experiments.backends.Backend`."""
        jobs = jobs or os.cpu_count() or 1
        shared = shared._replace(threads=max(1, jobs // max(1, len(tasks))))
        compile_kernels(shared)
        return _play(shared, tasks, min(jobs, len(tasks)))


@contextmanager
def open_local() -> Iterator[LocalBackend]:
    """There is nothing to connect to."""
    yield LocalBackend()


def _play(shared: Shared, tasks: list[Task], workers: int) -> Generator[ReplicateTrace, None, None]:
    if not tasks:
        return
    parallel = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator_unordered")
    results = parallel(joblib.delayed(_work)(shared, task) for task in tasks)
    try:
        yield from (trace for trace in results if trace is not None)
    finally:
        shared.stop.and_wait()  # whatever ends the loop early, workers leave at their next look
        results.close()


def _work(shared: Shared, task: Task) -> ReplicateTrace | None:
    """Play one replicate, or return None if told to stop."""
    with shared.stop.working():
        return None if shared.stop else play_replicate(shared, task)
