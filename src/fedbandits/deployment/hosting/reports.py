"""Reports of a hosted party: a view after each commit, notices in the log, and the privacy spent.

No context, no reward and no statistic is in them. One number rests on own records without noise:
how far others' records count. It is in the party's own status, and nowhere else.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.seat import HostedSeat
from fedbandits.federation.party import Party
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
        if not batch.exchanges:
            return self._after_decisions(party, batch.event)
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
            last_counted=self.last_counted,
            others_count_as=getattr(party, "others_count_as", None),
            report=_by_member(party.report, batch),
        )

    def _after_decisions(self, party: Party[Any], event: int) -> View:
        """Return the view after decisions and rewards alone: it is made with every request."""
        return msgspec.structs.replace(
            self,
            stage=party.stage,
            next_end=party.next_end,
            round_to_act=party.round_to_act,
            decisions=party.decisions_made,
            open=len(party.open_decisions or ()),
            events=event,
            kept=getattr(party, "records_kept", 0),
            others_count_as=getattr(party, "others_count_as", None),
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


_LOG = logging.getLogger("fedbandits.deployment")


class Notices:
    """Writes news of a member's party about secure sums to the log, each of them once.

    The news are who has retired, who is waited for, and who was left out.
    """

    def __init__(self, member: str) -> None:
        self._member = member
        self._said: dict[str, object] = {}

    def look(self, report: Mapping[str, Any]) -> None:
        """Look at what the party reports after a commit; names in it are those of members."""
        if not report:
            return
        if report.get("retired") and self._is_new("retired", True):
            _LOG.error(
                "%s: has retired: what helpers confirm does not fit what it has sent. It sends "
                "nothing more under these terms, and goes on deciding",
                self._member,
            )
        unused = report.get("unused_sums")
        if unused and report.get("acts_on_totals") and self._is_new("unused", unused):
            _LOG.warning("%s: sum %d makes no estimate", self._member, report["sums"])
        self._look_for_false_totals(report)
        self._look_for_helpers(report)
        unbelieved = report.get("unbelieved", {})
        for helper, agents in unbelieved.items() if self._is_new("unbelieved", unbelieved) else ():
            _LOG.warning(
                "%s: %s did not believe %s, who is left out of the last sum: one of the two is at "
                "fault, or was put back", self._member, helper, ", ".join(agents),
            )  # fmt: skip
        left_out = report.get("left_out")
        if left_out is not None and self._is_new("left out", left_out):
            members = f"sum {report['sums']} has {report['members_of_last_sum']} members"
            if left_out:
                _LOG.warning("%s: %s; not in it: %s", self._member, members, ", ".join(left_out))
            else:
                _LOG.info("%s: %s; all are in it again", self._member, members)

    def _look_for_false_totals(self, report: Mapping[str, Any]) -> None:
        """Name a controller that tells agents different totals, and who has another than most."""
        missed = report.get("missed_sums", 0)
        if missed and self._is_new("missed", missed):
            _LOG.warning(
                "%s: was not told of %d sums that others were in: their totals were lost, or the "
                "controller keeps them back", self._member, missed,
            )  # fmt: skip
        by = ", ".join(report.get("told_otherwise_by", []))
        other, disputed = report.get("other_total", 0), report.get("disputed_total", 0)
        if other and self._is_new("other total", other):
            _LOG.error(
                "%s: the controller, %s, gave this agent another total %d than most others got. "
                "The agent acts on no total until most others confirm a later one",
                self._member, by, other,
            )  # fmt: skip
        if disputed and by and self._is_new("disputed total", disputed):
            _LOG.error(
                "%s: the controller, %s, gave agents different totals %d. The "
                "agent acts on no total until most others confirm a later one",
                self._member, by, disputed,
            )  # fmt: skip
        elif disputed and self._is_new("disputed total", disputed):
            _LOG.error(
                "%s: more agents differ in total %d than may lie: the controller told them "
                "different ones. No sum of them is opened", self._member, disputed,
            )  # fmt: skip
        differing = report.get("differing", {})
        for helper, agents in differing.items() if self._is_new("differing", differing) else ():
            _LOG.warning(
                "%s: %s left out %s, who state another total than most: the agent lies, or was "
                "told another one by this controller", self._member, helper, ", ".join(agents),
            )  # fmt: skip

    def _look_for_helpers(self, report: Mapping[str, Any]) -> None:
        """Name helpers that were asked again; each sum waits for them for a moment."""
        late = report.get("helpers_awaited", []) if report.get("helpers_asked", 0) > 1 else []
        if self._is_new("late", late):
            if late:
                _LOG.warning(
                    "%s: sum %d waits for %s; all else goes on",
                    self._member, report["sums"] + 1, ", ".join(late),
                )  # fmt: skip
            else:
                _LOG.info("%s: all helpers have answered", self._member)

    def _is_new(self, what: str, value: object) -> bool:
        """Note the value that was logged last under a name; return whether it is another one."""
        before = self._said.get(what) or None
        self._said[what] = value
        return (value or None) != before
