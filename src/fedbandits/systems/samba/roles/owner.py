"""SAMBA's data owners and customer; its servers are in ``controller.py`` and ``comp.py``."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import Channel, CipherName, TamperedPacketError
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.crypto.paillier import PrivateKey
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import Party, Transitions
from fedbandits.learners.index_rules import explores, note_bit, score_arm
from fedbandits.random import Key
from fedbandits.systems.samba.config import Algorithm
from fedbandits.systems.samba.draws import (
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    Exploration,
    Masks,
)
from fedbandits.systems.samba.messages import Bit, Order, Score, Setup, Sum, Total
from fedbandits.systems.samba.plan import channel_cipher, check_order, check_place
from fedbandits.systems.samba.sums import SumCipher, WeakKeyError, decrypt, public_bytes

_CHOSEN = {b"\x00": False, b"\x01": True}


class Standing(NamedTuple):
    """Where a data owner stands, and what it knows of its arm."""

    step: int = 0  # the pull that is being decided on; the first own pull is not decided on
    iteration: int = 1
    place: int = 0  # in Comp's next list
    pulls: int = 0
    rewards: int = 0
    memory: Floats = np.zeros(1)

    def next_step(self) -> Standing:
        """The standing before the next pull is decided on."""
        return self._replace(step=self.step + 1, iteration=1)


class DataOwner(Party):
    """Has one arm: scores it, masked and sealed, and pulls it when told to.

    A pull is up to the owner's own application: once :attr:`state` is ``pulling``, it calls
    :meth:`observe` with the reward. ``standing.step`` says which pull it is; before the first
    decision that is K.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    key
        Of scores and bits, shared with Comp and the other owners, never with the Controller.
    cipher
        Of scores and bits.
    draws
        Key of its own random draws, for rules that need some.
    exploration_shortcut
        Whether to leave out scores in steps that explore.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Setup"): ("pulling",),
        ("pulling", "observe"): ("waiting", "done"),
        ("waiting", "Bit"): ("waiting", "pulling", "done"),
    }

    def __init__(
        self,
        name: str,
        controller: str,
        key: bytes,
        cipher: CipherName,
        draws: Key,
        exploration_shortcut: bool = True,
    ) -> None:
        super().__init__(name, "idle", [controller])
        self.standing = Standing()
        self._controller, self._key, self._cipher, self._draws = controller, key, cipher, draws
        self._shortcut = exploration_shortcut

    def observe(self, reward: float) -> list[Message]:
        """Take the reward of a pull.

        Parameters
        ----------
        reward : float
            0 or 1.

        Raises
        ------
        LocalProtocolError
            If no pull is due.
        BoundExceededError
            If the reward is neither 0 nor 1. Nothing has changed then.
        """
        self._require("observe")
        if reward not in (0, 1):
            raise BoundExceededError(f"{self.name}: a reward must be 0 or 1")
        now = self.standing
        after = now._replace(pulls=now.pulls + 1, rewards=now.rewards + int(reward))
        return self._go_on("observe", after.next_step())

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Setup():
                return self._begin(message)
            case Bit():
                return self._take(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, setup: Setup) -> list[Message]:
        plan = check_order(self.name, setup.budget, setup.arms, setup.algorithm, setup.run)
        check_place(self.name, setup.place, plan)
        sums = SumCipher(setup.public_key)
        if not setup.public_key and self._cipher != "none":
            raise WeakKeyError(f"{self.name}: there is no key to encrypt the sum under")
        if {len(setup.mask_key), len(setup.exploration_key)} != {KEY_BYTES}:
            raise WeakKeyError(f"{self.name}: a seed of {KEY_BYTES} bytes was expected")
        masks = Masks(setup.mask_key, plan.iterations)
        exploration = Exploration(setup.exploration_key)
        self._plan, self._sums, self._masks, self._exploration = plan, sums, masks, exploration
        cipher = channel_cipher(self._cipher, self._key, plan)
        self._scores = Channel(cipher, SCORES, SCORE_BYTES)
        self._bits = Channel(cipher, BITS, BIT_BYTES)
        self.standing = Standing(
            step=plan.arms, memory=np.full(1, 1.0 / plan.arms), place=setup.place
        )
        self._move("Setup", "pulling")
        return []

    def _take(self, message: Bit) -> list[Message]:
        now, plan = self.standing, self._plan
        if (message.step, message.iteration) != (now.step, now.iteration):
            raise OutOfOrderError(
                f"{self.name}: bit of step {message.step}.{message.iteration}, "
                f"this is {now.step}.{now.iteration}"
            )
        check_place(self.name, message.place, plan)
        (bit,) = self._bits.open(now.step, now.iteration, [now.place], [message.sealed])
        if bit not in _CHOSEN:
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        memory = now.memory.copy()
        note_bit(plan.rule, now.iteration, _CHOSEN[bit], memory)
        after = now._replace(memory=memory, place=message.place)
        if now.iteration < plan.iterations:
            outgoing = self._go_on("Bit", after._replace(iteration=now.iteration + 1))
        elif _CHOSEN[bit]:
            self.standing, outgoing = after, []
            self._move("Bit", "pulling")
        else:
            outgoing = self._go_on("Bit", after.next_step())
        self._bits.advance(now.step, now.iteration)
        return outgoing

    def _go_on(self, event: str, after: Standing) -> list[Message]:
        """Send what comes next; only then is the new standing taken over."""
        done = after.step > self._plan.budget
        message = self._sum(after) if done else self._score(after)
        self.standing = after
        self._move(event, "done" if done else "waiting")
        return [self._numbered(message)]

    def _score(self, after: Standing) -> Score:
        plan, step, iteration = self._plan, after.step, after.iteration
        exploring = explores(plan.rule, step, plan.arms, self._exploration.draw(step))
        sealed = b""
        if not (exploring and self._shortcut):
            score = 0.0 if exploring else self._compute_score(after)
            masked = score * self._masks.draw(step, iteration)
            if not math.isfinite(masked):
                raise LocalProtocolError(f"{self.name}: the score at step {step} is not finite")
            payload = np.array([masked]).astype("<f8").tobytes()
            (sealed,) = self._scores.seal(step, iteration, [after.place], [payload])
        return Score(
            sender=self.name,
            receiver=self._controller,
            step=step,
            iteration=iteration,
            sealed=sealed,
        )

    def _compute_score(self, now: Standing) -> float:
        rewards, rule = float(now.rewards), self._plan.rule
        return score_arm(rule, now.iteration, now.step, now.pulls, rewards, now.memory, self._draws)

    def _sum(self, after: Standing) -> Sum:
        ciphertext = self._sums.encrypt(after.rewards)
        return Sum(sender=self.name, receiver=self._controller, ciphertext=ciphertext)


class Customer(Party):
    """Pays for N pulls and gets their cumulative reward, which nobody else can read.

    Parameters
    ----------
    name, controller
        This party's name and the Controller's.
    private_key
        Its own; None for sums in clear.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "order"): ("waiting",),
        ("waiting", "Total"): ("done",),
    }

    def __init__(self, name: str, controller: str, private_key: PrivateKey | None) -> None:
        super().__init__(name, "idle", [controller])
        self.cumulative_reward: int | None = None
        self._controller, self._private_key = controller, private_key
        self._budget = 0

    def order(self, budget: int, algorithm: Algorithm) -> list[Message]:
        """Step 0: order ``budget`` pulls by an algorithm."""
        self._require("order")
        if budget < 1:
            raise LocalProtocolError(f"{self.name}: a budget is at least 1, not {budget}")
        self._budget = budget
        self._move("order", "waiting")
        message = Order(
            sender=self.name,
            receiver=self._controller,
            budget=budget,
            algorithm=algorithm,
            public_key=public_bytes(self._private_key),
        )
        return [self._numbered(message)]

    def _handle(self, message: Message) -> list[Message]:
        if not isinstance(message, Total):
            raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")
        reward = decrypt(self._private_key, message.ciphertext)
        if reward > self._budget:
            raise TamperedPacketError(f"{self.name}: more reward than pulls were paid for")
        self.cumulative_reward = reward
        self._move("Total", "done")
        return []
