"""Parties as sans-IO state machines.

A party never sleeps, reads a clock, opens a socket or draws from a global generator. It takes a
message or a local event and returns the messages to send. Which event is legal in which state is
one table. A misuse by the caller and a misbehaving peer are two different errors, and neither
changes the party's state.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from fedbandits.errors import LocalProtocolError
from fedbandits.federation.messages import VERSION as _VERSION
from fedbandits.federation.messages import (
    DuplicateError,
    Message,
    OutOfOrderError,
    UnknownMessageError,
    WrongSenderError,
    WrongVersionError,
    check_types,
)

#: ``{(state, event): next states}``; an event is a method's or a message type's name.
Transitions = Mapping[tuple[str, str], tuple[str, ...]]


class Party:
    """What all parties share: identity, state, numbering, checks.

    Parameters
    ----------
    name
        This party's name.
    state
        The state to begin in.
    peers
        Names of those that it exchanges messages with.
    senders
        For a type of message, who may send it; any peer where a type is not named.
    """

    #: Legal events, and the states that each may lead to.
    TRANSITIONS: ClassVar[Transitions] = {}

    def __init__(
        self,
        name: str,
        state: str,
        peers: Sequence[str],
        senders: Mapping[type[Message], Collection[str]] | None = None,
    ) -> None:
        self.name = name
        self._senders = {kind.__name__: frozenset(who) for kind, who in (senders or {}).items()}
        self._state = state
        self._received = dict.fromkeys(peers, 0)
        self._sent = dict.fromkeys(peers, 0)

    @property
    def state(self) -> str:
        """Where the party stands."""
        return self._state

    def start(self) -> list[Message]:
        """What is to be sent before the first round."""
        return []

    def receive(self, message: Message) -> list[Message]:
        """Take a message from a peer and return those to send.

        Raises
        ------
        RemoteProtocolError
            One of its kinds, naming what is wrong; nothing has changed then.
        WrongTypeError
            If it is no message at all; nothing has changed then.
        """
        check_types(message)
        self._check_envelope(message)
        event = type(message).__name__
        if (self._state, event) not in self.TRANSITIONS:
            known = any(event == name for _, name in self.TRANSITIONS)
            kind = OutOfOrderError if known else UnknownMessageError
            raise kind(f"{self.name}: {event} from {message.sender} while {self._state}")
        outgoing = self._handle(message)
        self._received[message.sender] += 1
        return outgoing

    @property
    def next_end(self) -> int | None:
        """The next round whose end this party must be told of, if it must be of any."""
        return None

    def end_round(self, round_: int) -> list[Message]:
        """A round is over for everybody; return what is to be sent.

        Where rounds of release are fixed in advance, releases leave here and nowhere else. A party
        makes them of what it has, by arithmetic that takes as long whatever the data are: noise
        was drawn before, and what is to be learned from a release waits until it has left. Told by
        a public clock, a party so sends at times that depend on no data. After an error nothing
        has changed: it can be told again.
        """
        del round_
        return []

    def _require_next_end(self, round_: int) -> None:
        """Refuse the end of another round than the one that is waited for."""
        self._require("end_round")
        if round_ != self.next_end:
            raise LocalProtocolError(f"{self.name}: end of round {round_}, not of {self.next_end}")

    def _handle(self, message: Message) -> list[Message]:
        """Act on a message whose envelope is right; must check before it changes anything."""
        raise NotImplementedError

    def _check_envelope(self, message: Message) -> None:
        if message.version != _VERSION:
            raise WrongVersionError(f"{self.name}: message of version {message.version}")
        if message.receiver != self.name or message.sender not in self._received:
            raise WrongSenderError(
                f"{self.name}: message from {message.sender!r} for {message.receiver!r}"
            )
        if message.sender not in self._senders.get(type(message).__name__, self._received):
            raise WrongSenderError(
                f"{self.name}: a {type(message).__name__} is not for {message.sender} to send"
            )
        expected = self._received[message.sender]
        if message.number < expected:
            raise DuplicateError(
                f"{self.name}: message {message.number} from {message.sender} again"
            )
        if message.number > expected:
            raise OutOfOrderError(
                f"{self.name}: message {message.number} from {message.sender}, expected {expected}"
            )

    def _require(self, event: str) -> None:
        """Refuse a local event that is not legal now."""
        if (self._state, event) not in self.TRANSITIONS:
            raise LocalProtocolError(f"{self.name}: {event} is not possible while {self._state}")

    def _move(self, event: str, state: str) -> None:
        """Go to another state, as the table allows."""
        if state not in self.TRANSITIONS.get((self._state, event), ()):
            raise LocalProtocolError(
                f"{self.name}: {event} does not lead from {self._state} to {state}"
            )
        self._state = state

    def _numbered(self, message: Message) -> Message:
        """The message with its number; every message is numbered once, when it is sent."""
        number = self._sent[message.receiver]
        self._sent[message.receiver] += 1
        return msgspec.structs.replace(message, number=number)


class ActingParty(Party):
    """A party that decides, and learns from what comes of it.

    What a situation, a decision and an outcome are belongs to the kind of environment.
    """

    @property
    def round_to_act(self) -> int | None:
        """The round that a message has told this party to act in, if one has."""
        return None

    def decide(self, situation: Any) -> Any:
        """Choose.

        Raises
        ------
        LocalProtocolError
            If it is not time to decide, or the situation is malformed. Nothing has changed then.
        """
        raise NotImplementedError

    def observe(self, decision: Any, outcome: Any) -> list[Message]:
        """Learn what came of the last decision, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If no such decision is open. Nothing has changed then.
        BoundExceededError
            If the record is not within the bounds that the guarantee rests on. Nothing has changed
            then: the party goes on waiting for an outcome.
        """
        raise NotImplementedError

    def _require_end(self, round_: int, last: int) -> None:
        """Refuse the end of another round than the last one played."""
        self._require("end_round")
        if round_ != last:
            raise LocalProtocolError(
                f"{self.name}: the end of round {round_}, but round {last} was played last"
            )
