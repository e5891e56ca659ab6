from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.environments import Classification, Linear
from fedbandits.errors import ConfigError
from fedbandits.privacy import gaussian
from fedbandits.reproduce.feducb import proved
from fedbandits.settings.experiment import system
from fedbandits.systems.agents.audit import in_small_world, messages_games
from fedbandits.systems.agents.config import (
    Determinant,
    Evenly,
    Every,
    Growing,
    Never,
    Tree,
)  # fmt: skip
from fedbandits.systems.agents.noise import published_levels
from fedbandits.systems.agents.schedule import first_useful_round, sync_rounds
from fedbandits.systems.feducb import SYSTEM, FedUCB
from fedbandits.systems.feducb.plan import claim, make_plan
from fedbandits.testing.replicates import plan_of, simulate

ENVIRONMENT = Linear(agents=10, dim=10, arms=20)
PUBLISHED = proved("feducb-published", epsilon=1.0, delta=0.1).config


def test_published_noise_is_the_published_constant():
    # T = 60,000: m = 1 + 16 = 17; s² = 16 · 17 · 4 · ln²20 / 1.
    plan = make_plan(PUBLISHED, ENVIRONMENT.facts, 60_000)
    assert published_levels(60_000) == 17
    assert plan.release.scale**2 == pytest.approx(16 * 17 * 4 * math.log(20) ** 2)
    assert plan.release.releases == 60_000


def test_published_shift_is_twice_lambda():
    plan = make_plan(PUBLISHED, ENVIRONMENT.facts, 60_000)
    spread = math.log(2 * 60_000 * 10 / 0.01)
    bound = math.sqrt(32) * 17 * 2 * math.log(40) * (4 * math.sqrt(10) + 2 * spread)
    assert plan.bounds.rho_min == pytest.approx(bound)
    assert plan.constants.shift == pytest.approx(10 * 2 * bound)
    assert plan.constants.base == pytest.approx(10 * bound)
    assert plan.constants.trigger_shift == pytest.approx(10 * 2 * bound)


@pytest.mark.parametrize(("delta", "factor"), [(0.1, 11.0), (1e-5, 13.1)])
def test_published_noise_is_eleven_to_thirteen_times_too_large(delta, factor):
    config = proved("feducb-published", delta=delta).config
    plan = make_plan(config, ENVIRONMENT.facts, 2**16)
    needed = math.sqrt(17) * 2.0 / gaussian.mu_of(1.0, delta)
    assert plan.release.scale / needed == pytest.approx(factor, rel=0.01)


def test_theorem_one_s_threshold():
    config = proved("feducb-published", schedule="determinant(theory)", delta=0.1).config
    plan = make_plan(config, ENVIRONMENT.facts, 1000)
    growth = math.log(3 + 1000 / (10 * plan.bounds.rho_min))
    assert plan.constants.threshold == pytest.approx(2 * 1000 * 10 / (growth + 1))


@given(st.integers(1, 20), st.integers(2, 500))
def test_every_syncs_at_multiples(period, rounds):
    times = sync_rounds(Every(period), rounds)
    assert list(times) == [t for t in range(1, rounds) if t % period == 0]


@given(st.integers(1, 400), st.integers(2, 500))
def test_evenly_syncs_exactly_so_often(syncs, rounds):
    if syncs >= rounds:
        with pytest.raises(ConfigError, match=r"schedule: given evenly"):
            sync_rounds(Evenly(syncs), rounds)
        return
    times = [int(t) for t in sync_rounds(Evenly(syncs), rounds)]
    assert len(set(times)) == syncs
    assert 1 <= times[0] <= times[-1] < rounds
    gaps = [two - one for one, two in pairwise([0, *times, rounds])]
    assert max(gaps) - min(gaps) <= 1


def test_evenly_in_every_round_takes_no_memory():
    assert sync_rounds(Evenly(10**9 - 1), 10**9) == range(1, 10**9)


def test_an_audit_of_many_even_syncs_plays_fewer_in_its_short_run():
    config = FedUCB(schedule=Evenly(500))
    assert in_small_world(config).schedule == Evenly(6)
    assert in_small_world(FedUCB(schedule=Evenly(3))).schedule == Evenly(3)
    assert len(messages_games(SYSTEM, config)) == 4


@given(st.floats(1.01, 4.0), st.integers(1, 50), st.integers(2, 5000))
def test_growing_schedules_grow(factor, first, rounds):
    times = [int(t) for t in sync_rounds(Growing(factor, first), rounds)]
    assert times == sorted(set(times))
    assert all(t < rounds for t in times)
    if times:
        assert times[0] == first
    for one, two in pairwise(times):
        assert two == max(one + 1, math.ceil(factor * one))


def test_growing_by_half_means_few_syncs():
    assert len(sync_rounds(Growing(1.5), 60_000)) <= 40
    assert sync_rounds(Determinant(), 100) is None
    assert len(sync_rounds(Never(), 100)) == 0


def test_the_first_sync_waits_for_the_noise():
    first = first_useful_round(10, 10, 1.0, 4.65, 60_000)
    assert 50 < first < 150
    assert first_useful_round(10, 10, 1.0, 4.65, 100) == 5  # a twentieth of the horizon
    assert first_useful_round(10**6, 1, 1.0, 0.1, 100) == 1


def test_the_compiled_schedule_is_the_python_schedule():
    for schedule in (Every(3), Evenly(7), Evenly(9), Growing(1.3, 2), Growing(2.0)):
        config = FedUCB(schedule=schedule, delta=0.1)
        simulation = simulate(config, ENVIRONMENT, 200, 0, 0)
        plan = make_plan(config, ENVIRONMENT.facts, 200)
        assert len(simulation.sync_rounds()) == plan.release.releases


class TestClaims:
    def test_the_sound_variant_holds_for_interactive_data(self):
        stated = claim(plan_of(proved("feducb", epsilon=0.5, delta=1e-6).config, ENVIRONMENT, 1000))
        assert stated.holds_for == "interactive"
        assert stated.epsilon == pytest.approx(0.5, rel=5e-5)
        assert stated.epsilon <= 0.5 * (1 + 1e-12)
        assert stated.paper_claims is None

    @pytest.mark.parametrize("view", ["raw", "joint"])
    def test_who_learns_at_once_has_a_claim_for_a_fixed_log(self, view):
        stated = claim(plan_of(FedUCB(local_view=view), ENVIRONMENT, 1000))
        assert stated.holds_for == "fixed log"
        assert any("later decisions" in limit for limit in stated.limits)

    def test_the_published_variant_leaks_timing(self):
        stated = claim(plan_of(PUBLISHED, ENVIRONMENT, 60_000))
        assert stated.holds_for == "nothing"
        assert stated.epsilon == math.inf
        assert stated.paper_claims == (1.0, 0.1)
        assert stated.epsilon_contents < 0.1  # over-noised, had the times been public
        assert any("trigger" in limit.why for limit in stated.not_protected)

    def test_published_noise_on_a_fixed_schedule_has_a_finite_epsilon(self):
        config = proved("feducb", privatizer="tree(published)").config
        stated = claim(plan_of(config, ENVIRONMENT, 1000))
        assert stated.is_private

    def test_statistics_in_clear_are_called_so(self):
        assert not claim(plan_of(proved("feducb-nonprivate").config, ENVIRONMENT, 100)).is_private
        assert not claim(plan_of(proved("linucb-pooled").config, ENVIRONMENT, 100)).is_private

    def test_silence_is_private(self):
        stated = claim(plan_of(proved("linucb-alone").config, ENVIRONMENT, 100))
        assert (stated.epsilon, stated.holds_for) == (0.0, "interactive")

    def test_a_person_with_many_visits_is_told_the_price(self):
        environment = Classification(agents=10, components=3)
        stated = claim(plan_of(proved("feducb").config, environment, 569))
        most = math.ceil(environment.facts.most_visits(569))
        assert most > 10  # the mean
        assert stated.person.visits == most
        epsilon = gaussian.epsilon_of(most * stated.mu, 1e-5)
        assert stated.person.epsilon == pytest.approx(epsilon)
        assert f"a person with {most} visits: ε = {epsilon:.4g}" in stated.headline


def test_a_tree_with_calibrated_noise_needs_less_than_the_published():
    config = FedUCB(
        privatizer=Tree(),
        schedule=Determinant(),
        local_view="raw",
        confidence="adaptive",
        delta=0.1,
    )
    calibrated = make_plan(config, ENVIRONMENT.facts, 99)
    published = make_plan(PUBLISHED, ENVIRONMENT.facts, 99)
    assert calibrated.release.scale * 10 < published.release.scale


def test_a_horizon_without_a_sync_costs_nothing():
    stated = claim(plan_of(FedUCB(), ENVIRONMENT, 1))
    assert (stated.epsilon, stated.events) == (0.0, ())


@pytest.mark.parametrize(
    "parts",
    [
        {"schedule": "determinant(3)"},
        {"schedule": "determinant(3)", "privatizer": "tree"},
        {"confidence": "published", "regularization": 2.0},
    ],
)
def test_parts_that_do_not_go_together_are_refused(parts):
    with pytest.raises(ConfigError, match=r"optimal|local_view|regularization"):
        proved("feducb", **parts)


@pytest.mark.parametrize("confidence", ["adaptive", "published"])
@pytest.mark.parametrize("preset", ["feducb-hybrid", "feducb-secure-hybrid", "feducb-p2p-hybrid"])
def test_a_joint_view_has_no_radius(preset, confidence):
    with pytest.raises(ConfigError, match=r'confidence = "deviations".*, or local_view = "raw"'):
        system(preset, confidence=confidence)


def test_a_joint_view_of_a_trigger_is_told_what_to_set():
    with pytest.raises(ConfigError, match=r'a schedule such as growing, or local_view = "raw"'):
        system("feducb-hybrid", schedule="determinant(3)", privatizer="tree")


def test_too_many_toeplitz_releases_are_refused():
    with pytest.raises(ConfigError, match="tree"):
        make_plan(FedUCB(schedule=Every(1)), ENVIRONMENT.facts, 10**6)
    make_plan(FedUCB(schedule=Every(1), privatizer=Tree()), ENVIRONMENT.facts, 10**6)


def test_a_schedule_that_grows_at_once_can_be_planned():
    config = proved("feducb", schedule="growing(1e20)").config
    assert plan_of(config, Linear(agents=3, dim=3, arms=4), 100).release.releases == 1
