"""Decisions are answered once they are on the disk, and many share one wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading

from fedbandits.deployment.storage.store import Store
from fedbandits.testing.deployed import until
from tests.deployment.federations import clinics
from tests.deployment.test_trouble import ACTIONS, failing, running


class Disk:
    """Holds commits back, and counts them."""

    def __init__(self, monkeypatch):
        self.commits, self.may_commit = 0, threading.Event()
        self.may_commit.set()
        begin = Store.begin

        @contextlib.contextmanager
        def held(store):
            with begin(store) as connection:
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
