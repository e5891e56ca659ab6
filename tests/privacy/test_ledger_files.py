"""One ledger, one file: whatever becomes of its names and its log, no step is drawn twice."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
import sqlalchemy as sa

from fedbandits.errors import LedgerBusyError, LedgerError, LedgerFileError, NoiseReuseError
from fedbandits.privacy.ledger import Ledger, files
from fedbandits.privacy.ledger.tables import META
from tests.privacy.ledgers import (
    CLAIM,
    DELTA,
    EPSILON,
    Clock,
    forks,
    in_child,
    ledger_at,
    running_sum,
    single,
)

EVENT = running_sum(5)


def draw(ledger, step=1):
    with ledger.begin() as connection:
        ledger.draw(connection, "A", "sum", step, EVENT, lambda: np.full(3, float(step)))


def drawn(path):
    """What a party does that finds this file: open, have an account, draw the first step."""
    with ledger_at(path, "A", clock=Clock(5000.0)) as ledger:
        draw(ledger)


def left_by_a_crash(path, steps=1):
    """A ledger whose party was killed right after its last draw."""

    def play():
        with ledger_at(path, "A") as ledger:
            for step in range(1, steps + 1):
                draw(ledger, step)
            os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(in_child(play), 0)
    assert log_of(path).stat().st_size > 0


def log_of(path):
    return path.with_name(f"{path.name}-wal")


def test_a_second_name_is_refused(tmp_path):
    with ledger_at(tmp_path / "ledger.db", "A") as ledger:
        draw(ledger)
        os.link(tmp_path / "ledger.db", tmp_path / "other.db")
        with pytest.raises(LedgerFileError, match="2 names"):
            drawn(tmp_path / "other.db")
        with pytest.raises(LedgerFileError, match="2 names"):
            draw(ledger, 2)
        assert not (tmp_path / "other.db-wal").exists(), "was opened"
        (tmp_path / "other.db").unlink()
        draw(ledger, 2)


def test_a_symbolic_link_is_the_file_itself(tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
    with ledger_at(tmp_path / "ledger.db", "A") as ledger:
        draw(ledger)
        with pytest.raises(NoiseReuseError):
            drawn(tmp_path / "link.db")


def test_a_symbolic_link_that_leads_elsewhere_by_now_is_refused(tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "ledger.db")
    with ledger_at(tmp_path / "new.db", "A"):
        pass
    with ledger_at(link, "A") as ledger:
        draw(ledger)
        link.unlink()
        link.symlink_to(tmp_path / "new.db")
        with pytest.raises(LedgerFileError, match="another file"):
            draw(ledger, 2)


MOUNTED = """
mount --bind {folder}/ledger.db {folder}/mounted.db
mkdir {folder}/folder && mount --bind {folder} {folder}/folder
exec {python} -c "
from tests.privacy import test_ledger_files as t
try:
    t.drawn('{folder}/mounted.db')
except t.LedgerFileError as error:
    assert 'mount' in str(error), error
else:
    raise SystemExit(3)
try:
    t.drawn('{folder}/folder/ledger.db')
except t.NoiseReuseError:
    print('refused')
"
"""


def test_a_file_that_is_a_mount_point_is_refused_and_a_folder_is_not(tmp_path):
    unshare = shutil.which("unshare")
    trial = unshare and subprocess.run([unshare, "-rm", "true"], check=False)
    if not trial or trial.returncode:
        pytest.skip("no mounts without rights")
    (tmp_path / "mounted.db").touch()
    with ledger_at(tmp_path / "ledger.db", "A") as ledger:
        draw(ledger)  # and stays open: what was drawn is in the log
        script = MOUNTED.format(folder=tmp_path, python=sys.executable)
        command = [unshare, "-rm", "sh", "-ec", script]
        told = subprocess.run(command, check=False, capture_output=True, text=True)
    assert told.stdout == "refused\n", told.stderr


@forks
def test_a_log_that_is_gone_after_a_crash_is_missed(tmp_path):
    path = tmp_path / "ledger.db"
    left_by_a_crash(path, steps=3)
    log_of(path).unlink()
    for _ in range(2):  # the first attempt must not have made it better
        with pytest.raises(LedgerFileError, match="-wal"):
            drawn(path)
    with pytest.raises(LedgerFileError, match="-wal"):
        Ledger.existing(path)


@forks
@pytest.mark.parametrize("left", [0, 16, 40])
def test_a_log_that_is_empty_is_missed(tmp_path, left):
    path = tmp_path / "ledger.db"
    left_by_a_crash(path)
    os.truncate(log_of(path), left)
    with pytest.raises(LedgerFileError, match="-wal"):
        drawn(path)


@forks
def test_a_log_that_somebody_brought_home_is_not_missed(tmp_path):
    """Any SQLite that opens a ledger after a crash copies its log into the file, and deletes it."""
    path = tmp_path / "ledger.db"
    left_by_a_crash(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM ledger_noise").fetchone() == (1,)
    assert not log_of(path).exists()
    with pytest.raises(NoiseReuseError):
        drawn(path)


@forks
def test_a_crash_alone_loses_nothing(tmp_path):
    left_by_a_crash(tmp_path / "ledger.db")
    with pytest.raises(NoiseReuseError):
        drawn(tmp_path / "ledger.db")


def test_a_log_that_is_removed_under_a_living_party_is_missed(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A") as ledger:
        draw(ledger)
        log_of(path).unlink()
        with pytest.raises(LedgerFileError, match="-wal"):
            draw(ledger, 2)
        with pytest.raises(LedgerError):  # SQLite's index of the log no longer fits
            drawn(path)


@pytest.mark.parametrize("with_log", [False, True])
def test_a_copy_is_refused(tmp_path, with_log):
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with ledger_at(path, "A") as ledger:
        shutil.copy(path, copy)
        if with_log:
            shutil.copy(log_of(path), log_of(copy))
        draw(ledger)
        with pytest.raises(LedgerFileError, match="copy" if with_log else "-wal"):
            drawn(copy)


def test_a_copy_of_a_closed_ledger_is_refused_until_it_is_the_only_one(tmp_path):
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with ledger_at(path, "A"):
        pass
    shutil.copy(path, copy)
    drawn(path)
    with pytest.raises(LedgerFileError, match="open it once as moved"):
        drawn(copy)
    with Ledger.existing(copy) as ledger, ledger.read() as connection:  # to look at it is no harm
        assert ledger.statement(connection, "A").charges == 0
        with pytest.raises(LedgerError, match="readonly"):
            draw(ledger)
    path.unlink()
    with ledger_at(copy, "A", moved=True, clock=Clock(5000.0)) as ledger:
        draw(ledger)
    with pytest.raises(NoiseReuseError):  # once is enough
        drawn(copy)


def test_a_file_that_was_renamed_is_the_same(tmp_path):
    drawn(tmp_path / "ledger.db")
    (tmp_path / "ledger.db").rename(tmp_path / "new.db")
    with pytest.raises(NoiseReuseError):
        drawn(tmp_path / "new.db")


def test_a_file_that_is_unlinked_or_replaced_while_open_is_missed(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A") as ledger:
        draw(ledger)
        path.unlink()
        for action in (lambda: draw(ledger, 2), lambda: ledger.read().__enter__()):
            with pytest.raises(LedgerFileError, match="gone"):
                action()
        path.write_bytes(b"")
        with pytest.raises(LedgerFileError, match="another file"):
            draw(ledger, 2)
        with pytest.raises(LedgerFileError, match="-wal"):  # what is left of the old one
            drawn(path)


def test_a_file_that_goes_during_a_transaction_is_missed_before_anything_is_sent(tmp_path):
    path = tmp_path / "ledger.db"

    def draw_and_lose(ledger):
        with ledger.begin() as connection:
            ledger.draw(connection, "A", "sum", 1, EVENT, lambda: np.ones(3))
            path.unlink()
        pytest.fail("would be sent")

    with ledger_at(path, "A") as ledger, pytest.raises(LedgerFileError, match="gone"):
        draw_and_lose(ledger)


def test_connections_that_are_not_the_ledgers_own_are_watched_too(tmp_path):
    path = tmp_path / "ledger.db"
    engine = sa.create_engine(f"sqlite:///{path}", hide_parameters=True)
    with ledger_at(engine, "A") as ledger, engine.connect() as connection:
        ledger.charge(connection, "A", "one", 1, single(0.1))
        os.link(path, tmp_path / "other.db")
        with pytest.raises(LedgerFileError):
            ledger.charge(connection, "A", "two", 1, single(0.1))
    engine.dispose()


@pytest.mark.parametrize("content", [None, b""])
def test_where_a_ledger_must_exist_none_is_made(tmp_path, content):
    path = tmp_path / "ledger.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger.open(path, "hospitals", must_exist=True)
    assert (path.read_bytes() if path.exists() else None) == content
    with ledger_at(tmp_path / "made.db", "A"):
        pass
    with Ledger.open(tmp_path / "made.db", "hospitals", must_exist=True):
        pass


def test_the_log_does_not_grow_for_ever_and_the_main_file_always_misses_it(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 1 << 16)
    path = tmp_path / "ledger.db"
    sizes = []
    with ledger_at(path, "A", synchronous="NORMAL") as ledger:
        for k in range(400):
            with ledger.begin() as connection:
                ledger.charge(connection, "A", f"one {k}", 1, single(0.001))
            if k % 40 == 0:
                copy = tmp_path / f"{k}.db"
                shutil.copy(path, copy)
                with pytest.raises(LedgerFileError, match="-wal"):
                    Ledger.open(copy, "hospitals", moved=True)
            sizes.append(log_of(path).stat().st_size)
    assert max(sizes) < 3 << 16
    with ledger_at(path, clock=Clock(5000.0)) as ledger, ledger.read() as connection:
        ledger.verify(connection)
        assert ledger.statement(connection, "A").charges == 400


def test_a_ledger_of_an_older_version_is_taken_over(tmp_path):
    path = tmp_path / "ledger.db"
    drawn(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM ledger_meta WHERE name NOT IN ('schema', 'federation')")
        connection.commit()
    with pytest.raises(NoiseReuseError):
        drawn(path)
    shutil.copy(path, tmp_path / "copy.db")
    with pytest.raises(LedgerFileError, match="copy"):
        drawn(tmp_path / "copy.db")


@forks
def test_two_parties_that_mark_the_log_at_once_do_not_undo_each_other(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A"):
        pass

    def write(number):
        files.LARGE = 0  # at every transaction
        with Ledger.open(path, "hospitals", synchronous="NORMAL") as ledger:
            for k in range(30):
                with ledger.begin() as connection:
                    ledger.charge(connection, "A", f"{number}, {k}", 1, single(0.001))
            os.kill(os.getpid(), signal.SIGKILL)

    for child in [in_child(lambda n=n: write(n)) for n in range(3)]:
        os.waitpid(child, 0)
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    with pytest.raises(LedgerFileError, match="-wal"):
        Ledger.open(copy, "hospitals", moved=True)
    with Ledger.open(path, "hospitals") as ledger, ledger.begin() as connection:
        ledger.verify(connection)
        assert ledger.statement(connection, "A").charges == 90
        ledger.open_account(connection, "B", CLAIM, EPSILON, DELTA)


def at_the_last_step_of_a_mark(ledger, action):
    """Let an action happen when the main file and the log both say that the log is needed."""
    files.LARGE = 0  # mark at every transaction
    begun = []

    def trace(statement):
        begun.extend([statement] * (statement == "BEGIN IMMEDIATE"))
        if len(begun) == 3:
            begun.append("happened")
            action()

    for driver in idle(ledger):
        driver.set_trace_callback(trace)


def idle(ledger):
    """The driver's connections that lie in the engine's pool."""
    ledger._database.close()
    with contextlib.ExitStack() as stack:
        lent = [
            stack.enter_context(ledger.engine.connect())
            for _ in range(ledger.engine.pool.checkedin())
        ]
        return [connection.connection.dbapi_connection for connection in lent]


@forks
@pytest.mark.parametrize("own_engine", [True, False])
def test_a_kill_in_the_middle_of_a_mark_raises_no_false_alarm(tmp_path, own_engine):
    path = tmp_path / "ledger.db"

    def play():
        with ledger_at(path, "A") as ledger:
            draw(ledger)
            at_the_last_step_of_a_mark(ledger, lambda: os.kill(os.getpid(), signal.SIGKILL))
            draw(ledger, 2)

    os.waitpid(in_child(play), 0)
    assert log_of(path).stat().st_size > 0
    if own_engine:
        with Ledger.open(path, "hospitals", clock=Clock(5000.0)):
            pass  # nothing is written, and the log is gone
        assert not log_of(path).exists()
    else:
        engine = sa.create_engine(f"sqlite:///{path}", hide_parameters=True)
        Ledger.open(engine, "hospitals", clock=Clock(5000.0))
        engine.dispose()  # and the ledger is never closed
    with pytest.raises(NoiseReuseError):
        drawn(path)


@pytest.mark.parametrize("one_writer", [False, True])
def test_a_time_out_in_the_middle_of_a_mark_raises_no_false_alarm(
    tmp_path, monkeypatch, one_writer
):
    monkeypatch.setattr(files, "LARGE", files.LARGE)
    path = tmp_path / "ledger.db"
    other = sqlite3.connect(tmp_path / "ledger.db", check_same_thread=False)
    settings = {"busy_timeout": 0.05, "one_writer": one_writer}
    with ledger_at(path, "A", **settings) as ledger:
        draw(ledger)
        at_the_last_step_of_a_mark(ledger, lambda: other.execute("BEGIN IMMEDIATE"))
        with pytest.raises(LedgerBusyError):
            draw(ledger, 2)
        other.close()
    assert not log_of(path).exists()
    with pytest.raises(NoiseReuseError):
        drawn(path)


@pytest.mark.parametrize("breaks", ["a PRAGMA", "a transaction", "a statement"])
def test_a_writer_keeps_no_connection_that_is_broken(tmp_path, breaks):
    with ledger_at(tmp_path / "ledger.db", "A", one_writer=True) as ledger:
        draw(ledger)

        def fail(waits):
            with ledger.begin(waits) as connection:
                connection.exec_driver_sql("SELECT 1")
                connection.connection.dbapi_connection.close()
                if breaks == "a statement":
                    connection.exec_driver_sql("SELECT 2")  # SQLAlchemy notices
                raise ZeroDivisionError

        with pytest.raises((ZeroDivisionError, sa.exc.ProgrammingError)):
            fail(waits=breaks != "a PRAGMA")
        assert ledger.engine.pool.checkedout() == 0
        draw(ledger, 2)


def test_a_connection_that_fails_as_a_writer_begins_is_given_back(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A", one_writer=True) as ledger:
        for driver in idle(ledger):
            driver.close()  # and it lies in the pool
        with pytest.raises(LedgerError, match="closed database"):
            draw(ledger)
        assert ledger.engine.pool.checkedout() == 0


def test_a_commit_that_fails_leaves_no_transaction_open(tmp_path, monkeypatch):
    """Its connection lies in the pool, and the next writer would wait for its lock."""
    with Ledger.open(tmp_path / "ledger.db", "hospitals", one_writer=True, busy_timeout=0.1) as one:

        def fail(_):
            raise sqlite3.OperationalError("disk I/O error")

        def write():
            with one.begin() as connection:
                connection.execute(sa.insert(META), {"name": "before", "value": "lost"})

        before = META.c.name == "before"
        with monkeypatch.context() as patch:
            patch.setattr(one.engine.dialect, "do_commit", fail)
            with pytest.raises(LedgerError):
                write()
        with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db", timeout=0.0)) as other:
            other.execute("BEGIN IMMEDIATE").close()
        with one.begin() as connection:
            assert connection.execute(sa.select(META).where(before)).first() is None


def test_two_prepared_transactions_each_begin_in_their_own_mode(tmp_path, monkeypatch):
    with ledger_at(tmp_path / "ledger.db", "A", one_writer=True) as ledger:
        draw(ledger)
        monkeypatch.setattr(files, "LARGE", 0)
        at_once, waits = ledger.begin(waits=False), ledger.begin()
        with pytest.raises(LedgerBusyError):
            at_once.__enter__()
        with waits:
            pass


def test_a_transaction_whose_ledger_was_closed_does_not_pass_for_committed(tmp_path):
    path = tmp_path / "ledger.db"

    def draw_and_close(ledger):
        with ledger.begin() as connection:
            ledger.draw(connection, "A", "sum", 1, EVENT, lambda: np.ones(3))
            ledger.close()

    with (
        ledger_at(path, "A", one_writer=True) as ledger,
        pytest.raises(LedgerError, match="rolled back"),
    ):
        draw_and_close(ledger)
    drawn(path)  # nothing was drawn before


def test_a_writer_refuses_a_second_transaction_and_keeps_the_first(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A", one_writer=True) as ledger, ledger.begin() as connection:
        ledger.draw(connection, "A", "sum", 1, EVENT, lambda: np.ones(3))
        with pytest.raises(LedgerError, match="has begun"):
            ledger.begin().__enter__()
    with pytest.raises(NoiseReuseError):
        drawn(path)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("sqlite:///a/b.db", "a/b.db"),
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite:///file:a/b.db?uri=true", "a/b.db"),
        ("sqlite:///file:/a/b.db?uri=true", "/a/b.db"),
        ("sqlite:///file:///a/b%20c.db?uri=true", "/a/b c.db"),
        ("sqlite:///file://localhost/a/b.db?uri=true", "/a/b.db"),
        (sa.URL.create("sqlite", database="a%20b.db", query={"uri": "true"}), "a%20b.db"),
        ("sqlite:///file:a.db?mode=memory&uri=true", None),
        ("sqlite://", None),
        ("postgresql://host/a", None),
    ],
)
def test_the_path_in_an_address_is_the_file_that_is_opened(address, path):
    assert files.path_of(sa.make_url(address)) == path


def test_a_file_that_is_named_with_its_host_is_checked(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(path, "A"):
        pass
    os.link(path, tmp_path / "other.db")
    with pytest.raises(LedgerFileError, match="2 names"):
        Ledger.open(f"sqlite:///file://localhost{path}?uri=true", "hospitals")
    with pytest.raises(LedgerError, match="address"):
        Ledger.open("sqlite:///file://[x/a.db?uri=true", "hospitals")
