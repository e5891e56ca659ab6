"""Local events of a party, which its driver brings."""

from __future__ import annotations

from typing import Any

import msgspec


class Decision(msgspec.Struct, frozen=True):
    """A decision, with the number by which its outcome is reported later.

    Parameters
    ----------
    number
        Number of the decision; the first decision of a party has number 1.
    action
        The chosen action.
    """

    number: int
    action: Any


class Event(msgspec.Struct, frozen=True, gc=False):
    """A local event, which a driver brings to a party."""


class Start(Event, frozen=True):
    """The run begins."""


class Decide(Event, frozen=True):
    """A request for a decision."""

    situation: Any


class Observe(Event, frozen=True):
    """The outcome of a decision is known."""

    decision: Decision
    outcome: Any


class LetGo(Event, frozen=True):
    """The outcome of a decision will never be known."""

    decision: Decision


class EndRound(Event, frozen=True):
    """A round is over for all parties."""

    round_: int


class Deadline(Event, frozen=True):
    """The wait of a party for other parties is over."""

    number: int
