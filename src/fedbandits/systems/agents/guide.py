"""Guides of linear agents: words and lines that several systems share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from fedbandits.federation.messages import unpack
from fedbandits.federation.watching import Happened
from fedbandits.privacy.continual import ContinualPlan
from fedbandits.systems.guide import Acts, line, numbers
from fedbandits.systems.guide_of_sums import MASKS
from fedbandits.systems.secure_sums import SumsPlan

ACTS = Acts("chooses arm {}", "observes the reward {}")
#: What agents do in every round, whatever they send.
EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  choose the arm x with the greatest xᵀθ + β‖x‖ in the inverse of V", "* Decide"),
    line("  observe the reward y; add x xᵀ and x y to the own sums", "* Observe"),
    line("  (a reward that will never come: close the decision)", "* LetGo"),
)
_NOISE = {"noise": "Sums leave an agent under noise: a single record does not show in them."}


class ReleasingPlan(SumsPlan, Protocol):
    """A plan of agents that release sums, in clear or under noise."""

    @property
    def release(self) -> ContinualPlan:
        """The mechanism of their releases."""


def protections(plan: ReleasingPlan) -> Mapping[str, str]:
    """Return what a run may be shown without."""
    noise = _NOISE if plan.release.slots else {}
    return noise | MASKS if plan.secure is not None else noise


def sums_in(plan: ReleasingPlan, off: Collection[str], what: str) -> Callable[[Happened], str]:
    """Return a function that reads the numbers of a statistic, which anybody can.

    ``what`` says whose they are: ``{}`` stands for the message's sender.
    """
    noise = "under noise" if plan.release.slots and "noise" not in off else "without noise"

    def reads(happened: Happened) -> str:
        message: Any = happened.event
        values = unpack(message.statistic, plan.constants.release_size)
        return f"{what.format(message.sender)}, {noise}: {numbers(values)}."

    return reads
