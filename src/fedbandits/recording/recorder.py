"""A recorder watches the parties of a run, and notes every step as plain values."""

from __future__ import annotations

from typing import Any

import msgspec

from fedbandits.federation.events import Decide, Observe
from fedbandits.federation.messages import Codec, Message
from fedbandits.federation.watching import Happened
from fedbandits.recording.recording import (
    Reading,
    RecordedMessage,
    RecordedParty,
    RecordedStep,
)
from fedbandits.recording.sentences import sentence
from fedbandits.recording.shown import fields_of, shown
from fedbandits.systems.guide import Guide

#: A recording has at most so many steps, and about so many bytes as JSON.
MOST_STEPS, MOST_BYTES = 20_000, 4_000_000
#: Who hears every message, and has no key.
LISTENER = "who listens"


class Recorder:
    """Watches parties, until there is no room for more steps.

    Parameters
    ----------
    guide
        What the system tells of its parties.
    codec
        Encodes the messages of the system.
    """

    def __init__(self, guide: Guide, codec: Codec) -> None:
        self.parties: list[RecordedParty] = []
        self.steps: list[RecordedStep] = []
        #: The round that is played; whoever drives the run sets it.
        self.round: int | None = None
        #: Whether steps were left out.
        self.is_full = False
        self._guide, self._codec = guide, codec
        self._last: dict[str, dict[str, Any]] = {}
        self._bytes = 0

    def meet(self, party: Any) -> None:
        """Note a party's first state."""
        first = fields_of(party.state)
        self.parties.append(RecordedParty(party.name, party.role, first))
        self._last[party.name] = first

    def see(self, happened: Happened) -> None:
        """Note a step."""
        if self.is_full:
            return
        step = self._step(happened)
        self._bytes += len(msgspec.json.encode(step))
        self.is_full = len(self.steps) == MOST_STEPS or self._bytes > MOST_BYTES
        if not self.is_full:
            self.steps.append(step)

    def _step(self, happened: Happened) -> RecordedStep:
        party, event = happened.party, happened.event
        name, was = type(event).__name__, happened.before.stage
        received = event if isinstance(event, Message) else None
        return RecordedStep(
            party=party.name, role=party.role, was=was, event=name, round=self.round,
            changed=self._changes(party),
            sent=tuple(map(self._message, happened.sent)),
            message=None if received is None else self._message(received),
            reads=() if received is None else self._readings(happened),
            told=_told(happened), sentence=sentence(happened, self._guide), key=f"{was} {name}",
            releases=any(map(self._releases, happened.sent)), pulls=isinstance(event, Observe),
        )  # fmt: skip

    def _changes(self, party: Any) -> dict[str, Any]:
        """Return the fields that look different from before."""
        before, now = self._last[party.name], fields_of(party.state)
        self._last[party.name] = now
        return {name: value for name, value in now.items() if before[name] != value}

    def _message(self, message: Message) -> RecordedMessage:
        size, fields = len(self._codec.encode(message)), fields_of(message)
        kind = type(message).__name__
        return RecordedMessage(kind, message.sender, message.receiver, size, fields)

    def _readings(self, happened: Happened) -> tuple[Reading, ...]:
        passage = self._guide.passages.get(type(happened.event).__name__)
        if passage is None:
            return ()
        heard = passage.heard or passage.reads
        return (
            Reading(happened.party.name, passage.reads(happened)),
            Reading(LISTENER, heard(happened)),
        )

    def _releases(self, message: Message) -> bool:
        """Tell whether a message is a release; what is passed on was released by another party."""
        passage = self._guide.passages.get(type(message).__name__)
        own = getattr(message, "origin", message.sender) == message.sender
        return passage is not None and passage.releases and own


def _told(happened: Happened) -> Any:
    event = happened.event
    if isinstance(event, Decide):
        return shown(happened.answer.action)
    return shown(event.outcome) if isinstance(event, Observe) else None
