"""What a peer-to-peer FedUCB variant promises, and what it should be warned of."""

from __future__ import annotations

from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.graphs import topology
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.systems.agents.claim import claim_of_plan
from fedbandits.systems.agents.config import Determinant
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.plan import make_plan

_OTHERS = (
    "all other agents together, from all messages ever sent; copies that are passed on are the "
    "same bits and cost nothing more"
)
_GRAPH = "the graph and γ are public"
_ROUNDS = "the graph, γ and the rounds of release are public and fixed in advance"


def claim(config: PeerFedUCB, facts: ContextualFacts, rounds: int) -> PrivacyClaim:
    """The claim of one agent towards all others, for a whole run.

    An agent's releases are one running sum; where it keeps several estimators, each record is in
    one of their sums alone, so the price is that of one.
    """
    public = _GRAPH if isinstance(config.schedule, Determinant) else _ROUNDS
    plan = make_plan(config, facts, rounds)
    return claim_of_plan(config, facts, rounds, plan, _OTHERS, (public,))


def cautions(config: PeerFedUCB, facts: ContextualFacts, rounds: int) -> tuple[str, ...]:
    """What can be run, but hardly makes sense."""
    del rounds
    diameter = topology(config.graph, facts.parties).diameter
    if config.gamma <= max(diameter, 1):
        return ()
    price = (
        f"; {config.gamma} estimators share the rounds where {diameter} would do"
        if isinstance(config.schedule, Determinant)
        else ""
    )
    return (
        f"gamma: given {config.gamma}, but no two agents of this graph are more than {diameter} "
        f"hops apart: messages are passed on in vain{price}",
    )
