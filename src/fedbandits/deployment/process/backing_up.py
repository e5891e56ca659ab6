"""Copy a party's store. The party may run meanwhile."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3

from fedbandits.deployment.identity.names import Path
from fedbandits.deployment.process.looking import SeenParty
from fedbandits.deployment.process.store_file import is_in_file, reading
from fedbandits.errors import DeploymentError, OutputExistsError, StoreError


def back_up(party: SeenParty, out: Path) -> pathlib.Path:
    """Copy a party's store as it is at one moment, also while the party runs.

    A copy is as secret as the store. A party that goes on from a copy, while others have seen more
    of it since, is stopped by them: what it released since is not in its ledger.

    Raises OutputExistsError if there is something at ``out``; DeploymentError if the store is a
    server's database; StoreError if there is no store yet, it cannot be read, or the copy not
    written; and StoreVersionError if it has another format.
    """
    place = pathlib.Path(out)
    if not is_in_file(party):
        raise DeploymentError("the store is a server's database: use its own tool, pg_dump")
    with reading(party) as store:
        _make(place)
        try:
            with contextlib.closing(sqlite3.connect(place)) as copy:
                store.backup(copy)
        except sqlite3.Error as error:
            place.unlink(missing_ok=True)
            raise StoreError(f"{place}: the copy failed ({error})") from None
    return place


def _make(place: pathlib.Path) -> None:
    """Make an empty file for its owner's eyes only; raises an error if something is there."""
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise OutputExistsError(f"{place}: is there already, and is never written over") from None
    except OSError as error:
        raise StoreError(f"{place}: cannot be written ({error.strerror})") from None
