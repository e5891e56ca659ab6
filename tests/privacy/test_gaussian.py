from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.privacy import gaussian
from tests.strategies import deltas, epsilons


def pld_epsilon(deviation: float, count: int, delta: float) -> float:
    """The oracle: Google's privacy-loss-distribution accountant, for Gaussian releases."""
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(deviation), count)
    return accountant.get_epsilon(delta)


def test_twenty_releases_cost_what_an_accountant_says():
    mu = gaussian.compose([1 / 8] * 20)
    assert gaussian.epsilon_of(mu, 1e-6) == pytest.approx(2.548698, abs=5e-7)
    assert gaussian.epsilon_of(mu, 1e-6) == pytest.approx(pld_epsilon(8.0, 20, 1e-6), abs=2e-4)


@pytest.mark.parametrize("deviation", [0.7, 2.0, 6.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5])
def test_epsilon_agrees_with_the_oracle(deviation, delta):
    oracle = pld_epsilon(deviation, 3, delta)
    mine = gaussian.epsilon_of(math.sqrt(3) / deviation, delta)
    assert mine == pytest.approx(oracle, rel=1e-3, abs=1e-3)
    assert mine <= oracle + 1e-9  # the oracle rounds up


@given(epsilons, deltas)
def test_calibration_is_on_the_safe_side_and_tight(epsilon, delta):
    mu = gaussian.mu_of(epsilon, delta)
    assert gaussian.delta_of(epsilon, mu) <= delta
    assert gaussian.delta_of(epsilon, mu * (1 + 1e-9)) >= delta * (1 - 1e-6)


@given(st.floats(0.01, 15.0), deltas)
def test_epsilon_is_rounded_up_and_tight(mu, delta):
    epsilon = gaussian.epsilon_of(mu, delta)
    assert gaussian.delta_of(epsilon, mu) <= delta
    if epsilon > 0:
        assert gaussian.delta_of(epsilon * (1 - 1e-9), mu) >= delta * (1 - 1e-6)


@given(epsilons, deltas)
def test_mu_and_epsilon_invert_one_another(epsilon, delta):
    assert gaussian.epsilon_of(gaussian.mu_of(epsilon, delta), delta) == pytest.approx(
        epsilon, rel=1e-6
    )


def test_delta_at_epsilon_zero_is_the_total_variation():
    # δ(0) = 2Φ(μ/2) - 1, by hand at μ = 2: 2 · 0.841344746 - 1.
    assert gaussian.delta_of(0.0, 2.0) == pytest.approx(0.682689492, abs=1e-9)


def test_extremes():
    assert gaussian.epsilon_of(0.0, 1e-5) == 0.0
    assert gaussian.epsilon_of(math.inf, 1e-5) == math.inf
    assert gaussian.delta_of(1.0, 0.0) == 0.0
    assert gaussian.delta_of(1.0, math.inf) == 1.0
    assert 0.0 < gaussian.delta_of(2000.0, 60.0) < 1.0  # where e^ε overflows


@given(st.floats(0.05, 1.0), st.floats(1e-9, 1e-3))
def test_exact_calibration_beats_the_classical_formula(epsilon, delta):
    classical = epsilon / math.sqrt(2.0 * math.log(1.25 / delta))
    assert gaussian.mu_of(epsilon, delta) >= classical


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)]
)
def test_impossible_budgets_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        gaussian.mu_of(epsilon, delta)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.floats(0.1, 3.0),
    st.floats(0.1, 3.0),
    st.booleans(),
)
def test_no_replacement_moves_the_statistic_further_than_claimed(seed, d, bound, reward, same):
    """In Frobenius norm, over shared and disjoint models: √2 times the stated reach at most."""
    import numpy as np

    rng = np.random.default_rng(seed)

    def block():
        x = rng.normal(size=d)
        x *= bound / np.linalg.norm(x) * rng.choice([1.0, rng.uniform()])
        y = reward * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
        z = np.append(x, y)
        outer = np.outer(z, z)
        outer[d, d] = 0.0  # the corner is not released
        return outer

    one, two = block(), block()
    distance = (
        np.linalg.norm(one - two) if same else math.hypot(np.linalg.norm(one), np.linalg.norm(two))
    )
    limit = math.sqrt(2.0) * gaussian.record_sensitivity(bound, reward)
    assert distance <= limit * (1 + 1e-12)
