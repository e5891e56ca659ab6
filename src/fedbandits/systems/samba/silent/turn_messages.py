"""A silent turn in one call, with everything that servers send each other as bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Words64
from fedbandits.crypto.shares.shuffle import masked_share
from fedbandits.systems.samba.silent.blocks import WORD_BYTES, Turn
from fedbandits.systems.samba.silent.buffers import Bracket, buffers_in
from fedbandits.systems.samba.silent.kernels import Dealt, Links, OwnerWords, comps_shares, select


class TurnMessages(NamedTuple):
    """What servers send each other in a turn, not sealed, and the answers for owners."""

    #: What the first server sends: permuted shares, masked, and openings. Then what the second one
    #: sends: openings, the winner's place, masked, pads of answers, and shares of the next turn.
    sent: NDArray[np.uint8]
    answers: Words64  # (arms,)


def new_turn_messages(turn: Turn) -> TurnMessages:
    """Arrays for one run."""
    sent = sum(message.size(turn) for message in turn.messages())
    return TurnMessages(np.zeros(sent, np.uint8), np.zeros(turn.arms, np.uint64))


@compiled
def _append(words: Words64, out: NDArray[np.uint8], at: int) -> int:
    end = at + WORD_BYTES * words.size
    out[at:end] = words.view(np.uint8)
    return end


@compiled
def select_with_messages(
    bracket: Bracket, dealt: Dealt, links: Links, streams: OwnerWords, row: int, column: int,
    words: Words64, memory: Words64, messages: TurnMessages,
) -> int:  # fmt: skip
    """One turn, with everything that travels; see :func:`select`, which seals nothing here.

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
    messages : TurnMessages
        Receives what travels.

    Returns
    -------
    int
        The owner that is told 1; -1 if not exactly one is.
    """
    arms, out = words.size, messages.sent
    size = out.size // 2 - 2 * WORD_BYTES * arms
    openings = np.empty((2, size), np.uint8)
    buffers = buffers_in(memory, bracket, arms, openings)
    buffers.sent[:] = words
    arm = select(bracket, dealt, links, streams, row, column - row, buffers)
    at = _append(buffers.masked, out, 0)
    out[at : at + size] = openings[0]
    out[at + size : at + 2 * size] = openings[1]
    at = _append(buffers.returned, out, at + 2 * size)
    at = _append(buffers.padded, out, at)
    comps_shares(streams, column + 1, buffers.others)
    masked_share(buffers.others, dealt.second[row + 1][:arms], buffers.ahead)
    _append(buffers.ahead, out, at)
    messages.answers[:] = buffers.answers
    return arm
