"""A store's machine: one process at a time, commits on the disk, restarts that are noticed."""

from __future__ import annotations

import contextlib
import os
import pathlib
import uuid
import zlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from fedbandits.errors import StoreBusyError, StoreError
from fedbandits.privacy.ledger.database import named_errors, url_of
from fedbandits.privacy.ledger.files import path_of

try:
    import fcntl
except ModuleNotFoundError:  # Windows: SQLite's own locks are all there is
    fcntl = None  # type: ignore[assignment]

#: Whether a session of a PostgreSQL server holds a lock of this kind.
_HELD = sa.text("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = :session")
#: Where Linux names the start of the machine.
_BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")


class StoreLock(contextlib.AbstractContextManager["StoreLock"]):
    """The lock of a store, held while it is open; the system frees it when a process is killed.

    Raises StoreBusyError if another process holds it.
    """

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self._descriptor: int | None = None
        self._connection: Connection | None = None
        self._session: int | None = None
        path = path_of(url_of(where))
        if path is not None and fcntl is not None:
            self._lock_file(f"{path}.lock")

    def _lock_file(self, path: str) -> None:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"the store cannot be opened: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise StoreBusyError(
                f"{path}: another process runs this party; stop it first"
            ) from None
        self._descriptor = descriptor

    def hold(self, engine: Engine) -> None:
        """Hold the lock of a server's database by a connection of its own."""
        if engine.dialect.name != "postgresql":
            return
        with named_errors():
            connection = engine.connect()
            key = zlib.crc32(b"fedbandits party")
            got = connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar()
            session = connection.execute(sa.select(sa.func.pg_backend_pid())).scalar()
            connection.commit()  # the lock is the session's, not the transaction's
        if not got:
            connection.close()
            raise StoreBusyError("another process runs the party of this database; stop it first")
        self._connection, self._session = connection, session

    def require(self, connection: Connection) -> None:
        """Make sure, in a transaction, that the lock of a server's database is still held.

        Raises StoreBusyError if another process holds it now. Raises StoreError if it was lost and
        is held again: another process may have written meanwhile, so the store must be read anew.
        """
        if self._session is None:
            return
        with named_errors():
            if connection.execute(_HELD, {"session": self._session}).first() is not None:
                return
        self._release()
        self.hold(connection.engine)
        raise StoreError(
            "the database server ended the session that keeps others out of this store; nothing "
            "was changed, and the store is read again"
        )

    def close(self) -> None:
        """Let others in."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._release()

    def _release(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()  # ends the session, and its lock with it
            self._connection.close()
            self._connection = None

    def __exit__(self, *_: Any) -> None:
        self.close()


class LogFile:
    """SQLite's write-ahead log: what was committed is in it, or was brought to the disk before."""

    def __init__(self, database: str) -> None:
        self._path, self._folder = f"{database}-wal", os.path.dirname(os.path.abspath(database))
        self._named = False

    def sync(self) -> None:
        """Wait until all that was committed is on the disk; raises StoreError if the disk fails.

        One wait for the log is a third of what a checkpoint takes, which waits for the database,
        too, and writes it.
        """
        try:
            _sync(self._path, os.O_RDWR)
            if not self._named and hasattr(os, "O_DIRECTORY"):  # the file's name lasts, too
                _sync(self._folder, os.O_RDONLY)
            self._named = True
        except FileNotFoundError:  # all of it is in the database, which is on the disk
            return
        except OSError as error:
            raise StoreError(f"the store's disk fails: {error.strerror}") from None


def _sync(path: str, how: int) -> None:
    descriptor = os.open(path, how | getattr(os, "O_CLOEXEC", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def machine_boot() -> int:
    """Return a number that names the start of the machine; 0 where that cannot be told."""
    try:
        return uuid.UUID(_BOOT.read_text(encoding="ascii").strip()).int
    except (OSError, ValueError):
        return 0
