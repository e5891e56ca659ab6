"""FedUCB's guide: agents and their controller, in clear or by secure sums.

Source of the lines: Dubey & Pentland 2020, Algorithm 1. The noise of a release is Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.federation.watching import Happened
from fedbandits.systems.agents.guide import ACTS, EVERY_ROUND, protections, sums_in
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.guide_of_sums import MEMBER, PSEUDOCODE, passages
from fedbandits.systems.weakened import without_supplies

_AGENT = (
    *EVERY_ROUND,
    line("  if det V has grown enough since the last sync: ask for one", "* Observe", "* LetGo",
         sends="SyncRequest"),
    line("  when a round of release ends, or the controller calls:", "* EndRound", "* SyncCall"),
    line("    send the own sums, under noise, to the controller", "* EndRound", "* SyncCall",
         sends="Upload"),
    line("  take over the sum of all releases; V and θ follow from it", "* Pooled"),
    line("  if no sum comes: go on without it", "waiting Deadline"),
)  # fmt: skip
_CONTROLLER = (
    line("when an agent asks for a sync: call all agents, once", "serving SyncRequest"),
    line("collect the release of each agent", "serving Upload"),
    line("when all have come: send their sum to all agents", "serving Upload", sends="Pooled"),
    line("if some are late: send the sum of the newest ones", "serving Deadline"),
)


def guide(plan: AgentsPlan, off: Collection[str] = ()) -> Guide:
    """Return a guide to the parties of a plan, in a run without some protections."""
    clear = Guide(
        pseudocode={"agent": _AGENT, "controller": _CONTROLLER},
        passages={
            "SyncRequest": Passage("a request for a sync", _reads_request),
            "SyncCall": Passage("a call for a sync", _reads_call),
            "Upload": Passage("a release", sums_in(plan, off, "The sums of {}"), releases=True),
            "Pooled": Passage(
                "the sum of all releases", sums_in(plan, off, "The sums of all"), releases=True
            ),
        },
        acts=ACTS,
        protections=protections(plan),
        without=without_supplies,
    )
    if plan.secure is None:
        return clear
    constants = plan.constants
    return clear._replace(
        pseudocode={"agent": (*EVERY_ROUND, *MEMBER), **PSEUDOCODE},
        passages=passages(off, constants.step, constants.release_size),
    )


def _reads_request(happened: Happened) -> str:
    message: Any = happened.event
    return f"The trigger of {message.sender} has fired: this follows from raw data."


def _reads_call(happened: Happened) -> str:
    message: Any = happened.event
    return f"All are to release for sum {message.release}: some agent's trigger has fired."
