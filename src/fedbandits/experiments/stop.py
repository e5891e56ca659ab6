"""Stopping early: a run or an audit saves what it has done, then leaves."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """A switch that ends a run or an audit early.

    Pass it to ``fb.run(..., stop=stop)`` or ``fb.audit(..., stop=stop)``, and call :meth:`set` from
    any thread or from ``on_event``. After that it stays set: its truth value is true, and every run
    with it ends at once.
    """

    def __init__(self) -> None:
        self._told = threading.Event()

    def __bool__(self) -> bool:
        return self._told.is_set()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'set' if self else 'not set'}>"

    def set(self) -> None:
        """End the run or the audit; replicates save their state and stop within about a second."""
        self._told.set()


class Leaving(Stop):
    """Tells the workers of one run to leave: its caller wants it, or Ctrl-C, or an error does.

    Parameters
    ----------
    stop
        The caller's. It is looked at, and never set: other runs may have the same.
    """

    def __init__(self, stop: Stop | None = None) -> None:
        super().__init__()
        self._stop = stop

    def __bool__(self) -> bool:
        return super().__bool__() or bool(self._stop)

    @contextmanager
    def at_ctrl_c(self, once: bool = False) -> Iterator[None]:
        """Let Ctrl-C tell workers to leave.

        Parameters
        ----------
        once
            Whether a second Ctrl-C ends everything at once. If not, it does nothing: what is being
            saved is not disturbed.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals; whoever started this one does
            return
        before = signal.getsignal(signal.SIGINT)

        def tell(*_: object) -> None:
            self.set()
            if once:
                signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, tell)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """Take whatever an interrupted compiler fails with for Ctrl-C, which ended it.

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
