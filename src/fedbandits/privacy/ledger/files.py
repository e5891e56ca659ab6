"""The file of a ledger: it has one name, and must stay the same file.

SQLite keeps its log beside the file's *name*, and its locks with the file. A file with two names
has two logs, and commits under one name are not seen under the other.

Opening a ledger finds or makes the file, checks it, and binds the ledger to its file and its log.
The main file shows whether it needs its write-ahead log. The row ``log`` in ``ledger_meta`` is
*needed* in the main file and *whole* in the log. A reader of both finds *whole*; a reader of the
main file alone finds *needed*. When SQLite takes the log in, at the last close or after a crash,
*whole* comes into the main file with all charges.

Therefore nothing may take the log in unnoticed while the ledger is used: SQLite is configured not
to, and :func:`_mark` does it. It takes *needed* in, and no later change.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import stat
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from fedbandits.errors import LedgerBusyError, LedgerCorruptError, LedgerError, LedgerFileError
from fedbandits.privacy.ledger import checks
from fedbandits.privacy.ledger.database import (
    AT_ONCE,
    DEFERRED,
    IMMEDIATE,
    Mode,
    begin_sqlite,
    engine_that_reads,
    mode_of,
    named,
    named_errors,
    touch,
    transaction,
    url_of,
)
from fedbandits.privacy.ledger.tables import META, write_meta

#: Key under which a connection notes the log that it has opened.
SEEN_LOG = "fedbandits_ledger_log"
_WATCHED = "fedbandits_ledger_watched"
_Identity = tuple[int, int]


class LedgerFile:
    """A ledger's file in SQLite, checked before it is opened; the file exists.

    Raises LedgerFileError if the file has several names, is a mount point, or is empty beside a
    log.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        #: Whether the log holds deleted values, and must begin anew; and its bytes when last seen.
        self.log_is_old, self.log_size = False, 0
        self.log = f"{os.path.realpath(path)}-wal"  # SQLite follows links, too
        self._identity = self._look()
        if _is_mount_point(os.path.realpath(path)):
            raise LedgerFileError(
                f"{path}: this file is a mount point, and its log lies elsewhere: mount the folder"
            )
        if not os.path.getsize(path) and _size(self.log):
            raise LedgerFileError(
                f"{path}: is empty, but a log (-wal) lies beside it: its ledger is gone; put the "
                "ledger back, or move the log away if nothing was ever released from it"
            )

    @classmethod
    def of(cls, url: URL) -> Self | None:
        """Find or make the file of a database's address; None in memory, or elsewhere."""
        path = path_of(url)
        if path is None or os.path.isdir(path):
            return None
        try:
            touch(url)
            return cls(path)
        except OSError as error:
            raise LedgerError(f"the ledger cannot be opened: {error}") from error

    @property
    def inode(self) -> str:
        """Number that distinguishes the file from a copy on the same machine."""
        return str(self._identity[1])

    def check(self, seen: Mapping[str, Any]) -> None:
        """Refuse, by LedgerFileError, a file or a log that differs from the opened one.

        ``seen`` are the notes of the connection: ``connection.info``.
        """
        if self._look() != self._identity:
            raise LedgerFileError(
                f"{self.path}: this is another file than the one that was opened; put the "
                "ledger back, and do not send releases before that"
            )
        try:
            log = os.stat(self.log)
        except OSError:
            found, self.log_size = None, 0
        else:
            found, self.log_size = (log.st_dev, log.st_ino), log.st_size
        if SEEN_LOG in seen and seen[SEEN_LOG] != found:
            raise LedgerFileError(
                f"{self.path}: its log (-wal) was removed or replaced while it was open; "
                "charges that were only in the log are lost: release nothing more from this ledger"
            )

    def holds_log(self) -> bool:
        """Tell whether the log holds a change, by the salt of its first frame."""
        try:
            with open(self.log, "rb") as stream:
                head = stream.read(56)
        except OSError:
            return False
        return len(head) == 56 and head[16:24] == head[40:48]  # both have the log's salt

    def _look(self) -> _Identity:
        try:
            status = os.stat(self.path)
        except OSError:
            raise LedgerFileError(
                f"{self.path}: the ledger's file is gone; put it back, and do not send releases "
                "before that"
            ) from None
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise LedgerFileError(
                f"{self.path}: this file has {status.st_nlink} names (hard links), and each name "
                "would have its own log; delete all names but one"
            )
        return status.st_dev, status.st_ino


def check(file: LedgerFile | None, connection: Connection) -> None:
    """Check the file, unless :func:`watched` does; see :meth:`LedgerFile.check`."""
    if file is not None and _WATCHED not in connection.info:
        file.check(connection.info)


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
        seen[_WATCHED] = True
        try:
            yield connection
        finally:
            del seen[_WATCHED]
    file.check(seen)


class Writer:
    """One connection to a file, kept for write transactions that follow one another.

    To take a connection from the engine and to give it back takes longer than a small transaction.
    A transaction begins when the writer is entered, and is committed when the writer is left; after
    an error it is rolled back. Statements of SQLAlchemy join it. One thread at a time writes.
    """

    def __init__(self, engine: Engine, file: LedgerFile) -> None:
        self._engine, self._file = engine, file
        self._connection: Connection | None = None
        self._driver: Any = None
        self._mode: Mode = IMMEDIATE
        #: Milliseconds that the engine's connections wait for other writers, and this one just now.
        self._patience = self._timeout = 0

    def transaction(self, mode: Mode) -> Self:
        """Choose how the transaction begins that is entered next."""
        self._mode = mode
        return self

    def __enter__(self) -> Connection:
        connection = self._connection or self._connect()
        try:
            self._wait(0 if self._mode == AT_ONCE else self._patience)
            take_log_in(connection, self._file, self._mode)
            self._run(self._driver.execute, "BEGIN IMMEDIATE")
            self._file.check(connection.info)
        except BaseException:
            self.close()
            raise
        connection.info[_WATCHED] = True
        return connection

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        connection = self._connection
        if connection is None or error is not None:
            self.close()  # the next transaction has a connection without a history
            return
        del connection.info[_WATCHED]
        try:
            if connection.in_transaction():
                with named_errors():
                    connection.commit()
            else:
                self._run(self._driver.commit)
            self._file.check(connection.info)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection back to the engine; a transaction that has begun is rolled back."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.info.pop(_WATCHED, None)
        self._wait(self._patience)
        connection.close()

    def _connect(self) -> Connection:
        if self._mode == AT_ONCE:
            raise LedgerBusyError("no connection is open that could be used at once")
        with named_errors():
            self._connection = connection = self._engine.connect()
        self._driver = connection.connection.dbapi_connection
        (self._patience,) = self._driver.execute("PRAGMA busy_timeout").fetchone()
        self._timeout = self._patience
        return connection

    def _wait(self, timeout: int) -> None:
        """Set how long the connection waits for other writers."""
        if timeout != self._timeout:
            self._driver.execute(f"PRAGMA busy_timeout = {timeout}").close()
            self._timeout = timeout

    @staticmethod
    def _run(work: Callable[..., Any], *arguments: str) -> None:
        try:
            work(*arguments)
        except sqlite3.Error as error:
            raise named(error) from error


class Store:
    """The database of a ledger, and the file of the database if it has one.

    With ``one_writer`` one thread at a time writes, and its connection to a file is kept.
    """

    def __init__(self, engine: Engine, file: LedgerFile | None, one_writer: bool = False) -> None:
        self.engine, self.file = engine, file
        self._writer = None if file is None or not one_writer else Writer(engine, file)

    def begin(self, waits: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """Begin a write transaction; see :meth:`.book.Ledger.begin`."""
        mode = IMMEDIATE if waits else AT_ONCE
        if self._writer is not None:
            return self._writer.transaction(mode)
        return watched(self.file, transaction(self.engine, mode))

    def close(self) -> None:
        """Give the writer's connection back."""
        if self._writer is not None:
            self._writer.close()

    def read(self) -> contextlib.AbstractContextManager[Connection]:
        """Begin a transaction that reads; see :meth:`.book.Ledger.read`."""
        return watched(self.file, transaction(self.engine, DEFERRED))


def path_of(url: URL) -> str | None:
    """Return the path in an address of SQLite's; None in memory, or for another database."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or url.query.get("mode") == "memory":
        return None
    if "uri" in url.query:
        name = urllib.parse.unquote(name.removeprefix("file:").partition("?")[0])
        name = name.removeprefix("//") if name.startswith("///") else name
    return None if name in ("", ":memory:") else name


def is_file(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file exists; raises LedgerError if a permission prevents the answer.

    The file is not opened: closing it again would end the locks of other users in this process.
    """
    try:
        exists = stat.S_ISREG(os.stat(path).st_mode)
    except PermissionError:
        readable = False
    except OSError:
        return False
    else:
        readable = not exists or os.access(path, os.R_OK)
    if not readable:
        raise LedgerError(
            f"{os.fspath(path)}: cannot be read (Permission denied); run this as the user to whom "
            "the file and its folder belong"
        )
    return exists


def identity(path: str) -> _Identity | None:
    """Return device and inode of a file, or None without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _is_mount_point(path: str) -> bool:
    try:
        return _mount_of(path) != _mount_of(os.path.dirname(path))
    except (AttributeError, OSError):  # no Linux, or no /proc
        return os.path.ismount(path)


def _mount_of(path: str) -> str:
    """Return the number of the mount that a path leads to.

    The descriptor only names the file: closing any other descriptor would end the locks that SQLite
    holds for this process.
    """
    descriptor = os.open(path, os.O_PATH)
    try:
        described = pathlib.Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    finally:
        os.close(descriptor)
    return next(line for line in described.splitlines() if line.startswith("mnt_id:"))


# ---------------------------------------------------------------- opening a ledger


#: Row of ``ledger_meta`` that identifies the ledger's file.
_FILE = "file"
#: Name of the row about the log, and its values.
LOG, NEEDED, WHOLE = "log", "needed", "whole"
#: Size of the log, in bytes, from which it is taken in.
LARGE = 4 << 20
_MARKED = "fedbandits_ledger_marked"
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger_meta'"
_READ = "SELECT value FROM ledger_meta WHERE name = 'log'"
_WRITE = "INSERT OR REPLACE INTO ledger_meta (name, value) VALUES ('log', ?)"


def require_file(where: str | os.PathLike[str] | Engine) -> None:
    """Refuse a missing file, instead of creating one."""
    path = path_of(where.url if isinstance(where, Engine) else url_of(where))
    if path is not None and not (is_file(path) and os.path.getsize(path)):
        raise _none(path)


def equip(engine: Engine, file: LedgerFile | None) -> None:
    """Set the start of transactions on an engine that the ledger has made."""
    if file is not None:
        _keep_log(engine, file)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "begin", begin_sqlite)


def prepare(store: Store, federation: str, must_exist: bool, moved: bool) -> None:
    """Find or make the tables of a federation, check them, and bind the ledger to its file.

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
    """Refuse a copy of a ledger: it lacks the releases of the other copy."""
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
        connection.execute(
            "PRAGMA journal_size_limit = 0"
        ).close()  # the log shrinks when it begins anew
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()  # opens the log
        record.info[SEEN_LOG] = identity(file.log)

    def before(connection: Connection) -> None:
        take_log_in(connection, file, mode_of(connection))

    sa.event.listen(engine, "connect", configure)
    sa.event.listen(engine, "begin", before)  # the first listener: the next one begins


def take_log_in(connection: Connection, file: LedgerFile, mode: Mode) -> None:
    """Take the log in before a transaction begins, if the log is not marked yet, large, or old.

    Raises LedgerBusyError if a transaction that begins at once would have to wait for that.
    """
    driver: Any = connection.connection.dbapi_connection
    if driver.in_transaction or mode == DEFERRED:
        return
    small = file.log_size <= LARGE and not file.log_is_old
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


def _mark(driver: sqlite3.Connection, path: str) -> bool:
    """Make the main file state that the log is needed; return whether that was possible now.

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
    # The write lock is held, so no other commit can be taken in.
    with contextlib.closing(sqlite3.connect(path)) as other:
        _, frames, taken = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    driver.rollback()
    # Begun only now, so that the log may start anew. If others commit first, the main file is
    # already marked.
    driver.execute("BEGIN IMMEDIATE")
    driver.execute(_WRITE, (WHOLE,))
    driver.commit()
    return bool(frames == taken)


def _require_log(connection: Connection, file: LedgerFile) -> None:
    """Refuse, by LedgerFileError, a main file without its log after a crash."""
    if connection.exec_driver_sql(_READ).scalar() != NEEDED or file.holds_log():
        return
    if _is_missing(file):
        raise LedgerFileError(
            f"{file.path}: its log (-wal) is missing, and with it the latest charges; put it back "
            "beside the file; without it nothing may be released from this ledger"
        )


def _is_missing(file: LedgerFile) -> bool:
    """Tell whether the log is missing, checked while nobody writes.

    A writer that begins the log anew writes its head first. For that moment the log seems missing.
    """
    try:
        with contextlib.closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            return other.execute(_READ).fetchone() == (NEEDED,) and not file.holds_log()
    except sqlite3.OperationalError:  # the file is not writable, so nobody is writing
        return not file.holds_log()


def federation_at(path: str | os.PathLike[str]) -> str:
    """Return the federation of the ledger in a file; no file is created.

    Raises LedgerError if there is no such file, and LedgerCorruptError if the file is no ledger, or
    does not name its federation.
    """
    if not is_file(path):
        raise LedgerError(f"{os.fspath(path)}: there is no ledger")
    engine = engine_that_reads(path)
    try:
        with named_errors(), engine.connect() as connection:
            return _federation_of(connection)
    finally:
        engine.dispose()


def _federation_of(connection: Connection) -> str:
    federation = None
    if checks.is_ledger(connection):
        named = sa.select(META.c.value).where(META.c.name == "federation")
        federation = connection.execute(named).scalar()
    if federation is None:
        raise LedgerCorruptError("this is not a ledger, or it does not name its federation")
    return str(federation)
