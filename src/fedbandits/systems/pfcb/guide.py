"""P-FCB's guide: buyers that report to one another, or to secure sums.

Source of the lines: Solanki et al. 2022, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from fedbandits.federation.messages import unpack
from fedbandits.federation.watching import Happened
from fedbandits.systems.guide import Acts, Guide, Passage, line, numbers
from fedbandits.systems.guide_of_sums import MASKS, MEMBER, PSEUDOCODE, passages
from fedbandits.systems.pfcb.kernels import CLEAR
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.weakened import without_supplies

_ACTS = Acts("buys, by producer, {} units", "finds, by producer, {} good ones")
_NOISE = {"noise": "Counts leave a buyer under noise: a single purchase does not show in them."}
_EVERY_ROUND = (
    line("for t = 1 … T:"),
    line("  buy what earns most, as qualities are known, with enough good units", "* Decide"),
    line("  inspect: count units bought, and units found good, by producer", "* Observe"),
)
_BUYER = (
    *_EVERY_ROUND,
    line("  when a round of exchange ends: send both counts, under noise, to all", "* EndRound"),
    line("  collect the counts of all others; weigh those that agree with the own", "* Report"),
    line("  if some do not come: go on without them", "exchanging Deadline"),
)


def guide(plan: PFCBPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    private = plan.constants.reports != CLEAR
    noise = "under noise" if private and "noise" not in off else "without noise"
    clear = Guide(
        pseudocode={"buyer": _BUYER},
        passages={"Report": Passage("a report", _counts(plan, noise), releases=True)},
        acts=_ACTS,
        protections=_NOISE if private else {},
        without=without_supplies,
    )
    if plan.secure is None:
        return clear
    constants = plan.constants
    return clear._replace(
        pseudocode={"buyer": (*_EVERY_ROUND, *MEMBER), **PSEUDOCODE},
        passages=passages(off, constants.step, constants.release_size),
        protections={**clear.protections, **MASKS},
    )


def _counts(plan: PFCBPlan, noise: str) -> Callable[[Happened], str]:
    def reads(happened: Happened) -> str:
        message: Any = happened.event
        bought, good = unpack(message.sums, plan.constants.release_size).reshape(2, -1)
        return (
            f"By producer, {noise}: units that {message.sender} has bought, {numbers(bought)}; "
            f"found good, {numbers(good)}."
        )

    return reads
