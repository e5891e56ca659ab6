"""The file of a ledger: it has one name, and it must stay the same file.

SQLite keeps its log beside the file's *name*, and its locks with the file. A file with two names
has two logs, and what is committed under one name is not seen under the other.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from sqlalchemy.engine import URL, Connection, Engine

from fedbandits.errors import LedgerError, LedgerFileError
from fedbandits.privacy.ledger.database import AT_ONCE, DEFERRED, IMMEDIATE, touch, transaction

#: Where a connection notes which log it has opened.
SEEN_LOG = "fedbandits_ledger_log"
_WATCHED = "fedbandits_ledger_watched"
_Identity = tuple[int, int]


class LedgerFile:
    """A ledger's file in SQLite, looked at before it is opened; it exists.

    Raises LedgerFileError if it has several names, or is a mount point, or its log is all that is
    left of it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        #: Whether the log has what was deleted, and is to begin anew.
        self.log_is_old = False
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
        """Find the file of a database's address, or make it; None in memory, or elsewhere."""
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
        """Number that tells the file from a copy of it on the same machine."""
        return str(self._identity[1])

    def check(self, seen: Mapping[str, Any]) -> None:
        """Refuse, by LedgerFileError, a file or a log that is not the one that was opened.

        ``seen`` is what the connection has noted: ``connection.info``.
        """
        if self._look() != self._identity:
            raise LedgerFileError(
                f"{self.path}: this is another file than the one that was opened; put the "
                "ledger back, and do not send releases before that"
            )
        if SEEN_LOG in seen and seen[SEEN_LOG] != identity(self.log):
            raise LedgerFileError(
                f"{self.path}: its log (-wal) was removed or replaced while it was open; "
                "charges that were only in the log are lost: release nothing more from this ledger"
            )

    def holds_log(self) -> bool:
        """Tell whether the log holds a change, by its first frame's mark."""
        try:
            with open(self.log, "rb") as stream:
                head = stream.read(56)
        except OSError:
            return False
        return len(head) == 56 and head[16:24] == head[40:48]  # both bear the log's salt

    def log_size(self) -> int:
        """Return the number of bytes in the log."""
        return _size(self.log)

    def _look(self) -> _Identity:
        try:
            found = os.stat(self.path)
        except OSError:
            raise LedgerFileError(
                f"{self.path}: the ledger's file is gone; put it back, and do not send releases "
                "before that"
            ) from None
        if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
            raise LedgerFileError(
                f"{self.path}: this file has {found.st_nlink} names (hard links), and each name "
                "would have its own log; delete all names but one"
            )
        return found.st_dev, found.st_ino


def check(file: LedgerFile | None, connection: Connection) -> None:
    """Look at the file, unless :func:`watched` does; see :meth:`LedgerFile.check`."""
    if file is not None and _WATCHED not in connection.info:
        file.check(connection.info)


@contextlib.contextmanager
def watched(
    file: LedgerFile | None, begun: contextlib.AbstractContextManager[Connection]
) -> Iterator[Connection]:
    """Look at the file before and after a transaction: what a lost file was told, is lost."""
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


class Store(NamedTuple):
    """The database of a ledger, and the file of the database if it has one."""

    engine: Engine
    file: LedgerFile | None

    def begin(self, waits: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """Begin a write transaction; see :meth:`.book.Ledger.begin`."""
        return watched(self.file, transaction(self.engine, IMMEDIATE if waits else AT_ONCE))

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
    """Tell whether there is such a file; raises LedgerError if there may be, and it is unreadable.

    It is not opened: closing it again would end the locks of whoever else in this process has it.
    """
    try:
        found = stat.S_ISREG(os.stat(path).st_mode)
    except PermissionError:
        readable = False
    except OSError:
        return False
    else:
        readable = not found or os.access(path, os.R_OK)
    if not readable:
        raise LedgerError(
            f"{os.fspath(path)}: cannot be read (Permission denied); run this as the user to whom "
            "the file and its folder belong"
        )
    return found


def identity(path: str) -> _Identity | None:
    """Return device and inode of a file, or None where nothing lies."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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

    The descriptor only names the file: closing any other one would take away the locks that SQLite
    holds for this process.
    """
    descriptor = os.open(path, os.O_PATH)
    try:
        told = pathlib.Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    finally:
        os.close(descriptor)
    return next(line for line in told.splitlines() if line.startswith("mnt_id:"))
