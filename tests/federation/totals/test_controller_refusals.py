"""The controller: increments and answers that it takes, drops as late, or refuses."""

from __future__ import annotations

import msgspec
import pytest

from fedbandits.federation.messages import ImplausibleError, OutOfOrderError, WrongShapeError
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.world import World


def first(world, place, release=1):
    """What an agent sends at a release: one message, the last one again if it must."""
    (message,) = world.agents[place].end_round(release)
    return message


def test_what_no_agent_sends_is_refused():
    world = World()
    controller, right = world.parties["controller"], first(world, 0)
    for fields, kind in (
        ({"release": 7}, OutOfOrderError),
        ({"base": 1}, ImplausibleError),
        ({"base_salt": 1}, ImplausibleError),
        ({"salt": -1}, ImplausibleError),
        ({"salt": 1 << 64}, ImplausibleError),
        ({"statistic": right.statistic + b"x"}, WrongShapeError),
        ({"statements": right.statements[1:]}, WrongShapeError),
    ):
        refused_next(controller, msgspec.structs.replace(right, **fields), kind)
    taken(controller, right)
    for fields in ({"release": 2}, {"salt": 1}, {"statistic": bytes(24)}):  # one is held
        refused_next(controller, msgspec.structs.replace(right, **fields), OutOfOrderError)
    before = controller.state
    assert taken(controller, right) == []  # the same again
    assert controller.state is before


def test_what_is_late_for_its_sum_is_dropped_and_its_agent_is_told_again():
    world = World(agents=3)
    late = first(world, 2)
    world.play(1, [0, 1])
    controller = world.parties["controller"]
    before = controller.state
    (total,) = taken(controller, late)
    assert controller.state is before
    assert world.agents[2].state.sending.pending == 0  # all helpers have said so
    known = world.agents[2].state
    assert taken(world.agents[2], total) == []
    assert world.agents[2].state.sending is known.sending
    world.play(2, range(3))
    assert controller.state.opened.tolist() == [2, 2, 2]
    world.total()


@pytest.fixture
def answered():
    world = World(agents=3, helpers=2, least=2)
    checks = [out for i in range(3) for out in world.deliver(first(world, i))]
    return world, [out for message in world.to_openings(checks) for out in world.deliver(message)]


def test_answers_that_are_not_for_this_sum(answered):
    world, (one, two) = answered
    controller = world.parties["controller"]
    for fields, kind in (
        ({"release": 2}, OutOfOrderError),
        ({"digest": bytes(32)}, ImplausibleError),
        ({"masks": one.masks[1:]}, WrongShapeError),
        ({"confirmations": one.confirmations[1:]}, WrongShapeError),
    ):
        refused_next(controller, msgspec.structs.replace(one, **fields), kind)
    taken(controller, one)
    before = controller.state
    assert taken(controller, one) == []  # again
    assert controller.state is before
    assert len(taken(controller, two)) == 3
    assert taken(controller, two) == []
    world.total()


def test_the_members_of_a_sum_stay_who_they_were():
    world = World(agents=3, helpers=1, least=2)
    late = first(world, 2)
    controller = world.parties["controller"]
    for i in range(2):
        taken(controller, first(world, i))
    (asked,) = world.to_openings([])
    assert taken(controller, late) == []
    (again,) = controller.deadline(controller.awaited)
    assert msgspec.structs.replace(again, number=asked.number) == asked


def test_an_agent_that_has_not_heard_of_its_sum_is_told_when_it_sends_again():
    world = World(agents=3, helpers=2, least=2)
    sent = [first(world, i) for i in range(3)]
    asked = world.to_openings([out for message in sent for out in world.deliver(message)])
    answers = [out for message in asked for out in world.deliver(message)]
    told = [out for message in answers for out in world.deliver(message)]
    assert len(told) == 3  # and all of them are lost
    controller = world.parties["controller"]
    again = [first(world, i, 2) for i in range(3)]
    assert [each.release for each in again] == [1] * 3
    for agent, message in zip(world.agents, again, strict=True):
        (total,) = taken(controller, message)
        assert msgspec.structs.replace(total, number=0) in told
        taken(agent, total)
        assert (agent.state.sending.base, agent.state.sending.pending) == (1, 0)
    world.play(3, range(3))
    assert controller.state.opened.tolist() == [3] * 3
    refused_next(
        controller, msgspec.structs.replace(again[0], statistic=bytes(24)), OutOfOrderError
    )
