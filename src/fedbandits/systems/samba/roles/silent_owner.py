"""A data owner of a silent run: shares its score, and alone learns whether its arm was chosen."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from fedbandits.federation.messages import Message
from fedbandits.federation.state import Step, Transitions
from fedbandits.learners.kernels.largest_scores import first_memory, own_uniform
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
from fedbandits.systems.samba.kernels import bits_for_ties, to_word
from fedbandits.systems.samba.keys import OwnerKeys, OwnersKeys, make_keys
from fedbandits.systems.samba.messages import Answer, Reason, SilentSetup, Sum, SumShare, Word
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.owner import (
    BaseOwner,
    BaseOwnerState,
    OwnerTools,
)
from fedbandits.systems.samba.roles.run import owner_transitions
from fedbandits.systems.samba.streams import Pads, total_pad


class SilentOwnerState(BaseOwnerState, frozen=True, kw_only=True):
    """All that changes in a data owner."""

    run: bytes = b""  # the run's name; empty before it begins
    public_key: bytes = b""  # the customer's; empty where sums are shared


class SilentOwnerTools(OwnerTools):
    """Lines, pads and draws of an owner in one run."""

    def __init__(self, plan: SambaPlan, supply: Supply, run: bytes) -> None:
        agreed = plan.agreement(run)
        owners = make_keys(OwnersKeys, supply.secrets["owners"], agreed)
        super().__init__(supply, agreed, owners.exploration)
        keys, cipher = OwnerKeys.make(supply.secrets, agreed), plan.config.packet_cipher
        self.up = Line(cipher, keys.seals.up, UP)
        self.down = Line(cipher, keys.seals.down, DOWN)
        self.words = Pads(keys.pads.words, agreed)
        self.answers = Pads(keys.pads.answers, agreed)
        self.sum_pad = int(total_pad(keys.pads.total))
        self._tie_bits = bits_for_ties(agreed.arms)

    def score(self, state: BaseOwnerState) -> float:
        """Return the score of a state's turn: a number of its own in a step that explores."""
        if self.explores(state.step):
            return float(own_uniform(self._draws, state.iteration, state.step))
        return super().score(state)

    def word(self, score: float, place: int) -> int:
        """Return a score as a word, which no other owner has too."""
        return int(to_word(score, place, self._tie_bits))


class SilentOwner(BaseOwner[SilentOwnerState]):
    """Has one arm: shares its score between both servers, and pulls when its bit is 1."""

    STATE = SilentOwnerState
    TRANSITIONS: ClassVar[Transitions] = owner_transitions(SilentSetup, Answer)

    _tools: SilentOwnerTools

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
        share = write_word(rewards - self._tools.sum_pad)
        return SumShare(sealed=self._sealed(self._state.step, 1, share), **told)

    def _sealed(self, step: int, iteration: int, payload: bytes) -> bytes:
        return self._tools.up.seal(step, iteration, self._seat.place, payload)

    def reopen(self, message: Answer, place: int) -> int:
        """Look again at a bit that it has received; where it stood then does not matter."""
        del place
        return self._read(message)[0]

    def _read(self, message: Answer) -> tuple[int, dict[str, Any]]:
        """Open the answer, and take its pad off."""
        tools, turn = self._tools, (message.step, message.iteration)
        padded = read_word(tools.down.open(*turn, self._seat.place, message.sealed, WORD_BYTES))
        return (padded - int(tools.answers.draw(*turn))) % (1 << 64), {}

    def _send_score(self, after: SilentOwnerState) -> Step:
        """Share the score of the turn, in the state that is to be."""
        score, turn = self._tools.score(after), (after.step, after.iteration)
        if not math.isfinite(score):  # nor will it be, however often it is computed
            return self._give_up(Reason.NOT_FINITE)
        share = self._tools.word(score, after.place) - int(self._tools.words.draw(*turn))
        told = Word(
            sender=self.name, receiver=self._controller, step=after.step,
            iteration=after.iteration, sealed=self._sealed(*turn, write_word(share)),
        )  # fmt: skip
        return Step(after, [told])
