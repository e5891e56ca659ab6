"""What all events have in common."""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag=str.lower):
    """Base class of events."""

    def to_table(self) -> dict[str, Any]:
        """The event as plain values for JSON; ``"event"`` is the name of its type."""
        table: dict[str, Any] = msgspec.to_builtins(self, enc_hook=lambda _: None)
        return {key: value for key, value in table.items() if key != "results"}
