"""The statistics of an audit: bounds that hold as often as they say, and find what there is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import binom, binomtest

from fedbandits.privacy import gaussian
from fedbandits.privacy.attacks import Transcripts
from fedbandits.privacy.auditing import audit
from fedbandits.privacy.error_rates import direct_bound, gaussian_bound, rate_bound
from fedbandits.systems import games
from tests import strategies as own

DELTA = 1e-5


class Synthetic(NamedTuple):
    """A game whose two worlds are given by what a generator of each draws."""

    draw: Callable[[int, np.random.Generator, int], Transcripts]
    seed: int = 0
    gaussian: bool = False
    runs: int = 10**9
    neighbours: str = "fixed log"
    looks_at: str = "contents that were made up"
    sees: str = "contents"

    def play(self, world, first, count):
        return self.draw(world, np.random.default_rng([self.seed, first]), count)


def transcripts(count, **given):
    nothing = np.zeros((count, 0))
    patterns = np.zeros(count, np.int64)
    given = {"scores": nothing, "values": nothing, "patterns": patterns, "others": nothing} | given
    return Transcripts(**given)


def only_scores(scores):
    return transcripts(len(scores), scores=scores[:, None])


def only_values(values):
    return transcripts(len(values), values=values)


def only_others(others):
    return transcripts(len(others), others=others)


def only_patterns(patterns):
    return transcripts(len(patterns), patterns=np.asarray(patterns, np.int64))


def shifted(mu, wrap=only_scores):
    return lambda world, rng, count: wrap(rng.normal(mu * world, 1.0, count))


def randomized_response(epsilon, wrap=only_scores):
    """Says which world it is with odds e^ε to 1: nothing (ε, 0)-private is easier to tell."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))

    def draw(world, rng, count):
        return wrap(np.where(rng.random(count) < truth, world, 1 - world).astype(np.float64))

    return draw


class TestRateBound:
    @given(st.integers(1, 400), st.data(), st.floats(1e-6, 0.4))
    def test_it_is_the_exact_binomial_interval_s_upper_end(self, runs, data, failure):
        errors = data.draw(st.integers(0, runs))
        exact = binomtest(errors, runs).proportion_ci(1.0 - 2.0 * failure, method="exact").high
        assert rate_bound(errors, runs, failure) == pytest.approx(exact, rel=1e-9)

    @given(st.integers(1, 400), st.data(), st.floats(1e-6, 0.4))
    def test_so_few_errors_are_as_rare_as_stated_where_the_rate_is_the_bound(
        self, runs, data, failure
    ):
        errors = data.draw(st.integers(0, runs - 1))
        bound = rate_bound(errors, runs, failure)
        assert binom.cdf(errors, runs, bound) == pytest.approx(failure, rel=1e-6)


rates = st.floats(1e-6, 1.0)


class TestBounds:
    @given(own.epsilons, st.floats(1e-9, 0.4))
    def test_exact_rates_of_randomized_response_give_its_epsilon(self, epsilon, delta):
        """That which shows the world with probability δ and else answers at random."""
        wrong = (1.0 - delta) / (1.0 + math.exp(epsilon))
        found = direct_bound((wrong, wrong), delta)
        assert found == pytest.approx(epsilon, rel=1e-6, abs=1e-6)

    @given(st.floats(0.01, 6.0), st.floats(-2.0, 8.0), own.deltas)
    def test_exact_rates_of_a_gaussian_give_its_epsilon_at_every_threshold(
        self, mu, threshold, delta
    ):
        assume(-4.0 < threshold < mu + 4.0)  # beyond, a rate is 1 but for rounding
        positives = float(ndtr(-threshold)), float(ndtr(threshold - mu))
        found, true = gaussian_bound(positives, delta), gaussian.epsilon_of(mu, delta)
        assert found == pytest.approx(true, rel=1e-6, abs=1e-7)
        assert direct_bound(positives, delta) <= true + 1e-9

    @given(rates, rates, own.deltas)
    def test_worse_rates_never_say_more(self, positive, negative, delta):
        for bound in (direct_bound, gaussian_bound):
            best = bound((positive, negative), delta)
            assert bound((min(1.0, 1.1 * positive), negative), delta) <= best
            assert bound((positive, min(1.0, 1.1 * negative)), delta) <= best
            assert bound((positive, negative), min(0.9, 2 * delta)) <= best

    @given(rates, own.deltas)
    def test_guessing_says_nothing(self, positive, delta):
        for bound in (direct_bound, gaussian_bound):
            assert bound((positive, 1.0 - positive), delta) <= 1e-9
        assert direct_bound((1.0, 1.0), delta) == gaussian_bound((1.0, 1.0), delta) == 0.0


class TestAudit:
    @pytest.mark.parametrize("wrap", [only_scores, lambda bits: only_values(bits[:, None])])
    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_randomized_response_is_shown_nearly_whole(self, epsilon, wrap):
        for seed in range(3):
            game = Synthetic(randomized_response(epsilon, wrap), seed)
            assert 0.9 * epsilon < audit(game, 100_000, DELTA).epsilon_low <= epsilon

    @pytest.mark.parametrize("mu", [0.5, 1.0, 2.5])
    def test_a_gaussian_is_shown_nearly_whole(self, mu):
        true = gaussian.epsilon_of(mu, DELTA)
        for seed in range(3):
            finding = audit(Synthetic(shifted(mu), seed, gaussian=True), 100_000, DELTA)
            assert 0.9 * true < finding.epsilon_low <= true
            assert abs(finding.mu - mu) < 5 * math.sqrt(2 / 100_000) * (1 + mu)

    def test_one_deviation_is_shown_as_well_as_the_literature_says(self):
        """μ = 1 is ε = 4.38 at δ = 10⁻⁵; Nasr et al. (2023) show about 4.1 with 10⁴ runs."""
        found = audit(Synthetic(shifted(1.0), 1, gaussian=True), 10_000, DELTA).epsilon_low
        assert 3.9 < found <= 4.38

    def test_a_learned_direction_is_as_good_as_the_likelihood_ratio(self):
        """Δᵀ Σ⁻¹ of correlated numbers, found from training runs."""
        mixing = np.random.default_rng(3).normal(size=(6, 6))
        change = mixing @ np.array([1.5, 0, 0, 0, 0, 0])  # μ = 1.5

        def draw(world, rng, count):
            return only_values(rng.normal(size=(count, 6)) @ mixing.T + world * change)

        true = gaussian.epsilon_of(1.5, DELTA)
        finding = audit(Synthetic(draw, 2, gaussian=True), 20_000, DELTA)
        assert 0.85 * true < finding.epsilon_low <= true
        assert finding.attack.startswith("learned")

    @pytest.mark.parametrize("told", [0, 1])
    def test_a_message_that_exists_in_one_world_only_is_found(self, told):
        def draw(world, rng, count):
            return only_patterns(np.full(count, 7 if world == told else 5))

        finding = audit(Synthetic(draw), 1000, DELTA)
        assert finding.epsilon_low > 4.5
        assert "which messages there are" in finding.attack
        assert finding.attack.endswith("0 and 0 errors in 1,000 runs each")

    def test_a_message_that_sometimes_exists_in_one_world_only_is_found(self):
        def draw(world, rng, count):
            return only_patterns(world * (rng.random(count) < 0.3))

        assert audit(Synthetic(draw), 1000, DELTA).epsilon_low > 3.0

    def test_a_number_in_which_noise_is_missing_is_found_among_noisy_ones(self):
        def draw(world, rng, count):
            values = rng.normal(size=(count, 5))
            values[:, 4] = values[:, 1] + 1e-3 * world  # a difference of two is raw
            return only_values(values)

        finding = audit(Synthetic(draw), 1000, DELTA)
        assert finding.epsilon_low > 4.0
        assert finding.attack.startswith("learned")

    def test_more_numbers_than_an_attack_is_learned_from_are_left_alone(self):
        def draw(world, rng, count):
            return only_values(np.zeros((count, 2001)) + world)

        assert audit(Synthetic(draw), 10, DELTA, training=10).epsilon_low == 0.0

    def test_without_a_difference_next_to_nothing_is_found(self):
        for seed in range(5):

            def draw(world, rng, count):
                scores, values = rng.normal(size=(count, 1)), rng.normal(size=(count, 20))
                patterns = rng.integers(0, 4, count)
                return transcripts(
                    count, scores=scores, values=values, patterns=patterns, others=values[:, :3]
                )

            finding = audit(Synthetic(draw, seed, gaussian=True), 5000, DELTA)
            assert finding.epsilon_low < 0.2
            assert finding.mu < 0.1

    def test_a_transcript_of_nothing_shows_nothing(self):
        finding = audit(Synthetic(lambda world, rng, count: only_patterns([0] * count)), 50, DELTA)
        assert finding.epsilon_low == 0.0
        assert math.isnan(finding.mu)
        assert "no attack" in finding.attack


class TestWhatIsNotGaussian:
    """No number of runs shows more than their direct bound, unless contents are Gaussian."""

    RUNS = 300

    def most(self):
        """Without an error in either world, were there one rule alone."""
        rate = rate_bound(0, self.RUNS, 0.01 / 2)
        return direct_bound((rate, rate), DELTA)

    def test_counts_of_messages_stay_out_of_the_gaussian_bound(self):
        """Contents are priced as Gaussian, and one world has a message more."""

        def draw(world, rng, count):
            counts = np.tile(np.arange(8.0), (count, 1)) + world
            return transcripts(count, values=rng.normal(size=(count, 5)), others=counts)

        finding = audit(Synthetic(draw, gaussian=True), self.RUNS, DELTA)
        assert finding.attack.startswith("counted (direct)")
        assert 3.5 < finding.epsilon_low <= self.most()

    def test_contents_are_not_gaussian_where_messages_differ(self):
        def draw(world, rng, count):
            values = np.zeros((count, 5)) + world
            return transcripts(
                count, scores=values[:, :1], values=values, patterns=np.arange(count) % 2
            )

        finding = audit(Synthetic(draw, gaussian=True), self.RUNS, DELTA)
        assert 3.5 < finding.epsilon_low <= self.most()

    def test_nor_where_a_counted_run_has_messages_that_no_training_run_had(self):
        def draw(world, first, count):
            patterns = (first + np.arange(count) >= 700).astype(np.int64)
            return transcripts(count, scores=np.zeros((count, 1)) + world, patterns=patterns)

        class Late(Synthetic):
            def play(self, world, first, count):
                return draw(world, first, count)

        finding = audit(Late(lambda *_: None, gaussian=True), self.RUNS, DELTA, training=200)
        assert "direct" in finding.attack
        assert finding.epsilon_low <= self.most()


class TestCoverage:
    """Bounds fail no more often than they say: each of these mechanisms is exactly as stated."""

    AUDITS, CONFIDENCE = 300, 0.9
    #: So many failures are as good as impossible if one in ten audits fails.
    MOST = int(binom.ppf(0.9999, AUDITS, 1.0 - CONFIDENCE))

    def failures(self, draw, is_gaussian, epsilon):
        found = [
            audit(Synthetic(draw, seed, is_gaussian), 400, DELTA, self.CONFIDENCE, training=100)
            for seed in range(self.AUDITS)
        ]
        return sum(finding.epsilon_low > epsilon for finding in found)

    def test_of_randomized_response(self):
        assert self.failures(randomized_response(1.0), False, 1.0) <= self.MOST

    def test_of_a_gaussian(self):
        true = gaussian.epsilon_of(1.0, DELTA)
        assert self.failures(shifted(1.0), True, true) <= self.MOST

    def test_of_contents_in_which_a_direction_is_searched_for(self):
        """Many directions to choose from, of which none tells anything."""

        def draw(world, rng, count):
            return only_values(rng.normal(size=(count, 40)))

        assert self.failures(draw, True, 1e-9) <= self.MOST

    def test_of_patterns_among_which_suspects_are_searched_for(self):
        """Some patterns are suspicious by chance in training, and no more."""

        def draw(world, rng, count):
            return only_patterns(rng.integers(0, 60, count))

        assert self.failures(draw, False, 1e-9) <= self.MOST

    def test_of_counts_in_which_a_direction_is_searched_for(self):
        def draw(world, rng, count):
            return only_others(rng.integers(0, 3, (count, 40)).astype(np.float64))

        assert self.failures(draw, True, 1e-9) <= self.MOST


class TestRuns:
    @pytest.mark.parametrize(("runs", "training"), [(100, 30), (4500, 2500), (2000, None)])
    def test_none_is_used_twice(self, runs, training):
        """Not for training and counting, and not in both worlds: draws may depend on numbers."""
        asked = {0: [], 1: []}

        def play(world, first, count):
            asked[world] += range(first, first + count)
            return only_scores(np.zeros(count))

        class Recording(Synthetic):
            def play(self, world, first, count):
                return play(world, first, count)

        audit(Recording(lambda *_: None), runs, DELTA, training=training)
        expected = runs + (training or max(200, runs // 10))
        assert len(asked[0]) == len(asked[1]) == expected
        assert len({*asked[0], *asked[1]}) == 2 * expected

    def test_an_attack_is_chosen_on_runs_that_are_not_counted(self):
        """What training runs show and counted ones do not counts for nothing."""

        def draw_only_at_first(world, first, count):
            return only_scores(np.full(count, float(world if first < 100 else 0)))

        class Fickle(Synthetic):
            def play(self, world, first, count):
                return draw_only_at_first(world, first, count)

        assert audit(Fickle(lambda *_: None), 1000, DELTA, training=50).epsilon_low == 0.0


def test_releases_that_do_not_fit_into_memory_are_scored_a_few_at_a_time(monkeypatch):
    """What is kept of each run is its score; runs have the numbers that they would have."""
    asked = []

    def look(world, first, count):
        asked.append((first, count))
        runs = first + np.arange(count, dtype=np.float64)[:, None]
        return games.Look(np.ones((count, 3000)) * runs, runs, runs)

    monkeypatch.setattr(games, "_MOST_NUMBERS", 7 * 3000)
    game = games.ContentsGame("contents", 3000, look)
    seen = game.play(0, 5, 20)
    np.testing.assert_allclose(seen.scores[:, 0], np.arange(5.0, 25.0))
    np.testing.assert_allclose(seen.others[:, 0], np.arange(5.0, 25.0))
    assert seen.values.shape == (20, 0)
    assert asked == [(5, 7), (12, 7), (19, 6)]


def test_targets_are_drawn_by_the_number_of_a_run_alone():
    """The same in both worlds, however runs are dealt out; every target gets its share."""
    whole = games.drawn_targets(0, 3000, 3, 5)
    parts = [games.drawn_targets(first, 1000, 3, 5) for first in (0, 1000, 2000)]
    for column, *pieces in zip(whole, *parts, strict=True):
        np.testing.assert_array_equal(column, np.concatenate(pieces))
    for column, bound in zip(whole, (3, 5), strict=True):
        assert np.bincount(column, minlength=bound).min() > 0.8 * 3000 / bound
        assert column.max() < bound
