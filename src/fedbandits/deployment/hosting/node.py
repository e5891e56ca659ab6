"""A member's process: its durable party, its links to peers, its clock, and its answers."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from fedbandits.deployment.delivery.delivery import Delivery
from fedbandits.deployment.delivery.exchange import WINDOW, Standing, uptime
from fedbandits.deployment.delivery.frames import Seals
from fedbandits.deployment.delivery.transport import Transport
from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.cautions import over_since
from fedbandits.deployment.hosting.clock import TICKS, Clock, Ends, in_time
from fedbandits.deployment.hosting.events import Decided, Kind, Received
from fedbandits.deployment.hosting.handover import Handover
from fedbandits.deployment.hosting.host import Host
from fedbandits.deployment.hosting.reports import Notices, privacy_of
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.deployment.storage.rows import Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import BudgetExceededError, FedbanditsError, NotReadyError, StaleStoreError
from fedbandits.systems.application import Asked, Told

_LOG = logging.getLogger("fedbandits.deployment")


class Node:
    """Runs one member. Made, then :meth:`start`, then asked, then :meth:`stop`.

    It closes the ``store`` in the end. See :class:`.delivery.Delivery` for ``transport``,
    ``greets`` and ``seals``. ``on_fatal`` is told why this party must stop. See
    :class:`.clock.Clock` for ``catches_up``.
    """

    def __init__(
        self,
        seat: HostedSeat,
        store: Store,
        transport: Transport,
        greets: Seals,
        seals: Seals,
        on_fatal: Callable[[FedbanditsError], None] = lambda _: None,
        catches_up: bool = True,
    ) -> None:
        self.seat, self.member, self.federation = seat, seat.member, seat.federation
        self.application = seat.application
        self._must_never_repeat = seat.must_never_repeat
        self._ends_rounds_itself = seat.ends_rounds_itself
        # A half of the peers is enough only for a store that was held against its file.
        patience = math.inf if store.left is None else 2.0 * seat.federation.message_time
        self.delivery = Delivery(
            seat.member, seat.federation.peers_of(seat.member), seat.terms, transport, greets,
            seals, self, seat.is_chatty, patience,
        )  # fmt: skip
        self.host = Host(seat, store, self._sent, self.delivery.received)
        self.clock = Clock(self, self.host, self.delivery, catches_up)
        self._on_fatal = on_fatal
        #: Set by the next commit, if anybody waits for one.
        self._change: asyncio.Event | None = None
        self.failed: FedbanditsError | None = None
        #: Whether the ledger has refused a release.
        self.exhausted = False
        self._notices = Notices(self.member)
        #: The report that was looked at last: decisions and rewards change none.
        self._noticed: Mapping[str, Any] | None = None
        #: The number of the last secure sum, and since when there was no later one.
        self._sums, self._sum_at = -1, uptime()
        self._begun = asyncio.Event()
        self.handover = Handover(seat, self.host, self._begin_with_secrets)
        #: How many messages of peers wait to be taken.
        self._taking: Counter[str] = Counter()
        #: For whom releases wait, as was said last.
        self._awaited: tuple[str, ...] = ()

    async def start(self) -> None:
        """Go on from the store, and begin to talk to peers; raises as :meth:`.host.Host.begin`."""
        self.host.on_change = self._wake
        await self.host.open()
        await self.handover.open()
        outbox = [] if self.handover.wants else await self._begin()
        await self.delivery.open(outbox)
        self.clock.start()

    async def _begin(self) -> list[Sent]:
        outbox = await self.host.begin()
        for peer, (number, mark) in self.host.marks.items():
            self.delivery.exchanges[peer].go_on_from(number, mark)
        self._begun.set()
        return outbox

    async def stop(self) -> None:
        """Finish what waits, save the state, close everything."""
        await self.clock.stop()
        await self.delivery.close()
        await self.handover.close()
        await self.host.stop()

    def decide(self, asked: Asked, key: str = "") -> Awaitable[Decided]:
        """Choose an action, durably; with a ``key`` once, see :meth:`.batch.Batch.decide`.

        Raises NotReadyError if the party waits for secrets of others, or must stop. After a
        StoreError the decision may be made: ask again with the same key. After any other error
        nothing has changed.
        """
        self._require_begun()
        if self._ends_rounds_itself and self.host.view.is_exchanging:
            return self._decide_later(asked, key)
        return self.host.call(lambda batch: Decided(*batch.decide(asked, key)), quick=True)

    async def _decide_later(self, asked: Asked, key: str) -> Decided:
        while self.host.view.is_exchanging:
            await self.change()
        return await self.decide(asked, key)

    def reward(self, number: int, told: Told) -> Awaitable[None]:
        """Learn the outcome of a decision, durably; raises as :meth:`.served.Served.reward`."""
        self._require_begun()
        return self.host.do(Kind.OBSERVE, (number, told))

    async def expire(self, before: float) -> int:
        """Put the terms' default in the place of rewards that are missing; returns how many.

        Decisions that were asked for ``before`` that time, in seconds since 1970, are overdue.
        """
        application, value = self.application, self.federation.reward_default
        if application is None or value is None or not self._begun.is_set():
            return 0
        stands = application.stand_in(value)
        return int(await self.host.call(lambda batch: batch.expire(before, stands)))

    async def next_pull(self, timeout: float) -> int | None:
        """Wait for a pull that is due, and return its number; None if the time is over first."""
        self._require_begun()
        end = time.monotonic() + timeout
        while (due := self.host.view.round_to_act) is None:
            left = end - time.monotonic()
            if left <= 0 or not await self.change(left):
                return None
        return due

    async def pull(self, number: int, reward: int) -> None:
        """Take the reward of the pull that is due, 0 or 1."""
        self._require_begun()
        await self.host.call(lambda batch: batch.pull(number, reward))

    async def end_round(self, round_: int) -> None:
        """End a round that is over for everybody.

        Raises NotReadyError if most peers have not said yet what they have seen of this party.
        Raises BudgetExceededError if the ledger refuses a release: decisions go on, and nothing is
        released any more.
        """
        await self._end(lambda batch: batch.carry_out(Kind.END_ROUND, round_))

    async def tick(self, number: int, ends: Ends = in_time) -> None:
        """End the rounds that a tick ends, once for every tick; raises as :meth:`end_round`."""

        def end(batch: Batch) -> None:
            if batch.store.number(batch.connection, TICKS) < number:
                batch.end_due_rounds(number, ends)
                batch.store.set_number(batch.connection, TICKS, number)

        await self._end(end)

    async def _end(self, work: Callable[[Batch], Any]) -> None:
        self._require_begun()
        if awaited := self.delivery.awaited:
            peers = ", ".join(awaited)
            why = f"{self.member}: releases wait until most peers say what they saw: {peers}"
            if awaited != self._awaited:  # it is tried again and again
                _LOG.warning("%s", why)
            self._awaited = awaited
            raise NotReadyError(why)
        try:
            await self.host.call_first(work)
        except BudgetExceededError as refused:
            self.exhausted = True
            _LOG.error("%s: nothing more is released: %s", self.member, refused)
            raise

    async def deadline(self, number: int) -> None:
        """End the wait for what the party awaits."""
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
        """True if the party can do its work, and its store works: without a broker, too."""
        return self._begun.is_set() and self.failed is None and not self.host.problem

    @property
    def connected(self) -> bool:
        """True if the broker is reached."""
        return self.delivery.transport.connected

    async def privacy(self) -> dict[str, Any]:
        """Report the claim, and what was spent and is left, in plain values."""
        spent = None
        if self.seat.budget is not None:
            ledger = self.host.store.ledger
            spent = await self.host.call(lambda b: ledger.statement(b.connection, self.member))
        return privacy_of(self.seat, self.exhausted, spent)

    def status(self) -> dict[str, Any]:
        """Report where it stands, in plain values; see :mod:`.reports` for what is in it."""
        view = self.host.view
        return {
            "party": self.member,
            "role": self.seat.role.name,
            "federation": self.federation.name,
            "terms": self.seat.terms.digest,
            "ready": self.ready, "connected": self.connected,
            "greeted": list(self.delivery.greeted), "silent": list(self.delivery.silent),
            "waits_for": list(self.delivery.awaited),
            "problems": self._problems(),
            **view.told(),
            "outbox": sum(len(e.unacknowledged) for e in self.delivery.exchanges.values()),
            "outbox_stuck": round(self.delivery.stuck, 3),
            "last_sum_age": round(uptime() - self._sum_at, 3) if "sums" in view.report else None,
            "refused_frames": dict(self.delivery.refused),
            "exhausted": self.exhausted,
            "ticks": self.clock.done,
            "next_tick": self.clock.next_tick,
            "round": self.federation.every if self.clock.next_tick is not None else None,
            "message_time": self.federation.message_time,
        }  # fmt: skip

    def _problems(self) -> dict[str, str]:
        """Report what is wrong, a line each; empty while nothing is."""
        own = {
            "self": self.failed and f"{type(self.failed).__name__}: {self.failed}",
            "store": self.host.problem, "clock": self.clock.problem,
            "records": self.host.view.uncounted,
            "rounds": over_since(self.federation, time.time()),
            "transport": getattr(self.delivery.transport, "problem", ""),
        }  # fmt: skip
        return self.delivery.problems | {name: text for name, text in own.items() if text}

    # --- what the host and delivery tell, on the event loop; see exchange.Receiver ---

    def _sent(self, messages: list[Sent]) -> None:
        for peer, number, body in messages:
            self.delivery.post(peer, number, body)

    def counts(self, peer: str) -> Standing:
        return self.host.counts.get(peer, Standing())

    @property
    def witnesses(self) -> Collection[str]:
        if not self.seat.role.may_be_restored:  # whoever has heard of what it did is asked, too
            return self.delivery.exchanges
        return self.host.counts if self._must_never_repeat else ()

    def sums(self, peer: str) -> tuple[int, int | None]:
        view = self.host.view
        return view.heard_of(self.federation.party_of[peer]), view.opened

    def receive(self, peer: str, body: bytes, number: int, mark: bytes) -> None:
        # What is too much is not acknowledged: it comes again.
        if self.failed is None and self._begun.is_set() and self._taking[peer] < WINDOW:
            self._taking[peer] += 1
            party = self.federation.party_of[peer]
            self._watch(peer, self.host.do(Kind.RECEIVE, Received(party, body, number, mark)))

    def acknowledged(self, peer: str, number: int, mark: bytes) -> None:
        self.host.acknowledged(peer, number, mark)

    def stale(self, why: str, most: bool, heard: bool) -> None:
        if most or (self._must_never_repeat and not heard):
            self.fail(StaleStoreError(why))

    def given(self, peer: str, name: str, value: bytes) -> None:
        self.handover.given(peer, name, value)

    async def _begin_with_secrets(self) -> None:
        """Begin now that all secrets are there."""
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
        """Say so if a message could not be taken; it is sent again, so there is no more to do."""

        def look(done: asyncio.Future[Any]) -> None:
            self._taking[peer] -= 1
            error = None if done.cancelled() else done.exception()
            if isinstance(error, BudgetExceededError):
                self.exhausted = True
            if error is not None:
                _LOG.warning("%s: %s: %s", self.member, type(error).__name__, error)

        future.add_done_callback(look)

    def _wake(self) -> None:
        if (report := self.host.view.report) is not self._noticed:
            self._noticed = report
            if report.get("sums", self._sums) != self._sums:
                self._sums, self._sum_at = report["sums"], uptime()
            self._notices.look(report)
        if self._change is not None:
            self._change.set()
            self._change = None
