"""Peer-to-peer FedUCB's parties in one process: the second driver of the same mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.systems.feducb.federate import (
    PlayedRun,
    PlayingParty,
    simulated_noise,
    simulated_tie,
)
from fedbandits.systems.feducb_p2p.config import PeerFedUCB
from fedbandits.systems.feducb_p2p.messages import CODEC
from fedbandits.systems.feducb_p2p.plan import PeerPlan, make_plan
from fedbandits.systems.feducb_p2p.roles import PeerAgent


class PeerRun(PlayedRun):
    """One replicate played by parties; the counterpart of the compiled ``PeerSimulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.feducb_p2p.loop.PeerSimulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: PeerFedUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: PeerPlan = make_plan(config, environment.facts, rounds)
        names = [f"agent-{i}" for i in range(environment.agents)]
        size, arms = self.plan.constants.pattern.size, environment.arm_count
        self.agents = [
            PeerAgent(
                index=i,
                names=names,
                plan=self.plan,
                arms=arms,
                noise=partial(simulated_noise, size, self.key, i),
                ties=partial(simulated_tie, arms, self.key, i),
            )
            for i in range(environment.agents)
        ]
        self.network = MemoryNetwork({agent.name: agent for agent in self.agents}, CODEC, route)

    @property
    def players(self) -> Sequence[PlayingParty]:
        """The agents, in order."""
        return self.agents

    @property
    def syncs(self) -> int:
        """Releases so far of the agent that made most, over all its estimators."""
        return max(sum(state.made for state in agent.released) for agent in self.agents)

    @property
    def epsilon(self) -> float:
        """ε that the contents of what an agent has sent so far cost, at the configured δ."""
        most = max(state.made for agent in self.agents for state in agent.released)
        return self.plan.epsilon_spent(most, self.config.delta)
