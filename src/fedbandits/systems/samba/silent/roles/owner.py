"""A data owner of a silent run: shares its score, and alone learns whether its arm was chosen."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from fedbandits.crypto.aead import TamperedPacketError
from fedbandits.federation.events import Decide, EndRound, Observe
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.index_rules import Arm, explores
from fedbandits.learners.kernels.largest_scores import first_memory, largest_score, note_silent_bit
from fedbandits.systems.samba.fixed_point import bits_for_ties, to_word
from fedbandits.systems.samba.messages import EndForOwner, OwnerGaveUp, Reason, Sum
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.ending import endings
from fedbandits.systems.samba.roles.pulling import PullingOwner, PullingState
from fedbandits.systems.samba.silent.blocks import WORD_BYTES
from fedbandits.systems.samba.silent.messages import Answer, SilentSetup, SumShare, Word
from fedbandits.systems.samba.silent.packets import Line, word_bytes, word_of
from fedbandits.systems.samba.silent.roles.supplies import OwnerSupply
from fedbandits.systems.samba.silent.streams import DOWN, UP, OwnerKeys, Pads, total_pad
from fedbandits.systems.samba.streams import Exploration, OwnersKeys, owner_key
from fedbandits.systems.samba.sums import SumCipher


class SilentOwnerState(PullingState, frozen=True, kw_only=True):
    """Where a data owner stands, and what it knows of its arm.

    Parameters
    ----------
    run
        The run's name; empty before it begins.
    public_key
        The customer's; empty where sums are shared.
    """

    run: bytes = b""
    public_key: bytes = b""


class _Tools:
    """What follows from an owner's secrets and the run's name."""

    def __init__(self, plan: SambaPlan, supply: OwnerSupply, run: bytes) -> None:
        self.agreed = plan.agreement(run)
        keys = OwnerKeys.derive(supply.pads, supply.packets, self.agreed)
        cipher = plan.config.packet_cipher
        self.up = Line(cipher, keys.seals.up, UP)
        self.down = Line(cipher, keys.seals.down, DOWN)
        self.words, self.answers = (
            Pads(key, self.agreed) for key in (keys.pads.words, keys.pads.answers)
        )
        self.sum_pad = int(total_pad(keys.pads.total))
        self._draws = owner_key(supply.draws, run)
        self._exploration = Exploration(OwnersKeys.derive(supply.owners, run).exploration)
        self._can_explore = self.agreed.can_explore
        self._tie_bits = bits_for_ties(self.agreed.arms)

    def score(self, state: SilentOwnerState) -> float:
        """The score of the turn that a state is in."""
        rule, step, exploring = self.agreed.rule, state.step, False
        if self._can_explore:
            drawn = self._exploration.draw(step)
            exploring = bool(explores(rule, step, self.agreed.arms, drawn))
        arm, kept = Arm(state.pulls, float(state.rewards), self._draws), np.full(1, state.memory)
        return float(largest_score(rule, state.iteration, step, arm, kept, exploring))

    def word(self, score: float, place: int) -> int:
        """It as a word, which no other owner has too."""
        return int(to_word(score, place, self._tie_bits))

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        """What the rule keeps after a bit."""
        kept = np.full(1, memory)
        note_silent_bit(self.agreed.rule, iteration, chosen, kept)
        return float(kept[0])


class SilentOwner(PullingOwner[SilentOwnerState]):
    """Has one arm: shares its score between both servers, and pulls when its bit is 1.

    Parameters
    ----------
    seat
        What it is told of all that is public; its place says which arm it has.
    plan
        What all parties go by.
    supply
        The secrets that it brings.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", SilentSetup): ("pulling",),
        ("pulling", Decide): ("pulling",),
        ("pulling", Observe): ("resting",),
        ("waiting", Answer): ("waiting", "pulling", "resting", "ended"),
        ("resting", EndRound): ("waiting", "done", "ended"),
        **endings(EndForOwner, "waiting", "idle", "pulling", "resting", "done"),
    }
    GAVE_UP = OwnerGaveUp

    def __init__(self, seat: Seat, plan: SambaPlan, supply: OwnerSupply) -> None:
        super().__init__(seat, plan, SilentOwnerState())
        self._supply = supply

    def _resume(self) -> None:
        if self._state.run:
            self._tools = _Tools(self._plan, self._supply, self._state.run)

    def _compute(self, event: Any) -> Step:
        match event:
            case Answer():
                return self._open(event)
            case SilentSetup():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _begin(self, setup: SilentSetup) -> Step:
        agreed = self._placed(setup)
        SumCipher.agreed(self.name, self._config, setup.public_key)
        tools = _Tools(self._plan, self._supply, setup.run)
        after = self._after(
            stage="pulling", run=setup.run, public_key=setup.public_key, step=agreed.arms,
            memory=first_memory(agreed.rule, agreed.arms), place=setup.place,
        )  # fmt: skip
        return self._begun(after, tools)

    def _sum(self) -> Message:
        rewards = self._state.rewards
        told: dict[str, Any] = {"sender": self.name, "receiver": self._controller}
        if self._config.total == "paillier":
            sums = SumCipher.agreed(self.name, self._config, self._state.public_key)
            return Sum(ciphertext=sums.encrypt(rewards), **told)
        step, share = self._state.step, word_bytes(rewards - self._tools.sum_pad)
        return SumShare(sealed=self._tools.up.seal(step, 1, self._index, share), **told)

    def _open(self, message: Answer) -> Step:
        """The bit says whether this arm was chosen."""
        state, tools, turn = self._state, self._tools, self._check_bit(message)
        padded = word_of(tools.down.open(*turn, self._index, message.sealed, WORD_BYTES))
        bit = (padded - int(tools.answers.draw(*turn))) % (1 << 64)
        if bit not in (0, 1):
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        memory = tools.remembered(state.iteration, bit == 1, state.memory)
        stage, (step, iteration) = self._following(bit == 1)
        after = self._after(
            stage=stage, step=step, iteration=iteration, memory=memory, place=message.place
        )
        return self._begin_step(after) if stage == "waiting" else Step(after)

    def _begin_step(self, after: SilentOwnerState) -> Step:
        """Share the score of the turn, in the state that is to be."""
        score = self._tools.score(after)
        if not math.isfinite(score):  # nor will it be, however often it is computed
            return self._give_up(Reason.NOT_FINITE)
        turn = after.step, after.iteration
        share = self._tools.word(score, after.place) - int(self._tools.words.draw(*turn))
        told = Word(
            sender=self.name,
            receiver=self._controller,
            step=after.step,
            iteration=after.iteration,
            sealed=self._tools.up.seal(*turn, self._index, word_bytes(share)),
        )
        return Step(after, [told])
