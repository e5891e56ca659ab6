"""One replicate of a variant, as a compiled simulation or as parties, in one call."""

from __future__ import annotations

from typing import Any

from fedbandits.environments.base import Environment
from fedbandits.federation.memory import Route
from fedbandits.federation.roles import Supplies
from fedbandits.federation.watching import Watcher
from fedbandits.systems import System, systems
from fedbandits.systems.base import PartiesReplicate
from fedbandits.systems.simulated import simulation_in


def system_of(config: Any) -> System[Any]:
    """Return the system to which the configuration ``config`` belongs."""
    return next(system for system in systems() if type(config) is system.config_type)


def plan_of(config: Any, environment: Environment, rounds: int) -> Any:
    """Make the plan of the variant ``config`` in ``environment``, for ``rounds`` rounds."""
    return system_of(config).plan(config, environment.facts, rounds)


def simulate(
    config: Any, environment: Environment, rounds: int, seed: int, replicate: int, threads: int = 1
) -> Any:
    """Make a compiled replicate before its first round; see :meth:`System.simulate`.

    Parameters
    ----------
    config
        Configuration of the system, such as ``fb.system("feducb").config``.
    environment
        The environment.
    rounds
        The horizon T, in rounds.
    seed, replicate
        Together they determine all random draws.
    threads
        Largest number of threads. Results do not depend on the number.
    """
    plan = plan_of(config, environment, rounds)
    return simulation_in(system_of(config), plan, environment, seed, replicate, threads)


def federate(
    config: Any, environment: Environment, rounds: int, seed: int, replicate: int,
    route: Route | None = None, supplies: Supplies | None = None, lenient: bool = False,
    watch: Watcher | None = None,
) -> PartiesReplicate:  # fmt: skip
    """Make a replicate that parties play by messages, before its first round.

    Its results are the same as those of :func:`simulate`.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        See :func:`simulate`.
    route, supplies, lenient, watch
        See :class:`~fedbandits.systems.base.PartiesReplicate`.
    """
    plan = plan_of(config, environment, rounds)
    system = system_of(config)
    return PartiesReplicate(
        system, plan, environment, seed, replicate, route, supplies, lenient, watch=watch
    )
