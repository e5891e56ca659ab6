"""What tests of misbehaving peers share: messages that are taken, or refused without a trace."""

from __future__ import annotations

from typing import Any

import msgspec

from fedbandits.federation import snapshots
from fedbandits.federation.messages import Message, OtherTermsError, WrongVersionError

#: Where a link keeps the farthest number that was too far ahead.
_AHEAD = 3


class _Dump(msgspec.Struct, array_like=True):
    party: str
    terms: str
    links: dict[str, list[Any]]
    state: msgspec.Raw


def stamped(party: Any, message: Message, **changed: Any) -> Message:
    """A message as a peer of the party's own federation sends it."""
    return msgspec.structs.replace(message, terms=party.terms.digest, **changed)


def snapshot(party: Any, *links: str, told: bool = False) -> tuple[Any, ...]:
    """All of a party's state, bit for bit, but for the peer's numbers on some links.

    With ``told``, also but for having told its terms there, which it does once.
    """
    dump = snapshots.decode(_Dump, party.dump())
    kept = {
        peer: [None, *numbers[1:_AHEAD], *numbers[_AHEAD + 1 :]] if peer in links else numbers
        for peer, numbers in dump.links.items()
    }
    for peer in links if told else ():
        kept.pop(peer, None)
    return dump.party, dump.terms, kept, bytes(dump.state)


def next_number(party: Any, peer: str) -> int:
    """The number of the peer's message that comes next."""
    return int(party._links.all[peer].received)


def held(party: Any) -> int:
    """How many messages a party holds."""
    return sum(len(link.held) for link in party._links.all.values())


def taken(party: Any, message: Message) -> list[Message]:
    """What a party sends when it takes a message; numbered as the next on its link."""
    number = next_number(party, message.sender)
    receipt = party.receive(stamped(party, message, number=number))
    assert receipt.outcome == "taken", receipt.why
    return list(receipt.outgoing)


def refused(party: Any, message: Message, kind: type[Exception], link: str | None = None) -> None:
    """A message is refused by name, and has changed nothing but its link's count.

    The message is given as it is: its number and its terms are for the caller to set right.
    """
    peer = message.sender if link is None else link
    known = peer in party._links.all
    told = kind is OtherTermsError
    foreign = kind in (OtherTermsError, WrongVersionError)  # of another federation: counts nothing
    before = snapshot(party, peer, told=told)
    count = next_number(party, peer) if known else None
    receipt = party.receive(message, link)
    assert receipt.outcome == "refused", receipt
    assert type(receipt.why) is kind, receipt.why
    assert snapshot(party, peer, told=told) == before
    if known:
        authentic = message.sender == peer and message.receiver == party.name
        due = authentic and message.number == count and not foreign
        assert next_number(party, peer) == count + due


def refused_next(party: Any, message: Message, kind: type[Exception]) -> None:
    """The same for a message that is numbered as the next on its link, under the right terms."""
    refused(party, stamped(party, message, number=next_number(party, message.sender)), kind)
