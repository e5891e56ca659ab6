"""A party's store and its tables: the state, events since then, messages to send, and the ledger.

All of it is one database, so that an event is one transaction. What is not committed was not
answered and not sent.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from fedbandits.deployment.storage.machine import LogFile, StoreLock
from fedbandits.deployment.storage.rows import SCHEMA, Entry, Header, LeftFile, Opened, Saved, Sent
from fedbandits.errors import (
    LedgerError,
    StoreError,
    StoreFullError,
    StoreMismatchError,
    StoreVersionError,
)
from fedbandits.privacy.ledger import Ledger
from fedbandits.privacy.ledger.database import Compiled, Synchronous, named_errors
from fedbandits.privacy.ledger.files import path_of

#: So many headers of messages are kept.
MOST_HEADERS = 10_000
#: Noted of a connection that overwrites what it deletes.
_OVERWRITES = "fedbandits_overwrites"
#: Under which name the last commit is kept that was made for its time alone.
_TIMED = "timed"
_FULL = ("full", "no space", "disk i/o error", "could not extend")


METADATA = sa.MetaData()
#: A number that rows are found by. SQLite keeps them by it, without an index, only if it is called
#: so; it has 64 bits there, too.
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

#: What the store is: its format, whose it is, and small numbers that change.
META = sa.Table(
    "host_meta",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
#: The newest saved state of the party, and the last event that is in it. One row.
SNAPSHOT = sa.Table(
    "host_snapshot",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("event", sa.BigInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: Events since that state, to be carried out again. They hold contexts and rewards.
JOURNAL = sa.Table(
    "host_journal",
    METADATA,
    sa.Column("event", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: Messages that their receivers have not acknowledged.
OUTBOX = sa.Table(
    "host_outbox",
    METADATA,
    sa.Column("peer", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
#: For every peer how many messages it has acknowledged, and their mark: see frames.Hello.
MARKS = sa.Table(
    "host_marks",
    METADATA,
    sa.Column("peer", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("mark", sa.LargeBinary, nullable=False),
)
#: Headers of messages sent and seen; the oldest are deleted.
HEADERS = sa.Table(
    "host_headers",
    METADATA,
    sa.Column("id", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("way", sa.Text, nullable=False),
    sa.Column("peer", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
)
#: When open decisions were asked for, where rewards that do not come have a default. Of requests
#: with a key also what names them (a digest of key and request), and what they were answered.
ASKED = sa.Table(
    "host_asked",
    METADATA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("request", sa.LargeBinary, unique=True),
    sa.Column("answer", sa.LargeBinary),
)
#: Decisions whose reward did not come in time.
EXPIRED = sa.Table(
    "host_expired",
    METADATA,
    sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
)
#: The party's own secrets, and those that others gave it. Never logged, never shown.
SECRETS = sa.Table(
    "host_secrets",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)


class Store(contextlib.AbstractContextManager["Store"]):
    """See :meth:`open`. One thread at a time writes, in the transaction of :meth:`begin`."""

    def __init__(self, ledger: Ledger, lock: StoreLock) -> None:
        self.ledger, self._lock = ledger, lock
        dialect = ledger.engine.dialect
        self._inserts = {
            table.name: Compiled(sa.insert(table), dialect, [c.name for c in table.columns])
            for table in (JOURNAL, OUTBOX, MARKS, HEADERS, ASKED, EXPIRED, SECRETS, SNAPSHOT, META)
        }
        forgotten = ASKED.c.number == sa.bindparam("which", type_=sa.BigInteger)
        self._unask = Compiled(sa.delete(ASKED).where(forgotten), dialect)
        received = (OUTBOX.c.peer == sa.bindparam("whose")) & (OUTBOX.c.number < sa.bindparam("up"))
        self._unpost = Compiled(sa.delete(OUTBOX).where(received), dialect)
        marked = MARKS.c.peer == sa.bindparam("whose")
        self._unmark = Compiled(sa.delete(MARKS).where(marked), dialect)
        path = path_of(ledger.engine.url)
        self._log = None if path is None else LogFile(path)
        self._next_header = 0
        self.left: LeftFile | None = None  # none where nothing is to be noticed

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        federation: str,
        member: str,
        terms: str,
        *,
        synchronous: Synchronous = "FULL",
        busy_timeout: float = 30.0,
        moved: bool = False,
    ) -> Self:
        """Open a party's store, or create it.

        It is a file, or the URL of a database that is this party's alone. ``terms`` is their
        digest. See :meth:`.book.Ledger.open` for ``synchronous``, ``busy_timeout`` and ``moved``;
        it raises errors of its own. Raises StoreBusyError if another process uses the store. Raises
        StoreVersionError or StoreMismatchError if it has another format, or is another party's, or
        of other terms.
        """
        with contextlib.ExitStack() as on_failure:
            lock = on_failure.enter_context(StoreLock(where))
            ledger = on_failure.enter_context(
                Ledger.open(
                    where,
                    federation,
                    synchronous=synchronous,
                    busy_timeout=busy_timeout,
                    moved=moved,
                    one_writer=True,
                )
            )
            lock.hold(ledger.engine)
            store = cls(ledger, lock)
            store._prepare({"schema": str(SCHEMA), "member": member, "terms": terms})
            on_failure.pop_all()
        return store

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_file(self) -> bool:
        """True if it is a file: what is written waits for nobody until it is committed."""
        return self._log is not None

    def close(self) -> None:
        """Close all connections and let others in."""
        self.ledger.close()
        self._lock.close()

    def begin(self, waits: bool = True) -> Transaction:
        """Make a write transaction, which begins when it is entered.

        See :meth:`.book.Ledger.begin`. Raises StoreFullError if the disk is full. Nothing was
        written then.
        """
        return Transaction(self, waits)

    def _begun(self, connection: Connection) -> Connection:
        """Prepare a connection whose transaction has begun."""
        if self._log is None:  # a server may have ended the session that holds the lock
            self._lock.require(connection)
        elif _OVERWRITES not in connection.info:  # deleted contents are overwritten, too
            connection.exec_driver_sql("PRAGMA secure_delete = ON").close()
            connection.info[_OVERWRITES] = True
        return connection

    def commit_times(self, count: int) -> list[float]:
        """Commit some small transactions, and return the seconds of each."""
        times = []
        for number in range(count):
            began = time.monotonic()
            with self.begin() as connection:
                self.set_number(connection, _TIMED, number)
            times.append(time.monotonic() - began)
        return times

    def checkpoint(self) -> None:
        """Copy a file's log into the file, and fill the log anew: both may hold deleted values.

        A reader that holds on to an older state prevents it; then the next transaction does it.
        """
        if self.is_file:
            self.ledger.request_checkpoint()
            with self.begin():
                pass

    def sync(self) -> None:
        """Wait until all that was committed is on the disk, where commits do not wait for it."""
        if self._log is not None:
            self._log.sync()

    def _prepare(self, identity: Mapping[str, str]) -> None:
        with self.begin() as connection, named_errors():
            if not sa.inspect(connection).has_table(META.name):
                METADATA.create_all(connection)
                rows = [{"name": name, "value": value} for name, value in identity.items()]
                connection.execute(sa.insert(META), rows)
            found = {row.name: row.value for row in connection.execute(sa.select(META))}
            newest = connection.execute(sa.select(sa.func.max(HEADERS.c.id))).scalar()
            self._next_header = (newest or 0) + 1
        if found.get("schema") != identity["schema"]:
            raise StoreVersionError(
                f"the store has format {found.get('schema')}, this program reads and writes "
                f"{SCHEMA}: use the version of fedbandits that wrote it; under new terms, earlier "
                "in party.toml counts what this store has spent"
            )
        for key, what in (("member", "party"), ("terms", "terms")):
            if found.get(key) != identity[key]:
                raise StoreMismatchError(
                    f"the store belongs to the {what} {found.get(key)!r}, this is {identity[key]!r}"
                )

    def saved(self, connection: Connection) -> Saved:
        """Read the newest state, and the events since."""
        with named_errors():
            newest = connection.execute(sa.select(SNAPSHOT.c.event, SNAPSHOT.c.body)).first()
            since = sa.select(JOURNAL).order_by(JOURNAL.c.event)
            journal = [Entry(*row) for row in connection.execute(since)]
        event, body = (0, None) if newest is None else newest
        # A kept journal may begin before the state.
        return Saved(event, body, [entry for entry in journal if entry.event > event])

    @staticmethod
    def outbox(connection: Connection) -> list[Sent]:
        """Return all messages that are not acknowledged, in order."""
        with named_errors():
            ordered = sa.select(OUTBOX).order_by(OUTBOX.c.peer, OUTBOX.c.number)
            return [Sent(row.peer, row.number, row.body) for row in connection.execute(ordered)]

    def note(self, connection: Connection, entries: Iterable[Entry]) -> None:
        """Write events to the journal."""
        self._insert(connection, JOURNAL, list(entries))

    def post(self, connection: Connection, messages: Iterable[Sent]) -> None:
        """Put messages into the outbox."""
        self._insert(connection, OUTBOX, list(messages))

    def acknowledged(self, connection: Connection, up_to: Mapping[str, int]) -> None:
        """Delete messages below a number, by peer: they have been received."""
        if up_to:
            rows = [{"whose": peer, "up": number} for peer, number in up_to.items()]
            self._unpost.many(connection, rows)

    def keep_marks(self, connection: Connection, marks: Mapping[str, tuple[int, bytes]]) -> None:
        """Keep, by peer, how many messages it has acknowledged, and the mark of these."""
        if marks:
            self._unmark.many(connection, [{"whose": peer} for peer in marks])
            rows = [(peer, *up_to) for peer, up_to in marks.items()]
            self._insert(connection, MARKS, rows)

    @staticmethod
    def marks(connection: Connection) -> dict[str, tuple[int, bytes]]:
        """Return, by peer, how many messages it has acknowledged, and the mark of these."""
        with named_errors():
            rows = connection.execute(sa.select(MARKS))
            return {row.peer: (row.number, bytes(row.mark)) for row in rows}

    def head(self, connection: Connection, headers: Iterable[Header]) -> None:
        """Note headers of messages."""
        rows = []
        for header in headers:
            rows.append((self._next_header, *header))
            self._next_header += 1
        self._insert(connection, HEADERS, rows)

    @staticmethod
    def headers(connection: Connection) -> list[Header]:
        """Return the headers that are kept, in order."""
        with named_errors():
            rows = connection.execute(sa.select(HEADERS).order_by(HEADERS.c.id))
            return [Header(*row[1:]) for row in rows]

    def keep_state(
        self, connection: Connection, event: int, body: bytes, keep_journal: bool
    ) -> None:
        """Save the state after an event; delete older states, events and headers."""
        with named_errors():
            connection.execute(sa.delete(SNAPSHOT))
            if not keep_journal:
                connection.execute(sa.delete(JOURNAL).where(JOURNAL.c.event <= event))
            old = HEADERS.c.id < self._next_header - MOST_HEADERS
            connection.execute(sa.delete(HEADERS).where(old))
        self._insert(connection, SNAPSHOT, [(1, event, body)])

    def asked(self, connection: Connection, opened: Iterable[Opened], at: float) -> None:
        """Note when decisions were asked for, and by which requests."""
        self._insert(connection, ASKED, [(one.number, at, *one[1:]) for one in opened])

    def answer(self, connection: Connection, request: bytes) -> bytes | None:
        """Return what a request was answered; None unless its decision is open."""
        with named_errors():
            here = sa.select(ASKED.c.answer).where(ASKED.c.request == request)
            return connection.execute(here).scalar()

    def answered(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Forget when decisions were asked for: their rewards have come."""
        rows = [{"which": number} for number in numbers]
        if rows:
            self._unask.many(connection, rows)

    def overdue(self, connection: Connection, before: float) -> list[int]:
        """Return open decisions that were asked for before a time."""
        with named_errors():
            old = sa.select(ASKED.c.number).where(ASKED.c.at < before).order_by(ASKED.c.number)
            return list(connection.execute(old).scalars())

    def expire(self, connection: Connection, number: int) -> None:
        """Note that a decision's reward did not come in time."""
        self._insert(connection, EXPIRED, [(number,)])

    def has_expired(self, connection: Connection, number: int) -> bool:
        """Tell whether a decision's reward did not come in time."""
        with named_errors():
            here = sa.select(EXPIRED.c.number).where(EXPIRED.c.number == number)
            return connection.execute(here).first() is not None

    def secret(self, connection: Connection, name: str) -> bytes | None:
        """Return a secret; None if it is not kept."""
        with named_errors():
            here = sa.select(SECRETS.c.value).where(SECRETS.c.name == name)
            return connection.execute(here).scalar()

    def keep_secret(self, connection: Connection, name: str, value: bytes) -> None:
        """Keep a secret; it cannot be replaced."""
        self._insert(connection, SECRETS, [(name, value)])

    def erase_secret(self, connection: Connection, name: str) -> None:
        """Replace a secret by nothing: it is empty from then on, and is not drawn anew."""
        with named_errors():
            connection.execute(sa.delete(SECRETS).where(SECRETS.c.name == name))
        self.keep_secret(connection, name, b"")

    def number(self, connection: Connection, name: str) -> int:
        """Return a small number that is kept under a name, 0 at first."""
        with named_errors():
            found = connection.execute(sa.select(META.c.value).where(META.c.name == name)).scalar()
        return int(found or 0)

    def set_number(self, connection: Connection, name: str, value: int) -> None:
        """Keep a small number under a name."""
        with named_errors():
            connection.execute(sa.delete(META).where(META.c.name == name))
        self._insert(connection, META, [(name, str(value))])

    def _insert(
        self, connection: Connection, table: sa.Table, rows: Sequence[Sequence[Any]]
    ) -> None:
        """Write rows with all columns of a table, in their order."""
        if rows:
            self._inserts[table.name].insert(connection, rows)


class Transaction(contextlib.AbstractContextManager[Connection]):
    """A write transaction of a store: committed at its end, rolled back after an error."""

    def __init__(self, store: Store, waits: bool) -> None:
        self._store, self._inner = store, store.ledger.begin(waits)

    def __enter__(self) -> Connection:
        try:
            connection = self._inner.__enter__()
        except LedgerError as error:
            raise _named(error) from error
        try:
            return self._store._begun(connection)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self._inner.__exit__(kind, error, trace)
        except LedgerError as failed:
            raise _named(failed) from failed
        if isinstance(error, LedgerError):
            raise _named(error) from error


def _named(error: LedgerError) -> Exception:
    """Give a full disk an error of its own; any other error stays as it is."""
    text = str(error).lower()
    if any(sign in text for sign in _FULL):
        return StoreFullError(
            "the store cannot be written, its disk is full or fails: free some space; nothing was "
            f"changed ({error})"
        )
    return error if type(error) is not LedgerError else StoreError(str(error))
