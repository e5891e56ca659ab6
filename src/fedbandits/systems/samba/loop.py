"""A SAMBA run without parties: its state, its first pulls, its steps, the sum, and counts.

Published steps run in one compiled loop, or are sealed packet by packet. Silent steps compare the
words of all owners in clear: the servers of a silent run find the same owner, and read no word. The
servers' messages are counted all the same, see :class:`.theory.Counts`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.crypto import paillier
from fedbandits.crypto.aead import StreamCipher, counter_blocks, position_prefix
from fedbandits.crypto.kernels.dealing import permute
from fedbandits.environments.base import F64, Environment, Memory, Needs
from fedbandits.errors import FedbanditsError
from fedbandits.learners.kernels.largest_scores import first_memory
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import OpenRule
from fedbandits.systems.samba.ciphers import (
    BIT,
    BITS,
    SCORE_BYTES,
    SCORES,
    channel_cipher,
    floats,
)
from fedbandits.systems.samba.kernels import (
    Batch,
    Owners,
    PacketPads,
    any_place,
    bits_for_ties,
    list_drawn,
    new_scratch,
    new_silent_scratch,
    owners_score,
    owners_take,
    play_silent_steps,
    play_steps,
    pull,
    select_arm,
    select_drawn,
)
from fedbandits.systems.samba.keys import SimulatedSecrets
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.streams import SilentStreams, Streams, fill_owner_keys
from fedbandits.systems.samba.theory import Traffic, counts_of
from fedbandits.systems.simulated import CompiledReplicate

#: Numbers of key stream that are made at once. Their cipher blocks stay below 128 KiB: larger
#: memory may be mapped, and emptied, anew for every batch, which costs as much as a step.
_CHUNK = 7 << 10
#: Numbers that are drawn at once where nothing is sealed: smaller batches cost more than memory.
_PLAIN_CHUNK = 1 << 15
#: Called with Comp's packets: step, iteration, sealed scores and sealed bits, both by place.
Observer = Callable[[int, int, Sequence[bytes], Sequence[bytes]], None]
#: Returns seconds since some moment.
Timer = Callable[[], float]
#: Roles whose time is measured apart (Figure 8d).
ROLES = ("data owners", "controller", "comp", "customer")
#: An owner's part in one step, in multiplications: a rule, and a packet each way.
_WORK = {"none": 40.0, "stream": 200.0, "aes-gcm": 20_000.0}


class Clock(NamedTuple):
    """Counters of a run, arrays of a single element so that compiled code can advance them."""

    round_: Ints  # pulls made
    explored: Ints  # steps in which owners sent no scores


class State(NamedTuple):
    """All that changes in a run."""

    clock: Clock
    owners: Owners
    total: Floats  # (1,) the customer's decrypted total; NaN until the end


def needs(plan: SambaPlan) -> Needs:
    """Return the memory of a run's state, and the work of its rounds."""
    owners = Memory("what owners know", plan.arms * 6 * F64, "environment.arms")
    sealing = "none" if plan.config.is_silent else plan.config.packet_cipher
    return Needs((owners,), plan.rounds * plan.arms * _WORK[sealing])


class Steps:
    """Steps of a run: owners' scores decide on an arm, and the arm is pulled."""

    def __init__(self, run: Replicate) -> None:
        self.run, self.agreed = run, run.agreement
        unsealed = run.plan.config.is_silent or run.plan.config.execution == "plain"
        chunk = _PLAIN_CHUNK if unsealed else _CHUNK
        #: Steps that may be played in one call: each draws about one number for each arm.
        self.at_once = max(1, chunk // (self.agreed.arms * self.agreed.iterations))

    def play(self, first: int, count: int) -> int:
        """Play ``count`` steps from ``first`` on; returns 0, or the step that was refused."""
        raise NotImplementedError


class PublishedSteps(Steps):
    """Compiled steps in which Comp compares masked scores, in clear or sealed by key stream."""

    def __init__(self, run: Replicate) -> None:
        super().__init__(run)
        plan, config = run.plan, run.plan.config
        self._streams = Streams(
            run.secrets, self.agreed, config.tie_breaking == "random", plan.drawn_scores
        )
        self._scratch = new_scratch(plan.arms)

    def play(self, first: int, count: int) -> int:
        run = self.run
        return play_steps(
            run.world, run.rule.handle, np.array(self.agreed.comparisons), run.state.owners,
            run.key, first, self._streams.batch(first, count), self._pads(first, count),
            self._scratch, run.state.clock.explored,
        )  # fmt: skip

    def _pads(self, first: int, count: int) -> PacketPads:
        """Make the stream cipher's key stream, without nonces; zeros where there is none."""
        iterations, arms = self.agreed.iterations, self.agreed.arms
        cipher = self.run.cipher
        if not isinstance(cipher, StreamCipher):
            shape = (1, iterations, arms)
            return PacketPads(np.zeros(shape, np.uint64), np.zeros(shape, np.uint8))
        scores, bits = (
            cipher.keystream(counter_blocks(direction, first, count, iterations, arms))
            for direction in (SCORES, BITS)
        )
        return PacketPads(
            np.ascontiguousarray(scores[..., 0]), (bits[..., 0] & np.uint64(0xFF)).astype(np.uint8)
        )


class SealedSteps(PublishedSteps):
    """Steps in which Comp compares masked scores, with every packet sealed and opened by itself."""

    def __init__(self, run: Replicate) -> None:
        super().__init__(run)
        #: Whether owners send no scores in steps that explore.
        self._unsent = run.plan.config.exploration_shortcut != "none"
        self._slots = [place.to_bytes(4, "big") for place in range(self.agreed.arms)]

    def play(self, first: int, count: int) -> int:
        draws, agreed, run = self._streams.batch(first, count), self.agreed, self.run
        for s in range(count):
            step, drawn = first + s, float(draws.exploration[s])
            exploring = run.rule.explores(step, agreed.arms, drawn)
            run.state.clock.explored[0] += exploring
            if not all(
                self._iteration(step, i, exploring, draws, s) for i in range(agreed.iterations)
            ):
                return step
        return 0

    def _iteration(self, step: int, index: int, exploring: bool, draws: Batch, s: int) -> bool:
        """Play steps 2 to 5 once; returns whether all scores were numbers."""
        run, scratch, cipher = self.run, self._scratch, self.run.cipher
        agreed, rule, owners = self.agreed, run.rule.handle, run.state.owners
        seconds, clock = run.seconds, run.timer
        permute(draws.places[s, index], scratch.places)
        places: list[int] = scratch.places.tolist()
        unsent = exploring and self._unsent
        began = clock()
        sealed: list[bytes] = []
        if not unsent:
            mask = float(draws.masks[s, index])
            owners_score(rule, index + 1, step, exploring, mask)
            data = rule.scores.tobytes()
            payloads = [data[at : at + SCORE_BYTES] for at in range(0, len(data), SCORE_BYTES)]
            positions = self._positions(SCORES, step, index + 1)
            sealed = cipher.seal([positions[place] for place in places], payloads)
        owners_done = clock()
        listed = [b""] * agreed.arms
        for place, packet in zip(places, sealed, strict=not unsent):
            listed[place] = packet
        drawn = unsent and draws.drawn.shape[1] > 0
        if drawn:
            list_drawn(draws.drawn[s], scratch.places, scratch.opened)
        permuted = clock()
        if drawn:
            chosen = int(select_drawn(scratch.opened))
        elif unsent:
            chosen = int(any_place(draws.ties[s, index], agreed.arms))
        else:
            masked = floats(cipher.open(self._positions(SCORES, step, index + 1), listed))
            tie, waits = draws.ties[s, index], draws.waits[s, index]
            comparison = agreed.comparisons[index]
            chosen = int(select_arm(comparison, masked, tie, waits, scratch.waits))
        if chosen < 0:
            return False
        positions = self._positions(BITS, step, index + 1)
        answers = cipher.seal(positions, [BIT[p == chosen] for p in range(agreed.arms)])
        if run.observer is not None:
            run.observer(step, index + 1, listed, answers)
        compared = clock()
        returned = [answers[place] for place in places]
        unpermuted = clock()
        opened = cipher.open([positions[place] for place in places], returned)
        arm = opened.index(BIT[1])
        owners_take(run.world, rule, index + 1, agreed.iterations, step, arm, owners, run.key)
        seconds["data owners"] += owners_done - began + clock() - unpermuted
        seconds["controller"] += permuted - owners_done + unpermuted - compared
        seconds["comp"] += compared - permuted
        return True

    def _positions(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(position_prefix(direction, step, iteration).__add__, self._slots))


class SilentSteps(Steps):
    """Compiled steps in which the owner of the largest word is chosen."""

    def __init__(self, run: Replicate) -> None:
        super().__init__(run)
        self._streams = SilentStreams(run.secrets, self.agreed)
        self._tie_bits = bits_for_ties(self.agreed.arms)
        self._scratch = new_silent_scratch(self.agreed.arms)

    def play(self, first: int, count: int) -> int:
        draws, run = self._streams.batch(first, count), self.run
        return play_silent_steps(
            run.world, run.rule.handle, self.agreed.iterations, run.state.owners, run.key, first,
            draws, self._tie_bits, self._scratch,
        )  # fmt: skip


class Replicate(CompiledReplicate[SambaPlan]):
    """A replicate of a SAMBA variant; the parties of its results are the data owners.

    Parameters
    ----------
    plan
        The plan: every round pulls one arm, each arm once first.
    environment
        The world of the arms.
    seed, replicate
        Names of the draws, and of the parties' simulated secrets. Paillier's key and randomness are
        secure all the same: encryption changes no result.
    threads
        Not used: a step waits for the one before it.
    observer
        Called with the packets of every step; then every packet is sealed by itself.
    clock
        The clock that measures the roles' seconds.
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
        config, arms = plan.config, plan.arms
        self.observer, self.timer = observer, clock
        self.secrets = SimulatedSecrets.derive(seed, replicate)
        self.agreement = plan.agreement(self.secrets.run)
        #: The cipher of scores and bits.
        self.cipher = channel_cipher(config.packet_cipher, self.secrets.channel, self.agreement)
        #: Seconds that each role has worked; the compiled loop does not tell roles apart.
        self.seconds = dict.fromkeys(ROLES, 0.0)
        #: The customer's own key; None until the sum needs a key.
        self.customer_key: paillier.PrivateKey | None = None
        memory = first_memory(self.agreement.rule, arms) if config.is_silent else 1.0 / arms
        owners = Owners(
            pulls=np.zeros(arms, np.int64), rewards=np.zeros(arms),
            memory=np.full((arms, 1), memory), keys=np.zeros((arms, 2), np.uint64),
            regret=np.zeros(arms),
        )  # fmt: skip
        fill_owner_keys(self.key, self.secrets.run, owners.keys)
        clocks = Clock(np.zeros(1, np.int64), np.zeros(1, np.int64))
        self.state: State = State(clocks, owners, np.full(1, math.nan))
        records = Records(owners.pulls, owners.rewards, owners.memory, owners.keys)
        #: The index rule, with the records of the owners.
        self.rule = OpenRule(self.agreement.rule, records)
        self._steps = self._kind_of_steps()(self)
        self._counts = counts_of(plan)
        self._gaps: Floats = self.world.means.max() - self.world.means
        self._play(arms + 1, 0)  # compiles the steps

    def _kind_of_steps(self) -> type[Steps]:
        """Choose the steps of the run, by its comparison and its cipher."""
        config = self.plan.config
        if config.is_silent:
            return SilentSteps
        one_by_one = self.observer is not None or config.packet_cipher == "aes-gcm"
        return SealedSteps if one_by_one else PublishedSteps

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
        rewards, config = self.state.owners.rewards, self.plan.config
        if not config.encrypts_sums:
            return float(rewards.sum())
        clock = self.timer
        began = clock()
        private = self.customer_key or paillier.generate(config.paillier_bits)
        generated = clock()
        public = private.public_key
        ciphertexts = [public.encrypt(int(reward)) for reward in rewards]
        encrypted = clock()
        total = public.add(*ciphertexts)
        added = clock()
        decrypted = private.decrypt(total)
        self.seconds["customer"] += generated - began + clock() - added
        self.seconds["data owners"] += encrypted - generated
        self.seconds["controller"] += added - encrypted
        return float(decrypted)

    @property
    def cumulative_reward(self) -> float:
        """The customer's reward for its budget; NaN before the last round."""
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
        """True once messages have been sent: parties set up after every arm was pulled."""
        return self.plan.config.execution != "plain" and self.done >= self.plan.arms

    @property
    def syncs(self) -> int:
        """Iterations of steps 2 to 5 so far; none in a plain run."""
        steps = self.done - self.plan.arms if self._communicates else 0
        return steps * self.agreement.iterations

    @property
    def messages(self) -> int:
        """Messages so far, see :mod:`.theory`."""
        return self._counted(self._counts.messages)

    @property
    def bytes(self) -> int:
        """Bytes of ciphertexts so far (of numbers, where nothing is encrypted)."""
        return self._counted(self._counts.bytes)

    def _counted(self, count: Callable[[int, bool, int], Traffic]) -> int:
        explored = int(self.state.clock.explored[0])
        summed = self.done == self.plan.rounds
        return count(self.syncs, summed, explored).all if self._communicates else 0

    @property
    def epsilon(self) -> float:
        """Infinity: no ε is claimed, as messages are encrypted, not noisy."""
        return math.inf
