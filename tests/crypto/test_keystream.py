from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.crypto.kernels.dealing import permute, word_below, word_to_unit
from fedbandits.crypto.keystream import KeyStream, derive_key
from fedbandits.systems.samba.kernels import exponentials

KEY = bytes(range(32))


def test_words_are_the_blocks_of_aes_in_counter_mode():
    whole = Cipher(AES(KEY), CTR(bytes(16))).encryptor().update(bytes(8 * 3 * 20))
    expected = np.frombuffer(whole, "<u8").reshape(20, 3)
    np.testing.assert_array_equal(KeyStream(KEY, 3).block(0, 20), expected)


@given(st.integers(1, 9), st.integers(0, 10_000), st.integers(0, 40))
def test_any_position_can_be_read_alone(width, first, count):
    stream = KeyStream(KEY, width)
    block = stream.block(first, count)
    assert block.shape == (count, width)
    for offset in reversed(range(count)):
        np.testing.assert_array_equal(KeyStream(KEY, width).words(first + offset), block[offset])
        np.testing.assert_array_equal(stream.words(first + offset), block[offset])


def test_derived_keys_differ_by_label_and_secret():
    keys = {derive_key(secret, label) for secret in (KEY, KEY[::-1]) for label in ("a", "b")}
    assert len(keys) == 4
    assert {len(key) for key in keys} == {32}


def test_known_answer_of_hkdf():
    """HKDF-SHA256 without salt, as another library makes it."""
    for secret in (b"\x0b" * 22, KEY):
        expected = HKDF(SHA256(), 32, salt=None, info=b"label").derive(secret)
        assert derive_key(secret, "label") == expected


def test_impossible_arguments_are_refused():
    with pytest.raises(ValueError, match="16 bytes"):
        derive_key(b"short", "label")
    with pytest.raises(ValueError, match="width"):
        KeyStream(KEY, 0)
    with pytest.raises(ValueError, match="positions"):
        KeyStream(KEY, 1).block(-1, 1)


def test_permutations_are_uniform():
    words = KeyStream(KEY, 4).block(0, 24_000)
    places, counts = np.empty(4, np.int64), {}
    for row in words:
        permute(row, places)
        assert sorted(places) == [0, 1, 2, 3]
        counts[tuple(places)] = counts.get(tuple(places), 0) + 1
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_words_become_uniform_integers_and_exponentials():
    words = KeyStream(KEY, 1).block(0, 20_000)[:, 0]
    assert stats.kstest([word_to_unit(w) for w in words], "uniform").pvalue > 1e-3
    counts = np.bincount([word_below(w, 7) for w in words], minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-3
    waits = np.empty(len(words))
    exponentials(words, waits)
    assert stats.kstest(waits, "expon").pvalue > 1e-3


def test_extreme_words_stay_in_range():
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert [word_below(w, 5) for w in ends] == [0, 4]
    assert word_to_unit(ends[0]) == 0.0
    assert word_to_unit(ends[1]) < 1.0
    waits = np.empty(2)
    exponentials(ends, waits)
    assert (waits > 0).all()
    assert np.isfinite(waits).all()


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), max_size=6))
def test_a_stream_goes_on_where_it_ended_or_anywhere_else(width, asked):
    """Positions that follow on the last ones are not begun anew: the words are the same."""
    stream, expected = KeyStream(KEY, width), KeyStream(KEY, width).block(0, 800)
    at = 0
    for jump, count in asked:
        for first in (at, jump):
            out = np.zeros((count, width), np.uint64)
            stream.fill(first, out)
            np.testing.assert_array_equal(out, expected[first : first + count])
            at = first + count


def test_long_blocks_are_made_in_pieces():
    whole = Cipher(AES(KEY), CTR(bytes(16))).encryptor().update(bytes(8 * 3 * 5000))
    expected = np.frombuffer(whole, "<u8").reshape(5000, 3)
    np.testing.assert_array_equal(KeyStream(KEY, 3).block(0, 5000), expected)
