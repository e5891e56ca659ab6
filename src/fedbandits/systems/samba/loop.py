"""A SAMBA run without parties: its state, its first pulls, its steps, the sum, and counts.

Published steps run in one compiled loop, or are sealed packet by packet. Silent steps compare the
words of all owners in clear: the servers of a silent run find the same owner, without reading one.
What they send is counted all the same, see :class:`.theory.Counts`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from fedbandits._typing import Floats, Ints
from fedbandits.crypto import paillier
from fedbandits.crypto.aead import PacketCipher, StreamCipher, counter_blocks, position_prefix
from fedbandits.crypto.kernels.dealing import permute
from fedbandits.environments.base import F64, Environment, Memory, Needs
from fedbandits.errors import FedbanditsError
from fedbandits.learners.kernels.largest_scores import first_memory
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import OpenRule
from fedbandits.random import Key
from fedbandits.systems.samba.ciphers import (
    BIT,
    BITS,
    SCORE_BYTES,
    SCORES,
    channel_cipher,
    floats,
    packet_bytes,
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
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.streams import SilentStreams, Streams, fill_owner_keys
from fedbandits.systems.samba.theory import Counts
from fedbandits.systems.samba.theory import messages as published_messages
from fedbandits.systems.simulated import CompiledReplicate

#: Numbers of key stream that are made at once. A cipher block for each stays below 128 KiB: from
#: there on memory may be mapped, and emptied, anew for every batch, which costs as much as a step.
_CHUNK = 7 << 10
#: The same where nothing is sealed: smaller batches cost more than memory.
_PLAIN_CHUNK = 1 << 15
#: Called with Comp's packets: step, iteration, sealed scores and sealed bits, both by place.
Observer = Callable[[int, int, Sequence[bytes], Sequence[bytes]], None]
#: Returns seconds since some moment.
Timer = Callable[[], float]
#: Roles whose time is measured apart (Figure 8d).
ROLES = ("data owners", "controller", "comp", "customer")
#: Bytes of a sum of rewards, or of a score that the Controller drew, in clear.
_NUMBER_BYTES = 8
#: An owner's part in one step, in multiplications: a rule, and a packet each way.
_WORK = {"none": 40.0, "stream": 200.0, "aes-gcm": 20_000.0}


class Clock(NamedTuple):
    """Counters of a run, one-element arrays so that compiled code can advance them."""

    round_: Ints  # pulls made
    explored: Ints  # steps in which owners sent no scores


class State(NamedTuple):
    """All that changes in a run."""

    clock: Clock
    owners: Owners
    total: Floats  # (1,) what the customer has decrypted; NaN until the end


def initial_state(arms: int, memory: float | None = None) -> State:
    """Make the state before the first round, with keys that are still to be filled in.

    An owner's rule remembers ``memory`` before the first step; 1 / K if it is not given.
    """
    owners = Owners(
        pulls=np.zeros(arms, np.int64),
        rewards=np.zeros(arms),
        memory=np.full((arms, 1), 1.0 / arms if memory is None else memory),
        keys=np.zeros((arms, 2), np.uint64),
        regret=np.zeros(arms),
    )
    clock = Clock(np.zeros(1, np.int64), np.zeros(1, np.int64))
    return State(clock, owners, np.full(1, math.nan))


def needs(plan: SambaPlan) -> Needs:
    """Return what :func:`initial_state` takes, and the rounds after it."""
    owners = Memory("what owners know", plan.arms * 6 * F64, "environment.arms")
    sealing = "none" if plan.config.is_silent else plan.config.packet_cipher
    return Needs((owners,), plan.rounds * plan.arms * _WORK[sealing])


class Setting(NamedTuple):
    """Inputs of steps, and the state that steps change: counters, owners and seconds."""

    plan: SambaPlan
    agreed: Agreement
    rule: OpenRule  # with the records of the owners
    secrets: SimulatedSecrets
    cipher: PacketCipher  # of scores and bits
    world: Any
    key: Key
    clock: Clock
    owners: Owners
    seconds: dict[str, float]  # time spent, by role; added to
    observer: Observer | None  # called with the packets of every iteration
    timer: Timer


def _steps_at_once(setting: Setting) -> int:
    """Count steps that are played at once, each of which draws about one number for each arm."""
    config = setting.plan.config
    unsealed = config.is_silent or config.execution == "plain"
    chunk = _PLAIN_CHUNK if unsealed else _CHUNK
    return max(1, chunk // (setting.agreed.arms * setting.agreed.iterations))


class Steps(Protocol):
    """Plays steps in which owners' scores decide on an arm, which is pulled."""

    #: Steps that may be played in one call.
    at_once: int

    def play(self, first: int, count: int) -> int:
        """Play ``count`` steps from ``first`` on; returns 0, or the step that was refused."""


class PublishedSteps:
    """Comp compares masked scores in one compiled loop: in clear, or sealed by key stream."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        plan, config = setting.plan, setting.plan.config
        self._streams = Streams(
            setting.secrets, self.agreed, config.tie_breaking == "random", plan.drawn_scores
        )
        self._scratch = new_scratch(plan.arms)
        self.at_once = _steps_at_once(setting)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`Steps`."""
        setting = self._setting
        return play_steps(
            setting.world, setting.rule.handle, np.array(self.agreed.comparisons), setting.owners,
            setting.key, first, self._streams.batch(first, count), self._pads(first, count),
            self._scratch, setting.clock.explored,
        )  # fmt: skip

    def _pads(self, first: int, count: int) -> PacketPads:
        """Make the stream cipher's key stream, without nonces; zeros where there is none."""
        iterations, arms = self.agreed.iterations, self.agreed.arms
        cipher = self._setting.cipher
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
    """Comp compares masked scores; every packet is sealed and opened by itself."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._cipher = setting.cipher
        #: Whether owners send no scores in steps that explore.
        self._unsent = setting.plan.config.exploration_shortcut != "none"
        self._slots = [place.to_bytes(4, "big") for place in range(self.agreed.arms)]

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`Steps`."""
        draws, agreed = self._streams.batch(first, count), self.agreed
        for s in range(count):
            step, drawn = first + s, float(draws.exploration[s])
            exploring = self._setting.rule.explores(step, agreed.arms, drawn)
            self._setting.clock.explored[0] += exploring
            if not all(
                self._iteration(step, i, exploring, draws, s) for i in range(agreed.iterations)
            ):
                return step
        return 0

    def _iteration(self, step: int, index: int, exploring: bool, draws: Batch, s: int) -> bool:
        """Play steps 2 to 5 once; returns whether all scores were numbers."""
        setting, scratch = self._setting, self._scratch
        agreed, rule, owners = self.agreed, setting.rule.handle, setting.owners
        seconds, clock = setting.seconds, setting.timer
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
            sealed = self._cipher.seal([positions[place] for place in places], payloads)
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
            masked = floats(self._cipher.open(self._positions(SCORES, step, index + 1), listed))
            tie, waits = draws.ties[s, index], draws.waits[s, index]
            comparison = agreed.comparisons[index]
            chosen = int(select_arm(comparison, masked, tie, waits, scratch.waits))
        if chosen < 0:
            return False
        positions = self._positions(BITS, step, index + 1)
        answers = self._cipher.seal(positions, [BIT[p == chosen] for p in range(agreed.arms)])
        if setting.observer is not None:
            setting.observer(step, index + 1, listed, answers)
        compared = clock()
        returned = [answers[place] for place in places]
        unpermuted = clock()
        opened = self._cipher.open([positions[place] for place in places], returned)
        arm = opened.index(BIT[1])
        owners_take(
            setting.world, rule, index + 1, agreed.iterations, step, arm, owners, setting.key
        )
        seconds["data owners"] += owners_done - began + clock() - unpermuted
        seconds["controller"] += permuted - owners_done + unpermuted - compared
        seconds["comp"] += compared - permuted
        return True

    def _positions(self, direction: int, step: int, iteration: int) -> list[bytes]:
        return list(map(position_prefix(direction, step, iteration).__add__, self._slots))


class SilentSteps:
    """The owner of the largest word is chosen, in one compiled loop."""

    def __init__(self, setting: Setting) -> None:
        self._setting, self.agreed = setting, setting.agreed
        self._streams = SilentStreams(setting.secrets, self.agreed)
        self._tie_bits = bits_for_ties(self.agreed.arms)
        self._scratch = new_silent_scratch(self.agreed.arms)
        self.at_once = _steps_at_once(setting)

    def play(self, first: int, count: int) -> int:
        """Play some steps; see :class:`Steps`."""
        draws, setting = self._streams.batch(first, count), self._setting
        return play_silent_steps(
            setting.world, setting.rule.handle, self.agreed.iterations, setting.owners, setting.key,
            first, draws, self._tie_bits, self._scratch,
        )  # fmt: skip


def steps_of(setting: Setting) -> Steps:
    """Return the steps of a run, by its comparison and its cipher."""
    config = setting.plan.config
    if config.is_silent:
        return SilentSteps(setting)
    one_by_one = setting.observer is not None or config.packet_cipher == "aes-gcm"
    return SealedSteps(setting) if one_by_one else PublishedSteps(setting)


class Replicate(CompiledReplicate[SambaPlan]):
    """One replicate of one SAMBA variant; the parties of its results are the data owners.

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
        config, secrets = plan.config, SimulatedSecrets.derive(seed, replicate)
        self.agreement = plan.agreement(secrets.run)
        #: Seconds that each role has worked; the compiled loop does not tell roles apart.
        self.seconds = dict.fromkeys(ROLES, 0.0)
        memory = first_memory(self.agreement.rule, plan.arms) if config.is_silent else None
        self.state: State = initial_state(plan.arms, memory)
        #: The customer's own key; if it is None, one is made with the sum.
        self.customer_key: paillier.PrivateKey | None = None
        self._clock = clock
        fill_owner_keys(self.key, secrets.run, self.state.owners.keys)
        self._cipher = channel_cipher(config.packet_cipher, secrets.channel, self.agreement)
        owners = self.state.owners
        records = Records(owners.pulls, owners.rewards, owners.memory, owners.keys)
        setting = Setting(
            plan, self.agreement, OpenRule(self.agreement.rule, records), secrets, self._cipher,
            self.world, self.key, self.state.clock, owners, self.seconds, observer, clock,
        )  # fmt: skip
        self._steps = steps_of(setting)
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
        rewards, config = self.state.owners.rewards, self.plan.config
        if not config.encrypts_sums:
            return float(rewards.sum())
        clock = self._clock
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
        """Infinity: no ε is claimed, as messages are encrypted, not noisy."""
        return math.inf
