"""Privacy claim of a FedUCB variant with a controller."""

from __future__ import annotations

from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.claim import claim_towards
from fedbandits.systems.agents.config import Determinant, Never
from fedbandits.systems.agents.plan import AgentsPlan
from fedbandits.systems.secure_claim import claim_sums

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
