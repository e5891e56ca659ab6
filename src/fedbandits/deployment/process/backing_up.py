"""Copy a party's store. The party may run meanwhile. It takes no more than Python's own SQLite."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3

from fedbandits.deployment.identity.names import Path
from fedbandits.deployment.process.looking import SeenParty
from fedbandits.deployment.storage.rows import SCHEMA
from fedbandits.errors import DeploymentError, StoreError, StoreVersionError


def back_up(party: SeenParty, out: Path) -> pathlib.Path:
    """Copy a party's store as it is at one moment, also while the party runs.

    A copy is as secret as the store. A party that goes on from a copy, while others have seen more
    of it since, is stopped by them: what it released since is not in its ledger.

    Raises DeploymentError if there is something at ``out``, or the store is a server's database;
    StoreError if there is no store yet, it cannot be read, or the copy not written; and
    StoreVersionError if it has another format.
    """
    source, place = _file_of(party), pathlib.Path(out)
    if not source.is_file():
        raise StoreError(f"{source}: there is no store yet; {party.member} has never run")
    address = f"{source.resolve().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as store:
        _refuse_other_format(store, source)
        _make(place)
        try:
            with contextlib.closing(sqlite3.connect(place)) as copy:
                store.backup(copy)
        except sqlite3.Error as error:
            place.unlink(missing_ok=True)
            raise StoreError(f"{place}: the copy failed ({error})") from None
    return place


def _file_of(party: SeenParty) -> pathlib.Path:
    """Find the file of a party's store; raises DeploymentError if it is a server's database."""
    if "://" not in party.settings.store:
        return pathlib.Path(party.store)
    from fedbandits.privacy.ledger.database import url_of  # what reads addresses takes a while
    from fedbandits.privacy.ledger.files import path_of

    found = path_of(url_of(party.store))
    if found is None:
        raise DeploymentError("the store is a server's database: use its own tool, pg_dump")
    return pathlib.Path(found)


def _refuse_other_format(store: sqlite3.Connection, source: pathlib.Path) -> None:
    """Refuse a file that is no store of this program's format."""
    try:
        row = store.execute("SELECT value FROM host_meta WHERE name = 'schema'").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"{source}: cannot be read ({error})") from None
    found = row[0] if row else None
    if found != str(SCHEMA):
        raise StoreVersionError(
            f"the store has format {found}, this program reads {SCHEMA}: use the version of "
            "fedbandits that wrote it"
        )


def _make(place: pathlib.Path) -> None:
    """Make an empty file for its owner's eyes only; raises an error if something is there."""
    try:
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise DeploymentError(f"{place}: is there already, and is never written over") from None
    except OSError as error:
        raise StoreError(f"{place}: cannot be written ({error.strerror})") from None
