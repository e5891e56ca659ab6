"""Turns of a silent run: dealt words, messages of servers, and comparisons.

The dealer's corrections travel in numbered blocks. Selection number n serves turn number n, and no
other turn. Blocks, and the make-up of a turn's messages, follow from the plan alone: all parties
and the counts of messages agree.

:class:`Contests` is a server's side of a turn's comparisons. Shares that are opened at once are an
item, see :class:`Turn`. A party plays a single selection. An audit plays many side by side, and
every array then has an axis of selections in front.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fedbandits._typing import Ints, Words64
from fedbandits.crypto.aead import CipherName
from fedbandits.crypto.kernels import dealing
from fedbandits.crypto.kernels.comparison import (
    OPENINGS,
    Correlation,
    Side,
    new_side,
    open_next,
    take_opening,
    winners,
)
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares import (
    comparisons,
    groups_of,
    opening_bytes,
    pack_opening,
    pairs,
    stage_sizes,
    unpack_opening,
)
from fedbandits.errors import RemoteProtocolError
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.systems.samba.ciphers import DEALT, WORD_BYTES, Line, read_words, write_words
from fedbandits.systems.samba.keys import DealtKeys
from fedbandits.systems.samba.plan import SambaPlan

#: Most bytes of a block for either server; a single selection may take more.
_BLOCK_BYTES = 1 << 16


class Turn(NamedTuple):
    """The make-up of the messages that both servers send each other in a turn.

    Shares that are opened at once are an item. Items are numbered from 1 on, seven a stage. The
    Controller sends item 1 first. Then every message has the sender's shares of the newest item of
    the other server, and of the next item. Message number k of the Controller has items 2 k - 2 and
    2 k - 1, and Comp's has items 2 k - 1 and 2 k. So both send the same number of messages.

    The Controller's first message begins with its permuted shares, a word an arm. Comp's last
    message follows the winner, and may have no items. The message ends with three words an arm: the
    chosen arm, pads of the answers, and masked shares of the next turn.
    """

    arms: int
    comparisons: tuple[int, ...]  # of every stage

    @property
    def items(self) -> int:
        """The number of items."""
        return OPENINGS * len(self.comparisons)

    @property
    def parts(self) -> int:
        """The number of messages of either server."""
        return self.items // 2 + 1

    def item_bytes(self, item: int) -> int:
        """Return the bytes of one server's shares of an item."""
        stage, number = divmod(item - 1, OPENINGS)
        return opening_bytes(number, self.comparisons[stage])

    def items_of(self, number: int, first: bool) -> range:
        """Return the items of a message, of the Controller's or of Comp's."""
        end = 2 * number - 1 if first else 2 * number
        return range(max(1, end - 1), min(end, self.items) + 1)

    def bytes_of(self, number: int, first: bool) -> int:
        """Return the bytes of all items of a message."""
        return sum(map(self.item_bytes, self.items_of(number, first)))

    def size_of(self, number: int, first: bool, last: bool = False) -> int:
        """Return the bytes of a message, not sealed; the ``last`` turn prepares no next turn.

        Number 0 is Comp's message ahead of the first turn, a word an arm.
        """
        if first:
            words = int(number == 1)
        elif number == 0:
            words = 1
        else:
            words = 3 - last if number == self.parts else 0
        return self.bytes_of(number, first) + WORD_BYTES * self.arms * words

    def message_bytes(self, first: bool, last: bool = False) -> list[int]:
        """Return the bytes of all messages of the Controller or of Comp, not sealed."""
        return [self.size_of(number, first, last) for number in range(1, self.parts + 1)]

    def split(self, message: bytes, number: int, first: bool) -> tuple[Words64, bytes]:
        """Split a message into words, so many rows of (arms,), and the bytes of its items.

        The Controller's words come before its items, Comp's after them.
        """
        items = self.bytes_of(number, first)
        begin = len(message) - items if first else 0
        words = message[:begin] + message[begin + items :]
        return read_words(words).reshape(-1, self.arms), message[begin : begin + items]


@functools.lru_cache(maxsize=64)
def make_turn(arms: int, arity: int) -> Turn:
    """Return the make-up of the turns of a run."""
    return Turn(arms, tuple(len(pairs(size, arity)) for size in stage_sizes(arms, arity)))


def block_size(arms: int, arity: int) -> int:
    """Return the selections of every block but the last."""
    largest = max(dealing.dealt_bytes(arms, comparisons(arms, arity)))
    return max(1, _BLOCK_BYTES // largest)


class Deals:
    """Blocks of a run: their number, their sizes and their contents."""

    def __init__(self, plan: SambaPlan) -> None:
        self.arms = arms = plan.arms
        self.comparisons = compared = comparisons(arms, plan.config.arity)
        #: Turns of the whole run.
        self.turns = (plan.rounds - plan.arms) * plan.iterations
        #: Bytes of a selection, for the Controller and for Comp.
        self.bytes = dealing.dealt_bytes(arms, compared)
        #: Selections of every block but the last, and blocks of the whole run.
        self.selections = block_size(plan.arms, plan.config.arity)
        self.count = -(-self.turns // self.selections)
        #: Words of the Controller's and of Comp's seed for a selection.
        self.widths = (
            dealing.first_width(arms, compared),
            dealing.second_width(arms, compared),
        )

    def of(self, turn: int) -> int:
        """Return the block of a turn."""
        return turn // self.selections

    def length(self, block: int) -> int:
        """Return the selections of one block."""
        return min(self.selections, self.turns - block * self.selections)

    def asked(self, done: int) -> int:
        """Count the blocks that have been dealt or asked for after so many turns.

        The first block is dealt at once, any other when the first turn of the block before begins.
        """
        return min(self.count, 1 + -(-done // self.selections))

    def needed(self, turn: int, blocks: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return the ``blocks`` that are needed from a turn on, by number."""
        if turn >= self.turns:
            return {}
        return {number: block for number, block in blocks.items() if number >= self.of(turn)}

    def deal(self, words: Sequence[KeyStream], block: int) -> tuple[bytes, bytes]:
        """Make the corrections of a block, for the Controller and for Comp."""
        begin, length = block * self.selections, self.length(block)
        places = np.zeros(self.arms, np.int64)
        for_first = dealing.new_for_first(self.arms)
        for_second = dealing.new_for_second(self.arms, self.comparisons)
        dealt: tuple[list[bytes], list[bytes]] = ([], [])
        for first, second in zip(*(seed.block(begin, length) for seed in words), strict=True):
            dealing.deal(first, second, places, for_first, for_second)
            dealt[0].append(write_words(for_first.shuffled) + write_words(for_first.returned))
            dealt[1].append(
                write_words(for_second.shuffled)
                + write_words(for_second.bits)
                + for_second.products.astype("<u4").tobytes()
                + write_words(for_second.joined)
            )
        return b"".join(dealt[0]), b"".join(dealt[1])

    def split_first(self, corrections: bytes) -> dealing.ForFirst:
        """Read the corrections of the Controller's words of one selection."""
        return dealing.ForFirst(*read_words(corrections).reshape(2, -1))

    def split_second(self, corrections: bytes) -> dealing.ForSecond:
        """Read the corrections of Comp's words of one selection."""
        n, m = WORD_BYTES * self.arms, WORD_BYTES * self.comparisons
        ends = (0, n, n + m, n + m + m // 2, n + 2 * m + m // 2)  # products have 32 bits
        shuffled, bits, products, joined = (corrections[a:b] for a, b in pairwise(ends))
        return dealing.ForSecond(
            read_words(shuffled), read_words(bits),
            np.frombuffer(products, "<u4").astype(np.uint32), read_words(joined),
        )  # fmt: skip


class DealtToServer:
    """The blocks of one server, from which the words of a turn can be made again at any time."""

    def __init__(self, deals: Deals, cipher: CipherName, keys: DealtKeys, first: bool) -> None:
        place, make = (0, dealing.new_first) if first else (1, dealing.new_second)
        self._deals, self._size = deals, deals.bytes[place]
        self._split: Any = deals.split_first if first else deals.split_second
        self._expand: Any = dealing.expand_first if first else dealing.expand_second
        self._words = KeyStream(keys.words, deals.widths[place])
        self._line = Line(cipher, keys.sealed, DEALT)
        self._opened = (-1, b"")
        self._turn, self._room = -1, make(deals.arms, deals.comparisons)

    def take(self, name: str, turn: int, state: Any, block: int, sealed: bytes) -> dict[int, bytes]:
        """Check a block that has come in a state, and return all sealed blocks with it.

        Raises
        ------
        OutOfOrderError
            If another block is due, or none.
        PacketLengthError, TamperedPacketError
            See :meth:`.Line.open`.
        """
        deals = self._deals
        if block != state.dealt or block >= min(deals.of(turn) + 2, deals.count):
            raise OutOfOrderError(
                f"{name}: block {block} was dealt, {state.dealt} of {deals.count} have come"
            )
        self._open(block, sealed)
        return {**state.blocks, block: sealed}

    def of(self, turn: int, blocks: Mapping[int, bytes]) -> Any:
        """Return the server's words of one turn; the next call overwrites them."""
        if self._turn != turn:
            block, place = divmod(turn, self._deals.selections)
            if self._opened[0] != block:
                self._opened = (block, self._open(block, blocks[block]))
            corrections = self._opened[1][place * self._size : (place + 1) * self._size]
            self._expand(self._words.block(turn, 1)[0], self._split(corrections), self._room)
            self._turn = turn
        return self._room

    def _open(self, block: int, sealed: bytes) -> bytes:
        return self._line.open(block, 1, 0, sealed, self._deals.length(block) * self._size)


class OpeningError(RemoteProtocolError):
    """Malformed shares of an opening: their sender has broken the protocol."""


class NoWinnerError(OpeningError):
    """A group without a winner: some opened or dealt words are wrong."""


class Contest(msgspec.Struct, frozen=True):
    """State of a server in the comparisons of a turn. The arrays are never written to.

    Parameters
    ----------
    share
        (entries,) the server's shares of all scores, in the order that neither server knows.
    contenders
        Places of the remaining contenders.
    item
        The next item to be completed; after the last item, the number that would follow.
    opened, borrow, passes, sent
        The server's side of this stage's comparisons, see :class:`.comparison.Side`.
    """

    share: Words64
    contenders: Ints
    item: int
    opened: Words64
    borrow: Words64
    passes: Words64
    sent: Words64


class Contests:
    """Rules of a run's contests, for the ``first`` or the second server; errors have its name."""

    def __init__(self, arms: int, arity: int, first: bool, name: str) -> None:
        self._arity, self._first, self._name = arity, first, name
        self.turn = make_turn(arms, arity)
        self._pairs = [pairs(size, arity) for size in stage_sizes(arms, arity)]
        ends = np.cumsum([0, *self.turn.comparisons]).tolist()
        #: Every stage's part of a turn's dealt comparisons.
        self._dealt = [slice(*stage) for stage in pairwise(ends)]

    def begin(self, share: Words64, dealt: Correlation) -> Contest:
        """Return the contest before anything was opened, with own shares of the first item."""
        places = np.broadcast_to(np.arange(share.shape[-1]), share.shape)
        return self._enter(share, places, 1, dealt)

    def compared(self, contest: Contest) -> Ints:
        """Return the places that are compared in this stage, (comparisons, 2)."""
        return contest.contenders[..., self._pairs[_stage(contest.item)]]

    def take(self, contest: Contest, others: Words64, dealt: Correlation) -> Contest:
        """Complete the next item.

        ``others`` are the other server's shares; ``dealt`` is of all comparisons of the turn.

        Raises
        ------
        NoWinnerError
            If a group has no winner.
        """
        item, number = contest.item, _opening(contest.item)
        side = Side(*(getattr(contest, field).copy() for field in Side._fields))
        own = self._of_stage(dealt, item)
        take_opening(number, others, own, side, self._first)
        if number < OPENINGS - 1:
            open_next(number + 1, own, side, self._first)
            return msgspec.structs.replace(contest, item=item + 1, **side._asdict())
        contenders = contest.contenders.copy()
        selections = contenders.reshape(-1, contenders.shape[-1])
        groups = groups_of(selections.shape[1], self._arity)
        results = side.opened.reshape(len(selections), -1)
        left = min(
            winners(places, places.size, groups, smaller)
            for places, smaller in zip(selections, results, strict=True)
        )
        if left < 0:
            raise NoWinnerError(f"{self._name}: nobody wins all comparisons of a group")
        return self._enter(contest.share, contenders[..., :left], item + 1, dealt)

    def packed(self, contest: Contest) -> bytes:
        """Pack the server's own shares of the next item."""
        return pack_opening(_opening(contest.item), contest.sent)

    def exchange(
        self, contest: Contest, others: Iterator[bytes], dealt: Correlation
    ) -> tuple[Contest, bytes]:
        """Complete the items of a message, and pack the server's next shares.

        Raises
        ------
        OpeningError
            If the shares are malformed, or a group has no winner.
        """
        sent = []
        for packed in others:
            contest = self.take(contest, self.unpacked(contest.item, packed), dealt)
            if contest.item <= self.turn.items:
                sent.append(self.packed(contest))
        return contest, b"".join(sent)

    def unpacked(self, item: int, packed: bytes) -> Words64:
        """Read one server's shares of an item."""
        try:
            return unpack_opening(_opening(item), packed, self.turn.comparisons[_stage(item)])
        except ValueError as malformed:
            raise OpeningError(f"{self._name}: an opening with {malformed}") from None

    def split(self, data: bytes, number: int, first: bool) -> Iterator[bytes]:
        """Split a message into its items, whose bytes come one after the other."""
        begin = 0
        for item in self.turn.items_of(number, first):
            end = begin + self.turn.item_bytes(item)
            yield data[begin:end]
            begin = end

    def _enter(self, share: Words64, contenders: Ints, item: int, dealt: Correlation) -> Contest:
        """Begin a stage, or end the contest where a single contender is left."""
        if item > self.turn.items:
            none = Side(*(np.empty(0, np.uint64) for _ in Side._fields))
            return Contest(share, contenders, item, *none)
        both = contenders[..., self._pairs[_stage(item)]]
        one, other = (np.take_along_axis(share, both[..., k], -1).ravel() for k in (0, 1))
        side = new_side(one.size)
        side.sent[:] = one - other
        open_next(0, self._of_stage(dealt, item), side, self._first)
        return Contest(share, contenders, item, *side)

    def _of_stage(self, dealt: Correlation, item: int) -> Correlation:
        """Return the dealt words of the comparisons of an item's stage."""
        part = self._dealt[_stage(item)]
        return Correlation(*(words[..., part].ravel() for words in dealt))


def _stage(item: int) -> int:
    return (item - 1) // OPENINGS


def _opening(item: int) -> int:
    """Return the number of an item's opening within its stage."""
    return (item - 1) % OPENINGS
