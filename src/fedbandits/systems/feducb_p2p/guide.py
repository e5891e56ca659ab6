"""The guide of FedUCB peer to peer: agents on a graph.

Source of the lines: Dubey & Pentland 2020, Algorithm 3.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.federation.watching import Happened
from fedbandits.systems.agents.guide import ACTS, EVERY_ROUND, protections, sums_in
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.weakened import without_supplies

_AGENT = (
    *EVERY_ROUND,
    line("  when the round ends:", "ready EndRound"),
    line("    if det V has grown enough: call the own clique to release", "ready EndRound",
         sends="Call"),
    line("    if a release is due: send the own sums, under noise, to all neighbours",
         "ready EndRound", sends="Release"),
    line("    pass on what was heard, for at most γ hops", "ready EndRound"),
    line("  hear a release: use it from its round on", "ready Release"),
    line("  hear a call: release when its time has come", "ready Call"),
)  # fmt: skip


def guide(plan: PeerPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    sums = sums_in(plan, off, "Sums that {} tells")
    return Guide(
        pseudocode={"agent": _AGENT},
        passages={
            "Release": Passage("a release", lambda happened: _from(happened) + sums(happened),
                               releases=True),
            "Call": Passage("a call for a sync", _reads_call),
        },
        acts=ACTS,
        protections=protections(plan),
        without=without_supplies,
    )  # fmt: skip


def _from(happened: Happened) -> str:
    message: Any = happened.event
    if message.origin == message.sender:
        return ""
    return f"Release {message.release} of {message.origin}, passed on. "


def _reads_call(happened: Happened) -> str:
    message: Any = happened.event
    return f"The trigger of {message.origin} fired in round {message.round}: it tells of raw data."
