"""Recordings: the parties of one run, and all that happened to them, as plain values."""

from __future__ import annotations

from typing import Any

import msgspec


class RecordedMessage(
    msgspec.Struct, frozen=True, rename={"kind": "type", "sender": "from", "receiver": "to"}
):
    """A message that was sent.

    Parameters
    ----------
    kind
        Name of its type.
    sender, receiver
        Names of both parties.
    size
        Number of bytes, encoded.
    fields
        What is in it, as plain values.
    """

    kind: str
    sender: str
    receiver: str
    size: int
    fields: dict[str, Any]


class Reading(msgspec.Struct, frozen=True):
    """Reading of a message by somebody.

    Parameters
    ----------
    who
        Who reads it.
    text
        What it reads, in words.
    """

    who: str
    text: str


class RecordedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One event of one party.

    Parameters
    ----------
    party, role
        Name of the party, and its role.
    was
        The stage before the event.
    event
        Name of the event: of a local one, or of the type of the message.
    round
        The round. None before the first one.
    changed
        The fields of the state that have changed, after the event.
    sent
        The messages that the party sends.
    message
        The message that it has received, if the event is one.
    reads
        What the receiver, and somebody who listens, can make of that message.
    told
        The decision, or the outcome. None for other events.
    sentence
        The step in a sentence.
    key
        Stage and event, by which pseudocode is found.
    releases
        Whether something leaves that a privacy claim is about, or a sync.
    pulls
        Whether an outcome was observed.
    """

    party: str
    role: str
    was: str
    event: str
    round: int | None
    changed: dict[str, Any]
    sent: tuple[RecordedMessage, ...]
    message: RecordedMessage | None
    reads: tuple[Reading, ...]
    told: Any
    sentence: str
    key: str
    releases: bool
    pulls: bool


class RecordedParty(msgspec.Struct, frozen=True):
    """A party before the first step.

    Parameters
    ----------
    name, role
        Its name and its role.
    first
        The fields of its first state.
    """

    name: str
    role: str
    first: dict[str, Any]


class CodeLine(msgspec.Struct, frozen=True):
    """A line of pseudocode.

    Parameters
    ----------
    text
        The line.
    at
        Keys of the steps that carry it out.
    sends
        The message that such a step sends. None for any.
    """

    text: str
    at: tuple[str, ...]
    sends: str | None


class Sight(msgspec.Struct, frozen=True):
    """A table of who sees what in the run.

    Parameters
    ----------
    who
        Those who look.
    rows
        For each datum its name, and how each of them sees it.
    """

    who: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A run, step by step.

    Parameters
    ----------
    preset
        Name of the preset.
    off
        Protections that it was run without.
    parties
        All parties, ordered by role.
    steps
        All steps, in order.
    pseudocode
        Lines by role.
    sight
        Who sees what. None where nobody looks.
    attack
        What somebody found out in this run, in words. None where nobody tried.
    cut
        Whether the run has more steps than are here.
    """

    preset: str
    off: tuple[str, ...]
    parties: tuple[RecordedParty, ...]
    steps: tuple[RecordedStep, ...]
    pseudocode: dict[str, tuple[CodeLine, ...]]
    sight: Sight | None
    attack: str | None
    cut: bool

    def state_of(self, party: str, after: int | None = None) -> dict[str, Any]:
        """Return the fields of a party's state after so many steps; by default after all.

        Parameters
        ----------
        party
            Name of the party.
        after
            Number of steps of the recording.
        """
        (state,) = (dict(each.first) for each in self.parties if each.name == party)
        for step in self.steps[:after]:
            if step.party == party:
                state |= step.changed
        return state
