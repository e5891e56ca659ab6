"""Both servers at once, as a simulation plays them, do what each does for itself."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.crypto.aead import (
    GcmCipher,
    PacketLengthError,
    TamperedPacketError,
    position_prefix,
)
from fedbandits.crypto.bulk import PacketRow
from fedbandits.crypto.kernels.comparison import (
    OPENING_BITS,
    OPENINGS,
    new_side,
    open_next,
    take_opening,
    write_opening,
)
from fedbandits.crypto.kernels.dealing import (
    deal,
    expand_first,
    expand_second,
    first_width,
    new_first,
    new_for_first,
    new_for_second,
    new_second,
    second_width,
)
from fedbandits.crypto.kernels.tournament import SEAL_WORDS, compare_both, new_both
from fedbandits.crypto.keystream import KeyStream
from fedbandits.crypto.shares import opening_bytes, pack_opening

ENTRIES = 3
words60 = st.integers(-(2**60), 2**60 - 1)


def dealt(comparisons, seed):
    """What both servers have for one selection."""
    keys = bytes([seed]) * 32, bytes([seed + 1]) * 32
    widths = first_width(ENTRIES, comparisons), second_width(ENTRIES, comparisons)
    words = [KeyStream(k, w).block(0, 1)[0] for k, w in zip(keys, widths, strict=True)]
    for_first, for_second = new_for_first(ENTRIES), new_for_second(ENTRIES, comparisons)
    deal(*words, np.zeros(ENTRIES, np.int64), for_first, for_second)
    first, second = new_first(ENTRIES, comparisons), new_second(ENTRIES, comparisons)
    expand_first(words[0], for_first, first)
    expand_second(words[1], for_second, second)
    return first.comparisons, second.comparisons


@given(st.lists(st.tuples(words60, words60), min_size=1, max_size=20), st.integers(0, 200),
       st.integers(0, 5))  # fmt: skip
def test_both_at_once_send_what_each_sends(compared, seed, at):
    """Openings, sealed, and results are those of two servers that work apart."""
    n = len(compared)
    mine, theirs = dealt(at + n, seed)
    x, y = (np.array(side, np.int64) for side in zip(*compared, strict=True))
    own = KeyStream(bytes(32), n).block(seed, 1)[0]
    others = (x - y).view(np.uint64) - own
    seals = [KeyStream(bytes([k]) * 32, at + n).block(0, SEAL_WORDS) for k in (1, 2)]
    both = new_both(n)
    both.mine.sent[:], both.theirs.sent[:] = own, others
    compare_both(mine, theirs, *seals, at, n, both)
    np.testing.assert_array_equal(both.opened, x < y)

    sides = [type(side)(*(each[at:] for each in side)) for side in (mine, theirs)]
    held = [new_side(n), new_side(n)]
    held[0].sent[:], held[1].sent[:] = own, others
    sealed = both.to_second, both.to_first
    pad_bits = [[] for _ in range(2)]
    for number in range(OPENINGS):
        for k in range(2):
            open_next(number, sides[k], held[k], k == 0)
        sent = [each.sent.copy() for each in held]
        for k in range(2):
            take_opening(number, sent[1 - k], sides[k], held[k], k == 0)
            pad = sealed[k][number] ^ sent[k]
            assert not (int(np.bitwise_or.reduce(pad)) >> OPENING_BITS[number])
            pad_bits[k].append(pad)
    for k in range(2):  # every bit of an opening is sealed by a bit of its own
        first, second, *rest = pad_bits[k]
        np.testing.assert_array_equal(first, seals[k][0][at:])
        np.testing.assert_array_equal(second, seals[k][1][at:] & np.uint64(2**48 - 1))
        together, start = np.zeros(n, np.uint64), 0
        for width, pad in zip(OPENING_BITS[2:], rest, strict=True):
            together |= pad << np.uint64(start)
            start += width
        np.testing.assert_array_equal(together, seals[k][2][at:] & np.uint64(2**start - 1))


@given(st.integers(0, OPENINGS - 1), st.integers(0, 40), st.integers(0, 99), st.integers(0, 9))
def test_compiled_code_packs_the_same_bytes(number, comparisons, seed, at):
    every = np.uint64(2 ** OPENING_BITS[number] - 1)
    words = KeyStream(bytes(32), max(1, comparisons)).block(seed, 1)[0][:comparisons] & every
    size = opening_bytes(number, comparisons)
    out = np.full(at + size + 3, 0xAA, np.uint8)
    assert write_opening(number, words, comparisons, out, at) == at + size
    assert out[at : at + size].tobytes() == pack_opening(number, words)
    assert set(out[:at].tolist() + out[at + size :].tolist()) <= {0xAA}


KEYS = [bytes([k]) * 32 for k in range(1, 4)]
PLACE = position_prefix(3, 7, 1) + bytes(4)


def test_packets_of_many_pairs_are_those_of_each():
    pairs = PacketRow(KEYS, [8] * 3)
    data = bytes(range(24))
    sealed = pairs.seal([PLACE] * 3, data)
    assert pairs.open([PLACE] * 3, sealed) == data
    for key, packet, at in zip(KEYS, sealed, (0, 8, 16), strict=True):
        assert GcmCipher(key).open([PLACE], [packet]) == [data[at : at + 8]]
    assert not set(sealed) & set(pairs.seal([PLACE] * 3, data))  # under nonces of their own


def test_packets_of_a_row_may_differ_in_length_and_share_a_key():
    places = [position_prefix(3, 7, 1) + bytes([0, 0, 0, k]) for k in range(4)]
    row = PacketRow([KEYS[0], KEYS[0], KEYS[1], KEYS[1]], [5, 0, 30, 1])
    data = bytes(range(36))
    sealed = row.seal(places, data)
    assert row.open(places, sealed) == data
    own, other = (GcmCipher(key) for key in KEYS[:2])
    assert own.open(places[:2], sealed[:2]) == [data[:5], b""]
    assert other.open(places[2:], sealed[2:]) == [data[5:35], data[35:]]
    with pytest.raises(TamperedPacketError):
        row.open([places[1], places[0], *places[2:]], sealed)
    for short in (data[:-1], data + b"0"):
        with pytest.raises(struct.error):
            row.seal(places, short)


def test_a_packet_of_another_pair_or_place_does_not_open():
    pairs = PacketRow(KEYS, [8] * 3)
    sealed = pairs.seal([PLACE] * 3, bytes(24))
    with pytest.raises(TamperedPacketError):
        pairs.open([PLACE] * 3, [sealed[1], sealed[0], sealed[2]])
    with pytest.raises(TamperedPacketError):
        pairs.open([position_prefix(4, 7, 1) + bytes(4)] * 3, sealed)
    with pytest.raises(PacketLengthError):
        pairs.open([PLACE] * 3, [*sealed[:2], sealed[2][:-1]])
