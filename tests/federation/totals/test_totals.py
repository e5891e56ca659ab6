"""Whatever is late, lost, repeated or killed: the total is that of the newest opened releases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.federation.totals.controller import MOST_ASKED
from fedbandits.federation.totals.messages import Total, unpack_words
from tests.federation.totals.world import World


@pytest.mark.parametrize(("agents", "helpers"), [(2, 1), (5, 1), (4, 3)])
def test_all_present(agents, helpers):
    world, seen = World(agents, helpers), []
    for k in range(1, world.plan.releases + 1):
        world.play(k, range(agents), seen)
        assert world.parties["controller"].state.opened.tolist() == [k] * agents
        world.total()
    totals = [each for each in seen if isinstance(each, Total)]
    assert len(totals) == agents * world.plan.releases
    for each in totals:
        assert (each.own, each.releases, each.counts) == (each.release, (each.release,), (agents,))
        got = unpack_words(each.statistic, world.plan.size)
        np.testing.assert_array_equal(got, world.expected([each.release] * agents))
    assert not any(agent.state.sending.retired for agent in world.agents)


def test_those_who_come_late_are_in_the_next_sum_with_all_that_they_have():
    world = World(agents=4, least=2)
    world.play(1, [0, 1, 2])
    assert world.parties["controller"].state.opened.tolist() == [1, 1, 1, 0]
    world.play(2, [2, 3])
    assert world.parties["controller"].state.opened.tolist() == [1, 1, 2, 2]
    world.total()


def test_too_few_are_nobody_and_go_on_from_their_old_base():
    world = World(agents=4, least=3)
    world.play(1, [0, 1, 2, 3])
    before = world.total().copy()
    world.play(2, [0, 3])
    state = world.parties["controller"].state
    assert state.newest == 2
    assert state.opened.tolist() == [1, 1, 1, 1]
    np.testing.assert_array_equal(world.total(), before)
    assert [agent.state.sending.pending for agent in world.agents] == [0] * 4
    assert [agent.state.sending.base for agent in world.agents] == [1] * 4
    world.play(3, [0, 1, 3])
    assert world.parties["controller"].state.opened.tolist() == [3, 3, 1, 3]
    world.total()


def test_a_message_for_a_later_sum_lets_this_one_go():
    """Helpers were away: agents that did not send for sum 2 are not waited for there."""
    world = World(agents=3, least=2)
    first = [out for agent in world.agents for out in agent.end_round(1)]
    asked = world.to_openings([out for message in first for out in world.deliver(message)])
    for k in (2, 3):  # their last message is under way: nobody sends another one
        for agent in world.agents:
            (again,) = agent.end_round(k)
            assert again.release == 1
            assert world.deliver(again) == []
    world.settle(asked)
    later = [out for agent in world.agents for out in agent.end_round(4)]
    world.settle(later)
    state = world.parties["controller"].state
    assert (state.newest, state.opened.tolist()) == (4, [4, 4, 4])
    world.total()


def test_a_lost_total_is_made_up_for_by_the_next():
    world = World(agents=3, least=2)
    sent = [out for agent in world.agents for out in agent.end_round(1)]
    asked = world.to_openings([out for message in sent for out in world.deliver(message)])
    answers = [out for message in asked for out in world.deliver(message)]
    totals = [out for message in answers for out in world.deliver(message)]
    world.settle(totals[1:])  # that of agent-0 is lost
    assert world.agents[0].state.sending.pending == 1
    world.play(2, [0, 1, 2])
    world.parties["agent-0"].deadline(0)  # what is lost never comes
    assert world.agents[0].state.sending.base == 1
    assert world.agents[0].state.sending.pending == 0
    world.play(3, [0, 1, 2])
    assert world.parties["controller"].state.opened.tolist() == [3, 3, 3]
    world.total()


def test_a_lost_request_and_a_lost_answer_are_asked_for_again():
    world = World(agents=3, helpers=2, least=2)
    sent = [out for agent in world.agents for out in agent.end_round(1)]
    asked = world.to_openings([out for message in sent for out in world.deliver(message)])
    answer = world.deliver(asked[1])  # the request to helper-0 is lost, this answer too
    assert len(answer) == 1
    controller = world.parties["controller"]
    again = controller.deadline(controller.awaited)
    assert [each.receiver for each in again] == ["helper-0", "helper-1"]
    for each in again:
        world.settle(world.deliver(each))
        world.settle(world.parties[each.receiver].deadline(0))
    world.settle(controller.deadline(0))
    world.settle(controller.deadline(controller.awaited or 0))
    assert controller.state.opened.tolist() == [1, 1, 1]
    world.total()


def test_helpers_that_stay_away_are_not_asked_for_ever():
    world = World(agents=3, least=2)
    for agent in world.agents:
        for message in agent.end_round(1):
            world.deliver(message)
    controller, asked = world.parties["controller"], 0
    while controller.awaited is not None:
        asked += len(controller.deadline(controller.awaited))
    assert asked == (MOST_ASKED - 1) * 2
    assert controller.stage == "checking"


class Chance:
    """Events in any order: messages are late, lost or repeated, parties are killed."""

    def __init__(self, world, data, loses):
        self.world, self.data, self.loses = world, data, loses
        self.flying, self.delivered = [], []
        self.release = [0] * world.plan.agents

    def one_of(self, things):
        return self.data.draw(st.sampled_from(list(things)))

    def end_round(self):
        place = self.one_of(range(self.world.plan.agents))
        if self.release[place] < self.world.plan.releases - 2:
            self.release[place] += 1
            self.flying += self.world.agents[place].end_round(self.release[place])

    def deliver(self):
        if self.flying:
            self.delivered.append(self.flying.pop(self.one_of(range(min(4, len(self.flying))))))
            self.flying += self.world.deliver(self.delivered[-1])

    def repeat(self):
        if self.delivered:
            assert self.world.deliver(self.one_of(self.delivered[-10:])) == []

    def lose(self):
        if self.flying and self.loses:
            self.flying.pop(self.one_of(range(len(self.flying))))

    def kill(self):
        self.world.restart(self.one_of(self.world.parties))

    def give_up(self):
        party = self.world.parties[self.one_of(["controller", *self.world.parties])]
        if party.awaited is not None:
            self.flying += party.deadline(party.awaited)


EVENTS = [Chance.end_round] * 2 + [Chance.deliver] * 6 + [
    Chance.repeat, Chance.lose, Chance.kill, Chance.give_up,
]  # fmt: skip


def chances(data, loses):
    """A federation after any events; its total was right after every one."""
    agents = data.draw(st.integers(2, 5), "agents")
    world = World(
        agents, data.draw(st.integers(1, 2), "helpers"), size=2, releases=8,
        least=data.draw(st.integers(2, agents), "least"),
    )  # fmt: skip
    chance = Chance(world, data, loses)
    for event in data.draw(st.lists(st.sampled_from(EVENTS), max_size=80), "events"):
        event(chance)
        world.total()
    sendings = [agent.state.sending for agent in world.agents]
    assert not any(each.retired or each.other_total or each.disputed_total for each in sendings)
    assert not world.parties["controller"].state.differing.any()  # nobody was told otherwise
    return world, chance


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_lost_never_makes_a_total_wrong(data):
    chances(data, loses=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_of_events_gives_the_same_total_bit_for_bit(data):
    world, chance = chances(data, loses=False)
    world.settle(chance.flying)
    last, agents = world.plan.releases, world.plan.agents
    for k in range(max(chance.release) + 1, last + 1):  # all are back
        world.play(k, range(agents))
    state = world.parties["controller"].state
    assert (state.newest, state.opened.tolist()) == (last, [last] * agents)
    world.total()
    for helper in world.helpers:
        np.testing.assert_array_equal(helper.state.newest, state.opened)
        assert helper.state.digest == state.digest
    for place, agent in enumerate(world.agents):
        sending = agent.state.sending
        assert (sending.base, sending.pending) == (last, 0)
        np.testing.assert_array_equal(sending.base_values, world.values[place, -1])
