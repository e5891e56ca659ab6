"""Links: receipt of a peer's messages (taken, duplicate, early or refused).

Every link counts its messages. A refused message uses up its number, so a peer can continue after a
malformed message. Only the authenticated peer of the link uses up its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from fedbandits.errors import RemoteProtocolError
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
from fedbandits.federation.seats import Seat, routes
from fedbandits.federation.terms import cut

#: Largest number of a peer's messages that are held for missing earlier messages, and of their
#: bytes.
MOST_HELD, MOST_HELD_BYTES = 64, 1 << 24
#: Outcomes of receiving a message.
Outcome = Literal["taken", "duplicate", "early", "refused"]
#: A function that acts on a message and returns the messages to send; None if the message is early.
Take = Callable[[Message], list[Message] | None]


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The outcome of receiving a message.

    Parameters
    ----------
    outcome
        ``taken``: the party has acted on the message. ``duplicate``: the message came before and
        was
        dropped. ``early``: the message is held until earlier messages have arrived or its time has
        come. ``refused``: the party did not accept the message.
    outgoing
        The messages to send.
    why
        The error, if the message was not taken.
    followed
        Receipts of messages that were held until this message arrived.
    message
        The message, if the bytes were a message.
    """

    outcome: Outcome
    outgoing: list[Message]
    why: Exception | None = None
    followed: tuple[Receipt, ...] = ()
    message: Message | None = None

    @property
    def must_be_sent_again(self) -> bool:
        """True if the message came too early to be held, so the sender must send it again."""
        return isinstance(self.why, TooEarlyError) and self.outcome == "refused"


class Link(msgspec.Struct, array_like=True):
    """State of the exchange with one peer."""

    received: int = 0  # the number of the peer's next message
    sent: int = 0  # the number of the next message to the peer
    held: dict[int, bytes] = {}  # messages that came early, encoded, by their numbers
    ahead: int = 0  # the largest number of a message that was too far ahead to be held
    told: bool = False  # whether the peer has other terms and has received the terms of this party
    differs: str = ""  # the difference of the peer's terms
    given_up: int = 0  # number of the peer's messages that never came
    seen: int = 0  # number of the peer's messages that have come, with any outcome
    mark: bytes = b""  # the last message's statement about all messages before

    @property
    def is_behind(self) -> bool:
        """True if messages are missing, or wait for their time."""
        return bool(self.held) or self.ahead > self.received


class Links:
    """All links of a party, made from its seat."""

    def __init__(self, seat: Seat, peers: Sequence[str]) -> None:
        self.all = {peer: Link() for peer in peers}
        self._name, self._terms, self._codec = seat.name, seat.terms, seat.codec
        self._digest = seat.terms.digest
        #: The allowed senders of each type of message.
        self._senders: dict[type[Message], set[str]] = {}
        for kind, sender, receiver in routes(seat.table):
            if receiver == seat.role:
                self._senders.setdefault(kind, set()).update(seat.names(sender))
        #: Peers with missing messages, or with messages that wait for their time.
        self.behind: set[str] = set()

    def restore(self, links: Mapping[str, Link]) -> None:
        """Continue from saved links."""
        self.all = {**self.all, **links}
        self.behind = {peer for peer, link in self.all.items() if link.is_behind}

    def numbered(self, message: Message) -> Message:
        """Return a message with its number; every message is numbered once, when it is sent."""
        link = self.all[message.receiver]
        number = link.sent
        link.sent = number + 1
        return msgspec.structs.replace(message, number=number, terms=self._digest)

    def receive(self, message: Message, authenticated: str | None, take: Take) -> Receipt:
        """Receive a message, and return its receipt with one of four outcomes."""
        peer = message.sender if authenticated is None else authenticated
        link = self.all.get(peer)
        if link is None or message.sender != peer or message.receiver != self._name:
            return Receipt("refused", [], self._stranger(message, peer), (), message)
        if (
            message.terms != self._digest
            or message.version != VERSION
            or type(message) is TheseTerms
        ):
            return self._of_other_terms(link, message)
        if message.number != link.received or message.number in link.held:
            return self._out_of_turn(link, message)
        return self._next(link, message, take)

    def receive_bytes(self, data: bytes, peer: str, take: Take) -> Receipt:
        """Receive bytes; bytes that are no message use up a number too, if they show a number."""
        try:
            message = self._codec.decode(data)
        except RemoteProtocolError as why:
            return self._refuse_bytes(data, peer, why)
        return self.receive(message, peer, take)

    def _refuse_bytes(self, data: bytes, peer: str, why: RemoteProtocolError) -> Receipt:
        """Refuse bytes that are no message, at their turn if the envelope is the peer's own."""
        envelope, link = self._codec.envelope(data), self.all.get(peer)
        if envelope is not None and isinstance(why, WrongVersionError):
            return Receipt("refused", [], self._other_version(peer, envelope.version))
        if (
            envelope is None
            or link is None
            or (envelope.sender, envelope.receiver) != (peer, self._name)
            or (envelope.terms, envelope.version) != (self._digest, VERSION)
        ):
            return Receipt("refused", [], why)
        if envelope.number != link.received or envelope.number in link.held:
            return self._out_of_turn(link, envelope, data)
        link.received += 1
        return Receipt("refused", [], why)

    def take_held(self, take: Take) -> tuple[Receipt, ...]:
        """Take all held messages whose turn and time have come."""
        receipts: list[Receipt] = []
        for peer in [peer for peer in self.all if peer in self.behind]:
            link = self.all[peer]
            while link.received in link.held:
                receipt = self._held_one(link, link.held.pop(link.received), take)
                if receipt.outcome != "early":
                    receipts.append(receipt)
                    continue
                if receipt.why is not None:
                    receipts.append(receipt)
                break
            self._note(peer, link)
        return tuple(receipts)

    def _held_one(self, link: Link, data: bytes, take: Take) -> Receipt:
        """Receive held bytes at their turn."""
        try:
            message = self._codec.decode(data)
        except RemoteProtocolError as why:
            link.received += 1
            return Receipt("refused", [], why)
        try:
            return self._next(link, message, take)
        except (
            Exception
        ) as failed:  # any failure of this party: it is reported, and the message is tried again
            link.held = {message.number: data, **link.held}
            return Receipt("early", [], failed, (), message)

    def give_up(self) -> None:
        """Continue without missing messages, and without messages whose time has not come."""
        for peer in list(self.behind):
            link = self.all[peer]
            first = min([*link.held, *([link.ahead] if link.ahead > link.received else [])])
            if first == link.received:
                del link.held[first]
                first += 1
            link.given_up += first - link.received
            link.received = first
            self._note(peer, link)

    def _note(self, peer: str, link: Link) -> None:
        """Update the set of peers that are behind."""
        if link.is_behind:
            self.behind.add(peer)
        else:
            self.behind.discard(peer)

    def _stranger(self, message: Message, peer: str) -> WrongSenderError:
        between = f"from {cut(repr(message.sender))} for {cut(repr(message.receiver))}"
        return WrongSenderError(
            f"{self._name}: message {between}, on the link of {cut(repr(peer))}"
        )

    def _out_of_turn(self, link: Link, received: Message | Envelope, data: bytes = b"") -> Receipt:
        """Drop an earlier message, hold a later message."""
        number, sender = received.number, received.sender
        message = received if isinstance(received, Message) else None
        if number < link.received or number in link.held:
            why = DuplicateError(f"{self._name}: message {number} from {sender} again")
            return Receipt("duplicate", [], why, (), message)
        data = data if message is None else self._codec.encode(message)
        held = sum(map(len, link.held.values())) + len(data)
        if number - link.received > MOST_HELD or held > MOST_HELD_BYTES:
            link.ahead = max(link.ahead, number)
            self._note(sender, link)
            early = TooEarlyError(
                f"{self._name}: message {number} from {sender}, expected {link.received}; send it "
                "again after those before it"
            )
            return Receipt("refused", [], early, (), message)
        self._hold(link, sender, number, data)
        return Receipt("early", [], None, (), message)

    def _hold(self, link: Link, sender: str, number: int, data: bytes) -> None:
        link.held = {**link.held, number: data}
        self.behind.add(sender)

    def _next(self, link: Link, message: Message, take: Take) -> Receipt:
        """Take the next message, or use up its number."""
        try:
            senders = self._senders.get(type(message))
            if senders is not None and message.sender not in senders:
                raise WrongSenderError(
                    f"{self._name}: a {type(message).__name__} must not come from {message.sender}"
                )
            outgoing = take(message)
        except RemoteProtocolError as why:
            link.received += 1
            return Receipt("refused", [], why, (), message)
        if outgoing is None:
            self._hold(link, message.sender, message.number, self._codec.encode(message))
            return Receipt("early", [], None, (), message)
        link.received += 1
        return Receipt("taken", outgoing, None, (), message)

    def _of_other_terms(self, link: Link, message: Message) -> Receipt:
        """Refuse a message of other terms or another version; no peer of this federation sends it.

        Its number is not used up: a corrected peer begins anew, and counts from 0.
        """
        why: RemoteProtocolError
        if message.version != VERSION:
            why = self._other_version(message.sender, message.version)
            return Receipt("refused", [], why, (), message)
        if isinstance(message, TheseTerms):
            why = self._compare(link, message)
        else:
            their_digest = cut(repr(message.terms))
            difference = link.differs or f"its terms are {their_digest}, not {self._digest!r}"
            why = OtherTermsError(f"{self._name}: {message.sender} has other terms: {difference}")
        other = isinstance(why, OtherTermsError)
        terms_sent = self._tell_terms(link, message.sender) if other else []
        return Receipt("refused", terms_sent, why, (), message)

    def _other_version(self, peer: str, version: int) -> WrongVersionError:
        """Return the error that names both versions and the remedy."""
        return WrongVersionError(
            f"{self._name}: {cut(peer)} sends messages of version {version}, {self._name} those of "
            f"version {VERSION}: run the same fedbandits at both"
        )

    def _compare(self, link: Link, message: TheseTerms) -> RemoteProtocolError:
        """Compare a peer's terms with the terms of this party, and note the difference."""
        try:
            difference = self._terms.difference(message.content)
        except ValueError as broken:
            return UnknownMessageError(f"{self._name}: {message.sender} sent {broken}")
        if difference is None:
            return UnknownMessageError(f"{self._name}: {message.sender} sent the same terms")
        link.differs = str(difference)
        return OtherTermsError(f"{self._name}: {message.sender} has other terms: {difference}")

    def _tell_terms(self, link: Link, peer: str) -> list[Message]:
        if link.told:
            return []
        link.told = True
        content = TheseTerms(sender=self._name, receiver=peer, content=self._terms.content)
        return [self.numbered(content)]
