"""The audit of buyers' secure sums: it plays four buyers, of whom three share the noise."""

from __future__ import annotations

import math

import msgspec
import pytest

from fedbandits.environments import Procurement
from fedbandits.federation.exchange import outlet
from fedbandits.privacy import shares
from fedbandits.privacy.attacks import Transcripts
from fedbandits.privacy.noise_check import check_noise
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.settings.experiment import system
from fedbandits.systems.party_games import paired_games
from fedbandits.systems.pfcb import SYSTEM, audit
from fedbandits.systems.pfcb import noise as pfcb_noise
from fedbandits.testing.replicates import plan_of
from tests.sized import sized

pytestmark = pytest.mark.usefixtures("few_pairs")

WORLD = Procurement(agents=10, producers=3, max_capacity=6)
ROUNDS = 400


def plan_secure():
    return plan_of(system("pfcb-secure", window=(5, 350), zeta=0.6).config, WORLD, ROUNDS)


def contents_of(plan, runs=3000):
    """How far apart likelihood ratios of the worlds lie, in their deviations: an estimate of μ."""
    game = next(g for g in audit.games(SYSTEM, plan) if "contents" in g.looks_at)
    zero, one = (game.play(world, 0, runs) for world in (0, 1))
    assert isinstance(zero, Transcripts)
    apart = one.scores[:, 0].mean() - zero.scores[:, 0].mean()
    return apart / math.sqrt(0.5 * (one.scores.var() + zero.scores.var()))


def wrong_noise(plan):
    """Tell of each check whether it finds numbers without their planned noise, in one run."""
    checks = audit.noise_checks(SYSTEM, plan)
    return [not check_noise(numbers, scale=0.0).right for numbers in checks]


def test_three_of_four_buyers_share_the_noise():
    small = audit.small_world(SYSTEM, plan_secure().config)
    assert (small.plan.constants.agents, small.plan.secure.honest) == (4, 3)


def test_noise_and_price_are_as_stated():
    plan = plan_secure()
    assert plan.secure.honest == 7
    assert wrong_noise(plan) == [False, False]
    assert contents_of(plan) == pytest.approx(SYSTEM.claim(plan).mu, rel=0.1)


@pytest.mark.parametrize("times", [1 / 3, 3.0])
def test_noise_by_another_number_of_buyers_is_found(monkeypatch, times):
    def planned(total, honest):
        return shares.share_plan(total, max(1, round(honest * times)))

    monkeypatch.setattr(pfcb_noise, "share_plan", planned)
    plan = plan_secure()
    assert wrong_noise(plan) == [True, True]
    found = contents_of(plan) / SYSTEM.claim(plan).mu
    assert found > 1.4 if times > 1.0 else found < 0.8


@pytest.mark.parametrize("factor", [0.9, 0.99])
def test_shares_that_are_a_little_too_quiet_are_found(monkeypatch, factor):
    def quiet(plan, step, state, running_sum, pattern, noise):
        less = msgspec.structs.replace(plan, scale=factor * plan.scale)
        return shares.release_share(less, step, state, running_sum, pattern, noise)

    monkeypatch.setattr(outlet, "release_share", quiet)
    assert wrong_noise(plan_secure()) == [True, True]


@sized("pairs", 0.0, 0.5)
def test_a_purchase_that_counts_twice_is_found(monkeypatch, pairs):
    plan = plan_secure()

    def too_far():
        games = audit.moves_games(audit.making_all(SYSTEM, plan))
        return [check_sensitivity(paired, pairs).too_far for paired in paired_games(games)]

    assert not any(too_far())

    def twice(plan, step, state, running_sum, pattern, noise):
        return shares.release_share(plan, step, state, 2.0 * running_sum, pattern, noise)

    monkeypatch.setattr(outlet, "release_share", twice)
    assert any(too_far())
