"""A small world for each kind of facts, in which contract suites play systems."""

from __future__ import annotations

from typing import Any

from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.errors import ConfigError
from fedbandits.facts import Facts
from fedbandits.systems import System

#: A world for each kind of facts; :func:`register_small_world` adds others.
SMALL_WORLDS: dict[type[Facts], Environment] = {
    world.FACTS: world
    for world in (
        Linear(agents=3, dim=3, arms=4),
        Bernoulli(arms=4),
        # With an exact benchmark and units that earn their cost, regret and reward only grow.
        Procurement(agents=3, producers=5, revenue=4.0, benchmark="exact"),
        Clustered(users=7, clusters=2, servers=3, dim=3, items=4),
    )
}


def register_small_world(world: Environment) -> None:
    """Register the world in which suites play systems that plan from facts of a new kind.

    Authors of an environment with a new kind of facts call this function once, before the suites.

    Parameters
    ----------
    world
        A few parties and arms: the suites play it for tens of rounds, many times.

    Raises
    ------
    ConfigError
        If another world is registered for this kind of facts.
    """
    known = SMALL_WORLDS.setdefault(world.FACTS, world)
    if known != world:
        raise ConfigError(
            f"register_small_world: worlds with {world.FACTS.__name__} are played as {known!r} "
            "already; one for each kind of facts is enough"
        )


def small_world(system: System[Any]) -> Environment:
    """Return a world that ``system`` plays in; raises ConfigError without such a world."""
    for world in SMALL_WORLDS.values():
        if system.plays_in(type(world)):
            return world
    raise ConfigError(
        f"no small world has {system.facts_type.__name__}, which {system.name!r} plans from; call "
        "fedbandits.testing.worlds.register_small_world with one"
    )
