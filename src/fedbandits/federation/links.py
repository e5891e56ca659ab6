"""How messages of peers are received: taken, a duplicate, early, or refused.

Every link counts its messages. A refused message uses up its number, so a peer that has sent
nonsense once can go on. Only the peer that the link has authenticated uses up its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from fedbandits.errors import FedbanditsError, RemoteProtocolError
from fedbandits.federation.messages import (
    VERSION,
    DuplicateError,
    Envelope,
    Message,
    OtherTermsError,
    TheseTerms,
    TooEarlyError,
    UnknownMessageError,
    WrongSenderError,
    WrongVersionError,
)
from fedbandits.federation.seats import Seat

#: So many messages of a peer are held until those before them have come.
MOST_HELD = 64
#: What became of a message.
Outcome = Literal["taken", "duplicate", "early", "refused"]
#: Acts on a message and returns what is to be sent; None if its time has not come.
Take = Callable[[Message], list[Message] | None]


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """What became of a message.

    Parameters
    ----------
    outcome
        ``taken``; a ``duplicate``, which is dropped; ``early``, which is held until those before it
        have come, or its time; or ``refused``.
    outgoing
        What is to be sent.
    why
        Why it was not taken.
    followed
        What became of messages that had been held, and whose turn came with this one.
    message
        The message, if it is one.
    """

    outcome: Outcome
    outgoing: list[Message]
    why: FedbanditsError | None = None
    followed: tuple[Receipt, ...] = ()
    message: Message | None = None

    @property
    def must_be_sent_again(self) -> bool:
        """Whether it was neither taken nor held, and its number is still to come."""
        return isinstance(self.why, TooEarlyError) and self.outcome == "refused"


class Link(msgspec.Struct, array_like=True):
    """Where the exchange with one peer stands.

    Parameters
    ----------
    received
        The number of the peer's message that comes next.
    sent
        The number of the next message to the peer.
    held
        Messages that came early, encoded, by their numbers.
    told
        Whether the peer has other terms and has been told ours.
    differs
        In what its terms differ, once it has said so.
    given_up
        How many messages of the peer never came.
    """

    received: int = 0
    sent: int = 0
    held: dict[int, bytes] = {}
    told: bool = False
    differs: str = ""
    given_up: int = 0


class Links:
    """All links of one party.

    Parameters
    ----------
    seat
        What the party is told of all that is public.
    peers
        Names of those that it exchanges messages with.
    """

    def __init__(self, seat: Seat, peers: Sequence[str]) -> None:
        self.all = {peer: Link() for peer in peers}
        self._name, self._terms, self._codec = seat.name, seat.terms, seat.codec
        self._digest = seat.terms.digest
        #: For a type of message, who may send it.
        self._senders = {
            kind: frozenset(seat.names(sender))
            for kind, (sender, receiver) in seat.table.items()
            if receiver == seat.role
        }
        #: How many messages are held.
        self.held = 0

    def restore(self, links: Mapping[str, Link]) -> None:
        """Go on from links that were saved."""
        self.all = {**self.all, **links}
        self.held = sum(len(link.held) for link in self.all.values())

    def numbered(self, message: Message) -> Message:
        """The message with its number; every message is numbered once, when it is sent."""
        link = self.all[message.receiver]
        number = link.sent
        link.sent = number + 1
        return msgspec.structs.replace(message, number=number, terms=self._digest)

    def receive(self, message: Message, authenticated: str | None, take: Take) -> Receipt:
        """Find out which of four things becomes of a message, and see to it."""
        peer = message.sender if authenticated is None else authenticated
        link = self.all.get(peer)
        if link is None or message.sender != peer or message.receiver != self._name:
            return Receipt("refused", [], self._stranger(message, peer), (), message)
        if message.number != link.received or message.number in link.held:
            return self._out_of_turn(link, message)
        return self._next(link, message, take)

    def receive_bytes(self, data: bytes, peer: str, take: Take) -> Receipt:
        """Receive bytes: those that are no message use up a number too, if they show one."""
        try:
            message = self._codec.decode(data)
        except RemoteProtocolError as why:
            return self._refuse_bytes(data, peer, why)
        return self.receive(message, peer, take)

    def _refuse_bytes(self, data: bytes, peer: str, why: RemoteProtocolError) -> Receipt:
        """Refuse what is no message, at its turn, if the envelope is whole and the peer's own."""
        envelope, link = self._codec.envelope(data), self.all.get(peer)
        if (
            envelope is None
            or link is None
            or (envelope.sender, envelope.receiver) != (peer, self._name)
        ):
            return Receipt("refused", [], why)
        if envelope.number != link.received:
            return self._out_of_turn(link, envelope, data)
        link.received += 1
        return Receipt("refused", [], why)

    def take_held(self, take: Take) -> tuple[Receipt, ...]:
        """Take all messages that were held and whose turn and time have come."""
        receipts: list[Receipt] = []
        for link in self.all.values():
            while (data := link.held.pop(link.received, None)) is not None:
                self.held -= 1
                receipt = self._held_one(link, data, take)
                if receipt.outcome == "early":
                    break
                receipts.append(receipt)
        return tuple(receipts)

    def _held_one(self, link: Link, data: bytes, take: Take) -> Receipt:
        """What becomes of bytes that were held, now that it is their turn."""
        try:
            message = self._codec.decode(data)
        except RemoteProtocolError as why:
            link.received += 1
            return Receipt("refused", [], why)
        try:
            return self._next(link, message, take)
        except FedbanditsError as failed:  # our own failure: it is not the sender's fault
            self._hold(link, message.number, data)
            return Receipt("early", [], failed, (), message)

    def give_up(self) -> None:
        """Go on without messages that are missing before those that are held."""
        for link in self.all.values():
            if link.held:
                first = min(link.held)
                link.given_up += first - link.received
                link.received = first

    def _stranger(self, message: Message, peer: str) -> WrongSenderError:
        return WrongSenderError(
            f"{self._name}: message from {message.sender!r} for {message.receiver!r}, on the link "
            f"of {peer!r}"
        )

    def _out_of_turn(self, link: Link, found: Message | Envelope, data: bytes = b"") -> Receipt:
        """Drop what came before, hold what comes later."""
        number, sender = found.number, found.sender
        message = found if isinstance(found, Message) else None
        if number < link.received or number in link.held:
            why = DuplicateError(f"{self._name}: message {number} from {sender} again")
            return Receipt("duplicate", [], why, (), message)
        if number - link.received > MOST_HELD:
            early = TooEarlyError(
                f"{self._name}: message {number} from {sender}, expected {link.received}; send it "
                "again after those before it"
            )
            return Receipt("refused", [], early, (), message)
        self._hold(link, number, self._codec.encode(message) if message is not None else data)
        return Receipt("early", [], None, (), message)

    def _hold(self, link: Link, number: int, data: bytes) -> None:
        link.held = {**link.held, number: data}
        self.held += 1

    def _next(self, link: Link, message: Message, take: Take) -> Receipt:
        """Take the message that comes next, or use up its number."""
        try:
            if (
                message.terms != self._digest
                or message.version != VERSION
                or type(message) is TheseTerms
            ):
                self._refuse_terms(link, message)
            senders = self._senders.get(type(message))
            if senders is not None and message.sender not in senders:
                raise WrongSenderError(
                    f"{self._name}: a {type(message).__name__} is not for {message.sender} to send"
                )
            outgoing = take(message)
        except RemoteProtocolError as why:
            link.received += 1
            other = isinstance(why, OtherTermsError)
            told = self._tell_terms(link, message.sender) if other else []
            return Receipt("refused", told, why, (), message)
        if outgoing is None:
            self._hold(link, message.number, self._codec.encode(message))
            return Receipt("early", [], None, (), message)
        link.received += 1
        return Receipt("taken", outgoing, None, (), message)

    def _refuse_terms(self, link: Link, message: Message) -> None:
        """Refuse what no peer of the same federation sends."""
        if message.version != VERSION:
            raise WrongVersionError(f"{self._name}: message of version {message.version}")
        if isinstance(message, TheseTerms):
            self._compare(link, message)
        found = link.differs or f"its terms are {message.terms!r}, not {self._terms.digest!r}"
        raise OtherTermsError(f"{self._name}: {message.sender} has other terms: {found}")

    def _compare(self, link: Link, message: TheseTerms) -> None:
        """A peer has told its terms: note in what they differ, and refuse."""
        try:
            difference = self._terms.difference(message.content)
        except ValueError as broken:
            raise UnknownMessageError(f"{self._name}: {message.sender} sent {broken}") from None
        if difference is None:
            raise UnknownMessageError(f"{self._name}: {message.sender} sent the same terms")
        link.differs = str(difference)
        raise OtherTermsError(f"{self._name}: {message.sender} has other terms: {difference}")

    def _tell_terms(self, link: Link, peer: str) -> list[Message]:
        if link.told:
            return []
        link.told = True
        content = TheseTerms(sender=self._name, receiver=peer, content=self._terms.content)
        return [self.numbered(content)]
