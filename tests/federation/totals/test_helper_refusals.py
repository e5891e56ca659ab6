"""A helper opens once, in order, for members who have stated their messages."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from fedbandits.crypto import chains
from fedbandits.crypto.masks import TAG_BYTES
from fedbandits.federation.messages import ImplausibleError, OutOfOrderError, WrongShapeError
from fedbandits.federation.totals.messages import Opened, unpack_words
from fedbandits.federation.totals.statements import (
    MEMBER,
    pack_member,
    request_digest,
    unpack_members,
)
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.world import World

WIDTH = MEMBER.itemsize


def openings(world, release, present):
    """What the controller asks helpers for a sum, before any has answered."""
    sent = [out for i in present for out in world.agents[i].end_round(release)]
    return world.to_openings([out for message in sent for out in world.deliver(message)])


def changed(opening, **fields):
    return msgspec.structs.replace(opening, **fields)


def without(opening, place):
    """The same sum without one member."""
    places = unpack_members(opening.members)["place"].tolist()
    keep = [at for at, other in enumerate(places) if other != place]
    return picked(opening, keep)


def picked(opening, order):
    """The same sum of other members: those at some positions."""
    members, tags = opening.members, opening.statements
    return changed(
        opening,
        members=b"".join(members[at * WIDTH : (at + 1) * WIDTH] for at in order),
        statements=b"".join(tags[at * TAG_BYTES : (at + 1) * TAG_BYTES] for at in order),
    )


@pytest.fixture
def asked():
    world = World(agents=4, helpers=2, least=2)
    world.play(1, [0, 1, 2])
    return world, world.helpers[0], openings(world, 2, range(4))[0]


def test_it_opens_the_sum_of_the_members_masks(asked):
    world, helper, opening = asked
    (answer,) = taken(helper, opening)
    members = unpack_members(opening.members)
    expected = np.zeros(world.plan.size, np.uint64)
    for member in members:
        expected += world.mask(int(member["place"]), 0, 2, int(member["salt"]))
    np.testing.assert_array_equal(unpack_words(answer.masks, world.plan.size), expected)


def test_it_gives_the_same_answer_again_and_no_other(asked):
    world, helper, opening = asked
    (answer,) = taken(helper, opening)
    before = helper.state
    (again,) = taken(helper, opening)
    assert helper.state is before
    assert msgspec.structs.replace(again, number=answer.number) == answer
    for other in (without(opening, 3), changed(opening, members=b"", statements=b"")):
        refused_next(helper, other, OutOfOrderError)
    world.restart(helper.name)
    helper = world.parties[helper.name]
    refused_next(helper, without(opening, 0), OutOfOrderError)
    (again,) = taken(helper, opening)
    assert msgspec.structs.replace(again, number=answer.number) == answer


@pytest.mark.parametrize("release", [-1, 0, 1, 7])
def test_it_opens_sums_in_order_up_to_the_last(asked, release):
    _, helper, opening = asked
    refused_next(helper, changed(opening, release=release), OutOfOrderError)


def test_it_opens_no_sum_that_it_has_passed():
    world = World(agents=3, helpers=1, least=2)
    (first,) = openings(world, 1, range(3))
    helper = world.helpers[0]
    (answer,) = taken(helper, changed(first, release=2, members=b"", statements=b""))
    assert isinstance(answer, Opened)
    assert not unpack_words(answer.masks, world.plan.size).any()
    refused_next(helper, first, OutOfOrderError)


def test_it_opens_no_sum_of_too_few():
    world = World(agents=5, helpers=1, least=3)
    (opening,) = openings(world, 1, range(3))
    refused_next(world.helpers[0], without(opening, 1), ImplausibleError)
    assert taken(world.helpers[0], opening)


def test_members_are_named_once_and_in_order(asked):
    _, helper, opening = asked
    for order in ([1, 0, 2, 3], [0, 1, 1, 2], [0, 0], [3, 2, 1, 0]):
        refused_next(helper, picked(opening, order), ImplausibleError)


def test_strangers_are_no_members(asked):
    _, helper, opening = asked
    for place in (4, 2**32 - 1):
        member = pack_member(place, 1, 0, 0, 0, bytes(32), 0, bytes(32))
        stranger = changed(
            opening, members=opening.members + member,
            statements=opening.statements + bytes(TAG_BYTES),
        )  # fmt: skip
        refused_next(helper, stranger, ImplausibleError)


@pytest.mark.parametrize("field", ["salt", "base", "base_salt", "total", "heard"])
@pytest.mark.parametrize("at", [0, 3])
def test_members_have_stated_all_that_is_said_of_them(asked, field, at):
    _, helper, opening = asked
    members = unpack_members(opening.members).copy()
    members[field][at] += 1
    refused_next(helper, changed(opening, members=members.tobytes()), ImplausibleError)


@pytest.mark.parametrize("heard", [0, 1])
def test_members_have_drawn_the_public_keys_that_are_named(asked, heard):
    _, helper, opening = asked
    members = unpack_members(opening.members).copy()
    members["public"][0], members["heard"][0] = chains.draw().public, heard
    refused_next(helper, changed(opening, members=members.tobytes()), ImplausibleError)


def test_a_statement_is_for_one_sum_one_helper_one_agent_and_one_federation(asked):
    world, helper, opening = asked
    width, tags = TAG_BYTES, opening.statements
    refused_next(helper, changed(opening, release=3), ImplausibleError)  # another sum
    swapped = tags[width : 2 * width] + tags[:width] + tags[2 * width :]
    refused_next(helper, changed(opening, statements=swapped), ImplausibleError)
    for_another = world.parties["controller"].state.statements[:, 1].tobytes()
    refused_next(helper, changed(opening, statements=for_another), ImplausibleError)
    other = World(agents=4, helpers=2, least=2, releases=5)  # other terms
    other.play(1, [0, 1, 2])
    foreign = openings(other, 2, range(4))[0]
    refused_next(helper, changed(opening, statements=foreign.statements), ImplausibleError)
    assert taken(helper, opening)


def test_a_base_is_the_helpers_own_record(asked):
    """An agent of an old store goes on from an old base, and states it: no sum is opened."""
    world, helper, opening = asked
    agent = world.make("agent-0")  # it has forgotten that its first release is in a total
    (again,) = agent.end_round(2)
    said = again.base, again.base_salt, again.total, again.total_digest
    member = pack_member(0, again.salt, *said, again.heard, again.public)
    wrong = changed(
        opening, members=member + opening.members[WIDTH:],
        statements=again.statements[:TAG_BYTES] + opening.statements[TAG_BYTES:],
    )  # fmt: skip
    refused_next(helper, wrong, ImplausibleError)


def test_fields_have_their_lengths(asked):
    _, helper, opening = asked
    refused_next(helper, changed(opening, members=opening.members[:-1]), ImplausibleError)
    for tags in (opening.statements[:-1], opening.statements + b"x", b""):
        refused_next(helper, changed(opening, statements=tags), WrongShapeError)


def test_a_request_is_known_by_all_that_is_in_it():
    made = {
        request_digest(*each)
        for each in ((1, b"ab", b"c"), (1, b"a", b"bc"), (2, b"ab", b"c"), (1, b"", b"abc"))
    }
    assert len(made) == 4
