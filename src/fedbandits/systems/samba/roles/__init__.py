"""SAMBA's parties: a customer, data owners, the Controller and Comp, a module each."""

from __future__ import annotations

import functools
from math import inf
from typing import Any

import numpy as np

from fedbandits.crypto import paillier
from fedbandits.federation.roles import Role, Roles, Supplies
from fedbandits.learners.kernels.index_rules import fill_arm_keys
from fedbandits.random import Key, replicate_key
from fedbandits.systems.samba.messages import TABLE
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.comp import Comp
from fedbandits.systems.samba.roles.controller import Controller
from fedbandits.systems.samba.roles.customer import Customer
from fedbandits.systems.samba.roles.names import COMP, CONTROLLER, CUSTOMER, OWNER
from fedbandits.systems.samba.roles.owner import DataOwner
from fedbandits.systems.samba.roles.pulling import PullingOwner
from fedbandits.systems.samba.roles.supplies import (
    CompSupply,
    ControllerSupply,
    CustomerSupply,
    OwnerSupply,
)
from fedbandits.systems.samba.streams import SimulatedSecrets

__all__ = ["COMP", "CONTROLLER", "CUSTOMER", "OWNER", "roles", "simulated_supplies"]


def roles(plan: SambaPlan) -> Roles:
    """Who takes part in a run that exchanges messages; owner i has arm i."""
    owners = tuple(f"owner-{i}" for i in range(plan.arms))
    if plan.config.is_silent:
        made, table = _silent().roles_and_table(plan, owners)
        return Roles(made, table, messages_set_pace=True, rounds_done=_rounds_done)
    # All wait for the Controller, which waits for one of them at a time: it gives up first, and
    # says why. An owner may wait for the slowest score, then for Comp; the customer for the run.
    return Roles(
        (
            Role(OWNER, owners, lambda seat, own: DataOwner(seat, plan, own), True, 3.0),
            Role(CONTROLLER, (CONTROLLER,), lambda seat, own: Controller(seat, plan, own)),
            Role(COMP, (COMP,), lambda seat, own: Comp(seat, plan, own), patience=2.0),
            Role(CUSTOMER, (CUSTOMER,), lambda seat, own: Customer(seat, plan, own), False, inf),
        ),
        TABLE,
        messages_set_pace=True,
        rounds_done=_rounds_done,
    )


def _silent() -> Any:
    """The parties of a silent run, which are made of modules of this package."""
    from fedbandits.systems.samba.silent import roles

    return roles


def _step(owner: PullingOwner[Any]) -> int:
    step: int = owner.state.step
    return step


def _rounds_done(owners: list[PullingOwner[Any]]) -> int:
    """Pulls that all owners have taken note of; the first pulls of all arms are made in one go."""
    arms, first, last = len(owners), _step(owners[0]), _step(owners[-1])
    # Once all have pulled, nobody is more than a step ahead: two that differ tell the least.
    least = min(first, last) if first != last else min(map(_step, owners))
    if least > arms:
        return least - 1
    return sum(step > arms for step in map(_step, owners))


def simulated_supplies(plan: SambaPlan, seed: int, replicate: int) -> Supplies:
    """Secrets from the seed, which protect nobody, and a fresh key of the customer's.

    Whoever is asked for again, as by a process that restarts, is the same.
    """
    secrets, config = SimulatedSecrets.derive(seed, replicate), plan.config
    shares = config.total == "shares"
    draws = np.zeros((plan.arms, 2), np.uint64)
    fill_arm_keys(replicate_key(seed, replicate), draws)
    customers = functools.cache(lambda: paillier.generate(config.paillier_bits))

    def supply(role: str, place: int) -> Any:
        if config.is_silent and (role != CUSTOMER or shares):
            own = Key(*draws[place]) if role == OWNER else None
            return _silent().simulated_supply(secrets, role, f"owner-{place}", own)
        if role == CONTROLLER:
            return ControllerSupply(secrets.controller, secrets.run)
        if role == COMP:
            return CompSupply(secrets.channel, secrets.comp)
        if role == CUSTOMER:
            return CustomerSupply(customers() if config.execution == "secure" else None)
        return OwnerSupply(secrets.channel, Key(*draws[place]))

    return supply
