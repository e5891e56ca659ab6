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

from fedbandits.deployment.delivery.exchange import Standing
from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.events import HostedParty, Kind
from fedbandits.deployment.hosting.reports import View
from fedbandits.deployment.hosting.resources import StoredResources
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.rows import Sent
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
#: So many jobs at most share a transaction: nobody waits for more than these.
_MOST_TOGETHER = 256
#: Seconds that jobs are waited for, where several came together before.
_GATHER = 0.002
#: Seconds between two tries to go on after a commit has failed, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
#: Under which name the number of commits that failed is kept.
_FAILURES = "failures"
#: What a job has come to: an answer, or an error.
_Answer = tuple[Any, BaseException | None]


class _Job(NamedTuple):
    """Work to be done in a transaction, and whoever is told what it has come to."""

    work: Callable[[Batch], Any]
    settle: Callable[[Any, BaseException | None], None]


#: Does nothing, but wakes the thread.
_WAKE = _Job(lambda _: None, lambda *_: None)


class Host:
    """Runs one party on one store. Made, opened, begun, asked, and stopped, which closes the store.

    ``on_sent`` is given messages that were committed, on the event loop. ``on_received`` is given a
    peer and the number of its message that comes next, once that is committed.
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
        #: Jobs in the order in which they came; None ends the thread.
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        #: Jobs that are done before all others, each in a transaction of its own.
        self._urgent: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=seat.member, daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = False
        self._hosted: HostedParty | None = None
        #: Why the newest commit failed, until the party was made anew.
        self._broken: BaseException | None = None
        #: Bytes in the journal since the newest saved state, and bytes of that.
        self._bytes_since = (0, 0)
        self._batch: Batch | None = None
        self.resources = StoredResources(store, seat.member, seat.own, self._connection)
        #: What can be seen of the party, as of the last commit.
        self.view = self._newest = View()
        #: How many jobs have not been answered.
        self.waiting = 0
        #: Called on the event loop after every commit.
        self.on_change: Callable[[], None] = lambda: None
        #: For every peer where the exchange with it stands.
        self.counts: dict[str, Standing] = {}
        #: For every peer how many messages it had acknowledged at the start, and their mark.
        self.marks: dict[str, tuple[int, bytes]] = {}
        self._acknowledged: dict[str, tuple[int, bytes]] = {}
        self._lock = threading.Lock()
        #: Why the store cannot be written just now; empty while it can.
        self.problem = ""

    async def open(self) -> None:
        """Begin to work on the store; there is no party yet."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def begin(self) -> list[Sent]:
        """Make the party, or go on from the store; returns what is still to be sent.

        Raises FedbanditsError if the party cannot be made, or its state cannot be read.
        """

        def begin(batch: Batch) -> list[Sent]:
            # An order and the last secret may come at one instant: the second finds a party.
            if batch.hosted is not None:
                return []
            self.marks = batch.store.marks(batch.connection)
            return batch.begin(self.resources)

        sent: list[Sent] = await self.call(begin)
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
            if self._hosted is not None and self._broken is None:
                await self.call(lambda batch: batch.save_state())
        except FedbanditsError as failed:  # the journal has all that is in the state
            _LOG.warning("%s: its state could not be saved: %s", self.seat.member, failed)
        finally:
            self._stops = True  # what would come behind the end would never be answered
            self._jobs.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def do(self, kind: Kind, content: Any) -> asyncio.Future[Any]:
        """Give the party an event. The future is done when it is committed, or was refused."""
        return self.call(lambda batch: batch.carry_out(kind, content))

    def call(self, work: Callable[[Batch], Any]) -> asyncio.Future[Any]:
        """Have something done in a transaction of the store; it must be quick."""
        future, job = self._job(work)
        self.waiting += 1
        self._jobs.put(job)
        return future

    def call_first(self, work: Callable[[Batch], Any]) -> asyncio.Future[Any]:
        """Have something done before all that waits, with nothing else in its transaction.

        When a release leaves so does not follow from how much there is to do.
        """
        future, job = self._job(work)
        self.waiting += 2
        self._urgent.put(job)
        self._jobs.put(_WAKE)
        return future

    def _job(self, work: Callable[[Batch], Any]) -> tuple[asyncio.Future[Any], _Job]:
        """Make a job, and the future that is done with it."""
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

        return future, _Job(work, settle)

    def acknowledged(self, peer: str, number: int, mark: bytes) -> None:
        """Let the next commit delete a peer's messages below a number: it has taken them."""
        with self._lock:
            self._acknowledged[peer] = max((number, mark), self._acknowledged.get(peer, (0, b"")))

    # --- everything below runs on the party's own thread, but for the end of _tell ---

    def _work(self) -> None:
        """Commit jobs as they come, until there is a None among them."""
        pause, together = _FIRST_PAUSE, 0
        while True:
            try:
                job = self._jobs.get(timeout=None if self._broken is None else pause)
            except queue.Empty:  # the store has failed, and nobody asks for anything
                self._commit([])
                pause = min(2.0 * pause, _LONGEST_PAUSE)
                continue
            self._wait_for_more(together)
            jobs, ends = self._take_waiting(job)
            while not self._urgent.empty():
                self._commit([self._urgent.get_nowait()])
            if jobs:
                self._commit(jobs)
                pause = _FIRST_PAUSE
            if ends:
                return
            together = len(jobs)

    def _wait_for_more(self, together: int) -> None:
        """Wait a moment where many ask at once: one commit costs as much as many.

        Nobody waits where messages set the pace, nor does a release.
        """
        more_come = together > 1 and self._jobs.qsize() < together and self._urgent.empty()
        if more_come and not self.seat.is_chatty:
            time.sleep(_GATHER)

    def _take_waiting(self, job: _Job | None) -> tuple[list[_Job], bool]:
        """Take a job and those that wait behind it; and whether the end was among them."""
        jobs: list[_Job] = []
        while job is not None:
            jobs.append(job)
            if len(jobs) == _MOST_TOGETHER or self._jobs.empty():
                return jobs, False
            job = self._jobs.get_nowait()
        return jobs, True

    def _commit(self, jobs: list[_Job]) -> None:
        """Do some jobs in one transaction; after a failure make the party anew first."""
        try:
            if self._broken is not None:
                self._recover()
            if not jobs:
                return
            with self.store.begin() as connection:
                self._batch = batch = Batch(self.store, connection, self._hosted, self.seat)
                answers = [_do(job, batch) for job in jobs]
                with self._lock:
                    acknowledged, self._acknowledged = self._acknowledged, {}
                batch.write(self._bytes_since, acknowledged)
            if batch.must_be_on_disk:
                self.store.sync()
            batch.let_leave()
        except Exception as failed:
            # Whatever failed: the transaction was rolled back, and the party is ahead of it.
            self._broken = failed
            error = failed if isinstance(failed, FedbanditsError) else self._unexpected(failed)
            _LOG.error("%s: %s", self.seat.member, error)
            self._tell(jobs, [(None, error)] * len(jobs), None, str(error))
        else:
            self._bytes_since, self._hosted = batch.bytes_since, batch.hosted
            self._tell(jobs, answers, batch)
        finally:
            self._batch = None

    def _recover(self) -> None:
        """Make the party anew from what was committed, and send that: it may not have been."""
        if self._hosted is not None:
            with self.store.begin() as connection:
                self._batch = batch = Batch(self.store, connection, None, self.seat)
                self._hosted = batch.restore(self.resources)
                failures = self.store.number(connection, _FAILURES)
                self.store.set_number(connection, _FAILURES, failures + 1)  # it can be written
                batch.count(self._hosted)
                again = self.store.outbox(connection)
            batch.let_leave()
            self._tell([], [], batch, again=again)
        self._broken = None

    def _connection(self) -> Any:
        if self._batch is None:
            raise DeploymentError(f"{self.seat.member}: noise and secrets belong to an event")
        return self._batch.connection

    def _unexpected(self, failed: Exception) -> DeploymentError:
        """Tell a fault that has no name here by its kind: its text may hold data."""
        return DeploymentError(
            f"{self.seat.member}: an unexpected {type(failed).__name__}; nothing was changed"
        )

    def _tell(
        self,
        jobs: list[_Job],
        answers: list[_Answer],
        batch: Batch | None,
        problem: str = "",
        again: Sequence[Sent] = (),
    ) -> None:
        """Have the event loop send what was committed, and tell whoever asked.

        Without a batch nothing was committed, and ``problem`` says why. ``again`` are messages of
        earlier commits.
        """
        outgoing, received, counts = list(again), dict[str, int](), dict[str, Standing]()
        if batch is not None:  # not from what the loop has seen: it may be behind
            self._newest = self._newest.after(batch)
            outgoing += batch.outgoing
            received, counts = dict(batch.received), dict(batch.counts)
        view = self._newest

        def tell() -> None:
            self.view, self.problem = view, problem
            self.waiting -= len(jobs)
            self.counts.update(counts)
            for peer, number in received.items():  # first: what is sent acknowledges it
                self._on_received(peer, number)
            if outgoing:
                self._on_sent(outgoing)
            for job, (answer, error) in zip(jobs, answers, strict=True):
                job.settle(answer, error)
            self.on_change()

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(tell)


def _do(job: _Job, batch: Batch) -> _Answer:
    """Do one job. An event that the party refuses has changed nothing, and the others go on."""
    try:
        return job.work(batch), None
    except FedbanditsError as refused:
        if isinstance(refused, LedgerError | StoreError) and type(refused) is not ClockError:
            raise  # the transaction itself has failed
        return None, refused
