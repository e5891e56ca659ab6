"""Opening a ledger: find or make its file, check it, bind the ledger to it, and begin transactions.

Every transaction is watched: the file is checked before and after it, see :mod:`.files`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError

from fedbandits.errors import LedgerBusyError, LedgerCorruptError, LedgerError, LedgerFileError
from fedbandits.privacy.ledger import checks
from fedbandits.privacy.ledger.database import (
    AT_ONCE,
    DEFERRED,
    IMMEDIATE,
    Mode,
    engine_that_reads,
    named_errors,
    transaction,
    url_of,
)
from fedbandits.privacy.ledger.files import (
    WATCHED,
    LedgerFile,
    checkpoint_if_due,
    is_file,
    is_whole,
    path_of,
    require_log,
    state_whole,
)
from fedbandits.privacy.ledger.tables import META, write_meta

#: Row of ``ledger_meta`` that identifies the ledger's file.
_FILE = "file"


@contextlib.contextmanager
def watched(
    file: LedgerFile | None, begun: contextlib.AbstractContextManager[Connection]
) -> Iterator[Connection]:
    """Check the file before and after a transaction: charges in a lost file are lost."""
    with begun as connection:
        if file is None:
            yield connection
            return
        seen = connection.info
        file.check(seen)
        seen[WATCHED] = True
        try:
            yield connection
        finally:
            del seen[WATCHED]
    file.check(seen)


class Writer:
    """One connection to a file, kept for write transactions that follow one another.

    To take a connection from the engine and to give it back takes longer than a small transaction.
    Statements of SQLAlchemy join the transaction. One thread at a time writes.
    """

    def __init__(self, engine: Engine, file: LedgerFile) -> None:
        self._engine, self._file = engine, file
        self._connection: Connection | None = None
        self._driver: Any = None
        #: Milliseconds that the engine's connections wait for other writers, and this one just now.
        self._patience = self._timeout = 0

    def begin(self, mode: Mode) -> Connection:
        """Begin a transaction; :meth:`commit` or :meth:`close` ends it."""
        if self._connection is not None and WATCHED in self._connection.info:
            raise LedgerError("a transaction of this ledger has begun, and one thread writes")
        try:
            with named_errors():
                connection = self._connection or self._connect(mode)
                self._wait(0 if mode == AT_ONCE else self._patience)
                checkpoint_if_due(connection, self._file, mode)
                self._driver.execute("BEGIN IMMEDIATE")
            self._file.check(connection.info)
        except BaseException:
            self.close()
            raise
        connection.info[WATCHED] = True
        return connection

    def commit(self, connection: Connection) -> None:
        """Commit the transaction; raises LedgerError if it was rolled back in the meantime."""
        if connection is not self._connection:
            raise LedgerError("the ledger was closed, and this transaction was rolled back")
        del connection.info[WATCHED]
        try:
            with named_errors():
                if connection.in_transaction():
                    connection.commit()
                else:
                    self._driver.commit()
            self._file.check(connection.info)
        except BaseException:
            self.close()
            raise

    def close(self, connection: Connection | None = None) -> None:
        """Give the connection back to the engine; a transaction that has begun is rolled back.

        With ``connection``, only if this connection is still in use. A connection that fails here
        is discarded.
        """
        current = self._connection
        if current is None or connection not in (None, current):
            return
        self._connection = None
        try:
            if not current.invalidated:
                current.info.pop(WATCHED, None)
                self._driver.rollback()  # after a commit that failed SQLAlchemy does not
                self._wait(self._patience)
            current.close()
        except (sqlite3.Error, DBAPIError) as error:
            if not current.closed:  # SQLAlchemy may have closed it
                current.invalidate(error)
                current.close()

    def _connect(self, mode: Mode) -> Connection:
        if mode == AT_ONCE:
            raise LedgerBusyError("no connection is open that could be used at once")
        connection = self._connection = self._engine.connect()  # from now on, close gives it back
        self._driver = connection.connection.dbapi_connection
        (self._patience,) = self._driver.execute("PRAGMA busy_timeout").fetchone()
        self._timeout = self._patience
        return connection

    def _wait(self, timeout: int) -> None:
        """Set how long the connection waits for other writers."""
        if timeout != self._timeout:
            self._driver.execute(f"PRAGMA busy_timeout = {timeout}").close()
            self._timeout = timeout


class WriterTransaction(contextlib.AbstractContextManager[Connection]):
    """A writer's transaction: begun when it is entered, committed or rolled back when it is left.

    It is rolled back after an error.
    """

    def __init__(self, writer: Writer, mode: Mode) -> None:
        self._writer, self._mode = writer, mode

    def __enter__(self) -> Connection:
        self._connection = self._writer.begin(self._mode)
        return self._connection

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self._writer.commit(self._connection)
        else:
            self._writer.close(self._connection)


class LedgerDatabase:
    """The database of a ledger, and the file of the database if it has one.

    With ``one_writer`` one thread at a time writes, and its connection to a file is kept.
    """

    def __init__(self, engine: Engine, file: LedgerFile | None, one_writer: bool = False) -> None:
        self.engine, self.file = engine, file
        #: Whether the ledger was found in order, and bound to its file.
        self.is_bound = False
        self._writer = None if file is None or not one_writer else Writer(engine, file)

    def begin(self, waits: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """Begin a write transaction; see :meth:`.book.Ledger.begin`."""
        mode = IMMEDIATE if waits else AT_ONCE
        if self._writer is not None:
            return WriterTransaction(self._writer, mode)
        return watched(self.file, transaction(self.engine, mode))

    def close(self) -> None:
        """Give the writer's connection back, and leave a whole file.

        A database that was refused when it was opened is not changed. Where the file is lost, or
        cannot be written, it stays as it is; the next process that opens it looks again.
        """
        self._give_back()
        if self.is_bound and self.file is not None:
            with contextlib.suppress(LedgerError):
                self.file.check({})  # to connect to a file that is gone would make a new one
                make_whole(self, self.file)
            self._give_back()

    def read(self) -> contextlib.AbstractContextManager[Connection]:
        """Begin a transaction that reads; see :meth:`.book.Ledger.read`."""
        return watched(self.file, transaction(self.engine, DEFERRED))

    def _give_back(self) -> None:
        if self._writer is not None:
            self._writer.close()


def make_whole(database: LedgerDatabase, file: LedgerFile) -> None:
    """Complete a mark of the log that was interrupted; see :mod:`.files`."""
    with named_errors(), database.read() as connection:
        if is_whole(connection):
            return
    with named_errors(), database.begin() as connection:
        state_whole(connection, file)


def require_file(where: str | os.PathLike[str] | Engine) -> None:
    """Refuse a missing file, instead of creating one."""
    path = path_of(where.url if isinstance(where, Engine) else url_of(where))
    if path is not None and not (is_file(path) and os.path.getsize(path)):
        raise _no_ledger(path)


def prepare(database: LedgerDatabase, federation: str, must_exist: bool, moved: bool) -> None:
    """Find or make the tables of a federation, check them, and bind the ledger to its file.

    Raises LedgerError, see :meth:`.book.Ledger.open`.
    """
    with named_errors(), database.read() as connection:
        exists = checks.is_ledger(connection)
    if not exists and must_exist:
        raise _no_ledger("the database")
    if not exists:
        with named_errors(), database.begin() as connection:
            checks.create(connection, federation)
    look_over(database, federation)
    if database.file is not None:
        _bind(database, database.file, moved)
        make_whole(database, database.file)
    database.is_bound = True


def look_over(database: LedgerDatabase, federation: str) -> None:
    """Check version, federation, log, pages and totals; nothing is written."""
    with named_errors(), database.read() as connection:
        if database.file is not None and checks.is_ledger(connection):
            require_log(connection, database.file)
        checks.check_opened(connection, federation)


def _bind(database: LedgerDatabase, file: LedgerFile, moved: bool) -> None:
    """Refuse a copy of a ledger in another file: it lacks the releases of the other copy.

    The file is known by its inode. A copy over the same file, such as ``cp backup.db ledger.db``,
    keeps the inode, and is accepted.
    """
    with named_errors(), database.read() as connection:
        written = connection.execute(sa.select(META.c.value).where(META.c.name == _FILE)).scalar()
    if written == file.inode:
        return
    if written is not None and not moved:
        raise LedgerFileError(
            f"{file.path}: this file is a copy, or it was moved. Two copies would spend one "
            "budget twice. If this is the latest copy and no other will be used again, open it "
            "once as moved (fedbandits party run --moved)"
        )
    with named_errors(), database.begin() as connection:
        write_meta(connection, _FILE, file.inode)


def _no_ledger(where: str) -> LedgerError:
    return LedgerError(f"{where}: there is no ledger")


def federation_at(path: str | os.PathLike[str]) -> str:
    """Return the federation of the ledger in a file; no file is created.

    Raises LedgerError if there is no such file, and LedgerCorruptError if the file is no ledger, or
    does not name its federation.
    """
    if not is_file(path):
        raise _no_ledger(os.fspath(path))
    engine = engine_that_reads(path)
    try:
        with named_errors(), engine.connect() as connection:
            return _federation_of(connection)
    finally:
        engine.dispose()


def _federation_of(connection: Connection) -> str:
    federation = None
    if checks.is_ledger(connection):
        row = sa.select(META.c.value).where(META.c.name == "federation")
        federation = connection.execute(row).scalar()
    if federation is None:
        raise LedgerCorruptError("this is not a ledger, or it does not name its federation")
    return str(federation)
