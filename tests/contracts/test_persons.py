"""Privacy for persons: the simulation and the parties count the same records of each person."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest

import fedbandits as fb
from fedbandits.environments import Change, Classification, FixedDelay
from fedbandits.environments.open_world import Visit
from fedbandits.errors import DataError, LocalProtocolError
from fedbandits.privacy.ledger import Ledger
from fedbandits.random import replicate_key
from fedbandits.settings.experiment import system
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.applications import AskedParty
from fedbandits.testing.replicates import federate, plan_of, simulate, system_of
from fedbandits.testing.resources import FederationResources
from fedbandits.testing.restored import MortalParty
from tests.visited import Visited

ROUNDS = 40
VARIANTS = {
    "feducb": {"epsilon": 30.0},
    "feducb, raw": {"preset": "feducb", "local_view": "raw", "schedule": "every(7)"},
    "feducb-hybrid": {"epsilon": 30.0},
    "feducb-secure-hybrid": {"epsilon": 30.0},
    "feducb-p2p-hybrid": {"graph": "ring", "gamma": 2, "schedule": "every(4)"},
    "feducb-published": {"schedule": "determinant(2.0)", "epsilon": 1e4},
    "ldp-silo": {"schedule": "every(9)"},
    "feducb-p2p": {"graph": "ring", "gamma": 2, "schedule": "every(4)", "local_view": "raw"},
    "feducb-p2p-published": {
        "graph": "ring", "gamma": 2, "schedule": "determinant(1.0)", "epsilon": 1e4,
    },
}  # fmt: skip
#: Rows of wine that are drawn as persons: each agent has 36, and meets most of them twice.
WINE = Classification(agents=5, dataset="wine", components=2)


def config_of(name, **more):
    parts = {"preset": name, "unit": "person", **VARIANTS[name], **more}
    return system(parts.pop("preset"), **parts).config


def assert_same(compiled, parties):
    for measured in ("regret", "reward", "syncs", "messages", "bytes", "epsilon"):
        ours, theirs = getattr(compiled, measured), getattr(parties, measured)
        np.testing.assert_array_equal(ours, theirs, measured)
    state = compiled.state
    for ours, part in ((state.statistic, "statistic"), (state.uncounted, "uncounted")):
        mine = np.array([getattr(agent.state, part) for agent in parties.of("agent")])
        np.testing.assert_array_equal(ours.reshape(mine.shape), mine)
    # Who has been counted how often, whatever parties call them.
    for visits, agent in zip(state.visits, parties.of("agent"), strict=True):
        assert sorted(visits[visits > 0].tolist()) == sorted(agent.state.visits.values())


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("name", VARIANTS)
def test_both_drivers_agree_round_by_round(name, most):
    config = config_of(name, records_per_person=most)
    compiled, parties = simulate(config, WINE, ROUNDS, 1, 2), federate(config, WINE, ROUNDS, 1, 2)
    for stop in range(1, ROUNDS + 1):
        compiled.advance(stop)
        parties.advance(stop)
        assert_same(compiled, parties)
    assert compiled.syncs > 1
    learned = compiled.state.uncounted
    # Who learns from own records keeps those apart that do not count.
    assert learned.any() == (name != "feducb")


@pytest.mark.parametrize("told", [1.0, 0.5])
@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
def test_they_agree_in_a_world_in_python_where_rewards_are_missing(name, told):
    world, config = Visited(told=told), config_of(name, records_per_person=3)
    compiled, parties = simulate(config, world, ROUNDS, 1, 2), federate(config, world, ROUNDS, 1, 2)
    for run in (compiled, parties):
        run.advance(ROUNDS)
    assert_same(compiled, parties)
    # Six persons came to each agent at least three times: none has been counted more often.
    assert (compiled.state.visits == 3).all()


def test_they_agree_where_rewards_drift():
    world = msgspec.structs.replace(WINE, drift=Change(at=20))
    config = config_of("feducb")
    compiled, parties = simulate(config, world, ROUNDS, 1, 2), federate(config, world, ROUNDS, 1, 2)
    for run in (compiled, parties):
        run.advance(ROUNDS)
    assert_same(compiled, parties)


def test_they_agree_where_agents_join_late():
    world = msgspec.structs.replace(WINE, first_round=(1, 5, 1, 20, 1))
    config = config_of("feducb")
    compiled, parties = simulate(config, world, ROUNDS, 1, 2), federate(config, world, ROUNDS, 1, 2)
    for run in (compiled, parties):
        run.advance(ROUNDS)
    assert_same(compiled, parties)
    # Everybody who came to a joiner is told from others, and counts once.
    assert (compiled.state.visits.sum(axis=1) > 5).all()


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
@pytest.mark.parametrize("told", [1.0, 0.5])
def test_the_sum_is_of_each_persons_first_visits_whether_or_not_they_were_rewarded(name, told):
    most, world = 2, Visited(told=told)
    run = federate(config_of(name, records_per_person=most), world, ROUNDS, 1, 2)
    seen = [Counter() for _ in run.players]
    looked_at = world.stage(replicate_key(1, 2))
    looked_at.tells_persons = True
    for round_ in range(1, ROUNDS + 1):
        before = [agent.state.statistic.copy() for agent in run.players]
        run.advance(round_)
        for place, agent in enumerate(run.players):
            person = looked_at.situation(round_, place).person
            seen[place][person] += 1
            grown = not np.array_equal(agent.state.statistic, before[place])
            assert not grown or seen[place][person] <= most
            if told == 1.0:
                assert grown == (seen[place][person] <= most)


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
def test_which_records_count_does_not_depend_on_when_rewards_come(name):
    """The first visits count, also if the rewards of later ones come before theirs."""
    most, config = 1, config_of(name, records_per_person=1)
    plan = plan_of(config, Visited(), ROUNDS)
    run = PartiesReplicate(system_of(config), plan, Visited(), 1, 0)
    agent, set_ = run.players[0], np.full((4, 5), 0.3, np.float32)
    early, late, other = (agent.decide(Visit(who, set_)) for who in ("Ann", "Ann", "Bob"))
    for decision in (late, other, early):
        before = agent.state.statistic.copy()
        agent.observe(decision, 1.0)
        assert (agent.state.statistic != before).any() == (decision is not late)
    lost = agent.decide(Visit("Eve", set_))
    agent.let_go(lost)
    before = agent.state.statistic.copy()
    agent.observe(agent.decide(Visit("Eve", set_)), 1.0)
    assert np.array_equal(agent.state.statistic, before)  # the visit was used up
    assert set(agent.state.visits.values()) == {most}


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
def test_late_and_lost_rewards_are_played(name):
    world = msgspec.structs.replace(WINE, delay=FixedDelay(rounds=5, lost=0.3))
    run = federate(config_of(name), world, ROUNDS, 1, 2)
    run.advance(ROUNDS)
    for agent in run.players:
        assert max(agent.state.visits.values()) == 1
        assert sum(agent.state.visits.values()) < ROUNDS


@pytest.mark.parametrize(
    "name", ["feducb, raw", "feducb-p2p", "feducb-hybrid", "feducb-p2p-hybrid"]
)
def test_a_party_that_was_killed_has_forgotten_nobody(name):
    config, events = config_of(name), Counter()
    plan, found = plan_of(config, WINE, ROUNDS), system_of(config)
    smooth = PartiesReplicate(found, plan, WINE, 1, 0)
    rough = PartiesReplicate(found, plan, WINE, 1, 0, embody=lambda make: MortalParty(make, events))
    for run in (smooth, rough):
        run.advance(ROUNDS)
    assert [p.dump() for p in smooth.parties] == [p.dump() for p in rough.parties]
    assert all(agent.state.visits for agent in smooth.players)


@pytest.mark.parametrize("name", ["feducb", "feducb-p2p"])
def test_a_ledger_is_charged_for_persons(name, tmp_path):
    """With the noise, the keys and the kills of a deployment."""
    config, events = config_of(name, epsilon=1.0, schedule="every(10)"), Counter()
    world = msgspec.structs.replace(WINE, shards="shared")
    plan, found = plan_of(config, world, ROUNDS), system_of(config)
    claim = found.claim(plan)
    with Ledger.open(tmp_path / "ledger.db", "test") as ledger:
        workplace = FederationResources(found, plan, ledger)
        run = PartiesReplicate(
            found, plan, world, 1, 0, supplies=workplace.supply,
            embody=lambda make: MortalParty(make, events),
        )  # fmt: skip
        run.advance(ROUNDS)
        with ledger.read() as connection:
            ledger.verify(connection)
            spent = [ledger.statement(connection, p).spent_mu for p in ledger.parties(connection)]
    assert len(spent) == world.agents
    assert spent == pytest.approx([claim.mu] * world.agents)
    # Many come to several agents, and nobody else can tell whom a digest stands for.
    digests = [digest for player in run.players for digest in player.state.visits]
    assert len(digests) == len(set(digests))


class TestApplications:
    """What an application says of persons."""

    @staticmethod
    def begin(unit="person", world=WINE):
        config = system("feducb", unit=unit).config
        plan, found = plan_of(config, world, ROUNDS), system_of(config)
        run = PartiesReplicate(found, plan, world, 1, 0)
        return run.players[0], found.application(plan), run

    def asked(self, application, **fields):
        return application.ASKED(context=[0.1, 0.2, 0.3], **fields)

    def test_a_person_is_needed_where_persons_are_protected(self):
        agent, application, _ = self.begin()
        before = agent.dump()
        with pytest.raises(LocalProtocolError, match="each decision needs the person"):
            agent.decide(application.situation(agent, self.asked(application)))
        assert agent.dump() == before

    def test_nobody_is_named_where_records_are_protected(self):
        agent, application, _ = self.begin("record")
        asked = self.asked(application, person="Ann")
        with pytest.raises(LocalProtocolError, match="leave out person") as refused:
            agent.decide(application.situation(agent, asked))
        assert "Ann" not in str(refused.value)

    def test_a_state_holds_no_names(self):
        agent, application, _ = self.begin()
        asked = self.asked(application, person="Annabel")
        agent.decide(application.situation(agent, asked))
        assert b"Annabel" not in agent.dump()
        assert list(agent.state.visits.values()) == [1]

    def test_arrays_and_json_are_alike(self):
        _, application, direct = self.begin()
        config = system("feducb", unit="person").config
        asked = PartiesReplicate(
            system_of(config), plan_of(config, WINE, ROUNDS), WINE, 1, 0,
            embody=lambda make: AskedParty(made, application)
            if hasattr(made := make(), "decide") else made,
        )  # fmt: skip
        for run in (direct, asked):
            run.advance(ROUNDS)
        assert [p.dump() for p in direct.players] == [p.dump() for p in asked.players]


class TestWorlds:
    """Who comes, by the draws that decide what is shown."""

    @pytest.mark.parametrize("visits", ["drawn", "in order"])
    @pytest.mark.parametrize("form", [{"target": "y"}, {"rewards": ("a", "b")}])
    def test_a_table_says_whose_row_is_shown(self, visits, form):
        rows = 12
        data = {
            "x": [i / rows for i in range(rows)], "who": [f"p{i // 3}" for i in range(rows)],
            "y": [i % 2 for i in range(rows)], "a": [0.5] * rows, "b": [0.2] * rows,
        }  # fmt: skip
        stated = {"classes": ("0", "1")} if "target" in form else {"reward_range": (0.0, 1.0)}
        table = fb.environments.table(
            data, agents=2, person="who", features=["x"], ranges={"x": (0.0, 1.0)},
            visits=visits, **form, **stated,
        )  # fmt: skip
        assert table.facts.persons == 4
        world, persons = table.open(replicate_key(3, 0)), {}
        for agent in range(2):
            for round_ in range(1, 7):
                world.fill(agent, round_)
                row, person = tuple(world.features[:, 0].tolist()), world.person
                assert persons.setdefault(row, person) == person
                assert 0 <= person < 4
        assert len(set(persons.values())) > 1

    def test_a_log_says_whose_event_it_was(self):
        events = 60
        table = fb.environments.table(
            {
                "x": [i / events for i in range(events)], "who": [i // 4 for i in range(events)],
                "arm": [i % 2 for i in range(events)], "paid": [i % 3 / 2 for i in range(events)],
            },
            agents=3, person="who", features=["x"], ranges={"x": (0.0, 1.0)}, action="arm",
            reward="paid", propensity=0.5, classes=("0", "1"), reward_range=(0.0, 1.0),
            visits="in order",
        )  # fmt: skip
        config = config_of("feducb", schedule="every(3)")
        compiled, parties = simulate(config, table, 20, 1, 0), federate(config, table, 20, 1, 0)
        for run in (compiled, parties):
            run.advance(20)
        assert_same(compiled, parties)
        assert (compiled.state.visits <= 1).all()

    def test_a_world_in_python_must_say_who_comes(self):
        class Silent(Visited, tag="silent persons"):
            """Says that there are persons, and not who comes."""

            person = fb.environments.PythonEnvironment.person

            def decision_set(self, world, agent, round_, draws):
                return draws.uniform(20).reshape(5, 4) / 4, draws.uniform(5)

        config = system("feducb", unit="person").config
        with pytest.raises(DataError, match=r"Silent\.person: not defined"):
            federate(config, Silent(), 4, 1, 0).advance(4)

    def test_it_must_be_a_person(self):
        class Wrong(Visited, tag="wrong persons"):
            """Names somebody who is not there."""

            def person(self, world, agent, round_, draws):
                return self.persons

        config = system("feducb", unit="person").config
        with pytest.raises(DataError, match="round 1 has no number of a person"):
            federate(config, Wrong(), 4, 1, 0).advance(4)
