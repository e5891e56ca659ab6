"""Transcripts: who saw which field of which message, when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from fedbandits.federation.messages import Message


class Sighting(msgspec.Struct, frozen=True):
    """One party saw one field of one message."""

    party: str
    at: int  # of the network's clock
    type: str
    sender: str
    number: int
    field: str
    value: Any


class Transcript:
    """Records deliveries, and counts messages and bytes of those that were not refused."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[int, Message]] = []
        self.messages: Counter[str] = Counter()
        self.payload_bytes = 0
        self.wire_bytes = 0

    def record(self, at: int, message: Message, encoded: bytes, counts: bool = True) -> None:
        """Note that a message reached its receiver, and whether it counts."""
        self.deliveries.append((at, message))
        if not counts:
            return
        self.messages[type(message).__name__] += 1
        self.payload_bytes += message.payload_size
        self.wire_bytes += len(encoded)

    def sightings(self, party: str | None = None) -> Iterator[Sighting]:
        """Every field that a party, or any party, has seen, in order."""
        for at, message in self.deliveries:
            if party in (None, message.receiver):
                for field in message.__struct_fields__:
                    yield Sighting(
                        message.receiver,
                        at,
                        type(message).__name__,
                        message.sender,
                        message.number,
                        field,
                        getattr(message, field),
                    )

    def fields_seen(self, party: str) -> set[tuple[str, str]]:
        """``(message type, field)`` pairs that a party has seen."""
        return {(sighting.type, sighting.field) for sighting in self.sightings(party)}
