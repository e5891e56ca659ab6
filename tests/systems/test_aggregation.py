"""Numbers of secure sums, and what cannot be summed so."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.errors import ConfigError
from fedbandits.settings.experiment import system
from fedbandits.systems.aggregation import Clear, SecureSum, SecureTotals, of_few, secure_totals


@given(st.integers(2, 10_000))
def test_auto_leaves_an_honest_party_and_grows_with_all(parties):
    found = secure_totals(SecureSum(), parties)
    assert 1 <= found.colluding < found.least_parties <= parties
    assert found.least_parties >= 0.8 * parties > found.least_parties - 1
    assert found.colluding >= 0.1 * parties > found.colluding - 1
    assert found.honest == found.least_parties - found.colluding


def test_numbers_that_are_given_stay():
    assert secure_totals(SecureSum(1, 40, 7), 50) == SecureTotals(1, 40, 7)
    assert secure_totals(Clear(), 50) is None


@pytest.mark.parametrize(
    ("given", "parties", "few", "least", "colluding"),
    [
        ((3,), 500, 4, 4, 1),
        ((3,), 500, 5, 4, 1),
        ((3, 40, 7), 50, 5, 4, 1),
        ((3, 2, 1), 500, 4, 2, 1),
        ((3, 500, 499), 500, 4, 4, 3),
        ((3, 2, 1), 2, 5, 5, 3),
    ],
)
def test_a_few_parties_have_the_same_shares_of_all(given, parties, few, least, colluding):
    assert of_few(SecureSum(*given), parties, few) == SecureSum(3, least, colluding)
    assert of_few(Clear(), parties, few) == Clear()


@given(st.integers(2, 2000), st.integers(2, 6), st.data())
def test_a_few_parties_leave_somebody_honest(parties, few, data):
    least = data.draw(st.integers(2, parties))
    given = SecureSum(2, least, data.draw(st.integers(1, least - 1)))
    found = secure_totals(of_few(given, parties, few), few)
    assert found.honest >= 1
    assert found.least_parties >= min(few, few * least / parties)


@pytest.mark.parametrize(
    ("least", "colluding", "parties", "said"),
    [
        (51, 1, 50, "least_parties = 51 and colluding = 1"),
        (5, 5, 50, "least_parties = 5 and colluding = 5"),
        ("auto", "auto", 1, "two parties at least"),
    ],
)
def test_sums_without_an_honest_party_are_refused(least, colluding, parties, said):
    with pytest.raises(ConfigError, match=said):
        secure_totals(SecureSum(2, least, colluding), parties)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"privatizer": "none"}, "no noise to share"),
        ({"privatizer": "tree(published)"}, 'set privatizer = "tree"'),
        ({"schedule": "never"}, "all agents must release"),
        ({"epsilon": [1.0, 2.0]}, "give one epsilon"),
        ({"confidence": "published"}, 'set confidence = "adaptive"'),
        ({"schedule": "determinant", "privatizer": "tree", "local_view": "raw",
          "confidence": "adaptive"}, "all agents must release"),
        ({"aggregation": "secure-sum(4)"}, "aggregation.helpers: given 4"),
        ({"aggregation": "secure-sum(0)"}, "aggregation.helpers: given 0"),
    ],
)  # fmt: skip
def test_feducb_says_what_cannot_be_summed(settings, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        system("feducb-secure", **settings)
