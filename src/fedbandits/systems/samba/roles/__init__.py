"""SAMBA's parties: customer, data owners, Controller, Comp; in a silent run a dealer too."""

from __future__ import annotations

from math import inf
from typing import Any

from fedbandits.federation.roles import Role, Roles
from fedbandits.systems.samba.keys import (
    COMP,
    CONTROLLER,
    CUSTOMER,
    DEALER,
    OWNER,
)
from fedbandits.systems.samba.messages import SILENT_TABLES, TABLE
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.comp import Comp, SilentComp
from fedbandits.systems.samba.roles.controller import Controller, SilentController
from fedbandits.systems.samba.roles.members import Customer, Dealer, SharesCustomer
from fedbandits.systems.samba.roles.owner import DataOwner, SilentOwner


def roles(plan: SambaPlan) -> Roles:
    """Return the parties of a run that exchanges messages; owner i has arm i."""
    config, silent = plan.config, plan.config.is_silent
    table = SILENT_TABLES[config.total] if silent else TABLE
    customer: Any = SharesCustomer if config.total == "shares" else Customer
    owner: Any = SilentOwner if silent else DataOwner
    controller: Any = SilentController if silent else Controller
    comp: Any = SilentComp if silent else Comp

    def role(
        name: str, kind: Any, patience: float = 1.0, names: tuple[str, ...] = (), acts: bool = False
    ) -> Role:
        return Role(
            name, names or (name,), lambda seat, supply: kind(seat, plan, supply), acts, patience
        )

    owners = tuple(f"{OWNER}-{i}" for i in range(plan.arms))
    # All parties wait for the Controller, which waits for others, so the Controller gives up first
    # and gives the reason. An owner may wait for the slowest score, then for Comp. The customer and
    # the dealer wait for the whole run.
    kinds = [
        role(OWNER, owner, 3.0, owners, acts=True),
        role(CONTROLLER, controller),
        role(COMP, comp, 2.0),
        role(CUSTOMER, customer, inf),
        *([role(DEALER, Dealer, inf)] if silent else []),
    ]
    return Roles(tuple(kinds), table, messages_set_pace=True, rounds_done=_rounds_done)


def _step(owner: DataOwner) -> int:
    step: int = owner.state.step
    return step


def _rounds_done(owners: list[DataOwner]) -> int:
    """Count pulls that all owners have taken note of; all first pulls are made in one go."""
    arms, first, last = len(owners), _step(owners[0]), _step(owners[-1])
    # After the first pulls no owner is more than a step ahead: two different steps tell the least.
    least = min(first, last) if first != last else min(map(_step, owners))
    if least > arms:
        return least - 1
    return sum(step > arms for step in map(_step, owners))
