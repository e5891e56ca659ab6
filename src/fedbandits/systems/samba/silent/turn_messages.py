"""A silent turn in one call, with everything that servers send each other as bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Words64
from fedbandits.crypto.shares.shuffle import masked_share
from fedbandits.systems.samba.silent.blocks import Turn
from fedbandits.systems.samba.silent.buffers import (
    Bracket,
    Buffers,
    buffer_words,
    buffers_in,
    make_bracket,
)
from fedbandits.systems.samba.silent.kernels import (
    Dealt,
    Links,
    OwnerWords,
    comps_shares,
    make_links,
    select,
)


class TurnMessages:
    """Plays turns in which nothing is sealed, and keeps what was sent in the last one.

    Parameters
    ----------
    turn
        What a turn is made of.
    arity
        Contenders of a group at most.
    """

    def __init__(self, turn: Turn, arity: int) -> None:
        arms = turn.arms
        self._bracket = make_bracket(arms, arity)
        self._links = make_links(arms, len(self._bracket.pairs), 1)
        self._memory = np.zeros(buffer_words(arms, self._bracket), np.uint64)
        size = sum(map(turn.opening_bytes, range(turn.openings)))
        self._openings = np.zeros((2, size), np.uint8)
        buffers: Buffers = buffers_in(self._memory, self._bracket, arms, self._openings)
        #: Of all owners: what they send, and the answers that they get.
        self.sent, self.answers = buffers.sent, buffers.answers
        self._between = [
            buffers.masked.data, *(each.data for each in self._openings), buffers.returned.data,
            buffers.padded.data, buffers.ahead.data,
        ]  # fmt: skip

    def play(self, dealt: Dealt, streams: OwnerWords, row: int, column: int, words: Words64) -> int:
        """One turn; see :func:`select_and_prepare`."""
        return select_and_prepare(
            self._bracket, dealt, self._links, streams, row, column, words, self._memory,
            self._openings,
        )  # fmt: skip

    def between(self) -> bytes:
        """What the servers have sent each other.

        First what the Controller sends: permuted shares, masked, and openings. Then what Comp
        sends: openings, the winner's place, masked, pads of answers, and shares of the next turn.
        """
        return b"".join(self._between)


@compiled
def select_and_prepare(
    bracket: Bracket, dealt: Dealt, links: Links, streams: OwnerWords, row: int, column: int,
    words: Words64, memory: Words64, openings: NDArray[np.uint8],
) -> int:  # fmt: skip
    """One turn, see :func:`select`; Comp also makes what it sends ahead of the next turn.

    Parameters
    ----------
    bracket : Bracket
    dealt : Dealt
        The words of seeds have one more turn than the corrections: the next one is prepared.
    links : Links
        Zeros.
    streams : OwnerWords
        Nothing is sealed by them.
    row, column : int
        Where the turn is in ``dealt`` and ``streams``.
    words : (arms,) uint64
        What owners have sent, opened.
    memory : (buffer_words,) uint64
        See :func:`buffers_in`.
    openings : (2, bytes) uint8
        Receives what either server opens.

    Returns
    -------
    int
        The owner that is told 1; -1 if not exactly one is.
    """
    arms = words.size
    buffers = buffers_in(memory, bracket, arms, openings)
    for i in range(arms):
        buffers.sent[i] = words[i]
    arm = select(bracket, dealt, links, streams, row, column - row, buffers)
    comps_shares(streams, column + 1, buffers.others)
    masked_share(buffers.others, dealt.second[row + 1][:arms], buffers.ahead)
    return arm
