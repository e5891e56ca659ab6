"""Numbered blocks of corrections that the dealer sends, and the make-up of a turn's messages.

Both follow from the plan alone, so that all parties, the compiled loop and the counts of messages
agree. Selection number n serves turn number n, and no other.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fedbandits._typing import Words64
from fedbandits.crypto.aead import CipherName
from fedbandits.crypto.kernels import dealing
from fedbandits.crypto.kernels.comparison import OPENINGS
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares import comparisons, opening_bytes, pairs, stage_sizes
from fedbandits.federation.messages import OutOfOrderError
from fedbandits.systems.samba.ciphers import DEALT, WORD_BYTES, Line, read_words, write_words
from fedbandits.systems.samba.kernels.servers import Bracket
from fedbandits.systems.samba.keys import DealtKeys
from fedbandits.systems.samba.plan import SambaPlan

#: Bytes of a block for either server, at most; one selection may take more.
_BLOCK_BYTES = 1 << 16


class Turn(NamedTuple):
    """The make-up of the messages that both servers send each other in one turn.

    What is opened at once is an item. Items are numbered from 1 on, seven a stage. The Controller
    sends item 1 first. Then every message has the sender's shares of the item that the other one
    has just sent, and of the next one. Message number k of the Controller has items 2 k - 2 and
    2 k - 1, and Comp's has items 2 k - 1 and 2 k. So both send the same number of messages.

    The Controller's first message begins with its permuted shares, a word an arm. Comp's last one
    comes when it knows the winner, and may have no items. It ends with three words an arm: which
    one was chosen, pads of the answers, and masked shares of the next turn.
    """

    arms: int
    comparisons: tuple[int, ...]  # of every stage

    @property
    def items(self) -> int:
        """The number of items."""
        return OPENINGS * len(self.comparisons)

    @property
    def parts(self) -> int:
        """Messages that either server sends."""
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
        """Return the bytes of a message, not sealed; in the ``last`` turn no next one is prepared.

        Number 0 is what Comp makes ahead of the first turn, a word an arm.
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


def make_bracket(arms: int, arity: int) -> Bracket:
    """Make the tournament of so many arms."""
    sizes = stage_sizes(arms, arity)
    stages = [pairs(size, arity) for size in sizes]
    begins = np.cumsum([0] + [len(stage) for stage in stages])
    return Bracket(np.array([*sizes[1:], 1]), begins, np.concatenate(stages))


def block_size(arms: int, arity: int) -> int:
    """Return the selections of every block but the last."""
    largest = max(dealing.dealt_bytes(arms, comparisons(arms, arity)))
    return max(1, _BLOCK_BYTES // largest)


class Deals:
    """The blocks of a run: how many there are, how large, and what is in them."""

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
        #: Words that the Controller and Comp expand for a selection.
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

        The first one is dealt at once, any other when the first turn of the one before begins.
        """
        return min(self.count, 1 + -(-done // self.selections))

    def needed(self, turn: int, blocks: Mapping[int, bytes]) -> dict[int, bytes]:
        """Return those of some blocks that are needed from a turn on, by number."""
        if turn >= self.turns:
            return {}
        return {number: block for number, block in blocks.items() if number >= self.of(turn)}

    def deal(self, words: Sequence[KeyStream], block: int) -> tuple[bytes, bytes]:
        """Make what corrects the words of a block, for the Controller and for Comp."""
        begin, length = block * self.selections, self.length(block)
        places = np.zeros(self.arms, np.int64)
        for_first = dealing.new_for_first(self.arms)
        for_second = dealing.new_for_second(self.arms, self.comparisons)
        dealt: tuple[list[bytes], list[bytes]] = ([], [])
        for one, other in zip(*(each.block(begin, length) for each in words), strict=True):
            dealing.deal(one, other, places, for_first, for_second)
            dealt[0].append(write_words(for_first.shuffled) + write_words(for_first.returned))
            dealt[1].append(
                write_words(for_second.shuffled)
                + write_words(for_second.bits)
                + for_second.products.astype("<u4").tobytes()
                + write_words(for_second.joined)
            )
        return b"".join(dealt[0]), b"".join(dealt[1])

    def split_first(self, corrections: bytes) -> dealing.ForFirst:
        """Read what corrects the Controller's words of one selection."""
        return dealing.ForFirst(*read_words(corrections).reshape(2, -1))

    def split_second(self, corrections: bytes) -> dealing.ForSecond:
        """Read what corrects Comp's words of one selection."""
        n, m = WORD_BYTES * self.arms, WORD_BYTES * self.comparisons
        ends = (0, n, n + m, n + m + m // 2, n + 2 * m + m // 2)  # products have 32 bits
        shuffled, bits, products, joined = (corrections[a:b] for a, b in pairwise(ends))
        return dealing.ForSecond(
            read_words(shuffled), read_words(bits),
            np.frombuffer(products, "<u4").astype(np.uint32), read_words(joined),
        )  # fmt: skip


class DealtToServer:
    """The blocks of one server; the words of a turn can be made again at any time."""

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
        """Check a block that has come in a state, and return all that is needed with it.

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
        """Return what it has for one turn, from its sealed blocks; the next call overwrites it."""
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
