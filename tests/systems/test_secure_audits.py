"""Audits of secure sums: what they see, and which mistakes they find."""

from __future__ import annotations

import math
from functools import partial

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.federation.exchange import outlet
from fedbandits.privacy import shares
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.systems import registry
from fedbandits.systems.agents import audit as agents_audit
from fedbandits.systems.agents import audit_releases
from fedbandits.systems.agents import noise as agents_noise
from fedbandits.systems.aggregation import SecureTotals
from fedbandits.systems.feducb import SYSTEM as FEDUCB
from fedbandits.systems.party_games import paired_games
from fedbandits.systems.python_learners import audit as learners_audit
from fedbandits.systems.python_learners import plan as learners_plan
from fedbandits.systems.secure_claim import claim_sums
from fedbandits.testing.replicates import federate, plan_of, system_of
from tests.sized import sized
from tests.systems.private_learners import PrivateLinUCB
from tests.systems.summed import losing, play_with_losses

pytestmark = pytest.mark.usefixtures("few_pairs")

WORLD = fb.environments.Linear(agents=6, dim=2, arms=3)
SUMS = {"kind": "secure-sum", "helpers": 2, "least_parties": 5, "colluding": 2}
ROUNDS = 40
#: Of the usual number of pairs of worlds.
PAIRS = sized("pairs", 0.0, 1.0)


@pytest.fixture
def learner(monkeypatch):
    """Register a private learner for one test, and return its name."""
    monkeypatch.setattr(registry, "_registered", {})
    fb.register(PrivateLinUCB)
    return "private-lin-ucb"


def feducb_plan(**settings):
    config = fb.system("feducb-secure", aggregation=SUMS, schedule="every(8)", **settings).config
    return plan_of(config, WORLD, ROUNDS)


def learner_plan(name):
    config = fb.system(name, aggregation=SUMS, schedule="every(8)").config
    return plan_of(config, WORLD, ROUNDS)


def wrong_noise(checks):
    """Tell of each check whether it finds numbers without their planned noise, in one run."""
    return [not check_noise(numbers, scale=0.0).right for numbers in checks]


def quieter(factor):
    """Shares whose mechanism has less noise than planned."""

    def release(plan, step, state, running_sum, pattern, noise):
        quiet = msgspec.structs.replace(plan, scale=factor * plan.scale)
        return shares.release_share(quiet, step, state, running_sum, pattern, noise)

    return release


class _Repeating:
    """A source that adds draws which have been used, in the place of its own."""

    def __init__(self, noise, draws):
        self._noise, self._draws = noise, draws

    def cover(self, step, values):
        return self._noise.cover(step, values)

    def cover_whole(self, step, values, deviations):
        self._noise.cover_whole(step, values, deviations)
        return values + self._draws


def moves_of(plan):
    """Return the games that measure how far a record moves sums."""
    return agents_audit.moves_games(FEDUCB, plan)


class TestFedUCB:
    def test_a_sum_costs_what_one_mechanism_does(self):
        plan = feducb_plan(epsilon=2.0)
        clear = plan_of(fb.system("feducb", schedule="every(8)", epsilon=2.0).config, WORLD, ROUNDS)
        assert plan.secure.honest == 3
        assert plan.priced == clear.release
        assert plan.release.scale == pytest.approx(clear.release.scale / math.sqrt(3.0))
        claim = FEDUCB.claim(plan)
        assert claim.epsilon == FEDUCB.claim(clear).epsilon
        assert [view.epsilon for view in claim.views[:2]] == [
            claim.epsilon,
            pytest.approx(fb.privacy.gaussian.epsilon_of(claim.mu * math.sqrt(3.0), claim.delta)),
        ]

    def test_the_noise_is_as_planned(self):
        plan = feducb_plan()
        assert wrong_noise(agents_audit.noise_checks(FEDUCB, plan)) == [False] * 3

    @pytest.mark.parametrize("times", [1 / 3, 3.0])
    def test_noise_by_another_number_of_parties_is_found(self, monkeypatch, times):
        def planned(total, honest):
            return shares.share_plan(total, round(honest * times))

        monkeypatch.setattr(agents_noise, "share_plan", planned)
        assert all(wrong_noise(agents_audit.noise_checks(FEDUCB, feducb_plan())))

    def test_noise_for_all_parties_instead_of_the_honest_ones_is_found(self, monkeypatch):
        """With 5 for 3, ε is 1.32 times as large."""
        monkeypatch.setattr(SecureTotals, "honest", property(lambda self: self.least_parties))
        assert all(wrong_noise(agents_audit.noise_checks(FEDUCB, feducb_plan())))

    @pytest.mark.parametrize("factor", [0.9, 0.99])
    def test_shares_that_are_a_little_too_quiet_are_found(self, monkeypatch, factor):
        """By 10%, ε is 1.12 times as large."""
        monkeypatch.setattr(outlet, "release_share", quieter(factor))
        monkeypatch.setattr(learners_audit, "release_share", quieter(factor))
        simulated, *played = agents_audit.noise_checks(FEDUCB, feducb_plan())
        assert wrong_noise([simulated]) == [False]  # it is the parties' own
        found = [check_noise(numbers, scale=0.0) for numbers in played]
        assert all(one.missing > 0.9 * one.numbers for one in found)  # or drawn nearly as 0
        assert all(f"{factor:g} × planned" in one.named[0] for one in found)

    def test_one_share_without_noise_in_one_number_is_found(self, monkeypatch):
        def bare(plan, step, state, running_sum, pattern, noise):
            after, share = shares.release_share(plan, step, state, running_sum, pattern, noise)
            if after.made == 2:
                share[1] = running_sum[1] / step
            return after, share

        monkeypatch.setattr(outlet, "release_share", bare)
        _, *played = agents_audit.noise_checks(FEDUCB, feducb_plan())
        for numbers in played:
            found = check_noise(numbers, scale=0.0)
            assert found.missing == 4
            assert found.named[0].endswith("release 2, number 1: 0 × planned")

    def test_noise_that_two_shares_have_in_common_is_found(self, monkeypatch):
        """The second release has the first one's draw once more."""

        def repeated(plan, step, state, running_sum, pattern, noise):
            again = _Repeating(noise, state.draws[0]) if state.made == 1 else noise
            return shares.release_share(plan, step, state, running_sum, pattern, again)

        monkeypatch.setattr(outlet, "release_share", repeated)
        (_, secure, _) = agents_audit.noise_checks(FEDUCB, feducb_plan())
        found = check_noise(secure, scale=0.0)
        assert found.bare
        assert found.foreign + found.missing >= 20

    @PAIRS
    def test_a_record_moves_a_sum_as_far_as_is_charged(self, pairs):
        (*_, within) = moves_of(feducb_plan())
        (paired,) = paired_games([within])
        found = check_sensitivity(paired, pairs)
        assert found.right
        assert found.epsilon == pytest.approx(found.charged, rel=1e-3)

    @PAIRS
    def test_a_record_that_counts_twice_is_found(self, monkeypatch, pairs):
        def twice(plan, step, state, running_sum, pattern, noise):
            return shares.release_share(plan, step, state, 2.0 * running_sum, pattern, noise)

        monkeypatch.setattr(outlet, "release_share", twice)
        (*_, within) = moves_of(feducb_plan())
        (paired,) = paired_games([within])
        assert check_sensitivity(paired, pairs).too_far


class TestLearners:
    def test_visits_of_a_person_add_up_wherever_they_are(self, learner):
        """Ann has three records at one site and one at the other: one noise covers all four."""
        columns = {
            "site": ["a"] * 5 + ["b"] * 5, "who": ["ann"] * 3 + ["bob", "c", "ann", *"defg"],
            "x": [i / 10 for i in range(10)], "y": ["0", "1"] * 5,
        }  # fmt: skip
        world = fb.environments.table(
            columns, person="who", site="site", features=["x"], ranges={"x": (0.0, 1.0)},
            target="y", visits="once", classes=("0", "1"),
        )  # fmt: skip
        sums = {"kind": "secure-sum", "least_parties": 2, "colluding": 1}
        for parts, times in (({"aggregation": sums}, 4.0), ({}, math.sqrt(10.0))):
            config = fb.system(learner, schedule="every(2)", **parts).config
            stated = system_of(config).claim(plan_of(config, world, 5))
            assert stated.person.mu == pytest.approx(times * stated.mu)

    def test_a_sum_has_the_noise_that_its_learner_is_told(self, learner):
        config = fb.system(learner, aggregation=SUMS, schedule="every(8)").config
        plan = plan_of(config, WORLD, 9)
        clear = plan_of(fb.system(learner, schedule="every(8)").config, WORLD, 9)
        told = plan.deviation((1,) * 6)
        assert told == pytest.approx(clear.deviation((1,) * 6) / math.sqrt(3.0))
        noise = []
        for replicate in range(6):
            run = federate(config, WORLD, 9, 0, replicate)
            run.advance(9)
            total = run.one("controller").state.total.view(np.int64) * plan.constants.step
            exact = sum(agent.state.statistic for agent in run.of("agent"))
            noise += list(total - exact)
            assert all(agent.learner.noise_deviation == told for agent in run.of("agent"))
        assert 0.6 * told < np.std(noise) < 1.5 * told

    def test_a_simulation_counts_the_sums(self, learner):
        for parts in ({"aggregation": SUMS}, {}):
            run = federate(fb.system(learner, schedule="every(8)", **parts).config, WORLD, 25, 0, 0)
            run.advance(25)
            assert run.system.syncs(run) == 3

    @pytest.mark.parametrize("lost", [0.15, 0.4])
    def test_whatever_is_lost_the_total_is_that_of_the_newest_shares(self, learner, lost):
        few = SUMS | {"least_parties": 3, "colluding": 1}
        config = fb.system(learner, aggregation=few, schedule="every(4)").config
        run = federate(config, WORLD, ROUNDS, 3, 0, route=losing(1, lost), lenient=True)
        play_with_losses(run, ROUNDS)
        assert {agent.state.releases for agent in run.players} == {len(range(4, ROUNDS, 4))}

    def test_the_noise_is_as_planned(self, learner):
        system, plan = system_of(learner_plan(learner).config), learner_plan(learner)
        checks = learners_audit.noise_checks(system, plan, WORLD)
        assert wrong_noise(checks) == [False] * 3

    def test_noise_by_another_number_of_parties_is_found(self, learner, monkeypatch):
        def planned(total, honest):
            return shares.share_plan(total, 3 * honest)

        monkeypatch.setattr(learners_plan, "share_plan", planned)
        plan = learner_plan(learner)
        system = system_of(plan.config)
        assert all(wrong_noise(learners_audit.noise_checks(system, plan, WORLD)))

    @PAIRS
    def test_records_beyond_their_bound_are_found(self, learner, monkeypatch, pairs):
        plan = learner_plan(learner)
        system = system_of(plan.config)
        assert not any(moves_too_far(system, plan, pairs))

        def twice(plan, step, state, running_sum, pattern, noise):
            return shares.release_share(plan, step, state, 2.0 * running_sum, pattern, noise)

        monkeypatch.setattr(outlet, "release_share", twice)
        assert any(moves_too_far(system, plan, pairs))


def moves_too_far(system, plan, pairs):
    """Tell of each game of whole parties whether a record moves sums too far."""
    games = learners_audit.moves_games(learners_audit._making_all(system, plan, WORLD))
    return [check_sensitivity(paired, pairs).too_far for paired in paired_games(games)]


def test_views_name_who_must_not_be_one_hand():
    plan = feducb_plan()
    claim = claim_sums(FEDUCB.claim(feducb_plan()), plan.secure, 6, "agents")
    words = " ".join((*claim.conditional_on, *(view.who for view in claim.views)))
    assert "controller and both helpers" in words
    assert "at least 5 of the 6 agents" in words


def test_releases_that_are_passed_over_have_their_draws_too():
    """Of many numbers some releases are looked at; noise of those in between is in them."""
    plan = feducb_plan()
    steps = np.array([2, 4])
    stated = audit_releases._stated_noise(plan, steps, "agents")
    draw = partial(audit_releases._drawn, plan, steps)
    found = check_noise(stated.simulated(steps, 4, draw))
    assert found.right
    assert found.draws == found.runs * 6 * 4 * plan.constants.release_size
