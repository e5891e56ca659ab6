"""Safe purchases: the surplus is z deviations, and what is little known is bought all the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from fedbandits.environments import Procurement
from fedbandits.learners.kernels.purchasing import TOLERANCE
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb.kernels.purchases import (
    buy_safely,
    choose_cautiously,
    is_safe,
    most_units,
    new_scratch,
)
from fedbandits.systems.pfcb.plan import make_plan
from fedbandits.testing.replicates import simulate

Z = float(norm.ppf(0.999))
SEEDS = st.integers(0, 2**32 - 1)


def bought_safely(revenue, surplus, spread, capacity, caution=Z):
    m = len(capacity)
    order, key, purchase = np.zeros(m, np.int64), np.zeros(m), np.zeros(m, np.int64)
    numbers = (np.array(each, float) for each in (revenue, surplus, spread))
    buy_safely(caution, *numbers, np.array(capacity), order, key, purchase)
    return purchase


@given(SEEDS)
def test_units_are_changed_by_as_many_as_are_safe(seed):
    draws = np.random.default_rng(seed)
    bought, spread, step = int(draws.integers(0, 9)), draws.uniform(0.01, 0.5), draws.normal() / 3
    variance = draws.uniform(0, 5) + (spread * bought) ** 2
    surplus = Z * variance**0.5 + draws.choice([0.0, draws.uniform(0, 5)])
    for most in (int(draws.integers(1, 40)), 1, -bought):
        sign, expected = (1 if most > 0 else -1), 0
        while abs(expected) < abs(most):
            after = expected + sign
            units = bought + after
            further = spread**2 * (units**2 - bought**2)
            if not is_safe(Z, surplus + step * after, variance + further):
                break
            expected = after
        assert most_units(Z, surplus, variance, step, spread, bought, most) == expected


@given(SEEDS)
def test_a_safe_purchase_is_safe_and_nothing_that_gains_fits_besides(seed):
    draws, m = np.random.default_rng(seed), 6
    revenue, surplus = draws.normal(size=m), draws.choice([0.0, 0.1, 1.0], m) * draws.normal(size=m)
    spread, capacity = 0.5 / np.sqrt(draws.integers(1, 500, m)), draws.integers(0, 30, m)
    purchase = bought_safely(revenue, surplus, spread, capacity)
    assert (purchase >= 0).all()
    assert (purchase <= capacity).all()

    def left(units):
        return units @ surplus - Z * np.linalg.norm(units * spread)

    assert left(purchase) >= -2 * TOLERANCE
    assert not purchase[(surplus <= 0) & (revenue < 0)].any()
    last = [i for i in range(m) if revenue[i] > 0 and surplus[i] < 0 and purchase[i] < capacity[i]]
    if last:  # whatever comes after it in the order of gains takes room, so it does not fit now
        i = max(last, key=lambda i: (revenue[i] / surplus[i], i))
        assert left(purchase + np.eye(m, dtype=int)[i]) < TOLERANCE


def test_what_is_little_known_takes_what_the_others_leave():
    """50 units of the first leave a surplus of 5: as many of the second as that covers."""
    spread = [0.0005, 0.1]
    purchase = bought_safely([0.2, 0.3], [0.1, -0.05], spread, [50, 40])
    assert purchase[0] == 50
    assert 0 < purchase[1] < 40
    for units, safe in ((purchase[1], True), (purchase[1] + 1, False)):
        deviation = np.hypot(50 * spread[0], units * spread[1])
        assert (5 - 0.05 * units >= Z * deviation) == safe


def test_what_is_known_is_bought_beside_what_is_not():
    """One unit of the second is more than the surplus covers; that does not bar the third."""
    purchase = bought_safely([0.2, 0.9, 0.1], [0.1, -0.5, -0.08], [0.0005, 1.0, 0.0005], [8, 9, 9])
    assert purchase.tolist() == [8, 0, 9]


def test_the_surest_are_bought_together_where_none_of_them_is_safe_alone():
    surplus, spread = [0.1, 0.1, 0.1, 0.1], [0.05, 0.05, 0.05, 5.0]
    assert bought_safely([1.0] * 4, surplus, spread, [5] * 4).tolist() == [5, 5, 5, 0]
    assert not bought_safely([1.0], [0.1], [0.05], [5]).any()


def test_what_neither_earns_nor_pays_is_left():
    assert bought_safely([0.5, -0.5], [0.4, 0.0], [0.001, 0.001], [5, 5]).tolist() == [5, 0]


def test_an_order_is_optimistic_where_nothing_is_safe():
    world = Procurement(agents=3, producers=2, quality_threshold=0.5, revenue=1.5)
    constants, scratch = (
        make_plan(system("pfcb").config, world.facts, 1000).constants,
        new_scratch(2),
    )
    scratch.revenue[:], scratch.surplus[:], scratch.spread[:] = 0.5, 0.1, 0.1
    scratch.high[:] = 0.9, 0.4
    choose_cautiously(constants, np.array([7, 3]), scratch)
    assert scratch.purchase.tolist() == [7, 3]  # the first one's hoped for surplus pays for both


@pytest.mark.parametrize("replicate", [18, 48])
def test_caution_does_not_bar_a_buyer_from_what_it_knows_little_of(replicate):
    """Here a reserve for what is not bought once kept a buyer from the best order for good."""
    world = Procurement(case="normal", agents=2, producers=8)
    rounds, late = 4000, {}
    for name, settings in (("cucb-alone", {}), ("pfcb", {"schedule": "never"})):
        run = simulate(system(name, **settings).config, world, rounds, 1000, replicate)
        run.advance(rounds)
        late[name] = run.state.tally.late_regret.copy()
    assert (late["pfcb"] < 2.0 * late["cucb-alone"]).all()
