"""Watching parties: who watches is told of every event that changes one, and changes nothing.

Every event of a party, local or a message, passes one method. So a watcher sees what happens to
parties of any system under any driver, and in which order. A message that was refused, came twice
or is held has changed nothing: it is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from fedbandits.federation.events import Event
from fedbandits.federation.messages import Message


class Happened(NamedTuple):
    """One event of a party, when the party has changed.

    Parameters
    ----------
    party
        The party, in the state after the event.
    before
        The state before the event. Arrays and tables in it may have been written to since.
    event
        The local event, or the message that was received.
    answer
        What the driver is told: a decision, or nothing.
    sent
        The messages that the party sends, numbered.
    """

    party: Any
    before: Any
    event: Event | Message
    answer: Any
    sent: Sequence[Message]


#: What is called after an event.
See = Callable[[Happened], None]


class Watcher(Protocol):
    """Watches the parties of a run."""

    def meet(self, party: Any) -> None:
        """Note ``party``, to which nothing has happened yet."""

    def see(self, happened: Happened) -> None:
        """Note what has ``happened`` to a party, and change nothing."""
