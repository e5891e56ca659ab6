"""One party, durable: only what is committed leaves, and events that wait share a transaction.

Transactions follow one another. Decisions and rewards are worked out on the event loop, where the
requests for them arrive, and a thread waits for the disk: two threads that work at once would wait
for each other. The thread does longer work alone. The event loop also commits: where commits are
short, and where messages answer one another all the time and the commit waits for no disk. If a
transaction fails, its jobs fail, and the party is restored from the store.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fedbandits.deployment.delivery.exchange import Standing
from fedbandits.deployment.hosting.batch import Batch, saves
from fedbandits.deployment.hosting.events import HostedParty, Kind
from fedbandits.deployment.hosting.jobs import Begun, Done, Job, Outcome, begin, begin_at_once
from fedbandits.deployment.hosting.pace import CommitPace
from fedbandits.deployment.hosting.reports import View
from fedbandits.deployment.hosting.resources import StoredResources
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.rows import Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import DeploymentError, FedbanditsError, NotReadyError, StoreError

_LOG = logging.getLogger("fedbandits.deployment")
#: So many jobs at most share a transaction: nobody waits for more than these.
_MOST_TOGETHER = 256
#: Seconds that the event loop works for decisions at a time: others have their turn in between.
_LONGEST_WORK = 0.005
#: Seconds between two tries to go on after a commit has failed, at first and at most.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
#: Under which name the number of commits that failed is kept.
_FAILURES = "failures"
#: Commits that are timed before a party begins.
_TIMED = 5


class Host:
    """Runs one party on one store.

    Call :meth:`open`, :meth:`begin`, then :meth:`do` or :meth:`call` for each job, and at the end
    :meth:`stop`, which closes the store.

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
        self._is_chatty, self._ends_rounds_itself = seat.is_chatty, seat.ends_rounds_itself
        self._on_sent, self._on_received = on_sent, on_received
        #: Jobs in the order in which they came.
        self._jobs: deque[Job] = deque()
        #: Jobs that are done before all others, each in a transaction of its own.
        self._urgent: deque[Job] = deque()
        self._thread = ThreadPoolExecutor(1, seat.member)
        self._loop: asyncio.AbstractEventLoop | None = None
        #: Whether a transaction is under way, or will be in a moment.
        self._busy = self._stops = False
        self._hosted: HostedParty | None = None
        #: Why the newest transaction failed, until a transaction succeeds.
        self._broken: BaseException | None = None
        #: Timer of the next try to restore the party after a failure.
        self._retry: asyncio.TimerHandle | None = None
        self._pause, self._pace = _FIRST_PAUSE, CommitPace([math.inf])
        #: Bytes in the journal since the newest saved state, and bytes of that.
        self._bytes_since = (0, 0)
        self._batch: Batch | None = None
        self.resources = StoredResources(store, seat.member, seat.own, self._connection)
        #: What can be seen of the party, as of the last commit.
        self.view = View(last_counted=seat.federation.plan.schedule.last_counted)
        #: How many jobs have not been answered.
        self.waiting = 0
        #: Called on the event loop after every commit.
        self.on_change: Callable[[], None] = lambda: None
        #: For every peer where the exchange with it stands.
        self.counts: dict[str, Standing] = {}
        #: By peer, as of the start: the number of acknowledged messages, and the mark of these.
        self.marks: dict[str, tuple[int, bytes]] = {}
        #: By peer: number and mark of acknowledged messages that no commit has deleted yet.
        self._acknowledged: dict[str, tuple[int, bytes]] = {}
        #: Why the store cannot be written just now; empty while it can.
        self.problem = ""

    async def open(self) -> None:
        """Begin to work on the store; there is no party yet."""
        self._loop = asyncio.get_running_loop()
        if self.store.is_file:
            times = self._loop.run_in_executor(self._thread, self.store.commit_times, _TIMED)
            self._pace = CommitPace(await times)

    async def begin(self) -> list[Sent]:
        """Make the party, or go on from the store; returns what is still to be sent.

        Raises FedbanditsError if the party cannot be made, or its state cannot be read. There is no
        party then, and nothing is saved at the end. The store has not changed, unless the error
        says that a step after the commit failed.
        """

        def begin(batch: Batch) -> list[Sent]:
            # An order and the last secret may come at one instant: the second finds a party.
            if batch.hosted is not None:
                return []
            self.marks = batch.store.marks(batch.connection)
            return batch.begin(self.resources)

        # Alone in its transaction: no other job fails with it.
        sent: list[Sent] = await self._added(self._urgent, begin, whole=True)
        return sent

    async def stop(self) -> None:
        """Finish what waits, save the state, close the store."""
        try:
            if self._loop is not None and not self._stops:
                await self._finish()
        finally:
            self._thread.shutdown()
            self.store.close()

    async def _finish(self) -> None:
        try:
            if self._hosted is not None and self._broken is None:
                await self.call(lambda batch: batch.save_state())
        except FedbanditsError as failed:  # the journal has all that is in the state
            _LOG.warning("%s: its state could not be saved: %s", self.seat.member, failed)
        last = self.call(lambda _: None)
        self._stops = True  # what would come behind the end would never be answered
        await asyncio.gather(last, return_exceptions=True)
        if self._retry is not None:
            self._retry.cancel()

    def do(self, kind: Kind, content: Any) -> asyncio.Future[Any]:
        """Give the party an event. The future is done when it is committed, or was refused."""
        learns = kind is Kind.OBSERVE and not self._ends_rounds_itself  # else it may end a round
        quick = learns or kind is Kind.DECIDE or (kind is Kind.RECEIVE and self._is_chatty)
        return self.call(lambda batch: batch.carry_out(kind, content), quick)

    def call(self, work: Callable[[Batch], Any], quick: bool = False) -> asyncio.Future[Any]:
        """Add a job for a transaction of the store; return the future of its outcome.

        The event loop does the work itself only if it is ``quick``.
        """
        return self._added(self._jobs, work, quick)

    def call_first(self, work: Callable[[Batch], Any]) -> asyncio.Future[Any]:
        """Add a job that is done before all others, alone in its transaction.

        So the time at which a release leaves does not depend on how many jobs there are.
        """
        return self._added(self._urgent, work)

    def _added(
        self,
        jobs: deque[Job],
        work: Callable[[Batch], Any],
        quick: bool = False,
        whole: bool = False,
    ) -> asyncio.Future[Any]:
        if self._loop is None:
            raise DeploymentError(f"{self.seat.member}: not started")
        if self._stops:
            raise NotReadyError(f"{self.seat.member}: stops")
        future: asyncio.Future[Any] = self._loop.create_future()
        jobs.append(Job(work, future, quick, whole))
        self.waiting += 1
        self._schedule()
        return future

    def acknowledged(self, peer: str, number: int, mark: bytes) -> None:
        """Let the next commit delete a peer's messages below a number: it has taken them."""
        self._acknowledged[peer] = max((number, mark), self._acknowledged.get(peer, (0, b"")))

    # --- one transaction after the other ---

    def _schedule(self) -> None:
        """Begin a transaction in a moment: what has come at once is committed at once."""
        if not self._busy and self._loop is not None:
            self._busy = True
            self._loop.call_soon(self._next_transaction)

    def _next_transaction(self) -> None:
        """Begin the next transaction, if anything waits."""
        if self._broken is not None and self._hosted is not None:
            self._on_thread(self._restore, [])
            return
        jobs = self._take()
        self._busy = bool(jobs)
        if not jobs:
            return
        try:
            begun = begin_at_once(self.store) if self._is_quick(jobs) else None
            done = begun and self._carry_out(begun, jobs, _LONGEST_WORK)
            if done and self._waits_for_no_disk(done.batch):
                asyncio.get_running_loop().call_soon(self._finished, jobs, self._timed(done))
                return
        except Exception as failed:
            self._fail(jobs, failed)
            return
        if done is None:
            self._on_thread(lambda: self._commit(self._carry_out(begin(self.store), jobs)), jobs)
        else:
            self._on_thread(lambda: self._commit(done), jobs)

    def _waits_for_no_disk(self, batch: Batch) -> bool:
        """Tell whether the event loop may commit: the system writes at leisure, or at once.

        The thread erases keys from the store's log, and writes the file of all that has left.
        """
        if batch.erases or batch.leaves:
            return False
        return not batch.must_be_on_disk if self._is_chatty else self._pace.is_short

    def _timed(self, done: Done) -> Done:
        """Commit on the event loop, and note the time of the commit."""
        began = time.monotonic()
        self._commit(done)
        if not self._is_chatty:
            self._pace.took(time.monotonic() - began)
        return done

    def _is_quick(self, jobs: list[Job]) -> bool:
        """Tell whether the event loop may do some jobs itself."""
        if not self.store.is_file or self._hosted is None:
            return False
        return all(job.quick for job in jobs) and not saves(self._bytes_since, self._hosted)

    def _take(self) -> list[Job]:
        """Take the jobs that the next transaction is for."""
        if self._urgent:
            return [self._urgent.popleft()]
        return [self._jobs.popleft() for _ in range(min(len(self._jobs), _MOST_TOGETHER))]

    def _on_thread(self, work: Callable[[], Done], jobs: list[Job]) -> None:
        """End a transaction on the thread, and its jobs on the event loop."""

        def tell(future: asyncio.Future[Done]) -> None:
            failed = future.exception()
            if failed is None:
                self._finished(jobs, future.result())
            else:
                self._fail(jobs or self._take(), failed)

        if self._loop is not None:
            self._loop.run_in_executor(self._thread, work).add_done_callback(tell)

    def _carry_out(self, begun: Begun, jobs: list[Job], seconds: float = math.inf) -> Done:
        """Do some jobs in a transaction that has begun, all but its commit.

        After so many ``seconds`` the others are left for the next one.
        """

        def do(batch: Batch) -> list[Outcome]:
            outcomes, end = [jobs[0].done(batch)], time.monotonic() + seconds
            while len(outcomes) < len(jobs) and time.monotonic() < end:
                outcomes.append(jobs[len(outcomes)].done(batch))
            self._jobs.extendleft(reversed(jobs[len(outcomes) :]))
            del jobs[len(outcomes) :]
            batch.write(self._bytes_since, dict(self._acknowledged))
            return outcomes

        return self._in_transaction(begun, self._hosted, do)

    def _in_transaction(
        self, begun: Begun, hosted: HostedParty | None, work: Callable[[Batch], list[Outcome]]
    ) -> Done:
        self._batch = batch = Batch(self.store, begun.connection, hosted, self.seat)
        try:
            outcomes = work(batch)
        except BaseException as error:
            begun.transaction.__exit__(type(error), error, error.__traceback__)
            raise
        finally:
            self._batch = None
        return Done(batch, outcomes, begun.transaction)

    def _commit(self, done: Done) -> Done:
        """Commit, and wait until the commit is on the disk, and keys that it has erased are not.

        Raises StoreError, with a text that says so, if the jobs are committed and a later step
        fails. Nothing of them has left then; the party is restored, and the outbox is sent.
        """
        done.transaction.__exit__(None, None, None)
        try:
            if done.batch.erases:
                self.store.checkpoint()
            if done.batch.must_be_on_disk:
                self.store.sync()
            done.batch.let_leave()
        except Exception as failed:
            cause = str(failed) if isinstance(failed, FedbanditsError) else type(failed).__name__
            raise StoreError(
                f"{self.seat.member}: all that the party did not refuse is committed, but a step "
                "after the commit failed: ask again with the same key; a reward counts already "
                f"({cause})"
            ) from failed
        return done

    def _restore(self) -> Done:
        """Restore the party from the store, and send the outbox: it may not have been sent."""
        again: list[Sent] = []

        def restore(batch: Batch) -> list[Outcome]:
            batch.count(batch.restore(self.resources))
            failures = self.store.number(batch.connection, _FAILURES)
            self.store.set_number(batch.connection, _FAILURES, failures + 1)  # it can be written
            again.extend(self.store.outbox(batch.connection))
            return []

        done = self._in_transaction(begin(self.store), None, restore)
        return self._commit(done)._replace(again=again)

    def _connection(self) -> Any:
        if self._batch is None:
            raise DeploymentError(f"{self.seat.member}: noise and secrets belong to an event")
        return self._batch.connection

    def _finished(self, jobs: list[Job], done: Done) -> None:
        """Send committed messages, resolve the jobs' futures, and begin the next transaction.

        The next transaction comes last: if it fails, its error follows the outcomes of this one.
        """
        try:
            self._publish(jobs, done)
        finally:
            self._next_transaction()

    def _publish(self, jobs: list[Job], done: Done) -> None:
        """Show what was committed, send its messages, and resolve the futures, come what may."""
        try:
            self._show(done.batch, bool(jobs))
            self._send(done)
        finally:
            self._settle(jobs, done.outcomes)

    def _show(self, batch: Batch, has_jobs: bool) -> None:
        """Take over the party and what can be seen of it from a committed batch."""
        self._broken, self._hosted, self.problem = None, batch.hosted, ""
        if has_jobs:
            self._bytes_since, self._pause = batch.bytes_since, _FIRST_PAUSE
        for peer, up_to in batch.acknowledged.items():
            if self._acknowledged[peer] == up_to:  # none has come since
                del self._acknowledged[peer]
        self.counts.update(batch.counts)
        self.view = self.view.after(batch)

    def _send(self, done: Done) -> None:
        batch = done.batch
        for peer, number in batch.received.items():  # first: what is sent acknowledges it
            self._on_received(peer, number)
        if outgoing := [*done.again, *batch.outgoing]:
            self._on_sent(outgoing)

    def _fail(self, jobs: list[Job], failed: BaseException) -> None:
        """Fail the jobs of a transaction without a commit; the party is ahead of its store."""
        error = failed if isinstance(failed, FedbanditsError) else self._unexpected(failed)
        _LOG.error("%s: %s", self.seat.member, error)
        self._broken, self.problem, self._busy = failed, str(error), False
        if self._retry is not None:
            self._retry.cancel()
        if self._urgent or self._jobs:
            self._schedule()
        elif self._loop is not None:  # nobody asks for anything
            self._retry = self._loop.call_later(self._pause, self._schedule)
            self._pause = min(2.0 * self._pause, _LONGEST_PAUSE)
        self._settle(jobs, [(None, error)] * len(jobs))

    def _unexpected(self, failed: BaseException) -> DeploymentError:
        """Return an error that names an unforeseen fault's kind alone: its text may hold data."""
        return DeploymentError(
            f"{self.seat.member}: an unexpected {type(failed).__name__}; nothing was changed"
        )

    def _settle(self, jobs: list[Job], outcomes: list[Outcome]) -> None:
        self.waiting -= len(jobs)
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.settle(outcome)
        self.on_change()
