"""Reports of a hosted party: a view of it after each commit, and what it has spent.

No context, no reward and no statistic is in them. One number rests on own records without noise:
how far others' records count. It is in the party's own status, and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.privacy.ledger import Statement


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A party from outside, as of its last commit.

    The ``stage`` is where it stands in its table of transitions; it is empty before the party
    begins. See :class:`.party.Party` for ``awaited``, ``next_end`` and ``round_to_act``. ``open``
    is how many decisions wait for their reward, and ``events`` how many it has taken since it
    exists.

    ``messages`` counts messages by what they came to, and ``sent`` those that have left.
    ``given_up`` messages of peers never came. ``refusals`` are names of errors, and how often;
    ``last_refusal`` is the newest one, in a line. See :class:`.party.Party` for ``report``,
    ``hands_over_to``, ``gift``, ``heard_of``, ``opened`` and ``waits_for_sum``.

    ``kept`` records are of no release up to the next, and ``last_counted`` is the last decision
    that any release can be about; None where there is no limit.

    ``others_count_as`` is how many own records tell the party as much as others did; see
    :attr:`.acting.ActingParty.others_count_as`.
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
    report: Mapping[str, Any] = {}
    hands_over_to: Callable[[str], bool] = lambda _: True
    gift: Callable[[str], bytes | None] = lambda _: None
    heard_of: Callable[[str], int] = lambda _: 0
    opened: int | None = None
    waits_for_sum: bool = False
    kept: int = 0
    last_counted: int | None = None
    others_count_as: float | None = None

    @property
    def never_counted(self) -> int:
        """Number of decisions beyond those that all releases together are about."""
        return 0 if self.last_counted is None else max(0, self.decisions - self.last_counted)

    @property
    def uncounted(self) -> str:
        """Text that says what is wrong if some decisions never count; empty while all will."""
        if not self.never_counted:
            return ""
        return (
            f"{max(0, self.kept - self.never_counted):,} records wait for a later release, and "
            f"{self.never_counted:,} decisions never count: all releases together are about the "
            f"first {self.last_counted:,}. Agree on terms with longer releases, such as a larger "
            "schedule, or more rounds"
        )

    @property
    def is_exchanging(self) -> bool:
        """True while it waits for what others release."""
        return self.waits_for_sum or self.stage in ("waiting", "exchanging")

    def told(self) -> dict[str, Any]:
        """Return what the status of a party says of this, by name."""
        return {
            "stage": self.stage,
            "decisions": self.decisions,
            "open_decisions": self.open,
            "records_waiting": max(0, self.kept - self.never_counted),
            "records_never": self.never_counted,
            "others_count_as": self.others_count_as,
            "events": self.events,
            "messages": {**self.messages, "sent": self.sent, "given_up": self.given_up},
            "refusals": self.refusals,
            "last_refusal": self.last_refusal,
            "sums": dict(self.report),
        }

    def after(self, batch: Batch) -> View:
        """Return the view after a batch of events."""
        if batch.hosted is None:
            return self
        party = batch.hosted.party
        messages, refusals = self.messages, self.refusals
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
            sent=self.sent + len(batch.outgoing),
            given_up=sum(link.given_up for link in party.links.values()),
            refusals=refusals,
            last_refusal=batch.last_refusal or self.last_refusal,
            hands_over_to=party.hands_over_to,
            gift=party.gift,
            heard_of=party.heard_of,
            opened=party.opened,
            waits_for_sum=party.waits_for_sum,
            kept=getattr(party, "records_kept", 0),
            last_counted=batch.seat.federation.plan.schedule.last_counted,
            others_count_as=getattr(party, "others_count_as", None),
            report=_by_member(party.report, batch),
        )


def _by_member(report: Mapping[str, Any], batch: Batch) -> Mapping[str, Any]:
    """Put members' names in the place of their parties', in lists and tables of a report."""
    members = batch.seat.federation.member_of

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [members.get(party, party) for party in value]
        if isinstance(value, dict):
            return {members.get(party, party): named(each) for party, each in value.items()}
        return value

    return {name: named(value) for name, value in report.items()}


def privacy_of(seat: HostedSeat, exhausted: bool, spent: Statement | None) -> dict[str, Any]:
    """Report the claim, and what was spent and is left, in plain values.

    It is ``exhausted`` once the ledger has refused a release. ``spent`` is the account, None where
    nothing is charged.
    """
    claim = seat.claim
    told: dict[str, Any] = {
        "party": seat.member,
        "claim": claim.headline,
        "unit": claim.unit,
        "from_whom": claim.from_whom,
        "views": msgspec.to_builtins(claim.views),
        "conditional_on": list(claim.conditional_on),
        "not_protected": msgspec.to_builtins(claim.not_protected),
        "exhausted": exhausted,
    }
    if spent is None:
        return told
    return told | {
        "releases": spent.charges,
        "releases_planned": seat.federation.plan.schedule.releases,
        "last_release": spent.last,
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "epsilon_spent": spent.spent_epsilon,
        "epsilon_left": spent.left_epsilon,
    }
