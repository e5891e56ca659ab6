"""Scores of which the largest wins: the same laws as probability matching, from own draws.

Statistical tests have fixed seeds. Each would reject what is right with probability 10⁻⁴.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedbandits.learners.kernels import index_rules as rules
from fedbandits.learners.kernels import largest_scores as largest
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import OneArm, OpenRule
from fedbandits.random import Key, replicate_key

KEY = replicate_key(3, 0)
EXAMPLES = [
    rules.UCB(), rules.UCBTuned(), rules.KLUCB(), rules.Thompson(), rules.EpsilonGreedy(),
    rules.DecreasingEpsilonGreedy(), largest.LargestSoftmax(), largest.LargestPursuit(),
]  # fmt: skip
each_rule = pytest.mark.parametrize("rule", EXAMPLES, ids=lambda rule: type(rule).__name__)
REJECTS = 1e-4


def own_keys(arms):
    keys = np.zeros((arms, 2), np.uint64)
    rules.fill_arm_keys(KEY, keys)
    return keys


def opened(rule, pulls, rewards, memory):
    kept = np.array(memory, dtype=float).reshape(-1, 1)
    records = np.array(pulls), np.array(rewards, dtype=float)
    return OpenRule(rule, Records(*records, kept, own_keys(len(pulls))))


def scores_of(rule, step, pulls, rewards, memory, iteration=1, exploring=False):
    every = opened(rule, pulls, rewards, memory)
    largest.largest_scores(every.handle, iteration, step, every.records.keys, exploring)
    return every.handle.scores


def winners(rule, steps, *records, **parts):
    """How often each arm's score is the largest."""
    counts = np.zeros(len(records[0]))
    for step in range(10, 10 + steps):
        counts[scores_of(rule, step, *records, **parts).argmax()] += 1
    return counts


def test_every_rule_is_tried():
    published = rules.RULES.keys() - {largest.LargestSoftmax, largest.LargestPursuit}
    assert {type(largest.as_largest(rule())) for rule in published} == set(map(type, EXAMPLES))
    assert largest.as_largest(rules.Softmax(0.3)) == largest.LargestSoftmax(0.3)
    assert largest.as_largest(rules.UCB(0.5)) == rules.UCB(0.5)


@each_rule
def test_the_largest_score_wins_in_every_iteration(rule):
    assert set(rules.RULES[type(rule)].iterations) == {rules.LARGEST}


@each_rule
def test_an_arm_computes_its_score_alone(rule):
    pulls, rewards, memory = [1, 1, 7, 1000], [0.0, 1.0, 3.0, 1000.0], [-1000.0, -7.0, -1.0, 0.0]
    for iteration in range(1, len(rules.RULES[type(rule)].iterations) + 1):
        for exploring in (False, True):
            together = scores_of(rule, 2000, pulls, rewards, memory, iteration, exploring)
            assert np.isfinite(together).all()
            alone = [
                largest.own_uniform(Key(*key), iteration, 2000)
                if exploring
                else OneArm(rule, Key(*key)).score(iteration, 2000, n, s, kept)
                for n, s, key, kept in zip(pulls, rewards, own_keys(4), memory, strict=True)
            ]
            np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("rule", EXAMPLES[:6], ids=lambda rule: type(rule).__name__)
def test_what_already_goes_by_the_largest_is_as_published(rule):
    pulls, rewards = np.array([1, 7, 33, 900]), np.array([0.0, 3.0, 24.0, 500.0])
    published = opened(rule, pulls, rewards, [0.0] * 4).score(1, 941)
    np.testing.assert_array_equal(scores_of(rule, 941, pulls, rewards, [0.0] * 4), published)


def test_gumbel_variables():
    draws = np.array([largest.own_gumbel(KEY, 1, t) for t in range(10_000)])
    assert stats.kstest(draws, stats.gumbel_r.cdf).pvalue > REJECTS
    assert -3.7 < draws.min() < draws.max() < 37.5


def test_the_largest_with_gumbel_noise_is_in_proportion():
    """Softmax with means 0.9, 0.7, 0.5, 0.1 at τ = 0.2, against e^(μ / τ) / Σ."""
    means, temperature = np.array([0.9, 0.7, 0.5, 0.1]), 0.2
    counts = winners(largest.LargestSoftmax(temperature), 20_000, [10] * 4, 10 * means, [0.0] * 4)
    weights = np.exp(means / temperature)
    assert stats.chisquare(counts, 20_000 * weights / weights.sum()).pvalue > REJECTS


def test_pursuit_matches_its_weights():
    weights = np.array([0.02, 0.08, 0.3, 0.6])
    counts = winners(
        largest.LargestPursuit(),
        20_000,
        [5] * 4,
        [5.0, 2.0, 1.0, 0.0],
        np.log(weights),
        iteration=2,
    )
    assert stats.chisquare(counts, 20_000 * weights).pvalue > REJECTS


def test_pursuit_compares_means_first():
    found = scores_of(largest.LargestPursuit(), 50, [5, 4, 8], [5.0, 2.0, 1.0], [-1.0, -2.0, -3.0])
    np.testing.assert_array_equal(found, [1.0, 0.5, 0.125])


@pytest.mark.parametrize("rule", EXAMPLES[4:6], ids=lambda rule: type(rule).__name__)
def test_a_step_that_explores_draws_any_arm(rule):
    """Whatever the records are."""
    records = [9] * 5, [9.0, 0.0, 3.0, 0.0, 1.0], [0.0] * 5
    draws = np.array([scores_of(rule, t, *records, exploring=True) for t in range(4000)])
    assert stats.kstest(draws.ravel(), "uniform").pvalue > REJECTS
    assert stats.chisquare(np.bincount(draws.argmax(axis=1), minlength=5)).pvalue > REJECTS
    assert np.abs(np.corrcoef(draws.T) - np.eye(5)).max() < 0.08  # 5 deviations


def test_draws_are_named_by_key_step_and_iteration():
    names = [(key, i, t) for key in (KEY, Key(4, 5)) for i in (1, 2) for t in range(300)]
    draws = [largest.own_uniform(*name) for name in names]
    assert len(set(draws)) == len(names)
    assert draws == [largest.own_uniform(*name) for name in names]


def test_what_is_kept_before_the_first_step():
    assert largest.first_memory(largest.LargestPursuit(), 8) == pytest.approx(math.log(1 / 8))
    assert {largest.first_memory(rule, 8) for rule in EXAMPLES[:7]} == {0.0}


@pytest.mark.parametrize(("rate", "share"), [(0.1, 0.3), (0.5, 0.5), (0.01, 0.9), (0.999, 0.02)])
def test_log_weights_are_logarithms_of_pursuits_probabilities(rate, share):
    """1,000 random bits. The published probability is zero below 2⁻⁵⁰⁰."""
    published, rule = OneArm(rules.Pursuit(rate)), largest.LargestPursuit(rate)
    ours, zeros = OneArm(rule), 0
    probability, logarithm = 0.25, largest.first_memory(rule, 4)
    for bit in np.random.default_rng(7).random(1000) < share:
        probability = published.remembered(1, bool(bit), probability)
        logarithm = ours.remembered(1, bool(bit), logarithm)
        if probability > 0.0:
            assert math.exp(logarithm) == pytest.approx(probability, rel=1e-11)
        else:
            assert logarithm < -340.0
            zeros += 1
    assert (zeros > 0) == (rate == 0.999)


def test_log_weights_saturate_and_recover():
    arm, memory = OneArm(largest.LargestPursuit(0.1), KEY), -math.log(100)
    for _ in range(20_000):
        memory = arm.remembered(1, False, memory)
    assert memory == largest.LEAST_LOG_WEIGHT == -1000.0
    assert math.isfinite(arm.score(2, 9, 1, 0.0, memory))
    memory = arm.remembered(1, True, memory)
    assert memory == pytest.approx(math.log(0.1))
    for _ in range(20_000):
        memory = arm.remembered(1, True, memory)
    assert -1e-15 < memory <= 0.0


@given(st.floats(-1000.0, 0.0), st.booleans(), st.floats(1e-6, 0.999))
def test_a_log_weight_stays_one(memory, bit, rate):
    kept = OneArm(largest.LargestPursuit(rate)).remembered(1, bit, memory)
    assert -1000.0 <= kept <= 0.0
    assert kept >= memory if bit else kept <= memory


@each_rule
def test_only_pursuits_first_bit_is_kept(rule):
    for iteration in range(1, len(rules.RULES[type(rule)].iterations) + 1):
        kept = OneArm(rule).remembered(iteration, True, -3.0)
        assert (kept != -3.0) == (isinstance(rule, largest.LargestPursuit) and iteration == 1)
