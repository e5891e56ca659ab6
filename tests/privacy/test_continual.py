from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.errors import ReleaseRefusedError
from fedbandits.privacy import continual, gaussian
from fedbandits.privacy.continual import MOST_RELEASES, ContinualPlan, calibrated
from fedbandits.privacy.running_sum import ContinualState, init, release

MECHANISMS = ["tree", "toeplitz", "optimal"]


def decoder(plan: ContinualPlan) -> np.ndarray:
    """Row k: the weights of draws ξ_1 … ξ_n in release k + 1, read off the mechanism itself."""
    n = plan.releases
    rows = []
    pattern = np.ones(n)
    state = init(plan, n)
    for _ in range(n):
        state, noisy = release(plan, state, np.zeros(n), pattern, lambda j: np.eye(n)[j - 1])
        rows.append(noisy / plan.scale)
    return np.array(rows)


# Largest deviation per unit of sensitivity at μ = 1, from the project's privacy page.
@pytest.mark.parametrize(
    ("releases", "toeplitz", "tree"),
    [(2**7, 2.610, 7.48), (2**10, 3.273, 10.49), (2**14, 4.155, 14.49)],
)
def test_noise_meets_the_figures(releases, toeplitz, tree):
    plan = calibrated("toeplitz", releases, 1.0, 1.0)
    assert plan.deviation(releases) == pytest.approx(toeplitz, abs=5e-4)
    plan = calibrated("tree", releases, 1.0, 1.0)
    assert max(plan.deviation(k) for k in (releases - 1, releases)) == pytest.approx(tree, abs=5e-3)


@pytest.mark.parametrize("releases", [1, 2, 3, 5, 8, 13, 64])
def test_toeplitz_squared_is_the_matrix_of_running_sums(releases):
    weights = decoder(ContinualPlan("toeplitz", releases, 1.0))
    np.testing.assert_allclose(weights @ weights, np.tril(np.ones((releases, releases))), atol=1e-9)


@pytest.mark.parametrize("releases", [0, 1, 6])
@pytest.mark.parametrize("mechanism", ["none", *MECHANISMS])
def test_coefficients_are_of_one_kind_so_that_kernels_are_compiled_once(mechanism, releases):
    assert not ContinualPlan(mechanism, releases, 1.0).coefficients().flags.writeable


@pytest.mark.parametrize("releases", [1, 2, 3, 5, 8, 13, 64, 100])
def test_tree_releases_sum_disjoint_dyadic_blocks(releases):
    weights = decoder(ContinualPlan("tree", releases, 1.0))
    for k in range(1, releases + 1):
        used = np.flatnonzero(weights[k - 1]) + 1
        lengths = [int(j & -j) for j in used]  # the block that ends at j
        starts = [int(j) - length for j, length in zip(used, lengths, strict=True)]
        assert starts[0] == 0
        assert [int(j) for j in used[:-1]] == starts[1:]
        assert used[-1] == k
        assert set(weights[k - 1][used - 1]) == {1.0}


@pytest.mark.parametrize("releases", [1, 2, 3, 5, 8, 13, 64])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sensitivity_is_that_of_the_encoder(mechanism, releases):
    """By brute force: one record in batch j moves the encoder's outputs by its j-th column."""
    releases = min(releases, MOST_RELEASES) if mechanism == "optimal" else releases
    plan = ContinualPlan(mechanism, releases, 1.0)
    weights = decoder(plan)
    # releases = weights @ (encoder @ batches + ξ), so encoder = weights⁻¹ @ running sums.
    encoder = np.linalg.solve(weights, np.tril(np.ones((releases, releases))))
    for k in range(1, releases + 1):
        largest = np.linalg.norm(encoder[:k, :k], axis=0).max()
        assert plan.sensitivity(k) == pytest.approx(largest, abs=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(releases=st.integers(1, 200), mu=st.floats(0.05, 5.0), norm=st.floats(0.1, 4.0))
def test_calibration_spends_the_budget_and_no_more(mechanism, releases, mu, norm):
    releases = min(releases, MOST_RELEASES) if mechanism == "optimal" else releases
    plan = calibrated(mechanism, releases, mu, norm)
    assert plan.mu(norm) <= mu
    assert plan.mu(norm) * (1 + gaussian.ROUNDING_MARGIN) == pytest.approx(mu, rel=1e-12)
    spent = [plan.mu(norm, k) for k in range(releases + 1)]
    assert spent == sorted(spent)
    assert spent[0] == 0.0


@pytest.mark.parametrize("mechanism", [*MECHANISMS, "none"])
def test_a_release_beyond_the_plan_is_refused(mechanism):
    plan = ContinualPlan(mechanism, 3, 1.0)
    state = init(plan, 2)
    for _ in range(3):
        state, _ = release(plan, state, np.zeros(2), np.ones(2), lambda _: np.ones(2))
    with pytest.raises(ReleaseRefusedError, match="release 4 refused"):
        release(plan, state, np.zeros(2), np.ones(2), lambda _: np.ones(2))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_draw_is_made_once_and_state_survives_saving(mechanism):
    plan = ContinualPlan(mechanism, 11, 2.0)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(12, 4))
    asked = []

    def source(k):
        asked.append(k)
        return noise[k]

    state = init(plan, 4)
    undisturbed = []
    for k in range(1, 12):
        total = np.full(4, float(k))
        before = state
        state, noisy = release(plan, state, total, np.ones(4), source)
        undisturbed.append(noisy)
        np.testing.assert_array_equal(total, k)  # the caller's sum is left alone
        assert before.made == k - 1
    assert asked == list(range(1, 12))

    state = init(plan, 4)
    for k in range(1, 12):
        state, noisy = release(plan, state, np.full(4, float(k)), np.ones(4), source)
        np.testing.assert_array_equal(noisy, undisturbed[k - 1])
        saved = [np.frombuffer(a.tobytes()).reshape(a.shape).copy() for a in state[1:]]
        state = ContinualState(state.made, *saved)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_noise_is_made_of_its_draws_as_stated(mechanism):
    """Each number has draws of its own, with weights that come to the stated deviation."""
    plan = ContinualPlan(mechanism, 6, 1.5)
    pattern, draws = continual.noise_pattern(1, 2), np.random.default_rng(1).normal(size=(6, 5))
    state, released = init(plan, len(pattern)), []
    for _ in range(6):
        state, noisy = release(plan, state, np.zeros(5), pattern, lambda k: draws[k - 1])
        released.append(noisy)
    weights = plan.scale * decoder(plan)
    np.testing.assert_allclose(released, (weights @ draws) * pattern, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(weights, axis=1), [plan.deviation(k) for k in range(1, 7)], rtol=1e-12
    )
    np.testing.assert_allclose(pattern, [math.sqrt(2), 1.0, math.sqrt(2), 1.0, 1.0])


def test_the_pattern_doubles_the_variance_of_diagonals():
    # d = 3: the packed upper triangle is 11 12 13 22 23 33, then the moment.
    root = math.sqrt(2.0)
    expected = [root, 1, 1, root, 1, root, 1, 1, 1]
    np.testing.assert_allclose(continual.noise_pattern(2, 3), expected * 2)


@pytest.mark.parametrize(("releases", "scale"), [(-1, 1.0), (3, -1.0), (3, math.nan)])
def test_impossible_plans_are_refused(releases, scale):
    with pytest.raises(ValueError, match="must"):
        ContinualPlan("tree", releases, scale)


def test_no_noise_protects_nothing():
    assert ContinualPlan("none", 3, 0.0).mu(1.0) == math.inf
    assert ContinualPlan("tree", 3, 0.0).mu(1.0) == math.inf
    assert ContinualPlan("none", 0, 0.0).mu(1.0) == 0.0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("releases", [0, 1, 2, 3, 4, 6, 7, 8, 21])
def test_the_largest_deviation_is_that_of_some_release(mechanism, releases):
    plan = ContinualPlan(mechanism, releases, 2.0)
    deviations = [plan.deviation(k) for k in range(1, releases + 1)]
    assert plan.largest_deviation() == max(deviations, default=0.0)
