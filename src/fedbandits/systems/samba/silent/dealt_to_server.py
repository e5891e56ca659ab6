"""What is dealt to one server, and how the dealer makes it.

Selection number n serves turn number n, and no other. It is in the block that :mod:`.blocks` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from fedbandits.crypto.aead import CipherName
from fedbandits.crypto.shares import dealing, tournament
from fedbandits.systems.samba.plan import SambaPlan
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, make_blocks
from fedbandits.systems.samba.silent.packets import Line, to_bytes, to_words
from fedbandits.systems.samba.silent.streams import DEALT, DealtKeys, DealtWords


class Deals:
    """How many blocks there are, how large, and what is in them.

    Parameters
    ----------
    plan
        What all parties go by.
    """

    def __init__(self, plan: SambaPlan) -> None:
        self.entries = plan.arms
        self.comparisons = tournament.comparisons(plan.arms, plan.config.arity)
        #: Turns of the whole run.
        self.turns = (plan.rounds - plan.arms) * plan.iterations
        #: Bytes of a selection, for the Controller and for Comp.
        self.bytes = dealing.dealt_bytes(self.entries, self.comparisons)
        self._blocks = make_blocks(self.turns, plan.arms, plan.config.arity)
        #: Selections of every block but the last, and blocks of the whole run.
        self.selections, self.count = self._blocks.size, self._blocks.blocks
        #: Words that the Controller and Comp expand for a selection.
        self.widths = (
            dealing.first_width(self.entries, self.comparisons),
            dealing.second_width(self.entries, self.comparisons),
        )

    def of(self, turn: int) -> int:
        """The block of a turn."""
        return turn // self.selections

    def length(self, block: int) -> int:
        """Selections of one block."""
        return self._blocks.selections(block)

    def deal(self, first: DealtWords, second: DealtWords, block: int) -> tuple[bytes, bytes]:
        """Make what corrects the words of a block, for the Controller and for Comp.

        Parameters
        ----------
        first, second
            The words that either expands.
        block
            Its number.
        """
        begin, length = block * self.selections, self.length(block)
        places = np.zeros(self.entries, np.int64)
        for_first = dealing.new_for_first(self.entries)
        for_second = dealing.new_for_second(self.entries, self.comparisons)
        dealt: tuple[list[bytes], list[bytes]] = ([], [])
        words = zip(first.block(begin, length), second.block(begin, length), strict=True)
        for one, other in words:
            dealing.deal(one, other, places, for_first, for_second)
            dealt[0].append(to_bytes(for_first.shuffled) + to_bytes(for_first.returned))
            dealt[1].append(
                to_bytes(for_second.shuffled)
                + to_bytes(for_second.bits)
                + for_second.products.astype("<u4").tobytes()
                + to_bytes(for_second.joined)
            )
        return b"".join(dealt[0]), b"".join(dealt[1])


class _DealtToServer:
    """What a server has of its blocks; the words of a turn can be made again at any time.

    Parameters
    ----------
    deals
        How blocks are made up.
    cipher
        Of the packets.
    keys
        What it shares with the dealer.
    place
        0 for the Controller, 1 for Comp.
    """

    def __init__(self, deals: Deals, cipher: CipherName, keys: DealtKeys, place: int) -> None:
        self._deals, self._size = deals, deals.bytes[place]
        self._words = DealtWords(keys.words, deals.widths[place])
        self._line = Line(cipher, keys.sealed, DEALT)
        self._opened = (-1, b"")

    def open(self, block: int, sealed: bytes) -> bytes:
        """Open a block, and refuse what is none of that number; see :meth:`.Line.open`."""
        return self._line.open(block, 1, 0, sealed, self._deals.length(block) * self._size)

    def _corrections(self, turn: int, held: Mapping[int, bytes]) -> bytes:
        """What corrects a turn's words, of the sealed blocks that the server holds."""
        block, place = divmod(turn, self._deals.selections)
        if self._opened[0] != block:
            self._opened = (block, self.open(block, held[block]))
        return self._opened[1][place * self._size : (place + 1) * self._size]


class DealtToFirst(_DealtToServer):
    """The Controller's."""

    def __init__(self, deals: Deals, cipher: CipherName, keys: DealtKeys) -> None:
        super().__init__(deals, cipher, keys, 0)
        self._drawn = (-1, dealing.new_first(deals.entries, deals.comparisons))

    def of(self, turn: int, held: Mapping[int, bytes]) -> dealing.First:
        """What it has for one turn; the next call overwrites it."""
        if self._drawn[0] != turn:
            corrections = to_words(self._corrections(turn, held))
            entries, out = self._deals.entries, self._drawn[1]
            dealt = dealing.ForFirst(corrections[:entries], corrections[entries:])
            dealing.expand_first(self._words.block(turn, 1)[0], dealt, out)
            self._drawn = (turn, out)
        return self._drawn[1]


class DealtToSecond(_DealtToServer):
    """Comp's."""

    def __init__(self, deals: Deals, cipher: CipherName, keys: DealtKeys) -> None:
        super().__init__(deals, cipher, keys, 1)
        self._drawn = (-1, dealing.new_second(deals.entries, deals.comparisons))

    def of(self, turn: int, held: Mapping[int, bytes]) -> dealing.Second:
        """What it has for one turn; the next call overwrites it."""
        if self._drawn[0] != turn:
            out = self._drawn[1]
            dealt = self._split(self._corrections(turn, held))
            dealing.expand_second(self._words.block(turn, 1)[0], dealt, out)
            self._drawn = (turn, out)
        return self._drawn[1]

    def _split(self, corrections: bytes) -> dealing.ForSecond:
        entries, comparisons = self._deals.entries, self._deals.comparisons
        ends = np.cumsum([0, *(WORD_BYTES * n for n in (entries, comparisons, comparisons))])
        ends[3] -= 4 * comparisons  # products have 32 bits
        shuffled, bits, products = (corrections[begin:end] for begin, end in pairwise(ends))
        return dealing.ForSecond(
            to_words(shuffled), to_words(bits), np.frombuffer(products, "<u4").astype(np.uint32),
            to_words(corrections[ends[3] :]),
        )  # fmt: skip
