"""Recordings: the parties of one run, and all their steps, as plain values."""

from __future__ import annotations

from typing import Any

import msgspec


class RecordedMessage(
    msgspec.Struct, frozen=True, rename={"kind": "type", "sender": "from", "receiver": "to"}
):
    """A sent message.

    Parameters
    ----------
    kind
        Name of the message type.
    sender, receiver
        Names of both parties.
    size
        Number of bytes of the encoded message.
    fields
        The content as plain values.
    """

    kind: str
    sender: str
    receiver: str
    size: int
    fields: dict[str, Any]


class Reading(msgspec.Struct, frozen=True):
    """Reading of a message by its receiver or by a listener.

    Parameters
    ----------
    who
        Name of the reader.
    text
        The content that the reader can make out, in words.
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
        Name of the local event, or of the type of the received message.
    round
        The round. None before the first one.
    changed
        The changed fields of the state, with their values after the event.
    sent
        The messages that the party sends at this event.
    message
        The received message, if the event is a message.
    reads
        Readings of the message by the receiver and by a listener without keys.
    told
        The decision, or the outcome. None for other events.
    sentence
        The step in a sentence.
    key
        Stage and event, which name the lines of pseudocode.
    releases
        Whether the party sends a release that a privacy claim covers, or a sync.
    pulls
        Whether the party observes an outcome.
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
        Name and role of the party.
    first
        The fields of the first state.
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
        The message that such a step sends; None for steps with any messages, or none.
    """

    text: str
    at: tuple[str, ...]
    sends: str | None


class Sight(msgspec.Struct, frozen=True):
    """A table of the data that participants see in the run.

    Parameters
    ----------
    who
        Names of the participants.
    rows
        For each datum its name, and its form at each participant: in clear, encrypted, not seen.
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
        Names of the protections that the run left out.
    parties
        All parties, ordered by role.
    steps
        All steps, in order.
    pseudocode
        Lines by role.
    sight
        The table of sights. None for systems without such a table.
    attack
        Findings of an attacker in this run, in words. None without an attack.
    cut
        Whether the run has more steps than the recording.
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
        """Return the fields of a party's state after the first ``after`` steps; by default all.

        Parameters
        ----------
        party
            Name of the party.
        after
            Number of steps of the recording.
        """
        (state,) = (dict(known.first) for known in self.parties if known.name == party)
        for step in self.steps[:after]:
            if step.party == party:
                state |= step.changed
        return state
