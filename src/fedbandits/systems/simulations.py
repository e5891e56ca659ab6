"""A system in an environment: its plan, its simulation and its bounds under drift and delay.

A system need not know of either. Drift is in the world that it is given. Delayed rewards are played
by its parties, which can keep many decisions open. Late joiners are in the world too, but a system
must have said that it lets them begin when their time comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fedbandits.environments.base import Environment
from fedbandits.errors import ConfigError
from fedbandits.systems.base import PartiesReplicate, Plan, Simulation, System

if TYPE_CHECKING:  # a configuration is read without what prices it
    from fedbandits.systems.theory import Bound

_DRIFTS = "Expected rewards change here (environment.drift)."
_LATE = "Rewards are observed late here (environment.delay)."
_JOINS = "Some agents join late here (environment.first_round)."


def plan_in(system: System[Any], config: Any, environment: Environment, rounds: int) -> Plan:
    """Plan ``system`` in ``environment``.

    Raises
    ------
    ConfigError
        If the configuration does not fit, or rewards are delayed and the variant cannot take them.
        The message begins with the key.
    """
    plan: Plan = system.plan(config, environment.facts, rounds)
    if environment.first_rounds and not system.AGENTS_MAY_JOIN_LATE:
        raise ConfigError(
            f"preset: {system.name} cannot play where some agents join late; leave "
            "environment.first_round out, or change the system (docs/drift-and-delay.md says how)"
        )
    if environment.delay is not None:
        roles = system.roles(plan)
        if roles is None or not roles.outcomes_may_be_late:
            raise ConfigError(
                f"preset: this variant of {system.name} cannot take rewards that come late; leave "
                "environment.delay out, or change the system (docs/drift-and-delay.md says how)"
            )
    return plan


def simulation_in(
    system: System[Any], plan: Any, environment: Environment, seed: int, replicate: int,
    threads: int = 1,
) -> Simulation:  # fmt: skip
    """Make one replicate of ``system``; its parties play if rewards are delayed.

    Parameters
    ----------
    seed, replicate
        Together they determine all random draws.
    threads
        Largest number of threads. Results do not depend on it.
    """
    if environment.delay is None:
        return system.simulate(plan, environment, seed, replicate, threads)
    return PartiesReplicate(system, plan, environment, seed, replicate)


def bounds_in(system: System[Any], plan: Any, environment: Environment) -> Sequence[Bound]:
    """Return the bounds of ``system``; what departs from their conditions is named with them."""
    drifts = () if environment.drift is None else (_DRIFTS,)
    late = () if environment.delay is None else (_LATE,)
    joins = (_JOINS,) if environment.first_rounds else ()
    return tuple(
        bound._replace(departs=(*bound.departs, *drifts, *late, *joins))
        for bound in system.bounds(plan, environment)
    )
