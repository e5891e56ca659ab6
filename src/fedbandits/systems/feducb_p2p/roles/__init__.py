"""Peer-to-peer FedUCB as parties: everybody releases, passes on and pools; nobody leads.

What leaves an agent is a released running sum, and copies of what others released. The compiled
functions are those that the simulation calls, so the same seed gives the same run.

Nobody waits for anybody. A round ends when a public clock says so; what comes late is used when it
comes, and what comes early when its round is over.
"""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.feducb_p2p.messages import TABLE
from fedbandits.systems.feducb_p2p.plan import PeerPlan
from fedbandits.systems.feducb_p2p.roles.agent import PeerAgent


def roles(plan: PeerPlan) -> Roles:
    """Return agents, and nobody else."""
    agent = Role("agent", plan.agent_names, lambda seat, own: PeerAgent(seat, plan, own), acts=True)
    return Roles((agent,), TABLE, outcomes_may_be_late=True)
