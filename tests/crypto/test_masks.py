from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.crypto import masks
from fedbandits.crypto.masks import Masks, PairKeys, nonce, salt_of, sum_of_masks, tag

KEY = bytes(range(32))
SALTS = st.integers(0, 2**64 - 1)
NUMBERS = st.integers(0, masks.MOST_SUMS)


def oracle(key, number, salt, size):
    start = bytes(4) + number.to_bytes(4, "little") + salt.to_bytes(8, "little")
    return np.frombuffer(
        Cipher(ChaCha20(key, start), None).encryptor().update(bytes(8 * size)), "<u8"
    )


def filled(pair, number, salt, size):
    out = np.empty(size, np.uint64)
    pair.fill(number, salt, out)
    return out


def test_chacha20_is_that_of_rfc_8439():
    """Its test vector #1 of appendix A.1: a key, a nonce and a counter of zeros."""
    stream = filled(Masks(bytes(32)), 0, 0, 8).astype("<u8").tobytes()
    assert stream[:16].hex() == "76b8e0ada0f13d90405d6ae55386bd28"


@given(st.lists(st.tuples(NUMBERS, SALTS), min_size=1, max_size=5), st.integers(0, 70))
def test_a_pair_makes_any_mask_in_any_order(asked, size):
    pair = Masks(KEY)
    for number, salt in [*asked, *reversed(asked)]:
        np.testing.assert_array_equal(
            filled(pair, number, salt, size), oracle(KEY, number, salt, size)
        )


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_a_sum_of_masks_is_the_sum_of_each(count):
    keys = [tag(KEY, bytes([i])) + tag(KEY, bytes([i, i])) for i in range(count)]
    salts = [salt_of(KEY, bytes([i])) for i in range(count)]
    expected = sum(
        (oracle(k, 7, s, 33) for k, s in zip(keys, salts, strict=True)), np.zeros(33, np.uint64)
    )
    np.testing.assert_array_equal(sum_of_masks([Masks(k) for k in keys], 7, salts, 33), expected)


def test_a_sum_needs_a_salt_for_every_pair():
    with pytest.raises(ValueError, match="zip"):
        sum_of_masks([Masks(KEY)], 1, [], 3)


def test_numbers_and_salts_have_their_room():
    for number, salt in ((-1, 0), (1 << 32, 0)):
        with pytest.raises(ValueError, match="numbered"):
            nonce(number, salt)
    with pytest.raises(OverflowError):
        nonce(0, 1 << 64)


@given(st.sets(st.tuples(NUMBERS, SALTS), min_size=2, max_size=8))
def test_no_two_messages_share_a_mask(messages):
    assert len({nonce(*message) for message in messages}) == len(messages)
    pair = Masks(KEY)
    assert len({filled(pair, *message, 4).tobytes() for message in messages}) == len(messages)


def test_keys_differ_by_pair_terms_purpose_and_secret():
    made = [
        PairKeys.derive(secret, terms, agent, helper)
        for secret in (KEY, KEY[::-1]) for terms in ("t1", "t2")
        for agent in ("agent-0", "agent-1") for helper in ("helper-0", "helper-1")
    ]  # fmt: skip
    assert len({key for keys in made for key in keys}) == 3 * len(made)


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_tags_and_salts_differ_by_text_and_key(one, other):
    made = {
        (tag(key, text), salt_of(key, text)) for key in (KEY, KEY[::-1]) for text in (one, other)
    }
    assert len(made) == (2 if one == other else 4)
    assert masks.same(tag(KEY, one), tag(KEY, other)) == (one == other)


def test_masks_are_uniform():
    drawn = np.concatenate([filled(Masks(KEY), 1, salt, 500) for salt in range(20)])
    assert stats.kstest(drawn / 2.0**64, "uniform").pvalue > 1e-3
    assert (
        stats.chisquare(np.bincount((drawn & np.uint64(255)).astype(int), minlength=256)).pvalue
        > 1e-3
    )
