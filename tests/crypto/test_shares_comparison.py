"""Which of two shared numbers is larger: right for all numbers, and each server sees noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fedbandits.crypto.kernels.comparison import (
    DEALT_BYTES,
    FIRST_WORDS,
    OPENING_BITS,
    OPENINGS,
    SECOND_WORDS,
    Correlation,
    new_side,
    open_next,
    swap_digits,
    take_opening,
)
from fedbandits.crypto.kernels.dealing import (
    First,
    ForFirst,
    ForSecond,
    Second,
    deal,
    dealt_bytes,
    expand_first,
    expand_second,
    first_width,
    new_first,
    new_for_first,
    new_for_second,
    new_second,
    second_width,
)
from fedbandits.crypto.shares import opening_bytes, pack_opening, unpack_opening

COMPARISONS = 500_000
#: Numbers whose differences stay below 2⁶³.
EDGES = np.array(
    [0, 1, -1, 2, -2, 2**31, 2**32 - 1, 2**32, -(2**32), 2**60, 2**60 - 1, -(2**60),
     2**62 - 1, -(2**62) + 1, 2**62, -(2**62)],
    np.int64,
)  # fmt: skip


def dealt(count: int, draws) -> tuple[Correlation, Correlation]:
    """What both servers have for so many comparisons, and no permutations."""
    first = draws.integers(0, 2**64, FIRST_WORDS * count, np.uint64)
    second = draws.integers(0, 2**64, SECOND_WORDS * count, np.uint64)
    one, other = new_for_first(0), new_for_second(0, count)
    deal(first, second, np.empty(0, np.int64), one, other)
    mine, theirs = new_first(0, count), new_second(0, count)
    expand_first(first, one, mine)
    expand_second(second, other, theirs)
    return mine.comparisons, theirs.comparisons


def numbers(draws, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random, equal, adjacent and extreme numbers, by turns."""
    x = draws.integers(-(2**62), 2**62, count)
    y = draws.integers(-(2**62), 2**62, count)
    k = np.arange(count)
    near, small, edge = k % 5 == 1, k % 5 == 2, k % 5 == 3
    y[near] = x[near] + draws.integers(-1, 2, near.sum())
    x[small] >>= draws.integers(0, 62, small.sum())
    y[small] = x[small] + (y[small] >> draws.integers(1, 62, small.sum()))
    x[edge], y[edge] = draws.choice(EDGES, edge.sum()), draws.choice(EDGES, edge.sum())
    too_far = np.abs(x.astype(float) - y.astype(float)) >= 2.0**63
    y[too_far] = -y[too_far] - 1
    return x, y


def shared(draws, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Shares of x - y."""
    pad = draws.integers(0, 2**64, x.size, np.uint64)
    return x.astype(np.uint64) - y.astype(np.uint64) - pad, pad


def by_parties(own, other, mine, theirs):
    """Both servers, opening by opening; also what each one sent."""
    first, second = new_side(own.size), new_side(own.size)
    first.sent[:], second.sent[:] = own, other
    sent = []
    for number in range(OPENINGS):
        open_next(number, mine, first, True)
        open_next(number, theirs, second, False)
        from_first, from_second = first.sent.copy(), second.sent.copy()
        take_opening(number, from_second, mine, first, True)
        take_opening(number, from_first, theirs, second, False)
        sent.append((from_first, from_second))
    np.testing.assert_array_equal(first.opened, second.opened)
    return first.opened, sent


def test_half_a_million_comparisons_are_those_of_plain_integers():
    draws = np.random.default_rng(1)
    x, y = numbers(draws, COMPARISONS)
    own, other = shared(draws, x, y)
    mine, theirs = dealt(COMPARISONS, draws)
    opened, sent = by_parties(own, other, mine, theirs)
    np.testing.assert_array_equal(opened, (x < y).astype(np.uint64))
    assert (x == y).sum() > COMPARISONS // 20  # equal ones were among them
    for bits, both in zip(OPENING_BITS, sent, strict=True):
        assert all(int(words.max()) < 2**bits for words in both)


def test_every_bit_of_a_random_number_matters():
    """r of one bit only, z of one difference: each of 64 bits goes through the borrows."""
    draws = np.random.default_rng(3)
    for difference in (-1, 0, 1, -(2**62), 2**62):
        x = np.full(64, difference)
        first = draws.integers(0, 2**64, (64, FIRST_WORDS), np.uint64)
        second = draws.integers(0, 2**64, (64, SECOND_WORDS), np.uint64)
        second[:, 0] = (np.uint64(1) << np.arange(64, dtype=np.uint64)) - first[:, 0]
        mine, theirs = expanded(first.ravel(), second.ravel(), 64)
        opened, _ = by_parties(*shared(draws, x, np.zeros(64, np.int64)), mine, theirs)
        np.testing.assert_array_equal(opened, np.full(64, difference < 0))


def expanded(first, second, count: int) -> tuple[Correlation, Correlation]:
    one, other = new_for_first(0), new_for_second(0, count)
    deal(first, second, np.empty(0, np.int64), one, other)
    mine, theirs = new_first(0, count), new_second(0, count)
    expand_first(first, one, mine)
    expand_second(second, other, theirs)
    return mine.comparisons, theirs.comparisons


def test_digits_are_reversed_and_back():
    for bit in range(64):
        place = int(f"{bit:06b}"[::-1], 2)
        assert int(swap_digits(np.uint64(1 << bit))) == 1 << place
    for word in np.random.default_rng(4).integers(0, 2**64, 100, np.uint64):
        assert int(swap_digits(np.uint64(swap_digits(word)))) == int(word)


# -- what a server sees is uniform, whatever the numbers are


@pytest.mark.parametrize("difference", [0, 1, -1, 2**40, -(2**62)])
def test_shares_and_openings_are_uniform_to_either_server(difference):
    """Bytes of all that a server is sent, over 100,000 comparisons of the same two numbers.

    22 χ² tests of 256 values each: a right implementation fails with probability below 22 · 10⁻⁵.
    """
    count, draws = 100_000, np.random.default_rng(5)
    x = np.full(count, difference)
    mine, theirs = dealt(count, draws)
    own, other = shared(draws, x, np.zeros(count, np.int64))
    _, sent = by_parties(own, other, mine, theirs)
    seen = []
    for number, (from_first, from_second) in enumerate(sent[:-1]):  # the last one is the result
        bits = OPENING_BITS[number]
        opened = from_first + from_second if number == 0 else from_first ^ from_second
        seen += [(words, bits) for words in (from_first, from_second, opened)]
    seen += [(theirs.bits, 64), (theirs.products, 32), (theirs.joined, 64), (own, 64)]
    for words, bits in seen:
        assert uniform_p(words, bits) > 1e-5


def uniform_p(words, bits: int) -> float:
    """The p-value of a word's bytes being uniform; of what is no whole byte, its bits."""
    whole = bits // 8 * 8
    if whole == 0:
        counts = np.bincount(words.astype(np.int64), minlength=2**bits)
    else:
        raw = words.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : whole // 8]
        counts = np.bincount(raw.ravel(), minlength=256)
    return float(stats.chisquare(counts).pvalue)


def test_the_test_of_uniformity_can_fail():
    """r of 63 bits: the byte on top is not uniform."""
    draws = np.random.default_rng(6)
    words = draws.integers(0, 2**64, 100_000, np.uint64)
    assert uniform_p(words, 64) > 1e-5
    assert uniform_p(words >> np.uint64(1), 64) < 1e-5


# -- words are used once


@pytest.mark.parametrize("server", ["first", "second"])
def test_of_every_word_exactly_one_thing_is_made(server):
    """The ledger: change one word of a seed, and one word that its server holds changes.

    Words of permutations change nothing but those. Corrections, which are dealt, change beside.
    """
    entries, count, draws = 5, 4, np.random.default_rng(7)
    seeds = {
        "first": draws.integers(0, 2**64, first_width(entries, count), np.uint64),
        "second": draws.integers(0, 2**64, second_width(entries, count), np.uint64),
    }
    before, made = own_parts(seeds, server, entries, count), []
    for at in range(seeds[server].size):
        changed = {name: words.copy() for name, words in seeds.items()}
        changed[server][at] ^= np.uint64(0x8000000080000001)
        after = own_parts(changed, server, entries, count)
        parts = {f: np.flatnonzero(before[f] != after[f]).tolist() for f in before}
        parts = {f: where for f, where in parts.items() if where}
        if set(parts) == {"places"}:
            continue
        if not parts:  # the first word of a permutation: the last draw has one possibility
            made.append(("places", 0))
            continue
        ((part, (where,)),) = parts.items()
        made.append((part, where))
    others = {(f, k) for f, words in before.items() if f != "places" for k in range(words.size)}
    assert sorted(made) == sorted(others | {("places", 0)})  # each of one word, once


#: What is dealt, not made of a server's seed.
_CORRECTIONS = {
    "first": {"shuffled", "returned"},
    "second": {"shuffled", "bits", "products", "joined"},
}


def own_parts(seeds, server: str, entries: int, count: int) -> dict[str, np.ndarray]:
    """What a server makes of its seed for one selection, part by part."""
    one, other = new_for_first(entries), new_for_second(entries, count)
    deal(seeds["first"], seeds["second"], np.empty(entries, np.int64), one, other)
    if server == "first":
        has: First | Second = new_first(entries, count)
        expand_first(seeds["first"], one, has)
    else:
        has = new_second(entries, count)
        expand_second(seeds["second"], other, has)
    compared = {
        f"of r: {f}" if f == "share" else f: v for f, v in has.comparisons._asdict().items()
    }
    parts = has._asdict() | compared
    return {f: v for f, v in parts.items() if f not in {"comparisons"} | _CORRECTIONS[server]}


def test_no_words_of_both_servers_are_the_same_after_dealing():
    """Nothing that a server is dealt is a word of the other's, in clear."""
    entries, count, draws = 6, 5, np.random.default_rng(10)
    first = draws.integers(0, 2**64, first_width(entries, count), np.uint64)
    second = draws.integers(0, 2**64, second_width(entries, count), np.uint64)
    one, other = new_for_first(entries), new_for_second(entries, count)
    deal(first, second, np.empty(entries, np.int64), one, other)
    for words in (*one, *other):
        assert not np.isin(words, np.concatenate([first, second])).any()


def test_what_was_dealt_reaches_its_place_and_none_other():
    """Change one dealt word: one word that the server has changes, in the part of that name."""
    entries, count, draws = 5, 4, np.random.default_rng(8)
    words = draws.integers(0, 2**64, 100, np.uint64)
    for made, new, expand in (
        (ForFirst, new_first, expand_first),
        (ForSecond, new_second, expand_second),
    ):
        sizes = {"bits": count, "products": count, "joined": count}
        sent = [
            draws.integers(0, 2**32, sizes.get(field, entries)).astype(
                np.uint32 if field == "products" else np.uint64
            )
            for field in made._fields
        ]
        for k, field in enumerate(made._fields):
            for at in range(sent[k].size):
                changed = [each.copy() for each in sent]
                changed[k][at] ^= changed[k].dtype.type(1)
                before, after = new(entries, count), new(entries, count)
                expand(words, made(*sent), before)
                expand(words, made(*changed), after)
                differing = parts_that_differ(before, after)
                assert differing == {field: [at]}


def parts_that_differ(before: First | Second, after: First | Second) -> dict[str, list[int]]:
    one = before._asdict() | before.comparisons._asdict()
    other = after._asdict() | after.comparisons._asdict()
    return {
        name: np.flatnonzero(one[name] != other[name]).tolist()
        for name in one
        if name != "comparisons" and not np.array_equal(one[name], other[name])
    }


# -- openings as bytes


@pytest.mark.parametrize("number", range(OPENINGS))
@pytest.mark.parametrize("count", [0, 1, 3, 8, 50])
def test_openings_are_packed_and_unpacked(number, count):
    bits = OPENING_BITS[number]
    draws = np.random.default_rng(9)
    words = draws.integers(0, 2**64, count, np.uint64) >> np.uint64(64 - bits)
    packed = pack_opening(number, words)
    assert len(packed) == opening_bytes(number, count) == -(-bits * count // 8)
    np.testing.assert_array_equal(unpack_opening(number, packed, count), words)


def test_packed_openings_of_a_wrong_form_are_refused():
    packed = pack_opening(6, np.ones(3, np.uint64))
    with pytest.raises(ValueError, match="2 bytes, expected 1"):
        unpack_opening(6, packed + b"\0", 3)
    with pytest.raises(ValueError, match="after the end"):
        unpack_opening(6, b"\x0f", 3)


def test_what_a_comparison_costs():
    assert sum(OPENING_BITS) == 157
    assert dealt_bytes(100, 99) == (1600, 800 + DEALT_BYTES * 99)
