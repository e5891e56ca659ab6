from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from fedbandits.learners.kernels import index_rules as rules
from fedbandits.learners.kernels.index_rules import draw_beta
from fedbandits.learners.kernels.largest_scores import LargestPursuit, LargestSoftmax
from fedbandits.learners.kernels.rule_handles import Records
from fedbandits.learners.open_rules import NotLocalError, OneArm, OpenRule, check_arm_score_locality
from fedbandits.random import Key, replicate_key

KEY = replicate_key(3, 0)
EXAMPLES = [
    rules.UCB(), rules.UCBTuned(), rules.KLUCB(), rules.KLUCB(3.0), rules.Thompson(),
    rules.EpsilonGreedy(), rules.DecreasingEpsilonGreedy(), rules.Softmax(), rules.Pursuit(),
    LargestSoftmax(), LargestPursuit(),
]  # fmt: skip


def score(rule, pulls, rewards, step=68, iteration=1, memory=0.25):
    return OneArm(rule, KEY).score(iteration, step, pulls, rewards, memory)


def test_every_rule_is_tried():
    assert {type(rule) for rule in EXAMPLES} == set(rules.RULES)


def test_the_papers_worked_step():
    """Section 4.1.2: t = 68, s = 24, 10, 2 and n = 33, 24, 10 give 1.23, 1.01 and 1.12."""
    found = [score(rules.UCB(), n, s) for s, n in ((24, 33), (10, 24), (2, 10))]
    np.testing.assert_allclose(found, [1.23, 1.01, 1.12], atol=0.005)


def test_the_papers_softmax():
    """Section 4.1.2: the paper rounds means first (0.72, 0.38, 0.2), then e^(μ / 0.1)."""
    found = [score(rules.Softmax(0.1), 100, s) for s in (72, 38, 20)]
    np.testing.assert_allclose(found, [1339.43, 44.70, 7.39], rtol=1e-3)


def test_pursuit_as_in_the_paper():
    """Section 4.2: from 1/3 with β = 0.1 the leader moves to 0.4 and the others to 0.3."""
    for leads, expected in ((True, 0.4), (False, 0.3)):
        arm = OneArm(rules.Pursuit(0.1))
        memory = arm.remembered(1, leads, 1.0 / 3.0)
        assert memory == pytest.approx(expected)
        memory = arm.remembered(2, not leads, memory)  # the second bit tells who pulls
        assert memory == pytest.approx(expected)
        assert score(rules.Pursuit(0.1), 5, 2, iteration=2, memory=0.123) == 0.123
        assert score(rules.Pursuit(0.1), 5, 2, iteration=1, memory=memory) == 2 / 5


def test_pursuit_never_keeps_denormal_probabilities():
    arm, memory = OneArm(rules.Pursuit(0.1)), 0.5
    for _ in range(20_000):
        memory = arm.remembered(1, False, memory)
    assert memory == 0.0


@pytest.mark.parametrize("step", [11, 100, 5000])
def test_exploration_rates(step):
    shares = {
        rules.EpsilonGreedy(0.25): 0.25,
        rules.DecreasingEpsilonGreedy(2.0, 0.5): min(1.0, math.sqrt(20 / step)),
        rules.DecreasingEpsilonGreedy(logarithmic=True): 1.0 / math.log2(step),
        rules.DecreasingEpsilonGreedy(2.0, 2.0, True): min(1.0, 4.0 / math.log2(step) ** 2),
        rules.UCB(): 0.0,
    }
    draws = (np.arange(2000) + 0.5) / 2000
    for rule, expected in shares.items():
        arm = OneArm(rule)
        found = np.mean([arm.explores(step, 10, draw) for draw in draws])
        assert found == pytest.approx(expected, abs=1e-3)


def test_certain_and_impossible_exploration():
    assert OneArm(rules.EpsilonGreedy(1.0)).explores(5, 3, 1 - 2.0**-53)
    assert not OneArm(rules.EpsilonGreedy(0.0)).explores(5, 3, 0.0)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 30.0), (3.0, 5.0), (400.0, 900.0)])
def test_beta_draws(a, b):
    draws = [draw_beta(a, b, KEY, 1, t) for t in range(8000)]
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 1e-3


def test_thompson_draws_from_the_posterior():
    draws = [score(rules.Thompson(), 20, 7, step=t) for t in range(8000)]
    assert stats.kstest(draws, stats.beta(8, 14).cdf).pvalue > 1e-3


def test_arms_draw_independently():
    """Thompson's arms must not share their draws (the authors' code has one seed a step)."""
    keys = np.zeros((3, 2), np.uint64)
    rules.fill_arm_keys(KEY, keys)
    records = Records(np.full(3, 9), np.full(3, 4.0), np.zeros((3, 1)), keys)
    opened = OpenRule(rules.Thompson(), records)
    draws = [opened.score(1, step).copy() for step in range(10, 2010)]
    correlations = np.corrcoef(np.array(draws).T) - np.eye(3)
    assert np.abs(correlations).max() < 0.08


def test_the_two_parts_of_a_beta_draw_are_independent():
    """Correlated gamma variables would show in the spread of their ratio."""
    draws = np.array([draw_beta(40.0, 60.0, KEY, 1, t) for t in range(20_000)])
    assert draws.std() == pytest.approx(stats.beta(40, 60).std(), rel=0.03)


@pytest.mark.parametrize("rule", EXAMPLES, ids=lambda rule: type(rule).__name__)
class TestRule:
    def test_scores_are_finite_functions_of_the_arm_alone(self, rule):
        pulls = np.array([1, 1, 7, 1000])
        rewards = np.array([0.0, 1.0, 3.0, 1000.0])
        memory = np.full((4, 1), 0.25)
        keys = np.zeros((4, 2), np.uint64)
        rules.fill_arm_keys(KEY, keys)
        opened = OpenRule(rule, Records(pulls, rewards, memory, keys))
        for iteration, comparison in enumerate(rules.RULES[type(rule)].iterations, start=1):
            scores = opened.score(iteration, 2000)
            assert np.isfinite(scores).all()
            if comparison == rules.IN_PROPORTION:
                assert (scores >= 0).all()
            alone = [
                OneArm(rule, Key(*keys[i])).score(iteration, 2000, pulls[i], rewards[i], 0.25)
                for i in range(4)
            ]
            np.testing.assert_array_equal(scores, alone)

    def test_it_is_local(self, rule):
        check_arm_score_locality(rule)


class ReinforcementComparison(NamedTuple):
    """The paper's example of what cannot run in SAMBA: a baseline over all arms (section 5.1)."""

    baseline: Any  # (1,), shared by all arms


def _preference(rule: Any, iteration: Any, step: Any, arm: Any, memory: Any) -> Any:
    rule.baseline[0] += 0.1 * (arm.rewards / arm.pulls - rule.baseline[0])
    return math.exp(arm.rewards / arm.pulls - rule.baseline[0])


def test_reinforcement_comparison_is_refused(monkeypatch):
    monkeypatch.setitem(rules.RULES, ReinforcementComparison, None)  # gone after this test
    rules.declare(ReinforcementComparison, (rules.IN_PROPORTION,), _preference)
    with pytest.raises(NotLocalError, match="ReinforcementComparison"):
        check_arm_score_locality(ReinforcementComparison(np.zeros(1)))
