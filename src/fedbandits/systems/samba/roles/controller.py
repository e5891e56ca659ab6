"""SAMBA's Controller, the first server: sees ciphertexts or shares alone, and permutes them.

A run begins, ends and is added up in the same way whether servers compare masked scores
(:class:`Controller`) or shared ones (:class:`SilentController`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.aead import PacketLengthError, overhead_of
from fedbandits.crypto.kernels.dealing import masked_share, permuted_share, returned_share
from fedbandits.errors import ConfigError, LocalProtocolError
from fedbandits.federation.events import EndRound
from fedbandits.federation.messages import DuplicateError, Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    BIT_BYTES,
    DOWN,
    SCORE_BYTES,
    UP,
    WORD_BYTES,
    Line,
    SumCipher,
    read_word,
    read_words,
    write_word,
    write_words,
)
from fedbandits.systems.samba.keys import ServerKeys, SilentControllerKeys, make_keys
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    Bit,
    BitList,
    Dealing,
    DealtFirst,
    Drawn,
    Explore,
    Order,
    Reason,
    Score,
    ScoreList,
    Setup,
    SilentSetup,
    Start,
    Sum,
    SumShare,
    ToFirst,
    Total,
    Word,
)
from fedbandits.systems.samba.plan import RUN_BYTES, SambaPlan, accept
from fedbandits.systems.samba.roles.comp import ServerState, ServerTools, SilentServer
from fedbandits.systems.samba.roles.run import Leader, Protocol, Rule, given_up
from fedbandits.systems.samba.streams import ControllerDraws, Places


class ControllerState(ServerState, frozen=True, kw_only=True):
    """All that changes in a Controller."""

    public_key: bytes = b""  # the customer's
    collected: dict[str, bytes] = msgspec.field(default_factory=dict)  # messages by owner
    # Comp's shares of a silent turn's scores, masked; empty before they have come.
    masked: bytes = b""


class Controller(Leader[ControllerState]):
    """Permutes scores and adds up sums, and cannot read either.

    A party that does not answer until its deadline ends the run, for all parties. Fewer than two
    owners, or a run without a proper name, are refused.

    Where the Controller draws the scores of exploring steps (section 5.4 as printed), owners send
    nothing: the beat tells the Controller, as the owners, the end of the last pull
    (:meth:`end_round`).
    """

    STATE = ControllerState
    AWAITED: ClassVar[Mapping[str, Reason]] = {
        "collecting": Reason.SCORES, "comparing": Reason.BITS, "summing": Reason.SUMS
    }  # fmt: skip
    PROTOCOL: ClassVar[Protocol] = {
        Order: Rule("_begin", {"idle": "collecting drawing summing"}),
        Score: Rule("_collect", {"collecting": "collecting comparing"}),
        EndRound: Rule("_draw_scores", {"drawing": "comparing"}),
        BitList: Rule("_hand_out_bits", {"comparing": "collecting drawing summing"}),
        Sum: Rule("_add", {"summing": "summing done"}),
        **given_up(AWAITED, "drawing"),
    }

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._comp = seat.one("comp")
        self._owners = seat.names("owner")
        if len(self._owners) < 2:
            raise ConfigError(f"{self.name}: needs at least 2 data owners, has {self._owners}")
        if len(supply.run) != RUN_BYTES:
            raise LocalProtocolError(f"{self.name}: a run is named by {RUN_BYTES} random bytes")
        self._tools = self._make_tools(supply.run)

    def _make_tools(self, run: bytes) -> Any:
        agreed, secret = self._plan.agreement(run), self._supply.secrets["controller"]
        return ControllerDraws(secret, agreed, self._plan.drawn_scores)

    @property
    def draws(self) -> ControllerDraws:
        """The draws of a published run."""
        draws: ControllerDraws = self._tools
        return draws

    @property
    def turns(self) -> int:
        """Number of turns that are over: iterations of steps."""
        state, plan = self._state, self._plan
        return max(0, (state.step - plan.arms - 1) * plan.iterations + state.iteration - 1)

    @property
    def awaited(self) -> int | None:
        """A count of the awaited messages: scores, Comp's messages, sums."""
        state = self._state
        if state.stage not in self.AWAITED:
            return super().awaited
        part = max(1, state.part) if state.stage == "comparing" else 0
        return self.turns * self._waits_per_turn + part + 1

    @property
    def _waits_per_turn(self) -> int:
        return 2

    @property
    def next_end(self) -> int | None:
        """The round before a step whose scores the Controller draws; None before other steps."""
        return self._state.step - 1 if self._state.stage == "drawing" else None

    def _begin(self, order: Order) -> Step:
        """Check the order, and tell all parties that the run begins."""
        plan, step, run = self._plan, self._plan.arms + 1, self._supply.run
        ordered = plan.ordered._replace(budget=order.budget, algorithm=order.algorithm)
        accept(self.name, plan, ordered, run)
        SumCipher.agreed(self.name, self._config, order.public_key)
        after = self._after(
            stage=self._stage_of(step), run=run, public_key=order.public_key, step=step
        )
        fields = {"sender": self.name, "run": run, **ordered._asdict()}
        return Step(after, self._beginnings(order.public_key, fields))

    def _stage_of(self, step: int) -> str:
        """Return the stage in which a step begins."""
        if step > self._plan.rounds:
            return "summing"
        draws = self._config.controller_draws and self.draws.explores(step)
        return "drawing" if draws else "collecting"

    def _places(self, step: int, iteration: int) -> list[int]:
        """Return the place of each owner in the order of a turn."""
        places: list[int] = self._tools.places(step, iteration).tolist()
        return places

    def _beginnings(self, public_key: bytes, fields: dict[str, Any]) -> list[Message]:
        """Make the first messages to all parties; ``fields`` are common to all of them."""
        keys = self.draws.keys
        setups = self._setups(
            Setup, public_key=public_key, mask_key=keys.masks, exploration_key=keys.exploration,
            **fields,
        )  # fmt: skip
        return [Start(receiver=self._comp, **fields), *setups]

    def _setups(self, kind: type[Any], **fields: Any) -> list[Message]:
        """Make the owners' first messages, each with the owner's place."""
        owners = zip(self._owners, self._places(self._plan.arms + 1, 1), strict=True)
        return [kind(receiver=owner, place=place, **fields) for owner, place in owners]

    def _check_once(self, sender: str, text: str) -> None:
        if sender in self._state.collected:
            raise DuplicateError(f"{self.name}: {sender} sent {text} again")

    def _check_share(self, message: Any) -> None:
        """Refuse an owner's message of another turn, or a second message of this turn."""
        step, iteration, sender = message.step, message.iteration, message.sender
        self._check_turn(f"{sender} sent", step, iteration)
        self._check_once(sender, f"step {step}.{iteration}")

    def _kept(self, sender: str, content: bytes) -> Step:
        """Keep an owner's message until the messages of all owners have come."""
        collected = self._state.collected

        def keep() -> Sequence[Message]:
            collected[sender] = content
            return ()

        return Step(self._state, write=keep)

    @property
    def _lacks_one(self) -> bool:
        return len(self._state.collected) + 1 == len(self._owners)

    def _draw_scores(self, event: EndRound) -> Step:
        """Draw the scores of a step: at the beat all pulls of the round are over."""
        self._check_beat(event)
        step, scores = event.round_ + 1, self.draws.scores(event.round_ + 1)
        drawn = Drawn(sender=self.name, receiver=self._comp, step=step, scores=scores)
        return Step(self._after(stage="comparing"), [drawn])

    def _collect(self, message: Any) -> Step:
        """Keep an owner's score; with the last score, ask Comp."""
        state, sender, sealed = self._state, message.sender, message.sealed
        self._check_share(message)
        # Owners may leave out their scores in a step that explores.
        empty = self._config.exploration_shortcut != "none" and self.draws.explores(state.step)
        length = 0 if empty else SCORE_BYTES + overhead_of(self._config.packet_cipher)
        if len(sealed) != length:
            raise PacketLengthError(
                f"{self.name}: {sender} sent {len(sealed)} bytes as its score, expected {length}"
            )
        if not self._lacks_one:
            return self._kept(sender, sealed)
        collected = {**state.collected, sender: sealed}
        fields: dict[str, Any] = {"sender": self.name, "receiver": self._comp}
        step, iteration = state.step, state.iteration
        listed = dict(zip(self._places(step, iteration), self._owners, strict=True))
        packets = tuple(collected[listed[place]] for place in range(len(listed)))
        fields |= {} if empty else {"iteration": iteration, "sealed": packets}
        asked = (Explore if empty else ScoreList)(step=step, **fields)
        return Step(self._after(stage="comparing", collected={}), [asked])

    def _hand_out_bits(self, message: BitList) -> Step:
        """Hand every owner its bit."""
        arms, sealed = self.agreement.arms, message.sealed
        self._check_share(message)
        length = BIT_BYTES + overhead_of(self._config.packet_cipher)
        if list(map(len, sealed)) != [length] * arms:
            raise PacketLengthError(f"{self.name}: expected {arms} bits of {length} bytes")
        places = self._places(message.step, message.iteration)
        return self._handed_out(Bit, [sealed[place] for place in places])

    def _handed_out(self, kind: type[Any], packets: Iterable[bytes], **changes: Any) -> Step:
        """Go on to the next turn; hand every owner its packet, and its place in that turn."""
        state = self._state
        step, iteration = self.agreement.next_turn(state.step, state.iteration)
        owners = zip(self._owners, packets, self._places(step, iteration), strict=True)
        messages = [
            kind(
                sender=self.name, receiver=owner, step=state.step, iteration=state.iteration,
                sealed=sealed, place=place,
            )
            for owner, sealed, place in owners
        ]  # fmt: skip
        stage = self._stage_of(step)
        return Step(self._after(stage=stage, step=step, iteration=iteration, **changes), messages)

    def _add(self, message: Sum) -> Step:
        """Add up the encrypted sums of all owners."""
        self._check_once(message.sender, "its sum")
        self._sums.check(message.ciphertext)
        return self._summed(message.sender, message.ciphertext)

    @property
    def _sums(self) -> SumCipher:
        return SumCipher.agreed(self.name, self._config, self._state.public_key)

    def _summed(self, sender: str, content: bytes) -> Step:
        """Keep one owner's sum; with the last sum, send the customer the total."""
        if not self._lacks_one:
            return self._kept(sender, content)
        message = self._total({**self._state.collected, sender: content})
        return Step(self._after(stage="done", collected={}), [message])

    def _total(self, collected: dict[str, bytes]) -> Message:
        """Make the message to the customer from the sums of all owners."""
        added = self._sums.add([collected[owner] for owner in self._owners])
        return Total(sender=self.name, receiver=self._customer, ciphertext=added)


class FirstTools(ServerTools):
    """Lines and streams of the Controller in one silent run."""

    def __init__(self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes) -> None:
        agreed, cipher = plan.agreement(run), plan.config.packet_cipher
        keys = ServerKeys.make(supply.secrets, owners, agreed, first=True)
        super().__init__(plan, supply, agreed, keys, first=True)
        self.up = [Line(cipher, seals.up, UP) for seals in keys.owners]
        self.down = [Line(cipher, seals.down, DOWN) for seals in keys.owners]
        ties = make_keys(SilentControllerKeys, supply.secrets["controller"], agreed).ties
        self._order = Places(ties, plan.arms, plan.iterations)

    def places(self, step: int, iteration: int) -> Ints:
        """Return each owner's place among equal scores of a turn, (arms,)."""
        return self._order.draw(step, iteration)


class SilentController(SilentServer[ControllerState], Controller):
    """Compares shared scores with Comp, in an order that neither server knows."""

    FIRST = True
    AWAITED: ClassVar[Mapping[str, Reason]] = {
        "collecting": Reason.SCORES, "comparing": Reason.SHARES, "summing": Reason.SUMS
    }  # fmt: skip
    PROTOCOL: ClassVar[Protocol] = {
        Order: Rule("_begin", {"idle": "collecting summing"}),
        Word: Rule("_collect", {"collecting": "collecting comparing"}),
        DealtFirst: Rule(
            "_keep_block", {"collecting": "collecting comparing", "comparing": "comparing"}
        ),
        ToFirst: Rule("_go_on", {
            "collecting": "collecting comparing", "comparing": "comparing collecting summing",
        }),
        Sum: Rule("_add", {"summing": "summing done"}),
        SumShare: Rule("_add_share", {"summing": "summing done"}),
        **given_up(AWAITED),
    }  # fmt: skip

    _tools: FirstTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._dealer = seat.one("dealer")

    def _make_tools(self, run: bytes) -> FirstTools:
        return FirstTools(self._plan, self._supply, self._owners, run)

    @property
    def _waits_per_turn(self) -> int:
        return self._contests.turn.parts + 1

    @property
    def _missing(self) -> Reason:
        state = self._state
        if state.stage == "collecting" and len(state.collected) == len(self._owners):
            lacks = self._lacks_block(self._turn, state.blocks)
            return Reason.DEALT if lacks else Reason.SHARES
        return super()._missing

    def _beginnings(self, public_key: bytes, fields: dict[str, Any]) -> list[Message]:
        setups = self._setups(SilentSetup, public_key=public_key, **fields)
        start = Start(receiver=self._comp, **fields)
        return [Dealing(receiver=self._dealer, **fields), start, *setups]

    def reopen(self, message: Word | SumShare) -> bytes:
        """Look again at an owner's share that the Controller has received."""
        if isinstance(message, SumShare):
            return self._opened(message, self.agreement.budget + 1, 1)
        return self._opened(message, message.step, message.iteration)

    def _opened(self, message: Word | SumShare, step: int, iteration: int) -> bytes:
        """Open an owner's share."""
        place = self._owners.index(message.sender)
        return self._tools.up[place].open(step, iteration, place, message.sealed, WORD_BYTES)

    def _keep_block(self, message: DealtFirst) -> Step:
        """Keep a block of dealt words; a turn may have waited for the block."""
        return self._once_complete(self._with_block(message))

    def _collect(self, message: Any) -> Step:
        """Keep an owner's share; with the last share the comparisons begin."""
        state, sender = self._state, message.sender
        self._check_share(message)
        share = self._opened(message, state.step, state.iteration)
        lacks = self._lacks_block(self._turn, state.blocks)
        if lacks or not (self._lacks_one and state.masked):
            return self._kept(sender, share)
        return self._compare(self._after(collected={**state.collected, sender: share}))

    def _once_complete(self, after: ControllerState) -> Step:
        """Begin the comparisons if nothing is missing any more."""
        lacks = self._lacks_block(self._turn, after.blocks) or not after.masked
        complete = len(after.collected) == len(self._owners) and not lacks
        return self._compare(after) if after.stage == "collecting" and complete else Step(after)

    def _compare(self, after: ControllerState) -> Step:
        """Bring the shares of all scores into an own order, and send Comp the first openings."""
        dealt, turn, deals = self._dealt(after), self._turn, self._deals
        shares = read_words(b"".join(after.collected[owner] for owner in self._owners))
        permuted, masked = np.empty((2, self._plan.arms), np.uint64)
        permuted_share(shares, read_words(after.masked), dealt.places, dealt.shuffled, permuted)
        masked_share(permuted, dealt.mask, masked)
        contest = self._contests.begin(dealt.share.copy(), dealt.comparisons)
        sent = write_words(masked) + self._contests.packed(contest)
        messages = [self._told(after, 1, sent)]
        begun = deals.of(turn)
        if turn == begun * deals.selections and begun + 1 < deals.count:
            messages.append(Ask(sender=self.name, receiver=self._dealer, block=begun + 1))
        after = msgspec.structs.replace(
            after, stage="comparing", collected={}, masked=b"", part=1, contest=contest
        )
        return Step(after, messages)

    def _go_on(self, message: ToFirst) -> Step:
        """Take Comp's next message of a turn: openings, and the winner's place in the last."""
        state, contests, part = self._state, self._contests, message.part
        # Number 0 comes before the first turn alone: later ones come with the end of a turn.
        possible = state.stage != "collecting" or not (self._turn or state.masked)
        self._check_part(f"{message.sender} sent", message, possible)
        words, items = self._read(message)
        if part == 0:
            return self._once_complete(self._after(masked=write_words(words)))
        assert state.contest is not None  # noqa: S101 - the stage says so
        contest, sent = contests.exchange(state.contest, items, self._dealt(state).comparisons)
        if part == contests.turn.parts:
            return self._hand_out(*words)
        after = self._after(contest=contest, part=part + 1)
        return Step(after, [self._told(state, part + 1, sent)])

    def _hand_out(self, winner: Words64, padded: Words64, *ahead: Words64) -> Step:
        """Bring the winner back into the owners' order; hand every owner its own entry.

        Comp's pads are added; ``ahead`` are Comp's masked shares of the next turn, if there is one.
        """
        state, turn = self._state, self._turn
        dealt, answers = self._dealt(state), np.empty_like(winner)
        returned_share(winner, dealt.places, dealt.returned, answers)
        answers += padded
        sealed = (
            line.seal(state.step, state.iteration, i, write_word(answer))
            for i, (line, answer) in enumerate(zip(self._tools.down, answers.tolist(), strict=True))
        )
        masked = b"".join(map(write_words, ahead))
        blocks = self._deals.needed(turn + 1, state.blocks)
        return self._handed_out(Answer, sealed, part=0, contest=None, masked=masked, blocks=blocks)

    def _add_share(self, message: SumShare) -> Step:
        """Add up the shares of the owners' sums."""
        self._check_once(message.sender, "its sum")
        return self._summed(message.sender, self._opened(message, self._state.step, 1))

    def _total(self, collected: dict[str, bytes]) -> Message:
        if self._config.total == "paillier":
            return super()._total(collected)
        share = sum(map(read_word, collected.values()))
        return self._share_of_total(self._state, share, self._tools)
