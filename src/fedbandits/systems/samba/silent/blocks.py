"""What the dealer sends comes in numbered blocks, and how the messages of a turn are made up.

Both follow from the plan alone, so that all parties, the compiled loop and whoever counts say the
same.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from fedbandits.crypto.shares.comparison import OPENINGS
from fedbandits.crypto.shares.dealing import dealt_bytes
from fedbandits.crypto.shares.openings import opening_bytes
from fedbandits.crypto.shares.tournament import comparisons, pairs, stage_sizes

#: Bytes of a shared word.
WORD_BYTES = 8
#: Bytes of a block for either server, at most; one selection may take more.
_BLOCK_BYTES = 1 << 16


class Blocks(NamedTuple):
    """The dealt blocks of a whole run; all but the last have as many selections."""

    turns: int  # selections of the run
    size: int  # selections of a block

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return -(-self.turns // self.size)

    def selections(self, number: int) -> int:
        """Selections of the block of that number, from 0."""
        return min(self.size, self.turns - number * self.size)

    def asked(self, done: int) -> int:
        """How many blocks have been dealt or asked for after so many turns.

        The first one is dealt at once, any other when the first turn of the one before begins.
        """
        return min(self.blocks, 1 + -(-done // self.size))


def make_blocks(turns: int, arms: int, arity: int) -> Blocks:
    """The blocks of a run of so many turns."""
    largest = max(dealt_bytes(arms, comparisons(arms, arity)))
    return Blocks(turns, max(1, _BLOCK_BYTES // largest))


class ServerMessage(NamedTuple):
    """One of the messages that servers send each other in a turn, in the order of a turn."""

    from_first: bool
    words: int  # 64-bit words that it begins or ends with
    openings: tuple[int, ...]  # numbers of the openings that it has shares of

    def size(self, turn: Turn) -> int:
        """Bytes, not sealed."""
        return WORD_BYTES * self.words + sum(turn.opening_bytes(item) for item in self.openings)


class Turn(NamedTuple):
    """What the messages of one turn are made of.

    Openings are numbered through all stages, from 0. The first server's first message has its
    permuted shares and opening 0. Every further one has the sender's shares of the opening that it
    has just been sent, and of the next. Comp's last message has three words an arm: which one was
    chosen, pads of the answers, and masked shares of the next turn.
    """

    arms: int
    sizes: tuple[int, ...]  # contenders of every stage
    comparisons: tuple[int, ...]  # of every stage

    @property
    def openings(self) -> int:
        """How many there are."""
        return OPENINGS * len(self.sizes)

    def opening_bytes(self, item: int) -> int:
        """Bytes of one server's shares of an opening."""
        stage, number = divmod(item, OPENINGS)
        return opening_bytes(number, self.comparisons[stage])

    def messages(self) -> list[ServerMessage]:
        """All messages between the servers."""
        last = self.openings - 1
        found = [ServerMessage(True, self.arms, (0,))]
        found += [ServerMessage(item % 2 == 1, 0, (item, item + 1)) for item in range(last)]
        # Whoever was sent the last opening answers it. If that was the first server, Comp is next.
        if last % 2 == 0:
            found.append(ServerMessage(False, 3 * self.arms, (last,)))
        else:
            found.append(ServerMessage(True, 0, (last,)))
            found.append(ServerMessage(False, 3 * self.arms, ()))
        return found


@functools.lru_cache(maxsize=64)
def make_turn(arms: int, arity: int) -> Turn:
    """The turns of a run."""
    sizes = stage_sizes(arms, arity)
    return Turn(arms, sizes, tuple(len(pairs(size, arity)) for size in sizes))
