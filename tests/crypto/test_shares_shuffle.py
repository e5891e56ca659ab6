"""Two servers shuffle shared numbers, and play a tournament among them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fedbandits.crypto.kernels.comparison import winners
from fedbandits.crypto.kernels.dealing import (
    deal,
    expand_first,
    expand_second,
    first_width,
    masked_share,
    new_first,
    new_for_first,
    new_for_second,
    new_second,
    permuted_share,
    returned_share,
    second_width,
    unit_vector,
)
from fedbandits.crypto.shares import comparisons, groups_of, pairs, stage_sizes

ARITIES = (2, 3, 4, 5, 8, 16)


def both(entries: int, draws):
    """What both servers have of one selection without comparisons."""
    first = draws.integers(0, 2**64, first_width(entries, 0), np.uint64)
    second = draws.integers(0, 2**64, second_width(entries, 0), np.uint64)
    one, other = new_for_first(entries), new_for_second(entries, 0)
    deal(first, second, np.empty(entries, np.int64), one, other)
    mine, theirs = new_first(entries, 0), new_second(entries, 0)
    expand_first(first, one, mine)
    expand_second(second, other, theirs)
    return mine, theirs


def shuffled(words, pads, mine, theirs):
    """Both shuffles; what was sent, and both shares."""
    ahead, share, moved, others = (np.empty_like(pads) for _ in range(4))
    masked_share(pads, theirs.mask, ahead)
    permuted_share(words - pads, ahead, mine.places, mine.shuffled, share)
    masked_share(share, mine.mask, moved)
    permuted_share(theirs.share, moved, theirs.places, theirs.shuffled, others)
    return ahead, share, moved, mine.share, others


@pytest.mark.parametrize("entries", [1, 2, 3, 10, 100])
def test_shares_are_shuffled_by_exactly_both_permutations(entries):
    draws = np.random.default_rng(entries)
    for _ in range(20):
        words, pads = draws.integers(0, 2**64, (2, entries), np.uint64)
        mine, theirs = both(entries, draws)
        assert sorted(mine.places) == sorted(theirs.places) == list(range(entries))
        _, between, _, one, other = shuffled(words, pads, mine, theirs)
        expected = np.empty_like(words)
        expected[mine.places] = words
        np.testing.assert_array_equal(between + theirs.share, expected)
        expected[theirs.places[mine.places]] = words
        np.testing.assert_array_equal(one + other, expected)


@pytest.mark.parametrize("entries", [1, 2, 7, 50])
def test_the_winner_is_told_to_its_owner_alone(entries):
    draws = np.random.default_rng(entries)
    for winner in range(entries):
        mine, theirs = both(entries, draws)
        unit, sent, own = (np.empty(entries, np.uint64) for _ in range(3))
        unit_vector(int(mine.places[winner]), unit)
        masked_share(unit, theirs.returned_mask, sent)
        returned_share(sent, mine.places, mine.returned, own)
        told = own + theirs.returned_share
        np.testing.assert_array_equal(told, np.arange(entries) == winner)


def test_what_servers_send_is_uniform_whatever_is_shared():
    """χ² of bytes over 4,000 shuffles of the same numbers.

    Six tests: a right implementation fails with probability below 6 · 10⁻⁵.
    """
    draws, seen = np.random.default_rng(11), []
    words = np.arange(5, dtype=np.uint64)
    for _ in range(4000):
        pads = draws.integers(0, 2**64, 5, np.uint64)
        mine, theirs = both(5, draws)
        ahead, share, moved, one, other = shuffled(words, pads, mine, theirs)
        unit = np.empty(5, np.uint64)
        unit_vector(2, unit)
        seen.append((ahead, share, moved, one, other, unit - theirs.returned_mask))
    for column in zip(*seen, strict=True):
        counts = np.bincount(np.concatenate(column).view(np.uint8), minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-5


def test_both_orders_are_uniform():
    """All orders of three, of both servers together: 36 pairs equally likely, p > 10⁻⁵."""
    draws, counts = np.random.default_rng(12), {}
    for _ in range(7200):
        mine, theirs = both(3, draws)
        key = (*mine.places.tolist(), *theirs.places.tolist())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 36
    assert stats.chisquare(list(counts.values())).pvalue > 1e-5


# -- tournaments


def played(numbers, arity: int) -> tuple[int, list[int]]:
    """The place that wins among plain numbers, and how many were compared in every stage."""
    places, left, compared = np.arange(len(numbers)), len(numbers), []
    while left > 1:
        who = places[pairs(left, arity)]
        lost = (numbers[who[:, 0]] < numbers[who[:, 1]]).astype(np.uint64)
        compared.append(len(who))
        left = winners(places, left, groups_of(left, arity), lost)
    return int(places[0]), compared


@pytest.mark.parametrize("arity", range(2, 17))
def test_the_largest_wins(arity):
    draws = np.random.default_rng(arity)
    for entries in range(1, 41):
        for _ in range(3):
            numbers = draws.permutation(entries)
            place, compared = played(numbers, arity)
            assert numbers[place] == entries - 1
            assert sum(compared) == comparisons(entries, arity)
            assert len(compared) == len(stage_sizes(entries, arity))
        for first in (np.arange(entries), np.arange(entries)[::-1]):
            assert first[played(first, arity)[0]] == entries - 1


def test_of_few_numbers_all_orders_find_the_largest():
    for entries, arity in itertools.product(range(2, 7), (2, 3, 4)):
        for order in itertools.permutations(range(entries)):
            assert order[played(np.array(order), arity)[0]] == entries - 1


@pytest.mark.parametrize("arity", ARITIES)
def test_groups_are_as_equal_as_can_be(arity):
    for entries in range(2, 200):
        sizes = group_sizes(entries, arity)
        assert sum(sizes) == entries
        assert len(sizes) == groups_of(entries, arity)
        assert max(sizes) <= arity
        assert max(sizes) - min(sizes) <= 1


def group_sizes(entries: int, arity: int) -> list[int]:
    """Sizes of groups, from who is compared with whom."""
    group = list(range(entries))
    for i, j in pairs(entries, arity).tolist():
        group[j] = min(group[j], group[i])
    sizes = [group.count(g) for g in dict.fromkeys(group)]
    assert sum(size * (size - 1) // 2 for size in sizes) == len(pairs(entries, arity))
    return sizes


@pytest.mark.parametrize("arity", ARITIES)
def test_there_are_as_many_stages_as_the_logarithm_says(arity):
    for entries in range(2, 2000):
        stages, reach = len(stage_sizes(entries, arity)), 1
        for _ in range(stages - 1):
            reach *= arity
        assert reach < entries <= reach * arity


@pytest.mark.parametrize("arity", ARITIES)
def test_no_other_groups_of_as_few_stages_take_fewer_comparisons(arity):
    """All tournaments are tried whose groups of a stage are as large as each other, but for one."""

    def courses(entries: int) -> list[tuple[int, int]]:
        """Stages and comparisons of each."""
        if entries == 1:
            return [(0, 0)]
        found = []
        for size in range(2, min(arity, entries) + 1):
            groups = math.ceil(entries / size)
            sizes = [entries // groups + (g < entries % groups) for g in range(groups)]
            now = sum(math.comb(each, 2) for each in sizes)
            found += [(stages + 1, later + now) for stages, later in courses(groups)]
        return found

    for entries in (2, 3, 7, 16, 29, 40):
        best = len(stage_sizes(entries, arity)), comparisons(entries, arity)
        assert best == min(courses(entries))


def test_how_many_are_compared():
    assert [comparisons(entries, 2) for entries in range(1, 9)] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert comparisons(1000, 2) == 999
    assert comparisons(16, 16) == 16 * 15 // 2
    assert stage_sizes(100, 4) == (100, 50, 13, 4)
    # 50 pairs; 11 groups of four and 2 of three; one of four and 3 of three; the last four.
    assert comparisons(100, 4) == 50 + (11 * 6 + 2 * 3) + (6 + 3 * 3) + 6


@pytest.mark.parametrize("size", [3, 4, 5])
def test_results_that_no_numbers_cause_are_found(size):
    """All patterns of a group: a place wins all its comparisons, or -1."""
    who = pairs(size, size)
    for pattern in itertools.product((0, 1), repeat=len(who)):
        wins = [0] * size
        for (i, j), lost in zip(who.tolist(), pattern, strict=True):
            wins[j if lost else i] += 1
        places = np.arange(10, 10 + size)
        left = winners(places, size, 1, np.array(pattern, np.uint64))
        if size - 1 in wins:
            assert left == 1
            assert places[0] == 10 + wins.index(size - 1)
        else:
            assert left == -1


def test_one_group_that_nobody_wins_is_enough():
    places = np.arange(6)
    fair, cycle = [0, 0, 0], [0, 1, 0]
    assert winners(places.copy(), 6, 2, np.array(fair + fair, np.uint64)) == 2
    assert winners(places.copy(), 6, 2, np.array(fair + cycle, np.uint64)) == -1
    assert winners(places.copy(), 6, 2, np.array(cycle + fair, np.uint64)) == -1
