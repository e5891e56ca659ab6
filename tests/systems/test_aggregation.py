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
    assert of_few(SecureSum(3, 40, 7)) == SecureSum(3)
    assert of_few(Clear()) == Clear()


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
