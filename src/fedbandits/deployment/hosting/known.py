"""Comparison of a store with the file of all that has left its party."""

from __future__ import annotations

import math
import os
import pathlib
from typing import NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.deployment.delivery.frames import extended
from fedbandits.deployment.storage.rows import Left, LeftFile, Marks
from fedbandits.deployment.storage.store import JOURNAL, META, SNAPSHOT, Store
from fedbandits.errors import StaleStoreError, UnknownPartyError
from fedbandits.federation.roles import Role
from fedbandits.privacy import gaussian
from fedbandits.privacy.ledger import Ledger, Statement
from fedbandits.privacy.ledger.database import named_errors
from fedbandits.privacy.ledger.statement import UNKNOWN

#: The stream that is charged for what earlier federations have released.
EARLIER = "earlier federations"


def left_beside(store: str | os.PathLike[str], restores: bool = False) -> LeftFile:
    """Return the file of what has left beside a store: ``store.left`` beside ``store.db``."""
    path = pathlib.Path(store)
    return LeftFile(path.with_name(f"{path.name.removesuffix('.db')}.left"), restores)


def marks_known(connection: Connection) -> list[Marks]:
    """List all marks that a store knows, one after the other for each peer; the newest are last.

    They begin with what peers have acknowledged, and go on with the outbox.
    """
    found: Marks = Store.marks(connection)
    known = [dict(found)]
    for peer, number, body in Store.outbox(connection):
        found[peer] = number + 1, extended(found.get(peer, (0, b""))[1], body)
        known.append({peer: found[peer]})
    return [*known, found]


def has_begun(connection: Connection) -> bool:
    """Tell whether the party of a store has ever done anything."""
    with named_errors():
        tables = SNAPSHOT, JOURNAL
        return any(connection.execute(sa.select(1).select_from(each)).first() for each in tables)


def is_of_party(connection: Connection) -> bool:
    """Tell whether a database is a party's store, and not a ledger alone."""
    with named_errors():
        return sa.inspect(connection).has_table(META.name)


def is_older(ledger: Ledger, connection: Connection, member: str, left: Left) -> bool:
    """Tell whether a store does not know all that has left its ``member``."""
    found = {(peer, *mark) for each in marks_known(connection) for peer, mark in each.items()}
    if not all((peer, *mark) in found for peer, mark in left.marks.items() if mark[0]):
        return True
    try:
        return ledger.statement(connection, member).spent_mu < left.spent
    except UnknownPartyError:  # nothing is charged
        return left.spent > 0.0


class Beside(NamedTuple):
    """File of what has left beside a store, and what it says; None if there is none."""

    path: pathlib.Path
    left: Left | None

    @classmethod
    def of(cls, store: str | os.PathLike[str]) -> Beside:
        """Read it. Do so before the store: a party that runs may release in between."""
        file = left_beside(store)
        return cls(file.path, file.read())

    def is_unknown(self, connection: Connection) -> bool:
        """Tell whether the store is a party's that has begun, and nothing says what has left."""
        return self.left is None and is_of_party(connection) and has_begun(connection)

    def knows_more(self, ledger: Ledger, connection: Connection, member: str) -> Left | None:
        """Return what has left where the store does not know all of it; None where it does.

        Where the file is another one by now the party runs, and the store is not old.
        """
        if self.left is None or not is_of_party(connection):
            return None
        older = is_older(ledger, connection, member, self.left)
        return self.left if older and LeftFile(self.path).read() == self.left else None


def with_noise(connection: Connection, statement: Statement) -> Statement:
    """Return a statement that names the noise which the account shares by the federation's terms.

    A federation's name may come again, and members have one noise under the same terms alone. What
    an account has spent in earlier federations may share the noise of any other account: a member's
    that left before, or that went on under other terms.
    """
    if any(stream.name == EARLIER for stream in statement.streams):
        return msgspec.structs.replace(statement, noise=UNKNOWN)
    if not statement.noise or not is_of_party(connection):
        return statement
    with named_errors():
        terms = connection.execute(sa.select(META.c.value).where(META.c.name == "terms")).scalar()
    return msgspec.structs.replace(statement, noise=f"terms {terms}")


def with_left(statement: Statement, left: Left | None) -> Statement:
    """Return a statement with all that is known to be spent: what has left may be more."""
    if left is None or left.spent <= statement.spent_mu:
        return statement
    remains = math.sqrt(max(0.0, statement.mu**2 - left.spent**2))
    return msgspec.structs.replace(
        statement,
        spent_mu=left.spent,
        spent_epsilon=gaussian.epsilon_of(left.spent, statement.delta),
        left_mu=remains,
        left_epsilon=gaussian.epsilon_of(remains, statement.delta),
    )


def refuse_old_copy(where: str, member: str, role: Role, file: LeftFile) -> None:
    """Refuse a copy of a store that is older than what has left; the file is only read.

    Raises
    ------
    StaleStoreError
        If the copy is older than its file, or has none and is not new.
    LedgerError
        If the copy is no ledger that can be read.
    """
    left = file.read()
    with Ledger.existing(where) as ledger, ledger.read() as connection:
        if not is_of_party(connection):
            return
        if has_begun(connection) if left is None else is_older(ledger, connection, member, left):
            raise stale(member, role, file, left)


def stale(member: str, role: Role, file: LeftFile, left: Left | None) -> StaleStoreError:
    """Make the error of a store that is older than its file, or has none."""
    if not role.may_be_restored:
        return StaleStoreError(
            f"{member}: its store is older than what has left, or {file.path} is missing. A "
            f"{role.name} does everything once, so none goes on from an old store, nor with "
            "--restore. Put the newest store and this file back, or begin a new federation"
        )
    found = "is missing" if left is None else "knows of more than this store"
    return StaleStoreError(
        f"{file.path}: {found}, so an old backup may have been put back, and what left since "
        "is not in its ledger. Put the newest store and this file back; or start once with "
        "--restore (fedbandits party run): then all that may have left is charged once more"
    )
