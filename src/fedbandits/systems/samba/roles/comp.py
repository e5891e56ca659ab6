"""SAMBA's Comp, the second server: compares scores, masked or shared, and cannot tell their owners.

:class:`SilentServer` is the part of a silent run that Comp has in common with the Controller, the
first server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import msgspec
import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import NEVER, Channel, PacketLengthError, Turn
from fedbandits.crypto.kernels.dealing import masked_share, permuted_share, unit_vector
from fedbandits.federation.events import Deadline
from fedbandits.federation.messages import Message, NotFiniteError, OutOfOrderError
from fedbandits.federation.seats import Seat
from fedbandits.federation.state import Step
from fedbandits.systems.samba.application import Supply
from fedbandits.systems.samba.ciphers import (
    BIT,
    SCORES,
    TO_FIRST,
    TO_SECOND,
    TOTAL,
    Line,
    floats,
    make_channels,
    write_word,
    write_words,
)
from fedbandits.systems.samba.kernels import any_place, select_arm, select_drawn
from fedbandits.systems.samba.keys import ServerKeys, TotalKey, make_keys
from fedbandits.systems.samba.messages import (
    BitList,
    DealtFirst,
    DealtSecond,
    Drawn,
    Explore,
    FirstTotal,
    Reason,
    ScoreList,
    SecondTotal,
    Start,
    ToFirst,
    ToSecond,
)
from fedbandits.systems.samba.plan import Agreement, SambaPlan
from fedbandits.systems.samba.roles.run import (
    Member,
    NamedRunState,
    Protocol,
    Rule,
    RunParty,
    endings,
)
from fedbandits.systems.samba.silent import Contest, Contests, Deals, DealtToServer
from fedbandits.systems.samba.streams import CompDraws, Pads, position, total_pad, turn_number


class ServerState(NamedRunState, frozen=True, kw_only=True):
    """State that both servers keep. After step and iteration all fields are of a silent run."""

    step: int = 0  # of the turn under way; after the last turn, the step that would follow
    iteration: int = 1
    part: int = 0  # number of the other server's next message in the turn
    contest: Contest | None = None  # comparisons under way
    dealt: int = 0  # number of blocks that have come
    blocks: dict[int, bytes] = msgspec.field(default_factory=dict)  # still needed, sealed


AnyServer = TypeVar("AnyServer", bound=ServerState)


class ServerTools:
    """Lines and dealt words of a server in one silent run. A restart makes them again."""

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


class SilentServer(RunParty[AnyServer]):
    """A server in a silent run, which exchanges shares with the other server."""

    #: True for the first server, the Controller.
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

    def _turn_of(self, state: ServerState) -> int:
        return turn_number(self.agreement, state.step, state.iteration)

    def _lacks_block(self, turn: int, blocks: Mapping[int, bytes]) -> bool:
        """Tell whether a turn is still to be played, and its words are not among these blocks."""
        return turn < self._deals.turns and self._deals.of(turn) not in blocks

    def _dealt(self, state: ServerState) -> Any:
        """Return the dealt words of a state's turn; the next call overwrites them."""
        return self._tools.dealt.of(self._turn_of(state), state.blocks)

    def _with_block(self, message: DealtFirst | DealtSecond, **changes: Any) -> AnyServer:
        """Return the state with a block that has come."""
        block: int = message.block
        blocks = self._tools.dealt.take(self.name, self._turn, self._state, block, message.sealed)
        return self._after(dealt=block + 1, blocks=blocks, **changes)

    def _check_part(self, text: str, message: ToFirst | ToSecond, possible: bool = True) -> None:
        """Refuse all messages but the next of the turn; ``text`` describes them in the error."""
        given, expected = (
            (part.step, part.iteration, part.part) for part in (message, self._state)
        )
        if given != expected or not possible:
            raise OutOfOrderError(
                f"{self.name}: {text} message {given} of a turn, this is {expected}"
            )

    def _read(self, message: ToFirst | ToSecond) -> tuple[Words64, Iterator[bytes]]:
        """Open a message of the other server: words of all owners, and items to be completed."""
        state = self._state
        part, theirs, turn = message.part, not self.FIRST, self._contests.turn
        size = turn.size_of(part, theirs, self._turn + 1 == self._deals.turns)
        line: Line = self._tools.receiving
        opened = line.open(state.step, state.iteration, part, message.sealed, size)
        words, items = turn.split(opened, part, theirs)
        return words, self._contests.split(items, part, theirs)

    def _told(self, state: ServerState, part: int, payload: bytes) -> Message:
        """Make a message to the other server, in the turn of a state."""
        kind = ToSecond if self.FIRST else ToFirst
        return kind(
            sender=self.name, receiver=self._other, step=state.step, iteration=state.iteration,
            part=part, sealed=self._tools.sending.seal(state.step, state.iteration, part, payload),
        )  # fmt: skip

    def _share_of_total(self, state: ServerState, share: int, tools: ServerTools) -> Message:
        """Seal the server's share of the total for the customer, in the state after the end."""
        sealed = tools.to_customer.seal(state.step, 1, int(not self.FIRST), write_word(share))
        kind = FirstTotal if self.FIRST else SecondTotal
        return kind(sender=self.name, receiver=self._customer, run=state.run, sealed=sealed)


class CompState(ServerState, frozen=True, kw_only=True):
    """All that changes in Comp."""

    # In a published run, the last answered turn: its packets are not opened or sealed again.
    answered: Turn = NEVER


class CompTools(NamedTuple):
    """Channels and streams of Comp in one published run."""

    agreed: Agreement
    scores: Channel
    bits: Channel
    draws: CompDraws


class Comp(Member[CompState]):
    """Compares masked scores without their owners' names."""

    STATE = CompState
    PROTOCOL: ClassVar[Protocol] = {
        Start: Rule("_begin", {"idle": "ready done"}),
        ScoreList: Rule("_compare", {"ready": "ready done"}),
        Explore: Rule("_choose_any", {"ready": "ready done"}),
        Drawn: Rule("_compare_drawn", {"ready": "ready done"}),
        **endings("ready", "idle", "done"),
    }

    _tools: CompTools

    @property
    def awaited(self) -> int | None:
        """The next turn that the Controller asks for, as a number."""
        state = self._state
        if state.stage != "ready":
            return super().awaited
        return position(state.step, state.iteration, self._plan.iterations)

    def reopen(
        self, direction: int, step: int, iteration: int, sealed: Sequence[bytes]
    ) -> list[bytes]:
        """Look again at a list that Comp has received or sent, as a curious party may."""
        channels = self._channels(self.agreement)
        channel = channels[0 if direction == SCORES else 1]
        return channel.open(step, iteration, range(self.agreement.arms), sealed, NEVER)

    def _channels(self, agreed: Agreement) -> tuple[Channel, Channel]:
        return make_channels(self._config.packet_cipher, self._supply.secrets["channel"], agreed)

    def _make_tools(self, run: bytes) -> CompTools:
        agreed = self._plan.agreement(run)
        random_ties = self._config.tie_breaking == "random"
        draws = CompDraws(self._supply.secrets["comp"], agreed, random_ties)
        return CompTools(agreed, *self._channels(agreed), draws)

    def _begin(self, start: Start) -> Step:
        self._accepted(start)
        tools, step = self._make_tools(start.run), start.arms + 1
        after = self._after(stage=self._next_stage(step), run=start.run, step=step)
        return self._begun(after, tools)

    def _next_stage(self, step: int) -> str:
        return "ready" if step <= self._plan.rounds else "done"

    def _check_exploring(self, step: int, *shortcuts: str) -> None:
        """Refuse a question about a step that does not explore, or not in this way."""
        self._check_turn("asked for", step, 1)
        if not self.agreement.can_explore:
            raise OutOfOrderError(f"{self.name}: this algorithm does not explore")
        shortcut = self._config.exploration_shortcut
        if shortcut not in shortcuts:
            raise OutOfOrderError(f"{self.name}: explores with the shortcut {shortcut!r}")

    def _compare(self, message: ScoreList) -> Step:
        self._check_turn("asked for", message.step, message.iteration)
        state, (agreed, scores, _, draws) = self._state, self._tools
        step, iteration = state.step, state.iteration
        if len(message.sealed) != agreed.arms:
            raise PacketLengthError(
                f"{self.name}: {len(message.sealed)} scores of {agreed.arms} owners"
            )
        opened = scores.open(step, iteration, range(agreed.arms), message.sealed, state.answered)
        words = draws.waits.words(step, iteration)
        tie, comparison = draws.ties.draw(step, iteration), agreed.comparisons[iteration - 1]
        place = select_arm(comparison, floats(opened), tie, words, np.empty(agreed.arms))
        return self._answer(int(place))

    def _choose_any(self, message: Explore) -> Step:
        """Choose any place: the Controller knows the order, so all places are equally likely."""
        self._check_exploring(message.step, "empty")
        tie = self._tools.draws.ties.draw(self._state.step, 1)
        return self._answer(int(any_place(tie, self.agreement.arms)))

    def _compare_drawn(self, message: Drawn) -> Step:
        self._check_exploring(message.step, "published", "published-each")
        scores = message.scores
        if len(scores) != self.agreement.arms:
            raise PacketLengthError(
                f"{self.name}: {len(scores)} drawn scores of {self.agreement.arms} owners"
            )
        place = int(select_drawn(np.array(scores, dtype=np.float64)))
        equal = self._config.exploration_shortcut == "published"
        if place >= 0 and equal and len(set(scores)) > 1:
            # One number for all arms: with unequal numbers the Controller would choose the arm.
            raise OutOfOrderError(f"{self.name}: drawn scores differ at step {message.step}")
        return self._answer(place)

    def _answer(self, place: int) -> Step:
        """Answer with a sealed bit for every place, 1 for the chosen place alone (step 4)."""
        state, agreed = self._state, self.agreement
        step, iteration = turn = state.step, state.iteration
        if place < 0:
            raise NotFiniteError(f"{self.name}: a score that is no score at step {step}")
        bits = [BIT[i == place] for i in range(agreed.arms)]
        sealed = self._tools.bits.seal(*turn, range(agreed.arms), bits, state.answered)
        answer = BitList(
            sender=self.name, receiver=self._controller, step=step, iteration=iteration,
            sealed=tuple(sealed),
        )  # fmt: skip
        step, iteration = agreed.next_turn(*turn)
        after = self._after(
            stage=self._next_stage(step), step=step, iteration=iteration, answered=turn
        )
        return Step(after, [answer])


class SecondTools(ServerTools):
    """Lines and streams of Comp in one silent run."""

    def __init__(self, plan: SambaPlan, supply: Supply, owners: Sequence[str], run: bytes) -> None:
        agreed = plan.agreement(run)
        keys = ServerKeys.make(supply.secrets, owners, agreed, first=False)
        super().__init__(plan, supply, agreed, keys, first=False)
        self.total = sum(int(total_pad(pads.total)) for pads in keys.owners)
        self._words = [Pads(pads.words, agreed) for pads in keys.owners]
        self._answers = [Pads(pads.answers, agreed) for pads in keys.owners]

    def words(self, step: int, iteration: int) -> Words64:
        """Return Comp's shares of all scores, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._words], np.uint64)

    def answers(self, step: int, iteration: int) -> Words64:
        """Return Comp's pads of the owners' answers, (arms,)."""
        return np.array([pads.draw(step, iteration) for pads in self._answers], np.uint64)


class SilentComp(SilentServer[CompState], Member[CompState]):
    """Compares shared scores with the Controller, in an order that neither server knows."""

    STATE = CompState
    FIRST = False
    PROTOCOL: ClassVar[Protocol] = {
        Start: Rule("_begin", {"idle": "dealing done"}),
        DealtSecond: Rule("_keep_block", {"dealing": "ready", "ready": "ready"}),
        ToSecond: Rule("_go_on", {"ready": "ready done"}),
        **endings("ready", "idle", "dealing", "done"),
        Deadline: Rule("_end_waiting", {"ready": "ready ended", "dealing": "dealing ended"}),
    }
    #: The dealer may be faster than the Controller.
    LATER: ClassVar[frozenset[tuple[str, type[Message]]]] = frozenset({("idle", DealtSecond)})

    _tools: SecondTools

    @property
    def awaited(self) -> int | None:
        """A count of the awaited messages: the first block, and the Controller's messages."""
        state = self._state
        if state.stage not in ("dealing", "ready"):
            return super().awaited
        came = 0 if state.stage == "dealing" else state.part
        return self._turn * (self._contests.turn.parts + 1) + came + 1

    def _make_tools(self, run: bytes) -> SecondTools:
        return SecondTools(self._plan, self._supply, self._owners, run)

    def _take(self, message: Message) -> list[Message] | None:
        """Hold the last message of a turn until the next turn's words have been dealt."""
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

    def _end_waiting(self, event: Deadline) -> Step:
        lacks = self._state.stage == "dealing" or self._lacks_next
        if event.number == self.awaited and lacks:
            return self._give_up(Reason.DEALT)
        return super()._end_waiting(event)

    def _begin(self, start: Start) -> Step:
        self._accepted(start)
        tools = self._make_tools(start.run)
        after = self._after(stage="dealing", run=start.run, step=start.arms + 1, part=1)
        outgoing: list[Message] = []
        if not self._deals.turns:
            after, outgoing = self._finished(after, tools)
        return self._begun(after, tools, outgoing)

    def _keep_block(self, message: DealtSecond) -> Step:
        """Keep a block. With the first block the turns begin."""
        after = self._with_block(message, stage="ready")
        if self._state.stage == "ready":
            return Step(after)
        return Step(after, [self._told(after, 0, self._ahead(after))])

    def _ahead(self, state: CompState) -> bytes:
        """Return Comp's shares of the scores of a turn, masked for the Controller's order."""
        words, masked = self._tools.words(state.step, state.iteration), self._empty()
        masked_share(words, self._dealt(state).mask, masked)
        return write_words(masked)

    def _empty(self) -> Words64:
        return np.empty(self._plan.arms, np.uint64)

    def _go_on(self, message: ToSecond) -> Step:
        """Complete the Controller's openings, and send Comp's next openings."""
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
        """Send the winner, which the Controller alone can turn back; go on to the next turn."""
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

    def _finished(self, after: CompState, tools: SecondTools) -> tuple[CompState, list[Message]]:
        """Return the state after the last turn, and the share of the total."""
        after = msgspec.structs.replace(after, stage="done", blocks={})
        if self._config.total == "paillier":
            return after, []
        return after, [self._share_of_total(after, tools.total, tools)]
