"""Comp in a silent run: the second server, which holds a share of everything and sees nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.kernels.dealing import masked_share, permuted_share, unit_vector
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step, Transitions
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    TO_FIRST,
    TO_SECOND,
    TOTAL,
    WORD_BYTES,
    Line,
    read_words,
    write_word,
    write_words,
)
from fedbandits.systems.samba.keys import SecondKeys, TotalKey, make_keys
from fedbandits.systems.samba.messages import (
    CompGaveUp,
    DealtSecond,
    EndForComp,
    Reason,
    SecondTotal,
    Start,
    ToFirst,
    ToSecond,
)
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.roles.run import Member, NamedRunState, endings
from fedbandits.systems.samba.silent.contest import Contest, Contests
from fedbandits.systems.samba.silent.dealt import Deals, DealtToSecond
from fedbandits.systems.samba.streams import Pads, total_pad, turn_number


class SecondTools:
    """Lines and streams of Comp in one run; they are made again after a restart."""

    def __init__(
        self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes, deals: Deals
    ) -> None:
        self.agreed = plan.agreement(run)
        secrets = supply.secrets
        keys = SecondKeys.make(secrets, owners, self.agreed)
        cipher = plan.config.packet_cipher
        self.to_second = Line(cipher, keys.link.to_second, TO_SECOND)
        self.to_first = Line(cipher, keys.link.to_first, TO_FIRST)
        self.dealt = DealtToSecond(deals, cipher, keys.dealt)
        self.receipt = Line(
            cipher, make_keys(TotalKey, secrets["receipt"], self.agreed).total, TOTAL
        )
        self.total = sum(int(total_pad(each.total)) for each in keys.owners)
        self._words = [Pads(each.words, self.agreed) for each in keys.owners]
        self._answers = [Pads(each.answers, self.agreed) for each in keys.owners]

    def words(self, step: int, iteration: int) -> Words64:
        """Return its shares of all scores, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._words], np.uint64)

    def answers(self, step: int, iteration: int) -> Words64:
        """Return what it adds to the owners' answers, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._answers], np.uint64)


class SilentCompState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in Comp.

    Parameters
    ----------
    step, iteration
        The turn that is under way.
    part
        The Controller's message of that turn that comes next.
    contest
        Where its comparisons stand, once they have begun.
    dealt
        How many blocks have come.
    blocks
        Those that are still needed, sealed as they came.
    """

    step: int = 0
    iteration: int = 1
    part: int = 1
    contest: Contest | None = None
    dealt: int = 0
    blocks: dict[int, bytes] = msgspec.field(default_factory=dict)


class SilentComp(Member[SilentCompState]):
    """Compares shared scores with the Controller, in an order that neither knows."""

    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("dealing", "done"),
        ("dealing", DealtSecond): ("ready",),
        ("ready", DealtSecond): ("ready",),
        ("ready", ToSecond): ("ready", "done"),
        ("dealing", Deadline): ("dealing", "ended"),
        **endings(EndForComp, "ready", "idle", "dealing", "done"),
    }
    #: The dealer may be faster than the Controller.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset({("idle", DealtSecond)})
    GAVE_UP = CompGaveUp

    _tools: SecondTools

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, SilentCompState())
        self._supply, self._owners = supply, seat.names("owner")
        self._customer, self._deals = seat.one("customer"), Deals(plan)
        self._contests = Contests(plan, self.name, False)

    @property
    def awaited(self) -> int | None:
        """A count of what it waits for: its first block, and the Controller's messages."""
        state = self._state
        if state.stage not in ("dealing", "ready"):
            return super().awaited
        came = 0 if state.stage == "dealing" else state.part
        return self._turn * (self._contests.parts + 1) + came + 1

    def _make_tools(self, run: bytes) -> SecondTools:
        return SecondTools(self._plan, self._supply, self._owners, run, self._deals)

    @property
    def _turn(self) -> int:
        return turn_number(self.agreement, self._state.step, self._state.iteration)

    def _take(self, message: Message) -> list[Message] | None:
        """Keep what ends a turn until the words of the next one have been dealt."""
        state = self._state
        if type(message) is ToSecond and state.stage == "ready":
            found = (message.step, message.iteration, message.part)
            ends = state.part == self._contests.parts
            expected = (state.step, state.iteration, state.part)
            if ends and found == expected and self._lacks_block(self._turn + 1):
                return None
        return super()._take(message)

    def _lacks_block(self, turn: int) -> bool:
        return turn < self._deals.turns and self._deals.of(turn) not in self._state.blocks

    def _compute(self, event: Any) -> Step:
        match event:
            case ToSecond():
                return self._go_on(event)
            case DealtSecond():
                return self._keep_block(event)
            case Start():
                return self._begin(event)
            case _:
                return super()._compute(event)

    def _end_waiting(self, event: Deadline) -> Step:
        lacks = self._state.stage == "dealing" or self._lacks_block(self._turn + 1)
        if event.number == self.awaited and lacks:
            return self._give_up(Reason.DEALT)
        return super()._end_waiting(event)

    def _begin(self, start: Start) -> Step:
        self._accepted(start)
        tools = self._make_tools(start.run)
        after = self._after(stage="dealing", run=start.run, step=start.arms + 1)
        outgoing: list[Message] = []
        if not self._deals.turns:
            after, outgoing = self._finished(after, tools)
        return self._begun(after, tools, outgoing)

    def _keep_block(self, message: DealtSecond) -> Step:
        """Keep a block; with the first one the run can begin."""
        state, block = self._state, message.block
        blocks = self._tools.dealt.take(self.name, self._turn, state, block, message.sealed)
        after = self._after(stage="ready", dealt=block + 1, blocks=blocks)
        if state.stage == "ready":
            return Step(after)
        made = write_words(self._ahead(after))
        return Step(after, [self._told(after.step, after.iteration, 0, made)])

    def _ahead(self, state: SilentCompState) -> Words64:
        """Return its shares of the scores of a turn, masked for the Controller's order."""
        dealt = self._tools.dealt.of(
            turn_number(self.agreement, state.step, state.iteration), state.blocks
        )
        made = np.empty(self._deals.entries, np.uint64)
        masked_share(self._tools.words(state.step, state.iteration), dealt.mask, made)
        return made

    def _go_on(self, message: ToSecond) -> Step:
        state, contests, part = self._state, self._contests, message.part
        found, expected = ((each.step, each.iteration, each.part) for each in (message, state))
        if found != expected:
            raise OutOfOrderError(
                f"{self.name}: asked for message {found} of a turn, this is {expected}"
            )
        entries = self._deals.entries
        begins = WORD_BYTES * entries if part == 1 else 0
        opened = self._tools.to_second.open(
            state.step, state.iteration, part, message.sealed,
            begins + contests.turn.bytes_of(part, True),
        )  # fmt: skip
        dealt = self._tools.dealt.of(self._turn, state.blocks)
        contest, sent = state.contest, b""
        if contest is None:
            share = np.empty(entries, np.uint64)
            permuted_share(
                dealt.share, read_words(opened[:begins]), dealt.places, dealt.shuffled, share
            )
            contest = contests.begin(share, dealt.comparisons)
            sent = contests.packed(contest)
        items = contests.split(opened[begins:], part, True)
        contest, more = contests.exchange(contest, items, dealt.comparisons)
        if part == contests.parts:
            return self._end_turn(contest, sent + more)
        told = self._told(state.step, state.iteration, part, sent + more)
        return Step(self._after(contest=contest, part=part + 1), [told])

    def _end_turn(self, contest: Contest, sent: bytes) -> Step:
        """Tell the winner, which the Controller alone can turn back; and go on to the next turn."""
        state, tools, turn = self._state, self._tools, self._turn
        dealt, entries = tools.dealt.of(turn, state.blocks), self._deals.entries
        winner, back = np.empty((2, entries), np.uint64)
        unit_vector(int(np.flatnonzero(dealt.places == contest.contenders[0])[0]), winner)
        masked_share(winner, dealt.returned_mask, back)
        padded = dealt.returned_share + tools.answers(state.step, state.iteration)
        sent += write_words(back) + write_words(padded)
        step, iteration = self.agreement.next_turn(state.step, state.iteration)
        after = self._after(
            step=step, iteration=iteration, part=1, contest=None,
            blocks=self._deals.needed(turn + 1, state.blocks),
        )  # fmt: skip
        outgoing: list[Message] = []
        if turn + 1 < self._deals.turns:
            sent += write_words(self._ahead(after))
        else:
            after, outgoing = self._finished(after, tools)
        told = self._told(state.step, state.iteration, state.part, sent)
        return Step(after, [told, *outgoing])

    def _finished(self, after: SilentCompState, tools: SecondTools) -> tuple[Any, list[Message]]:
        """Return the state after the last turn, and the share of the total."""
        after = msgspec.structs.replace(after, stage="done", blocks={})
        if self._plan.config.total == "paillier":
            return after, []
        sealed = tools.receipt.seal(after.step, 1, 1, write_word(tools.total))
        total = SecondTotal(sender=self.name, receiver=self._customer, run=after.run, sealed=sealed)
        return after, [total]

    def _told(self, step: int, iteration: int, part: int, payload: bytes) -> ToFirst:
        return ToFirst(
            sender=self.name, receiver=self._controller, step=step, iteration=iteration,
            part=part, sealed=self._tools.to_first.seal(step, iteration, part, payload),
        )  # fmt: skip
