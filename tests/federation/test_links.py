"""Four outcomes: what a party does with a message, whatever it is and whenever it comes."""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbandits.errors import LocalProtocolError, WrongTypeError
from fedbandits.federation import messages as m
from fedbandits.federation.events import Deadline, Decide, EndRound
from fedbandits.federation.links import MOST_HELD
from fedbandits.federation.messages import Message
from fedbandits.federation.party import Party
from fedbandits.federation.roles import Role, Roles
from fedbandits.federation.state import PartyState, Step
from fedbandits.federation.terms import Schedule, Terms


class Say(Message, frozen=True, kw_only=True, tag="toy.say"):
    """A number, which must not be negative."""

    value: int


class Later(Message, frozen=True, kw_only=True, tag="toy.later"):
    """Belongs to the night."""


class ListenerState(PartyState, frozen=True, kw_only=True):
    stage: str = "day"
    heard: tuple[int, ...] = ()
    broken: bool = False


class Listener(Party[ListenerState]):
    """Hears numbers by day; what belongs to the night waits for it."""

    TRANSITIONS: ClassVar = {
        ("day", Say): ("day",),
        ("night", Say): ("night",),
        ("night", Later): ("day",),
        ("day", EndRound): ("night",),
        ("night", EndRound): ("nowhere",),
    }
    LATER: ClassVar = frozenset({("day", Later)})

    def __init__(self, seat, fails=()):
        super().__init__(seat, ListenerState())
        self.fails = list(fails)

    def _compute(self, event):
        if isinstance(event, EndRound):
            after = {"day": "night", "night": "day"}[self.stage]
            return Step(self._after(stage=after))
        if self.fails:
            raise self.fails.pop()
        if isinstance(event, Later):
            return Step(self._after(stage="day", heard=(*self.state.heard, -1)))
        if event.value < 0:
            raise m.ImplausibleError(f"{self.name}: a negative number")
        after = self._after(heard=(*self.state.heard, event.value))
        return Step(after, [Say(sender=self.name, receiver=event.sender, value=event.value)])


def listener(fails=()):
    names = ("one", "two", "three")
    roles = Roles(
        (Role("listener", names, lambda seat, own: Listener(seat, fails)),),
        {Say: ("listener", "listener"), Later: ("listener", "listener")},
    )
    terms = Terms(
        system="toy", settings={}, facts={}, schedule=Schedule(rounds=9), parties=roles.parties,
        noise="secure",
    )  # fmt: skip
    return roles.make(roles.roles[0], 0, terms, None)


def say(party, number, value, sender="two"):
    return Say(sender=sender, receiver="one", number=number, value=value, terms=party.terms.digest)


def later(party, number, sender="two"):
    return Later(sender=sender, receiver="one", number=number, terms=party.terms.digest)


@given(st.permutations(range(9)), st.data())
def test_in_whatever_order_they_come_messages_are_taken_in_theirs(order, data):
    party = listener()
    answered = []
    for count, number in enumerate(order, 1):
        receipt = party.receive(say(party, number, number))
        assert receipt.outcome in ("taken", "early")
        answered += [message.value for message in receipt.outgoing]
        again = data.draw(st.sampled_from(order[:count]))
        assert party.receive(say(party, again, again)).outcome == "duplicate"
    assert party.state.heard == tuple(range(9))
    assert answered == sorted(answered) == list(range(9))
    assert party.awaited is None


def test_a_refused_message_leaves_no_gap():
    party = listener()
    assert party.receive(say(party, 0, -1)).outcome == "refused"
    assert party.receive(say(party, 0, 7)).outcome == "duplicate"
    assert party.receive(say(party, 1, 7)).outcome == "taken"
    assert party.state.heard == (7,)


def test_a_refused_message_that_came_early_leaves_none_either():
    party = listener()
    assert party.receive(say(party, 1, -1)).outcome == "early"
    receipt = party.receive(say(party, 0, 5))
    assert [each.outcome for each in receipt.followed] == ["refused"]
    assert party.receive(say(party, 2, 6)).outcome == "taken"
    assert party.state.heard == (5, 6)


def test_only_so_many_are_held_and_the_rest_must_be_sent_again():
    party = listener()
    for number in range(1, MOST_HELD + 1):
        assert party.receive(say(party, number, number)).outcome == "early"
    for number in (MOST_HELD + 1, 2**40, 2**62):
        receipt = party.receive(say(party, number, number))
        assert receipt.outcome == "refused"
        assert type(receipt.why) is m.TooEarlyError
        assert receipt.must_be_sent_again
    assert party._links.all["two"].ahead == 2**62
    receipt = party.receive(say(party, 0, 0))
    assert len(receipt.followed) == MOST_HELD
    assert party.receive(say(party, MOST_HELD + 1, 3)).outcome == "taken"


def test_however_many_are_lost_the_link_lives_on():
    party = listener()
    assert party.receive(say(party, 1, 1)).outcome == "early"
    assert party.receive(say(party, 400, 4)).must_be_sent_again
    assert party.awaited == 0
    assert [message.value for message in party.deadline(0)] == [1]
    assert party.awaited == 0
    restored = listener()
    restored.load(party.dump())
    for each in (party, restored):
        assert each.deadline(0) == []
        assert each.awaited is None
        assert each.receive(say(party, 400, 4)).outcome == "taken"
        assert each.state.heard == (1, 4)


def test_no_more_bytes_are_held_than_so_many():
    party = listener()
    party._links._codec.encode, encode = lambda _: bytes(2**23), party._links._codec.encode
    assert party.receive(say(party, 1, 1)).outcome == "early"
    assert party.receive(say(party, 2, 2)).outcome == "early"
    assert party.receive(say(party, 3, 3)).must_be_sent_again
    party._links._codec.encode = encode


def test_a_refused_message_makes_room_for_those_held_behind_it():
    """The number of a link never goes back, whatever is refused, repeated and given up."""
    party = listener()
    assert party.receive(say(party, 1, 1)).outcome == "early"
    receipt = party.receive(say(party, 0, -1))
    assert (receipt.outcome, [x.outcome for x in receipt.followed]) == ("refused", ["taken"])
    assert party.receive(say(party, 1, 1)).outcome == "duplicate"
    assert party._links.all["two"].received == 2


kinds = st.sampled_from(["good", "bad", "later", "night", "deadline"])


@given(st.lists(st.tuples(kinds, st.integers(0, 80)), max_size=60))
def test_whatever_happens_numbers_go_up_and_nothing_is_heard_twice(happened):
    party = listener()
    last, deadlines = 0, 0
    for kind, number in happened:
        if kind == "night" and party.stage == "day":
            party.end_round(1)
        elif kind == "deadline":
            party.deadline(party.awaited or 0)
        elif kind == "later":
            party.receive(later(party, number))
        else:
            party.receive(say(party, number, number if kind == "good" else -1))
        link = party._links.all["two"]
        assert link.received >= last
        assert all(held >= link.received for held in link.held)
        last = link.received
    while party.awaited is not None:
        party.deadline(party.awaited)
        deadlines += 1
    assert deadlines <= 81
    heard = [value for value in party.state.heard if value >= 0]
    assert len(heard) == len(set(heard))
    restored = listener()
    restored.load(party.dump())
    assert restored.awaited is None


def test_an_old_deadline_gives_nothing_up():
    party = listener()
    party.receive(say(party, 1, 1))
    before = party.dump()
    for number in (1, -1, 2**62):
        assert party.deadline(number) == []
    assert party.dump() == before


def test_one_peer_cannot_hold_up_another():
    party = listener()
    for number in range(1, MOST_HELD + 1):
        party.receive(say(party, number, number))
    assert party.receive(say(party, 0, 9, "three")).outcome == "taken"
    assert party.state.heard == (9,)


def test_what_never_came_is_given_up_at_a_deadline():
    party = listener()
    party.receive(say(party, 2, 2))
    party.receive(say(party, 4, 4))
    assert party.awaited == 0
    assert [message.value for message in party.deadline(0)] == [2]
    assert [message.value for message in party.deadline(0)] == [4]
    assert party.awaited is None
    assert party.deadline(0) == []
    assert party.receive(say(party, 1, 1)).outcome == "duplicate"
    assert party._links.all["two"].given_up == 3


def test_a_message_before_its_time_waits_for_it_and_keeps_its_place():
    party = listener()
    assert party.receive(later(party, 0)).outcome == "early"
    assert party.receive(say(party, 1, 5)).outcome == "early"
    assert party.receive(say(party, 0, 6, "three")).outcome == "taken"
    restored = listener()
    restored.load(party.dump())
    for each in (party, restored):
        handled = each.handle(EndRound(1))
        assert [receipt.outcome for receipt in handled.followed] == ["taken", "taken"]
        assert [message.value for message in handled.outgoing] == [5]
        assert each.state.heard == (6, -1, 5)
        assert each.stage == "day"
    assert party.dump() == restored.dump()


def test_only_who_the_link_has_authenticated_uses_up_a_number():
    party = listener()
    before = party.dump()
    for message, link in (
        (say(party, 0, 1, "three"), "two"),  # two, under the name of three
        (say(party, 0, 1, "stranger"), "stranger"),
        (say(party, 0, 1, "one"), "one"),
        (say(party, 0, 1), "stranger"),
    ):
        receipt = party.receive(message, link)
        assert receipt.outcome == "refused"
        assert type(receipt.why) is m.WrongSenderError
    assert party.dump() == before


def test_bytes_that_are_no_message_use_up_the_number_that_they_show():
    party = listener()
    codec = party._links._codec
    data = codec.encode(say(party, 0, 1))
    garbled = data.replace(b"toy.say", b"toy.saw")
    assert party.receive_bytes(garbled, "three").outcome == "refused"  # another's link
    assert party._links.all["two"].received == 0
    receipt = party.receive_bytes(garbled, "two")
    assert (receipt.outcome, type(receipt.why)) == ("refused", m.UnknownMessageError)
    assert party.receive_bytes(data, "two").outcome == "duplicate"
    for nonsense in (b"", b"\xc1", data[:-1], data[1:], b"\x80", bytes(100)):
        assert party.receive_bytes(nonsense, "two").outcome == "refused"
    assert party.receive(say(party, 1, 4)).outcome == "taken"


def test_bytes_that_are_no_message_keep_their_turn_behind_one_that_is_missing():
    party = listener()
    garbled = party._links._codec.encode(say(party, 1, 1)).replace(b"toy.say", b"toy.saw")
    assert party.receive_bytes(garbled, "two").outcome == "early"
    assert party.receive_bytes(garbled, "two").outcome == "duplicate"
    assert party.receive(say(party, 2, 2)).outcome == "early"
    restored = listener()
    restored.load(party.dump())
    for each in (party, restored):
        receipt = each.receive(say(party, 0, 0))
        assert [x.outcome for x in receipt.followed] == ["refused", "taken"]
        assert each.state.heard == (0, 2)


def test_a_failure_of_our_own_is_raised_and_the_message_can_be_delivered_again():
    party = listener([LocalProtocolError("the disk is full")])
    before = party.dump()
    with pytest.raises(LocalProtocolError, match="disk"):
        party.receive(say(party, 0, 1))
    assert party.dump() == before
    assert party.receive(say(party, 0, 1)).outcome == "taken"


def test_a_failure_of_our_own_keeps_what_was_held():
    party = listener()
    party.receive(say(party, 1, 1))
    party.receive(say(party, 2, 2))
    # The message itself is taken first, then the failure meets the first one that was held.
    compute, failures = party._compute, [None, LocalProtocolError("the disk is full")]

    def failing(event):
        failure = failures.pop(0) if failures else None
        if failure is not None:
            raise failure
        return compute(event)

    party._compute = failing
    receipt = party.receive(say(party, 0, 0))
    assert receipt.outcome == "taken"
    assert [(each.outcome, str(each.why)) for each in receipt.followed] == [
        ("early", "the disk is full")
    ]
    assert party.state.heard == (0,)
    assert party.handle(EndRound(1)).followed != ()
    assert party.state.heard == (0, 1, 2)


def test_the_table_of_transitions_is_the_law():
    party = listener()
    with pytest.raises(LocalProtocolError, match="Decide is not possible while day"):
        party.handle(Decide(None))
    party.end_round(1)
    before = party.dump()
    with pytest.raises(LocalProtocolError, match="does not lead from night to day"):
        party.end_round(2)
    assert party.dump() == before
    assert party.handle(Deadline(3)).outgoing == []


def test_a_message_that_is_for_nobody_here_is_refused():
    party = listener()
    told = m.TheseTerms(
        sender="two", receiver="one", number=0, terms=party.terms.digest,
        content=party.terms.content,
    )  # fmt: skip
    receipt = party.receive(told)
    assert (receipt.outcome, receipt.outgoing) == ("refused", [])
    assert "the same terms" in str(receipt.why)
    with pytest.raises(WrongTypeError):
        party.receive(b"bytes")
