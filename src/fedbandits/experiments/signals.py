"""Signals between a run and its caller: events go out, and a stop comes in.

A worker hands an event over and waits until the listener has returned. So a listener hears of a
replicate while the replicate stands at the round of the event, and may stop the replicate there.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import NamedTuple, TypeVar

from fedbandits._compile import compilations
from fedbandits.experiments.events import Compiling, Event


class Stop:
    """A switch that ends a run or an audit early.

    Pass the switch to ``fb.run(..., stop=stop)`` or ``fb.audit(..., stop=stop)``, and call
    :meth:`set` from any thread or from ``on_event``. Then the switch stays set: its truth value is
    true, and every run with it ends at once.
    """

    def __init__(self) -> None:
        self._set = threading.Event()

    def __bool__(self) -> bool:
        return self._set.is_set()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'set' if self else 'not set'}>"

    def set(self) -> None:
        """End the run or the audit; replicates save their state and stop within about a second."""
        self._set.set()


class Leaving(Stop):
    """A switch that tells the workers of one run to leave, after its caller, Ctrl-C, or an error.

    Parameters
    ----------
    stop
        The caller's switch, which is read and never set, because other runs may share the switch.
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
            Whether a second Ctrl-C ends everything at once. If not, a second Ctrl-C has no effect,
            and disturbs no save.
        """
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread may handle signals
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
    """Turn any error of an interrupted compiler into the Ctrl-C that ended the compiler.

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
    hook = sys.unraisablehook

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def leave_out_ctrl_c(failure: sys.UnraisableHookArgs) -> None:
        if failure.exc_type is not KeyboardInterrupt:
            hook(failure)

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
        sys.unraisablehook = hook


#: A function that is called with every event.
Listener = Callable[[Event], None]
Item = TypeVar("Item")


class _Letter(NamedTuple):
    event: Event
    heard: threading.Event


class Stream:
    """A stream of events to a listener, in the thread that made the stream.

    Parameters
    ----------
    listener
        A function that is called with every event, or None.
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._owner = threading.get_ident()
        self._inbox: SimpleQueue[object] = SimpleQueue()
        self._guard = threading.Lock()
        self._waiting: set[threading.Event] = set()
        self._closed = False
        self._kernels = 0
        self._failure: BaseException | None = None

    def tell(self, event: Event) -> None:
        """Bring an event to the listener; return when the listener has returned.

        Errors of the listener are raised in the thread of the stream.
        """
        if self._listener is None:
            return
        if threading.get_ident() == self._owner:
            self._raise_failure()
            self._listener(event)
            return
        heard = threading.Event()
        with self._guard:
            if self._closed:
                return
            self._waiting.add(heard)
        self._inbox.put(_Letter(event, heard))
        heard.wait()

    def put(self, item: object) -> None:
        """Hand an item to :meth:`items`, from any thread, without waiting."""
        self._inbox.put(item)

    def items(self, kind: type[Item], count: int) -> Generator[Item, None, None]:
        """Yield ``count`` items from :meth:`put`, as they come; bring events in between."""
        while count:
            item = self._inbox.get()
            if isinstance(item, kind):
                count -= 1
                yield item
            elif isinstance(item, _Letter):
                self.tell(item.event)
                self._let_go(item.heard)
            elif isinstance(item, Compiling):
                self.tell(item)

    def close(self) -> None:
        """Release all waiting threads, whose events are not heard any more."""
        with self._guard:
            self._closed = True
            waiting, self._waiting = self._waiting, set()
        for heard in waiting:
            heard.set()

    def _let_go(self, heard: threading.Event) -> None:
        with self._guard:
            self._waiting.discard(heard)
        heard.set()

    @contextmanager
    def with_compilations(self) -> Iterator[None]:
        """Tell of every kernel that is compiled in the context."""
        if self._listener is None:
            yield
            return
        with compilations(self._note_kernel):
            yield
        self._raise_failure()

    def _note_kernel(self, kernel: str) -> None:
        """Tell of a kernel that is about to be compiled, in any thread.

        A compiling thread holds Numba's lock. The thread must not wait for a listener, which may
        want the same lock. And Numba must not see an error of a listener, which Numba might take
        for its own.
        """
        self._kernels += 1
        event = Compiling(kernel=kernel, count=self._kernels)
        if threading.get_ident() != self._owner:
            self._inbox.put(event)
        elif self._failure is None and self._listener is not None:
            try:
                self._listener(event)
            except BaseException as failure:  # raised when Numba is done: see _raise_failure
                self._failure = failure

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
