"""A world in plain Python in which few persons come again and again."""

from __future__ import annotations

import msgspec

import fedbandits as fb
from fedbandits.facts import ContextualFacts


class Visited(fb.environments.PythonEnvironment, tag="visited"):
    """Six persons, who come to all agents; five arms at random."""

    agents: int = 3
    persons: int = 6
    told: float = 1.0

    arm_count = 5
    dimension = 4

    @property
    def facts(self) -> ContextualFacts:
        return msgspec.structs.replace(super().facts, persons=self.persons)

    def person(self, world, agent, round_, draws):
        return int(draws.integer(self.persons))

    def decision_set(self, world, agent, round_, draws):
        who = self.person(world, agent, round_, draws)
        contexts = draws.uniform(20).reshape(5, 4) - 0.5
        contexts[:, 0] = who / self.persons - 0.5
        return 0.9 * contexts, draws.uniform(5)

    def draw_reward(self, world, expected, draws):
        return float(draws.bernoulli(expected)) if draws.bernoulli(self.told) else None
