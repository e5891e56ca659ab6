"""SAMBA's data owners: one arm each, whose score Comp sees masked."""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits.crypto.aead import NEVER, Channel, TamperedPacketError, Turn
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.index_rules import note_bit, score_arm
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    BIT,
    BIT_BYTES,
    BITS,
    SCORE_BYTES,
    SCORES,
    SumCipher,
    WeakKeyError,
    channel_cipher,
)
from fedbandits.systems.samba.messages import (
    Bit,
    EndForOwner,
    OwnerGaveUp,
    Reason,
    Score,
    Setup,
    Sum,
)
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.owner import BaseOwner, BaseOwnerState, OwnerTools
from fedbandits.systems.samba.roles.run import endings
from fedbandits.systems.samba.streams import Masks


class Given(msgspec.Struct, frozen=True):
    """Run and keys that the Controller has given an owner, see :class:`.messages.Setup`."""

    run: bytes
    public_key: bytes
    mask_key: bytes
    exploration_key: bytes


class PublishedOwnerTools(OwnerTools):
    """Channels and draws of an owner, from its keys and what it was given.

    Raises
    ------
    WeakKeyError
        If the customer's key is not as the terms have it.
    """

    def __init__(self, name: str, plan: SambaPlan, supply: Supply, given: Given) -> None:
        super().__init__(supply, plan.agreement(given.run), given.exploration_key)
        #: The cipher of its sum.
        self.sums = SumCipher.agreed(name, plan.config, given.public_key)
        secret = supply.secrets["channel"]
        cipher = channel_cipher(plan.config.packet_cipher, secret, self.agreed)
        #: Its packets to Comp, and Comp's to it.
        self.scores = Channel(cipher, SCORES, SCORE_BYTES)
        self.bits = Channel(cipher, BITS, BIT_BYTES)
        self._masks = Masks(given.mask_key, self.agreed.iterations)

    def masked_score(
        self, step: int, iteration: int, pulls: int, rewards: int, memory: float
    ) -> float:
        """Return the score of an arm, times αₜ; zero in a step that explores."""
        score = 0.0
        if not self.explores(step):
            rule, kept = self.agreed.rule, np.full(1, memory)
            score = score_arm(rule, iteration, step, pulls, float(rewards), kept, self._draws)
        return score * self._masks.draw(step, iteration)

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        kept = np.full(1, memory)
        note_bit(self.agreed.rule, iteration, chosen, kept)
        return float(kept[0])


class OwnerState(BaseOwnerState, frozen=True, kw_only=True):
    """All that changes in a data owner.

    Parameters
    ----------
    given
        What it has been given for the run.
    sealed, opened
        The last turn whose score it has sealed, and whose bit it has opened.
    """

    given: Given | None = None
    sealed: Turn = NEVER
    opened: Turn = NEVER


class DataOwner(BaseOwner[OwnerState]):
    """Has one arm: scores it, masked and sealed, and pulls it when told to."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Setup): ("pulling",),
        ("pulling", Decide): ("pulling",),
        ("pulling", Observe): ("resting",),
        ("waiting", Bit): ("waiting", "pulling", "resting", "ended"),
        ("resting", EndRound): ("waiting", "done", "ended"),
        **endings(EndForOwner, "waiting", "idle", "pulling", "resting", "done"),
    }
    #: The Controller's beat may come before this owner's, where it draws scores.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset(
        {("pulling", Bit), ("resting", Bit)}
    )
    GAVE_UP = OwnerGaveUp

    _tools: PublishedOwnerTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply, OwnerState())

    def _resume(self) -> None:
        given = self._state.given
        if given is not None:
            self._tools = PublishedOwnerTools(self.name, self._plan, self._supply, given)

    def _take(self, message: Message) -> list[Message] | None:
        """Keep the bit of the step that comes next until its time, and refuse all others."""
        state = self._state
        if type(message) is Bit and state.stage in ("pulling", "resting"):
            turn, step = (message.step, message.iteration), state.step + (state.stage == "pulling")
            if turn != (step, 1) or not self._config.controller_draws:
                raise OutOfOrderError(
                    f"{self.name}: bit of step {turn[0]}.{turn[1]} while {state.stage}, before "
                    f"step {step}"
                )
        return super()._take(message)

    def _compute(self, event: Any) -> Step:
        match event:
            case Bit():
                return self._open(event)
            case Setup():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _begin(self, setup: Setup) -> Step:
        agreed = self._placed(setup)
        if {len(setup.mask_key), len(setup.exploration_key)} != {KEY_BYTES}:
            raise WeakKeyError(f"{self.name}: a seed of {KEY_BYTES} bytes was expected")
        given = Given(setup.run, setup.public_key, setup.mask_key, setup.exploration_key)
        tools = PublishedOwnerTools(self.name, self._plan, self._supply, given)
        after = self._after(
            stage="pulling", given=given, step=agreed.arms, memory=1.0 / agreed.arms,
            place=setup.place,
        )  # fmt: skip
        return self._begun(after, tools)

    def _sum(self) -> Message:
        ciphertext = self._tools.sums.encrypt(self._state.rewards)
        return Sum(sender=self.name, receiver=self._controller, ciphertext=ciphertext)

    def _begin_step(self, after: OwnerState) -> Step:
        """Send the score, but before a step whose scores the Controller draws."""
        if self._config.controller_draws and self._tools.explores(after.step):
            return Step(after)
        return self._send_score(after)

    def _open(self, message: Bit) -> Step:
        """Read the bit, which says whether this arm was chosen (step 5)."""
        state, turn = self._state, self._check_bit(message)
        (bit,) = self._tools.bits.open(*turn, [state.place], [message.sealed], state.opened)
        if bit not in BIT:
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        after = self._take_bit(bit == BIT[1], message.place, opened=turn)
        return self._send_score(after) if after.stage == "waiting" else Step(after)

    def _send_score(self, after: OwnerState) -> Step:
        """Send the score in the state that is to be (step 2)."""
        step, iteration = turn = after.step, after.iteration
        sealed = b""
        if self._config.exploration_shortcut != "empty" or not self._tools.explores(step):
            masked = self._tools.masked_score(*turn, after.pulls, after.rewards, after.memory)
            if not math.isfinite(masked):  # nor will it be, however often it is computed
                return self._give_up(Reason.NOT_FINITE)
            payload = struct.pack("<d", masked)
            (sealed,) = self._tools.scores.seal(*turn, [after.place], [payload], after.sealed)
            after = msgspec.structs.replace(after, sealed=turn)
        told = Score(
            sender=self.name,
            receiver=self._controller,
            step=step,
            iteration=iteration,
            sealed=sealed,
        )
        return Step(after, [told])
