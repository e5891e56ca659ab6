"""The guide of a learner in plain Python: its agents, and who adds up what they share."""

from __future__ import annotations

from collections.abc import Collection

from fedbandits.systems.agents.guide import ACTS, protections, sums_in
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.guide_of_sums import MEMBER, PSEUDOCODE, passages
from fedbandits.systems.python_learners.plan import LearnerPlan
from fedbandits.systems.weakened import without_supplies

_EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  learner.decide: choose an arm", "ready Decide"),
    line("  learner.observe: learn from the reward; add its record to the own sums",
         "ready Observe"),
    line("  (a reward that will never come: close the decision)", "ready LetGo"),
)  # fmt: skip
_AGENT = (
    *_EVERY_ROUND,
    line("  when a round of release ends: send what the learner shares", "ready EndRound"),
    line("  learner.receive: go on from the sum of all", "ready Total"),
)
_CONTROLLER = (
    line("collect the release of each agent", "serving AgentRelease"),
    line("when all have come: send their sum to all agents", "serving AgentRelease",
         sends="Total"),
    line("if some are late: send the sum of the newest ones", "serving Deadline"),
)  # fmt: skip


def guide(plan: LearnerPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    release = Passage("a release", sums_in(plan, off, "What {} shares"), releases=True)
    total = Passage("the sum of all", sums_in(plan, off, "What all share"), releases=True)
    clear = Guide(
        pseudocode={"agent": _AGENT, "controller": _CONTROLLER},
        passages={"AgentRelease": release, "Total": total},
        acts=ACTS,
        protections=protections(plan),
        without=without_supplies,
    )
    if plan.secure is None:
        return clear
    return clear._replace(
        pseudocode={"agent": (*_EVERY_ROUND, *MEMBER), **PSEUDOCODE},
        passages=passages(off, plan.constants.step, plan.size),
    )
