"""Stores: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys

import pytest
import sqlalchemy as sa

from fedbandits.deployment.storage.rows import Entry, Header, Opened, Sent
from fedbandits.deployment.storage.store import JOURNAL, META, MOST_HEADERS, Store
from fedbandits.environments.linear import Linear
from fedbandits.errors import (
    LedgerError,
    LedgerMismatchError,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
    StoreVersionError,
)
from fedbandits.systems.base import PartiesReplicate
from fedbandits.testing.deployed import DeployedFederation, simulated
from fedbandits.testing.deployed_systems import WorldDriver
from tests.deployment.federations import clinics


def opened(where, member="north", terms="t", federation="clinics"):
    return Store.open(where, federation, member, terms)


def test_what_is_committed_is_there_when_it_is_opened_again(new_database):
    where = new_database("store")
    with opened(where) as store:
        with store.begin() as connection:
            store.note(connection, [Entry(1, 0, b""), Entry(2, 1, b"two")])
            sent = Sent("hub", 0, b"m0"), Sent("hub", 1, b"m1"), Sent("east", 0, b"e0")
            store.post(connection, sent)
            store.keep_secret(connection, "ties", b"\x00\xff" * 16)
            store.set_number(connection, "ticks", 7)
            asked = Opened(1), Opened(2, b"two", b"answer 2"), Opened(3, b"three", b"answer 3")
            store.asked(connection, asked, 100.0)
            store.expire(connection, 3)
        with store.begin() as connection:
            store.acknowledged(connection, {"hub": 1})
            store.answered(connection, [2])
    with opened(where) as store, store.begin() as connection:
        assert store.saved(connection).journal == [Entry(1, 0, b""), Entry(2, 1, b"two")]
        assert store.saved(connection).body is None
        assert store.outbox(connection) == [("east", 0, b"e0"), ("hub", 1, b"m1")]
        assert store.secret(connection, "ties") == b"\x00\xff" * 16
        assert store.secret(connection, "else") is None
        assert store.number(connection, "ticks") == 7
        assert store.number(connection, "else") == 0
        assert store.overdue(connection, 100.5) == [1, 3]
        assert store.answer(connection, b"two") is None
        assert store.answer(connection, b"three") == b"answer 3"
        assert store.overdue(connection, 100.0) == []
        assert [store.has_expired(connection, n) for n in (2, 3)] == [False, True]


def test_a_state_replaces_the_events_before_it(new_database):
    with opened(new_database("store")) as store:
        with store.begin() as connection:
            store.note(connection, [Entry(n, 1, b"x") for n in range(1, 6)])
            store.keep_state(connection, 3, b"state", False)
        with store.begin() as connection:
            saved = store.saved(connection)
            assert (saved.event, saved.body) == (3, b"state")
            assert [entry.event for entry in saved.journal] == [4, 5]
            rows = sa.select(sa.func.count()).select_from(JOURNAL)
            assert connection.execute(rows).scalar() == 2
            store.keep_state(connection, 5, b"later", True)
        with store.begin() as connection:
            assert store.saved(connection)[:2] == (5, b"later")
            assert store.saved(connection).journal == []
            assert connection.execute(rows).scalar() == 2


def test_what_fails_is_not_there(new_database):
    with opened(new_database("store")) as store:
        with contextlib.suppress(KeyError), store.begin() as connection:
            store.note(connection, [Entry(1, 0, b"")])
            store.keep_secret(connection, "ties", b"first")
            raise KeyError
        with store.begin() as connection:
            assert store.saved(connection).journal == []
            assert store.secret(connection, "ties") is None


def test_a_secret_is_not_replaced(new_database):
    with opened(new_database("store")) as store:
        with store.begin() as connection:
            store.keep_secret(connection, "ties", b"first")
        with pytest.raises((LedgerError, StoreError)), store.begin() as connection:
            store.keep_secret(connection, "ties", b"second")
        with store.begin() as connection:
            assert store.secret(connection, "ties") == b"first"


def test_headers_are_kept_and_the_oldest_are_deleted(new_database):
    where, first = new_database("store"), Header(1.0, "sent", "hub", "Upload", 0, 9, "sent")
    with opened(where) as store, store.begin() as connection:
        store.head(connection, [first] * 3)
    with opened(where) as store:
        with store.begin() as connection:
            newer = [first._replace(number=n) for n in range(MOST_HEADERS)]
            store.head(connection, newer)
            store.keep_state(connection, 0, b"", False)
        with store.begin() as connection:
            assert store.headers(connection) == newer


def test_a_store_is_one_partys_alone(new_database):
    where = new_database("store")
    opened(where).close()
    with pytest.raises(StoreMismatchError, match="'north', this is 'south'"):
        opened(where, member="south")
    with pytest.raises(StoreMismatchError, match="terms 't', this is 'other'"):
        opened(where, terms="other")
    with pytest.raises(LedgerMismatchError):
        opened(where, federation="shops")
    opened(where).close()


def test_a_newer_format_is_refused(new_database):
    where = new_database("store")
    with opened(where) as store, store.begin() as connection:
        newer = sa.update(META).where(META.c.name == "schema").values(value="99")
        connection.execute(newer)
    with pytest.raises(StoreVersionError, match="format 99"):
        opened(where)


def test_a_second_one_is_refused_at_once(new_database):
    where = new_database("store")
    with opened(where):
        with pytest.raises(StoreBusyError, match="stop it first"):
            opened(where)
        code = (
            "import sys; from fedbandits.deployment.storage.store import Store\n"
            "Store.open(*sys.argv[1:])"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, where, "clinics", "north", "t"],
            capture_output=True, text=True,
        )  # fmt: skip
        assert "StoreBusyError" in other.stderr
    opened(where).close()


def test_a_file_that_is_none_is_told(tmp_path):
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database" * 1000)
    with pytest.raises((LedgerError, StoreError)):
        opened(str(broken))


def test_a_federation_on_any_database(new_database, tmp_path):
    federation, environment = clinics(), Linear(agents=3, dim=4, arms=5)
    stores = {member: new_database(member) for member in federation.everybody}

    async def play():
        deployed = DeployedFederation(
            federation, tmp_path, supplies=simulated(federation, environment, 7), stores=stores
        )
        await deployed.start()
        await deployed.greeted()
        game = WorldDriver(deployed, environment, 7)
        await game.advance(11)
        await deployed.stop("clinic-1", "hub")
        await deployed.start("clinic-1", "hub")
        await deployed.greeted()
        await game.advance(15)
        found = {m: repr(deployed.state(m)) for m in federation.everybody}
        await deployed.stop()
        return found

    found = asyncio.run(play())
    run = PartiesReplicate(federation.system, federation.plan, environment, 7, 0)
    run.advance(15)
    assert found == {federation.member_of[p.name]: repr(p.state) for p in run.parties}
