"""Opening a ledger: it is found or made, checked, and bound to its file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from fedbandits.errors import LedgerError, LedgerFileError
from fedbandits.privacy.ledger import checks
from fedbandits.privacy.ledger.database import begin_sqlite, named_errors, url_of
from fedbandits.privacy.ledger.files import LedgerFile, path_of
from fedbandits.privacy.ledger.log import keep_log, require_log
from fedbandits.privacy.ledger.tables import META, write_meta

if TYPE_CHECKING:
    from fedbandits.privacy.ledger import Ledger

#: Row of ``ledger_meta`` that says in which file the ledger lies.
_FILE = "file"


def require_file(where: str | os.PathLike[str] | Engine) -> None:
    """Refuse to make a file where there is none.

    Raises
    ------
    LedgerError
    """
    path = path_of(where.url if isinstance(where, Engine) else url_of(where))
    if path is not None and not (os.path.isfile(path) and os.path.getsize(path)):
        raise _none(path)


def equip(engine: Engine, file: LedgerFile | None) -> None:
    """Give an engine of the ledger's own what its transactions begin with."""
    if file is not None:
        keep_log(engine, file)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "begin", begin_sqlite)


def prepare(ledger: Ledger, file: LedgerFile | None, must_exist: bool, moved: bool) -> None:
    """Find the tables or make them, check them, and bind them to their file.

    Raises
    ------
    LedgerError
        See :meth:`.book.Ledger.open`.
    """
    with named_errors(), ledger.read() as connection:
        exists = checks.is_ledger(connection)
    if not exists and must_exist:
        raise _none("the database")
    if not exists:
        with named_errors(), ledger.begin() as connection:
            checks.create(connection, ledger.federation)
    look_over(ledger, file)
    if file is not None:
        _bind(ledger, file, moved)


def look_over(ledger: Ledger, file: LedgerFile | None) -> None:
    """Check version, federation, log, pages and totals; nothing is written."""
    with named_errors(), ledger.read() as connection:
        if file is not None and checks.is_ledger(connection):
            require_log(connection, file)
        checks.check_opened(connection, ledger.federation)


def _bind(ledger: Ledger, file: LedgerFile, moved: bool) -> None:
    """Refuse a copy: what the other one releases is not in it."""
    with named_errors(), ledger.read() as connection:
        written = connection.execute(sa.select(META.c.value).where(META.c.name == _FILE)).scalar()
    if written == file.inode:
        return
    if written is not None and not moved:
        raise LedgerFileError(
            f"{file.path}: this file is a copy, or it was moved. Two copies would spend one "
            "budget twice. If this is the latest copy and no other will be used again, open it "
            "once with moved=True (fedbandits party run --moved)"
        )
    with named_errors(), ledger.begin() as connection:
        write_meta(connection, _FILE, file.inode)


def _none(where: str) -> LedgerError:
    return LedgerError(f"{where}: no ledger there, and none was to be made")
