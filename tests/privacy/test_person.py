"""The price of a person at one party and at several, against dp-accounting and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.privacy import gaussian
from fedbandits.privacy.continual import calibrated, toeplitz_coefficients
from fedbandits.privacy.person import cost_at_parties, person_cost

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any)
MU, DELTA = 0.3, 1e-5


@pytest.mark.parametrize("counts", [[1], [3], [1, 1], [3, 2, 1], [1] * 12, [5, 0, 2]])
def test_it_costs_what_dp_accounting_says(counts):
    """Each party is one Gaussian mechanism with its own noise; dp-accounting composes them."""
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(
        dp_event.ComposedDpEvent(
            [dp_event.GaussianDpEvent(1.0 / (MU * count)) for count in counts if count]
        )
    )
    priced = cost_at_parties(counts, MU, DELTA, one_noise=False)
    assert priced.epsilon == pytest.approx(accountant.get_epsilon(DELTA), rel=2e-3)


@given(COUNTS, st.integers(0, 2**32 - 1))
def test_it_is_the_distance_of_all_releases_together(counts, seed):
    """Running sums of every party, as one Gaussian vector: the Mahalanobis distance of the means.

    It is the price if a party's records are all in one batch, the first, and less if not.
    """
    batches = 7
    plan = calibrated("toeplitz", batches, MU, 1.0)
    root = np.tril(np.array([np.roll(toeplitz_coefficients(batches), i) for i in range(batches)]).T)
    sums, noise = np.tril(np.ones((batches, batches))), plan.scale * root
    rng = np.random.default_rng(seed)

    def distance(batch_of):
        squares = 0.0
        for count in counts:
            batch = np.bincount(batch_of(count), minlength=batches).astype(float)
            squares += float(np.sum(np.linalg.solve(noise, sums @ batch) ** 2))
        return math.sqrt(squares)

    priced = cost_at_parties(counts, MU, DELTA, one_noise=False).mu
    together = distance(lambda count: np.zeros(count, dtype=int))
    assert together == pytest.approx(priced, rel=1e-4)  # a plan's noise has a margin for rounding
    assert distance(lambda count: rng.integers(batches, size=count)) <= priced * (1 + 1e-9)


@given(COUNTS)
def test_several_parties_cost_no_more_than_one_and_no_less_than_each(counts):
    priced, total = cost_at_parties(counts, MU, DELTA, one_noise=False), sum(counts)
    assert priced.visits == total
    assert priced.mu <= person_cost(total, MU, DELTA).mu * (1 + 1e-12)
    assert priced.mu >= max(max(counts), math.sqrt(total)) * MU * (1 - 1e-12)
    assert priced.epsilon == gaussian.epsilon_of(priced.mu, DELTA)


@given(COUNTS)
def test_under_one_noise_it_costs_as_much_as_at_one_party(counts):
    priced = cost_at_parties(counts, MU, DELTA, one_noise=True)
    assert priced.mu == person_cost(sum(counts), MU, DELTA).mu
    assert priced.mu >= cost_at_parties(counts, MU, DELTA, one_noise=False).mu * (1 - 1e-12)


def test_the_text_says_where_the_visits_were():
    assert "4 visits (as counted)" in str(cost_at_parties([0, 4], MU, DELTA, one_noise=False))
    assert "4 visits at several parties (as counted)" in str(
        cost_at_parties([1, 3], MU, DELTA, one_noise=False)
    )
    unknown = person_cost(4, MU, DELTA, "at most", places="any parties")
    assert "4 visits at as few parties as can be (the most that is expected" in str(unknown)
