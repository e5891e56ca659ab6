"""Who asks for the list of members, who answers, and who keeps silent."""

from __future__ import annotations

import asyncio

import pytest

from fedbandits.deployment.delivery.broker import members_subject, versions_subject
from fedbandits.deployment.delivery.member_lists import MemberLists
from fedbandits.deployment.identity.authority import revoke
from tests.deployment.one_machine import OneMachine

LIST, ASK = members_subject("clinics"), versions_subject("clinics")


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
        while lists._answer is not None and not lists._answer.done():
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


@pytest.mark.parametrize("known", [b"3", b"4", b"", b"-1", b"2 ", b"x", b"\xb2", b"0" * 30])
def test_who_knows_it_is_not_answered_nor_is_nonsense(machine, known):
    assert play(machine, (ASK, known)) == [(ASK, b"3")]


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
    other = machine.copy(tmp_path)
    hub = other.identity("hub")
    newer = revoke(other.authority, "south").read_bytes()
    assert play(machine, (ASK, b"0"), (LIST, newer)) == [(ASK, b"3")]
    assert hub.members.offer(newer)
