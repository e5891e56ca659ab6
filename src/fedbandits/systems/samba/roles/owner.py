"""SAMBA's data owners: one arm each."""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

import msgspec

from fedbandits.crypto.aead import NEVER, TamperedPacketError, Turn
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.messages import (
    Bit,
    EndForOwner,
    OwnerGaveUp,
    Reason,
    Score,
    Setup,
    Sum,
)
from fedbandits.systems.samba.packets import BIT
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import endings
from fedbandits.systems.samba.roles.pulling import PullingOwner, PullingState
from fedbandits.systems.samba.roles.scores import Given, OwnerTools
from fedbandits.systems.samba.roles.supplies import OwnerSupply
from fedbandits.systems.samba.sums import WeakKeyError


class OwnerState(PullingState, frozen=True, kw_only=True):
    """Where a data owner stands, and what it knows of its arm.

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


class DataOwner(PullingOwner[OwnerState]):
    """Has one arm: scores it, masked and sealed, and pulls it when told to.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says which arm it has.
    plan
        What all parties go by.
    supply
        The keys that it brings.
    """

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

    def __init__(self, seat: Seat, plan: SambaPlan, supply: OwnerSupply) -> None:
        super().__init__(seat, plan, OwnerState())
        self._supply = supply

    def _resume(self) -> None:
        given = self._state.given
        if given is not None:
            self._tools = OwnerTools(self.name, self._plan, self._supply, given)

    def _take(self, message: Message) -> list[Message] | None:
        """Only the bit of the step that comes next is kept until its time; others are refused."""
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
        tools = OwnerTools(self.name, self._plan, self._supply, given)
        after = self._after(
            stage="pulling", given=given, step=agreed.arms, memory=1.0 / agreed.arms,
            place=setup.place,
        )  # fmt: skip
        return self._begun(after, tools)

    def _sum(self) -> Message:
        ciphertext = self._tools.sums.encrypt(self._state.rewards)
        return Sum(sender=self.name, receiver=self._controller, ciphertext=ciphertext)

    def _begin_step(self, after: OwnerState) -> Step:
        """Nothing leaves before a step whose scores the Controller draws."""
        if self._config.controller_draws and self._tools.explores(after.step):
            return Step(after)
        return self._send_score(after)

    def _open(self, message: Bit) -> Step:
        """Step 5: the bit says whether this arm was chosen."""
        state, turn = self._state, self._check_bit(message)
        (bit,) = self._tools.bits.open(*turn, [state.place], [message.sealed], state.opened)
        if bit not in BIT:
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        chosen = bit == BIT[1]
        memory = self._tools.remembered(state.iteration, chosen, state.memory)
        stage, (step, iteration) = self._following(chosen)
        after = self._after(
            stage=stage, step=step, iteration=iteration, memory=memory,
            place=message.place, opened=turn,
        )  # fmt: skip
        return self._send_score(after) if stage == "waiting" else Step(after)

    def _send_score(self, after: OwnerState) -> Step:
        """Step 2, in the state that is to be."""
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
