"""Which secrets the parties of a silent run share, and what each brings between machines.

Whoever has a secret stands in :mod:`.silent.streams`. The first data owner makes the one that all
owners have; no server is given it.
"""

from __future__ import annotations

from typing import Any

from fedbandits.systems.application import Resources, SharedSecret
from fedbandits.systems.samba.agreement import RUN_BYTES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles import names
from fedbandits.systems.samba.roles.names import COMP, CONTROLLER, CUSTOMER, DEALER, OWNER
from fedbandits.systems.samba.roles.supplies import own_draws
from fedbandits.systems.samba.silent.roles.supplies import (
    CompSupply,
    ControllerSupply,
    CustomerSupply,
    DealerSupply,
    OwnerSupply,
)
from fedbandits.systems.samba.silent.streams import (
    BILL,
    FIRST,
    LINK,
    OWNERS,
    PACKETS,
    PADS,
    RECEIPT,
    SECOND,
)

_SHARED = (
    SharedSecret(PADS, COMP, OWNER, each=True),
    SharedSecret(PACKETS, CONTROLLER, OWNER, each=True),
    SharedSecret(OWNERS, OWNER, OWNER),
    SharedSecret(LINK, CONTROLLER, COMP),
    SharedSecret(FIRST, DEALER, CONTROLLER),
    SharedSecret(SECOND, DEALER, COMP),
)
#: Where the total comes in two shares.
_BILLED = (SharedSecret(BILL, CONTROLLER, CUSTOMER), SharedSecret(RECEIPT, COMP, CUSTOMER))


def shared(plan: SambaPlan) -> tuple[SharedSecret, ...]:
    """Who makes which secret, and who is given it."""
    return _SHARED + _BILLED if plan.config.total == "shares" else _SHARED


def supply(role: str, place: int, resources: Resources) -> Any:
    """What a party brings, but for a customer who decrypts the total."""
    match role:
        case names.CONTROLLER:
            return ControllerSupply(
                resources.secret("controller"), resources.secret("run")[:RUN_BYTES],
                resources.secret(PACKETS), resources.secret(LINK), resources.shared(FIRST),
                resources.secret(BILL),
            )  # fmt: skip
        case names.COMP:
            return CompSupply(
                resources.secret(PADS), resources.shared(LINK), resources.shared(SECOND),
                resources.secret(RECEIPT),
            )  # fmt: skip
        case names.DEALER:
            return DealerSupply(resources.secret(FIRST), resources.secret(SECOND))
        case names.CUSTOMER:
            return CustomerSupply(resources.shared(BILL), resources.shared(RECEIPT))
    owners = resources.secret(OWNERS) if place == 0 else resources.shared(OWNERS)
    pads, packets = resources.shared(PADS), resources.shared(PACKETS)
    return OwnerSupply(pads, packets, owners, own_draws(resources))
