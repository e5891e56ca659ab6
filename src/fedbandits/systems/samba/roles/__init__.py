"""SAMBA's parties: a customer, data owners, the Controller and Comp; in a silent run a dealer too.

The Controller and Comp have a module each for a published run, and for a silent one.
"""

from __future__ import annotations

import functools
from math import inf
from typing import Any

import numpy as np

from fedbandits.crypto import paillier
from fedbandits.federation.roles import Role, Roles, Supplies
from fedbandits.learners.kernels.index_rules import fill_arm_keys
from fedbandits.random import Key, replicate_key
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.keys import (
    COMP,
    CONTROLLER,
    CUSTOMER,
    DEALER,
    OWNER,
    SimulatedSecrets,
)
from fedbandits.systems.samba.messages import SILENT_TABLES, TABLE
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.comp import Comp
from fedbandits.systems.samba.roles.controller import Controller
from fedbandits.systems.samba.roles.customer import Customer, SharesCustomer
from fedbandits.systems.samba.roles.dealer import Dealer
from fedbandits.systems.samba.roles.owner import BaseOwner, DataOwner, SilentOwner
from fedbandits.systems.samba.roles.silent_comp import SilentComp
from fedbandits.systems.samba.roles.silent_controller import SilentController


def roles(plan: SambaPlan) -> Roles:
    """Return the parties of a run that exchanges messages; owner i has arm i."""
    config, table = plan.config, TABLE
    owner: Any
    controller: Any
    comp: Any
    customer: Any
    owner, controller, comp, customer = DataOwner, Controller, Comp, Customer
    if config.is_silent:
        owner, controller, comp = SilentOwner, SilentController, SilentComp
        customer = SharesCustomer if config.total == "shares" else Customer
        table = SILENT_TABLES[config.total]
    owners = tuple(f"{OWNER}-{i}" for i in range(plan.arms))
    # All wait for the Controller, which waits for one of them at a time: it gives up first, and
    # says why. An owner may wait for the slowest score, then for Comp; the customer for the run.
    # Nobody waits for a dealer but servers: it waits for the run, too.
    kinds = [
        Role(OWNER, owners, lambda seat, own: owner(seat, plan, own), True, 3.0),
        Role(CONTROLLER, (CONTROLLER,), lambda seat, own: controller(seat, plan, own)),
        Role(COMP, (COMP,), lambda seat, own: comp(seat, plan, own), False, 2.0),
        Role(CUSTOMER, (CUSTOMER,), lambda seat, own: customer(seat, plan, own), False, inf),
    ]
    if config.is_silent:
        kinds += [Role(DEALER, (DEALER,), lambda seat, own: Dealer(seat, plan, own), False, inf)]
    return Roles(tuple(kinds), table, messages_set_pace=True, rounds_done=_rounds_done)


def _step(owner: BaseOwner[Any]) -> int:
    step: int = owner.state.step
    return step


def _rounds_done(owners: list[BaseOwner[Any]]) -> int:
    """Count pulls that all owners have taken note of; the first ones are made in one go."""
    arms, first, last = len(owners), _step(owners[0]), _step(owners[-1])
    # Once all have pulled, nobody is more than a step ahead: two that differ tell the least.
    least = min(first, last) if first != last else min(map(_step, owners))
    if least > arms:
        return least - 1
    return sum(step > arms for step in map(_step, owners))


def simulated_supplies(plan: SambaPlan, seed: int, replicate: int) -> Supplies:
    """Make secrets from the seed, which protect nobody, and a fresh key of the customer's.

    A party that is asked for again, as by a process that restarts, is the same.
    """
    secrets, config = SimulatedSecrets.derive(seed, replicate), plan.config
    draws = np.zeros((plan.arms, 2), np.uint64)
    fill_arm_keys(replicate_key(seed, replicate), draws)
    customers = functools.cache(lambda: paillier.generate(config.paillier_bits))

    def supply(role: str, place: int) -> Supply:
        own = Supply(secrets.of_party(plan, role, place))
        if role == CONTROLLER:
            return own._replace(run=secrets.run)
        if role == OWNER:
            return own._replace(draws=Key(*draws[place]))
        decrypts = role == CUSTOMER and config.encrypts_sums
        return own._replace(private_key=customers()) if decrypts else own

    return supply
