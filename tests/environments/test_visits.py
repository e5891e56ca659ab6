"""Numbers of visits that nobody exceeds: at all parties, and their squares at each."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.environments import Classification
from fedbandits.facts import EXCEEDED, ContextualFacts, largest_squares, packed

FACTS = ContextualFacts(
    parties=4, dimension=2, arms=2, persons=10, most_share=0.4, most_parties=4, share_at_one=0.1
)


@given(st.integers(0, 12), st.integers(1, 6))
def test_as_few_parties_as_can_be_have_the_largest_squares(visits, cap):
    ways = (
        counts
        for parts in range(visits + 1)
        for counts in itertools.combinations_with_replacement(range(1, cap + 1), parts)
        if sum(counts) == visits
    )
    assert packed(visits, cap) == max(sum(n * n for n in counts) for counts in ways)


@pytest.mark.parametrize(
    ("persons", "parties", "rounds"), [(50, 1, 40), (50, 8, 40), (200, 60, 100), (10, 3, 400)]
)
def test_squares_are_exceeded_as_seldom_as_said(persons, parties, rounds):
    """Worlds are drawn as Classification draws them: a row a round, of all rows alike."""
    each, worlds = 1.0 / persons, 300
    bound = largest_squares(rounds * parties * each, rounds * each, persons, parties, rounds)
    rng = np.random.default_rng(3)
    counts = rng.multinomial(rounds, [each] * persons, size=(worlds, parties))
    most = (counts**2).sum(axis=1).max(axis=1)
    assert (most > bound).mean() <= EXCEEDED + 3.0 * math.sqrt(EXCEEDED / worlds)
    assert bound <= 1.5 * most.max()  # a bound that says something


def test_unequal_shares_are_bounded_too():
    """One party that a person visits often, and many that it visits seldom."""
    shares, rounds, persons = np.array([0.05, *[0.002] * 50]), 100, 20
    bound = largest_squares(rounds * shares.sum(), rounds * 0.05, persons, 51, rounds)
    counts = np.random.default_rng(5).binomial(rounds, shares, size=(400, persons, 51))
    most = (counts**2).sum(axis=2).max(axis=1)
    assert (most > bound).mean() <= EXCEEDED
    equal = largest_squares(rounds * 51 * 0.05, rounds * 0.05, persons, 51, rounds)
    assert bound < equal


@pytest.mark.parametrize("rounds", [1, 30, 1000, 1_000_000])
def test_squares_lie_between_those_of_visits_apart_and_together(rounds):
    visits = FACTS.most_visits(rounds)
    squares = FACTS.squared_visits(rounds)
    mean = rounds * FACTS.most_share
    assert mean**2 / 4 <= squares <= packed(int(visits), rounds)
    assert FACTS.squared_visits(rounds, 1) <= min(4, squares)
    unknown = msgspec.structs.replace(FACTS, share_at_one=None)
    assert unknown.squared_visits(rounds) == packed(int(visits), rounds) >= squares
    assert not unknown.knows_parties_of_persons


def test_many_visits_are_bounded_closely():
    squares, expected = FACTS.squared_visits(1_000_000), 4 * (1_000_000 * 0.1) ** 2
    assert expected <= squares <= 1.1 * expected


def test_squares_that_are_known_are_taken():
    facts = ContextualFacts(
        parties=5, dimension=2, arms=2, persons=3, most_rows=9, most_parties=3, most_squares=33
    )
    assert facts.squared_visits(50) == 33
    assert facts.squared_visits(50, 2) == 3 * 2**2
    assert facts.squared_visits(1) == 3  # a visit a round, at three parties


def test_without_persons_nothing_is_known():
    assert ContextualFacts(parties=2, dimension=2, arms=2).squared_visits(10) is None


def test_the_quickstarts_hospitals():
    """Twenty worlds were drawn, and the dearest person of them had Σ n² = 173.

    ``python benchmarks/price_per_person.py`` counts them.
    """
    facts = Classification(agents=500, shards="shared").facts
    assert facts.most_visits(100) == 135
    assert 173 <= facts.squared_visits(100) <= 200
