"""A small world of every kind, in which contract suites play whatever plans from its facts."""

from __future__ import annotations

from typing import Any

from fedbandits.environments import Bernoulli, Clustered, Environment, Linear, Procurement
from fedbandits.environments.facts import Facts
from fedbandits.systems import System

#: One for each kind of facts. Whoever brings a new kind adds a world of it.
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


def small_world(system: System[Any]) -> Environment:
    """A world that a system can play in."""
    for world in SMALL_WORLDS.values():
        if system.plays_in(type(world)):
            return world
    kind = system.facts_type.__name__
    raise LookupError(f"SMALL_WORLDS has no world with {kind}, which {system.name!r} plans from")
