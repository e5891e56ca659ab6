"""Leaving early: Ctrl-C tells workers, and nobody is cut off in the middle of a checkpoint."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Tells workers to leave, and waits until they have: they may be saving a checkpoint."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._idle = threading.Condition()
        self._working = 0

    def __bool__(self) -> bool:
        return self._told.is_set()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around all that a worker does."""
        with self._idle:
            self._working += 1
        try:
            yield
        finally:
            with self._idle:
                self._working -= 1
                self._idle.notify_all()

    @contextmanager
    def at_ctrl_c(self) -> Iterator[None]:
        """Let Ctrl-C tell workers to leave; more of them do not disturb the leaving."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals; whoever started this one does
            return
        before = signal.getsignal(signal.SIGINT)

        def tell(*_: object) -> None:
            self._told.set()

        signal.signal(signal.SIGINT, tell)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def and_wait(self) -> None:
        """Tell workers to leave and wait for the last one."""
        self._told.set()
        with self._idle:
            self._idle.wait_for(lambda: self._working == 0)
