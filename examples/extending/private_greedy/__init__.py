"""ε-greedy play of one bandit by several agents, which share noisy counts and sums of its arms.

It looks at no context: each agent plays the arm that has earned most on average, and now and then
a random one. What is shared is released with calibrated Gaussian noise, so it claims an ε.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import fedbandits as fb
from fedbandits.facts import ContextualFacts
from fedbandits.federation.roles import Supplies
from fedbandits.federation.run import PartiesRun
from fedbandits.random import replicate_key
from fedbandits.systems.package import PackageSystem
from fedbandits.systems.simulated import simulated_noise

from .config import PrivateGreedy
from .presets import PRESETS

if TYPE_CHECKING:  # nothing else is needed to read a configuration
    from .plan import GreedyPlan
    from .roles import AgentSupply


class PrivateGreedySystem(PackageSystem["GreedyPlan"]):
    """Who takes part is in ``roles``, what is promised in ``claim``: rooms of this folder."""

    name = "private_greedy"
    paper = "ε-greedy (Auer, Cesa-Bianchi & Fischer 2002) on sums that are shared privately"
    config_type = PrivateGreedy
    presets = PRESETS
    facts_type = ContextualFacts
    #: Each agent numbers its releases for itself; a sum is of every agent's newest.
    ROUNDS_ARE_SHARED = False

    def simulated_supplies(
        self, plan: GreedyPlan, world: object, seed: int, replicate: int
    ) -> Supplies:
        """What agents bring to a simulation, from the seed."""
        from .roles import AgentSupply, choices

        key = replicate_key(seed, replicate)

        def supply(role: str, place: int) -> AgentSupply | None:
            if role != "agent":
                return None
            noise = partial(simulated_noise, plan.size, key, place)
            return AgentSupply(noise, choices(key, place))

        return supply

    def syncs(self, run: PartiesRun) -> int:
        return int(run.one("adder").state.sums)

    def epsilon_spent(self, plan: GreedyPlan, run: PartiesRun) -> float:
        return plan.epsilon_of(run.of("agent")[0].state.released.made)


SYSTEM = fb.register(PrivateGreedySystem())
