"""Play one replicate of a variant, as a compiled simulation or as parties."""

from __future__ import annotations

from typing import Any

from fedbandits.environments.base import Environment
from fedbandits.federation.memory import Route
from fedbandits.federation.roles import Supplies
from fedbandits.systems import Simulation, System, systems
from fedbandits.systems.base import PartiesReplicate


def system_of(config: Any) -> System[Any]:
    """The system that a configuration is of."""
    return next(system for system in systems() if type(config) is system.config_type)


def plan_of(config: Any, environment: Environment, rounds: int) -> Any:
    """What all parties of a variant go by."""
    return system_of(config).plan(config, environment.facts, rounds)


def simulate(
    config: Any, environment: Environment, rounds: int, seed: int, replicate: int, threads: int = 1
) -> Any:
    """A compiled replicate before its first round; see :meth:`System.simulate`."""
    plan = plan_of(config, environment, rounds)
    simulation: Simulation = system_of(config).simulate(plan, environment, seed, replicate, threads)
    return simulation


def federate(
    config: Any,
    environment: Environment,
    rounds: int,
    seed: int,
    replicate: int,
    route: Route | None = None,
    supplies: Supplies | None = None,
    lenient: bool = False,
) -> PartiesReplicate:
    """The same replicate for parties; see :class:`~fedbandits.systems.base.PartiesReplicate`."""
    plan = plan_of(config, environment, rounds)
    system = system_of(config)
    return PartiesReplicate(system, plan, environment, seed, replicate, route, supplies, lenient)
