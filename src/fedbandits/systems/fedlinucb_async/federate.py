"""Asynchronous FedLinUCB's parties in one process: the second driver of the same mathematics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from fedbandits.environments.base import ContextualEnvironment
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.systems.agents.plan import Plan
from fedbandits.systems.fedlinucb_async.config import AsyncFedLinUCB
from fedbandits.systems.fedlinucb_async.messages import CODEC
from fedbandits.systems.fedlinucb_async.plan import make_plan
from fedbandits.systems.fedlinucb_async.roles import AsyncAgent, Server
from fedbandits.systems.feducb.federate import PlayedRun, PlayingParty, simulated_tie

SERVER = "server"


class AsyncRun(PlayedRun):
    """One replicate played by parties; the counterpart of the compiled ``AsyncSimulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.fedlinucb_async.loop.AsyncSimulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: AsyncFedLinUCB,
        environment: ContextualEnvironment,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        arms = environment.arm_count
        self.agents = [
            AsyncAgent(
                name=f"agent-{i}",
                server=SERVER,
                plan=self.plan,
                arms=arms,
                ties=partial(simulated_tie, arms, self.key, i),
            )
            for i in range(environment.agents)
        ]
        self.server = Server(SERVER, [agent.name for agent in self.agents], self.plan)
        everybody = {party.name: party for party in (*self.agents, self.server)}
        self.network = MemoryNetwork(everybody, CODEC, route)

    @property
    def players(self) -> Sequence[PlayingParty]:
        """The agents, in order."""
        return self.agents

    @property
    def syncs(self) -> int:
        """Exchanges so far, each of one agent with the server."""
        return sum(self.server.exchanges.values())

    @property
    def epsilon(self) -> float:
        """What has been sent is in clear: no finite ε once anything has."""
        return math.inf if self.syncs else 0.0
