"""SAMBA's data owners: one arm each."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from fedbandits._typing import Floats
from fedbandits.crypto.aead import Channel, TamperedPacketError
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.party import ActingParty
from fedbandits.federation.state import Transitions
from fedbandits.learners.index_rules import explores, note_bit, score_arm
from fedbandits.random import Key
from fedbandits.systems.samba.agreement import Agreement, accept, channel_cipher
from fedbandits.systems.samba.messages import Bit, Score, Setup, Sum
from fedbandits.systems.samba.packets import BIT, BIT_BYTES, BITS, SCORE_BYTES, SCORES
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.streams import Exploration, Masks, owner_key
from fedbandits.systems.samba.sums import SumCipher, WeakKeyError


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


class OwnerSupply(NamedTuple):
    """What a data owner brings.

    Parameters
    ----------
    key
        Secret from which the key of scores and bits is made; Comp and the other owners share it,
        the Controller never has it.
    draws
        Key of the owner's own random draws, for rules that need some; those of a run are made of
        it and of the run's name.
    """

    key: bytes
    draws: Key


class DataOwner(ActingParty):
    """Has one arm: scores it, masked and sealed, and pulls it when told to.

    The only decision is to pull, in the round that :attr:`round_to_act` names; the outcome is the
    reward, 0 or 1. After a pull nobody answers before the round's end (:meth:`end_round`), neither
    who pulled nor the others: whoever calls it does so on a beat that is the same for all owners
    and lasts at least as long as the longest pull. Otherwise the late answer would name the arm.

    Parameters
    ----------
    index
        Which of the owners this is; it has the arm of that number.
    name, controller
        This party's name and the Controller's.
    plan
        What all parties go by; budget and algorithm are those that the Controller tells.
    supply
        The keys that it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", "Setup"): ("pulling",),
        ("pulling", "decide"): ("pulling",),
        ("pulling", "observe"): ("resting",),
        ("waiting", "Bit"): ("waiting", "pulling", "resting"),
        ("resting", "end_round"): ("waiting", "done"),
    }

    def __init__(
        self, index: int, name: str, controller: str, plan: SambaPlan, supply: OwnerSupply
    ) -> None:
        super().__init__(name, "idle", [controller])
        self.standing = Standing()
        self._index, self._controller, self._config = index, controller, plan.config
        self._key, self._brought = supply

    @property
    def round_to_act(self) -> int | None:
        """The round of the pull that is due, if one is: before the first bit it has its own."""
        if self.state != "pulling":
            return None
        return self._index + 1 if self.standing.pulls == 0 else self.standing.step

    def decide(self, situation: None) -> bool:
        """To pull: True. It may be asked again, or not at all: there is nothing else to decide.

        Raises
        ------
        LocalProtocolError
            If no pull is due.
        """
        self._require("decide")
        return True

    def observe(self, decision: bool, outcome: float) -> list[Message]:
        """Take the reward of a pull.

        Parameters
        ----------
        decision : bool
            True: the arm was pulled.
        outcome : float
            The reward, 0 or 1.

        Raises
        ------
        LocalProtocolError
            If no pull is due, or none was made.
        BoundExceededError
            If the reward is neither 0 nor 1. Nothing has changed then.
        """
        self._require("observe")
        if not decision:
            raise LocalProtocolError(f"{self.name}: a pull is due, and was not made")
        if outcome not in (0, 1):
            raise BoundExceededError(f"{self.name}: a reward must be 0 or 1")
        now = self.standing
        after = now._replace(pulls=now.pulls + 1, rewards=now.rewards + int(outcome))
        self.standing = after.next_step()
        self._move("observe", "resting")
        return []

    @property
    def next_end(self) -> int | None:
        """The round whose end is waited for, once its pull is over; None while it is not."""
        return self.standing.step - 1 if self.state == "resting" else None

    def end_round(self, round_: int) -> list[Message]:
        """The beat: send the score of the next step, or the sum after the last one.

        Nothing leaves before a step whose scores the Controller draws.

        Raises
        ------
        LocalProtocolError
            If this owner's pull is not over: the beat was shorter than a pull. Or if it is not this
            round's end that is waited for, or the score is not finite. Nothing has changed then.
        """
        self._require_next_end(round_)
        step, outgoing = self.standing.step, list[Message]()
        done = step > self.agreement.budget
        if done:
            outgoing.append(self._sum())
        elif not (self._config.controller_draws and self._explores(step)):
            outgoing.append(self._score(self.standing))
        self._move("end_round", "done" if done else "waiting")
        return [self._numbered(message) for message in outgoing]

    def _explores(self, step: int) -> bool:
        draw = self._exploration.draw(step)
        return bool(explores(self.agreement.rule, step, self.agreement.arms, draw))

    def _handle(self, message: Message) -> list[Message]:
        match message:
            case Setup():
                return self._begin(message)
            case Bit():
                return self._take(message)
            case _:
                raise OutOfOrderError(f"{self.name}: {type(message).__name__} is not for me")

    def _begin(self, setup: Setup) -> list[Message]:
        agreed = accept(self.name, setup.budget, setup.arms, setup.algorithm, setup.run)
        agreed.check_place(self.name, setup.place)
        sums = SumCipher(setup.public_key)
        if not setup.public_key and self._config.packet_cipher != "none":
            raise WeakKeyError(f"{self.name}: there is no key to encrypt the sum under")
        if {len(setup.mask_key), len(setup.exploration_key)} != {KEY_BYTES}:
            raise WeakKeyError(f"{self.name}: a seed of {KEY_BYTES} bytes was expected")
        self.agreement: Agreement = agreed
        self._draws = owner_key(self._brought, setup.run)
        self._sums, self._masks = sums, Masks(setup.mask_key, agreed.iterations)
        self._exploration = Exploration(setup.exploration_key)
        cipher = channel_cipher(self._config.packet_cipher, self._key, agreed)
        self._scores = Channel(cipher, SCORES, SCORE_BYTES)
        self._bits = Channel(cipher, BITS, BIT_BYTES)
        self.standing = Standing(
            step=agreed.arms, memory=np.full(1, 1.0 / agreed.arms), place=setup.place
        )
        self._move("Setup", "pulling")
        return []

    def _take(self, message: Bit) -> list[Message]:
        now, agreed = self.standing, self.agreement
        if (message.step, message.iteration) != (now.step, now.iteration):
            raise OutOfOrderError(
                f"{self.name}: bit of step {message.step}.{message.iteration}, "
                f"this is {now.step}.{now.iteration}"
            )
        agreed.check_place(self.name, message.place)
        (bit,) = self._bits.open(now.step, now.iteration, [now.place], [message.sealed])
        if bit not in BIT:
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        memory, chosen = now.memory.copy(), bit == BIT[1]
        note_bit(agreed.rule, now.iteration, chosen, memory)
        after = now._replace(memory=memory, place=message.place)
        outgoing: list[Message] = []
        if now.iteration < agreed.iterations:  # nobody pulls yet: all answer at once
            after = after._replace(iteration=now.iteration + 1)
            outgoing, state = [self._numbered(self._score(after))], "waiting"
        elif chosen:
            state = "pulling"
        else:
            after, state = after.next_step(), "resting"
        self.standing = after
        self._bits.advance(now.step, now.iteration)
        self._move("Bit", state)
        return outgoing

    def _score(self, after: Standing) -> Score:
        step, iteration = after.step, after.iteration
        exploring = self._explores(step)
        sealed = b""
        if not (exploring and self._config.exploration_shortcut == "empty"):
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
        rewards, rule = float(now.rewards), self.agreement.rule
        return score_arm(rule, now.iteration, now.step, now.pulls, rewards, now.memory, self._draws)

    def _sum(self) -> Sum:
        ciphertext = self._sums.encrypt(self.standing.rewards)
        return Sum(sender=self.name, receiver=self._controller, ciphertext=ciphertext)
