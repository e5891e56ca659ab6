"""Decisions are answered once they are on the disk, and many share one wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import threading
from types import SimpleNamespace

import pytest

from fedbandits.deployment.hosting import pace
from fedbandits.deployment.hosting.node import Node
from fedbandits.deployment.hosting.pace import CommitPace
from fedbandits.deployment.storage.rows import Sent
from fedbandits.deployment.storage.store import Store
from fedbandits.errors import StoreError
from fedbandits.testing.deployed import until
from tests.deployment.doors import durable, opened
from tests.deployment.federations import clinics
from tests.deployment.test_trouble import ACTIONS, failing, running


@pytest.fixture(autouse=True, params=["thread", "loop"])
def commits(request, monkeypatch):
    """Let the thread make commits, or the event loop, however fast the disk is."""
    monkeypatch.setattr(pace, "_SHORT", -math.inf if request.param == "thread" else math.inf)


class Disk:
    """Holds commits of the thread back, and counts commits."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(pace, "_SHORT", -math.inf)
        self.commits, self.may_commit = 0, threading.Event()
        self.may_commit.set()
        begin = Store.begin

        @contextlib.contextmanager
        def held(store, waits=True):
            with begin(store, waits) as connection:
                yield connection
                assert self.may_commit.wait(60)
                self.commits += 1

        monkeypatch.setattr(Store, "begin", held)


def journal(node):
    """The newest event that another program sees in a party's store."""
    path = node.host.store.ledger.engine.url.database
    with contextlib.closing(sqlite3.connect(path)) as reader:
        return reader.execute("SELECT max(event) FROM host_journal").fetchone()[0] or 0


def test_nothing_is_answered_before_it_is_on_the_disk(tmp_path):
    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        asked, told = node.application.ASKED(actions=ACTIONS), node.application.TOLD(reward=1.0)
        seen = []

        async def one():
            before = journal(node)
            decided = await node.decide(asked)
            seen.append(journal(node) - before)
            await node.reward(decided.number, told)
            seen.append(journal(node) - before - 1)

        await asyncio.gather(*(one() for _ in range(20)))
        assert min(seen) >= 1
        assert journal(node) >= node.host.view.events == 1 + 2 * 20

    running(clinics(), tmp_path, work)


def test_what_is_asked_while_the_disk_writes_shares_the_next_commit(tmp_path, monkeypatch):
    """And the event loop goes on meanwhile: it has taken all of them."""

    async def work(deployed):
        node, disk = deployed.nodes["clinic-0"], Disk(monkeypatch)
        asked = node.application.ASKED(actions=ACTIONS)
        disk.may_commit.clear()
        first = asyncio.ensure_future(node.decide(asked))
        await until(lambda: node.host.waiting == 1 and not node.host._jobs)
        others = [asyncio.ensure_future(node.decide(asked)) for _ in range(30)]
        await until(lambda: node.host.waiting == 31)
        assert not any(task.done() for task in (first, *others))
        assert disk.commits == 0
        disk.may_commit.set()
        decided = await asyncio.gather(first, *others)
        assert sorted(one.number for one in decided) == list(range(1, 32))
        assert disk.commits == 2
        monkeypatch.undo()

    running(clinics(), tmp_path, work)


def test_a_commit_that_fails_takes_back_all_that_shared_it_and_nothing_else(tmp_path, monkeypatch):
    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        asked = node.application.ASKED(actions=ACTIONS)
        before = await node.decide(asked)
        failing(monkeypatch)
        told = await asyncio.gather(
            *(node.decide(asked) for _ in range(10)), return_exceptions=True
        )
        assert [str(error) for error in told] == ["this commit fails"] * 10
        monkeypatch.undo()
        after = await node.decide(asked)
        assert after.number == before.number + 1
        assert node.host.view.decisions == 2

    running(clinics(), tmp_path, work)


def test_a_key_names_one_decision_among_those_of_one_commit(tmp_path):
    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        asked = node.application.ASKED(actions=ACTIONS)
        keys = [f"request-{number % 5}" for number in range(20)]
        decided = await asyncio.gather(*(node.decide(asked, key) for key in keys))
        assert {key: one.number for key, one in zip(keys, decided, strict=True)} == {
            key: number for number, key in enumerate(keys[:5], 1)
        }
        again = await node.decide(asked, keys[3])
        assert again == decided[3]

    running(clinics(), tmp_path, work)


@contextlib.contextmanager
def locked(node):
    """Hold the lock of a party's store, as another program may."""
    path = node.host.store.ledger.engine.url.database
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE").close()
        yield


def test_who_asks_for_no_decision_is_answered_while_another_program_holds_the_store(tmp_path):
    async def play():
        async with durable("feducb", tmp_path) as node, opened(node, tmp_path) as (_, client):
            asked = node.application.ASKED(actions=[[0.1] * 3])
            http = client._connections()
            with locked(node):
                decision = asyncio.ensure_future(node.decide(asked))
                await until(lambda: node.host.waiting == 1 and not node.host._jobs)
                for _ in range(3):
                    assert (await http.get("/healthz")).status_code == 200
                assert node.host.waiting == 1
                assert not decision.done()
            assert (await decision).number == 1
            assert (await node.decide(asked)).number == 2
            assert not node.host.problem

    asyncio.run(play())


def threads(monkeypatch):
    """Note in which thread each transaction begins, and whether it would wait."""
    begin, seen = Store.begin, []

    def noted(store, waits=True):
        seen.append((threading.current_thread() is threading.main_thread(), waits))
        return begin(store, waits)

    monkeypatch.setattr(Store, "begin", noted)
    return seen


def test_the_event_loop_waits_for_no_lock_and_saves_no_state(tmp_path, monkeypatch):
    async def work(deployed):
        node, seen = deployed.nodes["clinic-0"], threads(monkeypatch)
        asked = node.application.ASKED(actions=ACTIONS)
        await node.decide(asked)
        assert seen == [(True, False)]
        monkeypatch.setattr("fedbandits.deployment.hosting.batch._MOST_EVENTS", 1)
        await node.decide(asked)  # saves the state, so the thread does it
        assert seen[1:] == [(False, True)]
        assert node.host._hosted.since == 0
        monkeypatch.setattr("fedbandits.privacy.ledger.files.LARGE", 0)
        await node.decide(asked)  # a checkpoint is due, which the loop finds out as it begins
        assert seen[2:] == [(True, False), (False, True)]
        monkeypatch.undo()

    running(clinics(), tmp_path, work)


class Failing:
    """Lets transactions fail, at their beginning or at their end."""

    def __init__(self, monkeypatch, where):
        self.fails, begin = False, Store.begin

        @contextlib.contextmanager
        def sometimes(store, waits=True):
            if self.fails and where == "begin":
                raise StoreError("there is no transaction today")
            with begin(store, waits) as connection:
                yield connection
                if self.fails and where == "commit":
                    raise StoreError("there is no commit today")

        monkeypatch.setattr(Store, "begin", sometimes)


def test_what_was_committed_is_told_before_what_failed_after_it(tmp_path, monkeypatch):
    async def work(deployed):
        hosted, failing = deployed.nodes["clinic-0"].host, Failing(monkeypatch, "begin")
        disk, told = Disk(monkeypatch), []
        hosted._on_sent = lambda sent: told.append("sent")
        disk.may_commit.clear()
        message = Sent("hub", 0, b"message")
        first = hosted.call(lambda batch: batch.outgoing.append(message), quick=True)
        await until(lambda: hosted.waiting == 1 and not hosted._jobs)
        second = hosted.call(lambda batch: None, quick=True)
        first.add_done_callback(lambda done: told.append(("first", done.exception())))
        second.add_done_callback(lambda done: told.append(("second", str(done.exception()))))
        failing.fails = True
        disk.may_commit.set()
        await asyncio.wait({first, second})
        failing.fails = False
        assert told[:3] == ["sent", ("first", None), ("second", "there is no transaction today")]

    running(clinics(), tmp_path, work)


@pytest.mark.parametrize("where", ["begin", "commit"])
def test_what_a_peer_has_taken_is_noted_by_the_next_commit_that_does_not_fail(
    tmp_path, monkeypatch, where
):
    async def work(deployed):
        hosted, failing = deployed.nodes["clinic-0"].host, Failing(monkeypatch, where)
        hosted._on_sent = lambda sent: None
        await hosted.call(
            lambda b: b.store.post(b.connection, [Sent("hub", n, b"message") for n in range(3)])
        )
        hosted.acknowledged("hub", 2, b"mark")
        failing.fails = True
        with pytest.raises(StoreError):
            await hosted.call(lambda batch: None, quick=True)
        failing.fails = False
        await hosted.call(lambda batch: None)
        left, marks = await hosted.call(
            lambda b: (b.store.outbox(b.connection), b.store.marks(b.connection))
        )
        assert [message.number for message in left] == [2]
        assert marks["hub"] == (2, b"mark")
        assert not hosted._acknowledged

    running(clinics(), tmp_path, work)


def test_what_takes_long_is_done_in_turns(tmp_path, monkeypatch):
    """The event loop stops after a while, and what is left is done in the order that it came."""
    monkeypatch.setattr("fedbandits.deployment.hosting.host._LONGEST_WORK", 0.0)

    async def work(deployed):
        node, disk = deployed.nodes["clinic-0"], Disk(monkeypatch)
        asked = node.application.ASKED(actions=ACTIONS)
        decided = await asyncio.gather(*(node.decide(asked) for _ in range(5)))
        assert [one.number for one in decided] == [1, 2, 3, 4, 5]
        assert disk.commits == 5
        assert node.host.waiting == 0
        monkeypatch.undo()

    running(clinics(), tmp_path, work)


def test_a_decision_waits_through_any_number_of_changes():
    """Each commit is one while an exchange is under way, and there may be thousands."""
    left = [5_000]

    class Waiting:
        _ends_rounds_itself = True
        decide, _decide_later = Node.decide, Node._decide_later

        @property
        def host(self):
            return SimpleNamespace(view=SimpleNamespace(is_exchanging=left[0] > 0), call=decided)

        def _require_begun(self):
            """It has begun."""

        async def change(self):
            left[0] -= 1

    async def decided(work, quick):
        return "decided"

    async def ask():
        return await Waiting().decide("asked")

    assert asyncio.run(ask()) == "decided"
    assert left == [0]


def rests(commits, now):
    """Take the pause that has just begun, and return its seconds."""
    began = now[0]
    assert not commits.is_short
    while not commits.is_short:
        now[0] += 0.01 * pace._FIRST_REST
    return now[0] - began


@pytest.fixture
def paced(monkeypatch):
    """Commits that were short at first, and the clock of their pauses."""
    monkeypatch.setattr(pace, "_SHORT", 0.0005)
    now = [0.0]
    return CommitPace([pace._SHORT / 2, 1.0, 0.0], lambda: now[0]), now


def test_commits_are_made_on_the_loop_while_they_are_short(paced):
    """After long ones the thread has them for a while, and for longer each time."""
    commits, now = paced
    assert commits.is_short
    for rest in (1, 2, 4):
        commits.took(0.05)
        assert rests(commits, now) == pytest.approx(rest * pace._FIRST_REST, abs=0.02)
    for _ in range(1000):
        commits.took(pace._SHORT / 2)
    assert commits.is_short
    commits.took(0.05)
    assert rests(commits, now) == pytest.approx(pace._FIRST_REST, abs=0.02)
    assert not CommitPace([0.004] * 5).is_short


@pytest.mark.parametrize("times", [1.01, 1.5, 1.99])
def test_commits_that_are_a_little_too_long_are_tried_again(paced, times):
    """Their mean creeps over the limit; the longest rest is the most that the loop waits."""
    commits, now = paced
    for _ in range(20):
        while commits.is_short:
            commits.took(times * pace._SHORT)
        assert rests(commits, now) <= pace._LONGEST_REST + 0.02
    commits.took(pace._SHORT / 10)
    assert commits.is_short


def test_one_commit_that_is_very_long_is_followed_by_a_rest(paced):
    """A commit of 8 ms among commits of 0.05 ms, say, while another program fills the disk."""
    commits, now = paced
    for _ in range(100):
        commits.took(0.00005)
    commits.took(0.008)
    assert rests(commits, now) == pytest.approx(pace._FIRST_REST, abs=0.02)
    assert commits.is_short


def test_the_view_is_that_of_the_last_commit(tmp_path, monkeypatch):
    """A decision that a commit holds back is worked out, and seen by nobody."""

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        asked = node.application.ASKED(actions=ACTIONS)
        await node.decide(asked)
        disk = Disk(monkeypatch)
        disk.may_commit.clear()
        decision = asyncio.ensure_future(node.decide(asked))
        await until(lambda: node.host.waiting == 1 and not node.host._jobs)
        made, view = node.host._hosted.party.decisions_made, node.host.view
        disk.may_commit.set()
        await decision
        assert made == 2
        assert (view.decisions, view.events) == (1, 2)
        assert (node.host.view.decisions, node.host.view.events) == (2, 3)

    running(clinics(), tmp_path, work)
