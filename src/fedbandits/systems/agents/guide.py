"""Guides of linear agents: words and lines that several systems share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from fedbandits.federation.messages import unpack
from fedbandits.federation.watching import Happened
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.base import System
from fedbandits.systems.guide import Acts, Line, line, numbers
from fedbandits.systems.weakened import Weakened, noiseless

ACTS = Acts("chooses arm {}", "observes the reward {}")
#: What agents do in every round, whatever they send.
DECIDES = line("  choose the arm x with the greatest xᵀθ + β‖x‖ in the inverse of V", "* Decide")
LEARNS = line("  observe the reward y; add x xᵀ and x y to the own sums", "* Observe")
LETS_GO = line("  (a reward that will never come: close the decision)", "* LetGo")
EACH_ROUND: Line = line("for t = 1 … T:")


def protections(plan: AgentsPlan) -> Mapping[str, str]:
    """Return what a run may be shown without."""
    if not plan.release.slots:
        return {}
    return {"noise": "What leaves an agent is its sums under noise: single records do not show."}


def without(system: System[Any], off: Collection[str]) -> Weakened:
    """Return a system without the noise of its agents."""
    return Weakened(system, off, supplies=noiseless)


def sum_in(plan: AgentsPlan, off: Collection[str], what: str) -> Callable[[Happened], str]:
    """Return a function that reads the numbers of a statistic, which anybody can."""
    noise = "under noise" if plan.release.slots and "noise" not in off else "without noise"

    def reads(happened: Happened) -> str:
        message: Any = happened.event
        values = unpack(message.statistic, plan.constants.release_size)
        text = what.format(sender=message.sender, number=getattr(message, "release", 0))
        return f"{text}, {noise}: {numbers(values)}."

    return reads
