"""UCB1-Tuned and KL-UCB: scores against oracles in plain numpy, and less regret than UCB1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.learners.kernels import index_rules as rules
from fedbandits.learners.kernels.index_rules import divergence_bound
from fedbandits.learners.open_rules import OneArm


def score(rule, pulls, rewards, step):
    return OneArm(rule).score(1, step, pulls, rewards, 0.0)


def divergence(p, q):
    parts = [a * math.log(a / b) if b > 0.0 else math.inf for a, b in ((p, q), (1 - p, 1 - q)) if a]
    return sum(parts)


def by_bisection(mean, level):
    """The largest q whose divergence is allowed."""
    low, high = mean, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if divergence(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def tuned(pulls, rewards, step):
    """Auer, Cesa-Bianchi & Fischer 2002, section 4, of the rewards one by one."""
    each = np.array([1.0] * rewards + [0.0] * (pulls - rewards))
    variance = (each**2).mean() - each.mean() ** 2 + np.sqrt(2 * np.log(step) / pulls)
    return each.mean() + np.sqrt(np.log(step) / pulls * min(0.25, variance))


records = st.integers(1, 5_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@given(records, st.integers(2, 10**9))
def test_tuned_is_as_published(record, step):
    assert score(rules.UCBTuned(), *record, step) == pytest.approx(tuned(*record, step), rel=1e-12)


@given(records, st.integers(2, 10**9), st.sampled_from([0.0, 3.0]))
def test_kl_ucb_is_as_published(record, step, c):
    (pulls, rewards), rule = record, rules.KLUCB(c)
    level = (math.log(step) + c * max(math.log(math.log(step)), 0.0)) / pulls
    found = score(rule, pulls, rewards, step)
    assert rewards / pulls < found <= 1.0 or found == rewards / pulls == 1.0
    assert found == pytest.approx(by_bisection(rewards / pulls, level), abs=1e-9, rel=1e-9)


@given(st.floats(0.0, 1.0), st.floats(1e-9, 50.0))
def test_the_bound_is_the_largest_mean_that_is_allowed(mean, level):
    found = divergence_bound(mean, level)
    assert mean <= found <= 1.0
    assert found == pytest.approx(by_bisection(mean, level), abs=1e-7)


@pytest.mark.parametrize("level", [1e-6, 0.1, 3.0, 30.0])
def test_an_arm_that_never_paid(level):
    """d(0, q) is -ln(1 - q)."""
    assert divergence_bound(0.0, level) == pytest.approx(-math.expm1(-level), rel=1e-12)
    assert divergence_bound(1.0, level) == 1.0


@pytest.mark.parametrize("preset", ["plain-ucb-tuned", "plain-kl-ucb"])
def test_they_lose_much_less_than_ucb1(preset):
    """Ten arms, 2,000 pulls: paired over 20 replicates, half the regret at most."""
    played = fb.run(
        fb.Experiment(
            rounds=2_000,
            replicates=20,
            environment=fb.environments.Bernoulli(arms=10),
            systems=[fb.system("plain-ucb"), fb.system(preset)],
        )
    )
    usual, better = played.regret.isel(round=-1).sum("party").mean("replicate").values
    assert better < 0.5 * usual
