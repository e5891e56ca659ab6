"""Numbers side by side: every lane does what a number alone would do."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import float32, uint64

from fedbandits._compile import (
    LANES,
    allocation_free,
    among,
    compiled,
    counting,
    fma,
    lanes,
    largest,
    load,
    spread,
    store,
    summed,
)

#: Numbers of every kind, so many that some are left over.
ROW = np.array(
    [0.0, -0.0, 1.0, -3.5, 1e-40, 3e38, math.inf, -math.inf, math.nan, 0.1, 7.0, 1e-3, 2.0, 6e4,
     -1e-7, 5.0, 0.3, -9.0, 4.0],
    np.float32,
)  # fmt: skip
TURNED = ROW[::-1].copy()


@compiled
def side_by_side(a, b, results):
    x, y = load(a, 2), load(b, 2)
    store(results, (0, 2), x + y, LANES)
    store(results, (1, 2), x - y, LANES)
    store(results, (2, 2), x * y, LANES)
    store(results, (3, 2), x / y, LANES)
    store(results, (4, 2), -x, LANES)
    store(results, (5, 2), max(x, y), LANES)
    store(results, (6, 2), math.sqrt(x), LANES)
    store(results, (7, 2), fma(x, y, float32(0.5)), LANES)
    store(results, (8, 2), spread(a, 3) * y, LANES)


@compiled
def one_by_one(a, b, results):
    for k in range(2, 2 + LANES):
        x, y = a[k], b[k]
        results[0, k] = x + y
        results[1, k] = x - y
        results[2, k] = x * y
        results[3, k] = x / y
        results[4, k] = -x
        results[5, k] = max(x, y)
        results[6, k] = math.sqrt(x)
        results[7, k] = fma(x, y, float32(0.5))
        results[8, k] = a[3] * y


def test_lanes_hold_the_same_bits_as_numbers_alone():
    found, expected = np.zeros((2, 9, len(ROW)), np.float32)
    side_by_side(ROW, TURNED, found)
    one_by_one(ROW, TURNED, expected)
    np.testing.assert_array_equal(found, expected)  # NaN where NaN is
    numbers = ~np.isnan(expected)
    assert (np.signbit(found) == np.signbit(expected))[numbers].all()
    assert not found[:, :2].any()
    assert not found[:, 2 + LANES :].any()


@compiled
def of_words(first, key, words):
    counted = counting(first)
    product = uint64(0xD2511F53) * counted
    store(words, (0, 0), product >> uint64(32), LANES)
    store(words, (1, 0), product & uint64(0xFFFF), LANES)
    store(words, (2, 0), product ^ lanes(uint64(key)), LANES)
    store(words, (3, 0), counted + uint64(key), LANES)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_lanes_of_words_are_written_with_their_low_bits(first, key):
    words = np.zeros((4, LANES), np.uint32)
    of_words(first, key, words)
    for lane in range(LANES):
        product = 0xD2511F53 * (first + lane)
        expected = product >> 32, product & 0xFFFF, product ^ key, first + lane + key
        assert [int(word) for word in words[:, lane]] == [value % 2**32 for value in expected]


@compiled
def copy(source, row, column, target, most):
    store(target, column, load(source, (row, column)), most)


@pytest.mark.parametrize("most", [0, 1, 5, LANES - 1, LANES, LANES + 3])
def test_no_more_is_written_than_fits(most):
    source = np.arange(60, dtype=np.uint16).reshape(2, 30) + 65_470
    target = np.full(30, -1.0, np.float32)
    copy(source, 1, 4, target, most)
    count = min(most, LANES)
    assert (target[4 : 4 + count] == source[1, 4 : 4 + count]).all()
    assert (np.delete(target, slice(4, 4 + count)) == -1.0).all()


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2]])
def test_rows_that_are_not_side_by_side_are_read_all_the_same(arrange):
    source = np.arange(60, dtype=np.float32).reshape(2, 30)
    target = np.zeros(30, np.float32)
    copy(arrange(source), 1, 4, target, LANES)
    assert (target[4 : 4 + LANES] == source[1, 4 : 4 + LANES]).all()


@compiled
def most_of(values):
    return largest(load(values, 0))


@compiled
def has(values, value):
    return among(value, load(values, 0))


def test_every_lane_counts_in_what_is_asked_of_all():
    values = np.arange(1.0, 1.0 + LANES, dtype=np.float32)
    for shift in range(LANES):
        turned = np.roll(values, shift)
        assert most_of(turned) == LANES
        assert has(turned, values[shift])
        assert not has(turned, float32(0.5))


@allocation_free
def same(matrix):
    return matrix


@allocation_free
def row_and_size(matrix):
    return matrix[0], matrix.size


@compiled
def entry_of_same(matrix):
    return same(matrix)[0, 0]


@compiled
def entry_of_row(matrix):
    return row_and_size(matrix)[0][0]


@allocation_free
def double(values):
    for k in range(values.size):
        values[k] *= 2.0


@compiled
def doubled_twice(values):
    double(values)
    double(values)


def test_an_allocation_free_kernel_changes_what_it_is_given():
    values = np.arange(5.0)
    doubled_twice(values)
    assert (values == 4.0 * np.arange(5.0)).all()


@pytest.mark.parametrize("kernel", [entry_of_same, entry_of_row])
def test_an_allocation_free_kernel_must_not_return_an_array_to_one_that_counts(kernel):
    with pytest.raises(Exception, match="an allocation-free kernel cannot return"):
        kernel(np.ones((2, 2)))


def test_an_allocation_free_kernel_must_not_make_an_array():
    @allocation_free
    def made(size):
        return np.zeros(size)[0]

    with pytest.raises(numba.TypingError, match="Only accept returning of array passed"):
        made(3)


@compiled
def sum_and_product(values):
    loaded = load(values, 0)
    return summed(loaded), summed(loaded * math.sqrt(loaded))


def test_lanes_of_float64_stay_float64():
    """Numbers that float32 cannot tell apart, and a sum that is exact in any order."""
    values = 1.0 + np.arange(LANES) * 2.0**-40
    found, weighed = sum_and_product(values)
    assert found == values.sum()
    np.testing.assert_allclose(weighed, (values * np.sqrt(values)).sum(), rtol=1e-15)
