"""One party, durable: every event is one transaction, and only what is committed leaves.

A single thread owns the party and its database. Events that wait together are committed together.
When a commit fails nothing has happened: the party is made anew from what was committed before,
and whoever asked is told.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fedbandits.deployment.hosting.boots import require_same_boot
from fedbandits.deployment.hosting.events import Hands, Kind, Outcome, Received, Told
from fedbandits.deployment.hosting.ledgers import open_account
from fedbandits.deployment.hosting.means import StoredMeans
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.hosting.view import View, view_of
from fedbandits.deployment.hosting.writing import Batch
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import (
    ClockError,
    DeploymentError,
    FedbanditsError,
    LedgerError,
    NotReadyError,
    StoreError,
)

_LOG = logging.getLogger("fedbandits.deployment")
#: So many events at most share a transaction: nobody waits for more than these.
_MOST_TOGETHER = 256
#: Seconds that events are waited for, where several came together before.
_GATHER = 0.002
#: Seconds between two tries to go on after a commit has failed, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
#: Under which name the number of commits that failed is kept.
_FAILURES = "failures"
_Job = tuple[Kind | None, Any, Callable[[Any, BaseException | None], None]]
#: Does nothing, but wakes the thread.
_WAKE: _Job = (None, lambda _: None, lambda *_: None)


class Sent(NamedTuple):
    """A committed message: for whom, its number, its bytes."""

    peer: str
    number: int
    body: bytes


class Host:
    """Runs one party on one store. Made, opened, begun, asked, and stopped.

    Parameters
    ----------
    seat
        Which party of which federation it is, and what it brings.
    store
        Its store; closed by :meth:`stop`.
    on_sent
        Given messages that were committed, on the event loop.
    on_received
        Given a peer and the number of its message that comes next, once that is committed.
    """

    def __init__(
        self,
        seat: HostedSeat,
        store: Store,
        on_sent: Callable[[list[Sent]], None] = lambda _: None,
        on_received: Callable[[str, int], None] = lambda *_: None,
    ) -> None:
        self.seat, self.store = seat, store
        self._on_sent, self._on_received = on_sent, on_received
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        #: What is done before all that waits, each in a transaction of its own.
        self._first: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=seat.member, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = False
        self._hands: Hands | None = None
        self._broken: BaseException | None = None
        #: Bytes in the journal since the newest saved state, and bytes of that.
        self._bytes_since = (0, 0)
        self._batch: Batch | None = None
        self.means = StoredMeans(store, seat.member, seat.own, self._connection)
        #: What can be seen of the party, as of the last commit.
        self.view = self._newest = View()
        #: How many events have not been answered.
        self.waiting = 0
        #: Called on the event loop after every commit.
        self.on_change: Callable[[], None] = lambda: None
        #: For every peer the number of its message that comes next, and of the next one to it.
        self.counts: dict[str, tuple[int, int]] = {}
        self._acknowledged: dict[str, int] = {}
        self._lock = threading.Lock()
        #: Why the store cannot be written just now; empty while it can.
        self.problem = ""

    async def open(self) -> None:
        """Begin to work on the store; there is no party yet."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def begin(self) -> list[Sent]:
        """Make the party, or go on from the store; returns what is still to be sent.

        Raises
        ------
        FedbanditsError
            If the party cannot be made, or its state cannot be read.
        """
        sent: list[Sent] = await self.call(self._begin)
        return sent

    async def stop(self) -> None:
        """Finish what waits, save the state, close the store."""
        try:
            if self._thread.is_alive():
                await self._finish()
        finally:
            self.store.close()

    async def _finish(self) -> None:
        try:
            if self._hands is not None and self._broken is None:
                await self.call(lambda batch: batch.save_state())
        except FedbanditsError as failed:  # the journal has all that is in the state
            _LOG.warning("%s: its state could not be saved: %s", self.seat.member, failed)
        finally:
            self._stops = True  # what would come behind the end would never be answered
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def do(self, kind: Kind, content: Any) -> asyncio.Future[Any]:
        """Give the party an event. The future is done when it is committed, or was refused."""
        return self._put(kind, content)

    def acknowledged(self, peer: str, number: int) -> None:
        """A peer has taken all messages below a number: they are deleted with the next commit."""
        with self._lock:
            self._acknowledged[peer] = max(number, self._acknowledged.get(peer, 0))

    def call(self, work: Callable[[Batch], Any]) -> asyncio.Future[Any]:
        """Have something done in a transaction of the store; it must be quick."""
        return self._put(None, work)

    def call_first(self, work: Callable[[Batch], Any]) -> asyncio.Future[Any]:
        """The same before everything that waits, and with nothing else in its transaction.

        When a release leaves so does not follow from how much there is to do.
        """
        return self._put(None, work, first=True)

    def _put(self, kind: Kind | None, content: Any, first: bool = False) -> asyncio.Future[Any]:
        loop = self._loop
        if loop is None:
            raise DeploymentError(f"{self.seat.member}: not started")
        if self._stops:
            raise NotReadyError(f"{self.seat.member}: stops")
        future: asyncio.Future[Any] = loop.create_future()

        def settle(answer: Any, error: BaseException | None) -> None:
            if future.done():  # whoever asked has gone
                return
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)

        self.waiting += 1
        if first:
            self._first.put((kind, content, settle))
            self.waiting += 1
            self._jobs.put(_WAKE)
        else:
            self._jobs.put((kind, content, settle))
        return future

    # --- everything below runs on the party's own thread, but for _tell ---

    def _work(self) -> None:
        pause, together = _FIRST_PAUSE, 0
        while True:
            try:
                job = self._jobs.get(timeout=None if self._broken is None else pause)
            except queue.Empty:
                self._commit([])
                pause = min(2.0 * pause, _LONGEST_PAUSE)
                continue
            # Many ask at once: a commit costs as much for all of them. A release never waits.
            more = together > 1 and self._jobs.qsize() < together and self._first.empty()
            if more and not self.seat.is_chatty:
                time.sleep(_GATHER)
            jobs: list[_Job] = []
            while job is not None:
                jobs.append(job)
                if len(jobs) == _MOST_TOGETHER or self._jobs.empty():
                    break
                job = self._jobs.get_nowait()
            while not self._first.empty():
                self._commit([self._first.get_nowait()])
            together = len(jobs)
            if jobs:
                self._commit(jobs)
                pause = _FIRST_PAUSE
            if job is None:
                return

    def _commit(self, jobs: list[_Job]) -> None:
        """Carry out some events in one transaction."""
        answers: list[tuple[Any, BaseException | None]] = []
        try:
            if self._broken is not None:
                self._recover()
            if not jobs:
                return
            with self.store.begin() as connection:
                self._batch = batch = Batch(self.store, connection, self._hands, self.seat)
                answers = [self._do(batch, kind, content) for kind, content, _ in jobs]
                with self._lock:
                    acknowledged, self._acknowledged = self._acknowledged, {}
                batch.write(self._bytes_since, acknowledged)
            if batch.must_be_on_disk:
                self.store.sync()
        except Exception as failed:
            # Whatever failed: the transaction was rolled back, and the party is ahead of it.
            self._broken = failed
            error = failed if isinstance(failed, FedbanditsError) else _unexpected(self, failed)
            _LOG.error("%s: %s", self.seat.member, error)
            answers = [(None, error)] * len(jobs)
            self._tell(jobs, answers, None, str(error))
        else:
            self._bytes_since, self._hands = batch.bytes_since, batch.hands
            self._tell(jobs, answers, batch, "")
        finally:
            self._batch = None

    def _do(
        self, batch: Batch, kind: Kind | None, content: Any
    ) -> tuple[Any, BaseException | None]:
        """Carry out one event; what the party refuses has changed nothing."""
        try:
            return (content(batch) if kind is None else batch.carry_out(kind, content)), None
        except FedbanditsError as refused:
            if isinstance(refused, LedgerError | StoreError) and type(refused) is not ClockError:
                raise  # the transaction itself has failed
            return None, refused

    def _recover(self) -> None:
        """Make the party anew from what was committed, and send that: it may not have been."""
        if self._hands is not None:
            with self.store.begin() as connection:
                self._batch = batch = Batch(self.store, connection, None, self.seat)
                self._hands = batch.restore(self.means)
                failures = self.store.number(connection, _FAILURES)
                self.store.set_number(connection, _FAILURES, failures + 1)  # it can be written
                batch.count(self._hands)
                again = [Sent(*row) for row in self.store.outbox(connection)]
            self._tell([], [], batch, "", again)
        self._broken = None

    def _begin(self, batch: Batch) -> list[Sent]:
        """The party from its store, or a new one."""
        if batch.hands is not None:  # an order and the last secret may come at one instant
            return []
        open_account(batch, self.seat)
        batch.restore(self.means)
        if self.seat.is_chatty:
            require_same_boot(batch, self.seat.member)
        return [Sent(*row) for row in self.store.outbox(batch.connection)]

    def _connection(self) -> Any:
        if self._batch is None:
            raise DeploymentError(f"{self.seat.member}: noise and secrets belong to an event")
        return self._batch.connection

    def _tell(
        self,
        jobs: list[_Job],
        answers: list[tuple[Any, BaseException | None]],
        batch: Batch | None,
        problem: str,
        again: Sequence[Sent] = (),
    ) -> None:
        """Have the event loop tell everybody what has become of it, and send what was committed."""
        if batch is not None:  # not from what the loop has seen: it may be behind
            self._newest = view_of(self._hands, self._newest, batch)
        view = self._newest
        outgoing = list(again)
        if batch is not None:
            outgoing += [Sent(*row) for row in batch.outgoing]
        received = dict(batch.received) if batch is not None else {}
        counts = dict(batch.counts) if batch is not None else {}

        def tell() -> None:
            self.view, self.problem = view, problem
            self.waiting -= len(jobs)
            self.counts.update(counts)
            for peer, number in received.items():  # first: what is sent acknowledges it
                self._on_received(peer, number)
            if outgoing:
                self._on_sent(outgoing)
            for (_, _, settle), (answer, error) in zip(jobs, answers, strict=True):
                settle(answer, error)
            self.on_change()

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(tell)


def _unexpected(host: Host, failed: Exception) -> DeploymentError:
    """A fault that has no name here: its kind is told, its text may hold data."""
    return DeploymentError(
        f"{host.seat.member}: an unexpected {type(failed).__name__}; nothing was changed"
    )


__all__ = ["Host", "Outcome", "Received", "Sent", "Told"]
