"""Parties in one process: a deterministic network, and a transcript of all deliveries."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fedbandits.errors import FedbanditsError
from fedbandits.federation.links import Outcome, Receipt
from fedbandits.federation.messages import Codec, Message
from fedbandits.federation.party import Party

#: A function from a message to its delay in ticks, or None for a loss. Called once for each
#: message, in order of sending.
Route = Callable[[Message], int | None]


class Refusal(NamedTuple):
    """A message that a party has refused, with the network's time."""

    at: int
    party: str
    sender: str
    why: Exception


class Sighting(msgspec.Struct, frozen=True):
    """The receipt of one field of one message by one party."""

    party: str
    at: int  # network's time
    type: str
    sender: str
    number: int
    field: str
    value: Any


class Transcript:
    """A record of all deliveries; it counts messages that were not refused, and their bytes."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[int, Message]] = []
        self.messages: Counter[str] = Counter()
        self.payload_bytes = 0
        self.wire_bytes = 0

    def record(self, at: int, message: Message, encoded: bytes, counts: bool = True) -> None:
        """Record that ``message``, ``encoded`` as bytes, has reached its receiver at time ``at``.

        With ``counts`` the message is added to the numbers of messages and bytes.
        """
        self.deliveries.append((at, message))
        if not counts:
            return
        self.messages[type(message).__name__] += 1
        self.payload_bytes += message.payload_size
        self.wire_bytes += len(encoded)

    def sightings(self, party: str | None = None) -> Iterator[Sighting]:
        """List all fields that ``party`` has seen, in order; by default those of all parties."""
        for at, message in self.deliveries:
            if party in (None, message.receiver):
                for field in message.__struct_fields__:
                    yield Sighting(
                        message.receiver, at, type(message).__name__, message.sender,
                        message.number, field, getattr(message, field),
                    )  # fmt: skip

    def fields_seen(self, party: str) -> set[tuple[str, str]]:
        """List all pairs ``(message type, field)`` that ``party`` has seen."""
        return {(sighting.type, sighting.field) for sighting in self.sightings(party)}


class MemoryNetwork:
    """A network in memory: it delivers messages between the parties of one process.

    Messages are delivered in order of arrival; messages that arrive together, in order of sending.
    Every message is encoded and decoded, so a message that cannot be encoded fails here too. The
    sender of a message is authentic.

    Parameters
    ----------
    parties
        The parties, by name.
    codec
        Codec of the system's messages.
    route
        Delays and losses of messages. By default none.
    lenient
        Whether to continue when a party refuses a message. By default a refusal raises an error. If
        all parties follow the protocol and no message is lost, a refusal is a mistake in their
        code.
    """

    def __init__(
        self, parties: Mapping[str, Party[Any]], codec: Codec, route: Route | None = None,
        lenient: bool = False,
    ) -> None:  # fmt: skip
        self.parties = dict(parties)
        self.transcript = Transcript()
        self.clock = 0
        #: Number of messages for each outcome.
        self.outcomes: Counter[Outcome] = Counter()
        self.refusals: list[Refusal] = []
        self.lenient = lenient
        #: Number of messages sent, including lost messages.
        self.sent = 0
        self._codec = codec
        self._route = route or (lambda _: 0)
        self._queue: list[tuple[int, int, str, Any, bytes]] = []
        self._count = 0

    def send(self, messages: Iterable[Message]) -> None:
        """Send ``messages``."""
        for message in messages:
            self.sent += 1
            ticks = self._route(message)
            if ticks is not None:
                self.send_bytes(
                    message.sender, message.receiver, self._codec.encode(message), ticks
                )

    def send_bytes(self, sender: str, receiver: Any, data: bytes, ticks: int = 0) -> None:
        """Send arbitrary ``data`` from ``sender`` to ``receiver``; it arrives after ``ticks``."""
        heapq.heappush(self._queue, (self.clock + ticks, self._count, sender, receiver, data))
        self._count += 1

    def settle(self) -> None:
        """Deliver messages until none is left."""
        while self.deliver() is not None:
            pass

    def deliver(self) -> str | None:
        """Deliver the next message, and set the clock to the time of its arrival.

        Return the name of the receiver; None if no message is left.
        """
        if not self._queue:
            return None
        self.clock = max(self.clock, self._queue[0][0])
        _, _, sender, receiver, data = heapq.heappop(self._queue)
        if receiver not in self.parties:
            raise FedbanditsError(f"no party is called {receiver!r}")
        receipt = self.parties[receiver].receive_bytes(data, sender)
        if receipt.message is not None:
            counts = receipt.outcome in ("taken", "early")
            self.transcript.record(self.clock, receipt.message, data, counts)
        self._note(receipt, receiver, sender)
        for held in receipt.followed:
            self._note(held, receiver, sender)
        if receipt.outgoing:
            self.send(receipt.outgoing)
        return str(receiver)

    def _note(self, receipt: Receipt, receiver: str, sender: str) -> None:
        """Count the outcome of a message, and raise or keep its error if it was not taken."""
        self.outcomes[receipt.outcome] += 1
        if receipt.why is None:
            return
        if not self.lenient:
            raise receipt.why
        self.refusals.append(Refusal(self.clock, receiver, sender, receipt.why))
