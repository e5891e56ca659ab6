"""Lines of the log about secure sums: who retired, who is waited for, and who was left out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

_LOG = logging.getLogger("fedbandits.deployment")


class Notices:
    """Says in the log what is new in the reports of one member's party, each thing once."""

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
            _LOG.warning(
                "%s: sum %d has %d members; not in it: %s", self._member, report["sums"],
                report["members_of_last_sum"], ", ".join(left_out) or "nobody",
            )  # fmt: skip

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
                _LOG.warning("%s: all helpers have answered", self._member)

    def _is_new(self, what: str, value: object) -> bool:
        """Note what is said of something; return whether that was not said last."""
        before = self._said.get(what) or None
        self._said[what] = value
        return (value or None) != before
