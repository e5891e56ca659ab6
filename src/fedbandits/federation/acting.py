"""Parties that decide, and learn from what comes of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.errors import LocalProtocolError
from fedbandits.federation.events import Decide, Decision, Observe
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.state import AnyState


class ActingParty(Party[AnyState]):
    """A party that decides, and learns from what comes of it.

    What a situation, an action and an outcome are belongs to the kind of environment. Many
    decisions may be open at once; outcomes come in any order. Its state counts them, in
    ``decisions``, and holds those that are open by their numbers, in ``open``; a party whose state
    does otherwise overrides the properties.
    """

    @property
    def decisions_made(self) -> int:
        return int(self._state.decisions)  # type: ignore[attr-defined]

    @property
    def open_decisions(self) -> Collection[int] | None:
        found: Collection[int] = self._state.open  # type: ignore[attr-defined]
        return found

    def decide(self, situation: Any) -> Decision:
        """Choose.

        Raises
        ------
        LocalProtocolError
            If it is not time to decide, or the situation is malformed. Nothing has changed then.
        """
        answer: Decision = self.handle(Decide(situation)).answer
        return answer

    def observe(self, decision: Decision, outcome: Any) -> list[Message]:
        """Learn what came of a decision, and return what is to be sent.

        Raises
        ------
        LocalProtocolError
            If no such decision is open. Nothing has changed then.
        BoundExceededError
            If the record is not within the bounds that the guarantee rests on. Nothing has changed
            then: the decision stays open.
        """
        if not isinstance(decision, Decision):
            raise LocalProtocolError(f"{self.name}: an outcome comes with its Decision")
        return self.handle(Observe(decision, outcome)).outgoing
