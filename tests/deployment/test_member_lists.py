"""Who asks for the list of members, who answers, and who keeps silent."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque

import pytest

from fedbandits.deployment.delivery.broker import members_subject, versions_subject
from fedbandits.deployment.delivery.nats_transport import MemberLists
from fedbandits.deployment.identity.authority import revoke
from fedbandits.deployment.identity.identity import Identity, load_identity
from fedbandits.errors import NotListedError, SealError
from tests.deployment.one_machine import EVERYBODY, OneMachine

LIST, ASK = members_subject("clinics"), versions_subject("clinics")
ORDERS = list(itertools.permutations(EVERYBODY))


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> OneMachine:
    return OneMachine(tmp_path_factory.mktemp("clinics")).admit_all()


class Recording:
    """Stands for a connection."""

    def __init__(self) -> None:
        self.published: list[tuple[str, bytes]] = []

    async def publish(self, subject: str, data: bytes) -> None:
        self.published.append((subject, data))


def play(machine: OneMachine, *came: tuple[str, bytes]) -> list[tuple[str, bytes]]:
    """What a member publishes that knows version 3, after all this has come."""

    async def run() -> list[tuple[str, bytes]]:
        identity, connection = machine.identity("hub"), Recording()
        lists = MemberLists(identity, identity.members.offer, 0.0)
        await lists.begin(connection)  # type: ignore[arg-type]  # all of one that is used
        for subject, data in came:
            lists.takes[subject](subject, data)
        while lists.is_speaking:
            await asyncio.sleep(0)
        lists.end()
        return connection.published

    return asyncio.run(run())


def test_who_connects_says_which_version_it_knows(machine):
    assert play(machine) == [(ASK, b"3")]


@pytest.mark.parametrize("known", [b"0", b"2"])
def test_who_knows_an_older_list_is_answered_once(machine, known):
    newest = machine.identity("hub").members.current.encode()
    assert play(machine, (ASK, known), (ASK, known)) == [(ASK, b"3"), (LIST, newest)]


@pytest.mark.parametrize("known", [b"3", b"", b"-1", b"2 ", b"x", b"\xb2", b"0" * 30])
def test_who_knows_it_is_not_answered_nor_is_nonsense(machine, known):
    assert play(machine, (ASK, known)) == [(ASK, b"3")]


def test_who_hears_of_a_newer_version_asks_for_it_once(machine):
    assert play(machine, (ASK, b"4"), (ASK, b"5")) == [(ASK, b"3"), (ASK, b"3")]


def test_an_old_list_is_not_published_where_a_newer_one_is_known(machine):
    """Not even where somebody has asked for it before, or another has published it."""
    newest = machine.identity("hub").members.current.encode()
    came = (ASK, b"2"), (ASK, b"4"), (LIST, newest)
    assert play(machine, *came) == [(ASK, b"3"), (ASK, b"3")]


def test_who_knows_of_a_newer_version_and_is_sent_it_does_not_ask(machine, tmp_path):
    newer = revoke(machine.copy(tmp_path / "newer").authority, "south").read_bytes()
    again = machine.copy(tmp_path / "again")
    assert play(again, (ASK, b"4"), (LIST, newer)) == [(ASK, b"3")]


def test_nobody_answers_after_another_has(machine):
    newest = machine.identity("hub").members.current.encode()
    assert play(machine, (ASK, b"0"), (LIST, newest)) == [(ASK, b"3")]


def test_a_false_list_keeps_nobody_from_answering(machine, caplog):
    newest = machine.identity("hub").members.current.encode()
    found = play(machine, (ASK, b"0"), (LIST, b"false"), (LIST, newest.replace(b"hub", b"hab")))
    assert found == [(ASK, b"3"), (LIST, newest)]
    assert caplog.text.count("is damaged, or no list") == 1
    assert caplog.text.count("not signed by the authority") == 1


def test_a_newer_list_is_taken_and_not_published_again(machine, tmp_path):
    hub, other = machine.copy(tmp_path / "hub").identity("hub"), machine.copy(tmp_path / "other")
    newer = revoke(machine.copy(tmp_path / "newer").authority, "south").read_bytes()
    assert play(other, (ASK, b"0"), (LIST, newer)) == [(ASK, b"3")]
    assert hub.members.offer(newer)


class Bus:
    """Carries what members publish to all who are connected, as a broker does."""

    def __init__(self) -> None:
        self.connected: list[MemberLists] = []
        self._waiting: deque[tuple[str, bytes]] = deque()

    async def publish(self, subject: str, data: bytes) -> None:
        self._waiting.append((subject, data))

    async def connect(self, identity: Identity) -> None:
        """Connect a member, and carry on until nobody says anything more."""
        lists = MemberLists(identity, identity.members.offer, 0.0)
        self.connected.append(lists)
        await lists.begin(self)  # type: ignore[arg-type]
        while self._waiting or any(lists.is_speaking for lists in self.connected):
            while self._waiting:
                subject, data = self._waiting.popleft()
                for each in self.connected:
                    each.takes[subject](subject, data)
            await asyncio.sleep(0)


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_in_any_order_of_starts_all_know_the_newest_list(machine, tmp_path, order):
    """Each has the list of its own admission: north the first version, and hub the third."""
    other = machine.copy(tmp_path)
    identities = {name: load_identity(other.party(name)) for name in EVERYBODY}
    assert [identities[name].members.current.version for name in EVERYBODY] == [1, 2, 3]

    async def start() -> None:
        bus = Bus()
        for name in order:
            await bus.connect(identities[name])

    asyncio.run(start())
    assert [identities[name].members.current.version for name in EVERYBODY] == [3, 3, 3]


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_a_revocation_that_most_missed_reaches_all_after_a_new_start_of_the_broker(
    machine, tmp_path, order
):
    """Only hub was connected when the list was published."""
    other = machine.copy(tmp_path)
    identities = {name: other.identity(name) for name in EVERYBODY}
    identities["hub"].members.offer(revoke(other.authority, "south").read_bytes())

    async def start() -> None:
        bus = Bus()
        for name in order:
            await bus.connect(identities[name])

    asyncio.run(start())
    assert [identities[name].members.current.version for name in EVERYBODY] == [4, 4, 4]


@pytest.mark.parametrize("order", ORDERS, ids=", ".join)
def test_an_ordinary_start_warns_of_nothing(machine, tmp_path, order, caplog):
    """Each knows the list of its own admission, and the greetings of those who are not in it."""
    caplog.set_level(logging.INFO)
    other = machine.copy(tmp_path)
    identities = {name: load_identity(other.party(name)) for name in EVERYBODY}
    older = identities["north"].members.current.encode()

    async def start() -> None:
        bus = Bus()
        for name in order:
            await bus.connect(identities[name])
        await bus.publish(LIST, older)  # an answer that was overtaken
        await bus.connect(identities["north"])

    asyncio.run(start())
    assert "is version 1 of the list of members, but 3 is known" in caplog.text
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_a_list_that_brings_a_revoked_member_back_is_warned_of(machine, tmp_path, caplog):
    other = machine.copy(tmp_path)
    older = (other.authority / "members.json").read_bytes()
    revoke(other.authority, "south")
    play(other, (LIST, older))
    assert "somebody may be trying to bring a revoked member back" in caplog.text
    assert caplog.records[-1].levelno == logging.WARNING


def test_who_is_in_no_list_yet_is_awaited_and_who_was_revoked_is_not(machine, tmp_path):
    other = machine.copy(tmp_path)
    first = load_identity(other.party("north"))  # its list has no member but itself
    (sealer, _) = first.sealers(("south", "hub"))
    with pytest.raises(NotListedError, match="no key of 'hub' is known yet"):
        sealer.open("hub", bytes(100))
    first.members.offer(revoke(other.authority, "hub").read_bytes())
    first.members.set_peers(sealer, ("south", "hub"))
    with pytest.raises(
        SealError, match="no key of 'hub' is known: it is not a peer, or"
    ) as refused:
        sealer.open("hub", bytes(100))
    assert not isinstance(refused.value, NotListedError)
