"""A small world of every kind, in which contract suites play whatever plans from its facts."""

from __future__ import annotations

from typing import Any

from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.errors import ConfigError
from fedbandits.facts import Facts
from fedbandits.systems import System

#: One for each kind of facts; :func:`register_small_world` adds others.
SMALL_WORLDS: dict[type[Facts], Environment] = {
    world.FACTS: world
    for world in (
        Linear(agents=3, dim=3, arms=4),
        Bernoulli(arms=4),
        # Regret and reward can only grow where the benchmark is exact and units earn their cost.
        Procurement(agents=3, producers=5, revenue=4.0, benchmark="exact"),
        Clustered(users=7, clusters=2, servers=3, dim=3, items=4),
    )
}


def register_small_world(world: Environment) -> None:
    """Register the world in which suites play systems that plan from facts of a new kind.

    Whoever brings an environment with facts of its own kind calls this once, before the suites.

    Parameters
    ----------
    world
        A few parties and arms: the suites play it for tens of rounds, many times.

    Raises
    ------
    ConfigError
        If there is another world for this kind of facts already.
    """
    there = SMALL_WORLDS.setdefault(world.FACTS, world)
    if there != world:
        raise ConfigError(
            f"register_small_world: worlds with {world.FACTS.__name__} are played as {there!r} "
            "already; one for each kind of facts is enough"
        )


def small_world(system: System[Any]) -> Environment:
    """Return a world that a system can play in; raises ConfigError if there is none."""
    for world in SMALL_WORLDS.values():
        if system.plays_in(type(world)):
            return world
    raise ConfigError(
        f"no small world has {system.facts_type.__name__}, which {system.name!r} plans from; call "
        "fedbandits.testing.worlds.register_small_world with one"
    )
