"""The gossip of a federation: messages that travel over a graph, a hop a round, to all near peers.

A message has its origin, its round and its hops. A peer uses a release from the round on at whose
end the release arrives, and passes on a copy of each new message, once. Tables of heard messages
are tuples; functions make new tables, and change none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from fedbandits._typing import Floats, Ints
from fedbandits.federation.messages import Message, OutOfOrderError, WrongSenderError


class Flooded(Message, frozen=True, kw_only=True):
    """A message that a peer made at the end of a round, and the number of hops that it has come."""

    origin: str
    round: int
    hops: int

    @property
    def heard(self) -> int:
        """The round at whose end the message arrives."""
        return self.round + self.hops - 1


#: A peer can have ended so many more rounds than this party. Messages of later rounds must wait.
MOST_AHEAD = 16

AnyFlooded = TypeVar("AnyFlooded", bound=Flooded)


class Known(msgspec.Struct, frozen=True):
    """A release, and the round from whose end on it may be used."""

    release: int
    usable: int
    values: Floats


#: Known releases of one sum of one peer, oldest first: the release in use, and later releases that
#: must still wait.
History = tuple[Known, ...]


def newest_number(history: History) -> int:
    """Return the number of the newest release that is known, usable or not; 0 if none is."""
    return history[-1].release if history else 0


def usable(history: History, round_: int) -> Known | None:
    """Return the newest release that may be used at the end of a round."""
    for known in reversed(history):
        if known.usable <= round_:
            return known
    return None


def extended(history: History, known: Known, round_: int) -> History:
    """Add a release that is newer than all before it; remove releases that are of no use any more.

    Where more releases must wait than an honest peer can have made, the oldest of them go.
    """
    serving = usable(history, round_)
    least = serving.release if serving else 0
    waiting = [k for k in history if k.release > least] + [known]
    return (*([serving] if serving else ()), *waiting[-MOST_AHEAD - 1 :])


class Flood(msgspec.Struct, Generic[AnyFlooded], frozen=True):
    """A message that was heard, whichever way the message came.

    Parameters
    ----------
    name
        Number of the message in its channel: the number of a release, the round of a call.
    heard
        The round at whose end the message arrived.
    senders
        Peers that have sent the message, in order; not kept up once the copy was passed on.
    onward
        The copy to pass on; None once the copy has left, or if the message has gone far enough.
    """

    name: int
    heard: int
    senders: tuple[str, ...]
    onward: AnyFlooded | None


#: Messages of a channel that were heard lately, in order, and such messages by channel.
Heard = tuple[Flood[AnyFlooded], ...]
Floods = dict[int, tuple[Flood[AnyFlooded], ...]]


def origin_of(
    message: Flooded, name: str, places: Mapping[str, int], distance: Ints, gamma: int
) -> int:
    """Return the number of the peer that a message comes from.

    Parameters
    ----------
    name
        The hearer of the message.
    places
        Number of each peer, by its name.
    distance : (peers, peers) int64
        Hops between two peers.
    gamma
        γ, the number of hops that a message travels.

    Raises
    ------
    WrongSenderError, OutOfOrderError
        If the message cannot have come this way.
    """
    origin = places.get(message.origin)
    if origin is None:
        raise WrongSenderError(f"{name}: nobody is called {message.origin!r}")
    least = 1 + int(distance[origin, places[message.sender]])
    if not least <= message.hops <= gamma:
        raise OutOfOrderError(
            f"{name}: {message.hops} hops from {message.origin} through {message.sender}, "
            f"expected {least} to {gamma}"
        )
    return origin


def find_flood(heard: Heard[AnyFlooded], name: int) -> Flood[AnyFlooded] | None:
    """Find a message of a channel that was heard, and not yet forgotten."""
    for flood in heard:
        if flood.name == name:
            return flood
    return None


def heard_again(heard: Heard[AnyFlooded], name: int, sender: str) -> Heard[AnyFlooded]:
    """Note that a message comes from another neighbour too, which needs no copy."""
    return tuple(
        msgspec.structs.replace(flood, senders=tuple(sorted({*flood.senders, sender})))
        if flood.name == name and flood.onward is not None
        else flood
        for flood in heard
    )


def heard_first(
    heard: Heard[AnyFlooded], name: int, message: AnyFlooded, hearer: str, gamma: int
) -> Heard[AnyFlooded]:
    """Add a new message, to be passed on at the end of the round after its arrival.

    Where there are more messages than an honest peer can have sent, the oldest one is forgotten.
    """
    onward = msgspec.structs.replace(message, sender=hearer, hops=message.hops + 1)
    goes_on = onward.hops <= gamma
    flood = Flood(name, message.heard, (message.sender,), onward if goes_on else None)
    return (*heard, flood)[-MOST_AHEAD - 2 * gamma - 2 :]


def copies_due(floods: Floods[AnyFlooded], round_: int, neighbours: Sequence[str]) -> list[Message]:
    """Return copies of all messages heard by the end of ``round_`` and not yet passed on."""
    outgoing: list[Message] = []
    for heard in floods.values():
        for flood in heard:
            if flood.onward is not None and flood.heard <= round_:
                senders = frozenset(flood.senders)
                outgoing += [
                    msgspec.structs.replace(flood.onward, receiver=name)
                    for name in neighbours
                    if name not in senders
                ]
    return outgoing


def passed_on(floods: Floods[AnyFlooded], round_: int, before: int) -> Floods[AnyFlooded]:
    """Return the table after :func:`copies_due`.

    Parameters
    ----------
    floods, round_
        As for :func:`copies_due`.
    before : int
        Messages heard before this round are forgotten: no copy of them can be under way.
    """
    after: Floods[AnyFlooded] = {}
    for channel, heard in floods.items():
        kept = tuple(
            msgspec.structs.replace(flood, onward=None)
            if flood.onward is not None and flood.heard <= round_
            else flood
            for flood in heard
            if flood.heard >= before
        )
        if kept:
            after[channel] = kept
    return after
