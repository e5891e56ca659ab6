"""What an attacker of whole parties is given of each message."""

from __future__ import annotations

import numpy as np

from fedbandits.federation.totals.messages import Increment, pack_words
from fedbandits.systems.party_games import Seen


def seen(words, salt, round_=3):
    told = Seen("agent-1")
    message = Increment(
        sender="agent-1", receiver="controller", release=1, salt=salt, base=0, base_salt=0,
        total=0, total_digest=b"", heard=0, public=b"",
        statistic=pack_words(np.array(words, np.uint64)), statements=pack_words(_TAGS),
    )  # fmt: skip
    told.take(round_, [message])
    return told


_TAGS = np.full(4, 2**64 - 1, np.uint64)  # as bits of floats they would be no numbers


def test_what_is_masked_is_read_as_whole_numbers():
    """Random bits, read as floats, are no numbers in some runs: nothing is learned of those."""
    told = seen([2**64 - 1, 5, 0x7FF0_0000_0000_0000], salt=7).numbers()
    assert np.isfinite(told).all()
    assert {5.0, float(2**64 - 1), 7.0} <= set(told)


def test_a_salt_is_content_and_no_part_of_a_pattern():
    """Each run has other salts: with them no two runs would have the same pattern."""
    assert seen([1], salt=7).pattern() == seen([2], salt=8).pattern()
    assert seen([1], salt=7).pattern() != seen([1], salt=7, round_=4).pattern()
