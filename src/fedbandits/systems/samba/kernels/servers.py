"""Turns of a silent run as compiled functions on arrays, in the order in which words travel.

Everything that travels is sealed by key stream where it leaves and opened where it arrives; pads of
zeros seal nothing. What the functions have of a turn lies in rows of the arrays of many turns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbandits._compile import compiled
from fedbandits._typing import Ints, Words64
from fedbandits.crypto.kernels.comparison import (
    OPENINGS,
    write_opening,
)
from fedbandits.crypto.kernels.dealing import (
    ForFirst,
    ForSecond,
    deal,
    expand_first,
    expand_second,
    masked_share,
    permuted_share,
    returned_share,
    unit_vector,
)
from fedbandits.crypto.kernels.tournament import Both, compare_both, winners
from fedbandits.systems.samba.kernels.buffers import (
    Bracket,
    Buffers,
    Dealt,
    Links,
    OwnerWords,
    buffers_in,
)

_ONE = np.uint64(1)


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
def owners_send(words: Ints, streams: OwnerWords, turn: int, row: int, sent: Words64) -> None:
    """Send every owner's word to the Controller, less what Comp has of it."""
    for i in range(words.size):
        sent[i] = (np.uint64(words[i]) - streams.words[i, turn]) ^ streams.up[i, row]


@compiled
def open_words(sent: Words64, streams: OwnerWords, row: int, shares: Words64) -> None:
    """Open what owners have sent to the Controller."""
    for i in range(sent.size):
        shares[i] = sent[i] ^ streams.up[i, row]


@compiled
def comps_shares(streams: OwnerWords, turn: int, others: Words64) -> None:
    """Write what Comp has of the owners' words."""
    for i in range(others.size):
        others[i] = streams.words[i, turn]


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
    place: int, buffers: Buffers, to_first: Words64, streams: OwnerWords, turn: int, row: int
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
        buffers.padded[i] = second.returned_share[i] + streams.answers[i, turn]
    travel(buffers.padded, to_first[arms:])
    returned_share(buffers.returned, first.places, first.returned, buffers.answers)
    for i in range(arms):
        buffers.answers[i] = (buffers.answers[i] + buffers.padded[i]) ^ streams.down[i, row]
    return read_answers(buffers.answers, streams, turn, row)


@compiled
def read_answers(answers: Words64, streams: OwnerWords, turn: int, row: int) -> int:
    """Read every owner's answer; returns the one that reads 1, -1 if not exactly one does."""
    told = -1
    for i in range(answers.size):
        answer = (answers[i] ^ streams.down[i, row]) - streams.answers[i, turn]
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

    Parameters
    ----------
    bracket : Bracket
    dealt, links : Dealt, Links
        Their row is ``turn``.
    streams : OwnerWords
        Their column is ``turn + offset``.
    buffers : Buffers
        ``sent`` has what owners have sent.

    Returns
    -------
    int
        -1 if not exactly one is told 1, which no words can cause.
    """
    arms, comparisons = buffers.sent.size, len(bracket.pairs)
    column = turn + offset
    sealed = min(column, streams.up.shape[1] - 1)
    row = min(turn, links.to_first.shape[0] - 1)
    expand_first(dealt.first[turn], _for_first(dealt.for_first[turn]), buffers.first)
    corrections = _for_second(dealt.for_second[turn], arms, comparisons)
    expand_second(dealt.second[turn], corrections, buffers.second)
    to_second, to_first = links.to_second[row], links.to_first[row]
    open_words(buffers.sent, streams, sealed, buffers.shares)
    comps_shares(streams, column, buffers.others)
    shuffle_twice(buffers, to_first[:arms], to_second[:arms])
    seal_second = to_second[arms:].reshape(-1, comparisons)
    seal_first = to_first[3 * arms :].reshape(-1, comparisons)
    place = find_winner(bracket, buffers, seal_second, seal_first)
    if place < 0:
        return -1
    return tell_owners(place, buffers, to_first[arms : 3 * arms], streams, column, sealed)


@compiled
def select_and_prepare(
    bracket: Bracket, dealt: Dealt, links: Links, streams: OwnerWords, row: int, column: int,
    words: Words64, memory: Words64, openings: NDArray[np.uint8],
) -> int:  # fmt: skip
    """Play one turn, see :func:`select`; Comp also makes what it sends ahead of the next turn.

    Words of seeds have one more turn than the corrections in ``dealt``; ``links`` are zeros, and
    nothing is sealed by ``streams``. ``row`` and ``column`` say where the turn is in both.
    ``words`` are (arms,) of what owners have sent, opened. ``openings``, (2, bytes), receives what
    either server opens.

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
