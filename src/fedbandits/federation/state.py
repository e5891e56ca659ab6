"""The state of a party, and the step that an event causes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fedbandits.federation.events import Event
from fedbandits.federation.links import Receipt
from fedbandits.federation.messages import Message

#: ``{(stage, event): next stages}``; an event is a type of local event or of message.
Transitions = Mapping[tuple[str, type[Event | Message]], tuple[str, ...]]


class PartyState(msgspec.Struct, frozen=True, kw_only=True):
    """All that changes in a party, but for the numbers of its links.

    Replaced as a whole. Arrays and tables inside may be written in place, by the ``write`` of a
    step alone.

    Parameters
    ----------
    stage
        Where the party stands in its table of transitions.
    """

    stage: str


AnyState = TypeVar("AnyState", bound=PartyState)


class Step(msgspec.Struct, frozen=True, gc=False):
    """The consequences of an event. Nothing has changed yet."""

    state: PartyState  # after it
    outgoing: Sequence[Message] = ()  # what is to be sent, not numbered yet
    answer: Any = None  # what the caller is told
    #: Writes to arrays of the state where a copy would cost too much, and returns what more is to
    #: be sent. It is called once everything is known to be right, and must not fail.
    write: Callable[[], Sequence[Message]] | None = None
    #: A decision that was made, by its number: it is written to the state's table ``open``.
    opened: tuple[int, Any] | None = None
    closed: int = 0  # the number of a decision that is no longer open; 0 if there is none


class Handled(msgspec.Struct, frozen=True, gc=False):
    """The consequences of a local event."""

    answer: Any  # what the caller is told: a decision, or nothing
    outgoing: list[Message]  # what is to be sent
    #: What became of messages that had come early, and whose time has come now.
    followed: tuple[Receipt, ...] = ()
