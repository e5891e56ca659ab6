"""The Controller of a silent run: the first server, which holds a share of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.kernels.dealing import masked_share, permuted_share, returned_share
from fedbandits.federation.messages import Message
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    DOWN,
    UP,
    WORD_BYTES,
    Line,
    read_word,
    read_words,
    write_word,
    write_words,
)
from fedbandits.systems.samba.keys import ServerKeys, SilentControllerKeys, make_keys
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    Dealing,
    DealtFirst,
    Order,
    Reason,
    SilentSetup,
    Start,
    Sum,
    SumShare,
    ToFirst,
    Word,
)
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.controller import BaseController, ControllerState
from fedbandits.systems.samba.roles.run import given_up
from fedbandits.systems.samba.roles.silent_comp import ServerTools, SilentServer
from fedbandits.systems.samba.silent import Contest
from fedbandits.systems.samba.streams import Places

#: What comes before comparisons can begin, in any order.
_COLLECTED = (Word, ToFirst, DealtFirst)


class SilentControllerState(ControllerState, frozen=True, kw_only=True):
    """All that changes in a Controller. It collects shares."""

    masked: bytes = b""  # Comp's shares of the turn's scores, masked; empty before they have come
    part: int = 0  # Comp's message of the turn that comes next
    contest: Contest | None = None  # where the turn's comparisons stand, while they are made
    dealt: int = 0  # how many blocks have come
    # Those that are still needed, sealed as they came.
    blocks: dict[int, bytes] = msgspec.field(default_factory=dict)


class FirstTools(ServerTools):
    """Lines and streams of the Controller in one run."""

    def __init__(self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes) -> None:
        agreed, cipher = plan.agreement(run), plan.config.packet_cipher
        keys = ServerKeys.make(supply.secrets, owners, agreed, first=True)
        super().__init__(plan, supply, agreed, keys, first=True)
        self.up = [Line(cipher, each.up, UP) for each in keys.owners]
        self.down = [Line(cipher, each.down, DOWN) for each in keys.owners]
        ties = make_keys(SilentControllerKeys, supply.secrets["controller"], agreed).ties
        self.places = Places(ties, plan.arms, plan.iterations)


class SilentController(SilentServer[SilentControllerState], BaseController[SilentControllerState]):
    """Compares shared scores with Comp, in an order that neither knows."""

    STATE = SilentControllerState
    FIRST = True
    AWAITED: ClassVar[Mapping[str, Reason]] = {
        "collecting": Reason.SCORES, "comparing": Reason.SHARES, "summing": Reason.SUMS
    }  # fmt: skip
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Order): ("collecting", "summing"),
        **{("collecting", kind): ("collecting", "comparing") for kind in _COLLECTED},
        ("comparing", ToFirst): ("comparing", "collecting", "summing"),
        ("comparing", DealtFirst): ("comparing",),
        **{("summing", kind): ("summing", "done") for kind in (Sum, SumShare)},
        **given_up(AWAITED),
    }

    _tools: FirstTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._dealer = seat.one("dealer")

    def _make_tools(self, run: bytes) -> FirstTools:
        return FirstTools(self._plan, self._supply, self._owners, run)

    @property
    def awaited(self) -> int | None:
        """A count of what is waited for: scores, Comp's messages, sums."""
        state = self._state
        if state.stage not in self.AWAITED:
            return super().awaited
        part = state.part if state.stage == "comparing" else 0
        return self.turns * (self._contests.turn.parts + 1) + part + 1

    @property
    def _missing(self) -> Reason:
        state = self._state
        if state.stage == "collecting" and len(state.collected) == len(self._owners):
            lacks = self._lacks_block(self._turn, state.blocks)
            return Reason.DEALT if lacks else Reason.SHARES
        return super()._missing

    def _compute(self, event: Any) -> Step:
        match event:
            case Word():
                return self._collect(event)
            case ToFirst():
                return self._go_on(event)
            case DealtFirst():
                return self._once_complete(self._with_block(event))
            case SumShare():
                return self._add_share(event)
            case _:
                return super()._compute(event)

    def _stage_of(self, step: int) -> str:
        return "collecting" if step <= self.agreement.budget else "summing"

    def _places(self, step: int, iteration: int) -> list[int]:
        places: list[int] = self._tools.places.draw(step, iteration).tolist()
        return places

    def _beginnings(self, public_key: bytes, fields: dict[str, Any]) -> list[Message]:
        setups = self._setups(SilentSetup, public_key=public_key, **fields)
        start = Start(receiver=self._comp, **fields)
        return [Dealing(receiver=self._dealer, **fields), start, *setups]

    def reopen(self, message: Word | SumShare) -> bytes:
        """Look again at an owner's share that it has received."""
        if isinstance(message, SumShare):
            return self._opened(message, self.agreement.budget + 1, 1)
        return self._opened(message, message.step, message.iteration)

    def _opened(self, message: Word | SumShare, step: int, iteration: int) -> bytes:
        """Open an owner's share."""
        place = self._owners.index(message.sender)
        return self._tools.up[place].open(step, iteration, place, message.sealed, WORD_BYTES)

    def _collect(self, message: Word) -> Step:
        """Keep an owner's share; with the last one the comparisons begin."""
        state, sender = self._state, message.sender
        self._check_share(message)
        share = self._opened(message, state.step, state.iteration)
        lacks = self._lacks_block(self._turn, state.blocks)
        if lacks or not (self._lacks_one and state.masked):
            return self._kept(sender, share)
        return self._compare(self._after(collected={**state.collected, sender: share}))

    def _once_complete(self, after: SilentControllerState) -> Step:
        """Begin the comparisons if nothing is missing any more."""
        lacks = self._lacks_block(self._turn, after.blocks) or not after.masked
        complete = len(after.collected) == len(self._owners) and not lacks
        return self._compare(after) if after.stage == "collecting" and complete else Step(after)

    def _compare(self, after: SilentControllerState) -> Step:
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
        """Turn the winner's place back into the owners' order; each is told its own entry.

        Comp's pads are added; ``ahead`` of the next turn are its masked shares, if there is one.
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
        state, sender = self._state, message.sender
        self._check_once(sender, "its sum")
        share = self._opened(message, state.step, 1)

        def total(collected: dict[str, bytes]) -> Message:
            return self._share_of_total(state, sum(map(read_word, collected.values())), self._tools)

        return self._summed(sender, share, total)
