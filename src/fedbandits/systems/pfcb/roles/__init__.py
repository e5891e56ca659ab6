"""P-FCB's buyers, one organisation each, as parties.

They broadcast reports to one another. Or nobody sees more than sums of them: then buyers send to a
controller shares that it cannot read, and helpers take the masks off a whole sum, see
:mod:`fedbandits.federation.totals`.

Nobody waits for anybody. A buyer decides by its last books while reports are exchanged. At a
deadline it takes the reports that have come; a buyer without a report is not in its books.
"""

from __future__ import annotations

from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.totals.messages import table_of
from fedbandits.systems.pfcb.plan import PFCBPlan
from fedbandits.systems.pfcb.roles.buyer import TABLE, Buyer
from fedbandits.systems.pfcb.roles.secure_buyer import SecureBuyer
from fedbandits.systems.secure_sums import totals_roles

#: The role of buyers.
BUYER = "buyer"


def roles(plan: PFCBPlan) -> Roles:
    """Return buyers that report to one another, or to parties that add up."""
    if plan.secure is not None:
        buyer = Role(BUYER, plan.agent_names, lambda seat, own: SecureBuyer(seat, plan, own), True)
        summing = totals_roles(plan, BUYER)
        return Roles(
            (buyer, *summing),
            table_of(BUYER),
            outcomes_may_be_late=plan.late,
            rounds_are_shared=False,
        )
    buyer = Role(BUYER, plan.agent_names, lambda seat, own: Buyer(seat, plan, own), acts=True)
    return Roles((buyer,), TABLE, outcomes_may_be_late=plan.late)
