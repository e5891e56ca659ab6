"""What the systems of linear agents declare alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fedbandits.environments.facts import ContextualFacts
from fedbandits.federation.roles import Supplies
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.simulated import simulated_noise, simulated_tie

if TYPE_CHECKING:  # not imported to start the command
    from fedbandits.privacy.running_sum import NoiseSource
    from fedbandits.systems.agents.plan import AgentsPlan

AnyPlan = TypeVar("AnyPlan", bound="AgentsPlan")


class AgentSupply(NamedTuple):
    """What an agent brings.

    Parameters
    ----------
    noise
        Standard normals by the name of a draw, asked once each. Simulated in a simulation; in a
        deployment it must be secure and what it gave saved.
    ties
        ``ties(round)`` is the arm from which equally good arms are looked for in that round.
    """

    noise: NoiseSource
    ties: Callable[[int], int]


class AgentsSystem(PackageSystem[AnyPlan]):
    """A system whose ``agent`` parties see a decision set each round."""

    facts_type = ContextualFacts

    def simulated_supplies(self, plan: AnyPlan, world: Any, seed: int, replicate: int) -> Supplies:
        del world
        key = replicate_key(seed, replicate)
        size, arms = plan.constants.release_size, plan.facts.arms

        def supply(role: str, place: int) -> AgentSupply | None:
            if role != "agent":
                return None
            return AgentSupply(
                partial(simulated_noise, size, key, place), partial(simulated_tie, arms, key, place)
            )

        return supply
