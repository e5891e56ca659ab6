"""Oracles: never infeasible, the greedy one close to the best, the exact one best."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.learners.kernels.purchasing import EXACT, GREEDY, buy, meets_constraint, total
from tests.learners.integer_programming import optimum_by_integer_programming


def ask(oracle, revenue, surplus, capacity, reserve=0.0):
    revenue, surplus = np.asarray(revenue, float), np.asarray(surplus, float)
    capacity = np.asarray(capacity, np.int64)
    purchase = np.full(len(capacity), -7)
    order, ratio = np.full(len(capacity), 9), np.full(len(capacity), 1e9)  # scratch holds anything
    buy(oracle, revenue, surplus, capacity, reserve, order, ratio, purchase)
    assert (purchase >= 0).all()
    assert (purchase <= capacity).all()
    return purchase


def random_instance(rng, producers, most, threshold, rho):
    quality = rng.random(producers)
    if rng.random() < 0.5:
        quality = np.clip(rng.normal(threshold, 0.2, producers), 0.0, 1.0)
    capacity = rng.integers(0, most + 1, producers)
    return rho * quality - rng.random(producers), quality - threshold, capacity


@settings(max_examples=150)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([0.2, 0.5, 0.8]),
    st.sampled_from([1.0, 3.0]), st.sampled_from([0.0, 0.3, 2.0]),
)  # fmt: skip
def test_exact_is_the_best_of_all_purchases_and_greedy_is_one(seed, m, threshold, rho, reserve):
    revenue, surplus, capacity = random_instance(np.random.default_rng(seed), m, 4, threshold, rho)
    everything = map(np.array, itertools.product(*(range(k + 1) for k in capacity)))
    feasible = [purchase for purchase in everything if purchase @ surplus >= reserve]
    best = max((purchase @ revenue for purchase in feasible), default=0.0)
    for oracle in (GREEDY, EXACT):
        bought = ask(oracle, revenue, surplus, capacity, reserve)
        assert bought @ surplus >= reserve - 1e-9 or not bought.any()
        if oracle == EXACT:
            assert bought @ revenue == pytest.approx(best, abs=1e-7)
        elif feasible:
            assert bought @ revenue <= best + 1e-7


def test_oracles_against_integer_programming():
    rng, ratios = np.random.default_rng(5), []
    for _ in range(120):
        revenue, surplus, capacity = random_instance(
            rng, int(rng.integers(2, 31)), 50, rng.choice([0.3, 0.5, 0.7]), rng.choice([1.0, 2.0])
        )
        best = optimum_by_integer_programming(revenue, surplus, capacity)
        exact, greedy = (ask(o, revenue, surplus, capacity) for o in (EXACT, GREEDY))
        assert exact @ revenue == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert meets_constraint(surplus, exact)
        assert meets_constraint(surplus, greedy)
        if best > 0.0:
            ratios.append(greedy @ revenue / best)
    assert np.mean(ratios) >= 0.995


@pytest.mark.parametrize("oracle", [GREEDY, EXACT])
class TestBoth:
    def test_s1_is_taken_whole(self, oracle):
        assert ask(oracle, [1.0, 0.0], [0.2, 0.0], [7, 3]).tolist() == [7, 3]

    def test_what_costs_and_lowers_quality_is_never_bought(self, oracle):
        bought = ask(oracle, [1.0, -0.1, 0.0, -0.1], [0.5, -0.1, -0.1, 0.0], [5, 5, 5, 5])
        assert bought.tolist() == [5, 0, 0, 0]

    def test_s2_is_rounded_down(self, oracle):
        # A surplus of 1 pays for 3.33 units of 0.3.
        assert ask(oracle, [1.0, 1.0], [0.5, -0.3], [2, 9]).tolist() == [2, 3]

    def test_s3_is_rounded_up(self, oracle):
        # 4 units of S2 need 1.2; each unit of S3 brings 0.5: 3 of them, not 2.4.
        assert ask(oracle, [1.0, -0.1], [-0.3, 0.5], [4, 9]).tolist() == [4, 3]

    def test_s3_is_not_bought_where_it_costs_more_than_it_pays_for(self, oracle):
        assert ask(oracle, [0.1, -1.0], [-0.3, 0.3], [4, 9]).tolist() == [0, 0]

    def test_exact_fits_are_not_lost_to_rounding(self, oracle):
        # 3 · 0.1 of surplus against 0.4 - 0.1 = 0.30000000000000004 a unit
        assert ask(oracle, [1.0, 1.0], [0.1, 0.1 - 0.4], [3, 1]).tolist() == [3, 1]

    def test_nothing_is_bought_where_nothing_is_feasible(self, oracle):
        assert ask(oracle, [1.0, 2.0], [-0.1, -1e-5], [50, 50]).tolist() == [0, 0]
        assert ask(oracle, [1.0], [0.1], [50], reserve=5.1).tolist() == [0]

    def test_a_reserve_that_is_all_there_is_may_be_rounded(self, oracle):
        # 0.1 + 0.2 is a little more than 0.3
        assert ask(oracle, [1.0], [0.3], [1], reserve=0.1 + 0.2).tolist() == [1]
        assert ask(oracle, [1.0], [0.3], [1], reserve=0.3 + 1e-8).tolist() == [0]

    def test_a_reserve_is_kept(self, oracle):
        bought = ask(oracle, [1.0, 1.0], [0.5, -0.5], [10, 10], reserve=2.0)
        assert bought.tolist() == [10, 6]

    def test_equal_ratios_are_taken_in_order(self, oracle):
        bought = ask(oracle, [0.0, 1.0, 1.0, 1.0], [0.1, -0.1, -0.1, -0.1], [2, 1, 1, 1])
        assert bought.tolist() == [2, 1, 1, 0] or oracle == EXACT
        assert bought.sum() == 4

    def test_no_capacity_no_purchase(self, oracle):
        assert ask(oracle, [1.0, 1.0], [0.5, -0.5], [0, 5]).tolist() == [0, 0]


def test_the_constraint_allows_rounding_and_nothing_else():
    purchase = np.array([3, 3])
    assert meets_constraint(np.array([0.1, 0.3 - 0.4]), purchase)
    assert not meets_constraint(np.array([0.1, -0.1 - 1e-8]), purchase)
    assert meets_constraint(np.array([-1.0, -1.0]), np.zeros(2, np.int64))
    assert total(np.array([0.5, -1.0]), purchase) == -1.5
