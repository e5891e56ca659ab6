"""The file of a ledger and its log: the file has one name, and must stay the same file.

SQLite keeps its log beside the file's *name*, and its locks with the file. A file with two names
has two logs, and commits under one name are not seen under the other.

The main file shows whether it needs its write-ahead log. The row ``log`` in ``ledger_meta`` is
*needed* in the main file and *whole* in the log. A reader of both finds *whole*; a reader of the
main file alone finds *needed*. A checkpoint copies the log into the main file. At the last close,
or after a crash, SQLite makes one, and *whole* comes into the main file with all charges.

Therefore no checkpoint may pass unnoticed while the ledger is used: SQLite is configured to make
none, and :func:`_mark` makes them. Such a checkpoint copies *needed*, and no later change.

Between that checkpoint and the write of *whole* the log says *needed*, too. A process that is
killed then, or gives up waiting for another writer, leaves both so. Nothing is lost, but the next
checkpoint of SQLite's would delete the log, and its absence would look like a loss.
:func:`state_whole` writes *whole* when such a ledger is opened, and before a ledger is closed.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
import stat
import urllib.parse
from collections.abc import Mapping
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine

from fedbandits.errors import LedgerBusyError, LedgerError, LedgerFileError
from fedbandits.privacy.ledger.database import (
    AT_ONCE,
    DEFERRED,
    Mode,
    begin_sqlite,
    mode_of,
    named,
    touch,
)
from fedbandits.privacy.ledger.tables import write_meta

#: Key under which a connection notes the log that it has opened.
SEEN_LOG = "fedbandits_ledger_log"
#: Key under which a connection notes that its transaction is watched.
WATCHED = "fedbandits_ledger_watched"
#: Name of the row about the log, and its values.
LOG, NEEDED, WHOLE = "log", "needed", "whole"
#: Size of the log, in bytes, from which a checkpoint is made.
LARGE = 4 << 20
_MARKED = "fedbandits_ledger_marked"
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ledger_meta'"
_READ = "SELECT value FROM ledger_meta WHERE name = 'log'"
_WRITE = "INSERT OR REPLACE INTO ledger_meta (name, value) VALUES ('log', ?)"
_Identity = tuple[int, int]


class LedgerFile:
    """A ledger's file in SQLite, checked before it is opened; the file exists.

    Raises LedgerFileError if the file has several names, is a mount point, or is empty beside a
    log.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        #: Whether the log holds deleted values, and needs a checkpoint.
        self.checkpoint_is_due = False
        #: Bytes of the log when it was last checked.
        self.log_size = 0
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
        """Number that distinguishes the file from a copy beside it on the same disk.

        A copy *over* the file (``cp backup.db ledger.db``) keeps the number.
        """
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
            log_identity, self.log_size = None, 0
        else:
            log_identity, self.log_size = (log.st_dev, log.st_ino), log.st_size
        if SEEN_LOG in seen and seen[SEEN_LOG] != log_identity:
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
    """Check the file, unless :func:`.opening.watched` does; see :meth:`LedgerFile.check`."""
    if file is not None and WATCHED not in connection.info:
        file.check(connection.info)


def path_of(url: URL) -> str | None:
    """Return the path in an address of SQLite's; None in memory, or for another database.

    Raises LedgerError for an address with ``file:`` that cannot be read.
    """
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or url.query.get("mode") == "memory":
        return None
    if "uri" in url.query and name.startswith("file:"):
        try:
            name = urllib.parse.unquote(urllib.parse.urlsplit(name).path)  # without the host
        except ValueError as error:
            raise LedgerError("the ledger's address cannot be read") from error
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


def equip(engine: Engine, file: LedgerFile | None) -> None:
    """Set the start of transactions on an engine that the ledger has made."""
    if file is not None:
        _keep_log(engine, file)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "begin", begin_sqlite)


def _keep_log(engine: Engine, file: LedgerFile) -> None:
    """Mark the log before the first write of every connection, and whenever it is large."""

    def configure(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA wal_autocheckpoint = 0").close()
        # The log shrinks when SQLite begins to fill it from its start again.
        connection.execute("PRAGMA journal_size_limit = 0").close()
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()  # opens the log
        record.info[SEEN_LOG] = identity(file.log)

    def before(connection: Connection) -> None:
        checkpoint_if_due(connection, file, mode_of(connection))

    sa.event.listen(engine, "connect", configure)
    sa.event.listen(engine, "begin", before)  # the first listener: the next one begins


def checkpoint_if_due(connection: Connection, file: LedgerFile, mode: Mode) -> None:
    """Make a checkpoint before a transaction begins, if the log is unmarked or large, or on demand.

    The demand is ``checkpoint_is_due``. Raises LedgerBusyError if a transaction that begins at once
    would have to wait for the checkpoint.
    """
    driver: Any = connection.connection.dbapi_connection
    if driver.in_transaction or mode == DEFERRED:
        return
    is_due = file.log_size > LARGE or file.checkpoint_is_due
    if _MARKED in connection.info and not is_due:
        return
    if mode == AT_ONCE:
        raise LedgerBusyError("the log needs a checkpoint first, which waits for the disk")
    file.check(connection.info)
    try:
        if _mark(driver, file.path):
            connection.info[_MARKED] = True
            file.checkpoint_is_due = False
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
    # The write lock is held, so the checkpoint copies no later commit.
    with contextlib.closing(sqlite3.connect(path)) as other:
        _, frames, copied = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    driver.rollback()
    # Begun only now, so that SQLite may fill the log from its start again. If others commit first,
    # the main file is already marked. After a time-out here, state_whole writes the row.
    driver.execute("BEGIN IMMEDIATE")
    driver.execute(_WRITE, (WHOLE,))
    driver.commit()
    return bool(frames == copied)


def is_whole(connection: Connection) -> bool:
    """Tell whether the file and the log together are whole, as a reader of both finds them."""
    return connection.exec_driver_sql(_READ).scalar() != NEEDED


def state_whole(connection: Connection, file: LedgerFile) -> None:
    """Write *whole* where a mark was interrupted, in a write transaction.

    Nothing is written without a log: its charges are missing.
    """
    if not is_whole(connection) and file.holds_log():
        write_meta(connection, LOG, WHOLE)


def require_log(connection: Connection, file: LedgerFile) -> None:
    """Refuse, by LedgerFileError, a main file without its log after a crash."""
    if is_whole(connection) or file.holds_log():
        return
    if _is_missing(file):
        raise LedgerFileError(
            f"{file.path}: its log (-wal) is missing, and with it the latest charges; put it back "
            "beside the file; without it nothing may be released from this ledger"
        )


def _is_missing(file: LedgerFile) -> bool:
    """Tell whether the log is missing, checked while nobody writes.

    A writer that fills the log from its start writes the log's head first. For that moment the log
    seems missing.
    """
    try:
        with contextlib.closing(sqlite3.connect(file.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            return other.execute(_READ).fetchone() == (NEEDED,) and not file.holds_log()
    except sqlite3.OperationalError:  # the file is not writable, so nobody is writing
        return not file.holds_log()
