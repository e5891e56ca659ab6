"""What a party passes on: each message once, to the neighbours that it has not come from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fedbandits.federation.messages import Message, OutOfOrderError, WrongSenderError
from fedbandits.systems.feducb_p2p.messages import Flooded
from fedbandits.systems.feducb_p2p.plan import Peers

#: Names a message, whichever way it comes.
FloodKey = tuple[int, ...]


class _Flood(msgspec.Struct):
    message: Message | None  # to be passed on, or None where it has gone far enough
    heard: int  # at the end of which round
    senders: set[str]


class Floods:
    """Messages that an agent has heard lately.

    Parameters
    ----------
    index
        Which of the agents hears.
    names
        Names of all agents, in order.
    peers
        What follows from the graph.
    """

    def __init__(self, index: int, names: Sequence[str], peers: Peers) -> None:
        self._name, self._peers = names[index], peers
        self._number = {name: i for i, name in enumerate(names)}
        self._floods: dict[FloodKey, _Flood] = {}

    def origin(self, message: Flooded) -> int:
        """The number of the agent that a message comes from.

        Raises
        ------
        WrongSenderError, OutOfOrderError
            If it cannot have come this way.
        """
        origin = self._number.get(message.origin)
        if origin is None:
            raise WrongSenderError(f"{self._name}: nobody is called {message.origin!r}")
        least = 1 + int(self._peers.distance[origin, self._number[message.sender]])
        if not least <= message.hops <= self._peers.gamma:
            raise OutOfOrderError(
                f"{self._name}: {message.hops} hops from {message.origin} through "
                f"{message.sender}, expected {least} to {self._peers.gamma}"
            )
        if message.round < 1:
            raise OutOfOrderError(f"{self._name}: a message of round {message.round}")
        return origin

    def repeats(self, key: FloodKey, message: Flooded) -> bool:
        """Whether a message was heard, and not yet forgotten; its sender need not be told then."""
        flood = self._floods.get(key)
        if flood is not None:
            flood.senders.add(message.sender)
        return flood is not None

    def take(self, key: FloodKey, message: Flooded) -> None:
        """Keep a message that is new, to be passed on at the end of the round after it is heard."""
        onward = msgspec.structs.replace(
            message, sender=self._name, number=-1, hops=message.hops + 1
        )
        goes_on = onward.hops <= self._peers.gamma
        self._floods[key] = _Flood(onward if goes_on else None, message.heard, {message.sender})

    def due(self, round_: int, neighbours: Sequence[str]) -> list[Message]:
        """Copies of all messages heard by the end of ``round_`` and not yet passed on."""
        outgoing: list[Message] = []
        for flood in self._floods.values():
            if flood.message is not None and flood.heard <= round_:
                outgoing += [
                    msgspec.structs.replace(flood.message, receiver=name)
                    for name in neighbours
                    if name not in flood.senders
                ]
                flood.message = None
        return outgoing

    def forget(self, before: int) -> None:
        """Drop what was heard before a round: no copy of it can be under way."""
        self._floods = {key: flood for key, flood in self._floods.items() if flood.heard >= before}
