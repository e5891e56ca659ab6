"""Large named tuples are handed on by their addresses, and are what they were by value."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import pytest

from fedbandits._compile import (
    LazyCFunction,
    allocation_free,
    compiled,
    inlined,
    laid_out,
    references,
)


class Inner(NamedTuple):
    """Two arrays; large enough for an address."""

    first: np.ndarray
    second: np.ndarray


class Pair(NamedTuple):
    """Two tuples of one type."""

    left: Inner
    right: Inner


class Outer(NamedTuple):
    """Numbers of several sizes, arrays, and tuples in a tuple."""

    flag: bool
    count: int
    small: np.float32
    table: np.ndarray
    pair: Pair
    scale: float


@pytest.fixture(autouse=True)
def tuples_of_the_package(monkeypatch):
    monkeypatch.setattr(references, "is_of_package", lambda _: True)


def numbers(seed):
    values = np.random.default_rng(seed).normal(size=(4, 3))
    return Inner(values[0].copy(), values[1:].copy())


def outer(flag=True, seed=0):
    table = np.arange(6.0).reshape(2, 3)
    return Outer(flag, 7, np.float32(0.5), table, Pair(numbers(seed), numbers(seed + 1)), 3.0)


@compiled
def total(inner):
    return inner.first.sum() + inner.second[1, 2]


@compiled
def both(pair):
    return total(pair.left) - total(pair.right)


@compiled
def read(whole):
    sign = 1.0 if whole.flag else -1.0
    return sign * (whole.count + whole.small + whole.table[1, 2]) + whole.scale * both(whole.pair)


@pytest.mark.parametrize("flag", [True, False])
def test_fields_of_all_sizes_are_read_where_they_lie(flag):
    assert read(outer(flag)) == pytest.approx(read.py_func(outer(flag)), rel=1e-15)


def test_a_call_hands_on_one_address_and_takes_nothing_apart():
    read(outer())
    code = next(iter(read.inspect_llvm().values()))
    assert "%arg.whole)" in code
    assert "%arg.whole.0" not in code


@compiled
def swapped(one, other, times):
    for _ in range(times):
        one, other = other, one
    return total(one) - 2.0 * total(other)


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_a_name_may_come_to_stand_for_another_tuple(times):
    given = numbers(1), numbers(2), times
    assert swapped(*given) == pytest.approx(swapped.py_func(*given))


@compiled
def picked(pair, chosen):
    inner = pair.left
    if chosen:
        inner = pair.right
    held = inner
    inner = pair.left
    return total(held) + 10.0 * total(inner)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_copy_of_a_name_keeps_what_it_stood_for(chosen):
    pair = outer().pair
    assert picked(pair, chosen) == pytest.approx(picked.py_func(pair, chosen))


@compiled
def made(inner, times):
    found = 0.0
    for i in range(times):
        grown = Inner(inner.first + i, inner.second * i)
        found += total(grown) + both(Pair(inner, grown))
    return found


def test_tuples_that_a_kernel_makes_are_handed_on_too():
    assert made(numbers(3), 5) == pytest.approx(made.py_func(numbers(3), 5))


@compiled
def parts(whole):
    inner = whole.pair.left
    return inner, inner.second, whole


def test_arrays_of_a_tuple_outlive_the_call_that_returned_them():
    given = outer()
    first, held = given.pair.left.first, given.pair.left.second
    before = sys.getrefcount(first), sys.getrefcount(held)
    for _ in range(100):
        inner, second, whole = parts(given)
    expected = held.copy()
    del given
    assert second.base is held or np.shares_memory(second, held)
    np.testing.assert_array_equal(inner.second, expected)
    np.testing.assert_array_equal(whole.pair.left.second, expected)
    del inner, second, whole
    assert sys.getrefcount(held) <= before[1]
    assert sys.getrefcount(first) <= before[0]


@compiled
def either(whole, times):
    chosen, found = whole.table[0], 0.0
    for i in range(times):
        chosen = whole.pair.left.first if i % 2 else whole.pair.right.first
        found += chosen[0]
    return found


def test_an_array_is_held_as_often_as_names_stand_for_it():
    given = outer()
    arrays = given.table, given.pair.left.first, given.pair.right.first
    before = [sys.getrefcount(array) for array in arrays]
    assert either(given, 50) == pytest.approx(either.py_func(given, 50))
    assert [sys.getrefcount(array) for array in arrays] == before


@inlined
def pasted(inner):
    return total(inner) + inner.first[0]


@allocation_free
def summed(inner):
    found = 0.0
    for value in inner.first:
        found += value
    return found


@allocation_free
def counted(whole):
    inner = whole.pair.right
    for i in range(inner.first.size):
        inner.first[i] += 1.0
    return summed(inner) + summed(whole.pair.left) + whole.scale


@compiled
def pasting(whole):
    return pasted(whole.pair.left) + pasted(whole.pair.right)


def test_kernels_that_are_pasted_in_or_count_nothing_do_the_same():
    assert pasting(outer()) == pytest.approx(pasting.py_func(outer()))
    left, right = outer().pair
    assert counted(outer()) == pytest.approx(left.first.sum() + right.first.sum() + 3.0 + 3.0)


def entry_of(function):
    def make(read):
        def entry(address, a, b):
            given = read(address)
            return function(given) + a + b

        return entry

    return make


@pytest.mark.parametrize(
    ("kernel", "value"),
    [(counted, outer), (total, lambda: numbers(5)), (both, lambda: outer().pair)],
)
def test_a_c_function_reads_what_lies_at_its_address(kernel, value):
    # Of the three, the first has a truth value, which lies in memory in another way.
    given = value()
    place = laid_out(given)
    found = LazyCFunction(entry_of(kernel), (kernel,), float, 3).of(place)
    assert found.call(place.address, 1, 2) == pytest.approx(kernel(value()) + 3.0)
