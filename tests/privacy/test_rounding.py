"""Rounding cannot tell two worlds apart: sums are exact, and what is left stays in its room."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits._compile import compiled
from fedbandits.errors import BoundExceededError, ConfigError
from fedbandits.learners.kernels.ridge import add_record, packed_size
from fedbandits.privacy import gaussian
from fedbandits.privacy.bounds import require_contexts
from fedbandits.privacy.continual import calibrated, noise_pattern
from fedbandits.privacy.kernels import CAST_ROOM, NO_FAULT, contexts_fault, record_fault
from fedbandits.privacy.rounding import (
    coarseness,
    grid_step,
    most_records,
    most_vectors,
    require_room,
    require_room_for_vectors,
    rounding_constant,
)
from fedbandits.privacy.running_sum import init, release


@compiled
def add_all(sums, contexts, rewards, rounding):
    """Add all records to the first row."""
    for i in range(rewards.size):
        add_record(sums, 0, contexts[i], rewards[i], rounding)


def drawn_records(count, d, seed):
    """Records of the largest size there is: sums grow as fast as they can."""
    rng = np.random.default_rng(seed)
    contexts = np.abs(rng.normal(size=(count, d)))
    contexts /= np.linalg.norm(contexts, axis=1)[:, None]
    return contexts, np.ones(count)


def differences(rounding, large=1 << 18, small=200_000):
    """How two worlds' sums differ after their first record, and at the end.

    Large records bring one sum just to a power of two and leave the other just below; small ones
    round to another step of float64 on either side.
    """
    first = np.eye(2)
    worlds = np.zeros((2, 1, packed_size(2)))
    for sums, context in zip(worlds, first, strict=True):
        add_record(sums, 0, context, 0.0, rounding)
    before = worlds[0] - worlds[1]
    tiny = np.array([[math.sqrt(0.625 * large * 2.0**-52), 0.0]])
    for sums in worlds:
        add_all(sums, np.repeat(first[:1], large - 1, axis=0), np.zeros(large - 1), rounding)
        add_all(sums, np.repeat(tiny, small, axis=0), np.zeros(small), rounding)
    return before, worlds[0] - worlds[1]


class TestExactSums:
    def test_two_worlds_stay_as_far_apart_as_their_one_record(self):
        before, after = differences(rounding_constant((1 << 18) + 200_000, 1.0))
        np.testing.assert_array_equal(before, after)

    def test_without_a_grid_they_do_not(self):
        before, after = differences(0.0)
        assert np.abs(after - before).max() > 5e-6

    @given(st.integers(1, 60), st.integers(0, 2**32 - 1))
    def test_order_does_not_matter(self, count, seed):
        contexts, _ = drawn_records(count, 4, seed)
        rewards = np.random.default_rng(seed).uniform(-1, 1, count)
        constant, totals = rounding_constant(count, 1.0), np.zeros((2, 1, packed_size(4)))
        add_all(totals[0], contexts, rewards, constant)
        add_all(totals[1], contexts[::-1].copy(), rewards[::-1].copy(), constant)
        np.testing.assert_array_equal(totals[0], totals[1])

    @given(st.integers(1, 2**33), st.floats(1e-3, 1e3), st.floats(-1.0, 1.0))
    def test_a_product_goes_to_the_nearest_step_and_all_of_them_fit(self, records, largest, share):
        constant = Fraction(rounding_constant(records, largest))
        step = constant / (3 * 2**51)
        assert step.numerator == 1 or step.denominator == 1  # a power of two
        assert records * (Fraction(largest) + step / 2) <= 2**53 * step
        sums = np.zeros((1, 2))
        add_record(sums, 0, np.ones(1), share * largest, float(constant))
        rounded = Fraction(sums[0, 1])
        assert (rounded / step).denominator == 1
        assert abs(rounded - Fraction(share * largest)) <= step / 2

    @pytest.mark.parametrize(("records", "largest"), [(0, 1.0), (5, 0.0), (5, math.inf)])
    def test_what_can_be_no_grid_is_refused(self, records, largest):
        with pytest.raises(ValueError, match="cannot be"):
            rounding_constant(records, largest)


class TestRoom:
    @pytest.mark.parametrize("mechanism", ["tree", "toeplitz"])
    @pytest.mark.parametrize("releases", [1, 40, 300])
    def test_as_many_records_as_are_allowed_move_what_is_covered_by_the_price_at_most(
        self, mechanism, releases
    ):
        """All records as large as can be and alike: rounding is at its worst, and stays inside."""
        d, mu = 2, 1.0
        pattern = noise_pattern(1, d)
        records = most_records(d, releases)
        assert records > 2**28
        reach = gaussian.record_sensitivity(1.0, 1.0)
        plan = calibrated(mechanism, releases, mu, reach)
        step = rounding_constant(records, 1.0) / (3 * 2.0**51)
        batch = np.floor(records / releases / 3) * np.array([1.0, 0.4, 0.7, -1.0, 0.9])
        batch = np.rint(batch / step) * step
        change = (
            np.array([0.0, 0.0, 0.0, 2.0 * (1.0 + CAST_ROOM) ** 2, 0.0]) + step
        )  # as far as can be
        covered = [play(plan, pattern, batch, extra, releases) for extra in (0.0, change)]
        assert np.linalg.norm(covered[0] - covered[1]) <= mu

    @pytest.mark.parametrize(("reward", "ratio"), [(1.0, 0.5), (1.0, 2.0), (20.0, 0.05)])
    def test_products_on_the_grid_move_a_sum_as_far_as_is_said_with_unequal_noise(
        self, reward, ratio
    ):
        """The worst that rounding can do to two records, entry by entry."""
        d, records = 3, 10**6
        reach = gaussian.record_sensitivity(1.0, reward, ratio)
        step = grid_step(rounding_constant(records, max(1.0, reward)))
        moved = np.linalg.norm(np.full(d * (d + 3) // 2, step) / noise_pattern(1, d, ratio))
        coarse = coarseness(max(1.0, reward), reach, ratio)
        assert moved / reach <= math.sqrt(2.0) * records * 2.0**-53 * (d + 1) * coarse
        assert most_records(d, 10, coarse) <= most_records(d, 10)

    def test_a_plan_beyond_the_room_is_refused_with_the_numbers(self):
        most = most_records(50, 100)
        require_room(most, 50, 100)
        with pytest.raises(ConfigError, match=f"allowed: {most:,} in dimension 50"):
            require_room(most + 1, 50, 100)

    def test_more_dimensions_and_releases_leave_room_for_fewer(self):
        assert most_records(10, 40) > most_records(100, 40) > most_records(100, 4000) > 10**7


def play(plan, pattern, batch, extra, releases):
    """All that is covered in one world, in deviations; the record that differs comes first."""

    class Seen:
        def __init__(self):
            self.values = []

        def cover(self, step, values):
            del step
            self.values.append(np.rint(values * 2.0**40) / 2.0**40)
            return np.zeros(values.shape)

    seen, state = Seen(), init(plan, len(pattern))
    for k in range(1, releases + 1):
        state, _ = release(plan, state, batch * k + extra, pattern, seen)
    return np.concatenate(seen.values)


class TestBounds:
    @given(st.integers(1, 60), st.floats(0.1, 10.0), st.integers(0, 2**32 - 1))
    def test_a_vector_of_the_largest_length_is_taken_after_a_cast_to_float32(self, d, bound, seed):
        drawn = np.random.default_rng(seed).normal(size=d)
        cast = (bound * drawn / np.linalg.norm(drawn)).astype(np.float32)
        record = cast.astype(np.float64)
        assert record_fault(record, 0.0, bound, -1.0, 1.0, False)[0] == NO_FAULT
        assert contexts_fault(cast[:, None].copy(), bound) == NO_FAULT

    @pytest.mark.parametrize("d", [4, 64, 768])
    def test_vectors_that_were_normalised_in_float32_are_taken(self, d):
        """As numpy does it, and number by number in a row, which loses most."""
        rows = np.random.default_rng(0).normal(size=(2000, d)).astype(np.float32)
        squares = np.zeros(len(rows), np.float32)
        for column in rows.T:
            squares += column * column
        for lengths in (np.linalg.norm(rows, axis=1), np.sqrt(squares)):
            unit = (rows / lengths[:, None]).T.copy()
            assert unit.dtype == np.float32
            assert contexts_fault(unit, 1.0) == NO_FAULT

    def test_the_refusal_says_row_norm_and_bound_and_nothing_of_the_context(self):
        contexts = np.array([[0.5, 0.1], [0.3, 1.25], [0.2, 0.3]], np.float32)
        require_contexts(contexts, 2.0, "north")
        said = r"^north: row 1 \(the first is 0\) has the norm 1.2893797, allowed: 1.1, the"
        with pytest.raises(BoundExceededError, match=said) as found:
            require_contexts(contexts, 1.1, "north")
        assert "1.25" not in str(found.value)
        contexts[0, 0] = np.nan
        with pytest.raises(BoundExceededError, match="finite"):
            require_contexts(contexts, 1.1, "north")

    def test_what_is_longer_than_that_is_refused(self):
        longer = np.array([1.0 + 4 * CAST_ROOM])
        assert record_fault(longer, 0.0, 1.0, -1.0, 1.0, False)[0] != NO_FAULT
        assert contexts_fault(longer.astype(np.float32)[:, None], 1.0) != NO_FAULT


class TestReach:
    @pytest.mark.parametrize("rewards", ["of both signs", "not negative"])
    @given(st.floats(0.2, 3.0), st.floats(0.2, 3.0), st.floats(0.2, 2.0), st.integers(0, 2**32 - 1))
    def test_brute_force_finds_the_stated_reach_and_nothing_beyond(
        self, rewards, bound, reward, ratio, seed
    ):
        """Unequal noise has its own reach; rewards of one sign reach as far as those of both."""
        stated = gaussian.record_sensitivity(bound, reward, ratio)
        cosines = np.linspace(-1.0, 1.0, 401)
        lengths = bound * np.linspace(0.0, 1.0, 21)
        a, b, c = np.meshgrid(lengths, lengths, cosines, indexing="ij")
        rng = np.random.default_rng(seed)
        found = 0.0
        low = -reward if rewards == "of both signs" else 0.0
        for y, z in [(reward, reward), (reward, low), *rng.uniform(low, reward, (5, 2))]:
            square = ((a**4 + b**4) / 2 - (a * b * c) ** 2) / ratio**2
            square += (y * a) ** 2 + (z * b) ** 2 - 2 * y * z * a * b * c
            found = max(found, math.sqrt(float(square.max())))
        assert stated * (1 - 1e-4) <= found <= stated * (1 + 1e-12)

    @given(st.floats(0.2, 3.0), st.floats(0.2, 3.0), st.floats(0.1, 3.0))
    def test_no_other_ratio_leaves_less_noise_in_an_estimate(self, bound, reward, parameter):
        def variance(ratio):
            reach = gaussian.record_sensitivity(bound, reward, ratio)
            return reach**2 * (1.0 + (ratio * parameter) ** 2)

        best = gaussian.best_gram_noise(bound, reward, parameter)
        assert best * reward <= bound * (1 + 1e-12)
        others = [variance(best * factor) for factor in np.geomspace(0.1, 10.0, 201)]
        assert variance(best) <= min(others) * (1 + 1e-12)

    def test_a_large_reward_costs_less_than_the_sum_of_squares(self):
        assert gaussian.record_sensitivity(1.0, 5.0) == 10.0
        assert gaussian.record_sensitivity(1.0, 1.0) == 2.0


class TestVectors:
    """Records that are any vectors of a bounded norm, rounded number by number."""

    @pytest.mark.parametrize(
        ("size", "releases", "mu"), [(1, 1, 1.0), (65, 24, 0.27), (9, 1, 0.01)]
    )
    def test_the_worst_that_rounding_can_do_is_within_its_margin(self, size, releases, mu):
        """All of it for N records of norm 1, in exact arithmetic: of a reach of 2."""
        records = most_vectors(size, releases, mu)
        step, unit = Fraction(grid_step(rounding_constant(records, 1.0))), Fraction(1, 2**53)
        rounded = step * Fraction(math.sqrt(size))  # of two records, each number by half a step
        longer = 2 * 2 * Fraction(CAST_ROOM)
        covered = 2 * 3 * unit * records * Fraction(math.sqrt(releases))
        grid = Fraction(2.0**-40) * Fraction(math.sqrt(releases * size)) * 2 / Fraction(mu)
        assert rounded + longer + covered + grid <= 2 * Fraction(gaussian.ROUNDING_MARGIN)

    def test_more_are_refused(self):
        most = most_vectors(20, 10, 0.3)
        assert most > 10**9
        require_room_for_vectors(most, 20, 10, 0.3)
        with pytest.raises(ConfigError, match="records of 20 numbers can be in one released sum"):
            require_room_for_vectors(most + 1, 20, 10, 0.3)

    def test_there_may_be_no_room_at_all(self):
        """A tiny budget, and releases of so many numbers that the grid of their noise tells."""
        assert most_vectors(1 << 26, 1 << 14, 1e-3) == 0
