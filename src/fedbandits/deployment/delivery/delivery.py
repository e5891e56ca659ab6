"""Delivery of committed messages: sent again until the receiver has acknowledged them.

A transport may lose, repeat, reorder or keep back frames; so nothing has to be stored on the
way. Before anything else two hosts greet each other: a greeting states the numbers of the next
messages, and the messages that were seen. A host was put back from an old backup if a peer has seen
more messages of the host than the host has sent, or other ones. So no message leaves before most
peers have stated the messages that they have seen.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from fedbandits.deployment.delivery import frames
from fedbandits.deployment.delivery.exchange import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    WINDOW,
    Exchange,
    Receiver,
    uptime,
)
from fedbandits.deployment.delivery.frames import Acknowledgement, Data, Gift, Hello, Seals
from fedbandits.deployment.delivery.transport import Transport
from fedbandits.errors import FedbanditsError, NotListedError, SealError
from fedbandits.federation.terms import Terms, cut

_LOG = logging.getLogger("fedbandits.deployment")
#: Seconds that an acknowledgement waits for a message to go along with; and where one soon will.
_ACKNOWLEDGE_AFTER, _ACKNOWLEDGE_CHATTER_AFTER = 0.02, 0.2 * FIRST_PAUSE
#: Seconds after which a peer is asked once more for its clock, and so for a sign of life: at least,
#: and for each peer. A peer that was silent for ``_MISSING_AFTER`` times as long is missing.
_ASK_AFTER, _ASK_AFTER_EACH, _MISSING_AFTER = 60.0, 0.1, 3.0
#: Messages that are acknowledged at once, without waiting.
_MOST_OWED = WINDOW // 4
#: The most frames that may wait for a transport that does not take them.
_MOST_SENDING = 4_096
#: Seconds between two looks for unanswered frames, at least.
_LEAST_PAUSE = 0.005


class Delivery:
    """Exchanges messages with all peers of one member.

    ``greets`` seals greetings, which those with other terms can open, and ``seals`` everything
    else. The ``receiver`` is given what was delivered. It is ``chatty`` where messages answer one
    another all the time. See :class:`.delivery.Quorum` for ``patience``.
    """

    def __init__(
        self,
        member: str,
        peers: Iterable[str],
        terms: Terms,
        transport: Transport,
        greets: Seals,
        seals: Seals,
        receiver: Receiver,
        chatty: bool = False,
        patience: float = 0.0,
    ) -> None:
        self.member, self.terms, self.transport = member, terms, transport
        self._chatty = chatty
        self._greets, self._seals, self._receiver = greets, seals, receiver
        self._life = os.urandom(frames.LIFE_BYTES)
        self.exchanges = {peer: Exchange(peer) for peer in peers}
        self._quorum = Quorum(self.exchanges, patience)
        self._wake = asyncio.Event()
        self._ask_after = max(_ASK_AFTER, _ASK_AFTER_EACH * len(self.exchanges))
        self._began = uptime()
        #: When the next look for unanswered frames is due.
        self._sleeps_until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[object]] = set()
        self._closed = False
        #: Why frames were refused: names of errors, and how often.
        self.refused: Counter[str] = Counter()

    async def open(self, outbox: Iterable[tuple[str, int, bytes]]) -> None:
        """Begin, with messages that had not been acknowledged."""
        self._began, self._closed = uptime(), False
        for peer, number, body in outbox:
            if peer in self.exchanges:
                self.exchanges[peer].add(number, body)
        self._task = asyncio.create_task(self._repeat())
        await self.transport.open(self._arrived, self.resend_all)

    async def close(self) -> None:
        """End; a frame that arrives from now on is not answered."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self.transport.close()

    @property
    def greeted(self) -> tuple[str, ...]:
        """Peers that have answered in this life."""
        return tuple(peer for peer, exchange in self.exchanges.items() if exchange.greeted)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Peers that must say what they have seen, before anything leaves; none once enough did."""
        return self._quorum.missing(self._receiver.witnesses)

    @property
    def silent(self) -> tuple[str, ...]:
        """Peers of which no frame has come for three times as long as each peer's turn takes.

        Every peer is asked for its clock once a minute, and less often with more than 600 peers:
        once in 0.1 s for each peer.
        """
        since = uptime() - _MISSING_AFTER * self._ask_after
        return tuple(
            peer
            for peer, exchange in self.exchanges.items()
            if not exchange.revoked and max(exchange.heard, self._began) < since
        )

    @property
    def stuck(self) -> float:
        """Seconds for which some peer has acknowledged nothing of what waits for it; 0 if none."""
        waiting = (each.stuck_since for each in self.exchanges.values() if each.unacknowledged)
        oldest = min(waiting, default=None)
        return 0.0 if oldest is None else uptime() - oldest

    @property
    def is_sending(self) -> bool:
        """True if the transport has not taken all frames yet."""
        return bool(self._sending)

    @property
    def problems(self) -> dict[str, str]:
        """Problems with peers, a line each."""
        return {peer: each.problem for peer, each in self.exchanges.items() if each.problem}

    def post(self, peer: str, number: int, body: bytes) -> None:
        """Send a committed message; once more does no harm."""
        exchange = self.exchanges[peer]
        if number < exchange.acknowledged:  # a commit that failed was to forget it
            self._acknowledged_below(exchange, exchange.acknowledged, again=True)
            return
        exchange.add(number, body)
        if exchange.revoked:
            self._acknowledged_below(exchange, number + 1)
        elif exchange.greeted and number < exchange.acknowledged + WINDOW:
            exchange.begin_waiting(time.monotonic())
            if exchange.next_try < self._sleeps_until:
                self._wake.set()
            self._send_data(exchange, number, body)

    def revoke(self, peers: Collection[str]) -> None:
        """Keep nothing any more for these peers, and for all others what is not acknowledged."""
        for peer, exchange in self.exchanges.items():
            exchange.revoked = peer in peers
            if exchange.revoked and exchange.unacknowledged:
                self._acknowledged_below(exchange, next(reversed(exchange.unacknowledged)) + 1)

    def received(self, peer: str, number: int) -> None:
        """Acknowledge messages of a peer below a number, in a moment: they were committed."""
        exchange = self.exchanges[peer]
        exchange.received = number
        if not exchange.owes:
            exchange.owes, exchange.told = True, max(exchange.told, number - 1)
            wait = _ACKNOWLEDGE_CHATTER_AFTER if self._chatty else _ACKNOWLEDGE_AFTER
            asyncio.get_running_loop().call_later(wait, self._acknowledge, exchange)
        elif number - exchange.told >= _MOST_OWED:
            self._acknowledge(exchange)

    def acknowledge(self) -> None:
        """Acknowledge all received messages, at once."""
        for exchange in self.exchanges.values():
            self._acknowledge(exchange)

    def begin_anew(self) -> None:
        """Greet all peers as after a restart: messages that no peer could take are sent again."""
        self._life = os.urandom(frames.LIFE_BYTES)
        self._quorum.begin()
        for exchange in self.exchanges.values():
            exchange.greeted = exchange.has_other_terms = False
        self.resend_all()

    def resend_all(self) -> None:
        """Send all unanswered frames again, at once: peers may take them now."""
        for exchange in self.exchanges.values():
            exchange.hurry()
        self._wake.set()

    async def _repeat(self) -> None:
        """Send unanswered frames again, after growing pauses."""
        while True:
            now, wants = time.monotonic(), bool(self._receiver.wants)
            known = uptime() - self._ask_after
            for exchange in self.exchanges.values():
                exchange.wants = wants
                if exchange.greeted and exchange.said < known and not exchange.revoked:
                    exchange.ask()
                if exchange.waits and now >= exchange.next_try:
                    self._resend(exchange, now)
            due = [e.next_try for e in self.exchanges.values() if e.waits]
            self._sleeps_until = min(due, default=math.inf)
            pause = max(_LEAST_PAUSE, min(self._sleeps_until, now + LONGEST_PAUSE) - now)
            self._wake.clear()
            try:
                async with asyncio.timeout(pause):  # wait_for may swallow the end of this task
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _resend(self, exchange: Exchange, now: float) -> None:
        exchange.grow(now)
        if not exchange.greeted or exchange.wants or exchange.asks:
            return self._greet(exchange)
        for number, body in exchange.in_window():
            self._send_data(exchange, number, body)

    def _greet(self, exchange: Exchange) -> None:
        stands = self._receiver.counts(exchange.peer)
        hello = Hello(
            self._life, exchange.life, exchange.greeted and not exchange.asks, self.terms.digest,
            stands.received, stands.sent, self._receiver.wants, time.time(),
            self.terms.content if exchange.has_other_terms else b"",
            stands.seen, stands.mark, self._receiver.sums(exchange.peer)[0],
        )  # fmt: skip
        self._send(exchange, self._greets, hello)

    def _send_data(self, exchange: Exchange, number: int, body: bytes) -> None:
        if self.awaited:
            return  # the repeated sending tries again
        exchange.owes, exchange.told = False, exchange.received
        mark = exchange.marks[number]
        self._send(exchange, self._seals, Data(exchange.received, number, body, mark))

    def _acknowledge(self, exchange: Exchange) -> None:
        if exchange.owes:
            exchange.owes, exchange.told = False, exchange.received
            self._send(exchange, self._seals, Acknowledgement(exchange.received))

    def _send(self, exchange: Exchange, seals: Seals, frame: frames.AnyFrame) -> None:
        if self._closed:
            return
        if not self.transport.connected and (exchange.unacknowledged or self.awaited):
            self.transport.hurry()
        if not self.transport.connected or len(self._sending) >= _MOST_SENDING:
            return  # the repeated sending tries again
        try:
            sealed = seals.seal(exchange.peer, frames.encode(frame))
        except FedbanditsError as error:  # a peer that has been revoked, or is not admitted yet
            exchange.problem = f"{type(error).__name__}: {error}"
            return
        task = asyncio.get_running_loop().create_task(self.transport.send(exchange.peer, sealed))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _arrived(self, sender: str, sealed: bytes) -> None:
        """Take a frame; the transport names its sender."""
        exchange = self.exchanges.get(sender)
        if exchange is None:
            self._refuse(sender, SealError(f"a frame of {cut(repr(sender))}, which is not a peer"))
            return
        try:
            frame = self._opened(sender, sealed)
        except SealError as error:
            self._refuse(sender, error)
            return
        exchange.heard = uptime()
        match frame:
            case Hello():
                self._take_greeting(exchange, frame)
            case Data():
                self._acknowledged_below(exchange, frame.received)
                if frame.number >= exchange.received:
                    self._receiver.receive(sender, frame.body, frame.number, frame.mark)
                else:  # again: the acknowledgement was lost
                    self.received(sender, exchange.received)
            case Acknowledgement():
                self._acknowledged_below(exchange, frame.received)
            case Gift():
                self._receiver.given(sender, frame.name, frame.value)

    def _opened(self, sender: str, sealed: bytes) -> frames.AnyFrame:
        """Open a frame; greetings alone need not be bound to the terms."""
        try:
            return frames.decode(self._seals.open(sender, sealed))
        except SealError:
            frame = frames.decode(self._greets.open(sender, sealed))
        if not isinstance(frame, Hello):
            raise SealError("the frame was not sealed for these terms; only a greeting may be")
        return frame

    def _refuse(self, sender: str, error: FedbanditsError) -> None:
        name, whom = type(error).__name__, cut(repr(sender))
        times = self.refused[name] = self.refused[name] + 1
        if times & (times - 1) == 0:  # the 1st, 2nd, 4th, …: nobody can fill a disk with them
            level = logging.INFO if isinstance(error, NotListedError) else logging.WARNING
            _LOG.log(level, "%s: frame %d refused, from %s: %s", self.member, times, whom, error)

    def _take_greeting(self, exchange: Exchange, hello: Hello) -> None:
        """Note that a peer is there; a greeting that repeats our life states the peer's numbers."""
        if hello.terms != self.terms.digest:
            self._take_other_terms(exchange, hello)
            return
        if hello.life != exchange.life:  # it has started again
            exchange.life, exchange.greeted = hello.life, False
        knows_us, was_accused = hello.echo == self._life, exchange.saw_more
        if knows_us:
            self._compare(exchange, hello)
        is_news = exchange.saw_more and not was_accused
        # Where one host refuses the other's numbers, it answers once, and then by the repeated
        # greeting alone: else two such hosts would answer each other for ever.
        if not knows_us or is_news or (exchange.greeted and not hello.known):
            self._greet(exchange)
        for name in hello.wants:
            value = self._receiver.gift(exchange.peer, name)
            if value is not None and exchange.greeted:
                self._send(exchange, self._seals, Gift(name, value))

    def _compare(self, exchange: Exchange, hello: Hello) -> None:
        """Take over the numbers that a peer has just stated, unless they contradict ours."""
        received, sent, *_ = self._receiver.counts(exchange.peer)
        if exchange.accuses(hello, self.member, sent, self._receiver.sums(exchange.peer)[1]):
            most = 2 * sum(e.saw_more for e in self.exchanges.values()) > len(self.exchanges)
            self._receiver.stale(exchange.problem, most, max(hello.received, hello.seen) == 0)
            return
        if received > hello.sent or exchange.has_forgotten(hello):
            if not exchange.greeted:  # else its own messages have overtaken it
                self._report(
                    exchange, f"an old backup of {exchange.peer} was put back; it must stop"
                )
            return
        first, waited = not exchange.greeted, bool(self.awaited)
        exchange.take_over(hello, received)
        self._acknowledged_below(exchange, hello.received)
        if waited and not self.awaited:  # messages that were kept back may leave now
            self.resend_all()
        if first:
            exchange.hurry()
            self._wake.set()

    def _acknowledged_below(self, exchange: Exchange, number: int, again: bool = False) -> None:
        """Note that a peer has taken all messages below a number."""
        if number <= exchange.acknowledged and not again:
            return
        if number > self._receiver.counts(exchange.peer)[1]:
            self._refuse(exchange.peer, SealError("it has received more than it was sent"))
            return
        if number - 1 not in exchange.marks:  # they are being read from the store
            return
        more = exchange.took(number)
        self._receiver.acknowledged(exchange.peer, number, exchange.marks[number - 1])
        for each, body in more if exchange.greeted else ():
            self._send_data(exchange, each, body)

    def _take_other_terms(self, exchange: Exchange, hello: Hello) -> None:
        """Name the first key in which a peer's terms differ; send it our terms, once a life."""
        is_news = not exchange.has_other_terms
        exchange.has_other_terms, exchange.greeted = True, False
        if hello.content or not exchange.problem:
            self._report(exchange, exchange.differs(hello, self.terms))
        if is_news or not hello.content:
            self._greet(exchange)

    def _report(self, exchange: Exchange, problem: str) -> None:
        """Log a problem with a peer once, however often the peer greets."""
        if problem != exchange.problem:
            exchange.problem = problem
            _LOG.error("%s: %s", self.member, problem)

    def offsets(self) -> Mapping[str, float]:
        """Return by how many seconds the clocks of peers are ahead of ours."""
        return {peer: each.offset for peer, each in self.exchanges.items() if each.greeted}


class Quorum:
    """Counts the peers that vouch for a party since it has started.

    A party that was put back from an old backup does not know it. A peer that has seen more does,
    and says so when it greets. One peer is not enough: it may be the one that has seen nothing.
    More than half of them are enough. A half is, after ``patience`` seconds: with two neighbours,
    of which one is down, a party must be able to start.
    """

    def __init__(
        self,
        exchanges: Mapping[str, Exchange],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._exchanges, self._patience, self._clock = exchanges, patience, clock
        self.begin()

    def begin(self) -> None:
        """Begin anew: earlier greetings count no more."""
        self._since, self._reached = self._clock(), False
        for exchange in self._exchanges.values():
            exchange.vouches = False

    def missing(self, witnesses: Collection[str]) -> tuple[str, ...]:
        """Return the ``witnesses`` that are waited for; none once there were enough."""
        if not self._reached and witnesses:
            missing = tuple(peer for peer in witnesses if not self._exchanges[peer].vouches)
            vouching = 2 * (len(witnesses) - len(missing))
            late = self._clock() - self._since >= self._patience
            self._reached = vouching > len(witnesses) or (late and vouching == len(witnesses))
            return () if self._reached else missing
        return ()
