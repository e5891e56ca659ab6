"""A durable privacy ledger: budgets of parties, their charges, and the noise of charged releases.

The charge, the noise and further writes of the caller are committed in one transaction, or not at
all. Release only committed values.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Self

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger import accounts, checks, opening
from fedbandits.privacy.ledger.accounts import LedgerClock, Spent, Till
from fedbandits.privacy.ledger.database import (
    Synchronous,
    engine_at,
    engine_that_reads,
    named_errors,
)
from fedbandits.privacy.ledger.files import LedgerFile, check, equip
from fedbandits.privacy.ledger.opening import LedgerDatabase
from fedbandits.privacy.ledger.statement import Statement, state
from fedbandits.privacy.ledger.tables import ACCOUNTS, DrawTable, encode_draw, require_names


class Ledger(contextlib.AbstractContextManager["Ledger"]):
    """A privacy ledger: the accounts of the parties that one organisation has in a federation.

    :meth:`open` makes a ledger from ``clock`` and ``clock_tolerance``. ``owned`` tells whether
    :meth:`close` closes the engine. With ``one_writer`` one thread at a time writes, and its
    connection to a file is kept. Every operation uses the caller's connection and transaction. A
    charge counts if and only if this transaction is committed. Open the ledger in the process that
    uses it, because a database engine must not survive a fork.
    """

    def __init__(
        self,
        engine: Engine,
        federation: str,
        clock: Callable[[], float],
        clock_tolerance: float,
        owned: bool,
        one_writer: bool = False,
    ) -> None:
        self.engine = engine
        self.federation = federation
        self._times = LedgerClock(clock, clock_tolerance)
        self._till = Till(engine.dialect, self._times)
        self._draws = DrawTable(engine.dialect)
        self._owned = owned  # closed with the ledger
        self._file = LedgerFile.of(engine.url)
        self._database = LedgerDatabase(engine, self._file, one_writer)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] | Engine,
        federation: str,
        clock: Callable[[], float] = time.time,
        *,
        clock_tolerance: float = 1.0,
        synchronous: Synchronous = "FULL",
        busy_timeout: float = 30.0,
        must_exist: bool = False,
        moved: bool = False,
        one_writer: bool = False,
    ) -> Self:
        """Open a ledger, or create it.

        Parameters
        ----------
        where
            Path of a file, URL of a database, or an engine. Make an engine with
            ``hide_parameters=True``, because the noise is secret.
        federation
            Name of the federation to which the ledger belongs.
        clock
            Function that returns the time, in seconds since 1970.
        clock_tolerance
            Largest step backwards of the clock that is accepted, in seconds. Recorded times never
            go backwards.
        synchronous
            SQLite's way of waiting for the disk. With ``NORMAL`` a power failure may destroy the
            last
            commits, and then the ledger lacks their releases.
        busy_timeout
            Time to wait for other writers of SQLite, in seconds.
        must_exist
            Whether to refuse to create a new ledger. Use it for a party that has released before:
            without
            its ledger, the party must not start with an empty one.
        moved
            Whether to accept, once, a file that is a copy. No other copy of the ledger may ever be
            used again.
        one_writer
            Whether one thread at a time of this process writes. Then the connection to a file is
            kept between transactions, which saves most of the time of a small one.

        Raises
        ------
        LedgerFileError
            If the file has two names, is a mount point, is a copy, or lacks its log.
        LedgerMismatchError
            If the ledger belongs to another federation.
        LedgerVersionError
            If the ledger has another format.
        LedgerCorruptError
            If the ledger is damaged, or its totals are wrong.
        LedgerBusyError
            If other processes write for longer than ``busy_timeout``.
        LedgerError
            If the database cannot be made, or ``must_exist`` is set and the ledger is missing.
        """
        require_names(federation=federation)
        given = isinstance(where, Engine)
        if must_exist:
            opening.require_file(where)
        engine = where if isinstance(where, Engine) else engine_at(where, synchronous, busy_timeout)
        ledger = cls(
            engine, federation, clock, clock_tolerance, not given, one_writer and not given
        )
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ledger.close)
            if not given:
                equip(engine, ledger._file)
            opening.prepare(ledger._database, federation, must_exist, moved)
            on_failure.pop_all()
        return ledger

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> Self:
        """Open the ledger in the file ``path`` for reading only.

        The file may belong to any federation and may be a copy. It must exist.
        """
        federation = opening.federation_at(path)
        ledger = cls(engine_that_reads(path), federation, time.time, 1.0, owned=True)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ledger.close)
            opening.look_over(ledger._database, federation)
            on_failure.pop_all()
        return ledger

    def close(self) -> None:
        """Close all connections, unless the engine was given by the caller."""
        self._database.close()
        if self._owned:
            self.engine.dispose()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger(federation={self.federation!r})"

    def begin(self, waits: bool = True) -> contextlib.AbstractContextManager[Connection]:
        """Begin a write transaction, and return its connection; other writers wait until it ends.

        The transaction is committed at the end of the block. If an error leaves the block, the
        transaction is rolled back. With ``waits`` False a LedgerBusyError is raised if the
        transaction cannot begin at once: while another program writes, and before a checkpoint of
        the log.
        """
        return self._database.begin(waits)

    def request_checkpoint(self) -> None:
        """Let the next transaction copy the log into the file, and overwrite deleted values."""
        if self._file is not None:
            self._file.checkpoint_is_due = True

    def read(self) -> contextlib.AbstractContextManager[Connection]:
        """Return a connection that reads one state of the ledger and does not block writers."""
        return self._database.read()

    def open_account(
        self, connection: Connection, party: str, claim: PrivacyClaim, epsilon: float, delta: float
    ) -> None:
        """Give a party the budget (``epsilon``, ``delta``); a second call changes nothing.

        The ``claim`` is that of the ``party``, and the account is written in the transaction of
        ``connection``.

        Raises
        ------
        ClaimError
            If ε or δ is impossible, or the budget is larger than the claim.
        LedgerMismatchError
            If the party has an account with other values. A budget cannot be changed.
        """
        accounts.open_account(
            connection, self.federation, self._times, party, claim, (epsilon, delta)
        )

    def excuse_clock(self, connection: Connection) -> float | None:
        """Declare that the clock was wrong at the newest entry; earlier times are then accepted.

        Old entries do not change. New entries have the time of the newest entry until the clock has
        reached this time. After that, a clock that runs backwards is refused again.

        Returns
        -------
        float or None
            Time of the newest entry, in seconds since 1970; None if there is no entry.
        """
        check(self._file, connection)
        return accounts.excuse_clock(connection)

    def charge(
        self, connection: Connection, party: str, stream: str, step: int, event: Event
    ) -> None:
        """Charge the ``step``-th release of a stream.

        Parameters
        ----------
        connection
            Connection in whose transaction the charge is written. The release should be written in
            the same transaction.
        party
            Name of the party that pays.
        stream
            Name of the sequence of releases. The price of a stream is the price of its latest
            event, because a running sum is priced as a whole. A single release is a stream of
            length one. The costs of streams compose.
        step
            Number of the release in its stream, from 1.
        event
            The event of this release together with all earlier ones of the stream.

        Raises
        ------
        BudgetExceededError
            If the release would cost more than is left of the budget.
        StepError
            If ``step`` does not continue the stream.
        ClockError
            If the clock runs backwards.
        UnknownEventError
            If the event has no price.
        UnknownPartyError
            If the party has no account.
        LedgerBusyError
            If another process has charged in the meantime. This happens only on a connection that
            :meth:`begin` did not make.
        """
        check(self._file, connection)
        self._till.write(connection, self._till.priced(connection, party, stream, step, event))

    def draw(
        self,
        connection: Connection,
        party: str,
        stream: str,
        step: int,
        event: Event,
        make: Callable[[], Floats],
    ) -> Floats:
        """Charge a release, draw its noise once, and store the noise.

        Parameters
        ----------
        connection, party, stream, step, event
            See :meth:`charge`. The same errors are raised.
        make
            A function that draws the noise. It is called once, after the charge was accepted.

        Returns
        -------
        array of float64
            The result of ``make``.

        Raises
        ------
        NoiseReuseError
            If the noise of this step was drawn before.
        """
        check(self._file, connection)
        entry = self._till.priced(connection, party, stream, step, event)
        draw = np.asarray(make(), dtype=np.float64)
        shape, data, digest = encode_draw(draw)
        self._till.write(connection, entry, digest)
        self._draws.keep(connection, party, stream, step, (shape, data))
        return draw

    def draws(self, connection: Connection, party: str, stream: str) -> list[Floats]:
        """Return the noise that was drawn for ``stream`` of ``party``, in order of the steps.

        Raises
        ------
        UnknownPartyError
            If the party has no account.
        LedgerCorruptError
            If a draw has been changed since it was written.
        """
        with named_errors():
            accounts.require(connection, party)
        return self._draws.every(connection, party, stream)

    def parties(self, connection: Connection) -> list[str]:
        """List the names of all parties with an account, in alphabetical order."""
        with named_errors():
            names = connection.execute(sa.select(ACCOUNTS.c.party).order_by(ACCOUNTS.c.party))
            return list(names.scalars())

    def statement(self, connection: Connection, party: str) -> Statement:
        """Return the account of ``party``: its spent budget and the rest.

        Raises
        ------
        UnknownPartyError
            If the party has no account.
        LedgerCorruptError
            If the account has been changed since it was written.
        """
        with named_errors():
            return state(connection, accounts.require(connection, party), self.federation)

    def spent(self, connection: Connection, party: str) -> Spent:
        """Return how many charges ``party`` has, and their μ together, as the account says.

        Charges are not looked at one by one, so the time does not grow with them; see
        :meth:`statement` and :meth:`verify`.

        Raises
        ------
        UnknownPartyError
            If the party has no account.
        """
        return self._till.spent(connection, party)

    def verify(self, connection: Connection) -> None:
        """Check every row: hash chains, order, prices, totals, budgets, draws.

        Raises
        ------
        LedgerCorruptError
            If a row has been changed. The message names the first party and charge.
        """
        with named_errors():
            checks.verify(connection, self.federation)
