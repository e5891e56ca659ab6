"""Privacy for persons: noise for k records at once, and a claim that says so."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Classification, Linear
from fedbandits.errors import ConfigError
from fedbandits.privacy import gaussian
from fedbandits.privacy.person import person_cost
from fedbandits.settings.experiment import system
from fedbandits.systems import find_preset
from fedbandits.systems.agents.kernels.rounds import counts_visit
from fedbandits.testing.replicates import plan_of, simulate, system_of

WINE = Classification(agents=4, dataset="wine", components=2)
ROUNDS = 400
NOISY = ["feducb", "feducb-published", "ldp-silo", "feducb-p2p", "feducb-p2p-published"]
SOUND = ["feducb", "ldp-silo", "feducb-p2p"]


def plan(preset, rounds=ROUNDS, **parts):
    return plan_of(system(preset, **parts).config, WINE, rounds)


def claim(made):
    return system_of(made.config).claim(made)


@pytest.mark.parametrize("most", [1, 4, 88])
@pytest.mark.parametrize("preset", NOISY)
def test_noise_is_k_times_as_large_for_the_same_claim(preset, most):
    # The same rounds of release: noise alone differs.
    fixed = {} if "published" in preset else {"schedule": "every(20)"}
    record = plan(preset, **fixed)
    person = plan(preset, unit="person", records_per_person=most, **fixed)
    ratio = person.constants.noise_deviation / record.constants.noise_deviation
    assert ratio == pytest.approx(most, rel=1e-9)
    assert claim(person).mu == pytest.approx(claim(record).mu, rel=1e-9)
    assert claim(person).epsilon_contents == pytest.approx(claim(record).epsilon_contents)
    ours, theirs = (made.epsilon_spent(3) for made in (person, record))
    assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("preset", SOUND)
def test_the_claim_is_what_k_records_cost_where_one_is_protected(preset):
    most, fixed = 7, {"schedule": "every(20)"}
    person = plan(preset, unit="person", records_per_person=most, **fixed)
    alone = person.release.mu(person.record_norm / most, person.constants.releases)
    assert claim(person).epsilon == pytest.approx(person_cost(most, alone, 1e-5).epsilon, rel=1e-6)


@pytest.mark.parametrize("preset", NOISY)
def test_the_claim_is_for_a_person_and_says_what_is_public(preset):
    stated = claim(plan(preset, unit="person", records_per_person=3))
    assert stated.unit == "a person: all records of that person at one agent"
    assert stated.relation == "replace-person"
    assert stated.protects_persons
    assert stated.person is None  # ε itself is its price: rows are dealt to one agent each
    assert any("first 3 visits" in condition for condition in stated.conditional_on)
    assert "that a person comes, and when" in stated.limits
    assert "a person who is served by several agents, as one" in stated.limits
    assert not claim(plan(preset)).protects_persons


@pytest.mark.parametrize("most", [1, 2, 50])
def test_a_person_at_several_agents_pays_at_each(most):
    shared = Classification(agents=40, dataset="wine", components=2, shards="shared")
    parts = {"unit": "person", "records_per_person": most, "schedule": "every(20)"}
    made = plan_of(system("feducb", **parts).config, shared, 60)
    stated, visits = claim(made), shared.facts.most_visits(60)
    squares = shared.facts.squared_visits(60, most)  # agents have noise of their own
    # Persons are drawn here: in rare cases somebody comes more often than is expected of anybody.
    counted = "at most" if visits < 40 * most else "to all parties"
    expected = person_cost(
        min(40 * most, visits), stated.mu / most, 1e-5, counted,
        squares=squares, places="several parties",
    )  # fmt: skip
    assert stated.person == (None if visits <= most else expected)
    record = claim(plan_of(system("feducb", schedule="every(20)").config, shared, 60))
    if most == 1:  # the same noise: what counts is at most what there is
        assert stated.person.epsilon <= record.person.epsilon


def priced_at_sites(preset, rounds=5, **columns_named):
    """Two sites: ann has 3 visits to one and 1 to the other, bob 2 to one. Σ n² = 10 and 4."""
    columns = {
        "site": ["a"] * 5 + ["b"] * 5,
        "who": ["ann"] * 3 + ["bob"] * 2 + ["ann", "c", "d", "e", "f"],
        "x": [i / 10 for i in range(10)], "y": ["0", "1"] * 5,
    }  # fmt: skip
    known = {"features": ["x"], "ranges": {"x": (0.0, 1.0)}, "target": "y", "visits": "once",
             "classes": ("0", "1")}  # fmt: skip
    parts = columns_named.pop("parts", {})
    world = fb.environments.table(columns, person="who", **known, **columns_named)
    return claim(plan_of(system(preset, schedule="every(2)", **parts).config, world, rounds))


@pytest.mark.parametrize("preset", SOUND)
def test_what_a_person_costs_follows_from_what_is_known_of_visits(preset):
    sites = priced_at_sites(preset, site="site")
    assert (sites.person.visits, sites.person.places) == (4, "several parties")
    assert sites.person.mu == pytest.approx(math.sqrt(10) * sites.mu)
    assert "4 visits at several parties: ε = " in sites.headline
    dealt = priced_at_sites(preset, agents=2)  # ann's four rows may all be at one agent
    assert dealt.person.places == "any parties"
    assert dealt.person.mu == pytest.approx(4 * dealt.mu)


@pytest.mark.parametrize("preset", ["feducb-secure", "feducb-secure-hybrid"])
def test_in_one_secure_sum_visits_add_up_wherever_they_are(preset):
    """There is one noise for all agents: ann's four records cost four times one, not √10."""
    parts = {"aggregation": {"kind": "secure-sum", "least_parties": 2, "colluding": 1}}
    sites = priced_at_sites(preset, site="site", parts=parts)
    assert sites.person.mu == pytest.approx(4 * sites.mu)
    parts |= {"unit": "person", "records_per_person": 3}
    three = priced_at_sites(preset, site="site", parts=parts)  # μ is for three, ann has one more
    assert three.person.mu == pytest.approx(4 / 3 * three.mu)
    own = {"unit": "person", "records_per_person": 3}
    noise_each = priced_at_sites("feducb", site="site", parts=own)
    assert noise_each.person.mu == pytest.approx(math.sqrt(10) / 3 * noise_each.mu)


def test_the_first_sync_waits_for_the_larger_noise():
    first = [
        plan("feducb", 100_000, unit="person", records_per_person=k).schedule.ends[0]
        for k in (1, 2, 4)
    ]
    assert first[0] < first[1] < first[2]
    assert first[0] == plan("feducb", 100_000).schedule.ends[0]


def test_without_noise_nothing_is_counted():
    made = plan("linucb-alone", unit="person", records_per_person=2)
    assert not made.counts_persons
    assert not claim(made).protects_persons
    assert "unit" in made.config.idle


def test_nothing_but_the_noise_differs_where_nobody_comes_too_often():
    """k = 2 persons at ε are played as records are at the ε of half that μ."""
    once = fb.environments.table(
        {"x": [i / 40 for i in range(40)], "who": [i // 2 for i in range(40)],
         "y": [i % 2 for i in range(40)]},
        agents=2, person="who", features=["x"], ranges={"x": (0.0, 1.0)}, target="y",
        classes=("0", "1"), visits="in order",
    )  # fmt: skip
    half = gaussian.epsilon_of(gaussian.mu_of(30.0, 1e-5) / 2.0, 1e-5)
    runs = [
        simulate(system("feducb", schedule="every(4)", **parts).config, once, 20, 1, 0)
        for parts in (
            {"epsilon": half}, {"epsilon": 30.0, "unit": "person", "records_per_person": 2},
        )
    ]  # fmt: skip
    for run in runs:
        run.advance(20)
    assert (runs[1].state.visits.sum(axis=1) == 20).all()
    np.testing.assert_array_equal(runs[0].state.statistic, runs[1].state.statistic)
    np.testing.assert_allclose(runs[0].state.pool.gram, runs[1].state.pool.gram, rtol=1e-6)


class TestRefusals:
    """Each names the key and the remedy."""

    def test_a_world_without_persons(self):
        with pytest.raises(ConfigError, match=r'^unit: .*set unit = "record", or choose a world'):
            plan_of(system("feducb", unit="person").config, Linear(), ROUNDS)

    def test_a_number_of_records_without_persons(self):
        with pytest.raises(ConfigError, match=r'records_per_person: given 3.*set unit = "person"'):
            system("feducb", records_per_person=3)

    @pytest.mark.parametrize("preset", ["samba-ucb", "samba-silent-ucb", "pfcb", "fedlinucb-async"])
    def test_systems_without_persons(self, preset):
        with pytest.raises(ConfigError, match=r"system\.unit: unknown key; known keys: "):
            system(preset, unit="person")

    @pytest.mark.parametrize("most", [0, -1, 2.5])
    def test_numbers_that_are_none(self, most):
        with pytest.raises(ConfigError, match="records_per_person"):
            system("feducb", unit="person", records_per_person=most)


@pytest.mark.parametrize("preset", NOISY)
def test_an_audit_has_games_for_persons(preset):
    made = plan(preset, unit="person", records_per_person=3)
    games = find_preset(preset).games(made, WINE)
    assert sum("of a person" in game.looks_at for game in games) >= 2
    assert math.isfinite(claim(made).mu)


@pytest.mark.parametrize("most", [1, 3])
def test_exactly_so_many_visits_of_a_person_count(most):
    visits = np.zeros(2, np.int64)
    counted = [counts_visit(visits, person, most) for person in (0, 1, -1, 0, 2, 0, 0, 1, 0)]
    expected = {
        0: [True] * most + [False] * (5 - most),
        1: ([True] * most)[:2] + [False] * (2 - most),
    }
    people = (0, 1, -1, 0, 2, 0, 0, 1, 0)
    for person, right in expected.items():
        assert [c for c, who in zip(counted, people, strict=True) if who == person] == right
    assert not any(c for c, who in zip(counted, people, strict=True) if who in (-1, 2))
