"""Backends that play replicates: threads of this process, or the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from fedbandits.errors import ConfigError
from fedbandits.experiments.replicate import (
    Job,
    Shared,
    compile_kernels,
    play_replicate,
    several,
)
from fedbandits.experiments.signals import Leaving, Stream
from fedbandits.experiments.trace import ReplicateTrace, Task

_NAMES = ("local", "dask", "ray")


class Backend(Protocol):
    """A backend, which plays replicates side by side."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """Compile kernels, then yield each finished replicate with its trace, in any order.

        The generator ends early once ``stop`` is true, or when closed. Finished replicates are in
        the checkpoints of their experiment, if it has a folder.

        Parameters
        ----------
        jobs
            The replicates, of one experiment or of several.
        stream, stop
            The stream of events and the stop switch of all jobs.
        workers
            Number of replicates at once; by default as many as possible.
        """


def choose_backend(name: str, scheduler: str | None) -> AbstractContextManager[Backend]:
    """Choose a backend, which is connected during the context.

    Raises
    ------
    ConfigError
        For an unknown name, or an address that is missing or superfluous.
    """
    if name not in _NAMES:
        raise ConfigError(f"backend: given {name!r}, allowed: {', '.join(_NAMES)}")
    if name == "local":
        if scheduler is not None:
            raise ConfigError("scheduler: needs --backend dask or ray, which it is the address of")
        return open_local()
    # Here, not above: a local run must not wait for these imports, or need the packages.
    if name == "ray":
        from fedbandits.experiments.backends.on_ray import open_ray

        return open_ray(scheduler)
    if scheduler is None:
        raise ConfigError("backend: dask needs --scheduler ADDRESS, e.g. tcp://HOST:8786")
    from fedbandits.experiments.backends.on_dask import open_dask

    return open_dask(scheduler)


class LocalBackend:
    """Backend of threads in this process."""

    def play(
        self, jobs: list[Job], stream: Stream, stop: Leaving, workers: int | None
    ) -> Generator[tuple[Job, ReplicateTrace], None, None]:
        """Play replicates; see :class:`Backend`."""
        workers = workers or os.cpu_count() or 1
        threads = max(1, workers // max(1, len(jobs)))
        jobs = [Job(job.shared._replace(threads=threads), job.task) for job in jobs]
        for shared in _one_of_each_kind(several(jobs)):
            compile_kernels(shared)
        return _play(jobs, stream, stop, min(workers, len(jobs)))


@contextmanager
def open_local() -> Iterator[LocalBackend]:
    """Open the backend of this process, without a connection."""
    yield LocalBackend()


def _one_of_each_kind(experiments: list[Shared]) -> list[Shared]:
    """Choose experiments with all presets and kinds of environments of ``experiments``.

    A sweep has hundreds of experiments with the same kernels. Kernels of rare parts are compiled
    when they are played.
    """
    chosen: dict[tuple[str, type], Shared] = {}
    for shared in experiments:
        for entry in shared.experiment.systems:
            chosen.setdefault((entry.preset, type(shared.experiment.environment)), shared)
    return list({id(shared): shared for shared in chosen.values()}.values())


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
        # After an early end of the loop, workers leave at their next look, maybe after a save.
        stop.set()
        stream.close()
        pool.shutdown(wait=True, cancel_futures=True)


def _work(shared: Shared, task: Task) -> ReplicateTrace | None:
    """Play one replicate; return None after a stop."""
    return None if shared.stop else play_replicate(shared, task)
