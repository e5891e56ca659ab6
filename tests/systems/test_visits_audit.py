"""A person who comes too often is found by an audit if that visit counts."""

from __future__ import annotations

import pytest

import fedbandits as fb
from fedbandits.systems.agents.linear_agent import LinearAgent
from fedbandits.systems.fclub.roles import LocalServer
from fedbandits.systems.shell import Shell
from fedbandits.testing.replicates import plan_of, system_of

PEOPLE = fb.environments.Classification(agents=12, dataset="wine", components=2)
USERS = fb.environments.Clustered(users=12, clusters=2, servers=3, dim=2, items=4)
AGENTS = ("feducb-secure-hybrid", "feducb", "feducb-p2p", "ldp-silo")
SERVERS = ("fclub", "fclub-released")


def check_of(name, most, **parts):
    world = USERS if name in SERVERS else PEOPLE
    config = fb.system(name, unit="person", records_per_person=most, **parts).config
    (check, *_) = system_of(config).protocol_checks(plan_of(config, world, 300), world)
    return check


@pytest.mark.parametrize("name", [*AGENTS, *SERVERS])
def test_visits_beyond_the_first_k_do_not_count(name):
    found, wrong = check_of(name, 4).play()
    assert found == "4 of 7 visits of a person count"
    assert wrong == ()


@pytest.mark.parametrize("most", [8, 20, 70])
@pytest.mark.parametrize("name", ["feducb-secure", "feducb-p2p", "fclub"])
def test_visits_take_as_many_rounds_as_there_are(name, most):
    """Some end after the last release of a short run: nobody waits for their rounds."""
    found, wrong = check_of(name, most).play()
    played = min(most, 60)
    assert found == f"{played} of {played + 3} visits of a person count"
    assert wrong == ()


def test_visits_of_short_phases_are_played_in_one():
    found, wrong = check_of("fclub", 4, schedule="growing(1.5, 3)").play()
    assert (found, wrong) == ("4 of 7 visits of a person count", ())


def test_where_many_visits_count_some_are_played():
    assert check_of("feducb", 5000).looks_at.startswith("a person who comes 63 times to one agent")


@pytest.mark.parametrize("name", ["feducb", "fclub"])
def test_one_visit_too_many_is_found(name, monkeypatch):
    """An agent counts the next one too; a server any."""

    def counts_all(server, *decision):
        server._persons = server._persons._replace(most=99)
        return Shell._decided(server, *decision)

    monkeypatch.setattr(LinearAgent, "_counts", lambda self, event: True)
    monkeypatch.setattr(LocalServer, "_decided", counts_all)
    assert check_of(name, 2).play()[1] == ("5 of 5 visits count, 2 are charged for",)


def test_visits_that_are_forgotten_with_a_restart_are_found(monkeypatch):
    load = LinearAgent.load

    def forgets(self, data):
        load(self, data)
        self.state.visits.clear()

    monkeypatch.setattr(LinearAgent, "load", forgets)
    assert check_of("feducb", 2).play()[1] == ("3 of 5 visits count, 2 are charged for",)


def test_where_records_are_protected_nobody_is_counted():
    config = fb.system("feducb").config
    assert system_of(config).protocol_checks(plan_of(config, PEOPLE, 40), PEOPLE) == []
