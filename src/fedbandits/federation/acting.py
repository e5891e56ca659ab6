"""Parties that make decisions and learn from the outcomes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decide, Decision, LetGo, Observe
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.state import AnyState


class ActingParty(Party[AnyState]):
    """A party that makes decisions and learns from their outcomes.

    Each kind of environment has its own types of situation, action and outcome. Many decisions may
    be open at once, and outcomes may arrive in any order. ``state.decisions`` is the number of
    decisions made, and ``state.open`` holds the open decisions by number. A subclass whose state is
    different overrides the properties.
    """

    @property
    def decisions_made(self) -> int:
        return int(self._state.decisions)  # type: ignore[attr-defined]

    @property
    def open_decisions(self) -> Collection[int] | None:
        open_decisions: Collection[int] = self._state.open  # type: ignore[attr-defined]
        return open_decisions

    @property
    def records_kept(self) -> int:
        """Number of records that wait for releases after the next, in most states ``kept``."""
        return len(getattr(self._state, "kept", ()))

    @property
    def others_count_as(self) -> float | None:
        """Number of own records that inform the party as much as others' records by the last sync.

        None before the first sync, without own records, and for systems without this number. The
        number is computed from own records without noise: it is for the party's own organisation
        alone.
        """
        return None

    def decide(self, situation: Any) -> Decision:
        """Decide on an action in ``situation``.

        Raises
        ------
        LocalProtocolError
            If the party may not decide now, or ``situation`` is malformed. The party has not
            changed.
        """
        answer: Decision = self.handle(Decide(situation)).answer
        return answer

    def observe(self, decision: Decision, outcome: Any) -> list[Message]:
        """Learn from the ``outcome`` of ``decision``, and return the messages to send.

        Raises
        ------
        LocalProtocolError
            If no such decision is open. The party has not changed.
        BoundExceededError
            If the record is outside the bounds on which the privacy guarantee depends. The party
            has not changed, and the decision stays open.
        """
        if not _is_numbered(decision):
            raise LocalProtocolError(
                f"{self.name}: an outcome needs the Decision that it belongs to"
            )
        return self.handle(Observe(decision, outcome)).outgoing

    def let_go(self, decision: Decision) -> list[Message]:
        """Close ``decision``, whose outcome will never be known; return the messages to send.

        Nothing is learned from the decision, and no release contains it. A privacy guarantee holds
        as before, because a missing record is within every bound.

        Raises
        ------
        LocalProtocolError
            If no such decision is open, or the system does not support this event. The party has
            not changed.
        """
        if not _is_numbered(decision):
            raise LocalProtocolError(
                f"{self.name}: letting go of a decision needs the Decision itself"
            )
        return self.handle(LetGo(decision)).outgoing


def _is_numbered(decision: Any) -> bool:
    """Tell whether an application's value is a decision with a number of Python's own."""
    return isinstance(decision, Decision) and type(decision.number) is int
