"""The controller: increments and answers that it takes, drops as late, or refuses."""

from __future__ import annotations

import msgspec
import pytest

from fedbandits.federation.messages import ImplausibleError, OutOfOrderError, WrongShapeError
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.world import World


def first(world, place, release=1):
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
    for release in (1, 2):  # one is held
        refused_next(controller, msgspec.structs.replace(right, release=release), OutOfOrderError)


def test_what_is_late_for_its_sum_is_dropped_without_a_word():
    world = World(agents=3)
    late = first(world, 2)
    world.play(1, [0, 1])
    controller = world.parties["controller"]
    before = controller.state
    assert taken(controller, late) == []
    assert controller.state is before
    assert world.agents[2].state.sending.pending == 0  # all helpers have said so
    world.play(2, range(3))
    assert controller.state.opened.tolist() == [2, 2, 2]
    world.total()


@pytest.fixture
def answered():
    world = World(agents=3, helpers=2, least=2)
    asked = [out for i in range(3) for out in world.deliver(first(world, i))]
    return world, [out for message in asked for out in world.deliver(message)]


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
    (asked,) = controller.deadline(controller.awaited)
    assert taken(controller, late) == []
    (again,) = controller.deadline(controller.awaited)
    assert msgspec.structs.replace(again, number=asked.number) == asked
