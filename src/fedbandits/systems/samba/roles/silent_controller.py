"""The Controller of a silent run: the first server, which holds a share of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits.crypto.kernels.dealing import masked_share, permuted_share, returned_share
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    DOWN,
    TO_FIRST,
    TO_SECOND,
    TOTAL,
    UP,
    WORD_BYTES,
    Line,
    read_word,
    read_words,
    write_word,
    write_words,
)
from fedbandits.systems.samba.keys import FirstKeys, SilentControllerKeys, TotalKey, make_keys
from fedbandits.systems.samba.messages import (
    Answer,
    Ask,
    Dealing,
    DealtFirst,
    FirstTotal,
    Order,
    Reason,
    SilentSetup,
    Start,
    Sum,
    SumShare,
    ToFirst,
    ToSecond,
    Word,
)
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.controller import BaseController, ControllerState
from fedbandits.systems.samba.roles.run import given_up
from fedbandits.systems.samba.silent.contest import Contest, Contests
from fedbandits.systems.samba.silent.dealt import Deals, DealtToFirst
from fedbandits.systems.samba.streams import Places, turn_number

_AWAITED = {"collecting": Reason.SCORES, "comparing": Reason.SHARES, "summing": Reason.SUMS}
#: What comes before comparisons can begin, in any order.
_COLLECTED = (Word, ToFirst, DealtFirst)


class SilentControllerState(ControllerState, frozen=True, kw_only=True):
    """All that changes in a Controller; what it collects are shares.

    Parameters
    ----------
    masked
        Comp's shares of the scores of the turn, masked; empty before they have come.
    part
        Comp's message of the turn that comes next.
    contest
        Where the comparisons of the turn stand, while they are made.
    dealt
        How many blocks have come.
    blocks
        Those that are still needed, sealed as they came.
    """

    masked: bytes = b""
    part: int = 0
    contest: Contest | None = None
    dealt: int = 0
    blocks: dict[int, bytes] = msgspec.field(default_factory=dict)


class FirstTools:
    """Lines and streams of the Controller in one run."""

    def __init__(
        self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes, deals: Deals
    ) -> None:
        self.agreed, secrets = plan.agreement(run), supply.secrets
        keys = FirstKeys.make(secrets, owners, self.agreed)
        cipher = plan.config.packet_cipher
        self.up = [Line(cipher, each.up, UP) for each in keys.owners]
        self.down = [Line(cipher, each.down, DOWN) for each in keys.owners]
        self.to_second = Line(cipher, keys.link.to_second, TO_SECOND)
        self.to_first = Line(cipher, keys.link.to_first, TO_FIRST)
        self.dealt = DealtToFirst(deals, cipher, keys.dealt)
        self.bill = Line(cipher, make_keys(TotalKey, secrets["bill"], self.agreed).total, TOTAL)
        ties = make_keys(SilentControllerKeys, secrets["controller"], self.agreed).ties
        self.places = Places(ties, plan.arms, plan.iterations)


class SilentController(BaseController[SilentControllerState]):
    """Compares shared scores with Comp, in an order that neither knows.

    Raises
    ------
    ConfigError
        If there are fewer than two owners.
    LocalProtocolError
        If the run has no proper name.
    """

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Order): ("collecting", "summing"),
        **{("collecting", kind): ("collecting", "comparing") for kind in _COLLECTED},
        ("comparing", ToFirst): ("comparing", "collecting", "summing"),
        ("comparing", DealtFirst): ("comparing",),
        **{("summing", kind): ("summing", "done") for kind in (Sum, SumShare)},
        **given_up(_AWAITED),
    }
    AWAITED: ClassVar[Mapping[str, Reason]] = _AWAITED

    _tools: FirstTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply, SilentControllerState())
        self._dealer = seat.one("dealer")
        self._place = {owner: place for place, owner in enumerate(self._owners)}
        self._deals, self._contests = Deals(plan), Contests(plan, self.name, True)
        self._tools = self._make_tools(self._run)

    def _make_tools(self, run: bytes) -> FirstTools:
        return FirstTools(self._plan, self._supply, self._owners, run, self._deals)

    @property
    def awaited(self) -> int | None:
        """A count of what is waited for: scores, Comp's messages, sums."""
        state = self._state
        if state.stage not in _AWAITED:
            return super().awaited
        part = state.part if state.stage == "comparing" else 0
        return self.turns * (self._contests.parts + 1) + part + 1

    @property
    def _missing(self) -> Reason:
        state = self._state
        if state.stage == "collecting" and len(state.collected) == len(self._owners):
            return Reason.DEALT if self._lacks_block else Reason.SHARES
        return super()._missing

    @property
    def _turn(self) -> int:
        return turn_number(self.agreement, self._state.step, self._state.iteration)

    @property
    def _lacks_block(self) -> bool:
        return self._deals.of(self._turn) not in self._state.blocks

    def _compute(self, event: Any) -> Step:
        match event:
            case Word():
                return self._collect(event)
            case ToFirst():
                return self._go_on(event)
            case DealtFirst():
                return self._keep_block(event)
            case SumShare():
                return self._add_share(event)
            case _:
                return super()._compute(event)

    def _stage_of(self, step: int) -> str:
        return "collecting" if step <= self.agreement.budget else "summing"

    def _beginnings(self, public_key: bytes, told: dict[str, Any]) -> list[Message]:
        places = self._tools.places.draw(self._plan.arms + 1, 1).tolist()
        setups = [
            SilentSetup(receiver=owner, public_key=public_key, place=place, **told)
            for owner, place in zip(self._owners, places, strict=True)
        ]
        start = Start(receiver=self._comp, **told)
        return [Dealing(receiver=self._dealer, **told), start, *setups]

    def _collect(self, message: Word) -> Step:
        """Keep an owner's share; with the last one the comparisons begin."""
        state, sender = self._state, message.sender
        self._check_turn(sender, message.step, message.iteration)
        place = self._place[sender]
        share = self._tools.up[place].open(
            state.step, state.iteration, place, message.sealed, WORD_BYTES
        )
        if not (self._lacks_one and state.masked) or self._lacks_block:
            return self._kept(sender, share)
        return self._compare(self._after(collected={**state.collected, sender: share}))

    def _keep_block(self, message: DealtFirst) -> Step:
        state, block = self._state, message.block
        blocks = self._tools.dealt.take(self.name, self._turn, state, block, message.sealed)
        return self._once_complete(self._after(dealt=block + 1, blocks=blocks))

    def _once_complete(self, after: SilentControllerState) -> Step:
        """Begin the comparisons if nothing is missing any more."""
        has_block = self._deals.of(self._turn) in after.blocks
        complete = len(after.collected) == len(self._owners) and after.masked and has_block
        return self._compare(after) if after.stage == "collecting" and complete else Step(after)

    def _compare(self, after: SilentControllerState) -> Step:
        """Bring all scores into an own order, and open what is to be compared first."""
        dealt, entries = self._tools.dealt.of(self._turn, after.blocks), self._deals.entries
        shares = read_words(b"".join(after.collected[owner] for owner in self._owners))
        permuted, masked = np.empty((2, entries), np.uint64)
        permuted_share(shares, read_words(after.masked), dealt.places, dealt.shuffled, permuted)
        masked_share(permuted, dealt.mask, masked)
        contest = self._contests.begin(dealt.share.copy(), dealt.comparisons)
        told = self._opened(1, write_words(masked) + self._contests.packed(contest))
        begun = self._deals.of(self._turn)
        asks: list[Message] = []
        if self._turn == begun * self._deals.selections and begun + 1 < self._deals.count:
            asks = [Ask(sender=self.name, receiver=self._dealer, block=begun + 1)]
        after = msgspec.structs.replace(
            after, stage="comparing", collected={}, masked=b"", part=1, contest=contest
        )
        return Step(after, [told, *asks])

    def _go_on(self, message: ToFirst) -> Step:
        """Take Comp's next message of a turn: what it has opened, or in the end who won."""
        state, contests, part = self._state, self._contests, message.part
        found, expected = ((each.step, each.iteration, each.part) for each in (message, state))
        # Number 0 comes before the first turn alone: later ones come with the end of a turn.
        if found != expected or (state.stage == "collecting" and (self._turn or state.masked)):
            raise OutOfOrderError(
                f"{self.name}: {message.sender} sent message {found} of a turn, this is {expected}"
            )
        vectors = WORD_BYTES * self._deals.entries * self._vectors(part)
        items = contests.turn.bytes_of(part, False) if part else 0
        opened = self._tools.to_first.open(
            state.step, state.iteration, part, message.sealed, items + vectors
        )
        if part == 0:
            return self._once_complete(self._after(masked=opened))
        assert state.contest is not None  # noqa: S101 - the stage says so
        dealt = self._tools.dealt.of(self._turn, state.blocks)
        contest, sent = contests.exchange(
            state.contest, contests.split(opened[:items], part, False), dealt.comparisons
        )
        if part == contests.parts:
            return self._hand_out(opened[items:])
        after = self._after(contest=contest, part=part + 1)
        return Step(after, [self._opened(part + 1, sent)])

    def _vectors(self, part: int) -> int:
        """Return how many words an owner end a message of Comp's."""
        if part == 0:
            return 1
        if part < self._contests.parts:
            return 0
        return 3 if self._turn + 1 < self._deals.turns else 2

    def _hand_out(self, vectors: bytes) -> Step:
        """Turn the winner's place back into the owners' order; each is told its own entry."""
        state, tools, turn = self._state, self._tools, self._turn
        words = read_words(vectors).reshape(-1, self._deals.entries)
        dealt, answers = tools.dealt.of(turn, state.blocks), np.empty_like(words[0])
        returned_share(words[0], dealt.places, dealt.returned, answers)
        answers += words[1]
        step, iteration = self.agreement.next_turn(state.step, state.iteration)
        next_places = tools.places.draw(step, iteration).tolist()
        told = [
            Answer(
                sender=self.name, receiver=owner, step=state.step, iteration=state.iteration,
                sealed=tools.down[i].seal(
                    state.step, state.iteration, i, write_word(int(answers[i]))
                ),
                place=next_places[i],
            )
            for i, owner in enumerate(self._owners)
        ]  # fmt: skip
        goes_on = turn + 1 < self._deals.turns
        after = self._after(
            stage=self._stage_of(step), step=step, iteration=iteration, part=0, contest=None,
            masked=write_words(words[2]) if goes_on else b"",
            blocks=self._deals.needed(turn + 1, state.blocks),
        )  # fmt: skip
        return Step(after, told)

    def _opened(self, part: int, payload: bytes) -> ToSecond:
        state = self._state
        return ToSecond(
            sender=self.name, receiver=self._comp, step=state.step, iteration=state.iteration,
            part=part,
            sealed=self._tools.to_second.seal(state.step, state.iteration, part, payload),
        )  # fmt: skip

    def _add_share(self, message: SumShare) -> Step:
        """Add up the shares of the owners' sums."""
        state, sender = self._state, message.sender
        self._check_sum(sender)
        place = self._place[sender]
        share = self._tools.up[place].open(state.step, 1, place, message.sealed, WORD_BYTES)

        def total(collected: dict[str, bytes]) -> Message:
            added = write_word(sum(map(read_word, collected.values())))
            sealed = self._tools.bill.seal(state.step, 1, 0, added)
            return FirstTotal(
                sender=self.name, receiver=self._customer, run=state.run, sealed=sealed
            )

        return self._summed(sender, share, total)
