"""Lines of the log and of the status about totals that agents got otherwise."""

from __future__ import annotations

import logging

import pytest

from fedbandits.cli.federation_tables import _about_sums
from fedbandits.deployment.hosting.reports import Notices

AGENT = {
    "sums": 7, "unused_sums": 1, "retired": False, "other_total": 6, "disputed_total": 0,
    "told_otherwise_by": ["hub"], "acts_on_totals": False,
}  # fmt: skip
DISPUTE = {**AGENT, "other_total": 0, "disputed_total": 5}
CONTROLLER = {
    "sums": 7, "members_of_last_sum": 3, "left_out": [], "unbelieved": {},
    "differing": {"lab": ["clinic-1"]}, "refused_by": ["lab"],
}  # fmt: skip
HELPER = {"sums": 7, "members_of_last_sum": 3, "disputed_total": 5}


@pytest.mark.parametrize(
    ("report", "logged", "shown"),
    [
        (
            AGENT, "the controller, hub, gave this agent another total 6 than most others got",
            "the controller, hub, gave it another total 6 than most others got",
        ),
        (
            DISPUTE, "the controller, hub, gave agents different totals 5. The agent acts",
            "the controller, hub, gave agents different totals 5",
        ),
        (
            CONTROLLER, "lab left out clinic-1, who state another total than most",
            "lab left out clinic-1: another total than most",
        ),
        (
            {**AGENT, "other_total": 0, "told_otherwise_by": [], "missed_sums": 3},
            "was not told of 3 sums that others were in",
            "was not told of 3 sums that others were in",
        ),
        (
            HELPER, "more agents differ in total 5 than may lie",
            "sum 7 has 3 members",
        ),
    ],
)  # fmt: skip
def test_who_told_totals_otherwise_is_named_once(report, logged, shown, caplog):
    caplog.set_level(logging.WARNING, "fedbandits")
    notices = Notices("north")
    for _ in range(3):
        notices.look(report)
    assert caplog.text.count(logged) == 1
    assert "makes no estimate" not in caplog.text
    assert shown in _about_sums({"sums": report})


def test_only_what_is_wrong_is_a_warning(caplog):
    caplog.set_level(logging.INFO, "fedbandits")
    notices = Notices("hub")
    said = {"sums": 7, "members_of_last_sum": 2, "left_out": ["clinic-1"], "helpers_asked": 2,
            "helpers_awaited": ["lab"]}  # fmt: skip
    notices.look(said)
    notices.look({**said, "sums": 8, "members_of_last_sum": 3, "left_out": [],
                  "helpers_awaited": []})  # fmt: skip
    told = {record.getMessage(): record.levelname for record in caplog.records}
    assert told == {
        "hub: sum 8 waits for lab; all else goes on": "WARNING",
        "hub: sum 7 has 2 members; not in it: clinic-1": "WARNING",
        "hub: all helpers have answered": "INFO",
        "hub: sum 8 has 3 members; all are in it again": "INFO",
    }


def test_an_agent_that_acts_on_no_total_says_so():
    lines = _about_sums({"sums": AGENT})
    assert "acts on no total until most others confirm a later one" in lines
    assert _about_sums({"sums": {**AGENT, "told_otherwise_by": [], "acts_on_totals": True}}) == []
    lines = _about_sums({"sums": CONTROLLER})
    assert "lab opened nothing: more agents differ in totals than may lie" in lines
