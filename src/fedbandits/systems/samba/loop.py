"""A SAMBA run without parties: the first pulls, the steps of its player, the sum, and counts."""

from __future__ import annotations

import math
import time

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto import paillier
from fedbandits.environments.base import Environment
from fedbandits.errors import FedbanditsError
from fedbandits.learners.kernels.largest_scores import first_memory
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import OpenRule
from fedbandits.systems.samba.ciphers import channel_cipher, packet_bytes
from fedbandits.systems.samba.kernels.published import pull
from fedbandits.systems.samba.keys import SimulatedSecrets
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent.simulated import SharedTotal
from fedbandits.systems.samba.silent.steps import (
    PlainSilentSteps,
    SealedSilentSteps,
    SilentSteps,
)
from fedbandits.systems.samba.state import State, initial_state
from fedbandits.systems.samba.steps import (
    ROLES,
    Observer,
    PublishedSteps,
    SealedSteps,
    Setting,
    Steps,
    Timer,
)
from fedbandits.systems.samba.streams import fill_owner_keys
from fedbandits.systems.samba.theory import Counts
from fedbandits.systems.samba.theory import messages as published_messages
from fedbandits.systems.simulated import CompiledReplicate

#: Bytes of a sum of rewards, or of a score that the Controller drew, in clear.
_NUMBER_BYTES = 8


def _steps_of(setting: Setting) -> Steps:
    """Return what plays the steps, by how scores are compared and what seals packets."""
    config = setting.plan.config
    if not config.is_silent:
        one_by_one = setting.observer is not None or config.packet_cipher == "aes-gcm"
        return SealedSteps(setting) if one_by_one else PublishedSteps(setting)
    if config.execution == "plain":
        return PlainSilentSteps(setting)
    return SealedSilentSteps(setting) if config.packet_cipher == "aes-gcm" else SilentSteps(setting)


class Replicate(CompiledReplicate[SambaPlan]):
    """One replicate of one SAMBA variant; the parties of its results are the data owners.

    Parameters
    ----------
    plan
        What is played: every round pulls one arm, each once first.
    environment
        Where it is played.
    seed, replicate
        Name the draws, and the parties' simulated secrets. Paillier's key and randomness are secure
        ones all the same: what they hide does not change the result.
    threads
        Not used: a step waits for the one before it.
    observer
        Called with the packets of every step; then every packet is sealed by itself.
    clock
        What the roles' seconds are measured by.
    """

    def __init__(
        self,
        plan: SambaPlan,
        environment: Environment,
        seed: int,
        replicate: int,
        threads: int = 1,
        observer: Observer | None = None,
        clock: Timer = time.perf_counter,
    ) -> None:
        super().__init__(plan, environment, seed, replicate)
        config, secrets = plan.config, SimulatedSecrets.derive(seed, replicate)
        self.agreement = plan.agreement(secrets.run)
        #: Seconds that each role has worked; the compiled loop does not tell roles apart.
        self.seconds = dict.fromkeys(ROLES, 0.0)
        memory = first_memory(self.agreement.rule, plan.arms) if config.is_silent else None
        self.state: State = initial_state(plan.arms, memory)
        #: The customer's own key; made with the sum if it has brought none.
        self.customer_key: paillier.PrivateKey | None = None
        self._clock, self._secrets = clock, secrets
        fill_owner_keys(self.key, secrets.run, self.state.owners.keys)
        self._cipher = channel_cipher(config.packet_cipher, secrets.channel, self.agreement)
        owners = self.state.owners
        records = Records(owners.pulls, owners.rewards, owners.memory, owners.keys)
        setting = Setting(
            plan, self.agreement, OpenRule(self.agreement.rule, records), secrets, self._cipher,
            self.world, self.key, self.state.clock, owners, self.seconds, observer, clock,
        )  # fmt: skip
        self._steps = _steps_of(setting)
        self._counts = Counts(plan) if config.is_silent else None
        self._gaps: Floats = self.world.means.max() - self.world.means
        self._play(plan.arms + 1, 0)  # compiles what it needs

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the last round is followed by the sum."""
        arms, budget, clock = self.plan.arms, self.plan.rounds, self.state.clock
        stop = min(stop, budget)
        while self.done < min(stop, arms):
            pull(self.world, self.state.owners, self.key, self.done, self.done + 1)
            clock.round_[0] += 1
        while self.done < stop:
            count = min(self._steps.at_once, stop - self.done)
            self._play(self.done + 1, count)
            clock.round_[0] += count
        if self.done == budget and math.isnan(self.state.total[0]):
            self.state.total[0] = self._sum()

    def _play(self, first: int, count: int) -> None:
        """Play some steps."""
        refused = self._steps.play(first, count)
        if refused:
            raise FedbanditsError(
                f"step {refused}: a score is not a finite number; correct the index rule"
            )

    def _sum(self) -> float:
        """Tell the customer, and nobody else, the sum of all rewards (steps 6 and 7)."""
        rewards = self.state.owners.rewards
        config = self.plan.config
        if config.execution != "plain" and config.total == "shares":
            shared = SharedTotal(self._secrets, self.agreement, config.packet_cipher)
            return float(shared.add(rewards, self.seconds, self._clock))
        if config.execution != "secure":
            return float(rewards.sum())
        clock = self._clock
        began = clock()
        private = self.customer_key or paillier.generate(config.paillier_bits)
        made = clock()
        public = private.public_key
        ciphertexts = [public.encrypt(int(reward)) for reward in rewards]
        encrypted = clock()
        total = public.add(*ciphertexts)
        added = clock()
        decrypted = private.decrypt(total)
        self.seconds["customer"] += made - began + clock() - added
        self.seconds["data owners"] += encrypted - made
        self.seconds["controller"] += added - encrypted
        return float(decrypted)

    @property
    def cumulative_reward(self) -> float:
        """The reward that the customer gets for its budget; NaN before the last round."""
        return float(self.state.total[0])

    @property
    def regret(self) -> Floats:
        """Cumulative pseudo-regret of the pulls of every arm, (arms,)."""
        owners = self.state.owners
        return owners.regret if len(self.world.other) else owners.pulls * self._gaps

    @property
    def reward(self) -> Floats:
        """sᵢ, (arms,)."""
        return self.state.owners.rewards

    @property
    def _communicates(self) -> bool:
        """True if anything has been sent yet: parties set up once every arm was pulled."""
        return self.plan.config.execution != "plain" and self.done >= self.plan.arms

    @property
    def syncs(self) -> int:
        """Iterations of steps 2 to 5 so far; none in a plain run."""
        steps = self.done - self.plan.arms if self._communicates else 0
        return steps * self.agreement.iterations

    @property
    def messages(self) -> int:
        """Messages so far, see :mod:`.theory`; owners send none where scores are drawn for them."""
        if not self._communicates:
            return 0
        if self._counts is not None:
            return self._counts.messages(self.syncs, self.done == self.plan.rounds).all
        arms, iterations = self.plan.arms, self.agreement.iterations
        (sent,) = published_messages(np.array([self.done]), self.plan.rounds, arms, iterations)
        return int(sent) - arms * self._drawn_steps

    @property
    def _drawn_steps(self) -> int:
        """Steps whose scores the Controller drew."""
        return int(self.state.clock.explored[0]) if self.plan.drawn_scores else 0

    @property
    def bytes(self) -> int:
        """Bytes of ciphertexts so far (of numbers, where nothing is encrypted)."""
        if not self._communicates:
            return 0
        if self._counts is not None:
            return self._counts.bytes(self.syncs, self.done == self.plan.rounds).all
        arms, config = self.plan.arms, self.plan.config
        score, bit = packet_bytes(self._cipher)
        number = config.paillier_bits // 4 if config.execution == "secure" else _NUMBER_BYTES
        last = (arms + 1) * number if self.done == self.plan.rounds else 0
        # Owners may send no scores in steps that explore; those that are drawn travel in clear.
        silent = int(self.state.clock.explored[0]) if config.exploration_shortcut != "none" else 0
        last += arms * _NUMBER_BYTES * self._drawn_steps
        return 2 * arms * ((self.syncs - silent) * score + self.syncs * bit) + last

    @property
    def epsilon(self) -> float:
        """Infinity: no ε is claimed, as what leaves is encrypted, not noisy."""
        return math.inf
