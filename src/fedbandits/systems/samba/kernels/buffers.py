"""Arrays of silent turns: what is dealt, what seals messages, and the buffers of one turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENINGS, Correlation, Side
from fedbandits.crypto.kernels.dealing import (
    First,
    Second,
)
from fedbandits.crypto.kernels.tournament import SEAL_WORDS, Both


class Dealt(NamedTuple):
    """Words of both servers' seeds for some turns, and corrections, opened."""

    first: Words64  # (turns, first_width)
    second: Words64  # (turns, second_width)
    for_first: Words64  # (turns, 2 arms)
    for_second: Words64  # (turns, correction_words)


class Links(NamedTuple):
    """Key stream of what servers send each other; one row of zeros where nothing is sealed."""

    to_second: Words64  # (turns or 1, arms + SEAL_WORDS comparisons)
    to_first: Words64  # (turns or 1, 3 arms + SEAL_WORDS comparisons)


def make_links(arms: int, comparisons: int, turns: int) -> Links:
    """Make zeros for so many turns."""
    openings = SEAL_WORDS * comparisons
    return Links(*(np.zeros((turns, n * arms + openings), np.uint64) for n in (1, 3)))


class OwnerWords(NamedTuple):
    """Words of every owner's streams, (arms, turns) each; (arms, 1) zeros if nothing is sealed."""

    words: Words64  # Comp's share of its word
    answers: Words64  # what Comp adds to its answer
    up: Words64
    down: Words64


def correction_words(arms: int, comparisons: int) -> int:
    """Count the words that hold what the dealer sends the second server for one selection."""
    return arms + 2 * comparisons + (comparisons + 1) // 2


class Bracket(NamedTuple):
    """The tournament of every turn, stage after stage."""

    groups: Ints  # (stages,) how many there are, and how many contenders are left after it
    begins: Ints  # (stages + 1,) the first comparison of every stage
    pairs: Ints  # (comparisons, 2)


class Buffers(NamedTuple):
    """Buffers of a turn; nothing in them outlives it."""

    first: First
    second: Second
    both: Both
    sent: Words64  # (arms,) what owners send, sealed
    shares: Words64  # (arms,) what the Controller has of it, then its share by place
    others: Words64  # (arms,) what Comp has
    permuted: Words64  # (arms,) the Controller's share by π₀
    ahead: Words64  # (arms,) Comp's shares, masked, on their way
    masked: Words64  # (arms,) the Controller's permuted shares, masked, on their way
    chosen: Words64  # (arms,) 1 for the winner
    returned: Words64  # (arms,) that, masked, on its way
    padded: Words64  # (arms,) what Comp adds to answers, on its way
    answers: Words64  # (arms,) by owner, sealed
    places: Ints  # (arms,) of those who are still in
    openings: NDArray[np.uint8]  # (2, bytes) what either server opens, packed; (2, 0) if unused


def buffer_words(arms: int, bracket: Bracket) -> int:
    """Count the words of memory that :func:`buffers_in` needs."""
    stage = int(np.diff(bracket.begins).max())
    side = 2 * OPENINGS + 1 + 2 * len(Side._fields)
    return 22 * arms + 2 * len(Correlation._fields) * len(bracket.pairs) + side * stage


@compiled
def _correlation(memory: Words64, n: int) -> Correlation:
    return Correlation(
        memory[:n], memory[n : 2 * n], memory[2 * n : 3 * n], memory[3 * n : 4 * n],
        memory[4 * n : 5 * n], memory[5 * n : 6 * n],
    )  # fmt: skip


@compiled
def _side(memory: Words64, n: int) -> Side:
    return Side(memory[:n], memory[n : 2 * n], memory[2 * n : 3 * n], memory[3 * n : 4 * n])


@compiled
def _both(memory: Words64, n: int) -> Both:
    half = OPENINGS * n
    rest = memory[2 * half :]
    return Both(
        memory[:half].reshape(OPENINGS, n), memory[half : 2 * half].reshape(OPENINGS, n),
        rest[:n], _side(rest[n : 5 * n], n), _side(rest[5 * n :], n),
    )  # fmt: skip


@compiled
def buffers_in(
    memory: Words64, bracket: Bracket, arms: int, openings: NDArray[np.uint8]
) -> Buffers:
    """Lay out the buffers of a turn in one array: a call from Python takes long to pass many.

    Parameters
    ----------
    memory : (buffer_words,) uint64
    bracket : Bracket
        The tournament of every turn.
    arms : int
        K.
    openings : (2, bytes) uint8
        Receives what either server opens, packed; (2, 0) if that is not to be kept.
    """
    comparisons, stage = bracket.pairs.shape[0], 0
    for number in range(bracket.groups.size):
        stage = max(stage, bracket.begins[number + 1] - bracket.begins[number])
    v = memory[: 22 * arms].reshape(22, arms)
    rest = memory[22 * arms :]
    own, others = rest[: 6 * comparisons], rest[6 * comparisons : 12 * comparisons]
    first = First(v[0].view(np.int64), v[1], v[2], v[3], v[4], _correlation(own, comparisons))
    second = Second(
        v[5], v[6], v[7], v[8], v[9].view(np.int64), v[10], _correlation(others, comparisons)
    )
    return Buffers(
        first, second, _both(rest[12 * comparisons :], stage), v[11], v[12], v[13], v[14], v[15],
        v[16], v[17], v[18], v[19], v[20], v[21].view(np.int64), openings,
    )  # fmt: skip
