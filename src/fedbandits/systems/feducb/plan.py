"""The plan of FedUCB with a controller: its numbers, its claim, and its guide.

The lines of the guide are from Dubey & Pentland (2020), Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from fedbandits.facts import ContextualFacts
from fedbandits.federation.watching import Happened
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.claim import ACTS, EVERY_ROUND, claim_towards, protections, sums_in
from fedbandits.systems.agents.config import Determinant, Never
from fedbandits.systems.agents.plan import AgentsPlan, Pooling, plan_pooling
from fedbandits.systems.aggregation import secure_totals
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.guide import Guide, Passage, line
from fedbandits.systems.guide_of_sums import MEMBER, PSEUDOCODE, passages
from fedbandits.systems.secure_claim import claim_sums
from fedbandits.systems.weakened import without_supplies


def make_plan(config: FedUCB, facts: ContextualFacts, rounds: int) -> AgentsPlan:
    """Work out the plan of all parties: a controller adds up the releases of all agents.

    Raises
    ------
    ConfigError
        See :func:`~fedbandits.systems.agents.plan.plan_pooling`.
    """
    agents = facts.parties
    pooling = Pooling(
        agents, sums=1, orders=agents if config.local_view == "raw" else 1,
        secure=secure_totals(config.aggregation, agents),
    )  # fmt: skip
    return plan_pooling(config, facts, rounds, pooling)


_EVERYBODY = "the controller and all other agents together, even if they see all messages ever sent"
_ROUNDS = "The sync rounds are fixed in advance and public."


def claim(plan: AgentsPlan) -> PrivacyClaim:
    """Return the claim of one agent towards everyone else, for a whole run."""
    public = () if isinstance(plan.config.schedule, Determinant | Never) else (_ROUNDS,)
    claimed = claim_towards(_EVERYBODY, plan, public)
    if plan.secure is None:
        return claimed
    agents, weighed = plan.constants.agents, plan.constants.own_view
    return claim_sums(claimed, plan.secure, agents, "agents", weighed)


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
