"""Watching parties: a watcher receives every event that changes a party, and changes nothing.

Every event of a party, local or a message, passes one method. So a watcher receives the events of
parties of any system under any driver, in order. A message that was refused, repeated or held has
changed nothing, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from fedbandits.federation.events import Event
from fedbandits.federation.messages import Message


class Happened(NamedTuple):
    """One event of a party, after the change of the party.

    Parameters
    ----------
    party
        The party, in the state after the event.
    before
        The state before the event. Its arrays and tables may have been written to since.
    event
        The local event, or the received message.
    answer
        The answer to the driver: a decision, or None.
    sent
        The messages that the party sends, numbered.
    """

    party: Any
    before: Any
    event: Event | Message
    answer: Any
    sent: Sequence[Message]


#: A function that is called after an event.
See = Callable[[Happened], None]


class Watcher(Protocol):
    """Watches the parties of a run."""

    def meet(self, party: Any) -> None:
        """Note ``party`` before its first event."""

    def see(self, happened: Happened) -> None:
        """Note an event that has ``happened`` to a party, and change nothing."""
