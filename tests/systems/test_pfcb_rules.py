"""A buyer's rules one by one: estimates, cautious purchases, what becomes of a report."""

from __future__ import annotations

import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb.kernels import Books
from fedbandits.systems.pfcb.kernels.purchases import estimate, new_scratch
from fedbandits.systems.pfcb.kernels.reports import take_report
from fedbandits.systems.pfcb.plan import make_plan


def rules_of(name, producers, **parts):
    world = Procurement(agents=3, producers=producers, quality_threshold=0.5, revenue=1.5)
    return make_plan(system(name, **parts).config, world.facts, 1000).constants


def take(constants, capacity, report, pool, *, own=None, mine=False):
    judged = np.zeros(2, np.int64)
    report, pool = np.array(report, float), np.array(pool, float)
    books = Books(pool, pool.copy() if own is None else np.array(own, float), np.zeros_like(pool))
    take_report(constants, 1, 10, np.array(capacity), report, mine, books, judged)
    return pool, judged.tolist()


@pytest.mark.parametrize("name", ["pfcb-interactive", "pfcb-published"])
def test_a_buyer_does_not_judge_its_own_report(name):
    """However little it fits what is known."""
    constants = rules_of(name, 1, epsilon=50.0)
    known, odd = [[1000.0], [900.0]], [[800.0], [0.0]]
    pool, judged = take(constants, [5], odd, known)
    np.testing.assert_array_equal(pool, known)
    assert judged == [0, 1]
    pool, judged = take(constants, [5], odd, known, mine=True)
    assert (pool[0] > 1000.0).all()
    assert judged == [0, 0]


@pytest.mark.parametrize("name", ["pfcb", "pfcb-published", "fcb"])
def test_nothing_is_heard_of_producers_that_a_sender_cannot_buy_from(name):
    constants = rules_of(name, 2, epsilon=50.0)
    pool, judged = take(constants, [0, 5], [[40.0, 40.0], [20.0, 20.0]], np.zeros((2, 2)))
    assert (pool[:, 0] == 0.0).all()
    assert (pool[:, 1] > 0.0).all()
    assert judged == [1, 0]


@pytest.mark.parametrize(
    ("reading", "center", "width"),
    [
        # Pooled 40 of 100 good, own 8 of 25; three buyers, round 10.
        ("within-radius(0.5)", 0.40, 0.5 * np.sqrt(3 * np.log(30) / 200)),
        ("within-radius(0.5, pooled, own)", 0.40, 0.5 * np.sqrt(3 * np.log(10) / 200)),
        ("within-radius(0.5, own, shared)", 0.32, 0.5 * np.sqrt(3 * np.log(30) / 50)),
        ("within-radius(0.5, own, own)", 0.32, 0.5 * np.sqrt(3 * np.log(10) / 50)),
    ],
)
def test_what_lies_within_the_radius_is_taken_and_what_does_not_is_not(reading, center, width):
    """Procedure 1 has W and ln(nt), section 5.4 a buyer's own units and ln t."""
    constants = rules_of("pfcb-published", 1, acceptance=reading)
    for sign in (-1.0, 1.0):
        for far, taken in ((0.99, True), (1.01, False)):
            reported = center + sign * far * width
            pool, judged = take(
                constants, [5], [[60.0], [60.0 * reported]], [[100.0], [40.0]],
                own=[[25.0], [8.0]],
            )  # fmt: skip
            assert judged == ([1, 0] if taken else [0, 1])
            assert pool[0, 0] == (700.0 if taken else 100.0)  # ω₂ = 10


@pytest.mark.parametrize(
    ("radius", "expected"),
    [
        ("own", np.sqrt(3 * np.log(50) / 200)),
        ("shared", np.sqrt(3 * np.log(150) / 200)),
        ("printed", np.sqrt(3 * np.log(150) / 600)),
    ],
)
def test_the_confidence_radius(radius, expected):
    """100 units known in round 50, three buyers."""
    constants, scratch = rules_of("homogeneous-fcb", 1, radius=radius), new_scratch(1)
    pool = np.array([[100.0], [60.0]])
    books = Books(pool, pool, np.zeros((2, 1)))
    estimate(constants, 50, books, 0.0, np.array([0.3]), np.array([5]), scratch)
    assert scratch.high[0] == pytest.approx(0.6 + expected)


@pytest.mark.parametrize(
    ("logarithm", "expected"), [("binary", 1 / 20 + 1 / 8), ("natural", 0.0721347520444 + 1 / 8)]
)
def test_published_budgets(logarithm, expected):
    """ε = 1, T = 2¹⁰, z = 2: ε / (2 log T) + ε / 2³; ln T = 6.931472."""
    config = system("pfcb-published", privatizer=f"published({logarithm})").config
    found = make_plan(config, Procurement().facts, 1024)
    assert np.sqrt(2 * np.log(125)) / found.deviation(2) == pytest.approx(expected)


def test_binary_budgets_of_a_whole_run_add_up_to_epsilon():
    """Of log₂ T rounds of exchange that double, but for what the geometric series leaves."""
    found = make_plan(system("pfcb-published").config, Procurement().facts, 2**16)
    budgets = [np.sqrt(2 * np.log(125)) / found.deviation(z) for z in range(1, 17)]
    assert sum(budgets) == pytest.approx(1.0, abs=2.0**-16)


def test_negative_units_are_refused_where_weights_are_constant():
    pool, judged = take(rules_of("pfcb-published", 1), [5], [[-3.0], [2.0]], np.zeros((2, 1)))
    assert not pool.any()
    assert judged == [0, 1]


def test_what_counts_is_how_many_units_are_left_without_the_error():
    """Where q̂ is small, w̃ shares its noise with the error, and what it shares is taken off."""
    constants, known = rules_of("pfcb", 1), [[1000.0], [50.0]]
    error, reported = 300.0, 200.0  # ỹ - q̂ w̃: much more good than q̂ = 0.05 would have it
    low, judged = take(constants, [50], [[reported], [0.05 * reported - error]], known)
    assert judged == [1, 0]
    assert low[1, 0] < 50.0
    _, judged = take(constants, [50], [[reported], [0.05 * reported + error]], known)
    assert judged == [0, 1]


def test_units_that_may_be_noise_alone_are_no_evidence():
    """At ε = 1 the noise of w̃ has a deviation of 2.17 capacities: 108 units here."""
    constants, known = rules_of("pfcb", 1), [[10.0], [5.0]]
    for reported, taken in ((-50.0, False), (50.0, False), (215.0, False), (218.0, True)):
        pool, judged = take(constants, [50], [[reported], [0.5 * reported]], known)
        assert judged == ([1, 0] if taken else [0, 1])
        assert (pool[0, 0] > 10.0) == taken


@pytest.mark.parametrize(("name", "low"), [("pfcb", 0.0), ("cucb-alone", 1.0)])
def test_a_producer_that_nothing_is_known_of_may_be_anything(name, low):
    """Quality at most 1, counted on or not, with a deviation of 1: never safe to buy much of."""
    constants, scratch = rules_of(name, 2), new_scratch(2)
    pool = np.array([[0.0, 100.0], [0.0, 60.0]])
    books = Books(pool, pool.copy(), np.zeros((2, 2)))
    estimate(constants, 50, books, 0.0, np.array([0.3, 0.3]), np.array([5, 5]), scratch)
    assert scratch.high[0] == 1.0
    assert scratch.revenue[0] == 1.5 - 0.3
    assert scratch.surplus[0] == low - 0.5
    np.testing.assert_allclose(scratch.spread, [1.0, 0.05])
