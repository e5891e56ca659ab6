from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.errors import UnknownEventError
from fedbandits.privacy import accounting
from fedbandits.privacy.accounting import (
    Clear,
    ContinualSum,
    Encrypted,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
)
from fedbandits.privacy.continual import ContinualPlan, calibrated


def test_gaussian_releases_compose_as_the_oracle_says():
    events = [GaussianRelease(1.0, 3.0), GaussianRelease(2.0, 5.0)]
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(3.0)).compose(dp_event.GaussianDpEvent(2.5))
    assert accounting.epsilon(events, 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), abs=1e-3)


def test_a_running_sum_costs_what_it_was_calibrated_for():
    plan = calibrated("toeplitz", 20, 0.7, 2.0)
    assert accounting.mu(ContinualSum(plan, 2.0)) == pytest.approx(0.7, rel=5e-5)
    assert accounting.mu(ContinualSum(plan, 2.0, releases=0)) == 0.0
    assert accounting.mu(ContinualSum(plan, 2.0, releases=5)) < 0.7


def test_a_tree_costs_the_root_of_its_levels():
    # 8 releases, 4 levels: μ = √4 · 2 / 10.
    assert accounting.mu(ContinualSum(ContinualPlan("tree", 8, 10.0), 2.0)) == pytest.approx(0.4)


def test_statistics_in_clear_have_no_finite_price():
    assert accounting.epsilon([Clear()], 1e-5) == math.inf
    assert accounting.epsilon([], 1e-5) == 0.0


def test_unknown_events_are_refused():
    with pytest.raises(UnknownEventError, match="str"):
        accounting.total_mu([GaussianRelease(1.0, 1.0), "a tree, surely"])


def test_every_event_can_be_described():
    assert "sensitivity 1, deviation 2" in accounting.describe(GaussianRelease(1.0, 2.0))
    tree = ContinualSum(ContinualPlan("tree", 8, 1.5), 2.0)
    assert "tree running sum, 8 releases planned, noise scale 1.5" in accounting.describe(tree)
    assert "clear" in accounting.describe(Clear())


def oracle(events, accountant):
    for event in events:
        accountant.compose(event)
    return accountant


def gaussian_event(mu):
    return dp_event.GaussianDpEvent(1.0 / mu)


@pytest.mark.parametrize("mechanism", ["tree", "toeplitz"])
@pytest.mark.parametrize("releases", [1, 7, 32])
def test_running_sums_cost_what_two_other_accountants_say(mechanism, releases):
    """A record is under every level of a tree; Toeplitz releases are one Gaussian vector."""
    plan, norm, delta = ContinualPlan(mechanism, releases, 20.0), 2.0, 1e-5
    ours = accounting.epsilon([ContinualSum(plan, norm)], delta)
    if mechanism == "tree":
        events = [gaussian_event(norm / plan.scale)] * releases.bit_length()
    else:
        c, total = 1.0, 1.0
        for k in range(1, releases):
            c *= 1 - 1 / (2 * k)
            total += c * c
        events = [gaussian_event(math.sqrt(total) * norm / plan.scale)]
    exact = oracle(events, pld_privacy_accountant.PLDAccountant()).get_epsilon(delta)
    renyi = oracle(events, rdp_privacy_accountant.RdpAccountant()).get_epsilon(delta)
    assert ours == pytest.approx(exact, abs=2e-3)
    assert ours <= renyi


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("count", [1, 5])
def test_laplace_releases_never_cost_less_than_exact_accounting_says(epsilon, count):
    events = [LaplaceRelease(2.0, 2.0 / epsilon)] * count
    ours = accounting.epsilon(events, 1e-4)
    laplace = [dp_event.LaplaceDpEvent(1.0 / epsilon)] * count
    exact = oracle(laplace, pld_privacy_accountant.PLDAccountant()).get_epsilon(1e-4)
    assert exact <= ours + 1e-9
    assert ours <= 1.5 * exact + 1e-9
    mixed = [*events, GaussianRelease(1.0, 2.0)]
    exact = oracle([*laplace, gaussian_event(0.5)], pld_privacy_accountant.PLDAccountant())
    assert exact.get_epsilon(1e-4) <= accounting.epsilon(mixed, 1e-4) + 1e-9


@given(st.floats(0.01, 8.0), st.floats(1e-6, 1 - 1e-6))
def test_the_price_of_laplace_noise_is_the_smallest_that_holds(epsilon, level):
    """Its trade-off function lies above the Gaussian one everywhere, and touches it."""
    mu = accounting.laplace_mu(epsilon, 1.0)
    laplace = stats.laplace.cdf(stats.laplace.ppf(1 - level) - epsilon)
    assert laplace >= stats.norm.cdf(stats.norm.ppf(1 - level) - mu) - 1e-12
    touching = 0.5 * math.exp(-epsilon / 2)
    assert stats.norm.cdf(stats.norm.ppf(1 - touching) - mu) == pytest.approx(touching, rel=1e-9)


def test_of_releases_on_disjoint_records_the_costliest_is_charged():
    parts = (GaussianRelease(1.0, 4.0), LaplaceRelease(1.0, 100.0), GaussianRelease(1.0, 2.0))
    assert accounting.mu(Parallel(parts)) == 0.5
    assert accounting.mu(Parallel(())) == 0.0
    assert accounting.total_mu([Parallel(parts), GaussianRelease(1.0, 2.0)]) == pytest.approx(
        math.sqrt(0.5)
    )


def test_encryption_costs_nothing_and_promises_nothing():
    assert accounting.mu(Encrypted("AES")) == 0.0
    assert "nothing charged" in accounting.describe(Encrypted("AES"))


def test_basic_composition_is_what_papers_add_up():
    one = GaussianRelease(1.0, 5.0)
    alone = accounting.epsilon([one], 1e-5)
    assert accounting.basic_epsilon([one], 1e-5) == pytest.approx(alone)
    nine = accounting.basic_epsilon([one] * 9, 1e-5)
    assert nine == pytest.approx(9 * accounting.epsilon([one], 1e-5 / 9))
    assert nine > accounting.epsilon([one] * 9, 1e-5)
    tree = ContinualSum(ContinualPlan("tree", 100, 10.0), 1.0)  # seven levels of μ = 0.1
    levels = [GaussianRelease(1.0, 10.0)] * 7
    assert accounting.basic_epsilon([tree], 1e-5) == pytest.approx(
        accounting.basic_epsilon(levels, 1e-5)
    )
    assert accounting.basic_epsilon([], 1e-5) == 0.0
    assert accounting.basic_epsilon([Clear()], 1e-5) == math.inf


@given(st.floats(0.05, 5.0), st.floats(1e-8, 0.1), st.integers(1, 30))
def test_calibration_inverts_accounting_on_the_safe_side(epsilon, delta, count):
    def events(noise):
        return [GaussianRelease(2.0, noise)] * count + [Parallel((LaplaceRelease(1.0, noise),))]

    noise = accounting.calibrate(events, epsilon, delta)
    assert accounting.epsilon(events(noise), delta) <= epsilon * (1 + 1e-12)
    assert accounting.epsilon(events(noise * (1 - 1e-9)), delta) > epsilon * (1 - 1e-6)


def test_what_cannot_be_calibrated_or_priced_is_refused():
    with pytest.raises(ValueError, match="no noise"):
        accounting.calibrate(lambda _: [Clear()], 1.0, 1e-5)
    for event in (GaussianRelease(math.nan, 1.0), LaplaceRelease(1.0, -1.0)):
        with pytest.raises(UnknownEventError, match="numbers ≥ 0"):
            accounting.mu(event)


@pytest.mark.parametrize(
    "bad",
    [
        ContinualSum(ContinualPlan("tree", 4, 1.0), math.nan),
        ContinualSum(ContinualPlan("tree", 4, 1.0), -2.0),
        GaussianRelease(math.inf, math.inf),
        GaussianRelease(1.0, math.inf),
    ],
)
def test_numbers_that_are_none_do_not_pass_for_a_small_price(bad):
    good = GaussianRelease(1.0, 10.0)
    for event in (bad, Parallel((good, bad)), Parallel((bad, good))):
        with pytest.raises(UnknownEventError):
            accounting.total_mu([event, good])


def test_a_tree_without_releases_costs_nothing():
    for event in (
        ContinualSum(ContinualPlan("tree", 4, 1.0), 1.0, 0),
        ContinualSum(ContinualPlan("tree", 0, 1.0), 1.0),
    ):
        assert accounting.basic_epsilon([event], 1e-5) == 0.0


def test_laplace_noise_is_calibrated_by_its_own_price_where_that_is_less():
    scale = accounting.calibrate(lambda b: [LaplaceRelease(1.0, b)], 1.0, 1e-5)
    assert scale == pytest.approx(1.0)
