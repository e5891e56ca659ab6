"""Opening a ledger: it is found or made, checked, and bound to its file and its log.

The main file says whether it needs its write-ahead log. The row ``log`` in ``ledger_meta`` is
*needed* in the main file and *whole* in the log. Whoever reads both finds *whole*; whoever has the
main file alone finds *needed*. When SQLite takes the log in, at the last close or after a crash,
*whole* comes into the main file with all that was charged.

For that, nothing may take the log in unnoticed while the ledger is used: SQLite is told not to,
and :func:`_mark` does it. It lets *needed* through, and nothing that comes after.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from fedbandits.errors import LedgerBusyError, LedgerError, LedgerFileError
from fedbandits.privacy.ledger import checks
from fedbandits.privacy.ledger.database import (
    AT_ONCE,
    DEFERRED,
    begin_sqlite,
    mode_of,
    named,
    named_errors,
    url_of,
)
from fedbandits.privacy.ledger.files import (
    SEEN_LOG,
    LedgerFile,
    Store,
    identity,
    is_file,
    path_of,
)
from fedbandits.privacy.ledger.tables import META, write_meta

#: Row of ``ledger_meta`` that says in which file the ledger lies.
_FILE = "file"
#: Name of the row, and its values.
LOG, NEEDED, WHOLE = "log", "needed", "whole"
#: Bytes from which on the log is taken in.
LARGE = 4 << 20
_MARKED = "fedbandits_ledger_marked"
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger_meta'"
_READ = "SELECT value FROM ledger_meta WHERE name = 'log'"
_WRITE = "INSERT OR REPLACE INTO ledger_meta (name, value) VALUES ('log', ?)"


def require_file(where: str | os.PathLike[str] | Engine) -> None:
    """Refuse to make a file where there is none."""
    path = path_of(where.url if isinstance(where, Engine) else url_of(where))
    if path is not None and not (is_file(path) and os.path.getsize(path)):
        raise _none(path)


def equip(engine: Engine, file: LedgerFile | None) -> None:
    """Give an engine of the ledger's own what its transactions begin with."""
    if file is not None:
        _keep_log(engine, file)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "begin", begin_sqlite)


def prepare(store: Store, federation: str, must_exist: bool, moved: bool) -> None:
    """Find the tables of a federation or make them, check them, and bind them to their file.

    Raises LedgerError, see :meth:`.book.Ledger.open`.
    """
    with named_errors(), store.read() as connection:
        exists = checks.is_ledger(connection)
    if not exists and must_exist:
        raise _none("the database")
    if not exists:
        with named_errors(), store.begin() as connection:
            checks.create(connection, federation)
    look_over(store, federation)
    if store.file is not None:
        _bind(store, store.file, moved)


def look_over(store: Store, federation: str) -> None:
    """Check version, federation, log, pages and totals; nothing is written."""
    with named_errors(), store.read() as connection:
        if store.file is not None and checks.is_ledger(connection):
            _require_log(connection, store.file)
        checks.check_opened(connection, federation)


def _bind(store: Store, file: LedgerFile, moved: bool) -> None:
    """Refuse a copy of a ledger: releases of the other copy are not in this one."""
    with named_errors(), store.read() as connection:
        written = connection.execute(sa.select(META.c.value).where(META.c.name == _FILE)).scalar()
    if written == file.inode:
        return
    if written is not None and not moved:
        raise LedgerFileError(
            f"{file.path}: this file is a copy, or it was moved. Two copies would spend one "
            "budget twice. If this is the latest copy and no other will be used again, open it "
            "once as moved (fedbandits party run --moved)"
        )
    with named_errors(), store.begin() as connection:
        write_meta(connection, _FILE, file.inode)


def _none(where: str) -> LedgerError:
    return LedgerError(f"{where}: no ledger there, and none was to be made")


def _keep_log(engine: Engine, file: LedgerFile) -> None:
    """Mark the log before the first write of every connection, and whenever it is large."""

    def configure(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA wal_autocheckpoint = 0").close()
        connection.execute("PRAGMA journal_size_limit = 0").close()  # shrinks when it begins anew
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()  # opens the log
        record.info[SEEN_LOG] = identity(file.log)

    def before(connection: Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        if driver.in_transaction or (mode := mode_of(connection)) == DEFERRED:
            return
        small = file.log_size() <= LARGE and not file.log_is_old
        if _MARKED in connection.info and small:
            return
        if mode == AT_ONCE:
            raise LedgerBusyError("the log is to be taken in first, which waits for the disk")
        file.check(connection.info)
        try:
            if _mark(driver, file.path):
                connection.info[_MARKED] = True
                file.log_is_old = False
        except sqlite3.Error as error:
            driver.rollback()
            raise named(error) from error

    sa.event.listen(engine, "connect", configure)
    sa.event.listen(engine, "begin", before)  # the first listener: the next one begins


def _mark(driver: sqlite3.Connection, path: str) -> bool:
    """Make the main file say that the log is needed; whether that was possible now.

    Readers that hold on to an older state, and a ledger that has no tables yet, prevent it.
    """
    while True:
        driver.execute("BEGIN IMMEDIATE")
        if driver.execute(_EXISTS).fetchone() is None:
            driver.rollback()
            return False
        if driver.execute(_READ).fetchone() == (NEEDED,):
            break
        driver.execute(_WRITE, (NEEDED,))
        driver.commit()
    # The write lock is held: nobody can commit anything that would come along.
    with contextlib.closing(sqlite3.connect(path)) as other:
        _, frames, taken = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    driver.rollback()
    # Begun only now, so that the log may start anew. What others commit first finds its main file
    # marked, too.
    driver.execute("BEGIN IMMEDIATE")
    driver.execute(_WRITE, (WHOLE,))
    driver.commit()
    return bool(frames == taken)


def _require_log(connection: Connection, file: LedgerFile) -> None:
    """Refuse, by LedgerFileError, a main file that a crash has left without its log."""
    if connection.exec_driver_sql(_READ).scalar() != NEEDED or file.holds_log():
        return
    if _is_missing(file):
        raise LedgerFileError(
            f"{file.path}: its log (-wal) is missing, and with it the latest charges; put it back "
            "beside the file; without it nothing may be released from this ledger"
        )


def _is_missing(file: LedgerFile) -> bool:
    """Tell whether the log is missing, seen while nobody writes.

    A writer that begins the log anew writes its head first. For that moment it looks like none.
    """
    try:
        with contextlib.closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            return other.execute(_READ).fetchone() == (NEEDED,) and not file.holds_log()
    except sqlite3.OperationalError:  # a file that cannot be written to: nobody is writing
        return not file.holds_log()
