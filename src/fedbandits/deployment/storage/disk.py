"""Wait until commits are on the disk, where a commit itself does not wait."""

from __future__ import annotations

import os

from fedbandits.errors import StoreError


class LogFile:
    """SQLite's write-ahead log: what was committed is in it, or was brought to the disk before.

    Parameters
    ----------
    database
        Path of the database.
    """

    def __init__(self, database: str) -> None:
        self._path, self._folder = f"{database}-wal", os.path.dirname(os.path.abspath(database))
        self._named = False

    def sync(self) -> None:
        """Wait until all that was committed is on the disk.

        One wait for the log is a third of what a checkpoint takes, which waits for the database,
        too, and writes it.

        Raises
        ------
        StoreError
            If the disk fails.
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
