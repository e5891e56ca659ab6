"""The guide of FCLUB as published: local servers, and a global one that merges clusters.

Source of the lines: Liu et al. 2022, Algorithms 1 to 4. The noise is Algorithm 5.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fedbandits.federation.watching import Happened
from fedbandits.systems.fclub_published.plan import PublishedFCLUBPlan
from fedbandits.systems.guide import Guide, Passage, line, numbers
from fedbandits.systems.servers.application import guide_of, sums_reader

_SERVER = (
    line("begin with all own users in one cluster", "starting Start"),
    line("for each own user that comes:"),
    line("  recommend the item with the greatest score in the cluster's model", "* Decide"),
    line("  observe the reward; add the record to the user's and the cluster's sums", "* Observe"),
    line("  (a reward that will never come: close the decision)", "* LetGo"),
    line("  if the cluster's determinant has grown enough: upload its buffer", "* Observe",
         sends="Upload"),
    line("  (where all is shared at once: send the record)", "* Observe", sends="Observation"),
    line("  add what the cluster lacked", "* Download"),
    line("  (where all is shared at once: learn a record of another server)",
         "* SharedObservation"),
    line("when a phase begins: split clusters of users who are not alike", "* EndRound"),
    line("  report the clusters and their sums, under noise", "* EndRound", "starting Start",
         sends="PhaseReport"),
    line("  take over what the global clusters know", "* Partition"),
    line("  if nobody answers: go on with the clusters that there are", "reporting Deadline"),
)  # fmt: skip
_GLOBAL = (
    line("collect the clusters of every server", "* PhaseReport"),
    line("when all have come: merge those that are alike; tell each server", "* PhaseReport",
         sends="Partition"),
    line("if some are late: merge the newest ones", "serving Deadline"),
    line("add an upload to its global cluster", "* Upload"),
    line("if that has grown enough: send each of its clusters what it lacks", "* Upload",
         sends="Download"),
    line("(where all is shared at once: pass a record on)", "* Observation"),
)  # fmt: skip


def guide(plan: PublishedFCLUBPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    sums = sums_reader(plan, plan.size + 1, off)
    return guide_of(
        plan, _SERVER, _GLOBAL,
        {
            "PhaseReport": Passage("clusters and their sums", sums, releases=True),
            "Partition": Passage("global clusters", sums, releases=True),
            "Upload": Passage("a cluster's new sums", sums, releases=True),
            "Download": Passage("sums that a cluster lacks", sums, releases=True),
            "Observation": Passage("a record", _reads_record, releases=True),
            "SharedObservation": Passage("a record of another server", _reads_record),
        },
    )  # fmt: skip


def _reads_record(happened: Happened) -> str:
    message: Any = happened.event
    return f"One record, x and then y, in clear: {numbers(np.frombuffer(message.record))}."
