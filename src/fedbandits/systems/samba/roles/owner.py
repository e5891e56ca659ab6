"""SAMBA's data owners: one arm each, whose score they mask for Comp, or share in a silent run.

How an owner pulls, and when it answers, is the same in both. In a silent run the owner alone learns
whether its arm was chosen.
"""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar, TypeVar

import msgspec

from fedbandits.crypto.aead import NEVER, TamperedPacketError, Turn
from fedbandits.crypto.keystream import KEY_BYTES
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.acting import ActingParty
from fedbandits.federation.events import Decide, Decision, EndRound, Observe
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.state import Step, Transitions
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
from fedbandits.systems.samba.keys import OwnerKeys, OwnersKeys, make_keys, owner_key
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
from fedbandits.systems.samba.roles.run import Member, RunState, endings
from fedbandits.systems.samba.streams import Exploration, Masks, Pads, position, total_pad


def _transitions(setup: type[Message], bit: type[Message]) -> Transitions:
    """Return the transitions of an owner, whose types of setup and bit are given."""
    return {
        ("idle", setup): ("pulling",),
        ("pulling", Decide): ("pulling",),
        ("pulling", Observe): ("resting",),
        ("waiting", bit): ("waiting", "pulling", "resting", "ended"),
        ("resting", EndRound): ("waiting", "done", "ended"),
        **endings("waiting", "idle", "pulling", "resting", "done"),
    }


class BaseOwnerState(RunState, frozen=True, kw_only=True):
    """State of a data owner: where it stands, and what it knows of its arm."""

    step: int = 0  # the pull that is being decided on; the first own pull is not decided on
    iteration: int = 1  # of that step
    place: int = 0  # in the order of the next turn
    pulls: int = 0  # how often it has pulled
    rewards: int = 0  # the sum of what came of it
    memory: float = 0.0  # what its rule keeps beside these


AnyOwner = TypeVar("AnyOwner", bound=BaseOwnerState)


class OwnerTools:
    """Draws of an owner in one run, which follow from its secrets."""

    def __init__(self, supply: Supply, agreed: Agreement, exploration: bytes) -> None:
        self.agreed = agreed
        self._draws = owner_key(supply.draws, agreed.run)
        self._rule = OneArm(agreed.rule, self._draws)
        #: Whether a step explores, which all owners know.
        self.explores = Exploration(exploration, agreed).explores

        #: What its rule keeps after a bit.
        self.remembered = self._rule.remembered

    def score(self, state: BaseOwnerState) -> float:
        """Return the score of a state's turn."""
        return self._rule.score(
            state.iteration, state.step, state.pulls, state.rewards, state.memory
        )


class BaseOwner(Member[AnyOwner], ActingParty[AnyOwner]):
    """Has one arm, and pulls it when it is told to.

    The only decision is to pull, in the round that :attr:`round_to_act` names; the outcome is the
    reward, 0 or 1. After a pull nobody answers before the round's end (:meth:`end_round`), neither
    who pulled nor the others: whoever calls it does so on a beat that is the same for all owners
    and lasts at least as long as the longest pull. Otherwise the late answer would name the arm.
    """

    def _sum(self) -> Message:
        """Make the message that tells the sum of its rewards."""
        raise NotImplementedError

    def _begin_step(self, after: AnyOwner) -> Step:
        """Answer for the next step at the beat, in the new state ``after``."""
        return self._send_score(after)

    def _send_score(self, after: AnyOwner) -> Step:
        """Send the score of the turn of the new state ``after``."""
        raise NotImplementedError

    @property
    def round_to_act(self) -> int | None:
        """The round of the pull that is due, if one is: before the first bit it has its own."""
        if self._state.stage != "pulling":
            return None
        return self._state.step if self._state.pulls else self._seat.place + 1

    @property
    def next_end(self) -> int | None:
        """The round whose end is waited for, once its pull is over; None while it is not."""
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
        return self._state.pulls

    @property
    def settled_decisions(self) -> int:
        """The last round that is over: it pulls no more in any up to there."""
        return self._state.step - 1 if self._state.pulls else 0

    @property
    def open_decisions(self) -> None:
        """The decisions that are open: there are none, as it pulls when a message says so."""

    def _compute(self, event: Any) -> Step:
        match event:
            case EndRound():
                return self._end_round(event)
            case Decide():
                # It may be asked again, or not at all: there is nothing else to decide.
                return Step(self._state, answer=Decision(self._state.pulls + 1, True))
            case Observe():
                return self._observe(event)
            case _:
                return super()._compute(event)

    def _placed(self, setup: Setup | SilentSetup) -> Agreement:
        """Return the agreement on a run that begins, once the owner's place is checked."""
        agreed = self._accepted(setup)
        agreed.check_place(self.name, setup.place)
        return agreed

    def _observe(self, event: Observe) -> Step:
        """Take the reward of the pull that is due."""
        state = self._state
        if event.decision != Decision(state.pulls + 1, True):
            raise LocalProtocolError(
                f"{self.name}: pull {state.pulls + 1} is due, not {event.decision}"
            )
        if event.outcome not in (0, 1):
            raise BoundExceededError(f"{self.name}: a reward must be 0 or 1")
        after = self._after(
            stage="resting", step=state.step + 1, iteration=1, pulls=state.pulls + 1,
            rewards=state.rewards + int(event.outcome),
        )  # fmt: skip
        return Step(after)

    def _end_round(self, event: EndRound) -> Step:
        """Answer for the next step at the beat, or tell the sum after the last one."""
        self._check_beat(event)
        if self._state.step > self.agreement.budget:
            return Step(self._after(stage="done"), [self._sum()])
        return self._begin_step(self._after(stage="waiting"))

    def _open(self, message: Bit | Answer) -> Step:
        """Read a bit, which says whether this arm was chosen: then pull, rest, or answer."""
        state, agreed = self._state, self.agreement
        self._check_turn("bit of", message.step, message.iteration)
        agreed.check_place(self.name, message.place)
        bit, changes = self._read(message)
        if bit not in (0, 1):
            raise TamperedPacketError(f"{self.name}: a bit is neither 0 nor 1")
        memory = self._tools.remembered(state.iteration, bit == 1, state.memory)
        stage, turn = "resting", (state.step + 1, 1)
        if state.iteration < agreed.iterations:  # nobody pulls yet: all answer at once
            stage, turn = "waiting", (state.step, state.iteration + 1)
        elif bit == 1:
            stage, turn = "pulling", (state.step, state.iteration)
        after = self._after(
            stage=stage, step=turn[0], iteration=turn[1], memory=memory, place=message.place,
            **changes,
        )  # fmt: skip
        return self._send_score(after) if stage == "waiting" else Step(after)

    def _read(self, message: Any) -> tuple[int, dict[str, Any]]:
        """Return the bit of a packet, and the fields of the state that change with it."""
        raise NotImplementedError


class Given(msgspec.Struct, frozen=True):
    """Run and keys that the Controller has given an owner, see :class:`.messages.Setup`."""

    run: bytes
    public_key: bytes
    mask_key: bytes
    exploration_key: bytes


class PublishedOwnerTools(OwnerTools):
    """Channels and draws of an owner, from its own keys and the Controller's setup.

    Raises
    ------
    WeakKeyError
        If the customer's key is not as the terms have it.
    """

    def __init__(self, name: str, plan: SambaPlan, supply: Supply, given: Given) -> None:
        super().__init__(supply, plan.agreement(given.run), given.exploration_key)
        #: The cipher of its sum.
        self.sums = SumCipher.agreed(name, plan.config, given.public_key)
        cipher, secret = plan.config.packet_cipher, supply.secrets["channel"]
        #: Its packets to Comp, and Comp's to it.
        self.scores, self.bits = make_channels(cipher, secret, self.agreed)
        self._masks = Masks(given.mask_key, self.agreed.iterations)

    def masked_score(self, state: BaseOwnerState) -> float:
        """Return the score of a state's turn, times αₜ; zero in a step that explores."""
        score = 0.0 if self.explores(state.step) else self.score(state)
        return score * self._masks.draw(state.step, state.iteration)


class OwnerState(BaseOwnerState, frozen=True, kw_only=True):
    """All that changes in a data owner."""

    given: Given | None = None  # what it has been given for the run
    sealed: Turn = NEVER  # the last turn whose score it has sealed
    opened: Turn = NEVER  # the last turn whose bit it has opened


class DataOwner(BaseOwner[OwnerState]):
    """Has one arm: scores it, masked and sealed, and pulls it when told to."""

    STATE = OwnerState
    TRANSITIONS: ClassVar[Transitions] = _transitions(Setup, Bit)
    #: The Controller's beat may come before this owner's, where it draws scores.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset(
        {("pulling", Bit), ("resting", Bit)}
    )

    _tools: PublishedOwnerTools

    def _resume(self) -> None:
        given = self._state.given
        if given is not None:
            self._tools = PublishedOwnerTools(self.name, self._plan, self._supply, given)

    def reopen(self, message: Bit, place: int) -> int:
        """Look again at a bit that it has received when it stood at ``place``."""
        turn = (message.step, message.iteration)
        (bit,) = self._tools.bits.open(*turn, [place], [message.sealed], NEVER)
        return bit[0]

    def _take(self, message: Message) -> list[Message] | None:
        """Keep an early bit of the next step, and refuse bits of all other steps."""
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
        """Send the score, unless the Controller draws the scores of the step."""
        if self._config.controller_draws and self._tools.explores(after.step):
            return Step(after)
        return self._send_score(after)

    def _read(self, message: Bit) -> tuple[int, dict[str, Any]]:
        """Open the bit's packet (step 5)."""
        state, turn = self._state, (message.step, message.iteration)
        (bit,) = self._tools.bits.open(*turn, [state.place], [message.sealed], state.opened)
        return bit[0], {"opened": turn}

    def _send_score(self, after: OwnerState) -> Step:
        """Send the score of the turn of the new state ``after`` (step 2)."""
        turn, sealed = (after.step, after.iteration), b""
        if self._config.exploration_shortcut != "empty" or not self._tools.explores(after.step):
            masked = self._tools.masked_score(after)
            if not math.isfinite(masked):  # nor will it be, however often it is computed
                return self._give_up(Reason.NOT_FINITE)
            payload = struct.pack("<d", masked)
            (sealed,) = self._tools.scores.seal(*turn, [after.place], [payload], after.sealed)
            after = msgspec.structs.replace(after, sealed=turn)
        message = Score(
            sender=self.name, receiver=self._controller, step=after.step,
            iteration=after.iteration, sealed=sealed,
        )  # fmt: skip
        return Step(after, [message])


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
    TRANSITIONS: ClassVar[Transitions] = _transitions(SilentSetup, Answer)

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
        fields: dict[str, Any] = {"sender": self.name, "receiver": self._controller}
        if self._config.total == "paillier":
            sums = SumCipher.agreed(self.name, self._config, self._state.public_key)
            return Sum(ciphertext=sums.encrypt(rewards), **fields)
        share = write_word(rewards - self._tools.sum_pad)
        return SumShare(sealed=self._sealed(self._state.step, 1, share), **fields)

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
        """Share the score of the turn of the new state ``after``."""
        score, turn = self._tools.score(after), (after.step, after.iteration)
        if not math.isfinite(score):  # nor will it be, however often it is computed
            return self._give_up(Reason.NOT_FINITE)
        share = self._tools.word(score, after.place) - int(self._tools.words.draw(*turn))
        message = Word(
            sender=self.name, receiver=self._controller, step=after.step,
            iteration=after.iteration, sealed=self._sealed(*turn, write_word(share)),
        )  # fmt: skip
        return Step(after, [message])
