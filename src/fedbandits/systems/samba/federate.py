"""SAMBA's parties in one process: the second driver of the same mathematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats
from fedbandits.crypto import paillier
from fedbandits.environments.bernoulli import Bernoulli, BernoulliWorld, pull_arm
from fedbandits.federation.memory import MemoryNetwork, Route
from fedbandits.learners.index_rules import fill_arm_keys
from fedbandits.random import Key, replicate_key
from fedbandits.systems.drivers import CountedMessages
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.messages import CODEC
from fedbandits.systems.samba.plan import Plan, SimulatedSecrets, make_plan
from fedbandits.systems.samba.roles.comp import Comp
from fedbandits.systems.samba.roles.controller import Controller
from fedbandits.systems.samba.roles.owner import Customer, DataOwner

CUSTOMER, CONTROLLER, COMP = "customer", "controller", "comp"


@compiled
def _pull(world: Any, key: Key, arm: int, round_: int) -> float:
    return pull_arm(world, key, arm, round_)


class FederatedRun(CountedMessages):
    """One replicate played by parties; the counterpart of the compiled ``Simulation``.

    Parameters
    ----------
    config, environment, rounds, seed, replicate
        As for :class:`~fedbandits.systems.samba.loop.Simulation`; the execution must not be
        ``plain``.
    private_key
        The customer's; made when not given.
    route
        Delays and drops of the network; immediate and reliable by default.
    """

    def __init__(
        self,
        config: Samba,
        environment: Bernoulli,
        rounds: int,
        seed: int,
        replicate: int,
        private_key: paillier.PrivateKey | None = None,
        route: Route | None = None,
    ) -> None:
        self.config = config
        self.key: Key = replicate_key(seed, replicate)
        secrets = SimulatedSecrets.derive(seed, replicate)
        self.plan: Plan = make_plan(config, environment.facts, rounds, secrets.run)
        self.world: BernoulliWorld = environment.world(self.key)
        names = [f"owner-{i}" for i in range(self.plan.arms)]
        keys = np.zeros((self.plan.arms, 2), np.uint64)
        fill_arm_keys(self.key, keys)
        cipher, shortcut = config.packet_cipher, config.exploration_shortcut
        self.owners = [
            DataOwner(name, CONTROLLER, secrets.channel, cipher, Key(*keys[i]), shortcut)
            for i, name in enumerate(names)
        ]
        self.controller = Controller(
            CONTROLLER, CUSTOMER, COMP, names, secrets.controller, secrets.run, cipher, shortcut
        )
        self.comp = Comp(COMP, CONTROLLER, secrets.channel, secrets.comp, cipher)
        if config.execution == "secure" and private_key is None:
            private_key = paillier.generate(config.paillier_bits)
        self.customer = Customer(CUSTOMER, CONTROLLER, private_key)
        servers = {CONTROLLER: self.controller, COMP: self.comp, CUSTOMER: self.customer}
        self._arms = {name: arm for arm, name in enumerate(names)}
        self._steps = [self.plan.arms] * self.plan.arms  # the step each owner has reached
        self._taken = 0  # steps that all owners together have left behind
        parties = dict(zip(names, self.owners, strict=True)) | servers
        self.network = MemoryNetwork(parties, CODEC, route)
        #: Every pull: its round, the arm, its reward. Known to nobody but the owners.
        self.pulled: list[tuple[int, int, float]] = []
        self.network.send(self.customer.order(rounds, config.algorithm))

    @property
    def done(self) -> int:
        """Rounds played: pulls that all owners have taken note of."""
        arms = self.plan.arms
        return self._taken if self._taken < arms else arms - 1 + self._taken // arms

    def advance(self, stop: int) -> None:
        """Deliver messages until ``stop`` rounds are done; the last round is followed by the sum.

        The first pulls of all arms are made in one go.
        """
        stop = min(stop, self.plan.budget)
        while self.done < stop or stop == self.plan.budget:
            receiver = self.network.deliver()
            if receiver is None:
                break
            if receiver in self._arms:
                self._attend(self.owners[self._arms[receiver]])

    def _attend(self, owner: DataOwner) -> None:
        """Make the pull that an owner was told to make, and note whether it is past the step."""
        if owner.state == "pulling":
            self.network.send(owner.observe(self._reward(owner)))
        arm = self._arms[owner.name]
        self._taken += owner.standing.step - self._steps[arm]
        self._steps[arm] = owner.standing.step

    def _reward(self, owner: DataOwner) -> float:
        arm = self._arms[owner.name]
        first = owner.standing.pulls == 0
        round_ = arm + 1 if first else owner.standing.step
        reward = _pull(self.world, self.key, arm, round_)
        self.pulled.append((round_, arm, reward))
        return reward

    @property
    def cumulative_reward(self) -> float:
        """What the customer has decrypted; NaN before the end."""
        reward = self.customer.cumulative_reward
        return float("nan") if reward is None else float(reward)

    @property
    def regret(self) -> Floats:
        """Cumulative pseudo-regret of the pulls of every arm, (arms,)."""
        pulls = np.array([owner.standing.pulls for owner in self.owners])
        regret: Floats = pulls * (self.world.means.max() - self.world.means)
        return regret

    @property
    def reward(self) -> Floats:
        """sᵢ, (arms,)."""
        return np.array([float(owner.standing.rewards) for owner in self.owners])

    @property
    def syncs(self) -> int:
        """Iterations of steps 2 to 5 so far."""
        return self.network.transcript.messages["BitList"]
