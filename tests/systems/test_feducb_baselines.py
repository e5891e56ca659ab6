"""Baselines that are compositions of FedUCB's parts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Linear
from fedbandits.systems.agents.config import Determinant, Every, Never
from fedbandits.systems.agents.schedule import settled, sync_rounds
from fedbandits.systems.feducb.plan import claim, make_plan
from fedbandits.testing.replicates import plan_of, simulate

ENVIRONMENT = Linear(agents=10, dim=10, arms=20)


class TestDisLinUCB:
    def test_the_threshold_is_that_of_the_theorem(self):
        plan = make_plan(fb.system("dislinucb").config, ENVIRONMENT.facts, 60_000)
        assert plan.constants.threshold == pytest.approx(60_000 * math.log(600_000) / 100)

    def test_it_syncs_no_more_than_the_theorem_allows(self):
        """At most about d√M epochs, each with M requests, calls, uploads and downloads."""
        run = simulate(fb.system("dislinucb").config, ENVIRONMENT, 5000, 0, 0)
        run.advance(5000)
        assert 3 <= run.syncs <= 10 * math.sqrt(10)
        assert run.syncs * (3 * 10 + 1) <= run.messages <= run.syncs * 4 * 10

    def test_nothing_is_private(self):
        stated = claim(plan_of(fb.system("dislinucb").config, ENVIRONMENT, 1000))
        assert stated.holds_for == "nothing"
        assert stated.epsilon_contents == math.inf

    def test_it_syncs_exactly_when_wang_et_al_say(self):
        """Their Algorithm, in numpy: Δt · ln(det V_i / det V_last) ≥ D for some agent."""
        environment, rounds = Linear(agents=3, dim=3, arms=5), 600
        config = fb.system("dislinucb").config
        run = simulate(config, environment, rounds, 7, 0)
        d, agents = 3, 3
        threshold = rounds * math.log(agents * rounds) / (d * agents)
        last, own, waited, syncs = np.eye(d), np.zeros((agents, d, d)), 0, 0
        for t in range(1, rounds + 1):
            before = run.state.statistic.copy()
            run.advance(t)
            waited += 1
            for i, added in enumerate((run.state.statistic - before)[:, 0]):
                gram = np.zeros((d, d))
                gram[np.triu_indices(d)] = added[:6]
                own[i] += np.triu(gram) + np.triu(gram, 1).T
            growth = [np.linalg.slogdet(last + g)[1] - np.linalg.slogdet(last)[1] for g in own]
            if waited * max(growth) >= threshold:
                last, own, waited, syncs = last + own.sum(axis=0), np.zeros_like(own), 0, syncs + 1
            assert run.syncs == syncs
        assert syncs >= 2


class TestSiloLevel:
    CONFIG = fb.system("ldp-silo", epsilon=1.0, delta=0.1).config

    def test_batches_are_as_long_as_they_may_be(self):
        run = simulate(self.CONFIG, ENVIRONMENT, 60_000, 0, 0)
        batch = math.ceil(math.sqrt(6000))
        assert run.sync_rounds() == list(range(batch, 60_000, batch))

    def test_noise_is_calibrated_to_the_levels_that_there_are(self):
        plan = make_plan(self.CONFIG, ENVIRONMENT.facts, 60_000)
        assert plan.release.mechanism == "tree"
        levels = plan.release.releases.bit_length()
        assert plan.release.sensitivity() == pytest.approx(math.sqrt(levels))

    def test_it_claims_a_fixed_log_and_public_times(self):
        stated = claim(plan_of(self.CONFIG, ENVIRONMENT, 60_000))
        assert stated.holds_for == "fixed log"
        assert stated.epsilon == pytest.approx(1.0, rel=5e-5)
        assert stated.epsilon <= 1.0 + 1e-12
        assert stated.paper_claims is None
        assert any("fixed in advance and public" in c for c in stated.conditional_on)
        assert any("later decisions" in limit for limit in stated.limits)
        assert not any("trigger" in limit.why for limit in stated.not_protected)

    def test_agents_act_on_their_own_records_at_once(self):
        run = simulate(self.CONFIG, ENVIRONMENT, 1000, 0, 0)
        run.advance(2)
        assert np.ptp(run.state.views.theta, axis=0).max() > 0  # no two agents know the same


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_a_batch_is_settled_by_rounds_and_agents(rounds, agents):
    batch = settled(Every("auto"), rounds, agents).rounds
    assert (batch - 1) ** 2 * agents < rounds <= batch**2 * agents


@pytest.mark.parametrize("schedule", [Every(3), Never(), Determinant()])
def test_nothing_else_is_settled(schedule):
    assert settled(schedule, 100, 5) is schedule


def test_an_unsettled_schedule_has_no_rounds():
    with pytest.raises(ValueError, match="settled"):
        sync_rounds(Every("auto"), 100)


def test_auto_stands_in_the_resolved_configuration():
    """The file can be run again with another horizon."""
    assert fb.system("ldp-silo").config.schedule == Every("auto")
