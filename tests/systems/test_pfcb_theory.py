"""Theorem 1 of P-FCB: its formula by hand, its constants by looking at every purchase."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.learners.kernels.purchasing import EXACT, GREEDY
from fedbandits.random import Key
from fedbandits.settings.experiment import system
from fedbandits.systems import find_system
from fedbandits.systems.pfcb.theory import Gaps, gaps_of, theorem_1

GAPS = Gaps(smallest=0.5, largest=10.0, smoothness=5.0, capacity=4)
ROUNDS = np.array([1.0, 8.0, 100.0, 1e5])
ALIKE = Procurement(agents=3, producers=5, homogeneous=True, instance=0)


def bounds_of(name, world, rounds=1000, **settings):
    plan = system(name, **settings).plan(world, rounds)
    return find_system("pfcb").bounds(plan, world)


def test_theorem_1_by_hand():
    """n = 2, m = 3, t = 8: Δ/R = 0.1, so 6 ln 16 / 0.02 = 831.7766 rounds a producer; 10 τ = 30."""
    assert theorem_1(np.array([8.0]), 2, 3, GAPS, 3)[0] == pytest.approx(
        30.0 + 3 * 10.0 * (831.77662 + 3.28987 * 4 / 8), rel=1e-6
    )


def test_theorem_1_in_its_first_phase_is_the_most_that_can_be_and_more():
    found = theorem_1(np.array([1.0, 2.0, 7.0]), 1, 1, GAPS, 5)
    rest = theorem_1(np.array([1.0, 2.0, 7.0]), 1, 1, GAPS, 0)
    np.testing.assert_allclose(found - rest, [10.0, 20.0, 50.0])


def test_how_theorem_1_scales():
    def log_term(buyers, gaps, rounds=ROUNDS):
        """What is left when the constant is taken away: the growth from round 1 on."""
        both = theorem_1(np.append(rounds, 1.0), buyers, 3, gaps, 0)
        return both[:-1] - both[-1]

    assert (np.diff(theorem_1(ROUNDS, 2, 3, GAPS, 3)) > 0).all()
    one, ten = log_term(1, GAPS), log_term(10, GAPS)
    np.testing.assert_allclose(one, 10 * ten)  # ln(nt)/n grows a tenth as fast
    half = log_term(1, GAPS._replace(smallest=0.25))
    np.testing.assert_allclose(half, 4 * one)
    np.testing.assert_allclose(log_term(1, GAPS._replace(smoothness=15.0)), 9 * one)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("oracle", [GREEDY, EXACT])
def test_gaps_by_looking_at_every_purchase(seed, oracle):
    benchmark = "exact" if oracle == EXACT else "greedy"
    world = Procurement(
        agents=1, producers=4, max_capacity=3, quality_threshold=0.5, benchmark=benchmark
    ).world(Key(seed, 0))
    revenue, surplus = world.quality - world.cost[0], world.quality - 0.5
    every = np.array(list(itertools.product(*(range(k + 1) for k in world.capacity[0]))))
    lost = world.best[0] - every @ revenue
    feasible = every @ surplus >= -1e-9
    found = gaps_of(world, 0, oracle)
    if found is None:
        assert lost.max() <= 0.0
        return
    assert found.largest == pytest.approx(lost.max())
    assert found.smallest >= lost[feasible & (lost > 1e-9)].min() - 1e-12  # never below Δ_min
    assert np.isclose(lost[feasible], found.smallest).any()  # and the loss of some purchase
    assert found.capacity == world.capacity.max()
    assert found.smoothness == world.capacity.sum()


def test_a_revenue_follows_qualities_no_faster_than_the_smoothness_says():
    """One unit's ρ would not do: an order has many."""
    world = Procurement(agents=1, producers=4, revenue=2.0).world(Key(3, 0))
    found, order = gaps_of(world, 0, GREEDY), world.capacity[0]
    moved = world.revenue * (order @ np.full(4, 0.1))
    assert moved == pytest.approx(found.smoothness * 0.1)
    assert moved > 10 * world.revenue * 0.1


def test_the_bound_of_buyers_that_are_alike_is_their_sum():
    (bound,) = bounds_of("homogeneous-fcb", ALIKE)
    world = ALIKE.world(Key(0, 0))
    gaps, plan = gaps_of(world, 0, GREEDY), system("homogeneous-fcb").plan(ALIKE, 1000)
    one = theorem_1(ROUNDS, 3, 5, gaps, plan.constants.exploration)
    np.testing.assert_allclose(bound.at(ROUNDS), 3 * one)
    assert bound.largest == pytest.approx(world.worst.sum())
    assert bound.quantity == "regret"
    assert bound.in_mean


def test_buyers_alone_are_one_each():
    (bound,) = bounds_of("cucb-alone", Procurement(agents=3, producers=5, instance=0))
    world = Procurement(agents=3, producers=5, instance=0).world(Key(0, 0))
    tau = system("cucb-alone").plan(ALIKE, 1000).constants.exploration
    each = [theorem_1(ROUNDS, 1, 5, gaps_of(world, j, GREEDY), tau) for j in range(3)]
    np.testing.assert_allclose(bound.at(ROUNDS), np.sum(each, axis=0))
    shared = bounds_of("fcb-every-round", Procurement(agents=3, producers=5, instance=0))[0]
    assert bound.statement == shared.statement  # reports show it once for both
    assert not any("differ between buyers" in sentence for sentence in bound.departs)


CONDITIONS = {"alike", "after every", "judged or weighed", "radius is not", "greedy", "margin"}


@pytest.mark.parametrize(
    ("name", "world", "settings", "missing"),
    [
        ("homogeneous-fcb", ALIKE, {}, {"greedy", "margin", "radius is not"}),
        (
            "homogeneous-fcb", ALIKE, {"quality_margin": 0.4, "zeta": 0.2, "radius": "shared"},
            {"greedy"},
        ),
        ("homogeneous-fcb", ALIKE, {"radius": "shared"}, {"greedy", "margin"}),
        (
            "homogeneous-fcb", Procurement(agents=3, producers=5, instance=0, benchmark="exact"),
            {"oracle": "exact"}, {"margin", "alike", "radius is not"},
        ),
        ("fcb", ALIKE, {}, CONDITIONS - {"alike"}),
        ("cucb-alone", ALIKE, {}, {"greedy", "margin"}),
    ],
)  # fmt: skip
def test_what_of_the_theorem_is_not_met_is_said(name, world, settings, missing):
    (bound,) = bounds_of(name, world, **settings)
    found = {each for each in CONDITIONS if any(each in sentence for sentence in bound.departs)}
    assert found == missing
    assert len(bound.departs) == len(missing)


@pytest.mark.parametrize("name", ["pfcb", "pfcb-published", "pfcb-interactive"])
def test_nothing_is_proved_of_what_is_noisy(name):
    assert bounds_of(name, ALIKE) == ()


def test_worlds_that_change_from_run_to_run_have_no_gap():
    assert bounds_of("homogeneous-fcb", Procurement(homogeneous=True)) == ()


def test_a_file_is_the_same_world_in_every_run(tmp_path):
    given = tmp_path / "given.csv"
    given.write_text("agent,producer,quality,cost,capacity\na,x,0.9,0.1,3\na,y,0.5,0.2,3\n")
    (bound,) = bounds_of("cucb-alone", Procurement(case=str(given)))
    assert bound.at(np.array([100.0]))[0] > bound.largest  # 3 · 0.8 + 3 · 0.3 a round
    assert bound.largest == pytest.approx(3.3)


def test_where_nothing_can_be_lost_there_is_nothing_to_bound(tmp_path):
    given = tmp_path / "given.csv"
    given.write_text("agent,producer,quality,cost,capacity\na,x,0.9,0.1,0\n")
    assert bounds_of("cucb-alone", Procurement(case=str(given))) == ()
