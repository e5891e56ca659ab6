"""Comp in a silent run: the second server, which holds a share of everything and sees nothing.

:class:`SilentServer` is what the Controller, the first one, does as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    Line,
    write_word,
    write_words,
)
from fedbandits.systems.samba.keys import ServerKeys, TotalKey, make_keys
from fedbandits.systems.samba.messages import (
    DealtFirst,
    DealtSecond,
    FirstTotal,
    Reason,
    SecondTotal,
    Start,
    ToFirst,
    ToSecond,
)
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import AnyRun, Member, NamedRunState, RunParty, endings
from fedbandits.systems.samba.silent import Contest, Contests, Deals, DealtToServer
from fedbandits.systems.samba.streams import Pads, total_pad, turn_number


class ServerTools:
    """Lines and dealt words of a server in one run. A restart makes them again."""

    def __init__(
        self, plan: SambaPlan, supply: Supply, agreed: Agreement, keys: ServerKeys, first: bool
    ) -> None:
        self.agreed, cipher = agreed, plan.config.packet_cipher
        to_second = Line(cipher, keys.link.to_second, TO_SECOND)
        to_first = Line(cipher, keys.link.to_first, TO_FIRST)
        self.sending, self.receiving = (to_second, to_first) if first else (to_first, to_second)
        self.dealt = DealtToServer(Deals(plan), cipher, keys.dealt, first)
        secret = supply.secrets["bill" if first else "receipt"]
        self.to_customer = Line(cipher, make_keys(TotalKey, secret, self.agreed).total, TOTAL)


class SilentServer(RunParty[AnyRun]):
    """One of both servers. Its state has a turn, a part of it, a contest, and sealed blocks."""

    #: Whether it is the first server, the Controller.
    FIRST: ClassVar[bool]

    def __init__(self, seat: Seat, plan: SambaPlan, supply: Supply) -> None:
        super().__init__(seat, plan, supply)
        self._deals = Deals(plan)
        self._owners, self._customer = seat.names("owner"), seat.one("customer")
        self._other = seat.one("comp" if self.FIRST else "controller")
        self._contests = Contests(plan.arms, plan.config.arity, self.FIRST, self.name)

    @property
    def _turn(self) -> int:
        return self._turn_of(self._state)

    def _turn_of(self, state: Any) -> int:
        return turn_number(self.agreement, state.step, state.iteration)

    def _lacks_block(self, turn: int, blocks: Mapping[int, bytes]) -> bool:
        """Tell whether a turn is still to be played, and its words are not among these blocks."""
        return turn < self._deals.turns and self._deals.of(turn) not in blocks

    def _dealt(self, state: Any) -> Any:
        """Return the dealt words of the turn of a state; the next call overwrites them."""
        return self._tools.dealt.of(self._turn_of(state), state.blocks)

    def _with_block(self, message: DealtFirst | DealtSecond, **changes: Any) -> AnyRun:
        """Return the state with a block that has come."""
        block: int = message.block
        blocks = self._tools.dealt.take(self.name, self._turn, self._state, block, message.sealed)
        return self._after(dealt=block + 1, blocks=blocks, **changes)

    def _check_part(self, text: str, message: ToFirst | ToSecond, possible: bool = True) -> None:
        """Refuse another message than the next of the turn; errors describe it by ``text``."""
        state: Any = self._state
        given, expected = ((each.step, each.iteration, each.part) for each in (message, state))
        if given != expected or not possible:
            raise OutOfOrderError(
                f"{self.name}: {text} message {given} of a turn, this is {expected}"
            )

    def _read(self, message: ToFirst | ToSecond) -> tuple[Words64, Iterator[bytes]]:
        """Open a message of the other server: words of all owners, and items to be completed."""
        state: Any = self._state
        part, theirs, turn = message.part, not self.FIRST, self._contests.turn
        size = turn.size_of(part, theirs, self._turn + 1 == self._deals.turns)
        line: Line = self._tools.receiving
        opened = line.open(state.step, state.iteration, part, message.sealed, size)
        words, items = turn.split(opened, part, theirs)
        return words, self._contests.split(items, part, theirs)

    def _told(self, state: Any, part: int, payload: bytes) -> Message:
        """Make a message to the other server, in the turn of a state."""
        kind = ToSecond if self.FIRST else ToFirst
        return kind(
            sender=self.name, receiver=self._other, step=state.step, iteration=state.iteration,
            part=part, sealed=self._tools.sending.seal(state.step, state.iteration, part, payload),
        )  # fmt: skip

    def _share_of_total(self, state: Any, share: int, tools: ServerTools) -> Message:
        """Tell the customer its share of the total, in the state after the last turn."""
        sealed = tools.to_customer.seal(state.step, 1, int(not self.FIRST), write_word(share))
        kind = FirstTotal if self.FIRST else SecondTotal
        return kind(sender=self.name, receiver=self._customer, run=state.run, sealed=sealed)


class SecondTools(ServerTools):
    """Lines and streams of Comp in one run."""

    def __init__(self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes) -> None:
        agreed = plan.agreement(run)
        keys = ServerKeys.make(supply.secrets, owners, agreed, first=False)
        super().__init__(plan, supply, agreed, keys, first=False)
        self.total = sum(int(total_pad(each.total)) for each in keys.owners)
        self._words = [Pads(each.words, agreed) for each in keys.owners]
        self._answers = [Pads(each.answers, agreed) for each in keys.owners]

    def words(self, step: int, iteration: int) -> Words64:
        """Return its shares of all scores, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._words], np.uint64)

    def answers(self, step: int, iteration: int) -> Words64:
        """Return Comp's pads of the owners' answers, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._answers], np.uint64)


class SilentCompState(NamedRunState, frozen=True, kw_only=True):
    """All that changes in Comp."""

    # The turn that is under way, and the Controller's message of it that comes next.
    step: int = 0
    iteration: int = 1
    part: int = 1
    contest: Contest | None = None  # where its comparisons stand, once they have begun
    dealt: int = 0  # how many blocks have come
    # Those that are still needed, sealed as they came.
    blocks: dict[int, bytes] = msgspec.field(default_factory=dict)


class SilentComp(SilentServer[SilentCompState], Member[SilentCompState]):
    """Compares shared scores with the Controller, in an order that neither knows."""

    STATE = SilentCompState
    FIRST = False
    TRANSITIONS: ClassVar[Transitions] = {
        ("idle", Start): ("dealing", "done"),
        ("dealing", DealtSecond): ("ready",),
        ("ready", DealtSecond): ("ready",),
        ("ready", ToSecond): ("ready", "done"),
        ("dealing", Deadline): ("dealing", "ended"),
        **endings("ready", "idle", "dealing", "done"),
    }
    #: The dealer may be faster than the Controller.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset({("idle", DealtSecond)})

    _tools: SecondTools

    @property
    def awaited(self) -> int | None:
        """A count of what it waits for: its first block, and the Controller's messages."""
        state = self._state
        if state.stage not in ("dealing", "ready"):
            return super().awaited
        came = 0 if state.stage == "dealing" else state.part
        return self._turn * (self._contests.turn.parts + 1) + came + 1

    def _make_tools(self, run: bytes) -> SecondTools:
        return SecondTools(self._plan, self._supply, self._owners, run)

    def _take(self, message: Message) -> list[Message] | None:
        """Keep the last message of a turn until the next turn's words have been dealt."""
        state = self._state
        if type(message) is ToSecond and state.stage == "ready":
            given = (message.step, message.iteration, message.part)
            expected = (state.step, state.iteration, self._contests.turn.parts)
            if given == expected and state.part == message.part and self._lacks_next:
                return None
        return super()._take(message)

    @property
    def _lacks_next(self) -> bool:
        """True if the words of the next turn have not been dealt."""
        return self._lacks_block(self._turn + 1, self._state.blocks)

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
        lacks = self._state.stage == "dealing" or self._lacks_next
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
        """Keep a block. With the first block the run can begin."""
        after = self._with_block(message, stage="ready")
        if self._state.stage == "ready":
            return Step(after)
        return Step(after, [self._told(after, 0, self._ahead(after))])

    def _ahead(self, state: SilentCompState) -> bytes:
        """Return its shares of the scores of a turn, masked for the Controller's order."""
        words, masked = self._tools.words(state.step, state.iteration), self._empty()
        masked_share(words, self._dealt(state).mask, masked)
        return write_words(masked)

    def _empty(self) -> Words64:
        return np.empty(self._plan.arms, np.uint64)

    def _go_on(self, message: ToSecond) -> Step:
        state, contests, part = self._state, self._contests, message.part
        self._check_part("asked for", message)
        moved, items = self._read(message)
        dealt = self._dealt(state)
        contest, sent = state.contest, b""
        if contest is None:
            share = self._empty()
            permuted_share(dealt.share, moved[0], dealt.places, dealt.shuffled, share)
            contest = contests.begin(share, dealt.comparisons)
            sent = contests.packed(contest)
        contest, more = contests.exchange(contest, items, dealt.comparisons)
        if part == contests.turn.parts:
            return self._end_turn(contest, sent + more)
        after = self._after(contest=contest, part=part + 1)
        return Step(after, [self._told(state, part, sent + more)])

    def _end_turn(self, contest: Contest, sent: bytes) -> Step:
        """Tell the winner, which the Controller alone can turn back; and go on to the next turn."""
        state, tools, turn = self._state, self._tools, self._turn
        dealt, winner, back = self._dealt(state), self._empty(), self._empty()
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
            sent += self._ahead(after)
        else:
            after, outgoing = self._finished(after, tools)
        return Step(after, [self._told(state, state.part, sent), *outgoing])

    def _finished(
        self, after: SilentCompState, tools: SecondTools
    ) -> tuple[SilentCompState, list[Message]]:
        """Return the state after the last turn, and the share of the total."""
        after = msgspec.structs.replace(after, stage="done", blocks={})
        if self._config.total == "paillier":
            return after, []
        return after, [self._share_of_total(after, tools.total, tools)]
