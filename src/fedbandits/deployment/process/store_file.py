"""The file of a party's store, read and copied with no more than Python's own SQLite.

The party may run meanwhile; nothing is changed.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import sqlite3
from collections.abc import Iterator

from fedbandits.deployment.identity.private_files import Path
from fedbandits.deployment.process.looking import SeenParty
from fedbandits.deployment.storage.rows import SCHEMA, Header
from fedbandits.errors import DeploymentError, OutputExistsError, StoreError, StoreVersionError

#: What :class:`.hosting.events.Kind` calls the event in which a message came; it loads parties.
RECEIVE = 5


def headers_in(party: SeenParty) -> tuple[list[Header], int]:
    """Read the headers of messages, and count the messages that are kept whole.

    The store must be in a file: see :func:`is_in_file`. It raises the errors of :func:`reading`.
    """
    columns = ", ".join(Header._fields)
    with reading(party) as store:
        rows = store.execute(f"SELECT {columns} FROM host_headers ORDER BY id")  # noqa: S608
        headers = [Header(*row) for row in rows]
        (sent,) = store.execute("SELECT count(*) FROM host_outbox").fetchone()
        seen = "SELECT count(*) FROM host_journal WHERE kind = ?"
        (received,) = store.execute(seen, (RECEIVE,)).fetchone()
    return headers, sent + received


@contextlib.contextmanager
def reading(party: SeenParty) -> Iterator[sqlite3.Connection]:
    """Connect to a party's store so that nothing can be changed.

    Raises StoreError if there is no store yet, or it cannot be read, and StoreVersionError if it
    has another format.
    """
    source = _file_of(party)
    if source is None or not source.is_file():
        raise StoreError(f"{source}: there is no store yet; {party.member} has never run")
    try:
        address = f"{source.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as store:
            _refuse_other_format(store)
            yield store
    except sqlite3.Error as error:
        raise StoreError(f"{source}: cannot be read ({error})") from None


def is_in_file(party: SeenParty) -> bool:
    """Tell whether a party's store is a file, and no server's database."""
    return _file_of(party) is not None


def _file_of(party: SeenParty) -> pathlib.Path | None:
    """Find the file of a party's store; None if it is a server's database."""
    if "://" not in party.settings.store:
        return pathlib.Path(party.store)
    from fedbandits.privacy.ledger.database import url_of  # what reads addresses takes a while
    from fedbandits.privacy.ledger.files import path_of

    found = path_of(url_of(party.store))
    return None if found is None else pathlib.Path(found)


def _refuse_other_format(store: sqlite3.Connection) -> None:
    row = store.execute("SELECT value FROM host_meta WHERE name = 'schema'").fetchone()
    found = row[0] if row else None
    if found != str(SCHEMA):
        raise StoreVersionError(
            f"the store has format {found}, this program reads {SCHEMA}: use the version of "
            "fedbandits that wrote it"
        )


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
