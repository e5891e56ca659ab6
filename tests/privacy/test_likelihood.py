"""The likelihood ratio is that of the code that releases, and nothing tells more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.privacy import running_sum
from fedbandits.privacy.continual import ContinualPlan, noise_pattern
from fedbandits.privacy.gaussian import record_sensitivity
from fedbandits.privacy.likelihood import (
    attacker,
    decoder,
    stated_deviations,
    stated_pattern,
    telling_releases,
)
from fedbandits.systems.games import Record, opposite_records, packed_record

plans = st.one_of(
    st.builds(
        ContinualPlan,
        st.sampled_from(["tree", "toeplitz"]),
        st.integers(1, 64),
        st.floats(0.1, 50.0),
    ),
    st.builds(
        ContinualPlan,
        st.just("optimal"),
        st.integers(1, 40),
        st.floats(0.1, 50.0),
        st.sampled_from([1.0, 0.8]),
    ),
)


def probed(plan):
    """How much of each step's draw is in each release, as the releasing code adds it."""
    n = plan.releases
    unit = ContinualPlan(plan.mechanism, n, 1.0, plan.decay)
    state, rows = running_sum.init(unit, n), []
    for _ in range(n):
        state, released = running_sum.release(
            unit, state, np.zeros(n), np.ones(n), lambda k: np.eye(n)[k - 1]
        )
        rows.append(released)
    return np.array(rows)


def likelihood_weights(plan, change, releases):
    """Σ⁻¹ Δ for a record in all releases, as an attacker who is told the change has it."""
    sees = attacker(plan, (np.zeros_like(change), change), releases)
    return np.outer(sees.over_time.sum(axis=0), sees.weights)


def covariance(plan, releases):
    mixing = probed(plan)[releases - 1]
    return plan.scale**2 * mixing @ mixing.T


@given(plans)
def test_the_decoder_is_what_releases_are_made_with(plan):
    every = np.arange(1, plan.releases + 1)
    np.testing.assert_allclose(decoder(plan, every), probed(plan), rtol=1e-12, atol=1e-14)


@given(plans, st.data())
def test_some_releases_have_the_covariance_that_their_decoder_says(plan, data):
    numbers = st.lists(st.integers(1, plan.releases), min_size=1, unique=True)
    some = np.array(sorted(data.draw(numbers)), np.int64)
    mixing = decoder(plan, some)
    np.testing.assert_allclose(
        plan.scale**2 * mixing @ mixing.T, covariance(plan, some), rtol=1e-9, atol=1e-9
    )


@given(plans, st.integers(0, 2**32 - 1))
def test_the_telling_releases_say_all_that_is_charged_for(plan, seed):
    """√(Δᵀ Σ⁻¹ Δ) is the stated μ, with the covariance that the releasing code has."""
    rng, pattern = np.random.default_rng(seed), noise_pattern(1, 3)
    change, steps = rng.normal(size=len(pattern)), telling_releases(plan)
    norm = float(np.linalg.norm(change / pattern))  # stands for L² + B²
    over_time = np.linalg.solve(covariance(plan, steps), np.ones(len(steps)))
    weights = likelihood_weights(plan, change, steps)
    np.testing.assert_allclose(weights, np.outer(over_time, change / pattern**2), rtol=1e-6)
    assert np.sqrt(float((weights @ change).sum())) == pytest.approx(plan.mu(norm), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["tree", "toeplitz", "optimal"])
def test_all_releases_say_no_more_than_the_telling_ones_whenever_the_record_came(mechanism):
    for n in range(1, 41 if mechanism == "optimal" else 65):
        plan = ContinualPlan(mechanism, n, 1.0)
        mixing = probed(plan)
        for batch in range(1, n + 1):
            entered = np.arange(1, n + 1) >= batch
            moved = np.linalg.norm(np.linalg.solve(mixing, entered.astype(float)))
            assert moved <= plan.mu(1.0) * (1 + 1e-9)
            if batch == 1:
                assert moved == pytest.approx(plan.mu(1.0), rel=1e-9)


@given(plans, st.integers(0, 2**32 - 1))
def test_no_other_weights_tell_more(plan, seed):
    rng, pattern = np.random.default_rng(seed), noise_pattern(1, 2)
    change, steps = rng.normal(size=len(pattern)), telling_releases(plan)
    weights, over_time = likelihood_weights(plan, change, steps), covariance(plan, steps)

    def told(w):
        spread = np.einsum("ki,kl,li,i->", w, over_time, w, pattern**2)
        return float((w @ change).sum()) / np.sqrt(spread)

    best = told(weights)
    assert best == pytest.approx(plan.mu(float(np.linalg.norm(change / pattern))), rel=1e-9)
    for size in (1e-3, 0.1, 10.0):
        other = weights + size * np.abs(weights).max() * rng.normal(size=weights.shape)
        assert told(other) <= best * (1 + 1e-12)


@given(st.integers(1, 4), st.integers(1, 6), st.floats(0.1, 2.0))
def test_the_stated_pattern_is_that_of_the_noise(models, dimension, ratio):
    np.testing.assert_allclose(
        stated_pattern(models, dimension, ratio), noise_pattern(models, dimension, ratio)
    )


@given(plans)
def test_the_stated_deviations_are_those_of_releases(plan):
    every = np.arange(1, plan.releases + 1)
    found = [plan.deviation(int(k)) for k in every]
    np.testing.assert_allclose(stated_deviations(plan, every), found, rtol=1e-9)


class TestAttacker:
    """It is told which record is replaced, and when it came."""

    PLAN, STEPS = ContinualPlan("toeplitz", 4, 3.0), np.arange(1, 5)
    PAIR = np.array([1.0, 0.0, 2.0, 1.0, 0.5]), np.array([0.0, 1.0, 2.0, 1.0, 0.5])

    def seen(self, world, batch, noise):
        entered = (batch[:, None] <= self.STEPS).astype(float)
        return entered[:, :, None] * self.PAIR[world] + noise, entered

    def test_scores_are_gaussian_around_zero_and_as_far_apart_as_the_record_moves_them(self):
        rng, sees = np.random.default_rng(0), attacker(self.PLAN, self.PAIR, self.STEPS)
        draws = rng.normal(size=(20_000, 4, 5)) * 3.0 * stated_pattern(1, 2)
        noise = np.einsum("kj,rji->rki", decoder(self.PLAN, self.STEPS), draws)
        for batch in (1, 3):
            scores = []
            for world in (0, 1):
                values, entered = self.seen(world, np.full(20_000, batch), noise)
                scores.append(sees.scores(values, entered, np.ones(20_000)))
            apart = float((scores[1] - scores[0]).mean())  # μ²
            assert float(scores[0].mean()) == pytest.approx(-apart / 2, abs=0.03 * apart**0.5)
            assert float(scores[0].var()) == pytest.approx(apart, rel=0.05)

    def test_numbers_without_noise_are_counted_where_the_record_is(self):
        sees = attacker(self.PLAN, self.PAIR, self.STEPS)
        for world in (0, 1):
            values, entered = self.seen(world, np.array([1, 3]), np.zeros((2, 4, 5)))
            # Two numbers of each release that has the record in it tell the worlds apart.
            found = sees.bare(values, entered)[:, 0]
            assert found.tolist() == [(2 * world - 1) * 8, (2 * world - 1) * 4]
            assert (sees.bare(values + 1e-6, entered) == 0.0).all()


class TestOppositeRecords:
    @given(st.integers(2, 5), st.floats(0.1, 5.0), st.floats(0.0, 3.0), st.floats(0.2, 2.0))
    def test_they_are_as_far_apart_as_the_stated_sensitivity(self, dimension, bound, share, ratio):
        pair = opposite_records(dimension, bound, share * bound, ratio)
        moved = packed_record(pair[1]) - packed_record(pair[0])
        norm = float(np.linalg.norm(moved / noise_pattern(1, dimension, ratio)))
        assert norm == pytest.approx(record_sensitivity(bound, share * bound, ratio), rel=1e-5)

    @given(
        st.integers(1, 5), st.floats(0.1, 5.0), st.floats(0.1, 5.0), st.floats(0.2, 2.0),
        st.integers(0, 2**32 - 1),
    )  # fmt: skip
    def test_no_two_records_within_bounds_are_further_apart(
        self, dimension, bound, most, ratio, seed
    ):
        rng = np.random.default_rng(seed)
        pair = []
        for _ in range(2):
            x = rng.normal(size=dimension)
            x *= bound * (1 - 1e-6) * rng.choice([1.0, rng.random()]) / np.linalg.norm(x)
            pair.append(Record(x, most * rng.choice([1.0, -1.0, rng.random()])))
        pair += opposite_records(dimension, bound, most, ratio)
        for one in pair:
            assert np.linalg.norm(one.context.astype(np.float32)) <= bound
            for other in pair:
                moved = packed_record(one) - packed_record(other)
                norm = float(np.linalg.norm(moved / noise_pattern(1, dimension, ratio)))
                assert norm <= record_sensitivity(bound, most, ratio) * (1 + 1e-9)
