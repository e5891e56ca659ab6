"""A durable privacy ledger: who may spend how much, what was spent, and the noise it was spent on.

What is charged, the noise that is drawn and whatever the caller writes with them are committed in
one transaction, or not at all. Release only what was committed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from fedbandits._typing import Floats
from fedbandits.privacy.accounting import Event
from fedbandits.privacy.claims import PrivacyClaim
from fedbandits.privacy.ledger import accounts, checks, opening, times
from fedbandits.privacy.ledger.charges import Till
from fedbandits.privacy.ledger.database import (
    Synchronous,
    engine_at,
    engine_that_reads,
    named_errors,
    transaction,
)
from fedbandits.privacy.ledger.files import LedgerFile, check, watched
from fedbandits.privacy.ledger.noise import Draws
from fedbandits.privacy.ledger.statement import Statement, state
from fedbandits.privacy.ledger.tables import ACCOUNTS, encode_draw, require_names
from fedbandits.privacy.ledger.times import Times


class Ledger(contextlib.AbstractContextManager["Ledger"]):
    """The accounts of one federation's parties at one organisation. See :meth:`open`.

    Every operation works on the caller's connection, in the caller's transaction: what is charged
    is spent if, and only if, that transaction is committed. An engine must not be carried over a
    fork: open the ledger in the process that uses it.
    """

    def __init__(
        self,
        engine: Engine,
        federation: str,
        clock: Callable[[], float],
        clock_tolerance: float,
        owned: bool,
    ) -> None:
        self.engine = engine
        self.federation = federation
        self._times = Times(clock, clock_tolerance)
        self._till = Till(engine.dialect, self._times)
        self._draws = Draws(engine.dialect)
        self._owned = owned  # closed with the ledger
        self._file = LedgerFile.of(engine.url)

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
    ) -> Self:
        """Open a ledger, or create it.

        Parameters
        ----------
        where
            A file, a database's URL, or an engine, which is left as it is: give it
            ``hide_parameters=True``, for the noise is secret.
        federation
            Name of the federation whose ledger it is.
        clock
            Function that returns the time, in seconds since 1970.
        clock_tolerance
            Seconds that the clock may run backwards; times that are recorded never do.
        synchronous
            How SQLite waits for the disk. ``NORMAL`` may lose the last commits in a power failure,
            and with them the knowledge of what was released.
        busy_timeout
            Seconds to wait for SQLite's other writers.
        must_exist
            Refuse to make a new ledger. A party that has released before wants this: a ledger that
            is not where it was must not become an empty one.
        moved
            Take over a file that was written as another one, once: a copy of which no other will
            ever be used again.

        Raises
        ------
        LedgerFileError
            If the file has two names, is a mount point, is a copy, or lacks its log.
        LedgerMismatchError
            If it belongs to another federation.
        LedgerVersionError
            If it has another format.
        LedgerCorruptError
            If it is damaged or its totals do not add up.
        LedgerBusyError
            If others are writing for longer than ``busy_timeout``.
        LedgerError
            If there can be no database, or there is none that must exist.
        """
        require_names(federation=federation)
        given = isinstance(where, Engine)
        if must_exist:
            opening.require_file(where)
        engine = where if isinstance(where, Engine) else engine_at(where, synchronous, busy_timeout)
        ledger = cls(engine, federation, clock, clock_tolerance, owned=not given)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ledger.close)
            if not given:
                opening.equip(engine, ledger._file)
            opening.prepare(ledger, ledger._file, must_exist, moved)
            on_failure.pop_all()
        return ledger

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> Self:
        """Open a ledger's file to look at it, whatever its federation; a copy will do.

        Nothing can be written, and none is created.
        """
        federation = checks.federation_at(path)
        ledger = cls(engine_that_reads(path), federation, time.time, 1.0, owned=True)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(ledger.close)
            opening.look_over(ledger, ledger._file)
            on_failure.pop_all()
        return ledger

    def close(self) -> None:
        """Close all connections, unless the engine was given."""
        if self._owned:
            self.engine.dispose()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger(federation={self.federation!r})"

    def begin(self) -> contextlib.AbstractContextManager[Connection]:
        """A connection in a write transaction, for those who have none; others wait until its end.

        It is committed when the block ends, and rolled back when an error leaves it.
        """
        return watched(self._file, transaction(self.engine, "IMMEDIATE"))

    def read(self) -> contextlib.AbstractContextManager[Connection]:
        """A connection that sees one state of the ledger and holds nobody up."""
        return watched(self._file, transaction(self.engine, "DEFERRED"))

    def open_account(
        self,
        connection: Connection,
        party: str,
        claim: PrivacyClaim,
        epsilon: float,
        delta: float,
    ) -> None:
        """Give a party a budget. With the same values again it changes nothing.

        Raises
        ------
        ClaimError
            If ε or δ is none, or the budget is larger than what the claim promises.
        LedgerMismatchError
            If the party has an account with other values: a budget cannot be changed.
        """
        accounts.open_account(
            connection, self.federation, self._times, party, claim, (epsilon, delta)
        )

    def excuse_clock(self, connection: Connection) -> float | None:
        """Say that the clock was wrong at the newest entry, and let a clock behind it pass.

        What was written stays as it is. Later entries bear that entry's time, too, until the clock
        has reached it; from then on a clock that runs backwards is refused again.

        Returns
        -------
        float or None
            The newest entry's time, in seconds since 1970; None if there is none.
        """
        check(self._file, connection)
        return times.excuse(connection)

    def charge(
        self, connection: Connection, party: str, stream: str, step: int, event: Event
    ) -> None:
        """Charge the ``step``-th release of a stream.

        Parameters
        ----------
        connection
            Connection in whose transaction the release itself is written, too.
        party
            Name of the party that pays.
        stream
            Names a sequence of releases. Its price is that of its latest event, for a running sum
            is priced as a whole; a single release is a stream by itself. Streams compose.
        step
            Number of the release in its stream, from 1.
        event
            What this release and the stream's earlier ones are together.

        Raises
        ------
        BudgetExceededError
            If it would cost more than is left.
        StepError
            If it does not continue its stream.
        ClockError
            If the clock runs backwards.
        UnknownEventError
            If the event has no price.
        UnknownPartyError
            If the party has no account.
        LedgerBusyError
            If another process charged in between; only on a connection not made by :meth:`begin`.
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
        """Charge a release, make its noise once, and keep it.

        Parameters
        ----------
        connection, party, stream, step, event
            As for :meth:`charge`, which raises the same.
        make
            Called once, after the release was found affordable.

        Returns
        -------
        array of float64
            What ``make`` returned.

        Raises
        ------
        NoiseReuseError
            If that step's noise was drawn before.
        """
        check(self._file, connection)
        entry = self._till.priced(connection, party, stream, step, event)
        draw = np.asarray(make(), dtype=np.float64)
        shape, data, digest = encode_draw(draw)
        self._till.write(connection, entry, digest)
        self._draws.keep(connection, party, stream, step, (shape, data))
        return draw

    def draws(self, connection: Connection, party: str, stream: str) -> list[Floats]:
        """The noise that was drawn for a stream, in order of its steps, to restart from.

        Raises
        ------
        UnknownPartyError
            If the party has no account.
        LedgerCorruptError
            If a draw is not as it was written.
        """
        with named_errors():
            accounts.require(connection, party)
        return self._draws.every(connection, party, stream)

    def parties(self, connection: Connection) -> list[str]:
        """Who has an account, in order of names."""
        with named_errors():
            found = connection.execute(sa.select(ACCOUNTS.c.party).order_by(ACCOUNTS.c.party))
            return list(found.scalars())

    def statement(self, connection: Connection, party: str) -> Statement:
        """What a party has spent and what is left.

        Raises
        ------
        UnknownPartyError
            If the party has no account.
        LedgerCorruptError
            If the account is not as it was written.
        """
        with named_errors():
            return state(connection, accounts.require(connection, party))

    def verify(self, connection: Connection) -> None:
        """Check every row: hash chains, order, prices, totals, budgets, draws.

        Raises
        ------
        LedgerCorruptError
            Names the first party and charge that are not as they were written.
        """
        with named_errors():
            checks.verify(connection, self.federation)
