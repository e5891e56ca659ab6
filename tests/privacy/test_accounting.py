from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant

from fedbandits.errors import UnknownEventError
from fedbandits.privacy import accounting
from fedbandits.privacy.accounting import Clear, ContinualSum, GaussianRelease
from fedbandits.privacy.continual import ContinualPlan, calibrated


def test_gaussian_releases_compose_as_the_oracle_says():
    events = [GaussianRelease(1.0, 3.0), GaussianRelease(2.0, 5.0)]
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(3.0)).compose(dp_event.GaussianDpEvent(2.5))
    assert accounting.epsilon(events, 1e-5) == pytest.approx(accountant.get_epsilon(1e-5), abs=1e-3)


def test_a_running_sum_costs_what_it_was_calibrated_for():
    plan = calibrated("toeplitz", 20, 0.7, 2.0)
    assert accounting.mu(ContinualSum(plan, 2.0)) == pytest.approx(0.7)
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
