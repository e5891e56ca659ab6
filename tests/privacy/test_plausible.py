"""What a receiver holds statistics to: all that honest parties can send, and little more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from fedbandits.environments import Linear
from fedbandits.federation.messages import ImplausibleError
from fedbandits.privacy.kernels import IMPROBABLE, any_implausible
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.limits import Limits


def fits(value, record=0.0, records=0.0, scale=1.0, deviation=1.0):
    each = np.array([0.0, record]), np.array([1.0, scale])
    return not any_implausible(np.array([0.0, value]), each[0], records, each[1], deviation)


@given(st.floats(0.01, 1e6), st.floats(0.1, 3.0))
def test_honest_noise_exceeds_its_limit_once_in_a_million_million_numbers(deviation, scale):
    limit = norm.isf(IMPROBABLE / 2) * deviation * scale
    assert fits(0.9999 * limit, scale=scale, deviation=deviation)
    assert not fits(1.0001 * limit, scale=scale, deviation=deviation)
    assert not fits(-1.0001 * limit, scale=scale, deviation=deviation)


@given(st.floats(0.01, 1e3), st.integers(1, 10**6))
def test_records_add_up_to_their_bounds_and_no_further(record, records):
    assert fits(record * records, record, records, deviation=0.0)
    assert not fits(1.00001 * record * records, record, records, deviation=0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200, 1.7e308, -1e16])
def test_what_is_absurd_is_never_plausible(value):
    assert not fits(value, 1.0, 1e9, deviation=1e3)


def limits_of(preset, rounds=40, **parts):
    world = Linear(agents=3, dim=2, arms=3)
    return Limits(system(preset, **parts).plan(world, rounds))


def test_the_limits_of_agents_are_those_of_the_furthest_records():
    """In clear, by hand: L = 1.5, B = 2, at most 5 records a release."""
    limits = limits_of(
        "feducb-nonprivate", schedule="every(5)", context_bound=1.5, reward_bound=2.0
    )
    most = np.array([1.5**2] * 3 + [1.5 * 2.0] * 2)
    for k, records in ((1, 5), (3, 15), (7, 35), (9, 40)):  # never more than the horizon
        limits.check("x", most * records, [0], [k])
        limits.check("x", 2 * most * records * (1, -1, 1, -1, 1), [0, 2], [k, k])
        for i in range(5):
            with pytest.raises(ImplausibleError, match=f"release {k}"):
                limits.check("x", np.eye(5)[i] * most * records * 1.001, [0], [k])


def test_the_noise_of_several_agents_adds_up_as_their_variances():
    limits = limits_of("feducb", schedule="every(5)", epsilon=(1.0, 0.5, 0.25))
    plan = system("feducb", schedule="every(5)", epsilon=(1.0, 0.5, 0.25)).plan(
        Linear(agents=3, dim=2, arms=3), 40
    )
    deviations = [plan.of_agent(i).release.deviation(2) for i in range(3)]
    z, records = norm.isf(IMPROBABLE / 2), 2 * 5
    for agents in ([0], [2], [0, 1, 2]):
        noise = np.sqrt(sum(deviations[i] ** 2 for i in agents))
        # The second entry is off the diagonal and has √½ of the deviation of a moment's entry, the
        # last one; a diagonal one has √2 times as much.
        for entry, factor in ((1, np.sqrt(0.5)), (0, 1.0), (4, 1.0)):
            limit = len(agents) * records + z * noise * factor
            limits.check("x", np.eye(5)[entry] * limit * 0.9999, agents, [2] * len(agents))
            with pytest.raises(ImplausibleError):
                limits.check("x", np.eye(5)[entry] * limit * 1.0001, agents, [2] * len(agents))


@pytest.mark.parametrize("preset", ["feducb", "feducb-nonprivate", "ldp-silo", "feducb-published"])
def test_a_sum_that_would_keep_all_from_using_it_is_refused(preset):
    """Every number is small enough, and yet no records have such a sum."""
    limits = limits_of(preset, schedule="every(5)", epsilon=1e3)
    deviation = limits._deviation([0], [2])
    honest = np.array([5.0, 0.0, 5.0, 1.0, 1.0])
    limits.check("x", honest, [0], [2])
    for sums in ([-9.9, 0, 5, 0, 0], [5, 0, -9.9, 0, 0], [3, 9, 3, 0, 0], [3, -9, 3, 0, 0]):
        if limits.noise_factor * deviation < 1.0:
            with pytest.raises(ImplausibleError, match="not a sum of records"):
                limits.check("x", np.array(sums, float), [0], [2])
    # As far as noise goes once in a million million times, and no further.
    low = -limits.noise_factor * deviation
    limits.check("x", np.array([0.999 * low, 0, 0, 0, 0]), [0], [2])


@given(st.integers(0, 2**32))
def test_what_honest_agents_release_is_always_plausible(seed):
    """Records at their bounds, all in one direction, and the noise of the smallest budget."""
    rng = np.random.default_rng(seed)
    world = Linear(agents=3, dim=2, arms=3)
    plan = system("feducb", schedule="every(5)", epsilon=(0.2, 1.0, 5.0)).plan(world, 40)
    limits, angle = Limits(plan), rng.uniform(0, 2 * np.pi)
    x = np.array([np.cos(angle), np.sin(angle)])
    one = np.array([x[0] ** 2, x[0] * x[1], x[1] ** 2, *(x * rng.choice([-1, 1]))])
    for agent in range(3):
        for k in (1, 4, 7):
            noise = rng.normal(size=5) * plan.constants.entry_scale
            noise *= plan.of_agent(agent).release.deviation(k)
            limits.check("x", 5 * k * one + noise, [agent], [k])


def test_an_older_release_of_a_tree_may_have_more_noise():
    """Release 15 is of four nodes, release 16 of one."""
    limits = limits_of("ldp-silo", 400, schedule="every(10)")
    plan = system("ldp-silo", schedule="every(10)").plan(Linear(agents=3, dim=2, arms=3), 400)
    deviations = [plan.release.deviation(k) for k in (15, 15, 16)]
    assert deviations[0] == pytest.approx(2 * deviations[2])
    assert limits._deviation([0, 1, 2], [15, 15, 16]) == pytest.approx(np.hypot.reduce(deviations))
