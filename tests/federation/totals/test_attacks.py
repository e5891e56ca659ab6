"""Controllers and helpers that work together: with one honest helper they see one total a sum."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import Opened, unpack_words
from fedbandits.federation.totals.statements import MEMBER, unpack_members
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.test_helper_refusals import openings, picked, without
from tests.federation.totals.world import World


def test_whatever_one_honest_helper_is_asked_it_opens_one_set():
    """All sets of members, in any order: the first that it takes is the only one."""
    world = World(agents=4, helpers=2, least=2)
    asked = openings(world, 1, range(4))[0]
    helper, answers = world.helpers[0], set()
    for count in (1, 2, 3, 4, 0):
        for places in itertools.combinations(range(4), count):
            receipt = helper.receive_bytes(
                world.roles.codec.encode(
                    msgspec.structs.replace(
                        picked(asked, places), number=helper.links["controller"].received
                    )
                ),
                "controller",
            )
            answers |= {each.masks for each in receipt.outgoing}
    assert len(answers) == 1


def test_all_other_masks_do_not_show_one_release():
    """The controller knows every mask of helper-1, and one sum of helper-0's."""
    world = World(agents=3, helpers=2, least=2)
    (honest, _) = openings(world, 1, range(3))
    (answer,) = taken(world.helpers[0], honest)
    opened = unpack_words(answer.masks, world.plan.size)
    state = world.parties["controller"].state
    bare = [
        state.values[place] - world.mask(place, 1, 1, int(state.salts[place])) for place in range(3)
    ]
    truth = world.values[:, 1].view(np.uint64)
    np.testing.assert_array_equal(sum(bare) - opened, truth.sum(axis=0, dtype=np.uint64))
    for left in itertools.product((-1, 0, 1), repeat=3):  # any other combination stays masked
        mixed = sum((np.uint64(n % 2**64) * row for n, row in zip(left, bare, strict=True)), 0)
        wanted = sum((np.uint64(n % 2**64) * row for n, row in zip(left, truth, strict=True)), 0)
        for times in (-1, 0, 1):
            found = mixed - np.uint64(times % 2**64) * opened
            if left != (times,) * 3 or not any(left):
                assert not any(left) or (found != wanted).all()


def test_a_controller_of_an_old_store_gets_no_second_set():
    """It has forgotten whom it had asked for, and asks for others: helpers refuse."""
    world = World(agents=4, helpers=2, least=2)
    sent = [out for agent in world.agents for out in agent.end_round(1)]
    for message in sent[:3]:
        world.deliver(message)
    controller = world.parties["controller"]
    old = controller.dump()
    world.settle(controller.deadline(controller.awaited))
    assert controller.state.opened.tolist() == [1, 1, 1, 0]
    again = world.parties["controller"] = world.make("controller")
    again.load(old)
    for request in arrived(world, arrived(world, world.deliver(sent[3]))):  # now all have come
        assert len(unpack_members(request.members)) == 4
        refused_next(world.parties[request.receiver], request, OutOfOrderError)
    again = world.parties["controller"] = world.make("controller")
    again.load(old)
    checks = again.deadline(1)  # the same set is answered again
    arrived(world, arrived(world, arrived(world, arrived(world, checks))))
    assert again.state.opened.tolist() == [1, 1, 1, 0]
    world.total()


def arrived(world, messages):
    """What follows where messages are taken, whatever their numbers."""
    return [out for each in messages for out in taken(world.parties[each.receiver], each)]


def test_helpers_that_were_asked_for_different_sets_open_nothing():
    """Both are honest; the controller is not. Agents retire as soon as they hear of it."""
    world = World(agents=4, helpers=2, least=2)
    one, two = openings(world, 1, range(4))
    (first,) = taken(world.helpers[0], without(one, 3))
    (second,) = taken(world.helpers[1], without(two, 0))
    assert first.digest != second.digest
    state = world.parties["controller"].state
    opened = [unpack_words(each.masks, world.plan.size) for each in (first, second)]
    for places in itertools.chain.from_iterable(
        itertools.combinations(range(4), count) for count in range(1, 5)
    ):
        masked = state.values[list(places)].sum(axis=0, dtype=np.uint64)
        truth = world.values[list(places), 1].view(np.uint64).sum(axis=0, dtype=np.uint64)
        for taken_off in (opened[0], opened[1], opened[0] + opened[1]):
            assert (masked - taken_off != truth).all()


class TwiceHelper(Helper):
    """A mutant that answers any request for its last sum, and has not erased its keys."""

    def _compute(self, event):
        if event.release == self._state.answered:
            self._state = msgspec.structs.replace(
                self._state, answered=event.release - 1, keys=self.kept
            )
            places = unpack_members(event.members)["place"]
            self._state.newest[places] = 0
            self._state.salts[places] = 0
        self.kept = self._state.keys
        return super()._compute(event)


def test_a_helper_that_opens_twice_would_show_one_release():
    """So the refusals above are what the guarantee rests on."""
    world = World(agents=4, helpers=1, least=2)
    (asked,) = openings(world, 1, range(4))
    mutant = world.helpers[0]
    mutant.__class__ = TwiceHelper
    (whole,) = taken(mutant, asked)
    mutant._state.newest[0] = 0
    (less,) = taken(mutant, without(asked, 0))
    difference = unpack_words(whole.masks, 3) - unpack_words(less.masks, 3)
    state = world.parties["controller"].state
    np.testing.assert_array_equal(state.values[0] - difference, world.values[0, 1].view(np.uint64))


def test_a_running_sum_in_place_of_an_increment_makes_totals_wrong():
    """A mutant agent that does not take its base off: what it had sent counts twice."""
    world = World(agents=3, helpers=1, least=2)
    world.play(1, range(3))
    agent = world.agents[0]
    nothing = np.zeros_like(agent.state.sending.base_values)
    lying = msgspec.structs.replace(agent.state.sending, base_values=nothing)
    agent._state = msgspec.structs.replace(agent._state, sending=lying)
    world.settle([out for each in world.agents for out in each.end_round(2)])
    state = world.parties["controller"].state
    assert (state.total != world.expected(state.opened)).all()


def test_statements_cannot_be_moved_to_another_message():
    """A controller that has a statement for one message has none for the next."""
    world = World(agents=3, helpers=1, least=2)
    (first,) = openings(world, 1, range(3))
    helper = world.helpers[0]
    world.settle([first])
    (second,) = openings(world, 2, range(3))
    refused_next(
        helper, msgspec.structs.replace(second, statements=first.statements), ImplausibleError
    )
    mixed = first.members[: MEMBER.itemsize] + second.members[MEMBER.itemsize :]
    tags = first.statements[:TAG_BYTES] + second.statements[TAG_BYTES:]
    refused_next(
        helper, msgspec.structs.replace(second, members=mixed, statements=tags), ImplausibleError
    )
    assert taken(helper, second)


@pytest.mark.parametrize("field", ["masks", "confirmations"])
def test_an_answer_that_is_false_is_seen_or_makes_nonsense_only(field):
    """A helper may spoil totals, no more: agents that it lies to about their messages retire."""
    world = World(agents=3, helpers=2, least=2)
    asked = openings(world, 1, range(3))
    answers = [out for message in asked for out in world.deliver(message)]
    lie = bytes(len(getattr(answers[0], field)))
    answers[0] = msgspec.structs.replace(answers[0], **{field: lie})
    world.settle(answers)
    state = world.parties["controller"].state
    assert isinstance(world.parties["controller"], TotalsController)
    assert isinstance(answers[0], Opened)
    assert state.newest == 1
    retired = [agent.state.sending.retired for agent in world.agents]
    assert retired == [field == "confirmations"] * 3
    if field == "masks":
        assert (state.total != world.expected(state.opened)).all()


def test_one_release_with_other_numbers_has_other_masks():
    """An agent that was put back would else show by how much both messages differ."""
    world = World(agents=3, helpers=2)
    sender, first = world.agents[0].sender, world.agents[0].state.sending
    one, other = world.values[0, 1], world.values[1, 1]
    sent = [sender.send(first, 1, values)[1][0] for values in (one, one, other)]
    assert sent[0] == sent[1]  # played again it is the same message
    assert sent[0].salt != sent[2].salt
    masked = [unpack_words(message.statistic, world.plan.size) for message in sent]
    apart = one.view(np.uint64) - other.view(np.uint64)
    assert ((masked[0] - masked[2]) != apart).all()


def test_the_same_numbers_after_another_base_have_other_masks():
    world = World(agents=3, helpers=2)
    sender, first = world.agents[0].sender, world.agents[0].state.sending
    values = world.values[0, 2]
    based = msgspec.structs.replace(first, base=1, base_salt=5)
    salts = {sender.send(state, 2, values)[1][0].salt for state in (first, based)}
    assert len(salts) == 2
