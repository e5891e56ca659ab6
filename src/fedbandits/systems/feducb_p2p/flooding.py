"""What a party passes on: each message once, to the neighbours that it has not come from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fedbandits.federation.messages import Message

#: Names a message, whichever way it comes.
FloodKey = tuple[int, ...]


class _Flood(msgspec.Struct):
    message: Message | None  # to be passed on, or None where it has gone far enough
    heard: int  # at the end of which round
    senders: set[str]


class Floods:
    """Messages heard lately. One that comes again is known, and its sender need not be told."""

    def __init__(self) -> None:
        self._floods: dict[FloodKey, _Flood] = {}

    def knows(self, key: FloodKey) -> bool:
        """Whether a message was heard, and not yet forgotten."""
        return key in self._floods

    def take(self, key: FloodKey, message: Message | None, heard: int) -> None:
        """Keep a message that was heard at the end of a round, to be passed on after the next."""
        self._floods[key] = _Flood(message, heard, set())

    def came_from(self, key: FloodKey, sender: str) -> None:
        """Note that a neighbour has a message."""
        self._floods[key].senders.add(sender)

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
