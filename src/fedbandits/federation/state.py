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
    """All that changes in a party, except the numbers of its links.

    A state is replaced as a whole. Arrays and tables inside may be written in place, by the
    ``write`` of a step alone.

    Parameters
    ----------
    stage
        The party's stage in its table of transitions.
    """

    stage: str


AnyState = TypeVar("AnyState", bound=PartyState)


class Step(msgspec.Struct, frozen=True, gc=False):
    """The consequences of an event. Nothing has changed yet."""

    state: PartyState  # state after the event
    outgoing: Sequence[Message] = ()  # messages to send, not numbered yet
    answer: Any = None  # answer for the caller
    #: Writes to arrays of the state, where a copy would cost too much, and returns further messages
    #: to send. It is called after all checks, and must not fail.
    write: Callable[[], Sequence[Message]] | None = None
    #: A new decision, by its number: it is written to the state's table ``open``.
    opened: tuple[int, Any] | None = None
    closed: int = 0  # the number of a closed decision; 0 for none


class Handled(msgspec.Struct, frozen=True, gc=False):
    """The consequences of a local event."""

    answer: Any  # answer for the caller: a decision, or None
    outgoing: list[Message]  # messages to send
    #: Outcomes of early messages whose time has come now.
    followed: tuple[Receipt, ...] = ()
