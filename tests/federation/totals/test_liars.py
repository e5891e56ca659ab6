"""Agents that lie about which sum they have come for close no sum, as long as they are few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.federation.totals.controller_state import first_state
from fedbandits.federation.totals.plan import TotalsPlan
from tests.federation.totals.world import World


def give_up(world):
    """All waiting of the controller ends."""
    while (awaited := world.parties["controller"].awaited) is not None:
        world.settle(world.parties["controller"].deadline(awaited))


@pytest.mark.parametrize("before", [0, 2])
def test_one_agent_that_comes_for_the_last_sum_ends_nothing(before):
    """It sends between rounds, when nobody else has come: its deadline is over before they do."""
    world = World(agents=5, helpers=2, least=4, releases=9, colluding=1)
    for k in range(1, before + 1):
        world.play(k, range(5))
    world.settle(world.agents[4].end_round(9))
    assert world.parties["controller"].awaited is None
    give_up(world)
    for k in range(before + 1, 9):
        world.play(k, range(4))
        assert world.parties["controller"].state.opened.tolist() == [k] * 4 + [before]
        world.total()
    world.play(9, range(4))
    assert world.parties["controller"].state.opened.tolist() == [9] * 5  # by now it is true


def test_one_agent_that_is_always_a_round_ahead_leaves_nobody_out():
    world = World(agents=5, helpers=2, least=4, releases=12, colluding=1)
    for k in range(1, 11):
        world.settle(world.agents[4].end_round(k + 1))
        give_up(world)
        world.play(k, range(4))
        assert world.parties["controller"].state.newest == k
        assert world.parties["controller"].state.opened[:4].tolist() == [k] * 4


def test_rounds_that_honest_agents_miss_are_let_go():
    """Helpers were away, or too few came: no sum is waited for for ever."""
    world = World(agents=5, helpers=1, least=4, releases=9, colluding=1)
    world.play(1, [0, 1])  # too few, and two of five do not both lie
    state = world.parties["controller"].state
    assert (state.newest, state.opened.tolist()) == (1, [0] * 5)
    world.play(2, [0])  # one might: it is waited for others
    assert world.parties["controller"].state.newest == 1
    world.play(3, range(1, 5))  # agent-0 is still with its second message, which is late now
    assert world.parties["controller"].state.opened.tolist() == [0, 3, 3, 3, 3]
    world.play(4, range(5))
    assert world.parties["controller"].state.opened.tolist() == [4] * 5
    world.total()


def test_of_two_agents_neither_is_taken_for_a_liar():
    world = World(agents=2, helpers=1, least=2, colluding=1)
    world.play(1, [0])
    assert world.parties["controller"].state.newest == 1


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_few_liars_say_no_round_is_closed_that_no_honest_agent_has_reached(data):
    agents = data.draw(st.integers(3, 9), "agents")
    colluding = data.draw(st.integers(1, (agents - 1) // 2), "colluding")
    least = data.draw(st.integers(colluding + 1, agents), "least")
    plan = TotalsPlan(agents, 1, 1, 100, least, colluding)
    state, number = first_state(plan, "terms"), st.integers(0, 100)
    held = np.array(data.draw(st.lists(number, min_size=agents, max_size=agents), "held"))
    liars = data.draw(st.permutations(range(agents)), "liars")[:colluding]
    honest = np.delete(held, list(liars))
    found = state.next_sum(held, np.zeros(agents, bool), plan)
    if found:
        assert found <= honest.max()
    elif (honest > 0).sum() > colluding:
        raise AssertionError("more have come than can lie, and nothing is closed")
    if (held == found).sum() < plan.least_parties:  # then no sum has enough
        assert all((held == k).sum() < plan.least_parties for k in set(held.tolist()) - {0})
