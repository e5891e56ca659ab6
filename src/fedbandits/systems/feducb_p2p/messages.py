"""Messages of peers: types, releases that may be used, and copies that are passed on.

Heard messages are a table of tuples; functions make new tables, and change none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from fedbandits._typing import Floats
from fedbandits.federation.messages import Message, OutOfOrderError, WrongSenderError
from fedbandits.federation.roles import MessageTable
from fedbandits.systems.feducb_p2p.kernels.state import Peers


class Flooded(Message, frozen=True, kw_only=True):
    """A message that an agent made at the end of a round, and how many hops it has come."""

    origin: str
    round: int
    hops: int

    @property
    def heard(self) -> int:
        """The round at whose end it arrives."""
        return self.round + self.hops - 1


class Call(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.call"):
    """An agent's trigger has fired (as published only); it tells of raw data."""


class Release(Flooded, frozen=True, kw_only=True, tag="feducb-p2p.release"):
    """An agent's k-th release of an estimator: the noisy sum of all records that it was used in."""

    estimator: int
    release: int
    statistic: bytes

    @property
    def payload_size(self) -> int:
        """Bytes of statistics inside."""
        return len(self.statistic)


#: Who sends what to whom.
TABLE: MessageTable = {Call: ("agent", "agent"), Release: ("agent", "agent")}


#: A peer can have ended so many more rounds than this party. What is from later must wait.
MOST_AHEAD = 16


class Known(msgspec.Struct, frozen=True):
    """A release, and the round from whose end on it may be used."""

    release: int
    usable: int
    values: Floats


#: What is known of one estimator of one agent, oldest first: the release that serves, and those
#: that must still wait.
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
    """Add a release that is newer than all before it; remove what it makes needless.

    Where more must wait than an honest agent can have made, those that have waited longest go.
    """
    serving = usable(history, round_)
    least = serving.release if serving else 0
    waiting = [k for k in history if k.release > least] + [known]
    return (*([serving] if serving else ()), *waiting[-MOST_AHEAD - 1 :])


class Flood(msgspec.Struct, frozen=True):
    """A message that was heard, whichever way it came.

    Parameters
    ----------
    name
        Tells it from others of its channel: the number of a release, the round of a call.
    heard
        At the end of which round.
    senders
        Whom it has come from, in order; not kept up once it was passed on.
    onward
        What is to be passed on; None where that is done, or it has gone far enough.
    """

    name: int
    heard: int
    senders: tuple[str, ...]
    onward: Release | Call | None


#: What was heard lately, in order, by channel: one for each estimator of each agent, and one for
#: each agent's calls.
Floods = dict[int, tuple[Flood, ...]]


def origin_of(message: Flooded, name: str, places: Mapping[str, int], peers: Peers) -> int:
    """Return the number of the agent that a message comes from.

    Parameters
    ----------
    name
        Who hears it.

    Raises
    ------
    WrongSenderError, OutOfOrderError
        If it cannot have come this way.
    """
    origin = places.get(message.origin)
    if origin is None:
        raise WrongSenderError(f"{name}: nobody is called {message.origin!r}")
    least = 1 + int(peers.distance[origin, places[message.sender]])
    if not least <= message.hops <= peers.gamma:
        raise OutOfOrderError(
            f"{name}: {message.hops} hops from {message.origin} through {message.sender}, "
            f"expected {least} to {peers.gamma}"
        )
    return origin


def find_flood(heard: tuple[Flood, ...], name: int) -> Flood | None:
    """Find a message of a channel that was heard, and not yet forgotten."""
    for flood in heard:
        if flood.name == name:
            return flood
    return None


def heard_again(heard: tuple[Flood, ...], name: int, sender: str) -> tuple[Flood, ...]:
    """Note that a message comes from another neighbour too: that one need not be told."""
    return tuple(
        msgspec.structs.replace(flood, senders=tuple(sorted({*flood.senders, sender})))
        if flood.name == name and flood.onward is not None
        else flood
        for flood in heard
    )


def heard_first(
    heard: tuple[Flood, ...], name: int, message: Release | Call, hearer: str, gamma: int
) -> tuple[Flood, ...]:
    """Add a message that is new, to be passed on at the end of the round after it is heard.

    Where there are more than an honest agent can have sent, the oldest one is forgotten.
    """
    onward = msgspec.structs.replace(message, sender=hearer, hops=message.hops + 1)
    goes_on = onward.hops <= gamma
    flood = Flood(name, message.heard, (message.sender,), onward if goes_on else None)
    return (*heard, flood)[-MOST_AHEAD - 2 * gamma - 2 :]


def copies_due(floods: Floods, round_: int, neighbours: Sequence[str]) -> list[Message]:
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


def passed_on(floods: Floods, round_: int, before: int) -> Floods:
    """Return the table after :func:`copies_due`.

    Parameters
    ----------
    floods, round_
        As for :func:`copies_due`.
    before : int
        What was heard before this round is forgotten: no copy of it can be under way.
    """
    after: Floods = {}
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
