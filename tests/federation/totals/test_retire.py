"""An agent that is told anything else than what it knows sends nothing more."""

from __future__ import annotations

import msgspec
import pytest

from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError, WrongShapeError
from fedbandits.federation.totals.messages import Total
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.world import World


def totals(world, release, present):
    """What the controller tells all agents after a round, in order, not delivered yet."""
    told = []
    queue = [out for i in present for out in world.agents[i].end_round(release)]
    controller = world.parties["controller"]
    controller_was = controller.state.newest
    while queue or controller.state.newest == controller_was:
        if not queue:
            queue = controller.deadline(controller.awaited)
        message = queue.pop(0)
        if isinstance(message, Total):
            told.append(message)
        else:
            queue += world.deliver(message)
    return told


def retires(world, total):
    """An agent takes a total, and sends nothing more ever after."""
    agent = world.parties[total.receiver]
    (farewell,) = taken(agent, total)
    assert (farewell.receiver, farewell.release) == ("controller", total.release)
    assert agent.state.sending.retired
    assert agent.state.sending.newest == total.release
    world.restart(total.receiver)
    agent = world.parties[total.receiver]
    assert [agent.end_round(k) for k in range(2, world.plan.releases + 1)] == [[]] * 5


@pytest.fixture
def told():
    world = World(agents=4, helpers=2, least=2)
    return world, totals(world, 1, [0, 1, 2])


def test_what_all_helpers_confirm_is_believed(told):
    world, messages = told
    for message in messages:
        agent = world.parties[message.receiver]
        taken(agent, message)
        assert not agent.state.sending.retired
        assert agent.state.sending.base == (message.receiver != "agent-3")


@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("helper", [0, 1])
def test_a_false_confirmation(told, place, helper):
    world, messages = told
    tags = bytearray(messages[place].confirmations)
    tags[helper * TAG_BYTES] ^= 1
    retires(world, msgspec.structs.replace(messages[place], confirmations=bytes(tags)))


@pytest.mark.parametrize("place", [0, 3])
def test_another_digest(told, place):
    world, messages = told
    retires(world, msgspec.structs.replace(messages[place], digest=bytes(32)))


@pytest.mark.parametrize("helper", [0, 1])
def test_a_public_key_that_the_helper_has_not_drawn(told, helper):
    """Else the controller would agree with agents on their masks."""
    world, messages = told
    publics = bytearray(messages[0].publics)
    publics[32 * helper] ^= 1
    retires(world, msgspec.structs.replace(messages[0], publics=bytes(publics)))


def test_a_controller_that_says_an_agent_is_in_or_out_against_all_helpers(told):
    world, messages = told
    for place, own in ((0, 0), (3, 1)):
        assert (messages[place].releases, messages[place].counts) == ((0, 1), (1, 3))
        retires(world, msgspec.structs.replace(messages[place], own=own))


def test_helpers_that_open_different_sums():
    """A controller has one helper open a sum with an agent, and the other one without it."""
    world, other = World(agents=4, least=2), World(agents=4, least=2)
    one, two = totals(world, 1, [0, 1, 2]), totals(other, 1, [0, 1, 3])
    for place in range(4):
        mixed = one[place].confirmations[:TAG_BYTES] + two[place].confirmations[TAG_BYTES:]
        retires(world, msgspec.structs.replace(one[place], confirmations=mixed))


def test_confirmations_of_another_agent_or_another_sum(told):
    world, messages = told
    retires(world, msgspec.structs.replace(messages[0], confirmations=messages[1].confirmations))
    world.settle(messages[1:])
    later = totals(world, 2, [1, 2])
    old = msgspec.structs.replace(later[1], confirmations=messages[1].confirmations)
    taken(world.agents[1], old)
    assert world.agents[1].state.sending.retired


def test_an_agent_of_an_old_store():
    """Its release was sent with other noise before: it hears of a message that it does not know."""
    world = World(agents=3, least=2)
    old = world.agents[0].dump()
    messages = totals(world, 1, range(3))
    world.parties["agent-0"] = world.make("agent-0")
    world.parties["agent-0"].load(old)
    world.values[0, 1] += 1  # what it draws anew
    (again,) = world.parties["agent-0"].end_round(1)
    assert again.salt != int(world.parties["controller"].state.opened_salts[0])
    retires(world, messages[0])


def test_an_agent_that_forgot_all_it_had_sent():
    world = World(agents=3, least=2)
    world.play(1, range(3))
    world.play(2, [1, 2])
    world.parties["agent-0"] = world.make("agent-0")
    controller = world.parties["controller"]
    (again,) = world.parties["agent-0"].end_round(3)
    refused_next(controller, again, ImplausibleError)
    messages = totals(world, 3, [1, 2])
    retires(world, msgspec.structs.replace(messages[0], number=0))


def test_a_message_made_again_is_the_same_and_another_one_shares_no_mask():
    """Kept before it leaves; if its noise is another, all its masks are too."""
    world, again, other = World(), World(), World(seed=1)
    first, same, changed = (each.agents[0].end_round(1)[0] for each in (world, again, other))
    assert first == same
    assert changed.salt != first.salt
    later = world.agents[0]
    (once_more,) = later.end_round(2)  # it waits
    assert msgspec.structs.replace(once_more, number=first.number) == first


def test_totals_that_no_controller_sends_are_refused(told):
    world, messages = told
    agent, right = world.agents[0], messages[0]
    for fields, kind in (
        ({"release": 0}, OutOfOrderError),
        ({"release": 7}, OutOfOrderError),
        ({"own": 2}, ImplausibleError),
        ({"releases": (1,)}, ImplausibleError),
        ({"releases": (1,), "counts": (3,)}, ImplausibleError),
        ({"releases": (1, 2)}, ImplausibleError),
        ({"releases": (-1, 1)}, ImplausibleError),
        ({"releases": (1, 0)}, ImplausibleError),
        ({"releases": (), "counts": ()}, ImplausibleError),
        ({"counts": (0, 4)}, ImplausibleError),
        ({"statistic": right.statistic[:-1]}, WrongShapeError),
        ({"digest": b""}, WrongShapeError),
        ({"publics": right.publics[1:]}, WrongShapeError),
        ({"confirmations": right.confirmations[TAG_BYTES:]}, WrongShapeError),
    ):
        refused_next(agent, msgspec.structs.replace(right, **fields), kind)
    taken(agent, right)
    before = agent.state.sending
    taken(agent, right)  # told again
    assert agent.state.sending is before
    refused_next(agent, msgspec.structs.replace(right, digest=bytes(32)), ImplausibleError)
    world.settle(messages[1:])
    later = totals(world, 2, range(4))[0]
    taken(agent, later)
    refused_next(agent, right, OutOfOrderError)


def test_nobody_waits_for_an_agent_that_has_retired():
    world = World(agents=4, helpers=2, least=2)
    messages = totals(world, 1, range(4))
    lie = msgspec.structs.replace(messages[0], digest=bytes(32))
    (farewell,) = taken(world.agents[0], lie)
    world.settle(messages[1:])
    sent = [out for agent in world.agents[1:] for out in agent.end_round(2)]
    controller = world.parties["controller"]
    for message in sent:  # its word has not come yet, so it is waited for
        assert world.deliver(message) == []
    checks = taken(controller, farewell)  # the last thing that was missing
    assert taken(controller, farewell) == []
    world.settle(checks)
    assert controller.state.opened.tolist() == [1, 2, 2, 2]
    assert controller.report["retired_agents"] == ["agent-0"]
    world.settle([out for agent in world.agents[1:] for out in agent.end_round(3)])
    assert controller.state.opened.tolist() == [1, 3, 3, 3]  # no deadline was needed
    world.total()


def test_all_that_have_retired_make_no_sum():
    world = World(agents=2, helpers=1, least=2)
    messages = totals(world, 1, range(2))
    for message in messages:
        lie = msgspec.structs.replace(message, digest=bytes(32))
        (farewell,) = taken(world.parties[lie.receiver], lie)
        assert world.deliver(farewell) == []
    assert world.parties["controller"].stage == "collecting"
    assert world.parties["controller"].awaited is None
