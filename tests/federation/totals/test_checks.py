"""Helpers say whose messages they would open: a member that lies is left out, and stops nobody."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import ImplausibleError, WrongShapeError
from fedbandits.federation.totals.messages import Check
from fedbandits.federation.totals.statements import (
    pack_places,
    unpack_members,
    unpack_places,
)
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.test_helper_refusals import picked
from tests.federation.totals.world import World


def with_false_tag(message, helper):
    """An agent's message as somebody sends it who tags it falsely for one helper."""
    tags = bytearray(message.statements)
    tags[helper * TAG_BYTES] ^= 1
    return msgspec.structs.replace(message, statements=bytes(tags))


def played(world, release, liars):
    """A round in which some lie: ``{place: helper}``; all that is sent."""
    seen, sent = [], [out for agent in world.agents for out in agent.end_round(release)]
    for place, helper in liars.items():
        sent[place] = with_false_tag(sent[place], helper)
    world.settle(sent, seen)
    return seen


def asked(world, release=1):
    """The controller's checks of a sum of all."""
    sent = [out for agent in world.agents for out in agent.end_round(release)]
    return [out for message in sent for out in world.deliver(message)]


@pytest.mark.parametrize("helper", [0, 1])
def test_a_member_with_a_false_tag_is_left_out_and_named(helper):
    world = World(agents=4, helpers=2, least=2)
    seen = played(world, 1, {2: helper})
    controller = world.parties["controller"]
    assert controller.state.opened.tolist() == [1, 1, 0, 1]
    world.total()
    assert controller.report["unbelieved"] == {f"helper-{helper}": ["agent-2"]}
    assert not any(agent.state.sending.retired for agent in world.agents)
    assert world.agents[2].state.sending.pending == 0  # it may go on, from its old base
    assert sum(isinstance(each, Check) for each in seen) == 2
    played(world, 2, {})
    assert controller.state.opened.tolist() == [2] * 4
    assert controller.report["unbelieved"] == {}
    world.total()


def test_who_lies_again_and_again_stops_nobody():
    world = World(agents=4, helpers=2, least=2)
    for k in range(1, world.plan.releases + 1):
        played(world, k, {0: 1})
        assert world.parties["controller"].state.opened.tolist() == [0, k, k, k]
        world.total()


def test_too_few_who_are_believed_are_nobody():
    world = World(agents=4, helpers=2, least=3)
    played(world, 1, {0: 0, 3: 1})
    state = world.parties["controller"].state
    assert (state.newest, state.opened.tolist()) == (1, [0] * 4)
    assert [agent.state.sending.pending for agent in world.agents] == [0] * 4
    played(world, 2, {0: 0})
    assert state is not world.parties["controller"].state
    assert world.parties["controller"].state.opened.tolist() == [0, 2, 2, 2]
    world.total()


def test_a_member_of_another_base_is_unfit():
    """A controller that was put back takes a base that helpers have passed."""
    world = World(agents=3, helpers=1, least=2)
    (check,) = asked(world)
    world.settle([check])
    members = unpack_members(check.members).copy()
    (later,) = asked(world, 2)
    mixed = unpack_members(later.members).copy()
    mixed[1] = members[1]
    (answer,) = taken(world.helpers[0], msgspec.structs.replace(later, members=mixed.tobytes()))
    assert unpack_places(answer.unfit).tolist() == [1]


def test_a_check_opens_nothing_and_is_answered_again():
    world = World(agents=3, helpers=2, least=2)
    checks = asked(world)
    helper, before = world.helpers[0], world.helpers[0].state
    one, other = taken(helper, checks[0]), taken(helper, checks[0])
    assert msgspec.structs.replace(one[0], number=other[0].number) == other[0]
    assert helper.state is before
    fewer = picked(checks[0], [0])
    (few,) = taken(helper, fewer)
    assert few.unfit == b""
    assert helper.state is before


def test_what_is_no_answer_to_a_check_is_refused():
    world = World(agents=3, helpers=2, least=2)
    answers = [out for check in asked(world) for out in world.deliver(check)]
    controller, one = world.parties["controller"], answers[0]
    for fields, kind in (
        ({"request": bytes(32)}, ImplausibleError),
        ({"unfit": pack_places(np.array([3]))}, ImplausibleError),
        ({"unfit": b"123"}, WrongShapeError),
        ({"request": answers[1].request}, ImplausibleError),
    ):
        refused_next(controller, msgspec.structs.replace(one, **fields), kind)
    assert taken(controller, one) == []
    before = controller.state
    assert taken(controller, one) == []  # again
    assert controller.state is before
    assert len(taken(controller, answers[1])) == 2
    assert taken(controller, answers[1]) == []
    assert controller.stage == "opening"


def test_a_controller_that_is_killed_while_it_checks_goes_on():
    world = World(agents=3, helpers=2, least=2)
    answers = [out for check in asked(world) for out in world.deliver(check)]
    assert world.deliver(answers[0]) == []
    world.restart("controller")
    openings = world.deliver(answers[1])
    world.restart("controller")
    world.settle(openings)
    assert world.parties["controller"].state.opened.tolist() == [1, 1, 1]
    world.total()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whoever_lies_those_who_do_not_are_added_up(data):
    agents, helpers = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    world = World(agents, helpers, size=2, releases=5, least=2)
    newest = np.zeros(agents, int)
    for k in range(1, 6):
        liars = data.draw(
            st.dictionaries(st.integers(0, agents - 1), st.integers(0, helpers - 1)), "liars"
        )
        played(world, k, liars)
        honest = [place not in liars for place in range(agents)]
        if sum(honest) >= 2:
            newest[honest] = k
        assert world.parties["controller"].state.opened.tolist() == newest.tolist()
        world.total()
