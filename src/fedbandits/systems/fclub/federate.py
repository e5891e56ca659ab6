"""Servers and the global server in one process: the second driver of the same mathematics."""

from __future__ import annotations

from functools import partial

import numpy as np

from fedbandits._typing import Floats
from fedbandits.environments.arrivals import (
    draw_arrival,
    draw_item_reward,
    fill_expected,
    fill_items,
    items_workspace,
)
from fedbandits.environments.clustered import Clustered
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.systems.drivers import PartyReplicate
from fedbandits.systems.fclub.config import MixtureFCLUB
from fedbandits.systems.fclub.loop import simulated_noise
from fedbandits.systems.fclub.messages import CODEC
from fedbandits.systems.fclub.plan import Plan, make_plan
from fedbandits.systems.fclub.roles.global_server import GlobalServer
from fedbandits.systems.fclub.roles.local_server import LocalServer


class FederatedRun(PartyReplicate):
    """One replicate played by parties; the counterpart of the compiled ``Simulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.fclub.loop.Simulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: MixtureFCLUB,
        environment: Clustered,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        home = self.world.server
        names = [f"server-{s}" for s in range(environment.servers)]
        users = [np.flatnonzero(home == s) for s in range(environment.servers)]
        self.servers = [
            LocalServer(
                name, "global", self.plan, len(users[s]),
                [len(users[o]) for o in range(len(names)) if o != s],
                partial(simulated_noise, self.plan, self.key, s, users[s]),
            )
            for s, name in enumerate(names)
        ]  # fmt: skip
        hub = GlobalServer("global", dict(zip(names, map(len, users), strict=True)), self.plan)
        parties = dict(zip(names, self.servers, strict=True)) | {"global": hub}
        self.network = MemoryNetwork(parties, CODEC, route)
        self._place = {
            int(user): (s, i) for s in range(len(names)) for i, user in enumerate(users[s])
        }
        self._workspace = items_workspace(self.world)
        self._items = np.zeros((environment.dimension, environment.items), np.float32)
        self._expected: Floats = np.zeros(environment.items)
        self.phase = 0

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the network settles at every phase's end."""
        while self.done < min(stop, self.rounds):
            self._play(self.done + 1)
            self.done += 1
            if self.done == self.plan.constants.phase_ends[self.phase]:
                self.phase += 1
                for server in self.servers:
                    self.network.send(server.end_phase(self.done))
                self.network.settle()

    def _play(self, round_: int) -> None:
        user = int(draw_arrival(self.world, self.key, round_))
        fill_items(self.world, self._workspace, self.key, round_, self._items)
        server, place = self._place[user]
        chosen = self.servers[server].recommend(place, self._items)
        best = fill_expected(self.world, user, self._items, self._expected)
        reward = float(draw_item_reward(self._expected[chosen], self.key, round_))
        self.servers[server].observe(reward)
        self.regret[user] += self._expected[best] - self._expected[chosen]
        self.reward[user] += reward

    @property
    def syncs(self) -> int:
        """Uploads so far."""
        return self.network.transcript.messages["Release"]

    @property
    def epsilon(self) -> float:
        """ε that the contents of what a server has released so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs // len(self.servers), self.config.delta)
