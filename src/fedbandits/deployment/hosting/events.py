"""Events of a party between machines: how they are carried out, and how they are stored.

An event is carried out when it happens, and again when a process restarts, by the same code. So a
party that is made anew from its journal is where it was, bit for bit.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import msgspec

from fedbandits._schema import prepared
from fedbandits.errors import DeploymentError, FedbanditsError, LedgerError, StoreError
from fedbandits.federation.events import Deadline, Decide, Decision, EndRound, Event, Observe
from fedbandits.federation.party import Party
from fedbandits.federation.state import Handled
from fedbandits.systems.application import Application


class Kind(enum.IntEnum):
    """Kinds of events, as the journal numbers them."""

    START = 0
    DECIDE = 1
    OBSERVE = 2
    END_ROUND = 3
    DEADLINE = 4
    RECEIVE = 5
    PULL = 6


class Decided(NamedTuple):
    """A decision's number, and the action as a plain value."""

    number: int
    action: Any


class Received(NamedTuple):
    """Bytes of a message from a party, as it is called in the protocol.

    ``number`` and ``mark`` are what its frame says: which message it is, and what it stands for.
    """

    sender: str
    data: bytes
    number: int = -1
    mark: bytes = b""


#: What an event of each kind holds, for those that are the same in every system.
_CONTENTS: dict[Kind, Any] = {
    Kind.START: None,
    Kind.END_ROUND: int,
    Kind.DEADLINE: int,
    Kind.RECEIVE: Received,
    Kind.PULL: int,
}


class HostedParty:
    """One party, and how events are carried out on it.

    The ``application`` translates plain values for the party; it is None where nobody asks.
    """

    def __init__(self, party: Party[Any], application: Application[Any] | None) -> None:
        self.party, self._application = party, application
        #: Number of the newest event, and how many came since the newest saved state.
        self.events, self.since = 0, 0
        #: Whether what it releases is charged: then an event that is refused may have to be undone.
        self.is_charged = True
        #: Whether rounds end when so many decisions were made, and not by a clock.
        self.ends_rounds_itself = False
        #: By member how many messages were sent to it, and their mark.
        self.marks: dict[str, tuple[int, bytes]] = {}
        #: Peers whose links have moved in this transaction.
        self.touched: set[str] = set()
        contents = dict(_CONTENTS)
        if application is not None:
            contents[Kind.DECIDE] = application.ASKED
            # The decision's number, and what is told of it.
            contents[Kind.OBSERVE] = tuple[int, application.TOLD]  # type: ignore[name-defined]
        self._encoder = msgspec.msgpack.Encoder()
        self._decoders = {
            k: msgspec.msgpack.Decoder(prepared(content)) for k, content in contents.items()
        }

    def encode(self, content: Any) -> bytes:
        """Encode an event's content for the journal."""
        return self._encoder.encode(content)

    def replay(self, kind: int, body: bytes) -> None:
        """Carry an event of the journal out again.

        Raises StoreError if the entry is no event of this party, or the party refuses the event
        now: another version wrote the journal. Raises LedgerError if the ledger cannot be read.
        """
        try:
            self.apply(Kind(kind), self._decoders[Kind(kind)].decode(body))
            self.since += 1
        except (LedgerError, StoreError):
            raise
        except FedbanditsError as error:
            raise StoreError(
                f"{self.party.name}: the journal holds an event that is refused now: {error}"
            ) from error
        except (msgspec.DecodeError, KeyError, ValueError) as error:
            raise StoreError(
                f"{self.party.name}: the journal holds {type(error).__name__}"
            ) from None

    def apply(self, kind: Kind, content: Any) -> Handled:
        """Carry an event out; ``followed`` has the receipts of all messages that were looked at.

        Raises FedbanditsError if the party refuses it. Nothing has changed then.
        """
        match kind:
            case Kind.DECIDE:
                return self._decide(content)
            case Kind.OBSERVE:
                return self._observe(*content)
            case Kind.RECEIVE:
                sender, data, number, mark = content
                self.touched.add(sender)
                receipt = self.party.receive_bytes(data, sender)
                link = self.party.links.get(sender)
                if link is not None and number >= link.seen:
                    link.seen, link.mark = number + 1, mark
                return Handled(receipt, receipt.outgoing, (receipt, *receipt.followed))
            case Kind.END_ROUND:
                return self._handle(EndRound(content))
            case Kind.DEADLINE:
                return self._handle(Deadline(content))
            case Kind.PULL:
                return self._pull(content)
            case Kind.START:
                return Handled(None, self.party.start())

    def _handle(self, event: Event) -> Handled:
        handled = self.party.handle(event)
        if handled.followed or type(event) is Deadline:
            self.touched.update(self.party.links)
        return handled

    def _asked(self) -> Application[Any]:
        if self._application is None:
            raise DeploymentError(f"{self.party.name}: this party takes no decisions")
        return self._application

    def _decide(self, asked: Any) -> Handled:
        application = self._asked()
        situation = application.situation(self.party, asked)  # type: ignore[arg-type]
        handled = self._handle(Decide(situation))
        decision: Decision = handled.answer
        answer = decision.number, application.action(decision, asked)
        return msgspec.structs.replace(handled, answer=answer)

    def _observe(self, number: int, told: Any) -> Handled:
        party: Any = self.party
        decision, found = self._asked().observation(party, number, told)
        return self._handle(Observe(decision, found))

    def _pull(self, reward: int) -> Handled:
        decision: Decision = self._handle(Decide(None)).answer
        return self._handle(Observe(decision, reward))
