"""What reports cost: sensitivity, noise, accounting, and claims that follow from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbandits.environments import Procurement
from fedbandits.settings.experiment import system
from fedbandits.systems.pfcb import PRESETS
from fedbandits.systems.pfcb.kernels import Books
from fedbandits.systems.pfcb.kernels.reports import (
    decorrelated_units,
    error_variance,
    noise_deviation,
    take_report,
    worth,
    write_report,
)
from fedbandits.systems.pfcb.loop import initial_state
from fedbandits.systems.pfcb.plan import make_plan
from fedbandits.testing.replicates import simulate

WORLD = Procurement(agents=2, producers=3)
ROUNDS = 1000
PRIVATE = {
    "published": ("pfcb-published", {}),
    "independent": ("pfcb", {"privatizer": "independent"}),
    "correlated": ("pfcb", {}),
    "continual": ("pfcb", {"privatizer": "continual"}),
}


def resolved(name, rounds=ROUNDS, world=WORLD, **more):
    preset, parts = PRIVATE[name]
    return make_plan(system(preset, **parts | more).config, world.facts, rounds)


def purchases(capacity):
    """Every (units, good units) that a purchase can be."""
    return [(l, g) for l in range(capacity + 1) for g in range(l + 1)]  # noqa: E741


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("capacity", [1, 4])
def test_no_replaced_purchase_moves_a_report_further_than_the_sensitivity(name, capacity):
    """In the noise's own measure, over all pairs of purchases; and some pair does."""
    found = resolved(name)
    inverse = np.linalg.inv(found.constants.covariance)
    points = np.array(purchases(capacity), float)
    differences = (points[:, None] - points[None]).reshape(-1, 2)
    lengths = np.sqrt(np.einsum("ni,ij,nj->n", differences, inverse, differences))
    assert lengths.max() == pytest.approx(found.sensitivity * capacity, rel=1e-12)


def test_without_the_root_of_two_the_sensitivity_would_be_that_of_one_number():
    assert resolved("independent").sensitivity == math.sqrt(2.0)
    assert resolved("published").sensitivity == math.sqrt(2.0)


def weights_of_draws(found, release, capacity):
    """A report of no purchases, for each draw alone: its weights, (2 m, draws)."""
    m, rows = capacity.size, release if found.continual else 1
    columns = []
    for place in range(rows * 2 * m):
        books, report = Books(*(np.zeros((2, m)) for _ in range(3))), np.full((2, m), np.nan)
        draws = np.zeros((rows, 2 * m))
        draws.flat[place] = 1.0
        write_report(found.constants, release, capacity, draws, books, report)
        columns.append(report.reshape(-1))
    return np.array(columns).T


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("release", [1, 3])
def test_noise_has_the_covariance_that_is_charged(name, release):
    """Exactly, from the weights of all draws: producers have noise of their own."""
    found, capacity = resolved(name), np.array([1, 7, 50])
    scale = noise_deviation(found.constants, release)
    weights = weights_of_draws(found, release, capacity)
    charged = scale**2 * np.kron(found.constants.covariance, np.diag(capacity.astype(float) ** 2))
    np.testing.assert_allclose(weights @ weights.T, charged, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(PRIVATE) - {"published"}))
def test_calibrated_noise_costs_the_budget_and_no_more(name):
    for epsilon, delta in ((0.1, 0.01), (1.0, 0.01), (4.0, 1e-6)):
        found = resolved(name, epsilon=epsilon, delta=delta)
        spent = [found.epsilon_spent(z) for z in range(found.constants.releases + 1)]
        assert spent[0] == 0.0
        assert spent == sorted(spent)
        assert spent[-1] == pytest.approx(epsilon, rel=5e-5)
        assert spent[-1] <= epsilon * (1 + 1e-12)


def test_published_noise_is_that_of_equations_10_and_11():
    found = resolved("published", 100_000, Procurement(), epsilon=1.0, delta=0.01)
    for z in range(1, 17):
        budget = 1.0 / (2 * math.log2(100_000)) + 1.0 / 2 ** (z + 1)
        expected = math.sqrt(2 * math.log(125.0)) / budget
        assert noise_deviation(found.constants, z) == pytest.approx(expected, rel=1e-12)
        assert found.deviation(z) == pytest.approx(expected, rel=1e-12)
    assert found.mu(16) == pytest.approx(math.sqrt(2.0) / found.deviation(1))


def test_correlated_noise_tells_more_for_the_same_price():
    """Variance of the error in y - q w, which is what an estimate of q suffers from."""
    independent, correlated = resolved("independent"), resolved("correlated")
    assert independent.mu(1) == pytest.approx(correlated.mu(1))
    for quality in (0.0, 0.3, 0.5, 0.8, 1.0):
        one, other = (
            error_variance(found.constants.covariance, noise_deviation(found.constants, 1), quality)
            for found in (independent, correlated)
        )
        assert other <= one * (2 / 3 + 1e-12)
        # Nobody can do better than one capacity over μ: a unit good or bad is that far apart.
        assert other >= (1.0 / correlated.mu(1)) ** 2 - 1e-12


def test_worth_makes_the_pooled_estimate_as_sure_as_its_count_says():
    rng, quality, units, noise = np.random.default_rng(0), 0.5, 400, 30.0
    found = resolved("correlated")
    error = error_variance(found.constants.covariance, noise, quality)
    root = np.linalg.cholesky(found.constants.covariance) * noise
    shape = 20_000
    w, y = np.array([[units], [0]]) + root @ rng.normal(size=(2, shape))
    y = y + rng.binomial(units, quality, shape)
    own, own_good = 300, rng.binomial(300, quality, shape)
    weight = worth(units, error)
    estimate = (own_good + weight * y) / (own + weight * w)
    promised = 0.25 / (own + weight * units)
    assert estimate.var() == pytest.approx(promised, rel=0.06)
    for other in (0.5 * weight, 2.0 * weight):  # no other constant weight does better
        assert ((own_good + other * y) / (own + other * w)).var() > estimate.var()


@pytest.mark.parametrize("name", ["correlated", "independent"])
@pytest.mark.parametrize("quality", [0.05, 0.5, 0.95])
@pytest.mark.parametrize(("units", "least"), [(100, 1.005), (400, 1.15)])
def test_noisy_reports_pull_no_estimate_to_one_side(name, quality, units, least):
    """What counts for more must not be what errs upwards: the noise of w̃ and ỹ is shared."""
    found = resolved(name, 100_000, Procurement())
    constants, pools, own = found.constants, 800, 50
    rng, capacity = np.random.default_rng(4), np.full(pools, 50)
    root = np.linalg.cholesky(constants.covariance) * found.deviation(1) * 50
    pool = np.array([np.full(pools, own), rng.binomial(own, quality, pools)], float)
    books, judged = Books(pool, pool, np.zeros_like(pool)), np.zeros(2, np.int64)
    for release in range(1, constants.releases + 1):
        for _ in range(9):
            sums = np.array([np.full(pools, units), rng.binomial(units, quality, pools)])
            report = sums + root @ rng.normal(size=(2, pools))
            take_report(constants, release, 200, capacity, report, False, books, judged)
    error = pool[1] / pool[0] - quality
    assert abs(error.mean()) < 0.007  # 0.1 if reports were weighed by w̃, 0.015 if w̃ > 0 mattered
    z = 2.0 * error * np.sqrt(pool[0])
    assert np.sqrt((z**2).mean()) < 1.5
    assert pool[0].mean() > least * own  # and they do tell something: of few units, little
    assert judged.sum() == constants.releases * 9 * pools


@pytest.mark.parametrize("name", ["correlated", "independent"])
def test_a_count_without_the_error_in_it_does_not_go_with_it(name):
    covariance = resolved(name).constants.covariance
    noise, quality, units, count = 30.0, 0.2, 400, 40_000
    error = error_variance(covariance, noise, quality)
    rng = np.random.default_rng(1)
    w, y = np.linalg.cholesky(covariance) * noise @ rng.normal(size=(2, count))
    w, y = w + units, y + rng.binomial(units, quality, count)
    counted = [
        decorrelated_units(covariance, noise, quality, error, *one)
        for one in zip(w, y, strict=True)
    ]
    assert abs(np.corrcoef(counted, y - quality * w)[0, 1]) < 0.03
    assert abs(np.corrcoef(w, y - quality * w)[0, 1]) > 0.15
    assert np.mean(counted) == pytest.approx(units, rel=0.01)
    assert decorrelated_units(covariance, 0.0, quality, 0.0, 7.0, 3.0) == pytest.approx(7.0)
    assert decorrelated_units(covariance, 0.0, quality, 0.0, 0.0, 0.0) == 0.0


def test_a_batch_is_reported_once():
    config = system("fcb", window=(10, 80)).config
    run = simulate(config, WORLD, 200, 0, 0)
    total = np.zeros((2, 2, 3))
    for stop in range(1, 200):
        before = run.syncs
        run.advance(stop)
        if run.syncs > before:
            total += run.state.reports
            np.testing.assert_array_equal(total, run.state.books.own)
            assert not run.state.books.fresh.any()
    assert run.syncs > 5


@pytest.mark.parametrize("name", PRESETS)
def test_exchanges_do_not_depend_on_data(name):
    """What would be a leak: rounds that differ between replicates."""
    rounds = set()
    for replicate in range(3):
        run, changes = simulate(system(name).config, WORLD, 300, 0, replicate), []
        for stop in range(1, 301):
            before = run.syncs
            run.advance(stop)
            if run.syncs > before:
                changes.append(stop)
        rounds.add(tuple(changes))
    assert len(rounds) == 1


def test_state_holds_one_draw_of_noise_a_batch_and_all_of_a_running_sum():
    for name, slots in (("correlated", 1), ("continual", 9)):
        found = resolved(name, schedule="powers", window=(2, 600))
        assert initial_state(found).draws.shape == (2, slots, 6)
