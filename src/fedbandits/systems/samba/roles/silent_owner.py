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
from fedbandits.learners.kernels.index_rules import Arm
from fedbandits.learners.kernels.largest_scores import first_memory, largest_score, note_silent_bit
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    DOWN,
    UP,
    WORD_BYTES,
    Line,
    SumCipher,
    read_word,
    write_word,
)
from fedbandits.systems.samba.kernels.silent import bits_for_ties, to_word
from fedbandits.systems.samba.keys import OwnerKeys, OwnersKeys, make_keys
from fedbandits.systems.samba.messages import (
    Answer,
    EndForOwner,
    OwnerGaveUp,
    Reason,
    SilentSetup,
    Sum,
    SumShare,
    Word,
)
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.owner import BaseOwner, BaseOwnerState, OwnerTools
from fedbandits.systems.samba.roles.run import endings
from fedbandits.systems.samba.streams import Pads, total_pad


class SilentOwnerState(BaseOwnerState, frozen=True, kw_only=True):
    """All that changes in a data owner.

    Parameters
    ----------
    run
        The run's name; empty before it begins.
    public_key
        The customer's; empty where sums are shared.
    """

    run: bytes = b""
    public_key: bytes = b""


class SilentOwnerTools(OwnerTools):
    """Lines, pads and draws of an owner in one run."""

    def __init__(self, plan: SambaPlan, supply: Supply, run: bytes) -> None:
        agreed = plan.agreement(run)
        owners = make_keys(OwnersKeys, supply.secrets["owners"], agreed)
        super().__init__(supply, agreed, owners.exploration)
        keys, cipher = OwnerKeys.make(supply.secrets, agreed), plan.config.packet_cipher
        self.up = Line(cipher, keys.seals.up, UP)
        self.down = Line(cipher, keys.seals.down, DOWN)
        self.words, self.answers = (
            Pads(key, agreed) for key in (keys.pads.words, keys.pads.answers)
        )
        self.sum_pad = int(total_pad(keys.pads.total))
        self._tie_bits = bits_for_ties(agreed.arms)

    def score(self, state: SilentOwnerState) -> float:
        """Return the score of the turn that a state is in."""
        rule, step, exploring = self.agreed.rule, state.step, self.explores(state.step)
        arm, kept = Arm(state.pulls, float(state.rewards), self._draws), np.full(1, state.memory)
        return float(largest_score(rule, state.iteration, step, arm, kept, exploring))

    def word(self, score: float, place: int) -> int:
        """Return a score as a word, which no other owner has too."""
        return int(to_word(score, place, self._tie_bits))

    def remembered(self, iteration: int, chosen: bool, memory: float) -> float:
        kept = np.full(1, memory)
        note_silent_bit(self.agreed.rule, iteration, chosen, kept)
        return float(kept[0])


class SilentOwner(BaseOwner[SilentOwnerState]):
    """Has one arm: shares its score between both servers, and pulls when its bit is 1."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", SilentSetup): ("pulling",),
        ("pulling", Decide): ("pulling",),
        ("pulling", Observe): ("resting",),
        ("waiting", Answer): ("waiting", "pulling", "resting", "ended"),
        ("resting", EndRound): ("waiting", "done", "ended"),
        **endings(EndForOwner, "waiting", "idle", "pulling", "resting", "done"),
    }
    GAVE_UP = OwnerGaveUp

    _tools: SilentOwnerTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply, SilentOwnerState())

    def _make_tools(self, run: bytes) -> SilentOwnerTools:
        return SilentOwnerTools(self._plan, self._supply, run)

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
        after = self._after(
            stage="pulling", run=setup.run, public_key=setup.public_key, step=agreed.arms,
            memory=first_memory(agreed.rule, agreed.arms), place=setup.place,
        )  # fmt: skip
        return self._begun(after, self._make_tools(setup.run))

    def _sum(self) -> Message:
        rewards = self._state.rewards
        told: dict[str, Any] = {"sender": self.name, "receiver": self._controller}
        if self._config.total == "paillier":
            sums = SumCipher.agreed(self.name, self._config, self._state.public_key)
            return Sum(ciphertext=sums.encrypt(rewards), **told)
        step, share = self._state.step, write_word(rewards - self._tools.sum_pad)
        return SumShare(sealed=self._tools.up.seal(step, 1, self._index, share), **told)

    def _open(self, message: Answer) -> Step:
        """Read the bit, which says whether this arm was chosen."""
        tools, turn = self._tools, self._check_bit(message)
        padded = read_word(tools.down.open(*turn, self._index, message.sealed, WORD_BYTES))
        bit = (padded - int(tools.answers.draw(*turn))) % (1 << 64)
        if bit not in (0, 1):
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        after = self._take_bit(bit == 1, message.place)
        return self._begin_step(after) if after.stage == "waiting" else Step(after)

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
            sealed=self._tools.up.seal(*turn, self._index, write_word(share)),
        )
        return Step(after, [told])
