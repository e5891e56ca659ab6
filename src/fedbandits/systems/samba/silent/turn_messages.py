"""A silent turn in one call, with everything that servers send each other as bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Words64
from fedbandits.crypto.shares.comparison import SEAL_WORDS
from fedbandits.systems.samba.silent.buffers import Bracket, buffers_in
from fedbandits.systems.samba.silent.kernels import Dealt, Links, OwnerWords, select


class TurnMessages(NamedTuple):
    """What servers send each other in a turn, not sealed, and the answers for owners."""

    to_second: NDArray[np.uint8]  # permuted shares, masked, and openings
    to_first: NDArray[np.uint8]  # openings, the winner's place, masked, and pads of answers
    answers: Words64  # (arms,)


@compiled
def select_with_messages(
    bracket: Bracket, dealt: Dealt, row: int, words: Words64, answers: Words64, sent: Words64,
    memory: Words64, messages: TurnMessages,
) -> int:  # fmt: skip
    """One turn, with everything that travels; see :func:`select`, which seals nothing here.

    Parameters
    ----------
    bracket : Bracket
    dealt : Dealt
        ``first`` and ``second`` have the words of this turn alone.
    row : int
        Where its corrections are.
    words, answers : (arms,) uint64
        Comp's shares of words, and pads of answers.
    sent : (arms,) uint64
        What owners have sent.
    memory : (buffer_words,) uint64
        See :func:`buffers_in`.
    messages : TurnMessages
        Receives what travels.

    Returns
    -------
    int
        The owner that is told 1; -1 if not exactly one is.
    """
    arms, comparisons = sent.size, bracket.pairs.shape[0]
    wide = SEAL_WORDS * comparisons
    openings = np.zeros((2, messages.to_second.size - 8 * arms), np.uint8)
    buffers = buffers_in(memory, bracket, arms, openings)
    buffers.sent[:] = sent
    links = Links(np.zeros((1, arms + wide), np.uint64), np.zeros((1, 3 * arms + wide), np.uint64))
    unsealed = np.zeros((arms, 1), np.uint64)
    streams = OwnerWords(words.reshape(arms, 1), answers.reshape(arms, 1), unsealed, unsealed)
    some = Dealt(
        dealt.first, dealt.second, dealt.for_first[row : row + 1], dealt.for_second[row : row + 1]
    )
    arm = select(bracket, some, links, streams, 0, 0, buffers)
    messages.to_second[: 8 * arms] = buffers.masked.view(np.uint8)
    messages.to_second[8 * arms :] = openings[0]
    size = openings.shape[1]
    messages.to_first[:size] = openings[1]
    messages.to_first[size : size + 8 * arms] = buffers.returned.view(np.uint8)
    messages.to_first[size + 8 * arms :] = buffers.padded.view(np.uint8)
    messages.answers[:] = buffers.answers
    return arm
