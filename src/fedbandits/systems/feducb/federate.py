"""FedUCB's parties in one process: the second driver of the same mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from fedbandits._typing import Floats, Floats32, Ints
from fedbandits.environments.base import ContextualEnvironment, draw_decision_set, draw_world_reward
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.federation.messages import Message
from fedbandits.random import Key, Purpose, integer, normals
from fedbandits.systems.drivers import PartyReplicate
from fedbandits.systems.feducb.config import FedUCB
from fedbandits.systems.feducb.protocol import CODEC, Agent, Controller
from fedbandits.systems.feducb.rules import Plan, plan

CONTROLLER = "controller"


class PlayingParty(Protocol):
    """What a driver needs of a party that plays."""

    name: str

    def decide(self, features: Floats32) -> int:
        """Choose an arm."""

    def observe(self, reward: float) -> list[Message]:
        """Learn the reward, and return what is to be sent."""


class PlayedRun(PartyReplicate):
    """Parties that play in a world of one replicate, side by side in one process.

    Parameters
    ----------
    environment, rounds, seed, replicate
        As for a compiled simulation.
    """

    def __init__(
        self, environment: ContextualEnvironment, rounds: int, seed: int, replicate: int
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.actions: Ints = np.zeros(environment.agents, np.int64)
        self._features = np.zeros(environment.features_shape, np.float32)
        self._expected = np.zeros(environment.arm_count, np.float32)

    @property
    def players(self) -> Sequence[PlayingParty]:
        """The agents, in order."""
        raise NotImplementedError

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the network settles after every round."""
        while self.done < min(stop, self.rounds):
            self.done += 1
            for index, agent in enumerate(self.players):
                self._play(index, agent)
            self.network.settle()

    def _play(self, index: int, agent: PlayingParty) -> None:
        best = draw_decision_set(
            self.world, self.key, index, self.done, self._features, self._expected
        )
        arm = agent.decide(self._features)
        reward = draw_world_reward(self.world, self._expected[arm], self.key, index, self.done)
        self.actions[index] = arm
        self.regret[index] += self._expected[best] - self._expected[arm]
        self.reward[index] += reward
        self.network.send(agent.observe(reward))


class FederatedRun(PlayedRun):
    """One replicate played by parties; the counterpart of the compiled ``Simulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.feducb.simulate.Simulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: FedUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = plan(config, environment, rounds)
        self.agents = [self._agent(i, environment) for i in range(environment.agents)]
        self.controller = Controller(CONTROLLER, [agent.name for agent in self.agents], self.plan)
        everybody = {party.name: party for party in (*self.agents, self.controller)}
        self.network = MemoryNetwork(everybody, CODEC, route)

    def _agent(self, index: int, environment: ContextualEnvironment) -> Agent:
        size = self.plan.rules.pattern.size
        return Agent(
            index=index,
            name=f"agent-{index}",
            controller=CONTROLLER,
            plan=self.plan,
            arms=environment.arm_count,
            noise=partial(simulated_noise, size, self.key, index),
            ties=partial(simulated_tie, environment.arm_count, self.key, index),
        )

    @property
    def players(self) -> Sequence[PlayingParty]:
        """The agents, in order."""
        return self.agents

    @property
    def syncs(self) -> int:
        """Syncs so far."""
        return self.controller.releases

    @property
    def epsilon(self) -> float:
        """ε that the contents of what an agent has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.agents[0].released.made, self.config.delta)


def simulated_noise(size: int, key: Key, agent: int, name: int) -> Floats:
    """Noise from the seed: it protects nobody."""
    return normals(size, key, agent, name, Purpose.PRIVACY_NOISE)


def simulated_tie(arms: int, key: Key, agent: int, round_: int) -> int:
    """Where an agent begins to look among equally good arms."""
    return int(integer(arms, key, agent, round_, int(Purpose.TIE), 0))
