"""A view of a hosted party, as of its last commit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fedbandits.deployment.hosting.events import Hands
    from fedbandits.deployment.hosting.writing import Batch


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A party from outside. No context, no reward, no statistic is in it.

    Parameters
    ----------
    stage
        Where it stands in its table of transitions; empty before it begins.
    awaited, next_end, round_to_act
        See :class:`.party.Party`.
    decisions, open
        How many decisions were made, and how many wait for their reward.
    events
        How many events it has taken since it exists.
    messages
        How many messages came to what.
    sent
        How many messages have left.
    given_up
        How many messages of peers never came.
    refusals
        Why messages were refused: names of errors, and how often.
    last_refusal
        The newest one, in a line.
    """

    stage: str = ""
    awaited: int | None = None
    next_end: int | None = None
    round_to_act: int | None = None
    decisions: int = 0
    open: int = 0
    events: int = 0
    messages: dict[str, int] = {}
    sent: int = 0
    given_up: int = 0
    refusals: dict[str, int] = {}
    last_refusal: str = ""

    @property
    def is_exchanging(self) -> bool:
        """Whether it waits for what others release."""
        return self.stage in ("waiting", "exchanging")


def view_of(hands: Hands | None, before: View, batch: Batch) -> View:
    """The view after a batch of events."""
    if hands is None:
        return before
    party = hands.party
    messages, refusals = before.messages, before.refusals
    if batch.outcomes:
        messages = dict(Counter(messages) + Counter(batch.outcomes))
        refusals = dict(Counter(refusals) + Counter(batch.refusals))
    return View(
        stage=party.stage,
        awaited=party.awaited,
        next_end=party.next_end,
        round_to_act=party.round_to_act,
        decisions=party.decisions_made,
        open=len(party.open_decisions or ()),
        events=batch.event,
        messages=messages,
        sent=before.sent + len(batch.outgoing),
        given_up=sum(link.given_up for link in party.links.values()),
        refusals=refusals,
        last_refusal=batch.last_refusal or before.last_refusal,
    )
