"""A member's process: its durable party, its links to peers, its clock, and what it answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from fedbandits.deployment.clock import TICKS, Clock
from fedbandits.deployment.delivery import Delivery
from fedbandits.deployment.events import Kind, Received, Told
from fedbandits.deployment.frames import Seals
from fedbandits.deployment.host import Host, Sent
from fedbandits.deployment.ledgers import budget_of, claim_of
from fedbandits.deployment.seat import HostedSeat
from fedbandits.deployment.store import Store
from fedbandits.deployment.transport import Transport
from fedbandits.deployment.writing import Batch
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
            seals, self,
        )  # fmt: skip
        self.clock = Clock(self)
        self._on_fatal = on_fatal
        #: Set by the next commit, if anybody waits for one.
        self._change: asyncio.Event | None = None
        self._failed: FedbanditsError | None = None
        #: Whether the ledger has refused a release.
        self.exhausted = False
        self._begun = asyncio.Event()
        self._wanted: list[str] = []
        self._gifts: dict[str, bytes] = {}
        self._waking: set[asyncio.Task[Any]] = set()
        self._started = time.time()

    async def start(self) -> None:
        """Go on from the store, and begin to talk to peers.

        Raises
        ------
        FedbanditsError
            If the party cannot be made, or its state cannot be read.
        """
        self.host.on_change = self._wake
        await self.host.open()
        self._wanted = await self.host.call(
            lambda batch: [
                s.name
                for s in self.seat.takes
                if batch.store.secret(batch.connection, f"shared {s.name}") is None
            ]
        )
        self._gifts = await self.host.call(
            lambda _: {s.name: self.host.means.make_shared(s.name) for s in self.seat.makes}
        )
        outbox = [] if self._wanted else await self._begin()
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

    # --- what applications ask ---

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
        if self.host.view.round_to_act != number:
            raise NotReadyError(f"{self.member}: pull {number} is not due")
        await self.host.do(Kind.PULL, reward)

    async def end_round(self, round_: int | None, tick: int | None = None) -> None:
        """A round is over for everybody.

        Parameters
        ----------
        round_
            Which one, see :attr:`.party.Party.next_end`; None where none matters.
        tick
            The number of the clock's tick, which is committed with it.

        Raises
        ------
        NotReadyError
            If no peer has said yet what it has seen of this party.
        BudgetExceededError
            If the ledger refuses a release. Decisions go on, and nothing is released any more.
        """
        self._require_begun()
        if not self.delivery.greeted and self.delivery.exchanges:
            raise NotReadyError(f"{self.member}: no peer has said yet what it has seen of it")

        def end(batch: Batch) -> None:
            if round_ is not None:
                batch.carry_out(Kind.END_ROUND, round_)
            if tick is not None:
                batch.store.set_number(batch.connection, TICKS, tick)

        try:
            await self.host.call(end)
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
        if self._failed is not None:
            raise NotReadyError(str(self._failed)) from self._failed
        if not self._begun.is_set():
            raise NotReadyError(
                f"{self.member}: waits for secrets of its peers: {', '.join(self._wanted)}"
            )

    @property
    def ready(self) -> bool:
        """Whether it can decide, its store works, and it can reach others."""
        ready = self._begun.is_set() and self._failed is None and not self.host.problem
        return ready and self.delivery.transport.connected

    async def privacy(self) -> dict[str, Any]:
        """The claim, and what was spent and is left."""
        claim, budget = claim_of(self.seat), budget_of(self.seat)
        told: dict[str, Any] = {
            "party": self.member,
            "claim": claim.headline,
            "conditional_on": list(claim.conditional_on),
            "not_protected": list(claim.not_protected),
            "exhausted": self.exhausted,
        }
        if budget is None:
            return told
        ledger = self.host.store.ledger
        found = await self.host.call(lambda batch: ledger.statement(batch.connection, self.member))
        return told | {
            "releases": found.charges,
            "epsilon": found.epsilon,
            "delta": found.delta,
            "epsilon_spent": found.spent_epsilon,
            "epsilon_left": found.left_epsilon,
        }

    def status(self) -> dict[str, Any]:
        """What can be seen of it. No context, no reward, no statistic is in it."""
        view = self.host.view
        return {
            "party": self.member,
            "role": self.seat.role.name,
            "federation": self.federation.name,
            "terms": self.seat.terms.digest,
            "ready": self.ready,
            "connected": self.delivery.transport.connected,
            "greeted": list(self.delivery.greeted),
            "problems": self._problems(),
            "stage": view.stage,
            "decisions": view.decisions,
            "open_decisions": view.open,
            "events": view.events,
            "messages": {**view.messages, "sent": view.sent, "given_up": view.given_up},
            "outbox": sum(len(e.unacknowledged) for e in self.delivery.exchanges.values()),
            "refusals": view.refusals,
            "refused_frames": dict(self.delivery.refused),
            "last_refusal": view.last_refusal,
            "exhausted": self.exhausted,
            "ticks": self.clock.done,
            "next_tick": self.clock.next_tick,
        }

    def _problems(self) -> dict[str, str]:
        problems = dict(self.delivery.problems)
        if self._failed is not None:
            problems["self"] = f"{type(self._failed).__name__}: {self._failed}"
        if self.host.problem:
            problems["store"] = self.host.problem
        if self.clock.problem:
            problems["clock"] = self.clock.problem
        trouble = getattr(self.delivery.transport, "problem", "")
        return problems | ({"transport": trouble} if trouble else {})

    # --- what the host and delivery tell; on the event loop ---

    def _sent(self, messages: list[Sent]) -> None:
        for peer, number, body in messages:
            self.delivery.post(peer, number, body)

    def _received(self, peer: str, number: int) -> None:
        self.delivery.received(peer, number)

    def counts(self, peer: str) -> tuple[int, int]:
        """See :class:`.delivery.Receiver`."""
        return self.host.counts.get(peer, (0, 0))

    def receive(self, peer: str, body: bytes) -> None:
        """See :class:`.delivery.Receiver`."""
        if self._failed is None and self._begun.is_set():
            party = self.federation.party_of[peer]
            self._watch(self.host.do(Kind.RECEIVE, Received(party, body)))

    def acknowledged(self, peer: str, number: int) -> None:
        """See :class:`.delivery.Receiver`."""
        self.host.acknowledged(peer, number)

    def stale(self, why: str) -> None:
        """See :class:`.delivery.Receiver`."""
        self.fail(StaleStoreError(why))

    def given(self, name: str, value: bytes) -> None:
        """See :class:`.delivery.Receiver`."""
        if name in self._wanted and len(value) == 32:
            self._wanted.remove(name)
            self._spawn(self._keep(name, value))

    async def _keep(self, name: str, value: bytes) -> None:
        await self.host.call(
            lambda batch: batch.store.keep_secret(batch.connection, f"shared {name}", value)
        )
        if not self._wanted:
            await self._begin()
            self.delivery.greet_all()
            self._wake()

    def gift(self, peer: str, name: str) -> bytes | None:
        """See :class:`.delivery.Receiver`."""
        role = self.federation.seat_of(peer).role.name
        handed = any(s.name == name and s.takers == role for s in self.seat.makes)
        return self._gifts.get(name) if handed else None

    @property
    def wants(self) -> list[str]:
        """See :class:`.delivery.Receiver`."""
        return list(self._wanted)

    def fail(self, why: FedbanditsError) -> None:
        """Stop taking part, and say why."""
        if self._failed is None:
            self._failed = why
            _LOG.critical("%s: stops: %s", self.member, why)
            self._wake()
            self._on_fatal(why)

    def _watch(self, future: asyncio.Future[Any]) -> None:
        """A message could not be taken: it is sent again, so there is nothing to do but say so."""

        def look(done: asyncio.Future[Any]) -> None:
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

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
