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
    """A record of all deliveries; it counts messages that were not refused, and their bytes."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[int, Message]] = []
        self.messages: Counter[str] = Counter()
        self.payload_bytes = 0
        self.wire_bytes = 0

    def record(self, at: int, message: Message, encoded: bytes, counts: bool = True) -> None:
        """Record that a message has reached its receiver.

        Parameters
        ----------
        at
            Time of the delivery.
        message, encoded
            The message, and its bytes.
        counts
            Whether it is counted.
        """
        self.deliveries.append((at, message))
        if not counts:
            return
        self.messages[type(message).__name__] += 1
        self.payload_bytes += message.payload_size
        self.wire_bytes += len(encoded)

    def sightings(self, party: str | None = None) -> Iterator[Sighting]:
        """All fields that ``party`` has seen, in order; without it, those of all parties."""
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
        """All pairs ``(message type, field)`` that ``party`` has seen."""
        return {(sighting.type, sighting.field) for sighting in self.sightings(party)}
