"""A member's process: its durable party, its links to peers, its clock, and its answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from fedbandits.deployment.delivery.delivery import Delivery
from fedbandits.deployment.delivery.exchange import WINDOW
from fedbandits.deployment.delivery.frames import Seals
from fedbandits.deployment.delivery.transport import Transport
from fedbandits.deployment.hosting import reports
from fedbandits.deployment.hosting.clock import TICKS, Clock
from fedbandits.deployment.hosting.events import Kind, Received, Told
from fedbandits.deployment.hosting.handover import Handover
from fedbandits.deployment.hosting.host import Host, Sent
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.hosting.writing import Batch
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import (
    BudgetExceededError,
    FedbanditsError,
    NotReadyError,
    StaleStoreError,
)
from fedbandits.systems import application as asking

_LOG = logging.getLogger("fedbandits.deployment")


class Decided(NamedTuple):
    """A decision's number, and the action as a plain value."""

    number: int
    action: Any


class Node:
    """Runs one member. Made, then :meth:`start`, then asked, then :meth:`stop`.

    Parameters
    ----------
    seat
        Which party of which federation it is, and what it brings.
    store
        Its store; closed by :meth:`stop`.
    transport
        Carries frames to peers.
    greets, seals
        Seal greetings, and everything else, see :class:`.delivery.Delivery`.
    on_fatal
        Told why this party must stop.
    """

    def __init__(
        self,
        seat: HostedSeat,
        store: Store,
        transport: Transport,
        greets: Seals,
        seals: Seals,
        on_fatal: Callable[[FedbanditsError], None] = lambda _: None,
    ) -> None:
        self.seat, self.member, self.federation = seat, seat.member, seat.federation
        self.application = seat.application
        self.host = Host(seat, store, self._sent, self._received)
        self.delivery = Delivery(
            seat.member, seat.federation.peers_of(seat.member), seat.terms, transport, greets,
            seals, self, seat.is_chatty,
        )  # fmt: skip
        self.clock = Clock(self)
        self._on_fatal = on_fatal
        #: Set by the next commit, if anybody waits for one.
        self._change: asyncio.Event | None = None
        self.failed: FedbanditsError | None = None
        #: Whether the ledger has refused a release.
        self.exhausted = False
        self._begun = asyncio.Event()
        self.handover = Handover(seat, self.host)
        self._waking: set[asyncio.Task[Any]] = set()
        #: How many messages of peers wait to be taken.
        self._taking: Counter[str] = Counter()

    async def start(self) -> None:
        """Go on from the store, and begin to talk to peers.

        Raises
        ------
        FedbanditsError
            If the party cannot be made, or its state cannot be read.
        """
        self.host.on_change = self._wake
        await self.host.open()
        await self.handover.open()
        outbox = [] if self.handover.wants else await self._begin()
        await self.delivery.open(outbox)
        self.clock.start()

    async def _begin(self) -> list[Sent]:
        outbox = await self.host.begin()
        self._begun.set()
        return outbox

    async def stop(self) -> None:
        """Finish what waits, save the state, close everything."""
        await self.clock.stop()
        await self.delivery.close()
        for task in list(self._waking):
            task.cancel()
        await asyncio.gather(*self._waking, return_exceptions=True)
        await self.host.stop()

    async def decide(self, asked: asking.Asked) -> Decided:
        """Choose. It is durable when it returns.

        Raises
        ------
        NotReadyError
            If the party waits for secrets of others, or must stop.
        FedbanditsError
            If it is refused; nothing has changed then.
        """
        self._require_begun()
        while self.seat.ends_rounds_itself and self.host.view.is_exchanging:
            await self.change()
        number, action = await self.host.do(Kind.DECIDE, asked)
        return Decided(number, action)

    async def reward(self, number: int, told: asking.Told) -> None:
        """Learn what came of a decision. It is durable when it returns.

        Raises
        ------
        UnknownDecisionError, DuplicateRewardError, LateRewardError
            If that decision is not open.
        FedbanditsError
            If it is refused; nothing has changed then.
        """
        self._require_begun()
        await self.host.do(Kind.OBSERVE, Told(number, told))

    async def expire(self, before: float) -> int:
        """Put the terms' default in the place of rewards that are missing; returns how many.

        Parameters
        ----------
        before
            Decisions that were asked for before this time, in seconds since 1970, are overdue.
        """
        application, value = self.application, self.federation.reward_default
        if application is None or value is None or not self._begun.is_set():
            return 0
        stands = application.stand_in(value)
        return int(await self.host.call(lambda batch: batch.expire(before, stands)))

    async def next_pull(self, timeout: float) -> int | None:
        """The number of the pull that is due; None if none is due before the time is over."""
        self._require_begun()
        end = time.monotonic() + timeout
        while (due := self.host.view.round_to_act) is None:
            left = end - time.monotonic()
            if left <= 0 or not await self.change(left):
                return None
        return due

    async def pull(self, number: int, reward: int) -> None:
        """Tell what the pull that is due has earned, 0 or 1."""
        self._require_begun()
        await self.host.call(lambda batch: batch.pull(number, reward))

    async def end_round(self, round_: int) -> None:
        """A round is over for everybody; for whoever has a clock of its own.

        Raises
        ------
        NotReadyError
            If no peer has said yet what it has seen of this party.
        BudgetExceededError
            If the ledger refuses a release. Decisions go on, and nothing is released any more.
        """
        await self._end(lambda batch: batch.carry_out(Kind.END_ROUND, round_))

    async def tick(self, number: int) -> None:
        """A tick of the clock: the round whose end comes next is over, once for every tick.

        Raises
        ------
        NotReadyError, BudgetExceededError
            As :meth:`end_round`.
        """

        def end(batch: Batch) -> None:
            if batch.store.number(batch.connection, TICKS) < number:
                batch.end_next_round()
                batch.store.set_number(batch.connection, TICKS, number)

        await self._end(end)

    async def _end(self, work: Callable[[Batch], Any]) -> None:
        self._require_begun()
        if not self.delivery.greeted and self.delivery.exchanges:
            raise NotReadyError(f"{self.member}: releases wait until a peer has said what it saw")
        try:
            await self.host.call_first(work)
        except BudgetExceededError as refused:
            self.exhausted = True
            _LOG.error("%s: nothing more is released: %s", self.member, refused)
            raise

    async def deadline(self, number: int) -> None:
        """Nobody waits any longer for what the party awaits."""
        await self.host.do(Kind.DEADLINE, number)

    async def change(self, timeout: float | None = None) -> bool:
        """Wait until something was committed; false if that did not happen in time."""
        self._require_begun()
        if self._change is None:
            self._change = asyncio.Event()
        try:
            async with asyncio.timeout(timeout):
                await self._change.wait()
        except TimeoutError:
            return False
        self._require_begun()
        return True

    def _require_begun(self) -> None:
        if self.failed is not None:
            raise NotReadyError(str(self.failed)) from self.failed
        if not self._begun.is_set():
            raise NotReadyError(
                f"{self.member}: waits for secrets that peers hand over: {', '.join(self.wants)}"
            )

    @property
    def ready(self) -> bool:
        """Whether it can decide, its store works, and it can reach others."""
        ready = self._begun.is_set() and self.failed is None and not self.host.problem
        return ready and self.delivery.transport.connected

    async def privacy(self) -> dict[str, Any]:
        """The claim, and what was spent and is left; see :func:`.reports.privacy_of`."""
        return await reports.privacy_of(self)

    def status(self) -> dict[str, Any]:
        """What can be seen of it; see :func:`.reports.status_of`."""
        return reports.status_of(self)

    # --- what the host and delivery tell, on the event loop; see receiver.Receiver ---

    def _sent(self, messages: list[Sent]) -> None:
        for peer, number, body in messages:
            self.delivery.post(peer, number, body)

    def _received(self, peer: str, number: int) -> None:
        self.delivery.received(peer, number)

    def counts(self, peer: str) -> tuple[int, int]:
        return self.host.counts.get(peer, (0, 0))

    def receive(self, peer: str, body: bytes) -> None:
        # What is too much is not acknowledged: it comes again.
        if self.failed is None and self._begun.is_set() and self._taking[peer] < WINDOW:
            self._taking[peer] += 1
            party = self.federation.party_of[peer]
            self._watch(peer, self.host.do(Kind.RECEIVE, Received(party, body)))

    def acknowledged(self, peer: str, number: int) -> None:
        self.host.acknowledged(peer, number)

    def stale(self, why: str, most: bool) -> None:
        if most or self.seat.must_never_repeat:
            self.fail(StaleStoreError(why))

    def given(self, peer: str, name: str, value: bytes) -> None:
        if self.handover.takes(peer, name, value):
            task = asyncio.get_running_loop().create_task(self._keep(name, value))
            self._waking.add(task)
            task.add_done_callback(self._waking.discard)

    async def _keep(self, name: str, value: bytes) -> None:
        try:
            if not await self.handover.keep(name, value):
                return
        except FedbanditsError as failed:  # it is asked for again
            _LOG.warning("%s: a secret could not be kept: %s", self.member, failed)
            return
        try:
            self._sent(await self._begin())
        except FedbanditsError as failed:  # nobody else would hear of it
            self.fail(failed)
        self.delivery.begin_anew()
        self._wake()

    def gift(self, peer: str, name: str) -> bytes | None:
        return self.handover.gift(peer, name)

    @property
    def wants(self) -> list[str]:
        return self.handover.wants

    def fail(self, why: FedbanditsError) -> None:
        """Stop taking part, and say why."""
        if self.failed is None:
            self.failed = why
            _LOG.critical("%s: stops: %s", self.member, why)
            self._wake()
            self._on_fatal(why)

    def _watch(self, peer: str, future: asyncio.Future[Any]) -> None:
        """A message could not be taken: it is sent again, so there is nothing to do but say so."""

        def look(done: asyncio.Future[Any]) -> None:
            self._taking[peer] -= 1
            error = None if done.cancelled() else done.exception()
            if isinstance(error, BudgetExceededError):
                self.exhausted = True
            if error is not None:
                _LOG.warning("%s: %s: %s", self.member, type(error).__name__, error)

        future.add_done_callback(look)

    def _wake(self) -> None:
        if self._change is not None:
            self._change.set()
            self._change = None
