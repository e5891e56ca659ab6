"""Turns of servers in a silent run: functions on arrays, in the order of messages.

Everything that travels is sealed by key stream where it leaves and opened where it arrives; pads of
zeros seal nothing. What the functions have of a turn lies in rows of the arrays of many turns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import OPENINGS, Correlation, Side, write_opening
from fedbandits.crypto.kernels.dealing import (
    First,
    ForFirst,
    ForSecond,
    Second,
    deal,
    expand_first,
    expand_second,
    masked_share,
    permuted_share,
    returned_share,
    unit_vector,
)
from fedbandits.crypto.kernels.tournament import Both, compare_both, winners

_ONE = np.uint64(1)


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
def _correlation(v: Words64) -> Correlation:
    return Correlation(v[0], v[1], v[2], v[3], v[4], v[5])


@compiled
def buffers_in(
    memory: Words64, bracket: Bracket, arms: int, openings: NDArray[np.uint8]
) -> Buffers:
    """Lay out the buffers of a turn in one array: a call from Python takes long to pass many.

    ``openings``, (2, bytes), receives what either server opens, packed; (2, 0) if that is not to be
    kept.
    """
    comparisons, n = bracket.pairs.shape[0], 0
    for number in range(bracket.groups.size):
        n = max(n, bracket.begins[number + 1] - bracket.begins[number])
    v = memory[: 22 * arms].reshape(22, arms)
    rest = memory[22 * arms :]
    own = _correlation(rest[: 6 * comparisons].reshape(6, comparisons))
    others = _correlation(rest[6 * comparisons : 12 * comparisons].reshape(6, comparisons))
    first = First(v[0].view(np.int64), v[1], v[2], v[3], v[4], own)
    second = Second(v[5], v[6], v[7], v[8], v[9].view(np.int64), v[10], others)
    w = rest[12 * comparisons :].reshape(2 * OPENINGS + 9, n)
    at = 2 * OPENINGS + 1
    both = Both(
        w[:OPENINGS], w[OPENINGS : 2 * OPENINGS], w[2 * OPENINGS],
        Side(w[at], w[at + 1], w[at + 2], w[at + 3]),
        Side(w[at + 4], w[at + 5], w[at + 6], w[at + 7]),
    )  # fmt: skip
    return Buffers(
        first, second, both, v[11], v[12], v[13], v[14], v[15], v[16], v[17], v[18], v[19], v[20],
        v[21].view(np.int64), openings,
    )  # fmt: skip


@compiled
def _for_first(row: Words64) -> ForFirst:
    """Read what the dealer sends the first server, in a row of words."""
    arms = row.size // 2
    return ForFirst(row[:arms], row[arms:])


@compiled
def _for_second(row: Words64, arms: int, comparisons: int) -> ForSecond:
    """Read what the dealer sends the second server, in a row of words."""
    bits, joined = arms + comparisons, arms + 2 * comparisons
    products = row[joined:].view(np.uint32)[:comparisons]
    return ForSecond(row[:arms], row[arms:bits], products, row[bits:joined])


@compiled
def deal_turns(
    first: Words64, second: Words64, comparisons: int, places: Ints, for_first: Words64,
    for_second: Words64,
) -> None:  # fmt: skip
    """Play the dealer's part of some turns: the corrections, a row a turn.

    ``first`` and ``second`` are words of the servers' seeds; ``places`` is overwritten.
    """
    for t in range(first.shape[0]):
        to_second = _for_second(for_second[t], places.size, comparisons)
        deal(first[t], second[t], places, _for_first(for_first[t]), to_second)


@compiled
def seal_column(streams: OwnerWords, column: int) -> int:
    """Return the column of what seals words and answers: the only one where nothing is sealed."""
    return int(min(column, streams.up.shape[1] - 1))


@compiled
def share_words(
    sent: Words64, streams: OwnerWords, column: int, shares: Words64, others: Words64
) -> None:
    """Write what the Controller, which opens what owners have sent, and Comp have of words."""
    seal = seal_column(streams, column)
    for i in range(sent.size):
        shares[i] = sent[i] ^ streams.up[i, seal]
        others[i] = streams.words[i, column]


@compiled
def travel(words: Words64, pad: Words64) -> None:
    """Seal words where they leave, and open them where they arrive."""
    for i in range(words.size):
        words[i] ^= pad[i]
    for i in range(words.size):
        words[i] ^= pad[i]


@compiled
def shuffle_twice(buffers: Buffers, to_first: Words64, to_second: Words64) -> None:
    """Turn shares by owner into shares by place, in an order that neither server knows."""
    first, second = buffers.first, buffers.second
    masked_share(buffers.others, second.mask, buffers.ahead)
    travel(buffers.ahead, to_first)
    permuted_share(buffers.shares, buffers.ahead, first.places, first.shuffled, buffers.permuted)
    masked_share(buffers.permuted, first.mask, buffers.masked)
    travel(buffers.masked, to_second)
    permuted_share(second.share, buffers.masked, second.places, second.shuffled, buffers.others)
    buffers.shares[:] = first.share


@compiled
def _write_openings(both: Both, n: int, openings: NDArray[np.uint8], at: int) -> int:
    """Write what both opened in a stage; returns where the next stage's begins."""
    for number in range(OPENINGS):
        write_opening(number, both.to_second[number], n, openings[0], at)
        at = write_opening(number, both.to_first[number], n, openings[1], at)
    return at


@compiled
def find_winner(
    bracket: Bracket, buffers: Buffers, seal_second: Words64, seal_first: Words64
) -> int:
    """Find the place of the largest word, by a tournament; -1 if somewhere nobody has won.

    ``seal_second`` and ``seal_first`` are (SEAL_WORDS, comparisons) of key stream.
    """
    places, both, pair = buffers.places, buffers.both, bracket.pairs
    for i in range(places.size):
        places[i] = i
    left, written = places.size, 0
    mine, theirs = buffers.first.comparisons, buffers.second.comparisons
    for stage in range(bracket.groups.size):
        at = bracket.begins[stage]
        n = bracket.begins[stage + 1] - at
        for k in range(n):
            one, other = places[pair[at + k, 0]], places[pair[at + k, 1]]
            both.mine.sent[k] = buffers.shares[one] - buffers.shares[other]
            both.theirs.sent[k] = buffers.others[one] - buffers.others[other]
        compare_both(mine, theirs, seal_second, seal_first, at, n, both)
        if buffers.openings.size > 0:
            written = _write_openings(both, n, buffers.openings, written)
        left = winners(places, left, bracket.groups[stage], both.opened)
        if left < 0:
            return -1
    return int(places[0])


@compiled
def tell_owners(
    place: int, buffers: Buffers, to_first: Words64, streams: OwnerWords, column: int
) -> int:
    """Tell owners who has won; returns the one that reads 1, -1 if not exactly one does.

    ``to_first`` is (2 arms,): what seals the place, and what seals Comp's pads of answers.
    """
    first, second, arms = buffers.first, buffers.second, buffers.chosen.size
    entry = 0
    for v in range(arms):
        if second.places[v] == place:
            entry = v
    unit_vector(entry, buffers.chosen)
    masked_share(buffers.chosen, second.returned_mask, buffers.returned)
    travel(buffers.returned, to_first[:arms])
    for i in range(arms):
        buffers.padded[i] = second.returned_share[i] + streams.answers[i, column]
    travel(buffers.padded, to_first[arms:])
    returned_share(buffers.returned, first.places, first.returned, buffers.answers)
    seal = seal_column(streams, column)
    for i in range(arms):
        buffers.answers[i] = (buffers.answers[i] + buffers.padded[i]) ^ streams.down[i, seal]
    return read_answers(buffers.answers, streams, column)


@compiled
def read_answers(answers: Words64, streams: OwnerWords, column: int) -> int:
    """Read every owner's answer; returns the one that reads 1, -1 if not exactly one does."""
    told, seal = -1, seal_column(streams, column)
    for i in range(answers.size):
        answer = (answers[i] ^ streams.down[i, seal]) - streams.answers[i, column]
        if answer == _ONE and told < 0:
            told = i
        elif answer != 0:
            return -1
    return told


@compiled
def select(
    bracket: Bracket, dealt: Dealt, links: Links, streams: OwnerWords, turn: int, offset: int,
    buffers: Buffers,
) -> int:  # fmt: skip
    """Play one turn between what owners send and what they read; returns who is told 1.

    ``turn`` is the row of what is dealt and of what seals links, ``turn + offset`` the column of
    the owners' streams. ``buffers.sent`` has what owners have sent. Returns -1 if not exactly one
    is told 1, which no words can cause.
    """
    arms, comparisons = buffers.sent.size, len(bracket.pairs)
    column = turn + offset
    row = min(turn, links.to_first.shape[0] - 1)
    expand_first(dealt.first[turn], _for_first(dealt.for_first[turn]), buffers.first)
    corrections = _for_second(dealt.for_second[turn], arms, comparisons)
    expand_second(dealt.second[turn], corrections, buffers.second)
    to_second, to_first = links.to_second[row], links.to_first[row]
    share_words(buffers.sent, streams, column, buffers.shares, buffers.others)
    shuffle_twice(buffers, to_first[:arms], to_second[:arms])
    seal_second = to_second[arms:].reshape(-1, comparisons)
    seal_first = to_first[3 * arms :].reshape(-1, comparisons)
    place = find_winner(bracket, buffers, seal_second, seal_first)
    if place < 0:
        return -1
    return tell_owners(place, buffers, to_first[arms : 3 * arms], streams, column)


@compiled
def select_and_prepare(
    bracket: Bracket, dealt: Dealt, links: Links, streams: OwnerWords, row: int, column: int,
    words: Words64, memory: Words64, openings: NDArray[np.uint8],
) -> int:  # fmt: skip
    """Play one turn, see :func:`select`; Comp also makes what it sends ahead of the next turn.

    Words of seeds have one more turn than the corrections in ``dealt``; nothing is sealed by
    ``links`` or ``streams``. ``row`` and ``column`` say where the turn is in both. ``words`` are
    (arms,) of what owners have sent, opened. ``openings``, (2, bytes), receives what either server
    opens.
    """
    arms = words.size
    buffers = buffers_in(memory, bracket, arms, openings)
    buffers.sent[:] = words
    arm = select(bracket, dealt, links, streams, row, column - row, buffers)
    buffers.others[:] = streams.words[:, column + 1]
    masked_share(buffers.others, dealt.second[row + 1][:arms], buffers.ahead)
    return arm
