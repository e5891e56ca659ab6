"""Privacy claim of a peer-to-peer FedUCB variant, and what it should be warned of."""

from __future__ import annotations

from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.claim import claim_towards
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.feducb_p2p.plan import PeerPlan

_OTHERS = (
    "all other agents together, even if they see all messages ever sent (a message that is passed "
    "on is an exact copy and costs nothing more)"
)
_GRAPH = "The graph and γ are public."
_ROUNDS = "The graph, γ and the rounds of release are public and fixed in advance."


def claim(plan: PeerPlan) -> PrivacyClaim:
    """Return the claim of one agent towards all others, for a whole run.

    An agent's releases are one running sum. Where it keeps several estimators, each record is in
    only one of their sums, so the price is that of one sum.
    """
    public = _GRAPH if isinstance(plan.config.schedule, Determinant) else _ROUNDS
    return claim_towards(_OTHERS, plan, (public,))


def cautions(plan: PeerPlan) -> tuple[str, ...]:
    """Warn of what can be run, but hardly makes sense."""
    gamma, diameter = plan.peers.gamma, plan.topology.diameter
    if gamma <= max(diameter, 1):
        return ()
    price = (
        f"; {gamma} estimators share the rounds where {diameter} would do"
        if isinstance(plan.config.schedule, Determinant)
        else ""
    )
    return (
        f"gamma: given {gamma}, but no two agents of this graph are more than {diameter} "
        f"hops apart: messages are passed on in vain{price}",
    )
