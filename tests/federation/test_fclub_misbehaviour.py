"""Servers refuse what does not befit, by name, and are as they were."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.environments import Clustered
from fedbandits.environments.arrivals import Arrival
from fedbandits.environments.facts import ClusteredFacts
from fedbandits.errors import BoundExceededError, LocalProtocolError
from fedbandits.federation.messages import (
    NotFiniteError,
    OutOfOrderError,
    WrongSenderError,
    WrongShapeError,
    pack,
)
from fedbandits.settings.experiment import system
from fedbandits.systems.fclub.messages import Others, Release
from fedbandits.systems.fclub.plan import make_plan
from fedbandits.systems.fclub.roles import GlobalServer, LocalServer
from fedbandits.systems.servers.system import ServerSupply
from fedbandits.testing.plays import federate

WORLD = Clustered(users=5, servers=2, clusters=2, dim=3, items=4)
SIZE = 9
PLAN = make_plan(system("fclub").config, WORLD.facts, 300)
ITEMS = np.full((3, 4), 0.5, np.float32)


def noise(_):
    return np.zeros((3, SIZE))


def server(source=noise, plan=PLAN):
    return LocalServer(0, "a", "hub", plan, ServerSupply(source))


def waiting():
    party = server()
    party.end_round(25)
    return party


def others(count=2, values=None, **more):
    values = np.zeros(count * SIZE) if values is None else values
    fields = {"sender": "hub", "receiver": "a", "number": 0, "release": 1, "rows": (count,)}
    return Others(**fields | {"sums": pack(values)} | more)


def everything(party):
    return (
        party.state,
        party.phase,
        *(a.copy() for a in (party.sums, *party.models, *party.released[1:])),
    )


def assert_unchanged(party, before):
    for now, then in zip(everything(party), before, strict=True):
        np.testing.assert_array_equal(now, then)


BAD = {
    "another release": ({"release": 2}, OutOfOrderError),
    "rows that do not add up": ({"rows": (3,)}, WrongShapeError),
    "a server too many": ({"rows": (1, 1)}, WrongShapeError),
    "not whole rows": ({"sums": b"\0" * 8}, WrongShapeError),
    "not a number": ({"values": np.full(2 * SIZE, np.nan)}, NotFiniteError),
    "from somebody else": ({"sender": "b"}, WrongSenderError),
    "for somebody else": ({"receiver": "b"}, WrongSenderError),
    "again": ({"number": 1}, OutOfOrderError),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_befit_is_refused(name):
    fields, error = BAD[name]
    party = waiting()
    before = everything(party)
    with pytest.raises(error):
        party.receive(others(**fields))
    assert_unchanged(party, before)
    assert party.receive(others()) == []  # the right one is still welcome
    assert party.state == "ready"


def test_every_user_of_the_others_has_a_row():
    party = waiting()
    with pytest.raises(WrongShapeError, match="1 rows of a server that has 2 users"):
        party.receive(others(count=1))


def test_others_are_not_heard_before_they_are_waited_for():
    with pytest.raises(OutOfOrderError):
        server().receive(others())


def test_a_flood_of_clusters_is_refused():
    plan = make_plan(system("fclub-clusters").config, WORLD.facts, 300)
    party = server(plan=plan)
    party.end_round(25)
    with pytest.raises(WrongShapeError, match="33 rows"):
        party.receive(others(count=33))


class TestLocalMisuse:
    def test_a_reward_needs_a_recommendation(self):
        with pytest.raises(LocalProtocolError, match="observe is not possible while ready"):
            server().observe(0, 1.0)

    def test_one_recommendation_at_a_time(self):
        party = server()
        party.decide(Arrival(1, 0, ITEMS))
        with pytest.raises(LocalProtocolError):
            party.decide(Arrival(1, 0, ITEMS))
        with pytest.raises(LocalProtocolError):
            party.end_round(25)

    @pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan"), float("inf")])
    def test_rewards_are_bounded(self, reward):
        party = server()
        item = party.decide(Arrival(1, 1, ITEMS))
        before = everything(party)
        with pytest.raises(BoundExceededError):
            party.observe(item, reward)
        assert_unchanged(party, before)
        with pytest.raises(LocalProtocolError, match="was recommended, not"):
            party.observe(item + 1, 1.0)
        assert_unchanged(party, before)
        party.observe(item, 1.0)

    @pytest.mark.parametrize("value", [0.6, float("nan"), -9.0])
    def test_items_are_bounded(self, value):
        party = server()
        with pytest.raises(BoundExceededError):
            party.decide(Arrival(1, 0, np.full((3, 4), value, np.float32)))
        assert party.state == "ready"

    def test_users_and_shapes_are_checked(self):
        party = server()
        for user, items in ((3, ITEMS), (-1, ITEMS), (0, ITEMS[:2]), (0, ITEMS.astype(float))):
            with pytest.raises(LocalProtocolError):
                party.decide(Arrival(1, user, items))

    def test_no_phase_is_left_after_the_last(self):
        party = server(plan=make_plan(system("fclub").config, WORLD.facts, 20))
        assert party.end_round(25) == []
        assert party.phase == 0

    def test_a_phase_ends_in_its_round_alone(self):
        party = server()
        assert party.end_round(24) == []
        for round_ in (23, 26, 35):
            with pytest.raises(LocalProtocolError, match="in a phase that ends with round 25"):
                party.end_round(round_)
        for round_ in (24, 26):
            with pytest.raises(LocalProtocolError, match="in a phase that ends with round 25"):
                party.decide(Arrival(round_, 0, ITEMS))
        assert (party.state, party.phase) == ("ready", 0)

    @pytest.mark.parametrize(
        "source",
        [
            lambda _: np.zeros(SIZE),
            lambda _: np.zeros((3, SIZE + 1)),
            lambda _: np.full((3, SIZE), np.nan),
            lambda _: 0.0,
        ],
    )
    def test_noise_that_is_none_is_refused_before_anything_is_booked(self, source):
        party = server(source)
        before = everything(party)
        with pytest.raises(LocalProtocolError, match="noise must be"):
            party.end_round(25)
        assert_unchanged(party, before)

    def test_noise_that_fails_can_be_asked_again(self):
        answers = iter([OSError("no entropy"), np.ones((3, SIZE))])

        def source(_):
            answer = next(answers)
            if isinstance(answer, OSError):
                raise answer
            return answer

        party = server(source)
        with pytest.raises(OSError, match="no entropy"):
            party.end_round(25)
        assert (party.state, party.phase) == ("ready", 0)
        assert len(party.end_round(25)) == 1


def hub_of(**users):
    """The global server of servers with so many users."""
    home = tuple(np.repeat(range(len(users)), list(users.values())).tolist())
    facts = ClusteredFacts(parties=len(home), home=home, clusters=2, dimension=3, items=4)
    return GlobalServer("hub", list(users), make_plan(system("fclub").config, facts, 300))


class TestGlobalServer:
    def release(self, sender="a", rows=2, **more):
        fields = {"sender": sender, "receiver": "hub", "number": 0, "release": 1}
        return Release(**fields | {"sums": pack(np.ones(rows * SIZE))} | more)

    def test_it_waits_for_all_and_tells_each_of_the_others(self):
        hub = hub_of(a=2, b=3, c=1)
        assert hub.receive(self.release("c", 1)) == []
        assert hub.receive(self.release("a", 2)) == []
        out = hub.receive(self.release("b", 3))
        assert [(m.receiver, m.rows) for m in out] == [("a", (3, 1)), ("b", (2, 1)), ("c", (2, 3))]

    @pytest.mark.parametrize(
        ("fields", "error"),
        [
            ({"release": 2}, OutOfOrderError),
            ({"rows": 0}, WrongShapeError),
            ({"rows": 3}, WrongShapeError),
            ({"rows": 5000}, WrongShapeError),
            ({"sums": b"\0" * 12}, WrongShapeError),
            ({"sums": pack(np.full(SIZE, np.inf))}, NotFiniteError),
            ({"sender": "d"}, WrongSenderError),
        ],
    )
    def test_what_does_not_befit_is_refused(self, fields, error):
        hub = hub_of(a=2, b=3)
        with pytest.raises(error):
            hub.receive(self.release(**fields))
        assert hub.receive(self.release()) == []

    def test_nobody_releases_twice(self):
        hub = hub_of(a=2, b=3)
        hub.receive(self.release())
        with pytest.raises(OutOfOrderError):
            hub.receive(self.release(number=1))


def test_what_leaves_is_noisy_and_says_nothing_else():
    run = federate(system("fclub").config, WORLD, 120, 0, 0)
    run.advance(120)
    sent = [m for _, m in run.network.transcript.deliveries if isinstance(m, Release)]
    assert len(sent) == 2 * run.of("server")[0].phase
    for message in sent:
        assert set(msgspec.structs.asdict(message)) == {
            "sender", "receiver", "number", "version", "release", "sums",
        }  # fmt: skip
    last = np.frombuffer(sent[-2].sums).reshape(-1, SIZE)
    gaps = np.abs(last - run.of("server")[0].sums[:, :SIZE])
    assert np.median(gaps) > 1.0
