"""The parties of a silent run: those of a published one, and a dealer."""

from __future__ import annotations

from math import inf
from typing import Any

from fedbandits.federation.roles import MessageTable, Role
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles import names
from fedbandits.systems.samba.roles.customer import Customer
from fedbandits.systems.samba.roles.names import COMP, CONTROLLER, CUSTOMER, DEALER, OWNER
from fedbandits.systems.samba.silent.messages import TABLES
from fedbandits.systems.samba.silent.roles import supplies
from fedbandits.systems.samba.silent.roles.comp import SilentComp
from fedbandits.systems.samba.silent.roles.controller import SilentController
from fedbandits.systems.samba.silent.roles.customer import SharesCustomer
from fedbandits.systems.samba.silent.roles.dealer import Dealer
from fedbandits.systems.samba.silent.roles.owner import SilentOwner
from fedbandits.systems.samba.silent.streams import PACKETS, PADS, SilentSecrets, owners_secret
from fedbandits.systems.samba.streams import SimulatedSecrets


def roles_and_table(
    plan: SambaPlan, owners: tuple[str, ...]
) -> tuple[tuple[Role, ...], MessageTable]:
    """Who takes part, and sends what to whom; owner i has arm i."""
    # As in a published run, the Controller gives up first, and says why. Nobody waits for a dealer
    # but servers: it waits for the run, as the customer does.
    customer = SharesCustomer if plan.config.total == "shares" else Customer
    roles = (
        Role(OWNER, owners, lambda seat, own: SilentOwner(seat, plan, own), True, 3.0),
        Role(CONTROLLER, (CONTROLLER,), lambda seat, own: SilentController(seat, plan, own)),
        Role(COMP, (COMP,), lambda seat, own: SilentComp(seat, plan, own), False, 2.0),
        Role(CUSTOMER, (CUSTOMER,), lambda seat, own: customer(seat, plan, own), False, inf),
        Role(DEALER, (DEALER,), lambda seat, own: Dealer(seat, plan, own), False, inf),
    )
    return roles, TABLES[plan.config.total]


def simulated_supply(simulated: SimulatedSecrets, role: str, owner: str, draws: Any) -> Any:
    """What a party brings to a simulation: secrets that protect nobody.

    Parameters
    ----------
    simulated
        What the seed gives.
    role, owner
        Which party it is; an owner by its name.
    draws
        Key of an owner's own draws.
    """
    secrets = SilentSecrets.simulated(simulated)
    pads, packets, link, first, second, bill, receipt = secrets
    match role:
        case names.CONTROLLER:
            return supplies.ControllerSupply(
                simulated.controller, simulated.run, packets, link, first, bill
            )
        case names.COMP:
            return supplies.CompSupply(pads, link, second, receipt)
        case names.DEALER:
            return supplies.DealerSupply(first, second)
        case names.CUSTOMER:
            return supplies.CustomerSupply(bill, receipt)
    return supplies.OwnerSupply(
        owners_secret(pads, PADS, owner), owners_secret(packets, PACKETS, owner),
        simulated.owners, draws,
    )  # fmt: skip
