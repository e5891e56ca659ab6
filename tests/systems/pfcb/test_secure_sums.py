"""Secure sums of buyers: their noise, what a purchase moves, and what is claimed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.environments import Procurement
from fedbandits.errors import ConfigError
from fedbandits.privacy.continual import ContinualPlan, encoder
from fedbandits.privacy.gaussian import epsilon_of, mu_of
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb import SYSTEM
from fedbandits.systems.pfcb import noise as pfcb_noise
from fedbandits.systems.pfcb.kernels.sums import AXES, measures, unit_weight, write_sums
from fedbandits.testing.replicates import plan_of, simulate
from tests.contracts.test_pfcb_drivers import compare

WORLD = Procurement(agents=5, producers=20, max_capacity=9)
#: Of five buyers four are in a sum, and one of them may tell its noise.
HONEST, BUYERS = 3, 5
ROUNDS = 60


def config_of(**parts):
    return system("pfcb-secure", **{"window": (5, 50), "zeta": 0.6, **parts}).config


# ---------------------------------------------------------------- noise


def noise_in_sums(replicates: int) -> np.ndarray:
    """Noise of all sums in largest capacities and along its axes, (replicates · 2 m, releases)."""
    config, found = config_of(), []
    for replicate in range(replicates):
        run, noise = simulate(config, WORLD, ROUNDS, 7, replicate), []
        most = run.world.capacity.max(axis=0)
        for k in range(run.plan.constants.releases):
            run.advance(int(run.plan.constants.exchange_times[k]))
            total = run.state.total * run.plan.constants.step
            for j in range(BUYERS):
                bought, good = run.state.books.own[j]
                weight = np.floor(1024 * most / np.maximum(run.world.capacity[j], most / 2)) / 1024
                total -= np.concatenate([weight * bought, weight * (2 * good - bought)])
            noise.append(total / np.outer(AXES, most).reshape(-1))
        found.append(np.array(noise).T)
    return np.concatenate(found)


def require_stated_noise() -> None:
    """Hold the covariance of sums to five shares of which three make the whole noise."""
    noise = noise_in_sums(40)
    count = noise.shape[1]
    inner = encoder(count, 1.5**-0.5)  # of ``growing(1.5)``
    scale = math.sqrt(BUYERS / HONEST) / mu_of(1.0, 0.01)
    white = np.linalg.solve(np.tri(count) @ np.linalg.inv(inner), noise.T) / scale
    error = math.sqrt(2.0 / white.size)
    assert abs(np.mean(white**2) - 1.0) < 5.0 * error
    together = white @ white.T / white.shape[1]
    assert np.abs(together - np.eye(count)).max() < 5.0 / math.sqrt(white.shape[1])


def test_a_sum_has_the_noise_of_its_shares_and_no_other():
    require_stated_noise()


@pytest.mark.parametrize("divided_by", [1, BUYERS], ids=["not divided", "by all buyers"])
def test_noise_that_is_divided_otherwise_is_found(monkeypatch, divided_by):
    def share_plan(total: ContinualPlan, honest: int) -> ContinualPlan:
        scale = total.scale / math.sqrt(divided_by)
        return ContinualPlan(total.mechanism, total.releases, scale, total.decay)

    monkeypatch.setattr(pfcb_noise, "share_plan", share_plan)
    with pytest.raises(AssertionError):
        require_stated_noise()


def test_nothing_in_a_run_grows_with_the_square_of_buyers():
    config = system("pfcb-secure").config
    held = {}
    for buyers in (500, 2000):
        run = simulate(config, Procurement(agents=buyers, producers=5), 20, 0, 0)
        run.advance(20)
        assert run.syncs >= 4
        assert run.messages == run.syncs * 2 * (buyers + 2 * 2)
        arrays = [a for part in (run.state, run.state.books, run.state.tally) for a in part]
        held[buyers] = sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
        assert (run.state.tally.judged.sum(axis=1) == 5 * run.syncs).all()
    assert held[2000] < 4.1 * held[500]


# ---------------------------------------------------------------- what a purchase moves


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
@settings(max_examples=200)
def test_a_purchase_moves_a_sum_by_no_more_than_one_of_the_largest_buyer(capacities):
    most = float(max(capacities))
    deviations = np.array(AXES) * max(most, 1.0)
    for capacity in capacities:
        weight = unit_weight(capacity, most)
        assert weight * 1024 == int(weight * 1024)
        assert 1.0 <= weight <= 2.0
        corners = [(0, 0), (capacity, 0), (capacity, capacity)]
        for one, other in itertools.permutations(corners, 2):
            sums = np.zeros((2, 2))
            for row, (units, good) in zip(sums, (one, other), strict=True):
                own = np.array([[float(units)], [float(good)]])
                write_sums(np.array([capacity]), np.array([most]), own, row)
            assert np.linalg.norm((sums[0] - sums[1]) / deviations) <= 1.0 + 1e-12


@given(st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=3), min_size=2, max_size=9))
def test_effective_units_have_the_variance_of_units_where_orders_are_whole(rows):
    """Var(Σ a (y - q w)) = q (1 - q) Σ a² k, as that of Σ a² k / ρ² units, ρ effective ones."""
    capacities = np.array(rows)
    known = measures(capacities)
    weights = np.array(
        [[unit_weight(int(k), float(m)) for k, m in zip(row, known.most, strict=True)]
         for row in capacities]
    )  # fmt: skip
    effective = (weights * capacities).sum(axis=0) / known.typical
    spread = (weights**2 * capacities).sum(axis=0) / known.typical**2
    np.testing.assert_allclose(effective, spread)
    np.testing.assert_array_equal(known.most, capacities.max(axis=0))
    assert (effective <= capacities.sum(axis=0) * (1 + 1e-12)).all()


# ---------------------------------------------------------------- plans and claims


def test_the_stated_price_is_met_and_single_reports_cost_more():
    plan = plan_of(config_of(epsilon=2.0, delta=1e-3), WORLD, ROUNDS)
    claim = SYSTEM.claim(plan)
    assert 1.999 < claim.epsilon <= 2.0
    share = epsilon_of(claim.mu * math.sqrt(HONEST), 1e-3)
    assert [view.epsilon for view in claim.views] == [claim.epsilon, share, share, 0.0]
    assert claim.holds_for == "fixed log"
    assert "at least 4 of the 5 buyers" in " ".join(claim.conditional_on)
    assert plan.epsilon_spent(1) < plan.epsilon_spent(plan.constants.releases) <= 2.0


def test_whoever_acts_on_sums_alone_has_a_claim_for_interactive_data():
    config = config_of(local_view="released", schedule="growing(2)")
    assert SYSTEM.claim(plan_of(config, WORLD, ROUNDS)).holds_for == "interactive"


def test_late_outcomes_are_charged_without_what_two_reports_have_in_common():
    """Others may be in one of the two sums alone."""
    in_time, late = (
        plan_of(config_of(outcomes=outcomes), WORLD, ROUNDS) for outcomes in ("immediate", "late")
    )
    assert late.constants.share == pytest.approx(math.sqrt(2.0) * in_time.constants.share)
    assert late.epsilon_spent(late.constants.releases) == pytest.approx(1.0, rel=1e-4)


def test_noise_grows_with_what_rounding_moves_where_there_are_many_buyers():
    config = system("pfcb-secure").config
    plan = plan_of(config, Procurement(agents=10_000), 100_000)
    assert 1.001 < plan.sensitivity < 1.02
    assert plan.epsilon_spent(plan.constants.releases) == pytest.approx(1.0, rel=1e-4)
    assert plan_of(config, Procurement(), 100_000).sensitivity == 1.0
    with pytest.raises(ConfigError, match="more than the calibrated noise has room for"):
        plan_of(config, Procurement(agents=10_000, producers=1), 10**8)


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"privatizer": "none"}, "no noise to share"),
        ({"privatizer": "correlated"}, 'sums of all purchases so far; set privatizer = "optimal"'),
        ({"privatizer": "published"}, 'set privatizer = "optimal"'),
        ({"schedule": "never"}, "buyers do not communicate"),
    ],
)
def test_what_cannot_be_summed_is_refused(settings_, said):
    with pytest.raises(ConfigError, match=said):
        system("pfcb-secure", **settings_)


def test_more_colluding_buyers_need_more_noise():
    few, many = (
        plan_of(
            config_of(aggregation={"kind": "secure-sum", "least_parties": 5, "colluding": c}),
            WORLD, ROUNDS,
        )
        for c in (1, 3)
    )  # fmt: skip
    assert many.constants.share == pytest.approx(math.sqrt(2.0) * few.constants.share)


# ---------------------------------------------------------------- loop and parties


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"local_view": "released", "exploration_units": "capacity", "schedule": "growing(2)"},
        {"outcomes": "late"},
        {"privatizer": "continual", "acceptance": "always"},
        {"aggregation": "secure-sum(1)", "weighting": "constant(2)", "schedule": "every"},
    ],
    ids=["preset", "released", "late", "continual", "every round"],
)
def test_loop_and_parties_are_one(parts):
    config = config_of(epsilon=8.0, **parts)
    compare(config, Procurement(agents=4, producers=6), ROUNDS, 2, 0)
