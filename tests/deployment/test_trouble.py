"""Failures at awkward moments: while a party begins, stops, or looks at its clock."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
import time

import msgspec
import pytest
import sqlalchemy as sa

from fedbandits.deployment.delivery.exchange import Exchange
from fedbandits.deployment.delivery.transport import MemoryTransport
from fedbandits.deployment.hosting.batch import Batch
from fedbandits.deployment.hosting.clock import Clock
from fedbandits.deployment.hosting.events import Kind, Received
from fedbandits.deployment.storage.store import Store
from fedbandits.environments.linear import Linear
from fedbandits.errors import (
    ClockError,
    ConfigError,
    DuplicateRewardError,
    LedgerError,
    NotReadyError,
    ReleaseRefusedError,
    StoreBusyError,
    StoreError,
)
from fedbandits.federation.links import Receipt
from fedbandits.settings.federation import federation_of
from fedbandits.testing.deployed import NEVER, DeployedFederation, simulated, until
from tests.deployment import postgres
from tests.deployment.federations import clinics

ENVIRONMENT = Linear(agents=3, dim=4, arms=5)
ACTIONS = [[0.1, 0.2, 0.3, 0.4]] * 5


def running(federation, tmp_path, work, seeded=True):
    """Run a federation, do something with it, and stop it."""

    async def run():
        brought = simulated(federation, ENVIRONMENT, 7) if seeded else None
        deployed = DeployedFederation(federation, tmp_path, supplies=brought)
        await deployed.start()
        await deployed.greeted()
        try:
            return await work(deployed)
        finally:
            await deployed.stop()

    return asyncio.run(run())


def failing(monkeypatch, times=1):
    """The next commits fail."""
    begin, left = Store.begin, [times]

    @contextlib.contextmanager
    def fails(self, waits=True):
        with begin(self, waits) as connection:
            yield connection
            if left[0]:
                left[0] -= 1
                raise StoreError("this commit fails")

    monkeypatch.setattr(Store, "begin", fails)
    return left


async def held_up(host):
    """Hold a host's thread up, so that what comes now waits together, until an event is set."""
    holds, may_go = threading.Event(), threading.Event()
    blocked = host.call(lambda _: (holds.set(), may_go.wait()))
    await until(holds.is_set)
    return may_go, blocked


def test_a_party_whose_state_cannot_be_saved_stops_all_the_same(tmp_path, monkeypatch):
    federation = clinics()

    async def work(deployed):
        node = deployed.nodes.pop("clinic-0")
        decided = await node.decide(node.application.ASKED(actions=ACTIONS))
        left = failing(monkeypatch)
        await node.stop()
        assert left == [0]
        with pytest.raises(NotReadyError):
            await node.decide(node.application.ASKED(actions=ACTIONS))
        await deployed.start("clinic-0")
        assert deployed.nodes["clinic-0"].host.view.decisions == decided.number

    running(federation, tmp_path, work)


def test_a_party_whose_first_commit_fails_is_not_begun_by_halves(tmp_path, monkeypatch):
    federation = clinics(noise="secure")

    async def work(deployed):
        await deployed.stop("clinic-0")
        for left in tmp_path.glob("clinic-0.db*"):
            left.unlink()
        node = deployed.make("clinic-0")
        await node.host.open()
        failing(monkeypatch)
        with pytest.raises(StoreError):
            await node.host.begin()
        await node.host.call(lambda batch: None)
        assert node.host._hosted is None
        await node.host.begin()
        await node.host.do(Kind.END_ROUND, node.host.view.next_end)
        await node.host.stop()

    running(federation, tmp_path, work, seeded=False)


def test_ticks_go_on_after_a_store_that_failed_at_first(tmp_path, monkeypatch):
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    federation = clinics(start=start, every="200 ms", rounds=10_000, message_time="100 ms")
    # What a slow machine delays is no clock that differs.
    monkeypatch.setattr(Clock, "_patience", 60.0)

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        await node.clock.stop()
        done, node.clock.done = node.clock.done, 0
        left = failing(monkeypatch)
        node.clock.start()
        await until(lambda: left == [0])
        await until(lambda: node.clock.done > done)

    running(federation, tmp_path, work)


def test_clocks_of_peers_that_were_set_right_are_believed(tmp_path, monkeypatch):
    monkeypatch.setattr("fedbandits.deployment.hosting.clock._LONGEST_PAUSE", 0.1)
    monkeypatch.setattr("fedbandits.deployment.delivery.delivery.LONGEST_PAUSE", 0.1)
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    federation = clinics(start=start, every="1 min", message_time="20 s")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        exchange = node.delivery.exchanges["hub"]
        exchange.ahead += 3600.0  # as a greeting would have told that was kept back
        node.clock._look()
        assert node.clock.problem
        await until(lambda: abs(exchange.offset) < 60)
        node.clock._look()
        assert not node.clock.problem

    running(federation, tmp_path, work)


def test_a_peers_clock_that_moves_later_is_told_of(tmp_path, monkeypatch):
    """A greeting at the start is not enough: clocks run, and are set, afterwards."""
    delivery = "fedbandits.deployment.delivery.delivery"
    monkeypatch.setattr(f"{delivery}.LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(f"{delivery}._ASK_AFTER", 0.2)
    real = Exchange.take_over
    moved = {}

    def hears(exchange, hello, received):
        said = msgspec.structs.replace(hello, time=hello.time + moved.get(exchange.peer, 0.0))
        real(exchange, said, received)

    monkeypatch.setattr(Exchange, "take_over", hears)

    async def work(deployed):
        exchange = deployed.nodes["clinic-0"].delivery.exchanges["hub"]
        assert abs(exchange.offset) < 60.0
        moved["hub"] = 600.0
        await until(lambda: exchange.offset > 500.0)
        here = time.time
        monkeypatch.setattr(time, "time", lambda: here() + 7200.0)  # this machine's own clock
        assert exchange.offset < -5000.0

    running(clinics(), tmp_path, work)


def test_a_transport_is_hurried_while_messages_wait(tmp_path, monkeypatch):
    hurried = []
    monkeypatch.setattr(MemoryTransport, "hurry", lambda transport: hurried.append(transport))

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        node.delivery.transport.cut()
        node.delivery.resend_all()
        await asyncio.sleep(0.1)
        assert not hurried
        await node.tick(1)
        await until(lambda: node.delivery.transport in hurried)
        node.delivery.transport.connect()

    running(clinics(), tmp_path, work)


def test_a_peer_that_falls_silent_later_is_named(tmp_path, monkeypatch):
    delivery = "fedbandits.deployment.delivery.delivery"
    monkeypatch.setattr(f"{delivery}.LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(f"{delivery}._ASK_AFTER", 0.2)

    async def work(deployed):
        node = deployed.nodes["hub"]
        assert node.status()["silent"] == []
        await deployed.stop("clinic-1")
        await until(lambda: node.status()["silent"] == ["clinic-1"])
        assert len(node.status()["greeted"]) == 3
        await deployed.start("clinic-1")
        await until(lambda: node.status()["silent"] == [])

    running(clinics(), tmp_path, work)


def test_a_clock_that_jumps_ends_no_reward_s_time(tmp_path, monkeypatch):
    federation = clinics(rewards='[rewards]\ndefault = 0.25\nafter = "200 ms"', message_time="1 h")

    async def work(deployed):
        node, real = deployed.nodes["clinic-0"], time.time
        node.clock._jump = 100 * 3600.0
        await node.decide(node.application.ASKED(actions=ACTIONS))
        await until(lambda: "clock" in node.status()["problems"])
        before = real()
        await until(lambda: real() > before + 0.5)
        assert node.host.view.open == 1
        node.clock._jump = 0.0
        await until(lambda: node.host.view.open == 0)

    running(federation, tmp_path, work)


def test_a_ledger_s_clock_that_runs_backwards_refuses_a_release_alone(tmp_path, monkeypatch):
    federation = clinics(noise="secure", start="2020-01-01T00:00:00Z", every="9000 days")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        times = node.host.store.ledger._times
        monkeypatch.setattr(times, "_clock", lambda: time.time() - 3600.0)
        results = await asyncio.gather(
            node.tick(1),
            node.decide(node.application.ASKED(actions=ACTIONS)),
            return_exceptions=True,
        )
        assert isinstance(results[0], ClockError)
        assert results[1].number == 1
        assert await node.host.call(lambda b: b.store.number(b.connection, "failures")) == 0
        monkeypatch.undo()
        await node.tick(1)
        assert (await node.privacy())["releases"] == 1

    running(federation, tmp_path, work, seeded=False)


def test_a_ledger_that_fails_for_a_held_message_fails_the_transaction(tmp_path, monkeypatch):
    federation = clinics(noise="secure")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        party = node.host._hosted.party
        follow = Receipt("early", [], LedgerError("the database failed"))
        monkeypatch.setattr(
            party, "receive_bytes", lambda *_: Receipt("taken", [], None, (follow,))
        )
        with pytest.raises(StoreError, match="database failed"):
            await node.host.do(Kind.RECEIVE, Received("controller", b""))

    running(federation, tmp_path, work, seeded=False)


def test_a_reader_does_not_keep_pulls_off_the_disk(tmp_path, monkeypatch):
    """A checkpoint would write nothing behind what a reader sees, and say nothing of it."""
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Store.open(tmp_path / "store.db", "f", "m", "t", synchronous="NORMAL") as store:
        reader = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        with contextlib.closing(reader):
            reader.execute("BEGIN").close()
            reader.execute("SELECT * FROM host_meta").fetchall()
            for value in range(3):
                with store.begin() as connection:
                    store.set_number(connection, "x", value)
                before = len(synced)
                store.sync()
                assert len(synced) > before


def samba():
    return federation_of(
        {
            "name": "race",
            "rounds": 20,
            "noise": "simulated",
            "system": {"preset": "samba-ucb"},
            "facts": {"parties": 3},
            "members": {
                "owner": ["arm-0", "arm-1", "arm-2"],
                "controller": ["hub"],
                "comp": ["judge"],
                "customer": ["buyer"],
            },
            "clock": {"kind": "live", "start": NEVER, "every": "1 h"},
        }
    )


def test_a_secret_that_comes_twice_at_once_is_kept_once(tmp_path):
    async def run():
        node = DeployedFederation(samba(), tmp_path).make("arm-0")
        await node.host.open()
        await node.handover.open()
        node.fail = lambda why: None
        may_go, blocked = await held_up(node.host)
        for value in (b"a" * 32, b"b" * 32):
            node.given("judge", "channel", value)
        await asyncio.sleep(0)
        may_go.set()
        await blocked
        await until(lambda: not node.handover._writing)
        assert not node.wants
        kept = await node.host.call(lambda b: b.store.secret(b.connection, "shared channel"))
        failures = await node.host.call(lambda b: b.store.number(b.connection, "failures"))
        await node.host.stop()
        return kept, failures

    assert asyncio.run(run()) == (b"a" * 32, 0)


def test_a_party_that_cannot_begin_with_its_secrets_says_so(tmp_path, monkeypatch):
    async def run():
        fatal = []
        node = DeployedFederation(samba(), tmp_path).make("arm-0", fatal.append)
        await node.start()
        assert node.wants == ["channel"]

        def refuse(*_):
            raise StoreError("no party today")

        monkeypatch.setattr(Batch, "begin", refuse)
        node.given("judge", "channel", b"a" * 32)
        await until(lambda: bool(fatal))
        await node.stop()
        return fatal

    (why,) = asyncio.run(run())
    assert "no party today" in str(why)


def test_a_reward_that_is_told_twice_counts_for_no_later_pull(tmp_path, monkeypatch):
    """What is seen of a party is of its last commit; the next pull may be due by then."""
    federation = clinics()

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        hosted = node.host._hosted
        monkeypatch.setattr(type(hosted.party), "round_to_act", 2)
        node.host.view = msgspec.structs.replace(node.host.view, round_to_act=1)
        applied = []
        monkeypatch.setattr(type(hosted.party), "settled_decisions", 1)
        monkeypatch.setattr(hosted, "apply", lambda *event: applied.append(event))
        with pytest.raises(DuplicateRewardError, match="pull 1 was told before"):
            await node.pull(1, 1)
        with pytest.raises(NotReadyError, match="pull 3 is not due yet"):
            await node.pull(3, 1)
        assert not applied
        monkeypatch.undo()

    running(federation, tmp_path, work)


def test_a_state_older_than_its_ledger_releases_nothing(tmp_path):
    """What was covered for other records must not stand for those of now."""
    federation = clinics(noise="secure", start="2020-01-01T00:00:00Z", every="9000 days")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        before = node.host._hosted.party.dump()
        await node.tick(1)
        await deployed.stop("clinic-0")
        node = deployed.make("clinic-0")
        with node.host.store.begin() as connection:
            node.host.store.keep_state(connection, 100, before, False)
        await node.host.open()
        await node.host.begin()
        with pytest.raises(ReleaseRefusedError):
            await node.host.do(Kind.END_ROUND, node.host.view.next_end)
        assert (await node.privacy())["releases"] == 1
        await node.host.stop()

    running(federation, tmp_path, work, seeded=False)


def test_a_release_leaves_before_all_that_waits(tmp_path):
    federation = clinics(start="2020-01-01T00:00:00Z", every="9000 days")

    async def work(deployed):
        node = deployed.nodes["clinic-0"]
        sent, decided = node.host._on_sent, []
        node.host._on_sent = lambda messages: (
            decided.append(node.host.view.decisions),
            sent(messages),
        )
        may_go, blocked = await held_up(node.host)
        asked = node.application.ASKED(actions=ACTIONS)
        decisions = [node.host.do(Kind.DECIDE, asked) for _ in range(20)]
        tick = asyncio.ensure_future(node.tick(1))
        await asyncio.sleep(0)
        may_go.set()
        await asyncio.gather(blocked, tick, *decisions)
        assert decided == [0]
        assert node.host.waiting == 0

    running(federation, tmp_path, work)


@pytest.mark.parametrize("start", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_a_start_that_is_no_time_elsewhere_is_refused_by_name(start):
    with pytest.raises(ConfigError, match=r"clock\.start"):
        clinics(start=start)


def test_a_server_that_ends_the_session_of_the_lock_lets_no_second_process_in(postgres_server):
    where = postgres.database(postgres_server, "lost-lock")
    with Store.open(where, "f", "m", "t") as store:

        def end_sessions():
            ended = sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            )
            with store.ledger.engine.connect() as connection:
                assert connection.execute(ended).all() == [(True,)]
            gone = False
            while not gone:  # it is told to end, and ends in a moment
                with store.ledger.engine.connect() as connection:
                    left = sa.text("SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
                    gone = connection.execute(left).first() is None

        end_sessions()
        with (
            pytest.raises(StoreError, match="the store is read again"),
            store.begin() as connection,
        ):
            store.set_number(connection, "x", 1)
        with pytest.raises(StoreBusyError):
            Store.open(where, "f", "m", "t")
        with store.begin() as connection:
            assert store.number(connection, "x") == 0
        end_sessions()
        with Store.open(where, "f", "m", "t") as other:
            for _ in range(2):
                with pytest.raises(StoreBusyError), store.begin():
                    pass
            with other.begin() as connection:
                other.set_number(connection, "x", 2)
