"""SAMBA's data owners: one arm each, whose score is masked for Comp, or shared by two servers.

An owner pulls, and answers, in the same way in both cases. In a silent run the owner alone learns
whether its arm was chosen.
"""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

import msgspec

from fedbandits.crypto.aead import NEVER, TamperedPacketError, Turn
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.state import Step
from fedbandits.learners.kernels.largest_scores import first_memory, own_uniform
from fedbandits.learners.open_rules import OneArm
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    DOWN,
    UP,
    WORD_BYTES,
    Line,
    SumCipher,
    WeakKeyError,
    make_channels,
    read_word,
    write_word,
)
from fedbandits.systems.samba.kernels import bits_for_ties, to_word
from fedbandits.systems.samba.keys import OwnersKeys, PadKeys, SealKeys, make_keys, owner_key
from fedbandits.systems.samba.messages import (
    Answer,
    Bit,
    Reason,
    Score,
    Setup,
    SilentSetup,
    Sum,
    SumShare,
    Word,
)
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import Member, Protocol, Rule, RunState, endings
from fedbandits.systems.samba.streams import Exploration, Masks, Pads, position, total_pad


def _protocol(setup: type[Message], bit: type[Message]) -> Protocol:
    """Return the rules of an owner for these types of setup and bit."""
    return {
        setup: Rule("_begin", {"idle": "pulling"}),
        Decide: Rule("_decide", {"pulling": "pulling"}),
        Observe: Rule("_observe", {"pulling": "resting"}),
        bit: Rule("_open", {"waiting": "waiting pulling resting ended"}),
        EndRound: Rule("_end_round", {"resting": "waiting done ended"}),
        **endings("waiting", "idle", "pulling", "resting", "done"),
    }


class Given(msgspec.Struct, frozen=True):
    """Run and keys that the Controller has given an owner, see :class:`.messages.Setup`."""

    run: bytes
    public_key: bytes
    mask_key: bytes = b""  # empty in a silent run, as the next key
    exploration_key: bytes = b""


class OwnerState(RunState, frozen=True, kw_only=True):
    """All that changes in a data owner."""

    given: Given | None = None
    step: int = 0  # step of the next decision; the owner's first pull needs none
    iteration: int = 1  # of that step
    place: int = 0  # in the order of the next turn
    pulls: int = 0  # number of own pulls
    rewards: int = 0  # sum of their rewards
    memory: float = 0.0  # number that the index rule keeps
    # The last turns with a sealed score and an opened bit. A published run seals no second score
    # of a turn, and opens no second bit.
    sealed: Turn = NEVER
    opened: Turn = NEVER


class OwnerTools:
    """Ciphers and draws of an owner in one run; a restart makes them again.

    Raises
    ------
    WeakKeyError
        If the customer's key differs from the terms.
    """

    def __init__(
        self, name: str, plan: SambaPlan, supply: Supply, given: Given, exploration: bytes
    ) -> None:
        self.agreed = plan.agreement(given.run)
        #: The cipher of the owner's sum.
        self.sums = SumCipher.agreed(name, plan.config, given.public_key)
        self._draws = owner_key(supply.draws, self.agreed.run)
        self._rule = OneArm(self.agreed.rule, self._draws)
        #: Tells whether a step explores, which all owners know.
        self.explores = Exploration(exploration, self.agreed).explores
        #: Computes the memory of the index rule after a bit.
        self.remembered = self._rule.remembered

    def score(self, state: OwnerState) -> float:
        """Return the score of a state's turn."""
        return self._rule.score(
            state.iteration, state.step, state.pulls, state.rewards, state.memory
        )


class PublishedOwnerTools(OwnerTools):
    """Ciphers and draws of an owner in a published run."""

    def __init__(self, name: str, plan: SambaPlan, supply: Supply, given: Given) -> None:
        super().__init__(name, plan, supply, given, given.exploration_key)
        cipher, secret = plan.config.packet_cipher, supply.secrets["channel"]
        #: Packets to Comp, and packets from Comp.
        self.scores, self.bits = make_channels(cipher, secret, self.agreed)
        self._masks = Masks(given.mask_key, self.agreed.iterations)

    def masked_score(self, state: OwnerState) -> float:
        """Return the score of a state's turn, times αₜ; zero in a step that explores."""
        score = 0.0 if self.explores(state.step) else self.score(state)
        return score * self._masks.draw(state.step, state.iteration)


class SilentOwnerTools(OwnerTools):
    """Lines, pads and draws of an owner in a silent run."""

    def __init__(self, name: str, plan: SambaPlan, supply: Supply, given: Given) -> None:
        agreed, cipher = plan.agreement(given.run), plan.config.packet_cipher
        owners = make_keys(OwnersKeys, supply.secrets["owners"], agreed)
        super().__init__(name, plan, supply, given, owners.exploration)
        seals = make_keys(SealKeys, supply.secrets["packets"], agreed)
        pads = make_keys(PadKeys, supply.secrets["pads"], agreed)
        self.up, self.down = Line(cipher, seals.up, UP), Line(cipher, seals.down, DOWN)
        self.words, self.answers = Pads(pads.words, agreed), Pads(pads.answers, agreed)
        self.sum_pad = int(total_pad(pads.total))
        self._tie_bits = bits_for_ties(agreed.arms)

    def score(self, state: OwnerState) -> float:
        """Return the score of a state's turn: a draw of the owner in a step that explores."""
        if self.explores(state.step):
            return float(own_uniform(self._draws, state.iteration, state.step))
        return super().score(state)

    def word(self, score: float, place: int) -> int:
        """Return a score as a word that differs from the words of all other owners."""
        return int(to_word(score, place, self._tie_bits))


class DataOwner(Member[OwnerState], ActingParty[OwnerState]):
    """Has one arm: scores the arm, masked and sealed, and pulls when a bit is 1.

    The only decision is to pull, in the round that :attr:`round_to_act` names; the outcome is the
    reward, 0 or 1. After a pull no owner answers before the round's end (:meth:`end_round`),
    whether it pulled or not. The driver calls ``end_round`` on a beat that is the same for all
    owners and lasts at least as long as the longest pull. Otherwise the late answer would name the
    arm.
    """

    STATE = OwnerState
    PROTOCOL: ClassVar[Protocol] = _protocol(Setup, Bit)
    #: The Controller's beat may come before this owner's, where the Controller draws scores.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset(
        {("pulling", Bit), ("resting", Bit)}
    )
    #: The type of the ciphers and draws of a run.
    TOOLS: ClassVar[type[Any]] = PublishedOwnerTools

    @property
    def round_to_act(self) -> int | None:
        """The round of the pull that is due, if one is: every owner's first pull has its own."""
        if self._state.stage != "pulling":
            return None
        return self._state.step if self._state.pulls else self._seat.place + 1

    @property
    def next_end(self) -> int | None:
        """The round whose end the owner waits for after its pull; None in other stages."""
        return self._state.step - 1 if self._state.stage == "resting" else None

    @property
    def awaited(self) -> int | None:
        """The turn whose bit has not come yet, as a number."""
        state = self._state
        if state.stage != "waiting":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    @property
    def decisions_made(self) -> int:
        """The number of the owner's own pulls so far, not of rounds."""
        return self._state.pulls

    @property
    def settled_decisions(self) -> int:
        """The last round that is over, not a pull: no outcome of a round up to there is taken."""
        return self._state.step - 1 if self._state.pulls else 0

    @property
    def open_decisions(self) -> None:
        """An owner has no open decisions: a message says when to pull."""

    def reopen(self, message: Any, place: int) -> int:
        """Look again at a bit that the owner has received when it stood at ``place``."""
        turn = (message.step, message.iteration)
        (bit,) = self._tools.bits.open(*turn, [place], [message.sealed], NEVER)
        return int(bit[0])

    def _resume(self) -> None:
        if self._state.given is not None:
            self._tools = self._make_tools(self._state.given)

    def _make_tools(self, given: Any) -> Any:
        return self.TOOLS(self.name, self._plan, self._supply, given)

    def _take(self, message: Message) -> list[Message] | None:
        """Hold an early bit of the next step, and refuse bits of all other steps."""
        state = self._state
        if type(message) is Bit and state.stage in ("pulling", "resting"):
            turn, step = (message.step, message.iteration), state.step + (state.stage == "pulling")
            if turn != (step, 1) or not self._config.controller_draws:
                raise OutOfOrderError(
                    f"{self.name}: bit of step {turn[0]}.{turn[1]} while {state.stage}, before "
                    f"step {step}"
                )
        return super()._take(message)

    def _begin(self, setup: Setup | SilentSetup) -> Step:
        """Take the run's name, keys, and a place."""
        agreed = self._accepted(setup)
        agreed.check_place(self.name, setup.place)
        given = self._given(setup)
        tools = self._make_tools(given)
        after = self._after(
            stage="pulling", given=given, step=agreed.arms, memory=self._first_memory(agreed),
            place=setup.place,
        )  # fmt: skip
        return self._begun(after, tools)

    def _given(self, setup: Any) -> Given:
        """Return run and keys of a setup."""
        if {len(setup.mask_key), len(setup.exploration_key)} != {KEY_BYTES}:
            raise WeakKeyError(
                f"{self.name}: the seeds of masks and of exploration must be {KEY_BYTES} bytes long"
            )
        return Given(setup.run, setup.public_key, setup.mask_key, setup.exploration_key)

    def _first_memory(self, agreed: Agreement) -> float:
        """Return the memory of the index rule before the first step."""
        return 1.0 / agreed.arms

    def _decide(self, event: Decide) -> Step:
        """Answer that the owner pulls, however often the driver asks."""
        del event
        return Step(self._state, answer=Decision(self._state.pulls + 1, True))

    def _observe(self, event: Observe) -> Step:
        """Take the reward of the pull that is due."""
        state = self._state
        try:
            is_due = event.decision == Decision(state.pulls + 1, True)
        except ValueError:  # an array
            is_due = False
        if not is_due:
            raise LocalProtocolError(
                f"{self.name}: pull {state.pulls + 1} is due, not {event.decision}"
            )
        try:
            reward = int(event.outcome) if event.outcome in (0, 1) else -1
        except (TypeError, ValueError):  # a complex number, or an array
            reward = -1
        if reward < 0:
            raise BoundExceededError(f"{self.name}: a reward must be 0 or 1")
        after = self._after(
            stage="resting", step=state.step + 1, iteration=1, pulls=state.pulls + 1,
            rewards=state.rewards + reward,
        )  # fmt: skip
        return Step(after)

    def _end_round(self, event: EndRound) -> Step:
        """Answer for the next step at the beat, or send the sum after the last step.

        An owner sends no score for a step whose scores the Controller draws.
        """
        self._check_beat(event)
        state = self._state
        if state.step > self.agreement.budget:
            return Step(self._after(stage="done"), [self._sum()])
        after = self._after(stage="waiting")
        if self._config.controller_draws and self._tools.explores(state.step):
            return Step(after)
        return self._send_score(after)

    def _open(self, message: Bit | Answer) -> Step:
        """Read a bit, which says whether this arm was chosen: then pull, rest, or answer."""
        state, agreed = self._state, self.agreement
        self._check_turn("bit of", message.step, message.iteration)
        agreed.check_place(self.name, message.place)
        bit = self._read(message)
        if bit not in (0, 1):
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        memory = self._tools.remembered(state.iteration, bit == 1, state.memory)
        stage, turn = "resting", (state.step + 1, 1)
        if state.iteration < agreed.iterations:  # no owner pulls yet: all answer at once
            stage, turn = "waiting", (state.step, state.iteration + 1)
        elif bit == 1:
            stage, turn = "pulling", (state.step, state.iteration)
        after = self._after(
            stage=stage, step=turn[0], iteration=turn[1], memory=memory, place=message.place,
            opened=(message.step, message.iteration),
        )  # fmt: skip
        return self._send_score(after) if stage == "waiting" else Step(after)

    def _read(self, message: Any) -> int:
        """Open the packet of a bit (step 5)."""
        state, turn = self._state, (message.step, message.iteration)
        (bit,) = self._tools.bits.open(*turn, [state.place], [message.sealed], state.opened)
        return int(bit[0])

    def _send_score(self, after: OwnerState) -> Step:
        """Send the score of the turn of the new state ``after`` (step 2)."""
        turn, sealed = (after.step, after.iteration), b""
        if self._config.exploration_shortcut != "empty" or not self._tools.explores(after.step):
            masked = self._tools.masked_score(after)
            if not math.isfinite(masked):  # nor is a repeated computation finite
                return self._give_up(Reason.NOT_FINITE)
            payload = struct.pack("<d", masked)
            (sealed,) = self._tools.scores.seal(*turn, [after.place], [payload], after.sealed)
            after = msgspec.structs.replace(after, sealed=turn)
        return self._sent(Score, after, sealed)

    def _sent(self, message_type: type[Any], after: OwnerState, sealed: bytes) -> Step:
        """Send a score of the turn of the new state ``after``."""
        message = message_type(
            sender=self.name, receiver=self._controller, step=after.step,
            iteration=after.iteration, sealed=sealed,
        )  # fmt: skip
        return Step(after, [message])

    def _sum(self) -> Message:
        """Make the message with the sum of rewards."""
        ciphertext = self._tools.sums.encrypt(self._state.rewards)
        return Sum(sender=self.name, receiver=self._controller, ciphertext=ciphertext)


class SilentOwner(DataOwner):
    """Has one arm: shares the arm's score between both servers, and pulls when a bit is 1."""

    PROTOCOL: ClassVar[Protocol] = _protocol(SilentSetup, Answer)
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset()
    TOOLS = SilentOwnerTools

    def reopen(self, message: Any, place: int) -> int:
        """Look again at a bit that the owner has received; the ``place`` does not matter."""
        del place
        return self._read(message)

    def _given(self, setup: Any) -> Given:
        return Given(setup.run, setup.public_key)

    def _first_memory(self, agreed: Agreement) -> float:
        return first_memory(agreed.rule, agreed.arms)

    def _read(self, message: Any) -> int:
        """Open the packet of a bit, and remove the bit's pad."""
        tools, turn = self._tools, (message.step, message.iteration)
        padded = read_word(tools.down.open(*turn, self._seat.place, message.sealed, WORD_BYTES))
        return (padded - int(tools.answers.draw(*turn))) % (1 << 64)

    def _send_score(self, after: OwnerState) -> Step:
        """Share the score of the turn of the new state ``after``."""
        score, turn = self._tools.score(after), (after.step, after.iteration)
        if not math.isfinite(score):  # nor is a repeated computation finite
            return self._give_up(Reason.NOT_FINITE)
        share = self._tools.word(score, after.place) - int(self._tools.words.draw(*turn))
        return self._sent(Word, after, self._sealed(*turn, share))

    def _sealed(self, step: int, iteration: int, share: int) -> bytes:
        line: Line = self._tools.up
        return line.seal(step, iteration, self._seat.place, write_word(share))

    def _sum(self) -> Message:
        if self._config.total == "paillier":
            return super()._sum()
        share = self._state.rewards - self._tools.sum_pad
        sealed = self._sealed(self._state.step, 1, share)
        return SumShare(sender=self.name, receiver=self._controller, sealed=sealed)
