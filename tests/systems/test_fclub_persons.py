"""FCLUB with users as persons: the first k records of each count, and noise is for k at once."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.errors import ConfigError
from fedbandits.privacy import gaussian
from fedbandits.privacy.accounting import total_mu
from fedbandits.privacy.sensitivity_check import check_sensitivity
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset
from fedbandits.systems.fclub.audit import contents_games, messages_games
from fedbandits.systems.fclub.plan import claim
from fedbandits.systems.fclub.roles import LocalServer
from fedbandits.systems.shell import Shell
from fedbandits.testing.replicates import federate, plan_of, simulate
from tests.sized import sized

WORLD = Clustered(users=10, servers=3, clusters=2, dim=3, items=4, placement="spread")
PRIVATE = ("fclub", "fclub-released", "fclub-clusters")
ROUNDS, K = 300, 4


def config(name="fclub", **more):
    settings = {"epsilon": 20.0, "unit": "person", "records_per_person": K} | more
    return system(name, **settings).config


@pytest.mark.parametrize("name", PRIVATE)
def test_both_drivers_count_the_same_records(name):
    compiled = simulate(config(name), WORLD, ROUNDS, 2, 0)
    parties = federate(config(name), WORLD, ROUNDS, 2, 0)
    homes = [np.flatnonzero(compiled.world.server == s) for s in range(3)]
    for stop in [*range(1, ROUNDS, 13), ROUNDS]:
        compiled.advance(stop)
        parties.advance(stop)
        np.testing.assert_array_equal(compiled.regret, parties.regret)
        for users, server in zip(homes, parties.of("server"), strict=True):
            np.testing.assert_array_equal(
                compiled.state.releases.shared[users], server.state.shared
            )
            np.testing.assert_array_equal(compiled.state.sums[users], server.state.sums)
            most = compiled.plan.constants.records_per_person
            visits = [server.state.visits.get(b"%d" % user, 0) for user in users]
            np.testing.assert_array_equal(np.minimum(compiled.state.sums[users, -2], most), visits)
        assert compiled.epsilon == parties.epsilon
    assert compiled.syncs > 6


@pytest.mark.parametrize("name", PRIVATE)
def test_only_the_first_records_count_and_a_server_learns_from_all(name):
    run, few = (simulate(config(name), WORLD, ROUNDS, 2, 0) for _ in range(2))
    run.advance(ROUNDS)
    few.advance(200)
    assert (few.state.sums[:, -2] > K).all()
    np.testing.assert_array_equal(run.state.releases.shared, few.state.releases.shared)
    lengths = run.state.releases.shared[:, [0, 3, 5]].sum(axis=1)  # of d = 3: the trace of Σ x xᵀ
    np.testing.assert_allclose(lengths, K, rtol=1e-4)
    assert (run.state.sums[:, -2] > few.state.sums[:, -2]).any()


def test_with_enough_records_each_all_count():
    plain = simulate(config(unit="record", records_per_person=1, noise="none"), WORLD, 200, 2, 0)
    run = simulate(config(records_per_person=200), WORLD, 200, 2, 0)
    run.advance(200)
    plain.advance(200)
    np.testing.assert_array_equal(run.state.releases.shared[:, :-2], run.state.sums[:, :-2])
    assert not len(plain.state.releases.shared)


@pytest.mark.parametrize("name", PRIVATE)
def test_noise_is_for_all_records_of_a_person_at_once(name):
    one = plan_of(config(name, unit="record", records_per_person=1), WORLD, ROUNDS)
    person = plan_of(config(name), WORLD, ROUNDS)
    assert person.noise_variance(2) == pytest.approx(K**2 * one.noise_variance(2))
    assert person.epsilon_spent(5) == pytest.approx(one.epsilon_spent(5))


def test_the_claim_is_for_a_person():
    stated = claim(plan_of(config(epsilon=1.0), WORLD, ROUNDS))
    assert stated.relation == "replace-person"
    assert stated.epsilon == pytest.approx(1.0, rel=5e-5)
    assert stated.person is None
    assert stated.unit.startswith("a user")
    assert any("first 4 records" in line for line in stated.conditional_on)
    assert gaussian.epsilon_of(total_mu(stated.events), stated.delta) == stated.epsilon
    weaker = claim(plan_of(config("fclub-clusters"), WORLD, ROUNDS))
    assert weaker.holds_for == "nothing"
    assert weaker.epsilon_contents == pytest.approx(20.0, rel=5e-5)


def test_where_nothing_is_protected_the_unit_changes_nothing():
    for name in ("fclub-local", "fclub-clear"):
        stated = claim(plan_of(config(name), WORLD, ROUNDS))
        assert stated.relation == "replace-one"
        assert not plan_of(config(name), WORLD, ROUNDS).constants.records_per_person


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError, match="records_per_person: given 2"):
        config(unit="record", records_per_person=2)
    with pytest.raises(ConfigError, match="unit"):
        system("fclub-published", unit="person")


def verdicts(games, runs):
    """μ that each game shows, by the difference of its scores in units of their deviation."""
    shown = []
    for game in games:
        sides = [game.play(world, 10_000, runs).scores[:, 0] for world in (0, 1)]
        deviation = np.sqrt(0.5 * (sides[0].var() + sides[1].var()))
        shown.append(float((sides[1].mean() - sides[0].mean()) / deviation))
    return shown


def test_replacing_all_records_of_a_person_shows_what_is_claimed():
    plan = plan_of(config(epsilon=1.0), WORLD, ROUNDS)
    early, late = verdicts(contents_games(plan), 4000)
    assert early == pytest.approx(plan.mu(plan.release_count), abs=0.08)
    assert late < early


def small_game(which, **more):
    found = find_preset("fclub")
    games = messages_games(found, config(epsilon=4.0, delta=0.1, **more))
    return next(game for game in games if which in game.looks_at or game.neighbours == which)


def test_parties_show_no_more_than_that():
    (shown,) = verdicts([small_game("fixed log")], 80)
    plan = plan_of(config(epsilon=4.0, delta=0.1), WORLD, ROUNDS)
    most = plan.mu(plan.release_count)
    assert 0.3 * most < shown < most + 0.5


def counting_all(server, *decision):
    """Open a decision of a server that counts every record of a user."""
    server._persons = server._persons._replace(most=99)
    return Shell._decided(server, *decision)


@pytest.mark.usefixtures("few_pairs")
@sized("pairs", 0.0, 0.5)
def test_counting_too_many_records_shows(monkeypatch, pairs):
    """A server that counts every record of a user has noise for k of them alone."""
    assert not check_sensitivity(small_game("fixed log").paired(), pairs).too_far
    monkeypatch.setattr(LocalServer, "_decided", counting_all)
    assert check_sensitivity(small_game("fixed log").paired(), pairs).too_far


def test_a_record_that_is_never_rewarded_is_used_up():
    """Who counts is settled when an item is recommended, by what is public."""
    parties = federate(config(), WORLD, ROUNDS, 2, 0)
    server = parties.of("server")[0]
    parties.advance(1)
    assert sum(msgspec.structs.asdict(server.state)["visits"].values()) == server.state.decisions
