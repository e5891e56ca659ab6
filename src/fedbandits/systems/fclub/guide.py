"""FCLUB's guide: local servers, and a global one that hands on what they release.

The lines are this package's own. Those of the paper are in :mod:`..fclub_published.guide`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fedbandits.federation.watching import Happened
from fedbandits.systems.fclub.plan import FCLUBPlan
from fedbandits.systems.guide import Guide, Passage, line, numbers
from fedbandits.systems.servers.application import guide_of, noise_of

_SERVER = (
    line("for each own user that comes:"),
    line("  recommend the item with the greatest score in the user's model", "* Decide"),
    line("  observe the reward; add the record to the user's sums", "* Observe"),
    line("  (a reward that will never come: close the decision)", "* LetGo"),
    line("when a phase ends:", "* EndRound"),
    line("  send the sums of users, or of clusters, under noise", "* EndRound", sends="Release"),
    line("  find clusters in own sums and in what all others have released", "* Others"),
    line("  if nothing is handed out: go on with what is known", "waiting Deadline"),
)
_GLOBAL = (
    line("collect what each server releases", "serving Release"),
    line("when all have come: hand each what the others have released", "serving Release",
         sends="Others"),
    line("if some are late: hand out the newest of each", "serving Deadline"),
)  # fmt: skip


def guide(plan: FCLUBPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    noise = noise_of(plan, off)

    def sums(happened: Happened) -> str:
        message: Any = happened.event
        rows = np.frombuffer(message.sums).reshape(-1, plan.size)
        first = f"; the first: {numbers(rows[0])}" if len(rows) else ""
        return f"{len(rows)} rows of sums, {noise}{first}."

    return guide_of(
        plan, _SERVER, _GLOBAL,
        {
            "Release": Passage("a release", sums, releases=True),
            "Others": Passage("what others released", sums, releases=True),
        },
    )  # fmt: skip
