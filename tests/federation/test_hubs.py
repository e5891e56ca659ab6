"""Every hub hands out the newest contributions, and refuses by name whatever else reaches it.

One suite over all systems whose releases a hub gathers; a system's own messages, such as calls and
uploads between phases, have tests of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbandits as fb
from fedbandits.environments import Clustered, Linear
from fedbandits.errors import RemoteProtocolError, SnapshotError
from fedbandits.federation import messages as m
from fedbandits.federation import snapshots
from fedbandits.federation.messages import pack
from fedbandits.federation.party import Dump
from fedbandits.federation.state import PartyState
from fedbandits.systems import find_system, registry
from fedbandits.systems.fclub.messages import Others, Release
from fedbandits.systems.fclub_published.messages import Partition, PhaseReport
from fedbandits.systems.feducb.roles import Pooled, Upload
from fedbandits.systems.python_learners.roles import AgentRelease, Total
from fedbandits.systems.terms import terms_of
from fedbandits.testing.replicates import federate
from tests.federation.receiving import next_number, refused, refused_next, snapshot, stamped, taken
from tests.systems.private_learners import PrivateLinUCB

LINEAR = Linear(agents=3, dim=2, arms=3)
CLUSTERED = Clustered(users=6, clusters=2, servers=3, dim=2, items=4)  # two users a server
ROUNDS = 200
FAR = 2**62
#: Sums of three records in two dimensions, without and with their number at the end.
SUMS = np.array([1.0, 0.25, 1.0, 0.5, 0.5])
COUNTED = np.append(SUMS, 3.0)


class Case(NamedTuple):
    """A hub: its preset and world, and a contribution of a member (from 0) as it sends it."""

    preset: str
    world: Any
    name: str  # of the hub
    member: str
    contribution: Callable[[int, int], m.Message]
    handed_out: type[m.Message]
    numbers: np.ndarray  # in a contribution, packed in ``packed``
    packed: str
    number: str = "release"
    first: int = 1
    in_step: bool = False
    settings: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it


def of_agent(kind, place, release):
    return kind(
        sender=f"agent-{place}", receiver="controller", release=release, statistic=pack(SUMS)
    )


def of_server(place, release):
    return Release(
        sender=f"server-{place}", receiver="global", release=release, sums=pack(np.tile(SUMS, 2))
    )


def report(place, phase):
    return PhaseReport(
        sender=f"server-{place}", receiver="global", phase=phase, since=-1,
        labels=(2 * place, 2 * place), sums=pack(COUNTED),
    )  # fmt: skip


HUBS = {
    "feducb": Case(
        "feducb", LINEAR, "controller", "agent", functools.partial(of_agent, Upload), Pooled,
        SUMS, "statistic", settings={"schedule": "every(40)"},
    ),
    "learners": Case(
        "private-lin-ucb", LINEAR, "controller", "agent",
        functools.partial(of_agent, AgentRelease), Total, SUMS, "statistic",
        settings={"schedule": "every(40)"},
    ),
    "fclub": Case(
        "fclub", CLUSTERED, "global", "server", of_server, Others, np.tile(SUMS, 2), "sums",
        settings={"schedule": "growing(1.6)"},
    ),
    "fclub-clusters": Case(
        "fclub-clusters", CLUSTERED, "global", "server", of_server, Others, np.tile(SUMS, 2),
        "sums", settings={"schedule": "growing(1.6)"},
    ),
    "fclub-dc": Case(
        "fclub-dc", CLUSTERED, "global", "server", report, Partition, COUNTED, "sums", "phase", 0,
        True,
    ),
    "fclub-published": Case(
        "fclub-published", CLUSTERED, "global", "server", report, Partition, COUNTED, "sums",
        "phase", 0, True,
    ),
}  # fmt: skip
#: Members of every hub here.
MEMBERS = 3


@pytest.fixture(autouse=True, scope="module")
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_registered", {})
        fb.register(PrivateLinUCB)
        yield


@pytest.fixture(params=HUBS)
def case(request):
    return HUBS[request.param]


def hub_of(case, **changed):
    """The hub of a case by itself, and the largest number of a contribution."""
    entry = fb.system(case.preset, **case.settings | changed)
    system = find_system(entry.system)
    plan = system.plan(entry.config, case.world.facts, ROUNDS)
    roles = system.roles(plan)
    role = next(role for role in roles.roles if case.name in role.parties)
    return roles.make(role, 0, terms_of(system, plan, "simulated"), None)


def change(message, **fields):
    return msgspec.structs.replace(message, **fields)


def spoiled(case, value):
    numbers = case.numbers.copy()
    numbers[1] = value
    return pack(numbers)


def test_a_hub_waits_for_all_members_and_answers_each_of_them(case):
    hub, last = hub_of(case), case.first + 2
    for number in range(case.first, last):
        count = number - case.first
        assert hub.awaited is None
        assert taken(hub, case.contribution(2, number)) == []
        assert hub.awaited == count + 1
        assert taken(hub, case.contribution(0, number)) == []
        handed = taken(hub, case.contribution(1, number))
        assert [type(message) for message in handed] == [case.handed_out] * MEMBERS
        assert [message.receiver for message in handed] == [
            f"{case.member}-{place}" for place in range(MEMBERS)
        ]
        assert {getattr(message, "newest", ()) for message in handed} == {()}
        assert hub.state.releases == count + 1
    assert hub.state.newest.tolist() == hub.state.included.tolist() == [last - 1] * MEMBERS


def test_a_hand_out_is_of_every_members_own_numbers(case):
    """A sum, or the rows of all others in their order; clusters of all, added up."""
    hub = hub_of(case)
    numbers = [case.numbers * scale for scale in (1.0, 0.5, 0.25)]
    for place, sums in enumerate(numbers):
        message = case.contribution(place, case.first)
        handed = taken(hub, change(message, **{case.packed: pack(sums)}))
    for place, message in enumerate(handed):
        others = np.concatenate(numbers[:place] + numbers[place + 1 :])
        due = others if case.handed_out is Others else sum(numbers)
        np.testing.assert_array_equal(np.frombuffer(getattr(message, case.packed)), due)


WRONG = {
    "a number before the first": (lambda c, _: {c.number: c.first - 1}, m.OutOfOrderError),
    "a number far below": (lambda c, _: {c.number: -FAR}, m.OutOfOrderError),
    "a number that is never reached": (lambda c, most: {c.number: most + 1}, m.OutOfOrderError),
    "a number far beyond": (lambda c, _: {c.number: FAR}, m.OutOfOrderError),
    "no numbers": (lambda c, _: {c.packed: b""}, m.WrongShapeError),
    "a number too few": (lambda c, _: {c.packed: pack(c.numbers[:-1])}, m.WrongShapeError),
    "a number too many": (
        lambda c, _: {c.packed: pack(np.append(c.numbers, 1.0))}, m.WrongShapeError
    ),
    "half a number": (lambda c, _: {c.packed: pack(c.numbers)[:-4]}, m.WrongShapeError),
    "one that is none": (lambda c, _: {c.packed: spoiled(c, np.nan)}, m.NotFiniteError),
    "one without end": (lambda c, _: {c.packed: spoiled(c, -np.inf)}, m.NotFiniteError),
    "one too large": (lambda c, _: {c.packed: spoiled(c, 1e200)}, m.ImplausibleError),
    "one too small": (lambda c, _: {c.packed: spoiled(c, -1e16)}, m.ImplausibleError),
    "two that add up to infinity": (
        lambda c, _: {c.packed: pack(np.full(len(c.numbers), 1.7e308))}, m.ImplausibleError
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_befit_is_refused_and_uses_up_its_number(case, name):
    fields, error = WRONG[name]
    hub = hub_of(case)
    good = case.contribution(0, case.first)
    refused_next(hub, change(good, **fields(case, hub._most)), error)
    assert not any(kept.any() for kept in hub.state.kept)
    assert taken(hub, good) == []
    refused_next(hub, good, m.OutOfOrderError)  # nobody contributes twice


def test_who_sends_to_whom_under_which_terms_is_looked_at_first(case):
    hub = hub_of(case)
    good = stamped(hub, case.contribution(0, case.first), number=0)
    for wrong in (change(good, sender="stranger"), change(good, receiver=good.sender)):
        refused(hub, wrong, m.WrongSenderError)
    other = f"{case.member}-1"
    refused(hub, change(good, sender=other), m.WrongSenderError, link=good.sender)
    refused(hub, change(good, version=m.VERSION - 1), m.WrongVersionError)
    refused(hub, change(good, terms="0" * 32), m.OtherTermsError)
    played = hub_of(case)
    *_, handed = [taken(played, case.contribution(place, case.first)) for place in range(MEMBERS)]
    strange = change(handed[0], sender=good.sender, receiver=hub.name)
    refused(hub, stamped(hub, strange, number=0), m.UnknownMessageError)
    assert hub.receive(change(good, number=1)).outcome == "taken"
    assert hub.receive(change(good, number=1)).outcome == "duplicate"


def test_other_terms_are_refused_by_the_name_of_the_key(case):
    hub, other = hub_of(case), hub_of(case, epsilon=2.5)
    good = stamped(hub, case.contribution(0, case.first), number=0)
    assert type(other.receive(good).why) is m.OtherTermsError
    assert hub.receive(good).outcome == "taken"


def test_at_a_deadline_the_newest_contributions_are_handed_out(case):
    """The hub says which they are; a member that was late is in the next hand-out."""
    hub = hub_of(case)
    assert hub.deadline(1) == []
    taken(hub, case.contribution(1, case.first + 1))
    before = hub.dump()
    for number in (0, -1, 2, FAR):
        assert hub.deadline(number) == []
    assert hub.dump() == before
    handed = hub.deadline(1)
    assert handed
    assert {type(message) for message in handed} == {case.handed_out}
    assert hub.state.included.tolist() == [case.first - 1, case.first + 1, case.first - 1]
    assert hub.awaited is None
    before = hub.dump()
    assert hub.deadline(1) == []
    assert hub.dump() == before
    assert taken(hub, case.contribution(0, case.first)) == []
    assert hub.awaited == 2
    refused_next(hub, case.contribution(1, case.first + 1), m.OutOfOrderError)
    refused_next(hub, case.contribution(1, case.first), m.OutOfOrderError)


def test_contributions_that_never_come_together_are_all_handed_out(case):
    hub = hub_of(case)
    for number in range(case.first, hub._most + 1):
        for place in range(MEMBERS):
            message = case.contribution(place, number)
            if case.number == "phase":  # as a member that is told of its newest partition
                message = change(message, since=hub.state.since[place])
            handed = taken(hub, message)
            assert handed or hub.deadline(hub.awaited)
    assert hub.state.releases == MEMBERS * (hub._most + 1 - case.first)
    assert hub.state.included.tolist() == [hub._most] * MEMBERS
    assert hub.awaited is None


def test_members_may_be_ahead_of_a_hub_that_was_away(case):
    hub = hub_of(case)
    for place in range(MEMBERS):
        handed = taken(hub, case.contribution(place, hub._most))
    assert len(handed) == MEMBERS
    if case.number == "release":  # the first hand-out, of the last contributions
        assert {message.release for message in handed} == {1}
        assert {value for message in handed for value in message.newest} == {hub._most}


def test_a_member_that_is_ahead_is_waited_for_only_where_contributions_go_in_step(case):
    hub = hub_of(case)
    taken(hub, case.contribution(0, case.first + 1))
    taken(hub, case.contribution(1, case.first))
    handed = taken(hub, case.contribution(2, case.first))
    assert bool(handed) != case.in_step
    assert len(hub.deadline(1)) == (MEMBERS if case.in_step else 0)
    assert hub.state.included.tolist() == [case.first + 1, case.first, case.first]


class Expected:
    """The numbers that a hub should be at: a model of it in a few lines."""

    def __init__(self, case, most):
        self.newest, self.included = [case.first - 1] * MEMBERS, [case.first - 1] * MEMBERS
        self.releases, self._case, self._most = 0, case, most

    @property
    def awaited(self):
        return self.releases + 1 if self.newest != self.included else None

    def contribute(self, place, number):
        """The numbers of the hand-out that follows; none where the contribution is refused."""
        if not self.newest[place] < number <= self._most:
            return None
        self.newest[place] = number
        together = not self._case.in_step or set(self.newest) == {number}
        new = all(a > b for a, b in zip(self.newest, self.included, strict=True))
        return self._hand_out() if new and together else []

    def deadline(self, number):
        return self._hand_out() if number == self.awaited else []

    def _hand_out(self):
        self.included, self.releases = list(self.newest), self.releases + 1
        return self.included


moves = st.one_of(
    st.tuples(st.integers(0, MEMBERS - 1), st.integers(-1, 4) | st.just(FAR)),
    st.tuples(st.just("deadline"), st.integers(-1, 6) | st.none()),
)


@settings(max_examples=60)
@given(st.sampled_from(sorted(HUBS)), st.lists(moves, max_size=14), st.booleans())
def test_any_order_of_contributions_and_deadlines_is_handed_out_as_it_should(name, steps, restores):
    """A hub that is saved and restored after every event goes on as one that is not."""
    case = HUBS[name]
    hub = hub_of(case)
    expected = Expected(case, hub._most)
    for who, number in steps:
        if restores:
            saved, hub = hub.dump(), hub_of(case)
            hub.load(saved)
            assert hub.dump() == saved
        if who == "deadline":
            number = (expected.awaited or 0) if number is None else number
            handed, due = hub.deadline(number), expected.deadline(number)
        else:
            message = case.contribution(who, number)
            due = expected.contribute(who, number)
            if due is None:
                refused_next(hub, message, m.OutOfOrderError)
                continue
            if case.number == "phase":
                message = change(message, since=min(hub.state.since[who], number - 1))
            handed = taken(hub, message)
        assert bool(handed) == bool(due)
        assert hub.state.newest.tolist() == expected.newest
        assert hub.state.included.tolist() == expected.included
        assert (hub.state.releases, hub.awaited) == (expected.releases, expected.awaited)
        if case.number == "release" and handed:
            new = () if set(due) == {expected.releases} else tuple(due)
            own = [new[:i] + new[i + 1 :] for i in range(MEMBERS)]
            told = [message.newest for message in handed]
            assert told == (own if case.handed_out is Others else [new] * MEMBERS)


whole = st.integers(-1, 5) | st.sampled_from([FAR, -FAR, 2**63 - 1])
numbers = st.one_of(
    st.binary(max_size=100),
    st.lists(st.floats(), min_size=5, max_size=12).map(lambda values: pack(np.array(values))),
)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(HUBS)), st.integers(0, MEMBERS - 1), whole, numbers | st.none(),
    st.lists(st.integers(-1, 7) | st.integers(-(2**63), 2**63 - 1), max_size=4) | st.none(), whole,
)  # fmt: skip
def test_any_contribution_is_taken_or_refused_without_a_trace(
    name, place, number, packed, labels, since
):
    case = HUBS[name]
    hub = hub_of(case)
    taken(hub, case.contribution(1, case.first))
    message = change(case.contribution(place, case.first), **{case.number: number})
    if packed is not None:
        message = change(message, **{case.packed: packed})
    if case.number == "phase":
        message = change(message, since=since)
        message = message if labels is None else change(message, labels=tuple(labels))
    peer = message.sender
    before = snapshot(hub, peer)
    receipt = hub.receive(stamped(hub, message, number=next_number(hub, peer)))
    assert receipt.outcome in ("taken", "refused")
    if receipt.outcome == "refused":
        assert isinstance(receipt.why, RemoteProtocolError)
        assert snapshot(hub, peer) == before


def test_a_store_of_another_layout_is_refused_by_name(case):
    """Such as one of before hubs were one party."""

    class Before(PartyState, frozen=True, kw_only=True):
        handed: int
        newest: tuple[int, ...]

    hub = hub_of(case)
    before = hub.dump()
    dump = snapshots.decode(Dump, before)
    old = snapshots.plain(Before(stage="gathering", handed=1, newest=(1, 1, 1)))
    with pytest.raises(SnapshotError, match="a saved state has another layout"):
        hub.load(snapshots.encode(msgspec.structs.replace(dump, state=msgspec.Raw(old))))
    assert hub.dump() == before


@pytest.mark.parametrize("silent", [0, "hub"])
def test_a_silent_party_stops_nobody(case, silent):
    name = case.name if silent == "hub" else f"{case.member}-{silent}"
    entry = fb.system(case.preset, **case.settings)
    run = federate(
        entry.config, case.world, ROUNDS, 0, 0, lambda m: None if m.sender == name else 0,
        lenient=True,
    )  # fmt: skip
    run.advance(ROUNDS)
    assert run.done == ROUNDS
    assert not run.network.refusals
    hub = run.one(case.name)
    if silent == 0:
        assert hub.state.newest.tolist() == [case.first - 1, hub._most, hub._most]
        assert hub.state.releases == hub._most + 1 - case.first
