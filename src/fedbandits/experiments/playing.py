"""Playing many replicates, of one experiment or of several, until all are finished."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from types import FrameType

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
            with ended_by_ctrl_c():
                playing = backend.play(jobs, stream, stop, workers)
            with stop.at_ctrl_c(), closing(playing):
                for job, trace in playing:
                    # One by one: what was finished before an interruption must be kept.
                    take(job, trace)
    except KeyboardInterrupt:  # while it compiles, or where Ctrl-C is not ours to handle
        stop.set()


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Whatever an interrupted compiler fails with, it is Ctrl-C that ended it.

    The compiler calls Python from C, where an interruption is swallowed. It then fails with an
    error of its own.

    Raises
    ------
    KeyboardInterrupt
        Instead of any error after Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before, pressed = signal.getsignal(signal.SIGINT), list[int]()
    told = sys.unraisablehook

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def leave_out_ctrl_c(failure: sys.UnraisableHookArgs) -> None:
        if failure.exc_type is not KeyboardInterrupt:
            told(failure)

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = leave_out_ctrl_c
    try:
        yield
    except Exception:
        if pressed:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = told
