"""P-FCB's buyers in one process: the second driver of the same mathematics."""

from __future__ import annotations

from functools import partial

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.environments.procurement import (
    Procurement,
    draw_good_units,
    earned,
    purchase_regret,
)
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.random import Key, Purpose, normals
from fedbandits.systems.drivers import PartyReplicate
from fedbandits.systems.pfcb.config import PFCB
from fedbandits.systems.pfcb.messages import CODEC
from fedbandits.systems.pfcb.plan import Plan, make_plan
from fedbandits.systems.pfcb.roles import Buyer


class FederatedRun(PartyReplicate):
    """One replicate played by parties; the counterpart of the compiled ``Simulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.pfcb.loop.Simulation`.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: PFCB,
        environment: Procurement,
        rounds: int,
        seed: int,
        replicate: int,
        route: Route | None = None,
    ) -> None:
        super().__init__(environment, rounds, seed, replicate)
        self.config = config
        self.plan: Plan = make_plan(config, environment.facts, rounds)
        names = [f"buyer-{j}" for j in range(environment.parties)]
        self.buyers = [
            Buyer(
                name, names, self.plan, self.world.cost[j], self.world.capacity,
                partial(_simulated_noise, 2 * self.plan.constants.producers, self.key, j),
            )
            for j, name in enumerate(names)
        ]  # fmt: skip
        self.network = MemoryNetwork(dict(zip(names, self.buyers, strict=True)), CODEC, route)
        self.violations: Ints = np.zeros(environment.parties, np.int64)
        self.purchases: Ints = np.zeros(self.world.cost.shape, np.int64)

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the network settles after every round."""
        while self.done < min(stop, self.rounds):
            self.done += 1
            for index, buyer in enumerate(self.buyers):
                self._play(index, buyer)
            self.network.settle()

    def _play(self, index: int, buyer: Buyer) -> None:
        world, good = self.world, np.zeros(self.plan.constants.producers, np.int64)
        purchase = buyer.decide()
        draw_good_units(world, self.key, index, self.done, purchase, good)
        regret, missed = purchase_regret(
            world.revenue * world.quality - world.cost[index], world.quality - world.threshold,
            world.best[index], world.worst[index], purchase,
        )  # fmt: skip
        self.purchases[index] = purchase
        self.regret[index] += regret
        self.reward[index] += earned(world, index, purchase, good)
        self.violations[index] += int(missed and self.done > self.plan.constants.exploration)
        self.network.send(buyer.observe(good))

    @property
    def syncs(self) -> int:
        """Exchanges so far."""
        return self.buyers[0].releases

    @property
    def epsilon(self) -> float:
        """ε that the contents of what a buyer has sent so far cost, at the configured δ."""
        return self.plan.epsilon_spent(self.syncs, self.config.delta)


def _simulated_noise(size: int, key: Key, buyer: int, release: int) -> Floats:
    """Noise from the seed: it protects nobody."""
    return normals(size, key, buyer, release, Purpose.PRIVACY_NOISE)
