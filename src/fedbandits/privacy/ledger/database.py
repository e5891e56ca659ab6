"""Connections of a privacy ledger: durable, one writer at a time, with the ledger's own errors."""

from __future__ import annotations

import os
import pathlib
import sqlite3
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from fedbandits.errors import LedgerBusyError, LedgerCorruptError, LedgerError

Synchronous = Literal["NORMAL", "FULL", "EXTRA"]
Mode = Literal["IMMEDIATE", "DEFERRED", "AT ONCE"]
#: A transaction that takes SQLite's write lock with the first write.
DEFERRED: Mode = "DEFERRED"
#: A transaction that takes the lock at the beginning, and waits for it.
IMMEDIATE: Mode = "IMMEDIATE"
#: A transaction that takes the lock at the beginning, but never waits for a writer or for the disk.
AT_ONCE: Mode = "AT ONCE"
_MODE = "fedbandits_ledger_mode"
#: Seconds between two attempts.
_PAUSE = 0.005


class Compiled:
    """A Core statement compiled in advance, for frequent or secret statements.

    It runs on the driver's own cursor, in the connection's transaction: in a third of the time, and
    without the engine's log, which would show rows and parameters. Its values and results must need
    no conversion: strings, numbers, bytes. ``columns`` are the columns of an INSERT.
    """

    def __init__(
        self, statement: Any, dialect: sa.Dialect, columns: list[str] | None = None
    ) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        self._columns = columns or []
        self._text, self._order = str(compiled), compiled.positiontup
        self._error = dialect.loaded_dbapi.Error

    def first(self, connection: Connection, values: dict[str, Any]) -> Any:
        """Return the first row as a tuple, or None; ``values`` are by name.

        Raises LedgerError if the database refuses the statement.
        """
        return self._run(connection, values, lambda cursor: cursor.fetchone())

    def every(self, connection: Connection, values: dict[str, Any]) -> list[Any]:
        """Return all rows; errors as in :meth:`first`."""
        return list(self._run(connection, values, lambda cursor: cursor.fetchall()))

    def run(self, connection: Connection, values: dict[str, Any]) -> int:
        """Write rows, and return their number; errors as in :meth:`first`."""
        return int(self._run(connection, values, lambda cursor: cursor.rowcount))

    def many(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Run the statement once for each row; errors as in :meth:`first`."""
        order = self._order
        given = rows if order is None else [[row[name] for name in order] for row in rows]
        self._run_each(connection, given)

    def insert(self, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows with values in the order of the columns; errors as in :meth:`first`."""
        if self._order != self._columns:
            self.many(connection, [dict(zip(self._columns, row, strict=True)) for row in rows])
        else:  # without conversion, because there may be many rows
            self._run_each(connection, rows)

    def _run_each(self, connection: Connection, given: Sequence[Any]) -> None:
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(self._text, given)
        except (self._error, UnicodeDecodeError) as error:
            raise named(error) from error
        finally:
            cursor.close()

    def _run(
        self, connection: Connection, values: dict[str, Any], result: Callable[[Any], Any]
    ) -> Any:
        if not connection.in_transaction():
            connection.begin()
        order = self._order
        parameters: Any = values if order is None else [values[name] for name in order]
        cursor = connection.connection.cursor()
        try:
            cursor.execute(self._text, parameters)
            return result(cursor)
        except (self._error, UnicodeDecodeError) as error:
            raise named(error) from error
        finally:
            cursor.close()


def named(error: BaseException) -> LedgerError:
    """Convert a driver's error to an error of the ledger."""
    kind, what = type(error).__name__, str(error)
    if (kind == "IntegrityError" and "NULL" not in what) or "locked" in what:
        return LedgerBusyError(f"another process is writing to the ledger, try again: {what}")
    # SQLite's bare DatabaseError: no database, or malformed. The others: tables of another form.
    if kind == "DatabaseError" or "no such" in what or "decode" in what:
        return LedgerCorruptError(f"the ledger is damaged, or is none: {what}")
    return LedgerError(f"the ledger's database failed: {what}")


@contextmanager
def named_errors() -> Iterator[None]:
    """Convert errors that the database raises in the block."""
    try:
        yield
    except DBAPIError as error:
        error.hide_parameters = True  # the parameters may be noise
        raise named(error.orig or error) from error
    # The driver's own, from a listener or a writer. SQLite quotes a damaged schema in its message.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise named(error) from error


def engine_at(
    where: str | os.PathLike[str], synchronous: Synchronous, busy_timeout: float
) -> Engine:
    """Make an engine for a path or a URL; SQLite's engine is durable, with one writer at a time.

    Raises LedgerError if no database can be made, or its driver is missing.
    """
    url = url_of(where)
    try:
        if url.get_backend_name() != "sqlite":
            return sa.create_engine(url, hide_parameters=True)
        touch(url)
        engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": busy_timeout})
    except (OSError, ArgumentError, NoSuchModuleError, ImportError) as error:
        raise LedgerError(f"the ledger cannot be opened: {error}") from error

    def configure(connection: Any, _record: object) -> None:
        _keep_a_log(connection, busy_timeout)
        connection.execute(f"PRAGMA synchronous = {synchronous}").close()

    sa.event.listen(engine, "connect", configure)
    return engine


def _keep_a_log(connection: Any, timeout: float) -> None:
    """Switch the driver's connection to a write-ahead log, and try for so many seconds.

    SQLite does not let two processes wait for each other in this switch.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def engine_that_reads(path: str | os.PathLike[str]) -> Engine:
    """Make an engine that cannot change the file, which may be no ledger of this program."""
    quoted = urllib.parse.quote(os.path.abspath(path))
    url = URL.create("sqlite", database=f"file:{quoted}", query={"mode": "ro", "uri": "true"})
    return sa.create_engine(url, hide_parameters=True)


def url_of(where: str | os.PathLike[str]) -> URL:
    """Return the address of a path, or of a text; raises LedgerError for an invalid address."""
    text = os.fspath(where)
    if isinstance(where, str) and "://" in where:
        try:
            return make_url(where)
        except (ArgumentError, ValueError) as error:
            raise LedgerError("the ledger's address cannot be read") from error
    return URL.create("sqlite", database=text)


def touch(url: URL) -> None:
    """Create the file with access for its owner only, because it will hold noise.

    SQLite's further files get the same access.
    """
    if url.database and url.database != ":memory:" and "uri" not in url.query:
        path = pathlib.Path(url.database)
        path.touch(mode=0o600)
        if path.stat().st_size == 0:
            path.chmod(0o600)


def begin_sqlite(connection: Connection) -> None:
    """Take SQLite's write lock now, not at the first write: reads until then could be stale."""
    driver: Any = connection.connection.dbapi_connection
    if driver.in_transaction:
        return
    if (mode := mode_of(connection)) == AT_ONCE:
        _begin_at_once(driver)
    else:
        connection.exec_driver_sql(f"BEGIN {mode}")


def _begin_at_once(driver: Any) -> None:
    """Take the write lock; raises LedgerBusyError if another process has it."""
    (timeout,) = driver.execute("PRAGMA busy_timeout").fetchone()
    driver.execute("PRAGMA busy_timeout = 0").close()
    try:
        driver.execute("BEGIN IMMEDIATE").close()
    except sqlite3.Error as error:
        raise named(error) from error
    finally:
        driver.execute(f"PRAGMA busy_timeout = {timeout}").close()


def mode_of(connection: Connection) -> Mode:
    """Return the mode in which a connection's next transaction begins."""
    mode: Mode = connection.get_execution_options().get(_MODE, IMMEDIATE)
    return mode


def _has_idle(engine: Engine) -> bool:
    """Tell whether a connection is open and unused; opening one may take long."""
    return isinstance(engine.pool, sa.QueuePool) and engine.pool.checkedin() > 0


@contextmanager
def transaction(engine: Engine, mode: Mode) -> Iterator[Connection]:
    """Connect in a transaction, which is committed at the end and rolled back after an error.

    Raises LedgerBusyError if others write for longer than the engine waits, or if a transaction in
    the mode AT_ONCE cannot begin at once.
    """
    if mode == AT_ONCE and not _has_idle(engine):
        raise LedgerBusyError("no connection is open that could be used at once")
    with named_errors():
        connection = engine.connect()
    with connection:
        with named_errors():
            connection = connection.execution_options(**{_MODE: mode})
            connection.begin()
            if (
                connection.dialect.name == "sqlite"
            ):  # nothing to do if the engine's listener has done it
                begin_sqlite(connection)
        yield connection
        with named_errors():
            connection.commit()
