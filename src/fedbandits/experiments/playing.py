"""Playing many replicates, of one experiment or of several, until all are finished."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from fedbandits.experiments.backends import Backend
from fedbandits.experiments.replicate import Job
from fedbandits.experiments.stop import Leaving
from fedbandits.experiments.stream import Stream
from fedbandits.experiments.trace import ReplicateTrace


def play_jobs(
    backend: Backend,
    jobs: list[Job],
    stream: Stream,
    stop: Leaving,
    workers: int | None,
    take: Callable[[Job, ReplicateTrace], None],
) -> None:
    """Play replicates; when told to stop, return at once with ``stop`` set.

    Parameters
    ----------
    backend
        Who plays them.
    jobs
        The replicates.
    stream, stop
        Where events go, and who tells all to leave: those of every job.
    workers
        How many are played at once; by default as many as can be.
    take
        Is called with each replicate as it is finished, and with what it left.
    """
    try:
        with stream.with_compilations():
            # Compiles first, where that is to do; Ctrl-C ends that at once.
            playing = backend.play(jobs, stream, stop, workers)
            with stop.at_ctrl_c(), closing(playing):
                for job, trace in playing:
                    # One by one: what was finished before an interruption must be kept.
                    take(job, trace)
    except KeyboardInterrupt:  # while it compiles, or where Ctrl-C is not ours to handle
        stop.set()
