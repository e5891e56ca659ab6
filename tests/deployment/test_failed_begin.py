"""A start that fails changes nothing: the saved state stays, and nothing is charged."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

import msgspec
import pytest

from fedbandits.deployment.hosting import batch
from fedbandits.deployment.hosting.known import left_beside
from fedbandits.deployment.storage.rows import Left, Sent
from fedbandits.errors import SnapshotError, StoreError
from fedbandits.federation import party
from fedbandits.privacy.ledger import Ledger
from fedbandits.testing.deployed import DeployedFederation
from tests.deployment.federations import clinics
from tests.deployment.test_trouble import ACTIONS, running

MEMBER = "clinic-0"
STATE = "SELECT * FROM host_snapshot"


def contents(folder):
    """Everything in the store of a party, but for what times its commits; and what was charged."""
    with contextlib.closing(sqlite3.connect(folder / f"{MEMBER}.db")) as reader:
        rows = {
            query: reader.execute(query).fetchall()
            for query in (STATE, "SELECT * FROM host_journal ORDER BY event")
        }
        names = reader.execute("SELECT name, value FROM host_meta ORDER BY name").fetchall()
    rows["host_meta"] = [row for row in names if "time" not in row[0]]
    with Ledger.existing(str(folder / f"{MEMBER}.db")) as ledger, ledger.read() as connection:
        return rows, ledger.statement(connection, MEMBER)


async def played(federation, folder):
    """Decide and release once, stop, and return what the view of the party said."""
    deployed = DeployedFederation(federation, folder)
    await deployed.start()
    await deployed.greeted()
    node = deployed.nodes[MEMBER]
    for _ in range(3):
        decided = await node.decide(node.application.ASKED(actions=ACTIONS))
        await node.reward(decided.number, node.application.TOLD(reward=1.0))
    await node.end_round(node.host.view.next_end)
    await deployed.settle()
    view = node.host.view
    await deployed.stop()
    return view.decisions, view.events


async def refused(federation, folder, error, match, restores=False):
    """Start the party in vain, and stop it."""
    deployed = DeployedFederation(federation, folder)
    deployed.restores = restores
    node = deployed.make(MEMBER)
    with pytest.raises(error, match=match):
        await node.start()
    assert node.host._hosted is None
    await node.stop()


async def seen(federation, folder):
    """Start the party, and return what its view says."""
    deployed = DeployedFederation(federation, folder)
    await deployed.start(MEMBER)
    view = deployed.nodes[MEMBER].host.view
    await deployed.stop()
    return view.decisions, view.events


@pytest.mark.parametrize("restores", [False, True])
def test_a_state_of_another_layout_stays_as_it_is(restores, tmp_path, monkeypatch):
    """With --restore, the ledger and the file of what has left stay as they are, too."""
    federation = clinics(noise="secure")

    async def play():
        before = await played(federation, tmp_path)
        if restores:  # the file knows of more than the store
            file = left_beside(tmp_path / f"{MEMBER}.db")
            file.write(Left(0.1, {"hub": (99, b"mark")}))
        stored = contents(tmp_path)
        assert stored[0][STATE]
        monkeypatch.setattr(party, "LAYOUT", party.LAYOUT + 1)
        for _ in range(2):
            await refused(federation, tmp_path, SnapshotError, "layout", restores)
            assert contents(tmp_path) == stored
        monkeypatch.undo()
        if not restores:
            assert await seen(federation, tmp_path) == before

    asyncio.run(play())


def test_a_damaged_state_is_not_replaced(tmp_path):
    federation = clinics(noise="secure")

    async def play():
        await played(federation, tmp_path)
        with contextlib.closing(sqlite3.connect(tmp_path / f"{MEMBER}.db")) as writer:
            body = bytearray(writer.execute("SELECT body FROM host_snapshot").fetchone()[0])
            body[len(body) // 2] ^= 1
            writer.execute("UPDATE host_snapshot SET body = ?", (bytes(body),))
            writer.commit()
        stored = contents(tmp_path)
        await refused(federation, tmp_path, SnapshotError, "checksum")
        assert contents(tmp_path) == stored

    asyncio.run(play())


def test_a_journal_that_is_refused_is_kept(tmp_path):
    """The journal has a reward of a decision that was never made."""
    federation = clinics(noise="secure")

    async def play():
        before = await played(federation, tmp_path)
        with contextlib.closing(sqlite3.connect(tmp_path / f"{MEMBER}.db")) as writer:
            event = writer.execute("SELECT event FROM host_snapshot").fetchone()[0] + 1
            told = msgspec.msgpack.encode((77, {"reward": 1.0}))
            writer.execute("INSERT INTO host_journal VALUES (?, 2, ?)", (event, told))
            writer.commit()
        stored = contents(tmp_path)
        await refused(federation, tmp_path, StoreError, "refused now")
        assert contents(tmp_path) == stored
        with contextlib.closing(sqlite3.connect(tmp_path / f"{MEMBER}.db")) as writer:
            writer.execute("DELETE FROM host_journal WHERE event = ?", (event,))
            writer.commit()
        assert await seen(federation, tmp_path) == before

    asyncio.run(play())


@pytest.mark.parametrize("step", ["checkpoint", "sync", "let_leave"])
def test_an_error_after_the_commit_says_that_the_event_is_committed(step, tmp_path, monkeypatch):
    """A request that comes again with its key has its decision then; it is not made twice."""

    async def work(deployed):
        node = deployed.nodes[MEMBER]
        asked = node.application.ASKED(actions=ACTIONS)

        def fail(*_):
            raise StoreError("this step fails")

        owner = batch.Batch if step == "let_leave" else type(node.host.store)
        monkeypatch.setattr(owner, step, fail)

        def decide(one):
            one.must_be_on_disk, decided = True, one.decide(asked, "key")
            return decided

        def write(one, *args):
            written(one, *args)
            one.erases = True

        written = batch.Batch.write
        monkeypatch.setattr(batch.Batch, "write", write)
        with pytest.raises(StoreError, match=r"committed.*this step fails"):
            await node.host.call(decide)
        monkeypatch.undo()
        decided = await node.decide(asked, "key")
        assert decided.number == node.host.view.decisions == 1

    running(clinics(), tmp_path, work)


@pytest.mark.parametrize("step", ["_on_received", "_on_sent", "view"])
def test_callers_are_answered_though_what_follows_a_commit_fails(step, tmp_path):
    class Broken:
        def after(self, _):
            raise RuntimeError("no view")

    async def work(deployed):
        host, faults = deployed.nodes[MEMBER].host, []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        before = getattr(host, step)

        def fail(*_):
            raise RuntimeError("nobody listens")

        def do(one):
            one.received["hub"] = 0
            one.outgoing.append(Sent("hub", 0, b"message"))
            setattr(host, step, Broken() if step == "view" else fail)
            return "answer"

        assert await asyncio.wait_for(host.call(do), 10.0) == "answer"
        setattr(host, step, before)
        assert host.waiting == 0
        assert len(faults) == 1
        assert await asyncio.wait_for(host.call(lambda _: "more"), 10.0) == "more"

    running(clinics(), tmp_path, work)
