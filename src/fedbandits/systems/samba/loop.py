"""SAMBA's steps in one compiled loop: plain, distributed, or sealed by a stream cipher."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from fedbandits._compile import compiled
from fedbandits._typing import Floats, Ints
from fedbandits.crypto import paillier
from fedbandits.crypto.aead import StreamCipher, counter_blocks
from fedbandits.crypto.keystream import permute
from fedbandits.environments.bernoulli import Bernoulli
from fedbandits.errors import FedbanditsError
from fedbandits.learners.index_rules import explores, fill_arm_keys
from fedbandits.random import Key, replicate_key
from fedbandits.systems.samba.config import Samba
from fedbandits.systems.samba.draws import BITS, SCORES, Batch, Streams
from fedbandits.systems.samba.kernels import (
    Pads,
    open_scores,
    owners_score,
    owners_take,
    pull,
    select_arm,
    send_bits,
    send_scores,
)
from fedbandits.systems.samba.packets import ROLES, Observer, PacketSteps, packet_bytes
from fedbandits.systems.samba.plan import Plan, SimulatedSecrets, channel_cipher, make_plan
from fedbandits.systems.samba.state import Owners, Scratch, State, new_scratch


@compiled
def play_steps(
    world: Any, rule: Any, comparisons: Ints, owners: Owners, key: Key, first: int, draws: Batch,
    pads: Pads, scratch: Scratch, explored: Ints,
) -> int:  # fmt: skip
    """Play as many steps as there are draws; returns 0, or the step whose scores were refused."""
    arms, iterations = scratch.places.size, comparisons.size
    for s in range(draws.exploration.size):
        step = first + s
        exploring = explores(rule, step, arms, draws.exploration[s])
        explored[0] += exploring
        row = min(s, pads.scores.shape[0] - 1)
        for i in range(iterations):
            permute(draws.places[s, i], scratch.places)
            mask = draws.masks[s, i]
            owners_score(rule, i + 1, step, exploring, mask, owners, scratch.masked)
            pad = pads.scores[row, i]
            send_scores(scratch.masked.view(np.uint64), scratch.places, pad, scratch.listed)
            open_scores(scratch.listed, pad, scratch.opened.view(np.uint64))
            place = select_arm(comparisons[i], scratch.opened, draws.waits[s, i], scratch.waits)
            if place < 0:
                return step
            arm = send_bits(place, scratch.places, pads.bits[row, i], scratch.bits)
            owners_take(world, rule, i + 1, iterations, step, arm, owners, key)
    return 0


#: Numbers of key stream that are made at once.
_CHUNK = 1 << 17
#: Bytes of a sum of rewards in clear.
_NUMBER_BYTES = 8


class Simulation:
    """One replicate of one SAMBA variant; the parties of its results are the data owners.

    Parameters
    ----------
    config, environment
        What is run, and where.
    rounds
        N, the budget: every round pulls one arm, each once first.
    seed, replicate
        Name the draws, and the parties' simulated keys. Paillier's key and randomness are secure
        ones all the same: what they hide does not change the result.
    threads
        Not used: a step waits for the one before it.
    observer
        Called with the packets of every step; then every packet is sealed by itself.
    """

    def __init__(
        self,
        config: Samba,
        environment: Bernoulli,
        rounds: int,
        seed: int,
        replicate: int,
        threads: int = 1,
        observer: Observer | None = None,
    ) -> None:
        self.config = config
        self.key: Key = replicate_key(seed, replicate)
        secrets = SimulatedSecrets.derive(seed, replicate)
        self.plan: Plan = make_plan(config, environment.facts, rounds, secrets.run)
        self.world: Any = environment.world(self.key)
        #: Seconds that each role has worked; the compiled loop does not tell roles apart.
        self.seconds = dict.fromkeys(ROLES, 0.0)
        arms = self.plan.arms
        owners = Owners(
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.full((arms, 1), 1.0 / arms),
            np.zeros((arms, 2), np.uint64),
        )
        fill_arm_keys(self.key, owners.keys)
        self.state = State(
            np.zeros(1, np.int64), np.zeros(1, np.int64), owners, np.full(1, math.nan)
        )
        self._cipher = channel_cipher(config.packet_cipher, secrets.channel, self.plan)
        self._streams = Streams(secrets.controller, secrets.comp, arms, self.plan.comparisons)
        self._packets = PacketSteps(
            self.plan, self._cipher, config.exploration_shortcut, self.seconds
        )
        self._packets.observer = observer
        self._each_packet = observer is not None or config.packet_cipher == "aes-gcm"
        self._scratch = new_scratch(arms)
        self._gaps: Floats = self.world.means.max() - self.world.means
        self._play(self.plan.arms + 1, 0)  # compiles what it needs

    @property
    def done(self) -> int:
        """Rounds played."""
        return int(self.state.round_[0])

    def advance(self, stop: int) -> None:
        """Play until ``stop`` rounds are done; the last round is followed by the sum."""
        stop = min(stop, self.plan.budget)
        while self.done < min(stop, self.plan.arms):
            pull(self.world, self.state.owners, self.key, self.done, self.done + 1)
            self.state.round_[0] += 1
        most = max(1, _CHUNK // (self.plan.arms * self.plan.iterations))
        while self.done < stop:
            count = min(most, stop - self.done)
            self._play(self.done + 1, count)
            self.state.round_[0] += count
        if self.done == self.plan.budget and math.isnan(self.state.total[0]):
            self.state.total[0] = self._sum()

    def _play(self, first: int, count: int) -> None:
        draws = self._streams.batch(first, count)
        owners, explored, scratch = self.state.owners, self.state.explored, self._scratch
        if self._each_packet:
            refused = self._packets.play(
                self.world, owners, self.key, first, draws, scratch, explored
            )
        else:
            refused = play_steps(
                self.world, self.plan.rule, np.array(self.plan.comparisons), owners, self.key,
                first, draws, self._pads(first, count), scratch, explored,
            )  # fmt: skip
        if refused:
            raise FedbanditsError(f"step {refused}: a score is no finite number; mend the rule")

    def _pads(self, first: int, count: int) -> Pads:
        """Key stream of the stream cipher; zeros without one."""
        iterations, arms = self.plan.iterations, self.plan.arms
        if not isinstance(self._cipher, StreamCipher):
            shape = (1, iterations, arms)
            return Pads(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))
        scores, bits = (
            self._cipher.keystream(counter_blocks(direction, first, count, iterations, arms))
            for direction in (SCORES, BITS)
        )
        return Pads(
            np.ascontiguousarray(scores[..., 0]), (bits[..., 0] & np.uint64(0xFF)).astype(np.uint8)
        )

    def _sum(self) -> float:
        """Steps 6 and 7: the customer gets the sum of all rewards, and nobody else does."""
        rewards = self.state.owners.rewards
        if self.config.execution != "secure":
            return float(rewards.sum())
        clock = time.perf_counter
        began = clock()
        private = paillier.generate(self.config.paillier_bits)
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
        """What the customer gets for its budget; NaN before the last round."""
        return float(self.state.total[0])

    @property
    def regret(self) -> Floats:
        """Cumulative pseudo-regret of the pulls of every arm, (arms,)."""
        return self.state.owners.pulls * self._gaps

    @property
    def reward(self) -> Floats:
        """sᵢ, (arms,)."""
        return self.state.owners.rewards

    @property
    def syncs(self) -> int:
        """Iterations of steps 2 to 5 so far; none in a plain run."""
        return 0 if self.config.execution == "plain" else self._steps * self.plan.iterations

    @property
    def _steps(self) -> int:
        return max(0, self.done - self.plan.arms)

    @property
    def _silent(self) -> int:
        """Steps in which owners sent no scores."""
        return int(self.state.explored[0]) if self.config.exploration_shortcut else 0

    @property
    def messages(self) -> int:
        """Messages so far: setup, 2 K + 2 an iteration, and at the end one an owner and one."""
        if self.config.execution == "plain" or self.done < self.plan.arms:
            return 0
        arms = self.plan.arms
        last = arms + 1 if self.done == self.plan.budget else 0
        return arms + 2 + self.syncs * (2 * arms + 2) + last

    @property
    def bytes(self) -> int:
        """Bytes of ciphertexts so far (of numbers, where nothing is encrypted)."""
        if self.config.execution == "plain" or self.done < self.plan.arms:
            return 0
        arms = self.plan.arms
        score, bit = packet_bytes(self._cipher)
        secure = self.config.execution == "secure"
        number = self.config.paillier_bits // 4 if secure else _NUMBER_BYTES
        last = (arms + 1) * number if self.done == self.plan.budget else 0
        return 2 * arms * ((self.syncs - self._silent) * score + self.syncs * bit) + last

    @property
    def epsilon(self) -> float:
        """No ε is claimed: what leaves is encrypted, not noisy."""
        return math.inf
