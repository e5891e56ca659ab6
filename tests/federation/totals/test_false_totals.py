"""A controller that gives agents different totals: helpers leave them out, and they are told."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbandits.federation.messages import ImplausibleError, WrongShapeError
from fedbandits.federation.totals.agreement import (
    RECENT,
    Taken,
    agree,
    compare,
    judge,
    pack_taken,
    unpack_taken,
)
from fedbandits.federation.totals.controller import TotalsController
from fedbandits.federation.totals.helper import Helper
from fedbandits.federation.totals.messages import Opening, Total
from fedbandits.federation.totals.sender import Sender, _compared
from fedbandits.federation.totals.statements import pack_places
from tests.federation.receiving import refused_next, taken
from tests.federation.totals.test_helper_refusals import picked
from tests.federation.totals.test_retire import totals
from tests.federation.totals.world import World


def falsified(total, by):
    """A total with another number first; all tags are true."""
    words = np.frombuffer(total.statistic, "<i8").copy()
    words[0] += by
    return msgspec.structs.replace(total, statistic=words.tobytes())


class Liar(TotalsController):
    """Adds ``lies[release, agent]`` to what it tells; 0 where nothing is there."""

    lies: dict

    def _totals(self, state, places):
        return [
            falsified(each, self.lies.get((each.release, each.receiver), 0))
            for each in super()._totals(state, places)
        ]


def lying(agents, colluding, lies, **others):
    """A world whose controller tells some agents something else: ``{(release, place): by}``."""
    world = World(agents, helpers=2, size=2, colluding=colluding, **others)
    controller = world.parties["controller"]
    controller.__class__ = Liar
    controller.lies = {(k, f"agent-{place}"): by for (k, place), by in lies.items()}
    return world


def differing(world):
    found = world.parties["controller"].report["differing"]
    assert not found or set(found) == {"helper-0", "helper-1"}
    return found.get("helper-0", [])


def found_out(world, field="other_total"):
    return [getattr(agent.state.sending, field) for agent in world.agents]


def test_thirty_totals_that_all_differ_open_nothing_and_all_agents_are_told():
    """Before digests were compared nobody found out, and all went on."""
    lies = {(k, place): 1 + place for k in range(1, 5) for place in range(30)}
    world = lying(30, 3, lies, least=24)
    for k in (1, 2, 3):
        world.play(k, range(30))
    assert world.parties["controller"].state.opened.tolist() == [1] * 30
    assert world.parties["controller"].report["refused_by"] == ["helper-0", "helper-1"]
    assert found_out(world, "disputed_total") == [1] * 30
    assert found_out(world, "misled") == [1] * 30
    assert all(agent.state.sending.total.number == 1 for agent in world.agents)


def test_few_with_another_total_are_left_out_named_and_told_and_come_back():
    world = lying(10, 2, {(1, 3): 5, (1, 7): 5}, least=6)
    world.play(1, range(10))
    world.play(2, range(10))
    out = [3, 7]
    assert world.parties["controller"].state.opened.tolist() == [2 - (i in out) for i in range(10)]
    assert differing(world) == ["agent-3", "agent-7"]
    assert world.parties["controller"].report["unbelieved"] == {}
    assert found_out(world) == [int(i in out) for i in range(10)]
    assert found_out(world, "misled") == [int(i in out) for i in range(10)]
    assert not any(agent.state.sending.retired for agent in world.agents)
    world.play(3, range(10))  # that total was right: they are in again, and believe totals
    assert world.parties["controller"].state.opened.tolist() == [3] * 10
    assert differing(world) == []
    assert found_out(world, "misled") == [0] * 10
    assert found_out(world) == [int(i in out) for i in range(10)]  # its operator still reads it
    world.total()


def test_a_controller_goes_on_with_those_who_have_one_total_and_the_others_are_told():
    """It need not ask about more than may lie. Whoever gets a total hears what most have."""
    world = lying(8, 1, {(1, place): 5 for place in (0, 1, 2)}, least=5)
    world.play(1, range(8))
    world.play(2, range(3, 8))
    assert world.parties["controller"].state.opened.tolist() == [1] * 3 + [2] * 5
    assert found_out(world) == found_out(world, "misled") == [1] * 3 + [0] * 5


def play_told(world, release, present, told):
    """A round in which the controller's total reaches some agents alone."""
    queue = [out for i in present for out in world.agents[i].end_round(release)]
    controller, heard = world.parties["controller"], {f"agent-{place}" for place in told}
    while queue or controller.awaited is not None:
        queue = queue or controller.deadline(controller.awaited)
        message = queue.pop(0)
        if not isinstance(message, Total):
            queue += taken(world.parties[message.receiver], message)
        elif message.receiver in heard:
            taken(world.parties[message.receiver], message)


def test_who_is_told_every_second_total_is_not_compared_and_sees_what_is_missing():
    """Two agents get a shift up, and two down: each total is the same for all who get it."""
    lies = {(k, place): 100 * (-1) ** k for k in range(1, 13) for place in range(10)}
    world = lying(10, 1, lies, least=8, releases=12)
    odd, even = range(8), [*range(6), 8, 9]
    play_told(world, 1, odd, odd)
    for k in range(2, 13):
        present, told = (odd, even)[:: (-1) ** k]
        play_told(world, k, present, told)
    assert found_out(world) == found_out(world, "misled") == [0] * 10
    assert found_out(world, "missed") == [0] * 6 + [5, 5] + [5, 5]


class Accuser(Helper):
    """Says of sum 3 that total 2 is in dispute, which it is not, and opens nothing."""

    def _check(self, check, request):
        step = super()._check(check, request)
        if check.release != 3:
            return step
        (answer,) = step.outgoing
        return msgspec.structs.replace(
            step,
            state=msgspec.structs.replace(step.state, disputed=2),
            outgoing=[msgspec.structs.replace(answer, refused=True)],
        )


def test_a_helper_that_lies_about_a_dispute_costs_one_sum():
    """Agents name the controller, whose report names the helper. They go on with the next sum."""
    world = World(6, 2, least=4)
    world.parties["helper-0"].__class__ = Accuser
    for k, opened in ((1, 1), (2, 2), (3, 2), (4, 4)):
        world.play(k, range(6))
        assert world.parties["controller"].state.opened.tolist() == [opened] * 6
        refused = world.parties["controller"].report["refused_by"]
        assert refused == ["helper-0"] * (k == 3)
        assert found_out(world, "misled") == [2 * (k == 3)] * 6
    assert found_out(world, "disputed_total") == [2] * 6


def test_one_agent_that_is_lied_to_again_and_again_never_believes_a_total():
    world = lying(8, 2, {(k, 2): k for k in range(1, 7)}, least=5)
    for k in range(1, 7):
        world.play(k, range(8))
        assert found_out(world, "misled")[2] == k - 1
    assert world.parties["controller"].state.opened.tolist() == [6, 6, 1, 6, 6, 6, 6, 6]


class Perjurer(Sender):
    """States a digest of nothing, with true tags."""

    def _stated(self, state, salt):
        return super()._stated(lied(state), salt)

    def _message(self, state):
        return super()._message(lied(state))


def lied(state):
    number = state.pending_total.number
    return msgspec.structs.replace(state, pending_total=Taken(number, bytes([7]) * 32))


def test_members_that_always_state_a_false_digest_stop_no_sum():
    """As many as may lie: they are left out, the others are neither told nor kept."""
    world = World(8, 2, size=2, least=5, colluding=2)
    for place in (0, 5):
        world.agents[place].sender.__class__ = Perjurer
    for k in range(1, 7):
        world.play(k, range(8))
        assert world.parties["controller"].state.opened.tolist() == [0, k, k, k, k, 0, k, k]
        world.total()
    assert differing(world) == ["agent-0", "agent-5"]
    assert found_out(world) == found_out(world, "disputed_total") == [0] * 8


def test_an_agent_that_missed_newer_totals_is_compared_with_what_was_agreed_before():
    """Nobody else states the number of its total any more."""
    world = lying(6, 1, {(1, 0): 9}, least=4)
    world.play(1, range(6))
    play_told(world, 2, range(1, 6), range(1, 6))
    play_told(world, 3, range(1, 6), range(1, 6))
    world.play(4, range(6))
    assert world.parties["controller"].state.taken.tolist() == [1, 3, 3, 3, 3, 3]
    assert differing(world) == ["agent-0"]
    assert world.parties["controller"].state.opened.tolist() == [1, 4, 4, 4, 4, 4]
    world.parties["agent-0"].deadline(0)  # what is lost never comes
    assert found_out(world) == [1, 0, 0, 0, 0, 0]


def test_a_sum_with_nobody_in_it_hides_no_total():
    """The total is the same, under the same number: telling another one is seen at once."""
    world = lying(6, 1, {(1, 0): 9}, least=4)
    world.play(1, range(6))
    false = world.agents[0].state.sending.total
    world.play(2, range(3))  # too few
    assert world.parties["controller"].state.newest == 2
    assert found_out(world) == found_out(world, "misled") == [1, 0, 0, 0, 0, 0]
    assert world.agents[0].state.sending.total == false
    world.play(3, range(1, 6))  # most others had the second one: now it has it, too
    assert world.agents[1].state.sending.total.number == 3
    assert found_out(world, "misled") == [1, 0, 0, 0, 0, 0]


def test_a_second_total_of_a_number_is_taken_if_most_others_have_it():
    one, other = Taken(3, b"1" * 32), Taken(3, b"2" * 32)
    before = World().agents[0].state.sending
    had = _compared(before, one, (), (0,))
    assert (had.taken, had.misled) == ((one,), 0)
    unknown = _compared(had, other, (), (0,))
    assert (unknown.taken, unknown.misled, unknown.other_total) == ((one,), 3, 3)
    kept = _compared(unknown, other, (one,), (0,))
    assert (kept.taken, kept.misled) == ((one,), 3)  # what came was the false one
    right = _compared(unknown, other, (other,), (0,))
    assert (right.taken, right.misled, right.other_total) == ((other,), 0, 3)
    assert _compared(unknown, one, (one,), (0,)).misled == 0


def test_a_total_told_again_with_other_numbers_is_refused():
    world, seen = World(4, 2, least=2), []
    world.play(1, range(4), seen)
    (told,) = [each for each in seen if isinstance(each, Total) and each.receiver == "agent-0"]
    refused_next(world.agents[0], falsified(told, 1), ImplausibleError)


@pytest.mark.parametrize(
    "fields",
    [
        {"releases": (0, 2), "counts": (1, 3)}, {"releases": (1, 2), "counts": (1, 3)},
        {"agreed": b""}, {"agreed": pack_taken([Taken(1, bytes(32))])}, {"disputed": (0, 1)},
    ],
)  # fmt: skip
def test_what_helpers_tell_all_alike_is_held_by_their_tags(fields):
    """The number of a total, and how much noise is in it, are no word of the controller."""
    world = World(4, 2, least=2)
    world.play(1, range(4))
    told = totals(world, 2, range(4))[0]
    assert (told.releases, told.counts) == ((2,), (4,))
    assert [each.number for each in unpack_taken(told.agreed)] == [1]
    taken(world.agents[0], msgspec.structs.replace(told, **fields))
    assert world.agents[0].state.sending.retired
    assert world.agents[0].state.sending.total.number == 1


def test_totals_with_nonsense_about_others_are_refused():
    world = World(4, 2, least=2)
    told = totals(world, 1, range(4))[0]
    for fields, kind in (
        ({"agreed": bytes(35)}, WrongShapeError),
        ({"agreed": pack_taken([Taken()] * (RECENT + 1))}, WrongShapeError),
        ({"disputed": (0,)}, ImplausibleError),
        ({"disputed": (0, 2)}, ImplausibleError),
        ({"disputed": (0, -1)}, ImplausibleError),
    ):
        refused_next(world.agents[0], msgspec.structs.replace(told, **fields), kind)


def opening_of(check):
    """The opening of all whom a check names: nobody was left out."""
    fields = {name: getattr(check, name) for name in check.__struct_fields__}
    return Opening(**fields)


def test_an_opening_holds_what_a_check_does():
    """A controller that does not ask, or does not listen, has nothing opened."""
    world = lying(6, 2, {(1, 0): 9}, least=3)
    world.play(1, range(6))
    sent = [out for agent in world.agents for out in agent.end_round(2)]
    check, _ = [out for message in sent for out in world.deliver(message)]
    whole = opening_of(check)
    for places in (range(6), [0, 2, 3], [0, 1, 5]):
        refused_next(world.helpers[0], picked(whole, places), ImplausibleError)
    assert taken(world.helpers[0], picked(whole, [1, 2, 3, 4, 5]))


@pytest.mark.parametrize("order", [1, -1])
def test_two_groups_of_equal_size_are_not_told_apart_by_place(order):
    """Nor is one taken where both are few: no two members of a sum differ."""
    one, other = Taken(1, b"1" * 32), Taken(1, b"2" * 32)
    judged = judge([*[one, other][::order], *[Taken()] * 5], (), 1)
    assert judged.differing.tolist() == [True, True, *[False] * 5]
    assert (judged.at_fault, judged.newest) == (1, 1)
    ahead = judge([one, Taken(7, b"7" * 32)], (), 1)  # of a total that there is not yet
    assert (ahead.differing.tolist(), ahead.at_fault, ahead.newest) == ([False, True], 1, 0)
    judged = judge([one, one, other][::order], (), 1)
    assert judged.differing.tolist() == [False, False, True][::order]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_few_liars_are_never_more_than_may_lie_and_no_two_members_differ(data):
    """Honest members have one digest a number; liars say what they like."""
    colluding = data.draw(st.integers(1, 4), "colluding")
    honest = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=9), "honest")
    lies = st.tuples(st.integers(0, 6), st.sampled_from([1, 2]))
    liars = data.draw(st.lists(lies, max_size=colluding), "liars")
    true = [Taken(k, bytes([k]) * 32 if k else bytes(32)) for k in range(5)]
    known = tuple(true[k] for k in sorted(data.draw(st.sets(st.integers(1, 4)), "known")))
    false = [Taken(k, bytes([k, which]) * 16) for k, which in liars]
    stated = data.draw(st.permutations([*(true[k] for k in honest), *false]), "stated")
    judged = judge(stated, known, 4)
    assert judged.at_fault <= len(liars)
    left = [each for each, out in zip(stated, judged.differing, strict=True) if not out]
    assert len(dict(left)) == len(set(left))
    assert not any(each.number > 4 for each in left)
    if not liars:
        assert left == stated
    for each in agree(known, left, colluding):
        assert each in true
    ours = compare(true[1:], agree(known, left, colluding), ())
    assert ours is None or ours in true


def test_only_the_newest_digests_are_kept():
    every = [Taken(k, bytes([k]) * 32) for k in range(1, RECENT + 3)]
    agreed = ()
    for each in every:
        agreed = agree(agreed, [each] * 3 + [Taken()] * 9, 2)
    assert agreed == tuple(every[-RECENT:])
    assert unpack_taken(pack_taken(agreed)) == agreed
    assert agree((), [every[0]] * 2, 2) == ()
    assert judge([every[0], every[-1]], agreed, RECENT + 2).at_fault == 0


def test_a_dispute_is_less_than_what_was_agreed_on():
    own = (Taken(1, b"a" * 32), Taken(2, b"b" * 32))
    assert compare(own, (), (0, 0)) is None
    assert compare(own, (), (0, 2)) == Taken(2, b"")
    assert compare(own, (own[1],), (2, 0)) == own[1]
    assert compare(own, (Taken(3, b"c" * 32), own[0]), (0, 0)) == own[0]


@pytest.mark.parametrize("fields", [{"differing": pack_places(np.array([1]))}, {"refused": True}])
def test_who_differs_is_among_those_left_out_and_an_answer_stands(fields):
    world = World(4, 2, least=2)
    sent = [out for agent in world.agents for out in agent.end_round(1)]
    checks = [out for message in sent for out in world.deliver(message)]
    (answer,) = taken(world.helpers[0], checks[0])
    controller = world.parties["controller"]
    changed = msgspec.structs.replace(answer, **fields)
    if "differing" in fields:
        refused_next(controller, changed, ImplausibleError)
    assert taken(controller, answer) == []
    refused_next(controller, changed, ImplausibleError)


def test_no_increment_tells_of_a_total_that_was_not_told():
    world = World(4, 2, least=2)
    (message,) = world.agents[0].end_round(1)
    for fields, kind in (
        ({"total": 1}, ImplausibleError),
        ({"total": -1}, ImplausibleError),
        ({"total_digest": bytes(31)}, WrongShapeError),
    ):
        controller = world.parties["controller"]
        refused_next(controller, msgspec.structs.replace(message, **fields), kind)


def test_a_message_is_the_same_whatever_totals_come_meanwhile():
    """It states what its agent had taken when it was made."""
    world = World(4, 2, least=2)
    world.play(1, range(4))
    (ahead,) = world.agents[3].end_round(3)
    world.play(2, range(3))
    assert world.agents[3].state.sending.total.number == 2
    (again,) = world.agents[3].end_round(4)
    assert again.total == 1
    assert msgspec.structs.replace(again, number=ahead.number) == ahead
