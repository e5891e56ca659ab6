"""Declarations that the systems of linear agents share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fedbandits.environments.facts import ContextualFacts
from fedbandits.environments.open_world import first_round_of
from fedbandits.federation.roles import Supplies
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.simulated import simulated_noise, simulated_tie

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.privacy.running_sum import NoiseSource
    from fedbandits.systems.agents.plan import AgentsPlan

AnyPlan = TypeVar("AnyPlan", bound="AgentsPlan")


class AgentSupply(NamedTuple):
    """The noise, ties and secret that an agent brings.

    Parameters
    ----------
    noise
        Standard normals by the name of a draw, asked once each. Simulated in a simulation; in a
        deployment it must be secure and what it gave saved.
    ties
        ``ties(round)`` is the arm from which equally good arms are looked for in that round.
    person_key
        A secret of its own, by which digests of persons are made. In a simulation it is empty.
    """

    noise: NoiseSource
    ties: Callable[[int], int]
    person_key: bytes = b""


class AgentsSystem(PackageSystem[AnyPlan]):
    """A system whose ``agent`` parties see a decision set each round."""

    facts_type = ContextualFacts
    AGENTS_MAY_JOIN_LATE = True

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        key = replicate_key(seed, replicate)
        size, arms = plan.constants.release_size, plan.facts.arms

        def supply(role: str, place: int) -> AgentSupply | None:
            if role != "agent":
                return None
            first = first_round_of(world, place)
            return AgentSupply(
                partial(simulated_noise, size, key, place),
                lambda number: simulated_tie(arms, key, place, first + number - 1),
            )

        return supply
