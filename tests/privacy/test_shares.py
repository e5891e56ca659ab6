"""Shares of one noise: whole numbers, whose sum has the noise of one mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from fedbandits.errors import ConfigError, NoiseError, ReleaseRefusedError
from fedbandits.privacy import running_sum, shares
from fedbandits.privacy.continual import ContinualPlan, calibrated, noise_pattern
from fedbandits.privacy.gaussian import ROUNDING_MARGIN, record_sensitivity
from fedbandits.privacy.likelihood import decoder
from fedbandits.privacy.secure_noise import SecureNoise
from fedbandits.privacy.shares import (
    ShareNeeds,
    deviations_of,
    finest_grid,
    plan_grid,
    release_share,
)

MECHANISMS = ("tree", "toeplitz", "optimal")
PATTERN = noise_pattern(1, 2)
NORM = record_sensitivity(1.0, 1.0)
STEP = 2.0**-30


def total_plan(mechanism: str, releases: int = 7, mu: float = 0.4) -> ContinualPlan:
    """Return the mechanism of a sum."""
    return calibrated(mechanism, releases, mu, NORM)  # type: ignore[arg-type]


def play(plan: ContinualPlan, sums: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return shares of running sums (n, size) by standard normals (n, size)."""
    state, found = running_sum.init(plan, sums.shape[1]), []
    for k in range(len(sums)):
        state, share = release_share(plan, STEP, state, sums[k], PATTERN, lambda k: draws[k - 1])
        found.append(share)
    return np.array(found)


def ratios(plan: ContinualPlan) -> np.ndarray:
    """Return B̃ = B diag(1/B_jj), from the definition of the mechanism, (n, n)."""
    if plan.mechanism == "tree":
        found = np.zeros((plan.releases, plan.releases))
        for k in range(1, plan.releases + 1):
            j = k
            while j:
                found[k - 1, j - 1] = 1.0
                j &= j - 1
        return found
    matrix = decoder(plan, np.arange(1, plan.releases + 1))
    return matrix / np.diag(matrix)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_share_is_the_sum_and_noise_mixed_in_exact_arithmetic(mechanism: str) -> None:
    plan = shares.share_plan(total_plan(mechanism), 3)
    rng = np.random.default_rng(0)
    sums = rng.integers(-(2**40), 2**40, (7, PATTERN.size)) * STEP
    draws = rng.normal(size=sums.shape)
    found, mixed = play(plan, sums, draws), ratios(plan)
    whole = np.array(
        [np.rint(deviations_of(plan, STEP, PATTERN, k + 1) * draws[k]) for k in range(7)]
    )
    for k, i in np.ndindex(sums.shape):
        earlier = sum(
            (Fraction(mixed[k, j]) * int(whole[j, i]) for j in range(k)), start=Fraction(0)
        )
        expected = round(sums[k, i] / STEP) + int(whole[k, i])
        # Where a fraction is next to a half the definition's own last digit decides.
        assert abs(found[k, i] - expected - earlier) <= Fraction(1, 2) + Fraction(1, 1000)
        assert found[k, i] == math.floor(found[k, i])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_sum_of_shares_has_the_noise_of_one_mechanism(mechanism: str) -> None:
    total, honest = total_plan(mechanism, 5), 4
    plan, rng, runs = shares.share_plan(total, honest), np.random.default_rng(1), 800
    nothing = np.zeros((5, PATTERN.size))
    sums = STEP * np.array([
        sum(play(plan, nothing, rng.normal(size=nothing.shape)) for _ in range(honest))
        for _ in range(runs)
    ])  # fmt: skip
    normed = sums / PATTERN / total.scale  # (runs, n, size): alike in every entry
    found = np.einsum("rki,rli->kl", normed, normed) / (runs * PATTERN.size)
    mixing = decoder(total, np.arange(1, 6))
    expected = mixing @ mixing.T
    sizes = np.sqrt(np.diag(expected))
    assert np.abs((found - expected) / np.outer(sizes, sizes)).max() < 0.07


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("honest", [1, 3, 10])
def test_a_record_moves_the_draws_by_no_more_than_its_price(mechanism: str, honest: int) -> None:
    """Move w so that shares with another record are the same: that is the whole attack."""
    total = total_plan(mechanism, 16)
    plan, rng, mixed = shares.share_plan(total, honest), np.random.default_rng(2), ratios(total)
    deviations = np.array([deviations_of(plan, STEP, PATTERN, k) for k in range(1, 17)])
    largest = 0.0
    for first in (0, 3, 11):
        change = rng.normal(size=PATTERN.size)
        change *= NORM / math.sqrt(np.sum((change / PATTERN) ** 2))
        parts = np.rint(change / STEP / honest)  # of every honest party, whole
        moved = 0.0
        for _ in range(honest):
            before = np.rint(deviations * rng.normal(size=deviations.shape))
            noise = _noise(mixed, before)
            noise[first:] -= parts  # the record is in the sum now, so the noise must be less
            after = _draws(mixed, noise)
            moved += float(np.sum(((after - before) / deviations) ** 2))
        largest = max(largest, math.sqrt(moved))
    assert largest <= total.mu(NORM) * (1.0 + ROUNDING_MARGIN)
    assert largest > 0.5 * total.mu(NORM)


def _noise(mixed: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return N of whole draws w, by the definition."""
    return whole + np.rint((mixed - np.eye(len(mixed))) @ whole)


def _draws(mixed: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the only w that comes to a given N."""
    whole = np.zeros_like(noise)
    for k in range(len(noise)):
        whole[k] = noise[k] - np.rint(mixed[k, :k] @ whole[:k])
    return whole


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_secure_noise_is_mixed_as_simulated_noise_is(mechanism: str) -> None:
    plan = shares.share_plan(total_plan(mechanism), 2)
    rng = np.random.default_rng(3)
    sums = rng.integers(0, 2**40, (7, PATTERN.size)) * STEP
    draws = rng.normal(size=sums.shape)

    class Known:
        def cover_whole(self, step: int, values: np.ndarray, deviations: np.ndarray) -> np.ndarray:
            return np.asarray(values + np.rint(deviations * draws[step - 1]))

    state, found = running_sum.init(plan, PATTERN.size), []
    for k in range(7):
        state, share = release_share(plan, STEP, state, sums[k], PATTERN, Known())
        found.append(share)
    assert (np.array(found) == play(plan, sums, draws)).all()


def test_whole_noise_has_its_deviations_and_is_used_once() -> None:
    noise, deviations = SecureNoise(), np.array([1000.0] * 500 + [70.0] * 500)
    noise.draw_whole_ahead(deviations)
    one, other = (noise.cover_whole(k, np.zeros(1000), deviations) for k in (1, 2))
    assert (one != other).any()
    assert (one == np.rint(one)).all()
    for half, deviation in ((slice(0, 500), 1000.0), (slice(500, 1000), 70.0)):
        assert 0.8 * deviation < one[half].std() < 1.2 * deviation


def test_a_copy_of_a_source_has_none_of_its_noise() -> None:
    import copy

    noise = SecureNoise()
    noise.draw_whole_ahead(np.full(4, 50.0))
    assert not copy.copy(noise)._whole


def test_no_more_shares_than_planned_and_no_bad_noise() -> None:
    plan = shares.share_plan(total_plan("optimal", 1), 2)
    state = running_sum.init(plan, PATTERN.size)
    nothing = np.zeros(PATTERN.size)
    with pytest.raises(NoiseError):
        release_share(plan, STEP, state, nothing, PATTERN, lambda k: np.full(PATTERN.size, np.nan))
    state, _ = release_share(plan, STEP, state, nothing, PATTERN, lambda k: nothing)
    with pytest.raises(ReleaseRefusedError):
        release_share(plan, STEP, state, nothing, PATTERN, lambda k: nothing)


def needs(parties: int, records: int, honest: int = 5, releases: int = 10) -> ShareNeeds:
    """Return what a grid depends on, for FedUCB with d = 2."""
    total = total_plan("optimal", releases)
    return ShareNeeds(total, honest, parties, records, 1.0, NORM, 3.0, PATTERN, 1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 10_000), st.integers(1, 10**6), st.integers(1, 40))
def test_a_grid_has_room_for_all_that_is_added(parties: int, records: int, releases: int) -> None:
    """It is within its range, or refused: of ten thousand parties with a million records each."""
    found = needs(parties, records, max(1, parties // 2), releases)
    grid = finest_grid(found)
    if grid.moved > ROUNDING_MARGIN or grid.distance > shares._OF_DELTA:
        with pytest.raises(ConfigError, match="secure sum"):
            plan_grid(found)
        return
    step = plan_grid(found) / (1.5 * 2.0**52)
    assert math.log2(step) == math.floor(math.log2(step))
    assert records / step < 2.0**52
    assert parties * records / step <= 2.0**61
    noise = shares.share_plan(found.total, found.honest).largest_deviation() * PATTERN.max()
    assert noise / step <= 2.0**46


def test_sums_that_no_grid_is_fine_enough_for_are_refused() -> None:
    with pytest.raises(ConfigError, match="secure sum"):
        plan_grid(needs(10**6, 10**12))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_whole_noise_is_no_further_from_continuous_noise_than_a_grid_says(mechanism: str) -> None:
    """Every number of every share adds the distance of its own draw, found by brute force."""
    found = needs(20, 1000)._replace(total=total_plan(mechanism, 6))
    share = shares.share_plan(found.total, found.honest)
    for step in (2.0**0, 2.0**1, 2.0**2):
        apart = sum(
            found.honest * _apart(deviation)
            for k in range(1, 7)
            for deviation in deviations_of(share, step, PATTERN, k)
        )
        assert 0.75 < apart / (found.delta * shares._distance(found, step)) <= 1.0
    assert finest_grid(found).distance == shares._distance(found, finest_grid(found).step)


def _apart(deviation: float) -> float:
    """Return the total variation between a discrete Gaussian and a rounded continuous one."""
    z = np.arange(-40 * deviation - 1, 40 * deviation + 2).round()
    discrete = np.exp(-0.5 * (z / deviation) ** 2)
    edges = (np.append(z, z[-1] + 1.0) - 0.5) / deviation / math.sqrt(2.0)
    continuous = np.diff([0.5 * (1.0 + math.erf(edge)) for edge in edges])
    return float(0.5 * np.abs(discrete / discrete.sum() - continuous).sum())


@given(
    st.lists(st.tuples(st.integers(2, 9), st.integers(0, 12)), min_size=1, max_size=2).filter(
        lambda draws: any(c for _, c in draws)
    ),
    st.sampled_from([0.0, 0.5, 1.0, 5.0, 20.0, 100.0]),
)
def test_whole_draws_cost_what_real_ones_do_and_a_little_for_every_epsilon(
    draws: list[tuple[int, int]], epsilon: float
) -> None:
    """δ of whole draws that a record moves by c steps each, by adding up, beside what is proved."""
    log_chance, loss = np.zeros(1), np.zeros(1)  # of all outcomes
    for sigma, c in draws:
        z = np.arange(c - 40 * sigma, c + 40 * sigma + 1)
        weights = -((z - c) ** 2) / (2.0 * sigma**2)
        log_chance = np.add.outer(log_chance, weights - np.logaddexp.reduce(weights)).ravel()
        loss = np.add.outer(loss, c * (2.0 * z - c) / (2.0 * sigma**2)).ravel()
    more = loss > epsilon
    found = float(np.sum(np.exp(log_chance[more]) * -np.expm1(epsilon - loss[more])))
    mu = math.hypot(*(c / sigma for sigma, c in draws))
    gamma = sum(1.0 / (49.0 * sigma**2) for sigma, _ in draws)
    less = epsilon - 3.5 * math.sqrt(gamma) * mu
    real = ndtr(mu / 2.0 - less / mu) - math.exp(less + log_ndtr(-mu / 2.0 - less / mu))
    assert found <= (1.0 + 3.0 * gamma) * real * (1.0 + 1e-9) + 1e-250
    # Without room for cells it would be too little, and total variation says nothing any more.
    assert epsilon < 20.0 or (1.0 + math.exp(epsilon)) * gamma > 1.0


@pytest.mark.parametrize("mu", [0.3, 9.0])
def test_noise_has_room_for_cells_whatever_one_record_costs(mu: float) -> None:
    """Ten records, or one share alone, have a larger ε: total variation may say nothing of it."""
    found = needs(20, 1000)._replace(total=total_plan("optimal", 10, mu))
    grid = finest_grid(found)
    cells = 4.5 * math.sqrt(grid.distance * found.delta)
    assert grid.moved == shares._moved(found, grid.step) + cells
    assert cells < 1e-3 * grid.moved < 2e-4 * ROUNDING_MARGIN
    # A grid on which noise is as far from continuous noise as it may be has none to spare.
    most = 4.5 * math.sqrt(shares._OF_DELTA * found.delta)
    assert 0.9 * ROUNDING_MARGIN < most < ROUNDING_MARGIN


def test_noise_that_is_too_far_from_continuous_noise_is_refused() -> None:
    """With a tiny δ the distance counts before rounding does."""
    fine = needs(20, 1000)
    plan_grid(fine)
    with pytest.raises(ConfigError, match="secure sum"):
        plan_grid(fine._replace(delta=1e-40))
