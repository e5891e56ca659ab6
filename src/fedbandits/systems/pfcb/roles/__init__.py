"""P-FCB's buyers, as parties that broadcast reports to one another.

Nobody waits for anybody. A buyer decides by its last books while reports are exchanged. At a
deadline it takes what has come; whose report is missing is not in its books.
"""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.pfcb.messages import TABLE
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buyer import Buyer, BuyerSupply

__all__ = ["Buyer", "BuyerSupply", "roles"]


def roles(plan: PFCBPlan) -> Roles:
    """Return buyers that report to one another."""
    buyers = tuple(f"buyer-{j}" for j in range(plan.constants.agents))
    buyer = Role("buyer", buyers, lambda seat, own: Buyer(seat, plan, own), acts=True)
    return Roles((buyer,), TABLE, outcomes_may_be_late=plan.late)
