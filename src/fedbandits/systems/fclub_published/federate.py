"""FCLUB's servers in one process: the second driver of the same mathematics.

Who arrives is a matter of the world, so rounds are played one by one, and the network settles after
each.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.arrivals import (
    draw_arrival,
    draw_item_reward,
    draw_items,
    fill_expected,
)
from fedbandits.environments.clustered import Clustered
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.drivers import PartyReplicate
from fedbandits.systems.fclub_published.claim import epsilon_spent
from fedbandits.systems.fclub_published.config import FCLUB
from fedbandits.systems.fclub_published.kernels.exchange import noise_party
from fedbandits.systems.fclub_published.messages import CODEC
from fedbandits.systems.fclub_published.plan import Constants, Plan, make_plan
from fedbandits.systems.fclub_published.roles.global_server import GlobalServer
from fedbandits.systems.fclub_published.roles.local_server import LocalServer

HUB = "global"
_UPLOADS = ("PhaseReport", "Upload", "Record")


class FederatedRun(PartyReplicate):
    """One replicate played by parties; the counterpart of the compiled ``Simulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.fclub_published.loop.Simulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: FCLUB,
        environment: Clustered,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        home: Ints = self.world.server
        noise = partial(_simulated_noise, self.plan.constants, self.key)
        names = [f"server-{i}" for i in range(environment.servers)]
        self.servers = [
            LocalServer(name, HUB, self.plan, np.flatnonzero(home == i), noise)
            for i, name in enumerate(names)
        ]
        self.hub = GlobalServer(HUB, names, self.plan, home)
        everybody = {party.name: party for party in (*self.servers, self.hub)}
        self.network = MemoryNetwork(everybody, CODEC, route)
        self.action = -1
        self._begin_phase()

    def _begin_phase(self) -> None:
        for server in self.servers:
            self.network.send(server.begin_phase(self.done))
        self.network.settle()

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the network settles after every round."""
        constants = self.plan.constants
        items = np.zeros((constants.dimension, constants.items), np.float32)
        expected = np.zeros(constants.items)
        while self.done < min(stop, self.rounds):
            self.done += 1
            user = int(draw_arrival(self.world, self.key, self.done))
            draw_items(self.world, self.key, self.done, items)
            best = fill_expected(self.world, user, items, expected)
            server = self.servers[int(self.world.server[user])]
            self.action = server.decide(self.done, user, items)
            reward = draw_item_reward(expected[self.action], self.key, self.done)
            self.network.send(server.observe(reward))
            self.network.settle()
            self.regret[user] += expected[best] - expected[self.action]
            self.reward[user] += reward
            if self.done == constants.phase_ends[self.servers[0].phase]:
                self._begin_phase()

    @property
    def syncs(self) -> int:
        """Uploads delivered so far, reports of phases included."""
        sent = self.network.transcript.messages
        return sum(count for kind, count in sent.items() if kind in _UPLOADS)

    @property
    def epsilon(self) -> float:
        """ε that the contents of a server's messages cost so far, at the configured δ."""
        return epsilon_spent(self.plan, self.config.delta, self.syncs, self.servers[0].phase)


def _simulated_noise(
    constants: Constants, key: Key, cluster: int, round_: int, kind: int
) -> Floats:
    """Noise from the seed: it protects nobody."""
    party = int(noise_party(constants, cluster, kind))
    return normals(constants.pattern.size, key, party, round_, Purpose.PRIVACY_NOISE)
