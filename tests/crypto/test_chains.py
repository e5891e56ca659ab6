from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.crypto import chains

KEYS = st.binary(min_size=32, max_size=32)


@given(KEYS, st.integers(0, 20), st.integers(0, 20))
def test_steps_add_up_and_no_two_keys_are_the_same(key, one, other):
    assert chains.forward(chains.forward(key, one), other) == chains.forward(key, one + other)
    made = [chains.forward(key, steps) for steps in range(one + 1)]
    made += [chains.message_key(each) for each in made]
    assert len(set(made)) == 2 * (one + 1)


def test_both_sides_agree_and_nobody_with_one_part_does():
    one, other = chains.draw(), chains.draw()
    shared = one.agree(other.public)
    assert shared == other.agree(one.public) == chains.Drawn(other.private).agree(one.public)
    key, another = bytes(32), bytes([1]) * 32
    made = {chains.agreed(a, b) for a in (key, another) for b in (shared, bytes(32))}
    assert len(made | {chains.next_key(key), chains.message_key(key)}) == 6


@pytest.mark.parametrize("low", [bytes(32), bytes([1]) + bytes(31)])
def test_a_public_key_of_low_order_makes_zeros_and_no_error(low):
    assert chains.draw().agree(low) == bytes(32)


def test_no_two_draws_are_alike():
    drawn = [chains.draw() for _ in range(8)]
    assert len({key for each in drawn for key in (each.private, each.public)}) == 16
    assert chains.draw_nothing() is None
